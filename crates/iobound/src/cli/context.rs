//! `iobound context`: hardware contexts.

use std::path::{Path, PathBuf};

use iobound_model::context::{self as model, is_usable};

use crate::contexts::{self, SHIPPED};
use crate::exit::{self, Failure};
use crate::preflight::probe_now;
use crate::store::write_whole;

/// Options of `iobound context`.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    /// A context of this host: what it tells, and in comments what to fill in
    Detect {
        /// Where to write it [default: the output stream]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Ask no cloud what machine this is
        #[arg(long)]
        offline: bool,
    },
    /// The contexts that come with iobound
    List,
    /// A context as a tree: machine, file systems, arrays, volumes
    Show {
        /// A context's name or file
        context: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Whether a context's file holds together; each problem with its line
    Validate {
        /// A context's file or name
        context: String,
    },
    /// A copy of a context under a new name, to go on from: NAME.toml
    New {
        /// The new name
        name: String,
        /// The context to begin with, by name or file
        #[arg(long, value_name = "CONTEXT")]
        from: String,
        /// Where to write it [default: ./NAME.toml]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}

/// Runs and returns the exit code.
///
/// # Errors
/// A context that is not there or not one.
pub fn run(args: &Args) -> Result<u8, Failure> {
    match &args.what {
        What::Detect { out, offline } => detect(out.as_ref(), *offline),
        What::List => list(),
        What::Show { context, json } => show(context, *json),
        What::Validate { context } => validate(context),
        What::New { name, from, out } => new(name, from, out.as_ref()),
    }
}

fn detect(out: Option<&PathBuf>, offline: bool) -> Result<u8, Failure> {
    let probe = probe_now(offline, false);
    let detected = model::detect(&probe, &contexts::wal_links(&probe));
    let text = contexts::as_toml(&detected)?;
    if detected.context.volumes.is_empty() {
        return Err(Failure::usage(
            "no disk can be seen from here (a container?); begin with: iobound context new NAME --from nvme",
        ));
    }
    for problem in model::validate(&detected.context) {
        eprintln!("iobound: {problem}");
    }
    probe.notes.iter().for_each(|note| eprintln!("iobound: note: {note}"));
    match out {
        Some(path) => {
            write_new(path, &text)?;
            let path = path.display();
            super::print(&format!(
                "{path} written; fill in the limits, then: iobound context validate {path}\n"
            ));
        }
        None => super::print(&text),
    }
    Ok(exit::DONE)
}

fn list() -> Result<u8, Failure> {
    let width = SHIPPED.iter().map(|shipped| shipped.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for shipped in SHIPPED {
        let context = contexts::load(shipped.name)?;
        text += &format!("{:<width$}  {}\n", context.name, context.description);
    }
    super::print(&text);
    Ok(exit::DONE)
}

fn show(what: &str, json: bool) -> Result<u8, Failure> {
    let loaded = contexts::read(what)?;
    if json {
        let text = serde_json::to_string_pretty(&loaded.context).map_err(Failure::broke)?;
        super::print(&(text + "\n"));
    } else {
        super::print(&contexts::render(&loaded.context));
    }
    loaded.said().iter().for_each(|line| eprintln!("iobound: {line}"));
    Ok(if is_usable(&loaded.problems) { exit::DONE } else { exit::USAGE })
}

fn validate(what: &str) -> Result<u8, Failure> {
    let loaded = contexts::read(what)?;
    loaded.said().iter().for_each(|line| eprintln!("{line}"));
    if !is_usable(&loaded.problems) {
        return Ok(exit::USAGE);
    }
    let volumes: u32 = loaded.context.volumes.iter().map(|group| group.count.0).sum();
    super::print(&format!(
        "{}: sound: {volumes} volumes, {} arrays, {} file systems\n",
        loaded.context.name,
        loaded.context.arrays.len(),
        loaded.context.filesystems.len()
    ));
    Ok(exit::DONE)
}

fn new(name: &str, from: &str, out: Option<&PathBuf>) -> Result<u8, Failure> {
    let loaded = contexts::read(from)?;
    // Before the name becomes a path.
    let fresh = iobound_record::Context { name: name.to_owned(), ..loaded.context.clone() };
    if let Some(problem) = model::validate(&fresh).iter().find(|problem| problem.place == "name") {
        return Err(Failure::usage(problem));
    }
    let text = contexts::renamed(&loaded.text, &loaded.context.name, name)?;
    let path = out.cloned().unwrap_or_else(|| PathBuf::from(format!("{name}.toml")));
    write_new(&path, &text)?;
    let written = path.display();
    super::print(&format!("{written} written; change it, then: iobound context validate {written}\n"));
    Ok(exit::DONE)
}

/// Writes a file that is not there yet: a context may have taken its owner an hour.
fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    if path.exists() {
        return Err(Failure::usage(format!("{} exists; name another file with --out", path.display())));
    }
    write_whole(path, text)
}
