//! The decision about a path: what it is, and whether a job may read or write it.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, StatxAttributes, StatxFlags};

use super::claims::claims_on_file;
use super::refusal::{Reason, Refusal};
use super::signature::Signature;
use super::{device, owner};
use crate::block::{BlockDevice, DeviceNumber};
use crate::system::System;

/// What a job will do to its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Only read.
    Read,
    /// Write, perhaps read too; also lay out a file before reading it.
    Write,
}

/// What the user allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// `--overwrite`: existing files that are not ours may be written.
    pub overwrite: bool,
    /// `--destroy-data DEVICE`: devices that may be written, each named. A name stands for the
    /// device that it leads to and for no other: a disk's name does not stand for its partitions.
    pub destroy_data: Vec<PathBuf>,
    /// What sort of target the caller can use.
    pub wants: Wants,
}

/// What sort of target the caller can use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wants {
    /// A directory, a file or a device.
    #[default]
    Any,
    /// A file or a device.
    File,
    /// A directory.
    Directory,
}

/// A target that may be used as intended.
#[derive(Debug)]
pub struct Target {
    /// Absolute path, without symbolic links.
    pub path: PathBuf,
    /// What it is.
    pub kind: TargetKind,
    /// Worth telling the user: hard links, a device that is mounted while it is read, data that
    /// will be destroyed.
    pub notes: Vec<String>,
    /// For a device to be written: it opened exclusively. As long as the target lives nobody can
    /// mount it or build on it, and nobody can open it exclusively, this process included: check a
    /// device once, and open it without `O_EXCL`.
    claim: Option<OwnedFd>,
    /// Device and inode number; for a device its own number.
    identity: Option<(u64, u64)>,
    given: PathBuf,
}

/// What a target is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A directory to make files in.
    Directory,
    /// A file that does not exist yet; open it with `create_new`.
    NewFile,
    /// A regular file.
    File {
        /// Its size.
        size_bytes: u64,
        /// Whether iobound made it.
        ours: bool,
    },
    /// A block device.
    Device {
        /// Which.
        device: Box<BlockDevice>,
        /// What writing to it destroys; empty when it is only read.
        destroys: Vec<Signature>,
    },
}

impl Target {
    fn new(given: &Path, path: PathBuf, kind: TargetKind) -> Self {
        Target { path, kind, notes: Vec::new(), claim: None, identity: None, given: given.to_owned() }
    }

    /// Whether nobody else can mount or build on the device meanwhile.
    pub fn is_claimed(&self) -> bool {
        self.claim.is_some()
    }

    /// Makes sure that an open file is what was checked: the path may have been replaced since.
    ///
    /// # Errors
    /// [`Reason::Replaced`].
    pub fn confirm(&self, opened: impl AsFd) -> Result<(), Refusal> {
        let refusal = |reason| Refusal::new(&self.given, reason);
        let stat = rustix::fs::fstat(opened)
            .map_err(|error| refusal(Reason::Unreachable { error: error.into() }))?;
        let now = match self.kind {
            TargetKind::Device { .. } => (stat.st_rdev, 0),
            _ => (stat.st_dev, stat.st_ino),
        };
        // A new file has no identity before it is made.
        let same = self.identity.is_none_or(|checked| checked == now);
        if same { Ok(()) } else { Err(refusal(Reason::Replaced)) }
    }
}

/// File systems that are windows into the kernel: a file there is no storage, and writing to it
/// may do anything.
const KERNEL_FILESYSTEMS: &[&str] = &[
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "fusectl",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "smackfs",
    "sysfs",
    "tracefs",
];

/// Decides whether a job may use `target` as intended.
///
/// Symbolic links are followed; only a device to be written stays open. Nothing is altered.
///
/// # Errors
/// A [`Refusal`] with its evidence and remedy.
pub fn check(system: &System, target: &Path, intent: Intent, policy: &Policy) -> Result<Target, Refusal> {
    Check { system, given: target, intent, policy }.run().map_err(|reason| Refusal::new(target, reason))
}

/// What every step of the decision needs.
pub(super) struct Check<'a> {
    pub system: &'a System,
    pub given: &'a Path,
    pub intent: Intent,
    pub policy: &'a Policy,
}

