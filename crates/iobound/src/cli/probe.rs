//! `iobound probe`: what this machine is.

use std::path::PathBuf;

use iobound_host::{ProbeOptions, System};

use crate::exit::{self, Failure};
use crate::report::probe::render;

/// Options of `iobound probe`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// Ask no cloud's metadata service; what the firmware tells is still shown
    #[arg(long)]
    offline: bool,
    /// Do not read devices to see what they hold (only root could)
    #[arg(long)]
    no_signatures: bool,
    /// Look at the captured machine whose proc/ and sys/ lie under DIR
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// Looks and prints. Needs no root; says what it could not see without.
///
/// # Errors
/// A root that is no captured machine.
pub fn run(args: &Args) -> Result<u8, Failure> {
    let system = match &args.root {
        Some(root) if !(root.join("proc").is_dir() || root.join("sys").is_dir()) => {
            let root = root.display();
            return Err(Failure::usage(format!(
                "{root} is no captured machine: it has neither proc/ nor sys/"
            )));
        }
        Some(root) => System::captured(root),
        None => System::live(),
    };
    let options = ProbeOptions {
        offline: args.offline,
        read_signatures: !args.no_signatures,
        ..ProbeOptions::default()
    };
    let mut probe = iobound_host::probe(&system, &options);
    probe.taken = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    if args.json {
        let json = serde_json::to_string_pretty(&probe).map_err(Failure::broke)?;
        super::print(&(json + "\n"));
    } else {
        super::print(&render(&probe, super::run::look()));
    }
    Ok(exit::DONE)
}
