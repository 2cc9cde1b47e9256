//! Virtual volumes on this machine: real block devices with known limits, that stay until they are
//! taken down. `iobound lab up`, `list` and `down` are these functions.
//!
//! A volume is a directory below [`state_dir`] with a sparse file, a FUSE mount whose one file is that
//! file at the volume's pace (`server.rs`, a process of its own), and a loop device on it in direct mode;
//! maybe a file system on that. `state.json` is written before anything is made, so whatever was made
//! can be found and removed; one whose maker died before it was ready is removed by the next command.

mod pace;
mod proof;
mod server;
mod state;
mod wish;

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub use pace::Limits;
pub use state::{Health, Phase, Volume, state_dir};
pub use wish::{Filesystem, Wish, check_apart};

use crate::tool::{self, quoted};
use crate::{LabError, guardian::Guardian};

/// How long a server may take to mount.
const MOUNT_LIMIT: Duration = Duration::from_secs(20);
/// Before what is measured, and it uses little.
const SERVER_NICE: i32 = -15;
/// How long a mount may be in use before it is called that.
const BUSY_PATIENCE: Duration = Duration::from_secs(2);
/// Left free for this machine itself.
const FREE_MARGIN: u64 = 1 << 30;

/// How to start this program's server: `program words... DIRECTORY`.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The program.
    pub program: PathBuf,
    /// Its first words.
    pub words: Vec<String>,
}

/// Makes the volumes; either all are there at the end, or none.
///
/// # Errors
/// Usage when they cannot be had (names taken, no space, not root); Failed when making one fails.
pub fn up(wishes: &[Wish], launcher: &Launcher) -> Result<Vec<Volume>, LabError> {
    check_apart(wishes)?;
    need_root()?;
    let _turn = state::turn()?;
    reap()?;
    let there = state::all()?;
    for wish in wishes {
        if there.iter().any(|volume| volume.name == wish.name) {
            return Err(LabError::Usage(format!(
                "there is a volume {} already; `iobound lab down {}` removes it",
                wish.name, wish.name
            )));
        }
        if let Some(mount) = &wish.mount
            && there.iter().any(|volume| volume.mount.as_ref() == Some(mount))
        {
            return Err(LabError::Usage(format!("{}: another volume is mounted there", mount.display())));
        }
    }
    let mut programs = vec![("losetup", "mount"), ("mount", "mount"), ("blkdiscard", "util-linux")];
    programs.extend(wishes.iter().filter_map(|wish| wish.filesystem).map(|kind| match kind {
        Filesystem::Ext4 => ("mkfs.ext4", "e2fsprogs"),
        Filesystem::Xfs => ("mkfs.xfs", "xfsprogs"),
    }));
    tool::need_programs(&programs)?;
    check_space(wishes, &there)?;
    // Should this process be killed, what it has half made goes at once.
    let mut guardian = Guardian::start()?;
    let mut made: Vec<Volume> = Vec::new();
    for wish in wishes {
        let mut volume = Volume::new(wish)?;
        guardian.undo(&tear_down_line(&volume))?;
        match make(&mut volume, wish, launcher) {
            Ok(()) => made.push(volume),
            Err(error) => {
                tear_down(&volume);
                made.iter().for_each(tear_down);
                return Err(error);
            }
        }
    }
    for volume in &mut made {
        volume.phase = Phase::Ready;
        volume.save()?;
    }
    Ok(made)
}

fn need_root() -> Result<(), LabError> {
    match tool::is_root() {
        true => Ok(()),
        false => Err(LabError::Usage(
            "virtual volumes need root (a FUSE mount, a loop device); run it with sudo. \
             `iobound lab vm` needs none once its image is built"
                .into(),
        )),
    }
}

