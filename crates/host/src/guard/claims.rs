//! Who uses a block device or a file right now.

use std::collections::VecDeque;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::block;
use crate::error::HostError;
use crate::mounts::{self, Mount};
use crate::system::System;

/// A use of a device that writing to it would damage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It, or something built on it, holds the root file system.
    Root {
        /// The device that is mounted on `/`.
        device: String,
    },
    /// It, or something built on it, is mounted.
    Mounted {
        /// The device that is mounted.
        device: String,
        /// Where.
        at: PathBuf,
    },
    /// It, or something built on it, is swap space.
    Swap {
        /// The device or file.
        on: String,
    },
    /// An array, volume or cache is built on it.
    Holder {
        /// The device that is held.
        device: String,
        /// The device that holds it.
        by: String,
    },
    /// A loop device shows it.
    Loop {
        /// The loop device.
        device: String,
    },
    /// Somebody has it open exclusively, though no mount, swap or holder that we see explains it:
    /// another container, a virtual machine, ZFS.
    Exclusive,
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Claim::Root { device } => write!(f, "{device} holds the root file system"),
            Claim::Mounted { device, at } => write!(f, "{device} is mounted on {}", at.display()),
            Claim::Swap { on } => write!(f, "{on} is swap space in use"),
            Claim::Holder { device, by } => write!(f, "{device} is part of {by}"),
            Claim::Loop { device } => write!(f, "it is attached as {device}"),
            Claim::Exclusive => write!(f, "opening it exclusively fails: another program holds it"),
        }
    }
}

/// Every use of a device (by kernel name) that `/proc` and `/sys` tell of: of itself, of the disk
/// it is a partition of as a whole, of its partitions, and of everything built on those. Opening
/// the device exclusively, which asks the kernel itself, is left to the caller.
///
/// # Errors
/// When `/proc` cannot be read: the device may then be in any use.
pub fn claims(system: &System, name: &str) -> Result<Vec<Claim>, HostError> {
    let mut found = Vec::new();
    let family = family(system, name, &mut found);
    for mount in all_mounts(system)? {
        for device in system.devices_of_mount(&mount, &mut Vec::new()) {
            if !family.contains(&device) {
                continue;
            }
            let claim = match mount.mount_point.to_str() {
                Some("/") => Claim::Root { device },
                _ => Claim::Mounted { device, at: mount.mount_point.clone() },
            };
            push(&mut found, claim);
        }
    }
    for swap in swaps(system) {
        let device = system.name_of_source(&swap.to_string_lossy());
        if let Some(device) = device.filter(|device| family.contains(device)) {
            push(&mut found, Claim::Swap { on: device });
        }
    }
    // What matters most first.
    found.sort_by_key(|claim| match claim {
        Claim::Root { .. } => 0,
        Claim::Mounted { .. } => 1,
        Claim::Swap { .. } => 2,
        _ => 3,
    });
    Ok(found)
}

/// Uses of a regular file that writing into it would damage: swap space, or the file behind a loop
/// device.
pub(super) fn claims_on_file(system: &System, file: &Path) -> Vec<Claim> {
    let mut found = Vec::new();
    for swap in swaps(system) {
        if same_file(&swap, file) {
            push(&mut found, Claim::Swap { on: file.display().to_string() });
        }
    }
    for device in loops(system) {
        if block::backing_file(system, &device).is_some_and(|backing| same_file(&backing, file)) {
            push(&mut found, Claim::Loop { device });
        }
    }
    found
}

fn push(found: &mut Vec<Claim>, claim: Claim) {
    if !found.contains(&claim) {
        found.push(claim);
    }
}

/// The device, the disk it is part of, and everything built on either; the edges on the way are
/// claims themselves.
fn family(system: &System, name: &str, found: &mut Vec<Claim>) -> Vec<String> {
    let mut family = vec![name.to_owned()];
    let mut waiting: VecDeque<String> = VecDeque::from([name.to_owned()]);
    // Something may be built on the whole disk across its partitions, but the other partitions
    // are no concern of this one.
    if let Some(disk) = block::whole_disk(system, name) {
        for holder in users(system, &disk, found) {
            waiting.push_back(holder.clone());
            family.push(holder);
        }
        family.push(disk);
    }
    while let Some(device) = waiting.pop_front() {
        let above = block::partitions(system, &device).into_iter().chain(users(system, &device, found));
        for next in above.collect::<Vec<_>>() {
            if !family.contains(&next) {
                waiting.push_back(next.clone());
                family.push(next);
            }
        }
    }
    family
}

