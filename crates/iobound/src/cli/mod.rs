//! The command line: one file a command.

mod calibrate;
mod ceilings;
mod monitor;
mod run;

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
    /// What the hardware promises for each job, and what binds
    Ceilings(Box<ceilings::Args>),
    /// Live rates of devices, their members and the page cache
    Monitor(monitor::Args),
    /// Measure what this tool itself can do on this machine
    Calibrate(calibrate::Args),
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
        Command::Ceilings(args) => ceilings::run(&args),
        Command::Monitor(args) => monitor::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
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
