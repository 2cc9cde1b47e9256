//! One block device, as `/sys/class/block` shows it.
//!
//! Attributes: Documentation/ABI/stable/sysfs-block in the kernel tree. Devices are known by their
//! kernel names, not numbers, since the path devices of a multipath NVMe drive have no number.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::HostError;
use crate::system::System;

/// The kernel counts sectors of 512 bytes everywhere in `/sys` and `/proc`, whatever the device's
/// own sector size (SECTOR_SIZE in include/linux/blk_types.h).
pub(crate) const SECTOR_BYTES: u64 = 512;

/// A device number, `major:minor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// Driver.
    pub major: u32,
    /// Device of that driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// From the packed form of `stat`.
    pub fn from_raw(packed: u64) -> Self {
        DeviceNumber { major: rustix::fs::major(packed), minor: rustix::fs::minor(packed) }
    }

    /// File systems without a block device of their own (tmpfs, btrfs, overlayfs, nfs) have
    /// numbers of major 0.
    pub fn is_anonymous(self) -> bool {
        self.major == 0
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl FromStr for DeviceNumber {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (major, minor) = text.trim().split_once(':').ok_or(())?;
        Ok(DeviceNumber { major: major.parse().map_err(drop)?, minor: minor.parse().map_err(drop)? })
    }
}

/// What sort of device it is, as far as it matters to what lies below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// A whole device with nothing below that the kernel tells of.
    Disk,
    /// A part of a disk.
    Partition,
    /// Software RAID.
    Md {
        /// `raid10`, `raid0`, ...; empty while the array is not running.
        level: String,
    },
    /// LVM, dm-crypt, multipath, ...
    DeviceMapper {
        /// Name under `/dev/mapper`.
        name: String,
        /// `LVM-...`, `CRYPT-...`, `mpath-...`: tells what made it.
        uuid: String,
    },
    /// A file seen as a device.
    Loop {
        /// The file, as named when it was attached; None when detached or hidden from us.
        backing: Option<PathBuf>,
    },
    /// An NVMe drive with native multipath: I/O goes through its path devices.
    NvmeHead,
    /// One path of such a drive, `nvmeXcYnZ`; it has no device node.
    NvmePath,
}

/// A block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockDevice {
    /// Kernel name: `sda1`, `md0`, `dm-3`.
    pub name: String,
    /// Device number; None for NVMe path devices.
    pub number: Option<DeviceNumber>,
    /// Sort.
    pub kind: DeviceKind,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Smallest unit that can be addressed: direct I/O is aligned to it. Bytes.
    pub logical_block_bytes: u32,
    /// Smallest unit that is written without reading first. Bytes.
    pub physical_block_bytes: u32,
    /// Whether the kernel takes it for a spinning disk; None when it does not say.
    pub rotational: Option<bool>,
    /// Scheduler in use: `none`, `mq-deadline`, ...
    pub scheduler: String,
    /// `write back` or `write through`, by the kernel's view.
    pub write_cache: String,
    /// Whether the kernel refuses writes to it.
    pub read_only: bool,
}

impl BlockDevice {
    /// The usual name of its node: `/dev/sda1`. (For display: nodes may be named otherwise.)
    pub fn node(&self) -> PathBuf {
        // `/sys` writes `!` for the slash in names such as `cciss/c0d0`.
        PathBuf::from("/dev").join(self.name.replace('!', "/"))
    }
}

/// What lies right below a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Below {
    /// Another device, by name.
    Device(String),
    /// A file, as the loop driver names it.
    File(PathBuf),
}

/// The kernel names of all block devices, sorted.
pub(crate) fn names(system: &System) -> Vec<String> {
    system.names("/sys/class/block")
}

pub(crate) fn dir(name: &str) -> String {
    format!("/sys/class/block/{name}")
}

pub(crate) fn attribute(system: &System, name: &str, what: &str) -> Option<String> {
    system.attribute(format!("{}/{what}", dir(name)))
}

pub(crate) fn exists(system: &System, name: &str, what: &str) -> bool {
    system.place(format!("{}/{what}", dir(name))).exists()
}

/// The kernel name of a device number.
pub(crate) fn name_of(system: &System, number: DeviceNumber) -> Option<String> {
    let link = fs::read_link(system.place(format!("/sys/dev/block/{number}"))).ok()?;
    Some(link.file_name()?.to_str()?.to_owned())
}

