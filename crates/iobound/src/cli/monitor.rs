//! `iobound monitor`: live rates of devices.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iobound_host::{Stack, System};
use iobound_record::units;

use crate::exit::{self, Failure};
use crate::monitor::{self, Form, Plan};

/// Shorter, the kernel's milliseconds show; longer is a mistake.
const INTERVAL_LEAST: Duration = Duration::from_millis(100);
const INTERVAL_MOST: Duration = Duration::from_secs(3600);

/// Options of `iobound monitor`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Devices, or paths whose devices are to be watched, with everything below them; without any, all
    #[arg(value_name = "DEVICE|PATH")]
    targets: Vec<PathBuf>,
    /// Time between two looks
    #[arg(long, short, value_name = "TIME", default_value = "1s", value_parser = units::parse_duration_ns)]
    interval: u64,
    /// Stop after this many intervals
    #[arg(long, short = 'n', value_name = "N")]
    count: Option<u64>,
    /// Print a table of comma-separated values: a row a device, and a total with the machine's figures
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print one JSON object a line and interval
    #[arg(long)]
    json: bool,
    /// Show partitions and idle devices too
    #[arg(long)]
    all: bool,
    /// What totals go over: the disks, or the devices that were named (an array before mirroring)
    #[arg(long, value_name = "disks|targets", default_value = "disks", value_parser = parse_total)]
    total: monitor::Total,
}

fn parse_total(text: &str) -> Result<monitor::Total, String> {
    match text {
        "disks" => Ok(monitor::Total::Disks),
        "targets" => Ok(monitor::Total::Targets),
        _ => Err("use disks or targets".into()),
    }
}

/// Shows rates until stopped.
///
/// # Errors
/// A target without devices, or counters that cannot be read.
pub fn run(args: &Args) -> Result<u8, Failure> {
    let interval = Duration::from_nanos(args.interval);
    if !(INTERVAL_LEAST..=INTERVAL_MOST).contains(&interval) {
        let given = units::duration(args.interval);
        return Err(Failure::usage(format!("--interval {given} is out of range; use 100ms to 1h")));
    }
    if args.count == Some(0) {
        return Err(Failure::usage("--count 0 shows nothing; use 1 or more"));
    }
    let system = System::live();
    let stacks = args.targets.iter().map(|path| stack(&system, path)).collect::<Result<Vec<_>, _>>()?;
    let plan = Plan { system, stacks, interval, count: args.count, all: args.all, total: args.total };
    let terminal = std::io::stdout().is_terminal()
        && std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    let form = match (args.csv, args.json) {
        (true, _) => Form::Csv,
        (_, true) => Form::Json,
        _ if terminal => return monitor::screen(&plan).map(|()| exit::DONE),
        _ => Form::Text,
    };
    monitor::stream(&plan, form, &mut std::io::stdout().lock())?;
    Ok(exit::DONE)
}

/// The devices of a target: a path, a device node, or a device's bare name.
fn stack(system: &System, path: &Path) -> Result<Stack, Failure> {
    let bare = path.components().count() == 1 && !path.exists();
    let node = Path::new("/dev").join(path);
    let path = if bare && node.exists() { node.as_path() } else { path };
    let stack = system.stack_of(path).map_err(|error| {
        Failure::usage(format!("{error}; 'iobound monitor' without a name shows all devices"))
    })?;
    if stack.top.is_empty() {
        let why =
            if stack.notes.is_empty() { String::new() } else { format!(": {}", stack.notes.join("; ")) };
        return Err(Failure::usage(format!(
            "{}: no block device holds it{why}; name another path, or none for all devices",
            path.display()
        )));
    }
    stack.notes.iter().for_each(|note| eprintln!("note: {}: {note}", path.display()));
    Ok(stack)
}