/// Refuses volumes that, written in full beside those that are there, would fill the disk.
fn check_space(wishes: &[Wish], there: &[Volume]) -> Result<(), LabError> {
    let dir = state_dir()?;
    let to_come: u64 = there.iter().map(Volume::bytes_to_come).sum();
    let wanted: u64 = wishes.iter().map(|wish| wish.size_bytes).sum();
    let free = tool::free_space(&dir)?;
    if free >= wanted.saturating_add(to_come).saturating_add(FREE_MARGIN) {
        return Ok(());
    }
    Err(LabError::Usage(format!(
        "{} has {} MiB left; the volumes could grow by {} MiB, those already there by {} MiB, and {} MiB are \
         left alone. Ask for smaller ones, or set IOBOUND_LAB_STATE to a directory on a larger disk",
        dir.display(),
        free >> 20,
        wanted >> 20,
        to_come >> 20,
        FREE_MARGIN >> 20
    )))
}

fn make(volume: &mut Volume, wish: &Wish, launcher: &Launcher) -> Result<(), LabError> {
    volume.save()?;
    let failed = |error| LabError::Failed(format!("volume {}: {error}", volume.name));
    let data = File::create(volume.data()).map_err(failed)?;
    data.set_len(wish.size_bytes).map_err(failed)?;
    fs::create_dir_all(volume.served()).map_err(failed)?;
    start_server(volume, launcher)?;
    let looped = tool::run(
        Command::new("losetup")
            .args(["--find", "--show", "--direct-io=on"])
            .arg(volume.served().join(server::FILE_NAME)),
    )?;
    volume.device = Some(looped.into());
    volume.save()?;
    let device = volume.device.clone().unwrap_or_default();
    proof::gives_back_what_was_written(&device, wish.size_bytes, wish.bytes_per_s)?;
    tool::run(Command::new("blkdiscard").arg("-f").arg(&device))?;
    if let Some(kind) = wish.filesystem {
        make_filesystem(volume, kind, &device)?;
    }
    Ok(())
}

fn start_server(volume: &mut Volume, launcher: &Launcher) -> Result<(), LabError> {
    let log = File::create(volume.dir.join("server.log"))
        .map_err(|error| LabError::Failed(format!("{}: {error}", volume.dir.display())))?;
    let mut command = Command::new(&launcher.program);
    command.args(&launcher.words).arg(&volume.dir);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    // It outlives this command, and its terminal.
    command.process_group(0).current_dir("/");
    let mut server = tool::spawn(&mut command)?;
    volume.server = Some(server.id());
    volume.save()?;
    let file = volume.served().join(server::FILE_NAME);
    let deadline = Instant::now() + MOUNT_LIMIT;
    while !file.exists() {
        let ended = tool::wait_at_most(&mut server, Duration::from_millis(20))?;
        if ended.is_some() || Instant::now() > deadline {
            let said = fs::read_to_string(volume.dir.join("server.log")).unwrap_or_default();
            return Err(LabError::Failed(format!(
                "volume {}: its server did not come up: {}",
                volume.name,
                said.trim()
            )));
        }
    }
    Ok(())
}

fn make_filesystem(volume: &mut Volume, kind: Filesystem, device: &Path) -> Result<(), LabError> {
    // Discarded already, and no initialisation that would go on in a user's first measurement.
    let options: &[&str] = match kind {
        Filesystem::Ext4 => &["-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"],
        Filesystem::Xfs => &["-q", "-f", "-K"],
    };
    tool::run(Command::new(format!("mkfs.{}", kind.name())).args(options).arg(device))?;
    let Some(mount) = volume.mount.clone() else { return Ok(()) };
    if !mount.is_dir() {
        fs::create_dir_all(&mount)
            .map_err(|error| LabError::Usage(format!("{}: {error}", mount.display())))?;
        volume.made_mount_point = true;
        volume.save()?;
    }
    tool::run(Command::new("mount").args(["-t", kind.name()]).arg(device).arg(&mount)).map(drop)
}