/// The number of a device, by its kernel name; None for NVMe path devices and unknown names.
pub(crate) fn number_of(system: &System, name: &str) -> Option<DeviceNumber> {
    attribute(system, name, "dev")?.parse().ok()
}

/// The device of a `/dev` path that cannot be looked at (another machine's, or a container without
/// the node): by its last part, or by the name that device mapper knows it under.
pub(crate) fn name_of_node(system: &System, node: &str) -> Option<String> {
    let rest = node.strip_prefix("/dev/")?;
    if let Some(mapped) = rest.strip_prefix("mapper/") {
        return system
            .names("/sys/class/block")
            .into_iter()
            .find(|name| attribute(system, name, "dm/name").as_deref() == Some(mapped));
    }
    let name = rest.replace('/', "!");
    system.place(dir(&name)).exists().then_some(name)
}

/// The counter of device incarnations: a name that comes back with another number of this is
/// another device. Kernel 5.15 and later.
pub(crate) fn incarnation(system: &System, name: &str) -> Option<u64> {
    let disk = whole_disk(system, name).unwrap_or_else(|| name.to_owned());
    attribute(system, &disk, "diskseq")?.parse().ok()
}

/// The disk that a partition is part of; None for anything but a partition.
pub(crate) fn whole_disk(system: &System, name: &str) -> Option<String> {
    if !exists(system, name, "partition") {
        return None;
    }
    let place = fs::canonicalize(system.place(dir(name))).ok()?;
    Some(place.parent()?.file_name()?.to_str()?.to_owned())
}

/// The partitions of a disk.
pub(crate) fn partitions(system: &System, name: &str) -> Vec<String> {
    let place = dir(name);
    let mut found = system.names(&place);
    // Partitions are named after their disk; looking into each of the other thirty entries takes longer.
    found.retain(|entry| {
        entry.starts_with(name) && system.place(format!("{place}/{entry}/partition")).exists()
    });
    found
}

/// Devices built upon this one: arrays, volumes, caches.
pub(crate) fn holders(system: &System, name: &str) -> Vec<String> {
    system.names(format!("{}/holders", dir(name)))
}

/// Splits `nvmeXnY` into X and Y: the head of a multipath drive, or a plain drive.
fn nvme_head(name: &str) -> Option<(&str, &str)> {
    let (drive, namespace) = name.strip_prefix("nvme")?.split_once('n')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    (digits(drive) && digits(namespace)).then_some((drive, namespace))
}

/// Whether `name` is `nvmeXcYnZ`, a path of the head `nvmeXnZ`.
fn is_path_of(name: &str, (drive, namespace): (&str, &str)) -> bool {
    name.strip_prefix("nvme")
        .and_then(|rest| rest.strip_prefix(drive)?.strip_prefix('c')?.split_once('n'))
        .is_some_and(|(controller, of)| of == namespace && controller.bytes().all(|c| c.is_ascii_digit()))
}

pub(crate) fn is_nvme_path(name: &str) -> bool {
    name.strip_prefix("nvme").is_some_and(|rest| rest.contains('c') && rest.contains('n'))
}

/// The path devices of a multipath NVMe drive, as fio and atop have to find them (fio #1890,
/// atop #157); empty for other devices.
pub(crate) fn nvme_paths(system: &System, name: &str) -> Vec<String> {
    nvme_paths_among(system, name, &|| names(system))
}

/// The same, with the names of all devices from a list at hand: listing them again for each of many
/// drives would take longer than all the rest.
pub(crate) fn nvme_paths_among(system: &System, name: &str, all: &dyn Fn() -> Vec<String>) -> Vec<String> {
    let Some(head) = nvme_head(name) else { return Vec::new() };
    // Kernel 6.15 and later list them; before, only the names tell.
    let mut found = system.names(format!("{}/multipath", dir(name)));
    if found.is_empty() {
        found = all();
    }
    found.retain(|entry| is_path_of(entry, head));
    found
}

/// The file behind a loop device; None when there is none.
pub(crate) fn backing_file(system: &System, name: &str) -> Option<PathBuf> {
    attribute(system, name, "loop/backing_file").filter(|file| !file.is_empty()).map(PathBuf::from)
}

