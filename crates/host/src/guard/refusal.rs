//! Why a job may not touch a target, in words that say what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::claims::Claim;
use super::signature::Signature;
use crate::error::HostError;

/// Exit code of the program when the target cannot be used as asked.
const BAD_USAGE: u8 = 2;
/// Exit code of the program when it could be used, but data would be at risk.
const PROTECTS_DATA: u8 = 3;

/// A target that a job may not touch: which, why, by what evidence, and what to do.
#[derive(Debug, Error)]
pub struct Refusal {
    /// The target, as given.
    pub target: PathBuf,
    /// Why.
    pub reason: Reason,
}

/// Why a target is refused. Its own text says what is wrong, without the target's name.
#[derive(Debug, Error)]
pub enum Reason {
    /// It does not exist, and the job would only read it.
    #[error("it does not exist, so there is nothing to read")]
    Missing,
    /// It does not exist, nor does the directory it would be made in.
    #[error("the directory it would be in does not exist")]
    NoDirectory {
        /// The first missing directory.
        directory: PathBuf,
    },
    /// A part of the path is a file.
    #[error("a part of its path is not a directory")]
    ParentNotDirectory {
        /// That part.
        parent: PathBuf,
    },
    /// A symbolic link to nothing.
    #[error("it is a symbolic link to something that does not exist")]
    DanglingLink {
        /// What the link says.
        points_to: PathBuf,
    },
    /// A directory, where a file or device is needed.
    #[error("it is a directory, and a file or block device is needed")]
    IsDirectory,
    /// Not a directory, where one is needed.
    #[error("it is not a directory, and one is needed")]
    NotDirectory,
    /// A FIFO, socket or character device.
    #[error("it is a {what}, which is no storage")]
    NotStorage {
        /// Which of them.
        what: &'static str,
    },
    /// On a file system that is a window into the kernel.
    #[error("it is on {filesystem}, which is no storage")]
    KernelFilesystem {
        /// Its type, or `/dev`.
        filesystem: String,
    },
    /// This user may not.
    #[error("this user may not {verb} it")]
    NotPermitted {
        /// `read` or `write`.
        verb: &'static str,
        /// The kernel's answer.
        error: io::Error,
        /// The directory whose permissions decide, for a file that does not exist yet.
        within: Option<PathBuf>,
    },
    /// Mounted read-only.
    #[error("its file system is mounted read-only")]
    ReadOnlyFilesystem {
        /// Where it is mounted.
        mount_point: PathBuf,
    },
    /// A device that the kernel refuses to write.
    #[error("the device is read-only")]
    ReadOnlyDevice,
    /// A device of no size: a drive without a medium, a loop device without a file.
    #[error("the device is empty: no medium is in it, or nothing is attached")]
    EmptyDevice,
    /// A file marked immutable or append-only.
    #[error("the file is marked {mark}")]
    Marked {
        /// `immutable` or `append-only`.
        mark: &'static str,
    },
    /// Anything else that the kernel says when it is looked at.
    #[error("it cannot be looked at")]
    Unreachable {
        /// The kernel's answer.
        error: io::Error,
    },
    /// Too little room.
    #[error("there is not enough space on its file system")]
    NoSpace {
        /// Bytes that the job will write.
        needed_bytes: u64,
        /// Bytes that must stay free besides.
        headroom_bytes: u64,
        /// Bytes that this user may still write.
        available_bytes: u64,
    },
    /// A file that iobound did not make.
    #[error("it is an existing file that iobound did not make")]
    NotOurs {
        /// Its size.
        size_bytes: u64,
        /// How many names it has: with more than one, something else refers to it.
        links: u64,
    },
    /// A file that is swap space or backs a loop device.
    #[error("the file is in use")]
    FileInUse {
        /// By what.
        claims: Vec<Claim>,
    },
    /// A device that is mounted, swap, part of something, or held open exclusively.
    #[error("the device is in use")]
    DeviceInUse {
        /// By what.
        claims: Vec<Claim>,
    },
    /// A device with data, and the user did not say that it may be destroyed.
    #[error("the device holds data, and it was not said that this may be destroyed")]
    HoldsData {
        /// What was found on it.
        signatures: Vec<Signature>,
        /// Names given to be destroyed that are no block devices.
        misnamed: Vec<PathBuf>,
    },
    /// A device without known data, but not named either.
    #[error("everything on the device would be destroyed, and it was not named for that")]
    NotNamed {
        /// Whether its first MiB is all zeros.
        head_is_empty: bool,
        /// Names given to be destroyed that are no block devices.
        misnamed: Vec<PathBuf>,
    },
    /// What the device holds, or who uses it, could not be found out.
    #[error("it cannot be made sure that nobody uses it and nothing is on it")]
    Unverifiable {
        /// Why not.
        error: HostError,
    },
    /// Another process is at it.
    #[error("another process holds it")]
    Locked {
        /// Its id and name, when they can be found.
        holder: Option<(u32, String)>,
    },
    /// What was opened is not what was checked.
    #[error("it was replaced by something else after it was checked")]
    Replaced,
}

impl Refusal {
    pub(super) fn new(target: &Path, reason: Reason) -> Self {
        Refusal { target: target.to_owned(), reason }
    }

    /// 2 when the target cannot be used as asked, 3 when data would be at risk.
    pub fn exit_code(&self) -> u8 {
        match self.reason {
            Reason::NotOurs { .. }
            | Reason::FileInUse { .. }
            | Reason::DeviceInUse { .. }
            | Reason::HoldsData { .. }
            | Reason::NotNamed { .. }
            | Reason::Unverifiable { .. }
            | Reason::Locked { .. }
            | Reason::Replaced => PROTECTS_DATA,
            _ => BAD_USAGE,
        }
    }

