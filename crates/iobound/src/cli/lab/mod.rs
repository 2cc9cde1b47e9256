//! `iobound lab`: virtual volumes with known limits on this machine, and a virtual machine with many.

mod vm;
mod volumes;

use clap::Subcommand;
use iobound_lab::LabError;

use crate::exit::{self, Failure};

/// Options of `iobound lab`.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Make virtual volumes on this machine: real block devices with known limits (needs root)
    #[command(after_help = volumes::EXAMPLES)]
    Up(volumes::UpArgs),
    /// List the virtual volumes
    List(volumes::ListArgs),
    /// Take virtual volumes down, with what is on them (needs root)
    Down(volumes::DownArgs),
    /// A virtual machine with drives of known limits: arrays, file systems, settings and reboots, tried
    /// away from this machine's own
    Vm(vm::Args),
    /// The process behind a volume; `up` starts it
    #[command(hide = true)]
    Serve(volumes::ServeArgs),
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        let code = match &error {
            LabError::Usage(_) | LabError::Skip(_) => exit::USAGE,
            LabError::Failed(_) | LabError::TimedOut(_) | LabError::Down(_) => exit::BROKE,
        };
        // "skipped" is a test's word.
        let words = match error {
            LabError::Skip(words) => words,
            other => other.to_string(),
        };
        Failure { code, words }
    }
}

/// Runs the subcommand.
///
/// # Errors
/// As the subcommand.
pub fn run(args: Args) -> Result<u8, Failure> {
    match args.command {
        Command::Up(args) => volumes::up(&args),
        Command::List(args) => volumes::list(&args),
        Command::Down(args) => volumes::down(&args),
        Command::Serve(args) => volumes::serve(&args),
        Command::Vm(args) => vm::run(args),
    }
}
