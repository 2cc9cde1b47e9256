//! `iobound report`: a run rendered again from its record.

use std::path::{Path, PathBuf};

use iobound_record::Run;

use crate::exit::{self, Failure};
use crate::load;
use crate::report::files::{self, File};
use crate::report::terminal::{Look, render_report};
use crate::report::{csv, html, markdown, openmetrics};
use crate::store::write_whole;
use crate::verdict::FailOn;

/// Options of `iobound report`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The directory of a run, or its run.json
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// What to render; without it the terminal's summary, or with --out every format
    #[arg(long, value_name = "FORMAT", value_enum)]
    format: Option<Format>,
    /// Exit with 1 on any of these: short, above, unknown, warning, note, target, unfit, unfit:NAME, or 90%
    #[arg(long, value_name = "VERDICT", value_delimiter = ',', value_parser = FailOn::parse)]
    fail_on: Vec<FailOn>,
    /// Where to write: a directory (made if it is missing), or with --format a file, told by its ending
    #[arg(long, value_name = "DIR|FILE")]
    out: Option<PathBuf>,
}

/// What a run can be rendered as.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// Tables and findings for a terminal
    Terminal,
    /// A summary and a report of each scenario
    Markdown,
    /// One page, complete in itself
    Html,
    /// A row for each scenario and direction; into a directory also each interval
    Csv,
    /// A row for each scenario, interval and direction
    SeriesCsv,
    /// What fio --output-format=json gives
    FioJson,
    /// Text for Prometheus and its like
    Openmetrics,
}

/// Reads the record, renders it, and returns the exit code: whatever the record says, rendering it is
/// done when it is rendered, unless `--fail-on` asks.
///
/// # Errors
/// A record that cannot be read, or a place that cannot be written.
pub fn run(args: &Args) -> Result<u8, Failure> {
    let record = load::load(&args.run)?;
    let Some(out) = &args.out else {
        let look = super::run::look();
        super::print(&text(args.format.unwrap_or(Format::Terminal), &record, look));
        return Ok(super::run::failed_on(&args.fail_on, &record));
    };
    match args.format.filter(|_| names_a_file(out)) {
        Some(format) => {
            refuse_to_replace(out, &args.run)?;
            write_whole(out, &text(format, &record, FILE_LOOK))?;
            super::print(&format!("{}\n", out.display()));
        }
        None => write_directory(out, &args.run, &files_of(args.format, &record))?,
    }
    Ok(super::run::failed_on(&args.fail_on, &record))
}

/// A terminal's summary in a file: as wide as a page, without colours.
const FILE_LOOK: Look = Look { width: 100, colour: false, unicode: true };

/// A directory that exists is one; else a name with an ending is a file.
fn names_a_file(out: &Path) -> bool {
    let slash = out.as_os_str().as_encoded_bytes().ends_with(b"/");
    !out.is_dir() && !slash && (out.exists() || out.extension().is_some())
}

fn text(format: Format, run: &Run, look: Look) -> String {
    match format {
        Format::Terminal => render_report(run, look),
        Format::Markdown => markdown::whole(run),
        Format::Html => html::render(run),
        Format::Csv => csv::summary(run),
        Format::SeriesCsv => csv::series(run),
        Format::FioJson => files::fio_json(run),
        Format::Openmetrics => openmetrics::render(run),
    }
}

fn files_of(format: Option<Format>, run: &Run) -> Vec<File> {
    let one = |name: &str, format| vec![(name.to_owned(), text(format, run, FILE_LOOK))];
    match format {
        None => files::all(run),
        Some(Format::Markdown) => files::markdown(run),
        Some(Format::Csv) => files::tables(run),
        Some(format @ Format::Terminal) => one("summary.txt", format),
        Some(format @ Format::Html) => one("report.html", format),
        Some(format @ Format::SeriesCsv) => one("series.csv", format),
        Some(format @ Format::FioJson) => one("fio.json", format),
        Some(format @ Format::Openmetrics) => one("metrics.prom", format),
    }
}

fn write_directory(out: &Path, record: &Path, files: &[File]) -> Result<(), Failure> {
    if out.exists() && !out.is_dir() {
        return Err(Failure::usage(format!(
            "{}: is a file, and there are several to write; give a directory, or say which with --format",
            out.display()
        )));
    }
    std::fs::create_dir_all(out).map_err(|error| {
        Failure::usage(format!("{}: cannot be made: {error}; choose another --out DIR", out.display()))
    })?;
    let mut listed = String::new();
    for (name, text) in files {
        let path = out.join(name);
        refuse_to_replace(&path, record)?;
        write_whole(&path, text)?;
        listed += &format!("{}\n", path.display());
    }
    super::print(&listed);
    Ok(())
}

/// A report may replace an older report, but neither the record it is made from nor a device.
fn refuse_to_replace(path: &Path, record: &Path) -> Result<(), Failure> {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return Ok(()) };
    let same = || {
        let record = load::record_path(record).ok().and_then(|record| record.canonicalize().ok());
        record.is_some() && path.canonicalize().ok() == record
    };
    let why = match () {
        () if !metadata.is_file() => "is no regular file, and is not replaced by a report",
        () if same() => "is the record itself, and is not replaced by a report of it",
        () => return Ok(()),
    };
    let words = format!("{}: {why}; choose another --out, or leave it out for the terminal", path.display());
    Err(Failure { code: exit::REFUSED, words })
}