/// Devices right upon this one, partitions aside.
fn users(system: &System, name: &str, found: &mut Vec<Claim>) -> Vec<String> {
    let mut all = block::holders(system, name);
    for by in &all {
        push(found, Claim::Holder { device: name.to_owned(), by: by.clone() });
    }
    for device in loops(system) {
        let backing = block::backing_file(system, &device);
        let on = backing.and_then(|file| system.name_of_source(&file.to_string_lossy()));
        if on.as_deref() == Some(name) {
            push(found, Claim::Loop { device: device.clone() });
            all.push(device);
        }
    }
    all
}

fn loops(system: &System) -> Vec<String> {
    let mut names = system.names("/sys/class/block");
    names.retain(|name| name.starts_with("loop"));
    names
}

/// Our mounts and, when we may see them, those of the first process: in a container or a private
/// mount namespace ours are not all.
fn all_mounts(system: &System) -> Result<Vec<Mount>, HostError> {
    let mut all = system.mounts()?;
    if let Ok(text) = system.text("/proc/1/mountinfo") {
        all.extend(mounts::parse_mountinfo(&text));
    }
    Ok(all)
}

/// Devices and files in `/proc/swaps` (proc_swaps(5)), with its octal escapes undone.
fn swaps(system: &System) -> Vec<PathBuf> {
    let text = system.attribute("/proc/swaps").unwrap_or_default();
    let rows = text.lines().skip(1).filter_map(|line| line.split_ascii_whitespace().next());
    rows.map(|name| PathBuf::from(mounts::unescape(name))).collect()
}

/// Whether two names lead to one file. Names that lead nowhere are compared as written.
fn same_file(a: &Path, b: &Path) -> bool {
    match (fs::metadata(a), fs::metadata(b)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::unpack;

    fn told(tree: &str, name: &str) -> String {
        let root = unpack(tree);
        let found = claims(&System::captured(root.path()), name).unwrap();
        found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn the_disk_under_the_root_file_system() {
        let on_laptop = "dm-0 holds the root file system; dm-0 is mounted on /home; nvme0n1p1 is mounted on /boot/efi; \
             nvme0n1p3 is part of dm-0";
        assert_eq!(told("laptop", "nvme0n1"), on_laptop);
        // Its partition alone does not concern the other one.
        assert_eq!(
            told("laptop", "nvme0n1p3"),
            "dm-0 holds the root file system; dm-0 is mounted on /home; nvme0n1p3 is part of dm-0"
        );
        assert_eq!(told("laptop", "nvme0n1p1"), "nvme0n1p1 is mounted on /boot/efi");
        assert_eq!(told("laptop", "zram0"), "zram0 is swap space in use");
        assert_eq!(told("ec2-raid10", "nvme0n1"), "nvme0n1p1 holds the root file system");
    }

    #[test]
    fn members_of_arrays_and_volumes() {
        assert_eq!(told("ec2-raid10", "nvme2n1"), "md0 is mounted on /data; nvme2n1 is part of md0");
        assert_eq!(told("azure-lvm", "sdc"), "dm-1 is mounted on /mnt/data one; sdc is part of dm-1");
        assert_eq!(told("azure-lvm", "sdb"), "sdb1 is swap space in use");
        assert_eq!(told("azure-lvm", "sde"), "");
        assert_eq!(told("oddities", "sdd"), "md127p1 is mounted on /on-md; sdd is part of md127");
        assert_eq!(told("oddities", "sdf"), "sdf1 is part of bcache0");
    }

    #[test]
    fn uses_that_mounts_do_not_name() {
        // The mount names only sdb.
        assert!(told("oddities", "sdc").contains("sdc is mounted on /pool"));
        assert!(told("oddities", "sdc").contains("sdc is mounted on /merged"));
        assert_eq!(told("oddities", "sde"), "it is attached as loop3");
        assert_eq!(told("nvme-multipath", "nvme3n1"), "nvme3n1p1 is mounted on /mnt");
    }
}
