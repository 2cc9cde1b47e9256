//! `iobound check`: is the host set up right for this?

use std::path::{Path, PathBuf};

use iobound_model::check::Target;
use iobound_record::{Check, Context, Outcome, Role, units};

use crate::contexts;
use crate::exit::{self, Failure};
use crate::preflight::{self, Request};
use crate::report::terminal::{render_checks, verdict};

/// Longest watch that is of use.
const WATCH_MAX_NS: u64 = 3600 * 1_000_000_000;

/// Options of `iobound check`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// What the hardware is meant to be: a context's name or file
    #[arg(long, value_name = "CONTEXT")]
    context: Option<String>,
    /// Where tables will lie [default: the context's file systems, else the current directory]
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// Where the write-ahead log will lie
    #[arg(long, value_name = "PATH")]
    wal: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Ask no cloud what machine this is
    #[arg(long)]
    offline: bool,
    /// Watch this long what others do; 0 does not
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = units::parse_duration_ns)]
    watch: u64,
    /// Look at the captured machine whose proc/ and sys/ lie under DIR
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Warnings fail, too
    #[arg(long)]
    strict: bool,
}

/// Checks, prints, and returns the exit code.
///
/// # Errors
/// A context that is none, or a path that is not there.
pub fn run(args: &Args) -> Result<u8, Failure> {
    if args.watch > WATCH_MAX_NS {
        return Err(Failure::usage("--watch is longer than an hour; 3s shows what goes on"));
    }
    let context = args.context.as_deref().map(contexts::load).transpose()?;
    if let Some(root) = &args.root {
        let checks = captured(root, args, context.as_ref())?;
        return show(&checks, args);
    }
    let mut targets = Vec::new();
    for (path, role) in [(&args.data, Role::Data), (&args.wal, Role::Wal)] {
        if let Some(path) = path {
            targets.push(preflight::target(path, Some(role))?);
        }
    }
    if targets.is_empty() && context.as_ref().is_none_or(|context| context.filesystems.is_empty()) {
        targets.push(preflight::target(Path::new("."), None)?);
    }
    let request = Request {
        context: context.as_ref(),
        targets,
        offline: args.offline,
        watch_s: args.watch as f64 / 1e9,
    };
    show(&preflight::look(&request, || false), args)
}

/// The checklist of a machine that is not this one: its paths are looked up in its own mount table.
fn captured(root: &Path, args: &Args, context: Option<&Context>) -> Result<Vec<Check>, Failure> {
    if !(root.join("proc").is_dir() && root.join("sys").is_dir()) {
        let words = "is no captured machine: it has no proc/ and sys/";
        return Err(Failure::usage(format!("{}: {words}", root.display())));
    }
    let places = [(&args.data, Role::Data), (&args.wal, Role::Wal)];
    let target = |(path, role): (&Option<PathBuf>, Role)| {
        let path = path.as_ref()?.display().to_string();
        Some(Target { path, role: Some(role), ..Target::default() })
    };
    let targets: Vec<Target> = places.into_iter().filter_map(target).collect();
    if targets.is_empty() && context.is_none_or(|context| context.filesystems.is_empty()) {
        return Err(Failure::usage(
            "--root needs a place on that machine: --data PATH, --wal PATH or --context",
        ));
    }
    Ok(preflight::look_at_captured(root, context, &targets))
}

fn show(checks: &[Check], args: &Args) -> Result<u8, Failure> {
    if args.json {
        super::print(&as_json(checks)?);
    } else {
        super::print(&render_checks(checks, super::run::look()));
    }
    Ok(exit_code(checks, args.strict))
}

fn exit_code(checks: &[Check], strict: bool) -> u8 {
    let worst = checks.iter().map(|check| check.outcome).max().unwrap_or(Outcome::Pass);
    if worst == Outcome::Fail || strict && worst == Outcome::Warn { exit::FAILED } else { exit::DONE }
}

fn as_json(checks: &[Check]) -> Result<String, Failure> {
    let count = |outcome| checks.iter().filter(|check| check.outcome == outcome).count();
    let json = serde_json::json!({
        "schema": 1,
        "verdict": verdict(checks),
        "pass": count(Outcome::Pass),
        "unknown": count(Outcome::Unknown),
        "warn": count(Outcome::Warn),
        "fail": count(Outcome::Fail),
        "checks": checks,
    });
    serde_json::to_string_pretty(&json).map(|text| text + "\n").map_err(Failure::broke)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_fail_unless_strict() {
        let check = |outcome| Check {
            id: "x".into(),
            subject: "host".into(),
            outcome,
            value: String::new(),
            expected: String::new(),
            why: String::new(),
            mend: String::new(),
        };
        assert_eq!(exit_code(&[check(Outcome::Warn), check(Outcome::Unknown)], false), exit::DONE);
        assert_eq!(exit_code(&[check(Outcome::Warn)], true), exit::FAILED);
        assert_eq!(exit_code(&[check(Outcome::Unknown)], true), exit::DONE);
        assert_eq!(exit_code(&[check(Outcome::Fail)], false), exit::FAILED);
    }
}
