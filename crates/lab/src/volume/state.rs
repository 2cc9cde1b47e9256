//! What is known of each volume, on disk.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::wish::Wish;
use crate::LabError;

/// How far a volume is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Being made by the process in [`Volume::maker`].
    Making,
    /// Handed out.
    Ready,
    /// Being removed.
    Leaving,
}

/// How a volume is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// Its server and its device are there.
    Up,
    /// One of them is gone (killed, or this machine booted again): only `down` helps.
    Broken,
    /// Being made now.
    Making,
}

/// A process, told from a later one with its number by when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pid: u32,
    began: u64,
}

impl Process {
    fn of(pid: u32) -> Option<Self> {
        // Field 22 of /proc/<pid>/stat, behind the name in parentheses (proc(5)).
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let rest = stat.rsplit_once(')')?.1;
        let mut fields = rest.split_whitespace();
        if fields.next() == Some("Z") {
            return None;
        }
        Some(Process { pid, began: fields.nth(18)?.parse().ok()? })
    }

    fn lives(self) -> bool {
        Process::of(self.pid) == Some(self)
    }
}

/// A volume, as its `state.json` has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// Bytes.
    pub size_bytes: u64,
    /// Operations per second.
    pub iops: Option<u64>,
    /// Bytes per second.
    pub bytes_per_s: Option<u64>,
    /// Added to each operation.
    pub latency_ns: u64,
    /// Whether a flush is answered without being done.
    pub ignores_flush: bool,
    /// The file system that was asked for.
    pub filesystem: Option<String>,
    /// Where it is to be mounted.
    pub mount: Option<PathBuf>,
    /// Whether the mount point was made for it, and goes with it.
    pub made_mount_point: bool,
    /// The block device.
    pub device: Option<PathBuf>,
    /// How far it is.
    pub phase: Phase,
    /// Process id of its server.
    pub server: Option<u32>,
    server_began: Option<u64>,
    maker: Option<Process>,
    /// Its directory.
    #[serde(skip)]
    pub dir: PathBuf,
}

/// Where volumes are: `$IOBOUND_LAB_STATE`, or `/var/lib/iobound/lab`.
///
/// # Errors
/// None at present.
pub fn state_dir() -> Result<PathBuf, LabError> {
    let chosen = std::env::var_os("IOBOUND_LAB_STATE").filter(|value| !value.is_empty());
    Ok(chosen.map_or_else(|| PathBuf::from("/var/lib/iobound/lab"), PathBuf::from))
}

/// Holds off other commands that change volumes.
pub fn turn() -> Result<File, LabError> {
    let dir = state_dir()?;
    let failed = |error| LabError::Failed(format!("{}: {error}", dir.display()));
    fs::create_dir_all(&dir).map_err(failed)?;
    let lock = File::create(dir.join("lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    Ok(lock)
}

/// All volumes there are, by name.
pub fn all() -> Result<Vec<Volume>, LabError> {
    let dir = state_dir()?;
    let Ok(entries) = fs::read_dir(&dir) else { return Ok(Vec::new()) };
    let mut dirs: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect();
    dirs.sort();
    Ok(dirs.iter().map(|dir| Volume::load(dir).unwrap_or_else(|_| Volume::unreadable(dir))).collect())
}

/// Where `device` is mounted.
pub fn mounts_of(device: &Path) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let of = |line: &str| {
        let (source, rest) = line.split_once(' ')?;
        let place = rest.split(' ').next()?.replace("\\040", " ");
        (Path::new(source) == device).then(|| PathBuf::from(place))
    };
    mounts.lines().filter_map(of).collect()
}

impl Volume {
    /// One that is to be made by this process.
    pub(super) fn new(wish: &Wish) -> Result<Self, LabError> {
        Ok(Volume {
            name: wish.name.clone(),
            size_bytes: wish.size_bytes,
            iops: wish.iops,
            bytes_per_s: wish.bytes_per_s,
            latency_ns: wish.latency_ns,
            ignores_flush: wish.ignores_flush,
            filesystem: wish.filesystem.map(|kind| kind.name().to_owned()),
            mount: wish.mount.clone(),
            made_mount_point: false,
            device: None,
            phase: Phase::Making,
            server: None,
            server_began: None,
            maker: Process::of(std::process::id()),
            dir: state_dir()?.join(&wish.name),
        })
    }

    /// A directory whose state is cut short or not ours to read: it can still be taken down.
    fn unreadable(dir: &Path) -> Self {
        Volume {
            name: dir.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            size_bytes: 0,
            iops: None,
            bytes_per_s: None,
            latency_ns: 0,
            ignores_flush: false,
            filesystem: None,
            mount: None,
            made_mount_point: false,
            device: None,
            phase: Phase::Leaving,
            server: None,
            server_began: None,
            maker: None,
            dir: dir.to_owned(),
        }
    }

    pub(super) fn load(dir: &Path) -> Result<Self, LabError> {
        let path = dir.join("state.json");
        let failed = |error: &dyn std::fmt::Display| LabError::Failed(format!("{}: {error}", path.display()));
        let text = fs::read_to_string(&path).map_err(|error| failed(&error))?;
        let mut volume: Volume = serde_json::from_str(&text).map_err(|error| failed(&error))?;
        volume.dir = dir.to_owned();
        Ok(volume)
    }

    /// Writes it, in one step.
    pub(super) fn save(&mut self) -> Result<(), LabError> {
        let failed = |error: std::io::Error| LabError::Failed(format!("{}: {error}", self.dir.display()));
        self.server_began = self.server.and_then(Process::of).map(|server| server.began);
        fs::create_dir_all(&self.dir).map_err(failed)?;
        let text = serde_json::to_string(self).map_err(|error| failed(error.into()))?;
        fs::write(self.dir.join("state.new"), text).map_err(failed)?;
        fs::rename(self.dir.join("state.new"), self.dir.join("state.json")).map_err(failed)
    }

    /// The sparse file that has its data.
    pub fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// Where its server mounts FUSE.
    pub fn served(&self) -> PathBuf {
        self.dir.join("served")
    }

    /// What its file may still grow by.
    pub(super) fn bytes_to_come(&self) -> u64 {
        let taken = fs::metadata(self.data()).map_or(0, |data| data.blocks() * 512);
        self.size_bytes.saturating_sub(taken)
    }

    /// Whether its server runs.
    pub fn server_lives(&self) -> bool {
        match (self.server, self.server_began) {
            (Some(pid), Some(began)) => Process { pid, began }.lives(),
            _ => false,
        }
    }

    /// How it is now.
    pub fn health(&self) -> Health {
        if self.phase == Phase::Making && self.maker.is_some_and(Process::lives) {
            return Health::Making;
        }
        let backing = self.device.as_ref().and_then(|device| {
            let sys = Path::new("/sys/block").join(device.file_name()?).join("loop/backing_file");
            fs::read_to_string(sys).ok()
        });
        let has_device = backing.is_some_and(|file| Path::new(file.trim()).starts_with(self.served()));
        match self.phase == Phase::Ready && has_device && self.server_lives() {
            true => Health::Up,
            false => Health::Broken,
        }
    }

    /// Whether its maker, or its remover, died before it was done.
    pub(super) fn is_abandoned(&self) -> bool {
        self.phase != Phase::Ready && !self.maker.is_some_and(Process::lives)
    }
}
