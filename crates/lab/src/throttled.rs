//! The throttled volume: I/O is held to known limits.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::cgroup::{Cgroup, Limits};
use crate::guardian::Guardian;
use crate::loopdev::LoopStack;
use crate::mount::Mount;
use crate::{LabError, reap, tool};

/// Large enough for XFS (300 MiB) and for a working set; small enough to write in a second.
const SIZE_DEFAULT: u64 = 512 << 20;

/// What a [`ThrottledVolume`] will be.
#[derive(Clone, Debug)]
pub struct Builder {
    size: u64,
    limits: Limits,
    filesystem: Option<String>,
    write_back: bool,
}

impl Builder {
    /// Size in bytes; 512 MiB if not said.
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = bytes;
        self
    }

    /// Operations per second, for reads and for writes each.
    pub fn iops(mut self, iops: u64) -> Self {
        self.limits.iops = Some(iops);
        self
    }

    /// Bytes per second, for reads and for writes each.
    pub fn bytes_per_s(mut self, bytes: u64) -> Self {
        self.limits.bytes_per_s = Some(bytes);
        self
    }

    /// Makes and mounts a file system: `ext4`, `xfs` (300 MiB at least) or `btrfs`.
    pub fn filesystem(mut self, kind: &str) -> Self {
        self.filesystem = Some(kind.into());
        self
    }

    /// Holds buffered writes, a file system's journal and its metadata to the limits as well.
    ///
    /// With cgroup version 1 the limits then apply to every process outside a block I/O cgroup, and
    /// not only to those started with [`ThrottledVolume::command`].
    pub fn with_write_back(mut self) -> Self {
        self.write_back = true;
        self
    }

    /// Makes it.
    ///
    /// # Errors
    /// Skip when the host lacks root, loop devices, the cgroup controller or a program; Failed when
    /// one of them fails.
    pub fn build(self) -> Result<ThrottledVolume, LabError> {
        tool::need_root()?;
        reap();
        let mut guardian = Guardian::start()?;
        let stack = LoopStack::attach(self.size, &mut guardian)?;
        let mount = match &self.filesystem {
            Some(kind) => Some(Mount::make(stack.upper.path(), kind, &mut guardian)?),
            None => None,
        };
        let cgroup = match self.write_back {
            true => Cgroup::with_write_back(&stack.lower.number()?, &mut guardian)?,
            false => Cgroup::create(&mut guardian)?,
        };
        let volume = ThrottledVolume { mount, cgroup, stack, size: self.size, _guardian: guardian };
        volume.limit(self.limits)?;
        Ok(volume)
    }
}

/// A block device, and maybe a file system on it, whose direct I/O is held to known limits for the
/// programs started with [`command`](Self::command); see also [`Builder::with_write_back`].
#[derive(Debug)]
pub struct ThrottledVolume {
    mount: Option<Mount>,
    cgroup: Cgroup,
    // Fields drop in this order: the guardian detaches after our own hold on the device is gone.
    stack: LoopStack,
    size: u64,
    _guardian: Guardian,
}

impl ThrottledVolume {
    /// Starts with 512 MiB, no limit and no file system.
    pub fn builder() -> Builder {
        Builder { size: SIZE_DEFAULT, limits: Limits::default(), filesystem: None, write_back: false }
    }

    /// The device to use.
    pub fn device(&self) -> &Path {
        self.stack.upper.path()
    }

    /// The mounted file system.
    ///
    /// # Panics
    /// When none was asked for.
    pub fn dir(&self) -> &Path {
        self.mount.as_ref().expect("a volume built with .filesystem(..)").path()
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// A command that is held to the limits, with its children.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        self.cgroup.command(program)
    }

    /// Other limits from now on; None lifts one.
    ///
    /// # Errors
    /// When the kernel refuses them.
    pub fn set_limits(&self, iops: Option<u64>, bytes_per_s: Option<u64>) -> Result<(), LabError> {
        self.limit(Limits { iops, bytes_per_s })
    }

    fn limit(&self, limits: Limits) -> Result<(), LabError> {
        self.cgroup.limit(&self.stack.lower.number()?, limits)
    }
}

/// A slow directory: a mounted file system on a [`ThrottledVolume`].
#[derive(Debug)]
pub struct SlowDir;

impl SlowDir {
    /// An ext4 directory with these limits.
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub fn ext4(iops: u64, bytes_per_s: u64) -> Result<ThrottledVolume, LabError> {
        ThrottledVolume::builder().iops(iops).bytes_per_s(bytes_per_s).filesystem("ext4").build()
    }

    /// An XFS directory with these limits.
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub fn xfs(iops: u64, bytes_per_s: u64) -> Result<ThrottledVolume, LabError> {
        ThrottledVolume::builder().iops(iops).bytes_per_s(bytes_per_s).filesystem("xfs").build()
    }
}
