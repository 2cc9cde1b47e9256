//! `iobound lab vm`.

use std::io::Write;
use std::path::PathBuf;

use clap::Subcommand;
use iobound_lab::LabError;
use iobound_lab::vm::{Event, Flush, GuestCommand, Image, VOLUMES_MAX, Vm, VmSpec, VolumeSpec};
use iobound_lab::volume::Wish;

use crate::exit::{self, Failure};

/// Where the program goes in the guest.
const PROGRAM: &str = "/usr/local/bin/iobound";
/// `--volumes N`: each a tenth of a gp3 volume, so that one processor can drive sixteen.
const TENTH_OF_GP3: &str = "300iops,12.5MiBps,2GiB";

const EXAMPLES: &str = "\
Sixteen drives at a tenth of a gp3 volume, and what an array of eight of them does:
  iobound lab vm run --volumes 16 -- 'mdadm --create /dev/md0 --run --assume-clean --level=10 \\
      --raid-devices=8 /dev/nvme[1-8]n1 && iobound run --data /dev/md0'

COMMAND is one text for the guest's shell, or a program and its arguments. Volumes are /dev/nvme1n1,
/dev/nvme2n1 ... in the order of the options; /dev/nvme0n1 is the guest's root. The guest is Debian 12 with
mdadm, LVM, xfsprogs and fio; it has no network. Its image is built once (a minute, as root) and kept in
~/.cache/iobound/lab (IOBOUND_LAB_CACHE says where else). It runs by KVM where that works, else translated,
several times slower in computing but not in what the drives are held to; IOBOUND_LAB_ACCEL=kvm|tcg chooses.";

/// Options of `iobound lab vm`.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Build the machine's image, if it is not built yet
    Build,
    /// Boot a machine, run a command in it and bring back files
    #[command(after_help = EXAMPLES)]
    Run(RunArgs),
    /// Boot a machine and open a shell on its console; leaving the shell switches it off
    Shell(MachineArgs),
}

