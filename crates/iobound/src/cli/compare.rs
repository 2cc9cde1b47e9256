//! `iobound compare`: runs against each other.

use std::path::{Path, PathBuf};

use iobound_model::comparison::{SAME_WITHIN, Side, compare};
use iobound_record::Run;

use crate::exit::{self, Failure};
use crate::load::{load, runs_in};
use crate::report::compare::{Part, Sides, Threshold, to_json, to_markdown, to_text};
use crate::report::layouts::{layout, matrix};

/// Options of `iobound compare`.
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER)]
pub struct Args {
    /// What to compare, the first against each other one: a run's directory or run.json; a directory with
    /// several runs in it, or runs joined by commas, are repeats of one configuration
    #[arg(value_name = "RUN", required = true, num_args = 1..)]
    sides: Vec<String>,
    /// Instead, put the runs into one table by size and count of their disks: sequential writes and reads
    #[arg(long, conflicts_with_all = ["fail_on", "same_within"])]
    layouts: bool,
    /// Exit with 1 when a scenario is surely slower than this, or cannot be compared: -5%
    #[arg(long, value_name = "PERCENT", value_parser = parse_threshold, allow_hyphen_values = true)]
    fail_on: Option<f64>,
    /// Call differences below this none [default: 1%]
    #[arg(long, value_name = "PERCENT", value_parser = parse_margin)]
    same_within: Option<f64>,
    /// Print as JSON
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print as Markdown
    #[arg(long)]
    markdown: bool,
}

const AFTER: &str = "\
Examples:
  iobound compare before after
  for i in 1 2 3; do iobound run --out before/$i; done; ...; iobound compare before after
  iobound compare a1,a2,a3 b1,b2,b3 --fail-on -5%
  iobound compare --layouts two-disks four-disks eight-disks

Repeats are what tells a change from a bad day: one run knows nothing of how runs differ.";

fn percent(text: &str) -> Option<f64> {
    let number: f64 = text.trim().trim_end_matches('%').trim().parse().ok()?;
    number.is_finite().then_some(number / 100.0)
}

fn parse_threshold(text: &str) -> Result<f64, String> {
    let share = percent(text).filter(|share| (-1.0..=0.0).contains(share));
    share.ok_or_else(|| "give the loss that is too much, in percent: -5%".into())
}

fn parse_margin(text: &str) -> Result<f64, String> {
    let share = percent(text).filter(|share| (0.0..1.0).contains(share));
    share.ok_or_else(|| "give percent, 0% to below 100%".into())
}

/// A configuration and its records.
struct Loaded {
    name: String,
    runs: Vec<Run>,
}

/// Compares, prints, and returns the exit code.
///
/// # Errors
/// A record that is none; nothing that can be compared.
pub fn run(args: &Args) -> Result<u8, Failure> {
    let loaded = args.sides.iter().map(|text| side(text)).collect::<Result<Vec<_>, _>>()?;
    if args.layouts {
        return layouts(args, &loaded);
    }
    if loaded.len() < 2 {
        return Err(Failure::usage("one run is no comparison; give two or more"));
    }
    let sides: Vec<Side> = loaded
        .iter()
        .map(|side| Side { name: side.name.clone(), runs: side.runs.iter().collect() })
        .collect();
    let Some((first, others)) = sides.split_first() else { return Err(Failure::usage("nothing to compare")) };
    let same_within = args.same_within.unwrap_or(SAME_WITHIN);
    let parts: Vec<Part> = others
        .iter()
        .map(|other| Part { name: other.name.clone(), against: compare(first, other, same_within) })
        .collect();
    let all = Sides {
        sides: &sides,
        parts: &parts,
        same_within,
        threshold: args.fail_on.map(|share| Threshold { share }),
    };
    let text = if args.json {
        serde_json::to_string_pretty(&to_json(&all)).map_err(Failure::broke)? + "\n"
    } else if args.markdown {
        to_markdown(&all)
    } else {
        to_text(&all, &super::run::look())
    };
    super::print(&text);
    if parts.iter().all(|part| part.against.rows.is_empty()) {
        return Err(Failure::usage("nothing can be compared; the reasons stand beside the scenarios"));
    }
    Ok(if all.failed() { exit::FAILED } else { exit::DONE })
}

/// The runs as one table of layouts.
fn layouts(args: &Args, loaded: &[Loaded]) -> Result<u8, Failure> {
    let runs = loaded.iter().flat_map(|side| side.runs.iter().map(|run| (&side.name, run)));
    let layouts: Result<Vec<_>, String> = runs.map(|(name, run)| layout(name, run)).collect();
    let matrix = matrix(layouts.map_err(Failure::usage)?);
    let text = if args.json {
        serde_json::to_string_pretty(&matrix.to_json()).map_err(Failure::broke)? + "\n"
    } else if args.markdown {
        matrix.to_markdown()
    } else {
        matrix.to_text()
    };
    super::print(&text);
    Ok(exit::DONE)
}

/// Reads one side: `A`, `A1,A2`, or a directory of runs.
fn side(text: &str) -> Result<Loaded, Failure> {
    let whole = Path::new(text);
    let listed: Vec<PathBuf> = if whole.exists() {
        vec![whole.into()]
    } else {
        text.split(',').filter(|part| !part.is_empty()).map(PathBuf::from).collect()
    };
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in &listed {
        let inside = runs_in(path);
        if inside.is_empty() { paths.push(path.clone()) } else { paths.extend(inside) }
    }
    if paths.is_empty() {
        return Err(Failure::usage("a run without a name; give its directory"));
    }
    let runs = paths.iter().map(|path| load(path)).collect::<Result<Vec<_>, _>>()?;
    for (index, run) in runs.iter().enumerate() {
        if !run.id.is_empty() && runs[..index].iter().any(|other| other.id == run.id) {
            return Err(Failure::usage(format!("{text}: the run {} is given twice; once is enough", run.id)));
        }
    }
    let name = match &listed[..] {
        [one] => one.display().to_string(),
        [first, rest @ ..] => format!("{} +{}", first.display(), rest.len()),
        [] => text.into(),
    };
    Ok(Loaded { name, runs })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_losses() {
        assert_eq!(parse_threshold("-5%"), Ok(-0.05));
        assert_eq!(parse_threshold("-5"), Ok(-0.05));
        assert!(parse_threshold("5%").is_err() && parse_threshold("x").is_err());
        assert_eq!(parse_margin("2%"), Ok(0.02));
        assert!(parse_margin("-1%").is_err() && parse_margin("NaN").is_err());
    }
}
