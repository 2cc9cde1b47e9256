//! What each device holds.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use iobound_record::{Device, DeviceSort};
use rustix::fs::OFlags;

use super::Notes;
use crate::block::{self, DeviceNumber};
use crate::guard::{Signature, signatures};
use crate::system::System;

/// Looking at one device is a dozen reads one after another; hundreds of devices are looked at side
/// by side.
const THREADS: usize = 32;

/// Fills in [`Device::holds`], where we may.
pub(super) fn look(system: &System, devices: &mut [Device], root: bool, notes: &mut Notes) {
    if !system.is_live() {
        return;
    }
    if !root {
        notes.add("what devices hold is told by udev where it runs: reading them needs root");
        return;
    }
    let wanted: Vec<usize> = (0..devices.len()).filter(|at| may_be_read(system, &devices[*at])).collect();
    let seen: Mutex<Vec<(usize, io::Result<String>)>> = Mutex::new(Vec::with_capacity(wanted.len()));
    let next = AtomicUsize::new(0);
    let look_at_next = || {
        while let Some(at) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            let held = held_by(&devices[*at]);
            if let Ok(mut seen) = seen.lock() {
                seen.push((*at, held));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..wanted.len().min(THREADS) {
            scope.spawn(look_at_next);
        }
        look_at_next();
    });
    for (at, held) in seen.into_inner().unwrap_or_default() {
        match held {
            Ok(held) => devices[at].holds = Some(held),
            Err(error) => notes.add(format!("{}: what it holds cannot be read: {error}", devices[at].name)),
        }
    }
}

/// A suspended device-mapper device answers no read until it is resumed; a removable drive may have
/// to spin up, and holds nothing that we would use.
fn may_be_read(system: &System, device: &Device) -> bool {
    let suspended = || block::attribute(system, &device.name, "dm/suspended").as_deref() == Some("1");
    device.size_bytes > 0
        && !device.removable
        && !matches!(device.sort, DeviceSort::NvmePath | DeviceSort::Ram)
        && !suspended()
}

fn held_by(device: &Device) -> io::Result<String> {
    let node = Path::new("/dev").join(device.name.replace('!', "/"));
    let file = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(node)?;
    let meta = file.metadata()?;
    // In a container the node of that name may be another device, or none.
    if !meta.file_type().is_block_device() || DeviceNumber::from_raw(meta.rdev()).to_string() != device.number
    {
        return Err(io::Error::other("its node in /dev is another device's"));
    }
    signatures(&file, device.size_bytes).map(|found| short_names(&found))
}

/// Names as libblkid (and so `lsblk`) has them, each once, parted by commas.
fn short_names(found: &[Signature]) -> String {
    let mut names: Vec<String> = Vec::new();
    for signature in found {
        let name = short_name(&signature.name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    // GPT comes with a protective MBR: UEFI specification 5.2.3.
    if names.iter().any(|name| name == "gpt") {
        names.retain(|name| name != "dos");
    }
    names.join(",")
}

fn short_name(name: &str) -> String {
    const KNOWN: [(&str, &str); 16] = [
        ("LVM2 physical volume", "LVM2_member"),
        ("md RAID member", "linux_raid_member"),
        ("Intel Matrix RAID", "isw_raid_member"),
        ("DDF RAID", "ddf_raid_member"),
        ("ZFS pool member", "zfs_member"),
        ("GPT partition table", "gpt"),
        ("MBR partition table", "dos"),
        ("LUKS", "crypto_LUKS"),
        ("swap with a hibernated system", "swsuspend"),
        ("swap", "swap"),
        ("FAT", "vfat"),
        ("ISO 9660", "iso9660"),
        ("VMFS", "VMFS_volume_member"),
        ("Ceph BlueStore", "ceph_bluestore"),
        ("ext journal", "jbd"),
        ("HFS", "hfsplus"),
    ];
    if let Some((_, short)) = KNOWN.iter().find(|(long, _)| name.starts_with(long)) {
        return (*short).into();
    }
    // `btrfs (second superblock)` and the like.
    name.split(" (").next().unwrap_or(name).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_lsblk_has_them() {
        let signature = |name: &str| Signature { name: name.into(), offset: 0 };
        let names = |all: &[&str]| short_names(&all.iter().map(|name| signature(name)).collect::<Vec<_>>());
        assert_eq!(names(&[]), "");
        assert_eq!(names(&["xfs"]), "xfs");
        assert_eq!(names(&["md RAID member (1.2)"]), "linux_raid_member");
        assert_eq!(
            names(&["MBR partition table", "GPT partition table", "GPT partition table (backup)"]),
            "gpt"
        );
        assert_eq!(names(&["btrfs", "btrfs (second superblock)"]), "btrfs");
        assert_eq!(names(&["ext4", "LVM2 physical volume"]), "ext4,LVM2_member");
    }
}
