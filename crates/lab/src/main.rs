//! `iobound-lab`: a throttled volume for a command, and the sweeping up after tests.

use std::process::{ExitCode, ExitStatus};

use iobound_lab::volume::{self, Launcher};
use iobound_lab::{LabError, ThrottledVolume, leftovers, reap};

const USAGE: &str = "\
usage: iobound-lab reap                 remove what fixtures of dead processes left behind
       iobound-lab leftovers            list what fixtures have here now; exit 1 if anything
       iobound-lab volume up WISH | list | down | serve DIR
                                        one virtual volume, as `iobound lab up` makes it
       iobound-lab with [OPTIONS] -- COMMAND...
                                        run COMMAND with a volume: IOBOUND_DEVICE is its device,
                                        IOBOUND_DIR its directory
  --iops N                   operations per second
  --bytes-per-s N            bytes per second
  --size N                   bytes (default 512 MiB)
  --filesystem KIND          ext4, xfs or btrfs
  --write-back yes           hold buffered writes to the limits as well";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.split_first() {
        Some((&"reap", [])) => {
            for leftover in reap() {
                println!("removed {leftover}");
            }
            ExitCode::SUCCESS
        }
        Some((&"leftovers", [])) => {
            let found = leftovers();
            for leftover in &found {
                println!("{leftover}");
            }
            ExitCode::from(u8::from(!found.is_empty()))
        }
        Some((&"volume", rest)) => match volume(rest) {
            Ok(text) => {
                print!("{text}");
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("iobound-lab: {error}");
                ExitCode::from(2)
            }
        },
        Some((&"with", rest)) => match with(rest) {
            Ok(code) => ExitCode::from(code),
            Err(message) => {
                eprintln!("iobound-lab: {message}");
                ExitCode::from(2)
            }
        },
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Makes, lists, removes or serves virtual volumes.
fn volume(words: &[&str]) -> Result<String, LabError> {
    match words {
        ["up", wish] => {
            let program = std::env::current_exe().map_err(|error| LabError::Failed(error.to_string()))?;
            let launcher = Launcher { program, words: vec!["volume".into(), "serve".into()] };
            let made = volume::up(&[wish.parse()?], &launcher)?;
            Ok(made.iter().flat_map(|volume| &volume.device).map(|d| format!("{}\n", d.display())).collect())
        }
        ["list"] => Ok(volume::list()?.iter().map(|v| format!("{} {:?}\n", v.name, v.health())).collect()),
        ["down"] => Ok(volume::down(&[], true)?.iter().map(|name| format!("removed {name}\n")).collect()),
        ["serve", dir] => volume::serve(dir.as_ref()).map(|()| String::new()),
        _ => Err(LabError::Usage(USAGE.into())),
    }
}

#[derive(Default)]
struct Wish<'a> {
    iops: Option<u64>,
    bytes_per_s: Option<u64>,
    size: Option<u64>,
    filesystem: Option<&'a str>,
    write_back: bool,
}

/// Runs the command behind `--` with the volume that the options before it ask for.
fn with(words: &[&str]) -> Result<u8, String> {
    let split = words.iter().position(|word| *word == "--").ok_or(USAGE)?;
    let (options, command) = (&words[..split], &words[split + 1..]);
    let (program, arguments) = command.split_first().ok_or(USAGE)?;
    let mut wish = Wish::default();
    for pair in options.chunks(2) {
        let [name, value] = pair else { return Err(format!("{} needs a value\n{USAGE}", pair[0])) };
        let number = || value.parse().map(Some).map_err(|_| format!("{name}: '{value}' is not a number"));
        match *name {
            "--iops" => wish.iops = number()?,
            "--bytes-per-s" => wish.bytes_per_s = number()?,
            "--size" => wish.size = number()?,
            "--write-back" => wish.write_back = *value == "yes",
            "--filesystem" => wish.filesystem = Some(value),
            _ => return Err(format!("{name} {value}: unknown\n{USAGE}")),
        }
    }
    let status = with_volume(&wish, program, arguments).map_err(|error| error.to_string())?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// Makes the volume, runs the command and takes the volume down again.
fn with_volume(wish: &Wish, program: &str, arguments: &[&str]) -> Result<ExitStatus, LabError> {
    let mut builder = ThrottledVolume::builder();
    if let Some(iops) = wish.iops {
        builder = builder.iops(iops);
    }
    if let Some(bytes) = wish.bytes_per_s {
        builder = builder.bytes_per_s(bytes);
    }
    if let Some(bytes) = wish.size {
        builder = builder.size(bytes);
    }
    if let Some(kind) = wish.filesystem {
        builder = builder.filesystem(kind);
    }
    if wish.write_back {
        builder = builder.with_write_back();
    }
    let volume = builder.build()?;
    let mut command = volume.command(program);
    command.args(arguments).env("IOBOUND_DEVICE", volume.device());
    if wish.filesystem.is_some() {
        command.env("IOBOUND_DIR", volume.dir());
    }
    command.status().map_err(|error| LabError::Failed(format!("{command:?}: {error}")))
}