impl Check<'_> {
    fn run(&self) -> Result<Target, Reason> {
        let meta = match fs::metadata(self.given) {
            Ok(meta) => meta,
            Err(error) => return self.absent(error),
        };
        let path = fs::canonicalize(self.given).map_err(|error| Reason::Unreachable { error })?;
        let kind = meta.file_type();
        if kind.is_dir() {
            self.directory(path, &meta)
        } else if self.policy.wants == Wants::Directory {
            Err(Reason::NotDirectory)
        } else if kind.is_file() {
            self.file(path, &meta)
        } else if kind.is_block_device() {
            self.device(path, DeviceNumber::from_raw(meta.rdev()), meta.rdev())
        } else {
            let what = match () {
                () if kind.is_fifo() => "FIFO",
                () if kind.is_socket() => "socket",
                () => "character device",
            };
            Err(Reason::NotStorage { what })
        }
    }

    /// Nothing there: why, or room for a new file.
    fn absent(&self, error: io::Error) -> Result<Target, Reason> {
        match error.kind() {
            io::ErrorKind::NotFound => {}
            io::ErrorKind::NotADirectory => {
                return Err(Reason::ParentNotDirectory { parent: first_file(self.given) });
            }
            io::ErrorKind::PermissionDenied => {
                return Err(Reason::NotPermitted { verb: self.verb(), error, within: None });
            }
            _ => return Err(Reason::Unreachable { error }),
        }
        if let Ok(points_to) = fs::read_link(self.given) {
            return Err(Reason::DanglingLink { points_to });
        }
        let wants_directory =
            self.policy.wants == Wants::Directory || self.given.as_os_str().as_bytes().ends_with(b"/");
        let parent = match self.given.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        match fs::metadata(parent) {
            Err(_) => return Err(Reason::NoDirectory { directory: parent.to_owned() }),
            Ok(_) if wants_directory => return Err(Reason::NoDirectory { directory: self.given.to_owned() }),
            Ok(_) if self.intent == Intent::Read => return Err(Reason::Missing),
            Ok(_) => {}
        }
        let parent = fs::canonicalize(parent).map_err(|error| Reason::Unreachable { error })?;
        // An empty path, or one that ends in `..` below something missing.
        let name = self.given.file_name().ok_or(Reason::Unreachable { error })?;
        self.on_storage(&parent)?;
        self.permitted(&parent, Access::WRITE_OK | Access::EXEC_OK, Some(&parent))?;
        Ok(Target::new(self.given, parent.join(name), TargetKind::NewFile))
    }

    fn directory(&self, path: PathBuf, meta: &Metadata) -> Result<Target, Reason> {
        if self.policy.wants == Wants::File {
            return Err(Reason::IsDirectory);
        }
        self.on_storage(&path)?;
        let access = match self.intent {
            Intent::Read => Access::READ_OK | Access::EXEC_OK,
            Intent::Write => Access::WRITE_OK | Access::EXEC_OK,
        };
        self.permitted(&path, access, None)?;
        let mut target = Target::new(self.given, path, TargetKind::Directory);
        target.identity = Some((meta.dev(), meta.ino()));
        Ok(target)
    }

    fn file(&self, path: PathBuf, meta: &Metadata) -> Result<Target, Reason> {
        self.on_storage(&path)?;
        let ours = File::open(&path).is_ok_and(|file| owner::is_ours(&file));
        if self.intent == Intent::Write {
            let claims = claims_on_file(self.system, &path);
            if !claims.is_empty() {
                return Err(Reason::FileInUse { claims });
            }
            if !ours && !self.policy.overwrite {
                return Err(Reason::NotOurs { size_bytes: meta.len(), links: meta.nlink() });
            }
            if let Some(mark) = mark_against_writing(&path) {
                return Err(Reason::Marked { mark });
            }
            self.permitted(&path, Access::WRITE_OK, None)?;
        } else {
            self.permitted(&path, Access::READ_OK, None)?;
        }
        let mut target = Target::new(self.given, path, TargetKind::File { size_bytes: meta.len(), ours });
        target.identity = Some((meta.dev(), meta.ino()));
        if self.intent == Intent::Write && meta.nlink() > 1 {
            let links = meta.nlink();
            target
                .notes
                .push(format!("the file has {links} hard links: all of them will see what is written"));
        }
        Ok(target)
    }

    fn device(&self, path: PathBuf, number: DeviceNumber, packed: u64) -> Result<Target, Reason> {
        let checked = device::check(self, &path, number)?;
        let kind = TargetKind::Device { device: Box::new(checked.device), destroys: checked.destroys };
        let mut target = Target::new(self.given, path, kind);
        target.identity = Some((packed, 0));
        target.notes = checked.notes;
        target.claim = checked.claim;
        Ok(target)
    }

    pub(super) fn verb(&self) -> &'static str {
        match self.intent {
            Intent::Read => "read",
            Intent::Write => "write",
        }
    }

    /// Refuses places that are no storage at all.
    fn on_storage(&self, path: &Path) -> Result<(), Reason> {
        // A mistyped device name must not become a file in memory; containers have a tmpfs there.
        if path.starts_with("/dev") && !path.starts_with("/dev/shm") {
            return Err(Reason::KernelFilesystem { filesystem: "/dev".into() });
        }
        // Without a mount to name, the permission check still has its say.
        match self.system.mount_holding(path) {
            Ok(mount) if KERNEL_FILESYSTEMS.contains(&mount.filesystem.as_str()) => {
                Err(Reason::KernelFilesystem { filesystem: mount.filesystem })
            }
            _ => Ok(()),
        }
    }

    fn permitted(&self, path: &Path, access: Access, within: Option<&Path>) -> Result<(), Reason> {
        let error = match rustix::fs::accessat(CWD, path, access, AtFlags::EACCESS) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if error == rustix::io::Errno::ROFS {
            let mount_point =
                self.system.mount_holding(path).map_or_else(|_| path.to_owned(), |m| m.mount_point);
            return Err(Reason::ReadOnlyFilesystem { mount_point });
        }
        Err(Reason::NotPermitted {
            verb: self.verb(),
            error: error.into(),
            within: within.map(Path::to_owned),
        })
    }
}

/// The first part of a path that exists and is no directory.
fn first_file(path: &Path) -> PathBuf {
    let mut parts: Vec<&Path> = path.ancestors().skip(1).collect();
    parts.reverse();
    let is_file = |part: &&&Path| fs::metadata(part).is_ok_and(|meta| !meta.is_dir());
    parts.iter().find(is_file).map_or_else(|| path.to_owned(), |part| part.to_path_buf())
}

/// `chattr` marks that permissions do not show.
fn mark_against_writing(path: &Path) -> Option<&'static str> {
    let found = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::empty()).ok()?;
    if found.stx_attributes.contains(StatxAttributes::IMMUTABLE) {
        Some("immutable")
    } else if found.stx_attributes.contains(StatxAttributes::APPEND) {
        Some("append-only")
    } else {
        None
    }
}
