//! A volume that breaks on demand.

use std::path::Path;
use std::process::Command;

use crate::guardian::Guardian;
use crate::loopdev::LoopStack;
use crate::{LabError, reap, tool};

/// A block device that works until told to fail; then operations end with EIO.
///
/// Device-mapper's error target would be the usual way, but many kernels of small virtual machines
/// lack it. Here the upper of two loop devices loses what lies below: reads beyond the end of a
/// truncated file fail, and so do writes to a device turned read-only.
#[derive(Debug)]
pub struct FailingVolume {
    guardian: Guardian,
    stack: LoopStack,
}

impl FailingVolume {
    /// A volume of `size` bytes that still works.
    ///
    /// # Errors
    /// Skip when the host lacks root or loop devices.
    pub fn build(size: u64) -> Result<Self, LabError> {
        tool::need_root()?;
        reap();
        let mut guardian = Guardian::start()?;
        let stack = LoopStack::attach(size, &mut guardian)?;
        Ok(FailingVolume { guardian, stack })
    }

    /// The device to use.
    pub fn device(&self) -> &Path {
        self.stack.upper.path()
    }

    /// From now on every read fails with EIO.
    ///
    /// # Errors
    /// When the file cannot be truncated.
    pub fn fail_reads(&self) -> Result<(), LabError> {
        self.stack.backing.truncate()
    }

    /// From now on every write fails with EIO; reads still work.
    ///
    /// # Errors
    /// When the device cannot be turned read-only.
    pub fn fail_writes(&mut self) -> Result<(), LabError> {
        // The kernel keeps this mark when the device is detached: the next user would inherit it.
        self.guardian.undo(&format!("blockdev --setrw {}", self.stack.lower.path().display()))?;
        tool::run(Command::new("blockdev").arg("--setro").arg(self.stack.lower.path())).map(drop)
    }
}