    /// What it was seen in; empty when the reason says it all.
    pub fn evidence(&self) -> String {
        match &self.reason {
            Reason::NoDirectory { directory } => format!("{} does not exist", directory.display()),
            Reason::ParentNotDirectory { parent } => format!("{} is a file", parent.display()),
            Reason::DanglingLink { points_to } => format!("it points to {}", points_to.display()),
            Reason::NotPermitted { error, within: Some(directory), .. } => {
                format!("directory {}: {error}", directory.display())
            }
            Reason::NotPermitted { error, .. } | Reason::Unreachable { error } => error.to_string(),
            Reason::ReadOnlyFilesystem { mount_point } => {
                format!("{} is mounted with option ro", mount_point.display())
            }
            Reason::NoSpace { needed_bytes, headroom_bytes, available_bytes } => {
                let missing = needed_bytes.saturating_add(*headroom_bytes).saturating_sub(*available_bytes);
                format!(
                    "{} needed and {} to stay free, {} available: {} short",
                    size(*needed_bytes),
                    size(*headroom_bytes),
                    size(*available_bytes),
                    size(missing)
                )
            }
            Reason::NotOurs { size_bytes, links } => {
                let names = if *links > 1 { format!(", {links} hard links") } else { String::new() };
                format!("{}{names}, without iobound's mark", size(*size_bytes))
            }
            Reason::FileInUse { claims } | Reason::DeviceInUse { claims } => list(claims),
            Reason::HoldsData { signatures, misnamed } => list(signatures) + &not_devices(misnamed),
            Reason::NotNamed { head_is_empty: true, misnamed } => {
                format!("no known signature, and the first MiB is empty{}", not_devices(misnamed))
            }
            Reason::NotNamed { head_is_empty: false, misnamed } => {
                format!("no known signature, but the first MiB is not empty{}", not_devices(misnamed))
            }
            Reason::Unverifiable { error } => error.to_string(),
            Reason::Locked { holder: Some((pid, name)) } => format!("process {pid} ({name}) has locked it"),
            Reason::Locked { holder: None } => {
                "it is locked, by a process that cannot be seen from here".into()
            }
            Reason::Missing
            | Reason::IsDirectory
            | Reason::NotDirectory
            | Reason::NotStorage { .. }
            | Reason::KernelFilesystem { .. }
            | Reason::ReadOnlyDevice
            | Reason::EmptyDevice
            | Reason::Marked { .. }
            | Reason::Replaced => String::new(),
        }
    }

    /// What to do.
    pub fn remedy(&self) -> String {
        let target = self.target.display();
        match &self.reason {
            Reason::Missing => "name a file that exists, or let the job lay one out".into(),
            Reason::NoDirectory { directory } => format!("mkdir -p {}", directory.display()),
            Reason::ParentNotDirectory { .. } | Reason::Unreachable { .. } => "check the path".into(),
            Reason::DanglingLink { .. } => "name the file itself, or mend the link".into(),
            Reason::IsDirectory => {
                format!("name a file in it, such as {}", self.target.join("iobound.dat").display())
            }
            Reason::NotDirectory => "name the directory that it is in".into(),
            Reason::NotStorage { .. } | Reason::KernelFilesystem { .. } => {
                "name a directory, a regular file or a block device".into()
            }
            Reason::NotPermitted { verb, .. } => {
                format!("name a target that you may {verb}, or run as a user who may")
            }
            Reason::ReadOnlyFilesystem { mount_point } => {
                format!("name a target elsewhere, or mount -o remount,rw {}", mount_point.display())
            }
            Reason::ReadOnlyDevice => format!("use a read job, or blockdev --setrw {target}"),
            Reason::EmptyDevice => "name another device, or attach something to this one".into(),
            Reason::Marked { mark: "append-only" } => format!("name another file, or chattr -a {target}"),
            Reason::Marked { .. } => format!("name another file, or chattr -i {target}"),
            Reason::NoSpace { .. } => "make the job's size smaller, or free space".into(),
            Reason::NotOurs { .. } => {
                "name another file, or give --overwrite to lose what is in this one".into()
            }
            Reason::FileInUse { .. } => "name another file; --overwrite does not change this".into(),
            Reason::DeviceInUse { .. } => {
                "name another device, or take this one out of use first; --destroy-data does not change this"
                    .into()
            }
            Reason::HoldsData { .. } | Reason::NotNamed { .. } => {
                format!("name another device, or give --destroy-data {target} to lose everything on this one")
            }
            Reason::Unverifiable { .. } => "name another target, or make /proc and /sys readable".into(),
            Reason::Locked { holder: Some((pid, _)) } => {
                format!("wait for process {pid} to end, or name another target")
            }
            Reason::Locked { holder: None } => "wait for it to end, or name another target".into(),
            Reason::Replaced => "find out what else works in that place, then run again".into(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.target.display(), self.reason)?;
        let evidence = self.evidence();
        if !evidence.is_empty() {
            write!(f, "\n  evidence: {evidence}")?;
        }
        write!(f, "\n  remedy: {}", self.remedy())
    }
}

fn list(items: &[impl fmt::Display]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn not_devices(misnamed: &[PathBuf]) -> String {
    misnamed.iter().map(|name| format!("; --destroy-data {} is no block device", name.display())).collect()
}

/// Bytes as people read them, and exactly.
fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
        None => format!("{bytes} bytes"),
    }
}