/// The process behind a volume: serves what is in `dir` until it is taken down.
///
/// # Errors
/// When there is no such volume or FUSE cannot be mounted.
pub fn serve(dir: &Path) -> Result<(), LabError> {
    let volume = Volume::load(dir)?;
    let limits = Limits {
        iops: volume.iops.unwrap_or(0),
        bytes_per_s: volume.bytes_per_s.unwrap_or(0),
        latency_ns: volume.latency_ns,
    };
    // A server that waits for a processor makes the volume slower than it is to be.
    let _ = rustix::process::setpriority_process(None, SERVER_NICE);
    server::serve(&volume.data(), &volume.served(), limits, volume.ignores_flush)
}

/// All volumes, and how they are; what was half made is removed first where this is root.
///
/// # Errors
/// When the state cannot be read.
pub fn list() -> Result<Vec<Volume>, LabError> {
    if tool::is_root() {
        let _turn = state::turn()?;
        reap()?;
        return state::all();
    }
    state::all()
}

/// Takes volumes down, with what is on them: those named, or all.
///
/// # Errors
/// Usage when one is not there; Failed when one is in use.
pub fn down(names: &[String], all: bool) -> Result<Vec<String>, LabError> {
    need_root()?;
    let _turn = state::turn()?;
    let there = state::all()?;
    for name in names {
        if !there.iter().any(|volume| volume.name == *name) {
            return Err(LabError::Usage(format!("there is no volume {name}")));
        }
    }
    let mut gone = Vec::new();
    for volume in there.iter().filter(|volume| all || names.contains(&volume.name)) {
        refuse_if_busy(volume)?;
        tear_down(volume);
        if volume.dir.exists() {
            return Err(LabError::Failed(format!(
                "volume {} would not go: see {}",
                volume.name,
                volume.dir.display()
            )));
        }
        gone.push(volume.name.clone());
    }
    Ok(gone)
}

/// A mounted volume whose files are open is not pulled away from under them.
fn refuse_if_busy(volume: &Volume) -> Result<(), LabError> {
    let Some(device) = volume.device.as_ref().filter(|_| volume.health() == Health::Up) else {
        return Ok(());
    };
    for mountpoint in state::mounts_of(device) {
        let begun = Instant::now();
        // Who only looks (a scan of open files, a probe of new devices) is gone in a moment.
        let unmounted = loop {
            let unmounted = tool::run(Command::new("umount").arg(&mountpoint));
            if unmounted.is_ok() || begun.elapsed() > BUSY_PATIENCE {
                break unmounted;
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        unmounted.map_err(|error| LabError::Failed(format!("volume {} is in use: {error}", volume.name)))?;
    }
    Ok(())
}

/// Removes what a maker that died left half made.
fn reap() -> Result<(), LabError> {
    state::all()?.iter().filter(|volume| volume.is_abandoned()).for_each(tear_down);
    Ok(())
}

/// The undo of [`make`], as a shell runs it: each step finds nothing to do where nothing was made.
/// A volume that is ready stays.
fn tear_down_line(volume: &Volume) -> String {
    let mounted = volume.mount.as_ref().map_or(String::new(), |mount| {
        format!("umount -l {m}; grep -q made_mount_point.:true state.json && rmdir {m}; ", m = quoted(mount))
    });
    // Found by its backing file, since the device's name may not have reached the state file.
    format!(
        "cd {dir} || exit; grep -q '\"phase\":\"ready\"' state.json && exit; {mounted}\
         for l in $(losetup --noheadings --output NAME --associated {file}); do \
         for m in $(grep \"^$l \" /proc/mounts | cut -d' ' -f2); do umount -l \"$m\"; done; losetup -d $l; done; \
         umount -l {served}; cd /; rm -rf {dir}",
        dir = quoted(&volume.dir),
        file = quoted(volume.served().join(server::FILE_NAME)),
        served = quoted(volume.served()),
    )
}

/// Removes a volume, whatever there is of it.
fn tear_down(volume: &Volume) {
    let mut unready = volume.clone();
    unready.phase = Phase::Leaving;
    let _ = unready.save();
    let _ = Command::new("sh").arg("-c").arg(tear_down_line(volume)).output();
    // Its server ends when the mount is gone.
    let deadline = Instant::now() + Duration::from_secs(10);
    while volume.server_lives() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
}
