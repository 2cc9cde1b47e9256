//! The command line: one file a command.

mod calibrate;
mod ceilings;
mod check;
mod compare;
mod context;
mod durability;
mod lab;
mod monitor;
mod objects;
mod prepare;
mod probe;
mod report;
mod run;
mod stream;

use clap::{Parser, Subcommand};

use crate::exit::{self, Failure};

/// How fast can this storage go, and what bounds it?
///
/// Without arguments to `run`, measures the storage under the current directory in about a minute,
/// needs no root and no other program, and removes its files.
#[derive(Parser, Debug)]
#[command(name = "iobound", version, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 done, but a check failed or the numbers do not stand; 2 bad usage; \
3 refused to protect data; 4 the run broke or was interrupted (what was measured is kept).";

#[derive(Subcommand, Debug)]
enum Command {
    /// Measure: the quick suite, or the jobs of a file
    Run(Box<run::Args>),
    /// Write a stream of generated data at the storage's own speed: benchmark and product in one
    Stream(Box<stream::Args>),
    /// PUT, GET, LIST and DELETE on an object store, in a mix: operations per second and their latencies
    Objects(Box<objects::Args>),
    /// Render a run again: terminal, Markdown, HTML, CSV, fio's JSON, OpenMetrics
    Report(report::Args),
    /// What the hardware promises for each job, and what binds
    Ceilings(Box<ceilings::Args>),
    /// Runs against each other: faster, slower, or cannot tell
    Compare(compare::Args),
    /// Live rates of devices, their members and the page cache
    Monitor(monitor::Args),
    /// Measure what this tool itself can do on this machine
    Calibrate(calibrate::Args),
    /// Is this host set up right? Pass, warn or fail, and the command that mends it
    Check(check::Args),
    /// Hardware contexts: detect, list, show, validate, new
    Context(context::Args),
    /// Set a host up as a hardware context says: plan, apply, undo
    Prepare(prepare::Args),
    /// Is a sync honest on this storage? Write, cut the power, verify
    Durability(Box<durability::Args>),
    /// Show what this machine is, as far as it bears on storage
    Probe(probe::Args),
    /// Virtual volumes with known limits, and a virtual machine with many of them
    Lab(lab::Args),
}

/// Reads the command line, runs the command, and returns the exit code.
pub fn main() -> u8 {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors; a closed pipe is none either.
            let code = if error.use_stderr() { exit::USAGE } else { exit::DONE };
            let _ = error.print();
            return code;
        }
    };
    let done = match cli.command {
        Command::Run(args) => run::run(*args),
        Command::Stream(args) => stream::run(*args),
        Command::Objects(args) => objects::run(*args),
        Command::Report(args) => report::run(&args),
        Command::Ceilings(args) => ceilings::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Monitor(args) => monitor::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Context(args) => context::run(&args),
        Command::Prepare(args) => prepare::run(&args),
        Command::Durability(args) => durability::run(*args),
        Command::Probe(args) => probe::run(&args),
        Command::Lab(args) => lab::run(args),
    };
    match done {
        Ok(code) => code,
        Err(Failure { code, words }) => {
            eprintln!("iobound: {words}");
            code
        }
    }
}

/// Prints results; a reader that went away is no error.
fn print(text: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
