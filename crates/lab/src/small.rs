//! A small disk, to be filled or turned read-only.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::guardian::Guardian;
use crate::loopdev::{LoopDevice, LoopStack};
use crate::mount::Mount;
use crate::{LabError, reap, tool};

/// A small mounted file system.
#[derive(Debug)]
pub struct SmallDisk {
    mount: Mount,
    _stack: Option<LoopStack>,
    _guardian: Guardian,
    /// What holds the backing file, and goes after all above.
    _below: Option<Box<SmallDisk>>,
    /// A device on a file of [`SmallDisk::_below`].
    _thin: Option<LoopDevice>,
}

impl SmallDisk {
    /// An ext4 file system on a device of `size` bytes.
    ///
    /// # Errors
    /// Skip when the host lacks root, loop devices or mkfs.
    pub fn ext4(size: u64) -> Result<Self, LabError> {
        tool::need_root()?;
        reap();
        let mut guardian = Guardian::start()?;
        let stack = LoopStack::attach(size, &mut guardian)?;
        let mount = Mount::make(stack.upper.path(), "ext4", &mut guardian)?;
        Ok(SmallDisk { mount, _stack: Some(stack), _guardian: guardian, _below: None, _thin: None })
    }

    /// An ext4 file system of `size` bytes on a device that has only `real` bytes to give, as a thin volume
    /// whose pool runs out: it looks empty until writes fail.
    ///
    /// # Errors
    /// As [`SmallDisk::ext4`].
    pub fn overcommitted(size: u64, real: u64) -> Result<Self, LabError> {
        let below = SmallDisk::ext4(real)?;
        let file = below.dir().join("thin");
        let made = File::create(&file).and_then(|made| made.set_len(size));
        made.map_err(|error| LabError::Failed(format!("{}: {error}", file.display())))?;
        let mut guardian = Guardian::start()?;
        let mut thin = LoopDevice::attach(&file, &mut guardian)?;
        let mount = Mount::make(thin.path(), "ext4", &mut guardian)?;
        thin.autoclear(true)?;
        let (below, thin) = (Some(Box::new(below)), Some(thin));
        Ok(SmallDisk { mount, _stack: None, _guardian: guardian, _below: below, _thin: thin })
    }

    /// A file system that refuses O_DIRECT: ramfs (tmpfs takes it since Linux 6.6).
    ///
    /// # Errors
    /// Skip when the host lacks root.
    pub fn without_direct_io() -> Result<Self, LabError> {
        tool::need_root()?;
        reap();
        let mut guardian = Guardian::start()?;
        let mount = Mount::attach(None, "ramfs", &mut guardian)?;
        Ok(SmallDisk { mount, _stack: None, _guardian: guardian, _below: None, _thin: None })
    }

    /// Where it is mounted.
    pub fn dir(&self) -> &Path {
        self.mount.path()
    }

    /// The device, unless it has none.
    pub fn device(&self) -> Option<&Path> {
        self._stack.as_ref().map(|stack| stack.upper.path())
    }

    /// Takes all space that is left with a file named `filler`, root's reserve included.
    ///
    /// # Errors
    /// When writing fails for another reason than a full disk.
    pub fn fill(&self) -> Result<(), LabError> {
        let path = self.dir().join("filler");
        let failed = |error| LabError::Failed(format!("{}: {error}", path.display()));
        let mut file = File::create(&path).map_err(failed)?;
        for piece in [1 << 20, 4096] {
            let data = vec![0xA5; piece];
            loop {
                match file.write_all(&data) {
                    Ok(()) => {}
                    Err(error) if error.kind() == std::io::ErrorKind::StorageFull => break,
                    Err(error) => return Err(failed(error)),
                }
            }
        }
        // Delayed allocation: space is taken for good only now.
        file.sync_all().or_else(|error| {
            if error.kind() == std::io::ErrorKind::StorageFull { Ok(()) } else { Err(failed(error)) }
        })
    }

    /// Turns it read-only.
    ///
    /// # Errors
    /// When a file is open for writing.
    pub fn make_read_only(&self) -> Result<(), LabError> {
        self.mount.remount("ro")
    }
}
