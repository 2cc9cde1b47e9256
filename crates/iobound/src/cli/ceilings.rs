//! `iobound ceilings`: what the hardware promises for each job, and what binds.

use std::path::PathBuf;

use iobound_model::ceiling::{Demand, Limits, Node, Topology, ceilings};
use iobound_record::{Bandwidth, Cap, Context, Level, units};

use crate::contexts;
use crate::exit::{self, Failure};
use crate::preflight::probe_now;
use crate::promised::layout_under;
use crate::report::ceilings::{Part, Row, render};
use crate::suites::{Suite, SuiteScenario, shipped};

/// Options of `iobound ceilings`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The suite whose scenarios are asked about, by name or file
    #[arg(value_name = "SUITE", default_value = "database")]
    suite: String,
    /// A hardware context, by name or file, in place of the options below
    #[arg(long, value_name = "CONTEXT", conflicts_with_all = ["volumes", "iops", "mibps", "raid", "chunk",
        "kind", "latency", "sync_latency", "instance_iops", "instance_mbps"])]
    context: Option<String>,
    /// How the disks are joined that this host has under a directory or device; each of them promises what
    /// --iops, --mibps, --latency and --sync-latency say
    #[arg(long, value_name = "PATH", conflicts_with_all = ["context", "volumes", "raid", "chunk"])]
    on: Option<PathBuf>,
    /// Number of volumes
    #[arg(long, value_name = "N", default_value_t = 1)]
    volumes: u32,
    /// Operations per second of each volume
    #[arg(long, value_name = "IOPS")]
    iops: Option<u64>,
    /// MiB/s of each volume
    #[arg(long, value_name = "MIB/S")]
    mibps: Option<f64>,
    /// How they are joined: 0, 1, 5, 6, 10 or linear
    #[arg(long, value_name = "LEVEL", value_parser = parse_level)]
    raid: Option<Level>,
    /// Chunk (mdadm) or stripe size (LVM)
    #[arg(long, value_name = "SIZE", default_value = "64k", value_parser = units::parse_bytes)]
    chunk: u64,
    /// Kind of volume, gp3 for example: how large an operation it counts as one
    #[arg(long, value_name = "KIND", default_value = "")]
    kind: String,
    /// Time of one small read on an idle volume
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration_ns)]
    latency: Option<u64>,
    /// Time of one small durable write on an idle volume
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration_ns)]
    sync_latency: Option<u64>,
    /// What the machine sustains to all its volumes, operations per second
    #[arg(long, value_name = "IOPS")]
    instance_iops: Option<u64>,
    /// The same in MB/s (as cloud pages give it)
    #[arg(long, value_name = "MB/S")]
    instance_mbps: Option<f64>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

fn parse_level(text: &str) -> Result<Level, String> {
    match text.to_ascii_lowercase().trim_start_matches("raid") {
        "0" | "stripe" => Ok(Level::Raid0),
        "1" => Ok(Level::Raid1),
        "5" => Ok(Level::Raid5),
        "6" => Ok(Level::Raid6),
        "10" => Ok(Level::Raid10),
        "linear" => Ok(Level::Linear),
        _ => Err("use 0, 1, 5, 6, 10 or linear".into()),
    }
}

/// Computes, prints, and returns the exit code.
///
/// # Errors
/// Bad usage: a layout that cannot be, or nothing promised.
pub fn run(args: &Args) -> Result<u8, Failure> {
    let text = shipped(&args.suite).map(str::to_owned).or_else(|| {
        // A user's own suite.
        Suite::text_of(args.suite.as_ref())
    });
    let text = text
        .ok_or_else(|| Failure::usage(format!("'{}' is neither a suite nor a suite's file", args.suite)))?;
    let scenarios = Suite::parse(&text, &args.suite)?.scenarios(&[])?;
    let parts = match &args.context {
        Some(name) => of_context(&contexts::load(name)?, &scenarios)?,
        None => {
            let topology = topology(args)?;
            vec![part(title(args, &topology), &topology, scenarios.iter())]
        }
    };
    if args.json {
        let parts: Vec<_> = parts.iter().map(Part::to_json).collect();
        let json = serde_json::to_string_pretty(&parts).map_err(Failure::broke)?;
        super::print(&(json + "\n"));
    } else {
        super::print(&render(&parts));
    }
    Ok(exit::DONE)
}

/// A part for each role that a scenario asks for and the context has.
fn of_context(context: &Context, scenarios: &[SuiteScenario]) -> Result<Vec<Part>, Failure> {
    let mut parts = Vec::new();
    for fs in &context.filesystems {
        let Some(role) = fs.role else { continue };
        let topology = Topology::of(context, role.name()).map_err(Failure::usage)?;
        let title = format!("{}: {} on {}, {}", context.name, role.name(), fs.on, of_node(&topology.root));
        let asked = scenarios.iter().filter(|scenario| scenario.volume == role.name());
        parts.push(part(title, &topology, asked));
    }
    if parts.is_empty() {
        return Err(Failure::usage(format!(
            "context '{}' gives no file system the role data or wal; add role = \"data\"",
            context.name
        )));
    }
    Ok(parts)
}

