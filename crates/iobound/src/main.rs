//! The `iobound` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(iobound::cli::main())
}
