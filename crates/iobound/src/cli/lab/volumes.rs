//! `iobound lab up`, `list` and `down`.

use std::path::PathBuf;

use comfy_table::{Table, presets};
use iobound_lab::volume::{self, Health, Launcher, Volume, Wish};
use iobound_record::units;

use crate::exit::{self, Failure};

pub const EXAMPLES: &str = "\
A volume is NAME= and words between commas:
  a size          50GiB (needed; a sparse file, checked against the free space)
  NNNiops         operations per second, reads and writes together; more than 256 KiB count as several
  NNNMiBps, MBps  bytes per second, reads and writes together
  latency=TIME    added to each operation
  fs=xfs|ext4     makes a file system; mount=DIR mounts it
  noflush         answers a flush without doing it, as a drive with a lying cache

One gp3 volume for data and one for the log, as a database would have them:
  iobound lab up --volume data=3000iops,125MiBps,20GiB,fs=xfs,mount=/mnt/data \\
                 --volume wal=3000iops,125MiBps,5GiB,fs=xfs,mount=/mnt/wal
  iobound run --data /mnt/data --wal /mnt/wal
  iobound lab down --all";

/// Options of `iobound lab up`.
#[derive(clap::Args, Debug)]
pub struct UpArgs {
    /// A volume, for example data=3000iops,125MiBps,50GiB,fs=xfs,mount=/mnt/data
    #[arg(long = "volume", value_name = "NAME=WORDS", required = true)]
    volumes: Vec<String>,
    /// Print what was made as JSON
    #[arg(long)]
    json: bool,
}

/// Options of `iobound lab list`.
#[derive(clap::Args, Debug)]
pub struct ListArgs {
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// Options of `iobound lab down`.
#[derive(clap::Args, Debug)]
pub struct DownArgs {
    /// The volumes to take down
    #[arg(value_name = "NAME", required_unless_present = "all")]
    names: Vec<String>,
    /// All of them
    #[arg(long, conflicts_with = "names")]
    all: bool,
}

/// Options of `iobound lab serve`.
#[derive(clap::Args, Debug)]
pub struct ServeArgs {
    dir: PathBuf,
}

/// Makes volumes.
///
/// # Errors
/// Bad words, no root, no space; what breaks.
pub fn up(args: &UpArgs) -> Result<u8, Failure> {
    let wishes = args.volumes.iter().map(|text| text.parse()).collect::<Result<Vec<Wish>, _>>()?;
    let program = std::env::current_exe().map_err(Failure::broke)?;
    let launcher = Launcher { program, words: vec!["lab".into(), "serve".into()] };
    let made = volume::up(&wishes, &launcher)?;
    print_volumes(&made, args.json)
}

/// Lists volumes.
///
/// # Errors
/// State that cannot be read.
pub fn list(args: &ListArgs) -> Result<u8, Failure> {
    let volumes = volume::list()?;
    if volumes.is_empty() && !args.json {
        super::super::print("no virtual volumes; `iobound lab up --help` shows how to make some\n");
        return Ok(exit::DONE);
    }
    print_volumes(&volumes, args.json)
}

/// Takes volumes down.
///
/// # Errors
/// Names that are not there; volumes in use.
pub fn down(args: &DownArgs) -> Result<u8, Failure> {
    let gone = volume::down(&args.names, args.all)?;
    let text = match gone.is_empty() {
        true => "no virtual volumes\n".to_owned(),
        false => gone.iter().map(|name| format!("removed {name}\n")).collect(),
    };
    super::super::print(&text);
    Ok(exit::DONE)
}

/// Serves one volume until it is taken down.
///
/// # Errors
/// FUSE that cannot be mounted.
pub fn serve(args: &ServeArgs) -> Result<u8, Failure> {
    volume::serve(&args.dir)?;
    Ok(exit::DONE)
}

fn print_volumes(volumes: &[Volume], as_json: bool) -> Result<u8, Failure> {
    if !as_json {
        super::super::print(&table(volumes));
        return Ok(exit::DONE);
    }
    let values: Vec<serde_json::Value> = volumes
        .iter()
        .map(|volume| {
            serde_json::json!({
                "name": volume.name, "device": volume.device, "mount": volume.mount,
                "filesystem": volume.filesystem, "size_bytes": volume.size_bytes, "iops": volume.iops,
                "bandwidth_bytes_per_s": volume.bytes_per_s, "latency_ns": volume.latency_ns,
                "ignores_flush": volume.ignores_flush, "state": volume.health(), "directory": volume.dir,
            })
        })
        .collect();
    let json = serde_json::to_string_pretty(&values).map_err(Failure::broke)?;
    super::super::print(&(json + "\n"));
    Ok(exit::DONE)
}

fn table(volumes: &[Volume]) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["name", "device", "size", "IOPS", "bandwidth", "latency", "mounted on", "state"]);
    for volume in volumes {
        let none = || "-".to_owned();
        let path =
            |path: &Option<PathBuf>| path.as_ref().map_or_else(none, |path| path.display().to_string());
        let latency = match volume.latency_ns {
            0 => none(),
            ns => units::duration(ns),
        };
        table.add_row([
            volume.name.clone(),
            path(&volume.device),
            units::bytes(volume.size_bytes),
            volume.iops.map_or_else(none, |iops| units::count(iops as f64)),
            volume.bytes_per_s.map_or_else(none, |bytes| units::bandwidth(bytes as f64)),
            latency,
            path(&volume.mount),
            match volume.health() {
                Health::Up => "up".to_owned(),
                Health::Making => "being made".to_owned(),
                Health::Broken => format!("broken: `iobound lab down {}` removes it", volume.name),
            },
        ]);
    }
    table.to_string() + "\n"
}