/// `raid10 of 8, chunk 64 KiB`.
fn of_node(node: &Node) -> String {
    match node {
        Node::Volume(_) => "one volume".into(),
        Node::Array { level, chunk_bytes: 0, members } => format!("{} of {}", level.name(), members.len()),
        Node::Array { level, chunk_bytes, members } => {
            format!("{} of {}, chunk {}", level.name(), members.len(), units::bytes(*chunk_bytes))
        }
    }
}

fn part<'a>(title: String, topology: &Topology, scenarios: impl Iterator<Item = &'a SuiteScenario>) -> Part {
    let row = |scenario: &SuiteScenario| Row {
        id: scenario.id,
        name: scenario.name.clone(),
        job: scenario.job.clone(),
        ceilings: ceilings(topology, &Demand::of(&scenario.job), None),
    };
    Part { title, rows: scenarios.map(row).collect() }
}

fn topology(args: &Args) -> Result<Topology, Failure> {
    let limits = limits(args)?;
    let bandwidth = args.instance_mbps.map(|mb| rate("--instance-mbps", mb, 1e6)).transpose()?;
    let sustained = Cap { iops: args.instance_iops, bandwidth: bandwidth.map(Bandwidth) };
    let joined = match &args.on {
        Some(path) => layout_under(path, &probe_now(false, false), &limits)?,
        None => Topology::uniform(level(args)?, args.chunk, args.volumes, &limits),
    };
    Ok(Topology { sustained, ..joined })
}

/// How the volumes that the options name are joined.
fn level(args: &Args) -> Result<Option<Level>, Failure> {
    if args.volumes > 1024 {
        return Err(Failure::usage("--volumes is above 1,024"));
    }
    Ok(match (args.raid, args.volumes) {
        (_, 0) => return Err(Failure::usage("--volumes 0 is no storage; give at least 1")),
        (None, 1) => None,
        (None, _) => {
            return Err(Failure::usage(
                "say how several volumes are joined: --raid 0, 1, 5, 6, 10 or linear",
            ));
        }
        (Some(level), n) if n < level.members_min() => {
            return Err(Failure::usage(format!(
                "{} needs at least {} volumes, and --volumes says {n}",
                level.name(),
                level.members_min()
            )));
        }
        (Some(level), _) => Some(level),
    })
}

/// What each volume promises.
fn limits(args: &Args) -> Result<Limits, Failure> {
    if args.iops.is_none() && args.mibps.is_none() && args.latency.is_none() {
        return Err(Failure::usage(
            "say what a volume promises: --volumes 8 --iops 3000 --mibps 125 --raid 10, for example; name a \
             --context; or name a directory of this host with --on, and what each of its disks promises",
        ));
    }
    let zero = [args.iops, args.latency, args.sync_latency, args.instance_iops, Some(args.chunk)];
    if zero.contains(&Some(0)) {
        return Err(Failure::usage("a limit of 0 promises nothing; leave the option out instead"));
    }
    Ok(Limits {
        name: "volume".into(),
        iops: args.iops,
        bytes_per_s: args.mibps.map(|mib| rate("--mibps", mib, units::MIB as f64)).transpose()?,
        latency_ns: args.latency,
        sync_latency_ns: args.sync_latency,
        operation_bytes: iobound_model::ceiling::operation_bytes(&args.kind),
    })
}

fn rate(option: &str, value: f64, unit: f64) -> Result<u64, Failure> {
    let bytes = value * unit;
    if !(1.0..1e15).contains(&bytes) {
        return Err(Failure::usage(format!(
            "{option} {value} is no rate of a volume; give a number above 0"
        )));
    }
    Ok(bytes.round() as u64)
}

fn title(args: &Args, topology: &Topology) -> String {
    let each: Vec<String> = [
        args.iops.map(|iops| format!("{} IOPS", units::count(iops as f64))),
        args.mibps.map(|mib| format!("{mib} MiB/s")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let kind = if args.kind.is_empty() { "volume" } else { &args.kind };
    if let Some(path) = &args.on {
        let joined = of_node(&topology.root);
        return format!("{}: {joined}, each {kind} of {}", path.display(), each.join(", "));
    }
    match args.raid {
        Some(level) => {
            let chunk = units::bytes(args.chunk);
            format!("{} of {} x {kind} ({}), chunk {chunk}", level.name(), args.volumes, each.join(", "))
        }
        None => format!("one {kind} ({})", each.join(", ")),
    }
}