#[derive(clap::Args, Debug)]
struct MachineArgs {
    /// This many drives at a tenth of a gp3 volume: 300 IOPS, 12.5 MiB/s, 2 GiB
    #[arg(long, value_name = "N", default_value_t = 0)]
    volumes: usize,
    /// A drive, for example data=300iops,12.5MiBps,1GiB[,latency=2ms][,noflush]
    #[arg(long = "volume", value_name = "NAME=WORDS")]
    volume: Vec<String>,
    /// Memory in MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    memory: u32,
    /// Processors
    #[arg(long, value_name = "N", default_value_t = 2)]
    cpus: u32,
    /// Keep the machine's disks in DIR, and start from what is there
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

#[derive(clap::Args, Debug)]
struct RunArgs {
    #[command(flatten)]
    machine: MachineArgs,
    /// Copy a file or directory into the guest first
    #[arg(long, value_name = "HOST:GUEST")]
    put: Vec<String>,
    /// Bring a file or directory back afterwards
    #[arg(long, value_name = "GUEST[:HOST]")]
    get: Vec<String>,
    /// What to run
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

/// Runs the subcommand.
///
/// # Errors
/// Bad words; a machine that does not come up.
pub fn run(args: Args) -> Result<u8, Failure> {
    match args.command {
        Command::Build => {
            let image = Image::ensure()?;
            super::super::print(&format!("{}\n", image.root.display()));
            Ok(exit::DONE)
        }
        Command::Run(args) => run_command(&args),
        Command::Shell(args) => shell(&args),
    }
}

/// The machine that was asked for.
fn spec(args: &MachineArgs) -> Result<VmSpec, Failure> {
    if args.volumes > VOLUMES_MAX {
        return Err(Failure::usage(format!("--volumes {}: {VOLUMES_MAX} at most", args.volumes)));
    }
    let mut spec = VmSpec::new().memory_mib(args.memory).cpus(args.cpus);
    for i in 0..args.volumes {
        spec = spec.volume(drive(&format!("vol{i}={TENTH_OF_GP3}"))?);
    }
    for text in &args.volume {
        spec = spec.volume(drive(text)?);
    }
    spec.check()?;
    Ok(spec)
}

fn drive(text: &str) -> Result<VolumeSpec, Failure> {
    let wish: Wish = text.parse()?;
    if wish.filesystem.is_some() || wish.mount.is_some() {
        return Err(Failure::usage(format!(
            "--volume {text}: a drive is bare; make the file system in the guest"
        )));
    }
    let mut drive = VolumeSpec::new(&wish.name, wish.size_bytes);
    drive.iops = wish.iops;
    drive.bytes_per_s = wish.bytes_per_s;
    drive.flush = if wish.ignores_flush { Flush::Ignored } else { Flush::Honest };
    if wish.latency_ns > 0 {
        // The guest's device-mapper counts whole milliseconds.
        let ms = u32::try_from(wish.latency_ns / 1_000_000).unwrap_or(0);
        if ms == 0 || !wish.latency_ns.is_multiple_of(1_000_000) {
            return Err(Failure::usage(format!("--volume {text}: latency in whole milliseconds")));
        }
        drive.delay_ms = Some(ms);
    }
    Ok(drive)
}

fn boot(args: &MachineArgs) -> Result<Vm, Failure> {
    let spec = spec(args)?;
    let vm = match &args.keep {
        Some(dir) => Vm::boot_in(spec, dir)?,
        None => Vm::boot(spec)?,
    };
    Ok(vm)
}

fn run_command(args: &RunArgs) -> Result<u8, Failure> {
    let puts = args.put.iter().map(|text| put_pair(text)).collect::<Result<Vec<_>, _>>()?;
    let gets: Vec<(String, PathBuf)> = args.get.iter().map(|text| get_pair(text)).collect();
    let vm = boot(&args.machine)?;
    install_program(&vm)?;
    for (host, guest) in &puts {
        vm.push(host, guest)?;
    }
    let command = match &args.command[..] {
        [script] => GuestCommand::shell(script),
        words => GuestCommand::program(words),
    };
    let code = stream(&vm, &command);
    // What a command that failed has written is what one wants to see.
    for (guest, host) in &gets {
        if let Err(error) = vm.pull(guest, host) {
            eprintln!("iobound: --get {guest}: {error}");
            return Err(code.err().unwrap_or_else(|| Failure::broke(error)));
        }
    }
    if args.machine.keep.is_some() && vm.is_up() {
        vm.power_off()?;
    }
    code
}

/// Puts this very program into the guest, and says so where it cannot run there.
fn install_program(vm: &Vm) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(Failure::broke)?;
    vm.push_program(&program, PROGRAM)?;
    let tried = vm.run(GuestCommand::program([PROGRAM, "--version"]));
    let why = match tried {
        Ok(output) if output.code == 0 => return Ok(()),
        Ok(output) => output.stderr,
        Err(LabError::Failed(why)) => why,
        Err(error) => return Err(error.into()),
    };
    eprintln!(
        "iobound: note: this program does not run in the guest (Debian 12, glibc 2.36): {}; one built on \
         Debian 12 or older, or with --target x86_64-unknown-linux-musl, does",
        why.trim()
    );
    Ok(())
}

/// Runs `command`, passing its output on as it comes.
fn stream(vm: &Vm, command: &GuestCommand) -> Result<u8, Failure> {
    let running = vm.start(command)?;
    running.close_stdin()?;
    loop {
        match running.next_event(None)? {
            Some(Event::Stdout(bytes)) => drop(std::io::stdout().write_all(&bytes)),
            Some(Event::Stderr(bytes)) => drop(std::io::stderr().write_all(&bytes)),
            Some(Event::Ended(code)) => {
                let _ = std::io::stdout().flush();
                return Ok(u8::try_from(code).unwrap_or(exit::BROKE));
            }
            None => {}
        }
    }
}

fn shell(args: &MachineArgs) -> Result<u8, Failure> {
    let spec = spec(args)?.with_shell();
    eprintln!("iobound: booting; `exit` in the shell switches the machine off");
    let vm = match &args.keep {
        Some(dir) => Vm::boot_in(spec, dir)?,
        None => Vm::boot(spec)?,
    };
    install_program(&vm)?;
    vm.wait_down(std::time::Duration::from_secs(7 * 24 * 3600))?;
    Ok(exit::DONE)
}

fn put_pair(text: &str) -> Result<(PathBuf, String), Failure> {
    match text.rsplit_once(':') {
        Some((host, guest)) if !host.is_empty() && guest.starts_with('/') => {
            let host = PathBuf::from(host);
            match host.exists() {
                true => Ok((host, guest.to_owned())),
                false => Err(Failure::usage(format!("--put {text}: {} is not there", host.display()))),
            }
        }
        _ => Err(Failure::usage(format!("--put {text}: HOST:GUEST, with the guest's path from /"))),
    }
}

/// Without a place on the host it goes into the current directory, under its own name.
fn get_pair(text: &str) -> (String, PathBuf) {
    match text.split_once(':') {
        Some((guest, host)) => (guest.into(), host.into()),
        None => (text.into(), text.trim_end_matches('/').rsplit('/').next().unwrap_or("got").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(volumes: usize, volume: &[&str]) -> MachineArgs {
        MachineArgs {
            volumes,
            volume: volume.iter().map(|text| (*text).to_owned()).collect(),
            memory: 1024,
            cpus: 2,
            keep: None,
        }
    }

    #[test]
    fn drives_are_numbered_before_those_with_names() {
        let spec = spec(&machine(2, &["wal=300iops,1GiB,latency=2ms,noflush"])).unwrap();
        let names: Vec<&str> = spec.volumes.iter().map(|volume| &volume.name[..]).collect();
        assert_eq!(names, ["vol0", "vol1", "wal"]);
        assert_eq!((spec.volumes[0].iops, spec.volumes[0].bytes_per_s), (Some(300), Some(13_107_200)));
        assert_eq!((spec.volumes[2].delay_ms, spec.volumes[2].flush), (Some(2), Flush::Ignored));
    }

    #[test]
    fn what_a_machine_cannot_have_is_bad_usage() {
        for (args, why) in [
            (machine(25, &[]), "24 at most"),
            (machine(1, &["vol0=1GiB"]), "two volumes"),
            (machine(0, &["a=1GiB,fs=xfs"]), "in the guest"),
            (machine(0, &["a=1GiB,latency=10us"]), "whole milliseconds"),
            (machine(0, &["a=fast"]), "not known"),
        ] {
            let failure = spec(&args).unwrap_err();
            assert!(failure.code == exit::USAGE && failure.words.contains(why), "{failure}");
        }
        assert!(put_pair("nothing").is_err() && put_pair("/etc:relative").is_err());
        assert_eq!(get_pair("/var/log/"), ("/var/log/".into(), "log".into()));
        assert_eq!(get_pair("/a:/b/c"), ("/a".into(), "/b/c".into()));
    }
}