fn kind(system: &System, name: &str) -> DeviceKind {
    if exists(system, name, "partition") {
        DeviceKind::Partition
    } else if exists(system, name, "md") {
        DeviceKind::Md { level: attribute(system, name, "md/level").unwrap_or_default() }
    } else if exists(system, name, "dm") {
        DeviceKind::DeviceMapper {
            name: attribute(system, name, "dm/name").unwrap_or_default(),
            uuid: attribute(system, name, "dm/uuid").unwrap_or_default(),
        }
    } else if name.starts_with("loop") {
        DeviceKind::Loop { backing: backing_file(system, name) }
    } else if is_nvme_path(name) {
        DeviceKind::NvmePath
    } else if !nvme_paths(system, name).is_empty() {
        DeviceKind::NvmeHead
    } else {
        DeviceKind::Disk
    }
}

/// What lies right below a device; empty for a disk.
pub(crate) fn below(system: &System, name: &str) -> Vec<Below> {
    if let Some(disk) = whole_disk(system, name) {
        return vec![Below::Device(disk)];
    }
    if let Some(file) = backing_file(system, name) {
        return vec![Below::File(file)];
    }
    let mut found = system.names(format!("{}/slaves", dir(name)));
    found.extend(
        nvme_paths(system, name).into_iter().filter(|path| !found.contains(path)).collect::<Vec<_>>(),
    );
    found.into_iter().map(Below::Device).collect()
}

/// The scheduler in use, out of `none [mq-deadline] kyber`. Devices that cannot have one say
/// `none` without brackets.
pub(crate) fn chosen_scheduler(text: &str) -> String {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(name, _)| name);
    bracketed.unwrap_or(text).trim().to_owned()
}

/// Everything about a device.
///
/// # Errors
/// [`HostError::NoSuchDevice`] when the kernel has none of that name.
pub(crate) fn describe(system: &System, name: &str) -> Result<BlockDevice, HostError> {
    if !system.place(dir(name)).exists() {
        return Err(HostError::NoSuchDevice { device: name.to_owned() });
    }
    // Partitions share the queue of their disk.
    let disk = whole_disk(system, name);
    let queue = |what: &str| attribute(system, disk.as_deref().unwrap_or(name), &format!("queue/{what}"));
    let bytes = |what: &str| queue(what).and_then(|text| text.parse().ok());
    let logical = bytes("logical_block_size").unwrap_or(SECTOR_BYTES as u32);
    let sectors: u64 = attribute(system, name, "size").and_then(|text| text.parse().ok()).unwrap_or(0);
    Ok(BlockDevice {
        name: name.to_owned(),
        number: number_of(system, name),
        kind: kind(system, name),
        size_bytes: sectors.saturating_mul(SECTOR_BYTES),
        logical_block_bytes: logical,
        physical_block_bytes: bytes("physical_block_size").unwrap_or(logical),
        rotational: queue("rotational").map(|text| text == "1"),
        scheduler: queue("scheduler").map(|text| chosen_scheduler(&text)).unwrap_or_default(),
        write_cache: queue("write_cache").unwrap_or_default(),
        read_only: attribute(system, name, "ro").as_deref() == Some("1"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers() {
        let number: DeviceNumber = "259:12\n".parse().unwrap();
        assert_eq!((number.major, number.minor, number.to_string().as_str()), (259, 12, "259:12"));
        for odd in ["", "8", "8:", ":1", "a:b", "-1:2", "8:1:2"] {
            assert!(odd.parse::<DeviceNumber>().is_err(), "{odd}");
        }
    }

    #[test]
    fn nvme_names() {
        assert_eq!(nvme_head("nvme10n2"), Some(("10", "2")));
        for other in ["nvme0n1p1", "nvme0c0n1", "nvme0", "sda", "nvmen1"] {
            assert_eq!(nvme_head(other), None, "{other}");
        }
        assert!(is_path_of("nvme3c33n1", ("3", "1")));
        assert!(!is_path_of("nvme3c33n1", ("3", "2")));
        assert!(!is_path_of("nvme33c3n1", ("3", "1")));
    }

    #[test]
    fn schedulers() {
        assert_eq!(chosen_scheduler("none [mq-deadline] kyber"), "mq-deadline");
        assert_eq!(chosen_scheduler("none"), "none");
        assert_eq!(chosen_scheduler("["), "[");
    }
}
