//! What the record says about a target.

use std::path::Path;

use iobound_record::{DiskFacts, TargetFacts};

use crate::block::{BlockDevice, SECTOR_BYTES};
use crate::stack::Stack;

impl Stack {
    /// The target's entry in the record. Of several top devices (btrfs) the names are joined by
    /// commas, the sector size is the largest (every device must accept the I/O) and the other
    /// facts are the first device's. Without any device (tmpfs, nfs) its sector size is 512 bytes.
    pub fn target_facts(&self, path: &Path) -> TargetFacts {
        let first = self.top.first();
        let names = |devices: &[BlockDevice]| devices.iter().map(|d| d.name.clone()).collect::<Vec<_>>();
        let sector = self.top.iter().map(|device| device.logical_block_bytes).max();
        TargetFacts {
            path: path.display().to_string(),
            filesystem: self.mount.as_ref().map(|m| m.filesystem.clone()).unwrap_or_default(),
            mount_options: self.mount.as_ref().map(|m| m.options()).unwrap_or_default(),
            device: names(&self.top).join(","),
            members: names(&self.members),
            disks: self
                .disks
                .iter()
                .map(|disk| DiskFacts { name: disk.name.clone(), bytes: disk.size_bytes })
                .collect(),
            logical_block_bytes: sector.unwrap_or(SECTOR_BYTES as u32),
            scheduler: first.map(|d| d.scheduler.clone()).unwrap_or_default(),
            write_cache: first.map(|d| d.write_cache.clone()).unwrap_or_default(),
        }
    }

    /// Whether the disks spin: true when any top device is built on one that does, None when the
    /// kernel says of none. (The kernel hands the flag up through arrays and volumes.)
    pub fn rotational(&self) -> Option<bool> {
        self.top.iter().filter_map(|device| device.rotational).reduce(|a, b| a || b)
    }
}
