//! What the devices under a target moved between two moments, by the kernel's own counters.

use std::collections::HashMap;

use iobound_record::{DeviceBytes, DeviceTraffic};
use thiserror::Error;

use crate::block::{self, DeviceKind, SECTOR_BYTES};
use crate::diskstats::{Counters, parse_diskstats};
use crate::error::HostError;
use crate::stack::Stack;
use crate::system::System;

/// Why there is no full account of the traffic.
#[derive(Debug, Error)]
pub enum TrafficError {
    /// `/proc/diskstats` cannot be read.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The target has no block device, or none that the kernel counts for.
    #[error("the target has no block device with counters in /proc/diskstats")]
    NoDevice,
    /// Devices went away during the run, or others came in their place.
    #[error("{} went away while it was measured", .devices.join(", "))]
    Vanished {
        /// Which.
        devices: Vec<String>,
        /// What the others moved.
        partial: Box<DeviceTraffic>,
    },
}

/// One device at the start.
#[derive(Clone, Debug)]
struct Watched {
    name: String,
    incarnation: Option<u64>,
    counters: Counters,
}

/// Counts what the devices under one or more targets move.
#[derive(Clone, Debug)]
pub struct TrafficMeter {
    system: System,
    top: Vec<Watched>,
    members: Vec<Watched>,
    /// Members that are path devices of multipath NVMe drives.
    paths: Vec<String>,
    /// Whether I/O on the top devices ends in such a drive, whose own counters may stand still.
    through_nvme_paths: bool,
}

impl TrafficMeter {
    /// Notes the counters now.
    ///
    /// # Errors
    /// [`TrafficError::NoDevice`] when the target's devices have no counters (tmpfs, nfs, overlay
    /// in a container); [`TrafficError::Host`] when they cannot be read.
    pub fn start(system: &System, stack: &Stack) -> Result<Self, TrafficError> {
        Self::start_all(system, &[stack])
    }

    /// The same for a job with files on several stacks; devices that they share count once.
    ///
    /// # Errors
    /// As [`TrafficMeter::start`].
    pub fn start_all(system: &System, stacks: &[&Stack]) -> Result<Self, TrafficError> {
        let table = counters(system)?;
        let mut top: Vec<Watched> = Vec::new();
        let mut members: Vec<Watched> = Vec::new();
        let mut paths = Vec::new();
        let mut head = false;
        let watch = |name: &str, list: &mut Vec<Watched>| {
            if let Some(counters) = table.get(name).filter(|_| list.iter().all(|w| w.name != name)) {
                let incarnation = block::incarnation(system, name);
                list.push(Watched { name: name.to_owned(), incarnation, counters: *counters });
            }
        };
        for device in stacks.iter().flat_map(|stack| &stack.top) {
            watch(&device.name, &mut top);
            head |= device.kind == DeviceKind::NvmeHead;
        }
        for device in stacks.iter().flat_map(|stack| &stack.members) {
            watch(&device.name, &mut members);
            head |= device.kind == DeviceKind::NvmeHead;
            if device.kind == DeviceKind::NvmePath {
                paths.push(device.name.clone());
            }
        }
        if top.is_empty() {
            return Err(TrafficError::NoDevice);
        }
        Ok(TrafficMeter { system: system.clone(), top, members, paths, through_nvme_paths: head })
    }

    /// What they moved since the start; may be asked again and again.
    ///
    /// On many kernels the counters of a multipath NVMe drive, and of its partitions, stand still
    /// (fio #1890); the total is then that of its path devices.
    ///
    /// # Errors
    /// [`TrafficError::Vanished`] when a device is gone or replaced, with what the others moved.
    pub fn read(&self) -> Result<DeviceTraffic, TrafficError> {
        let now = counters(&self.system)?;
        let mut vanished = Vec::new();
        let mut moved = |watched: &[Watched]| -> Vec<(String, DeviceBytes)> {
            let mut list = Vec::with_capacity(watched.len());
            for device in watched {
                match self.moved(device, &now) {
                    Some(bytes) => list.push((device.name.clone(), bytes)),
                    None => vanished.push(device.name.clone()),
                }
            }
            list
        };
        let top = moved(&self.top);
        let members = moved(&self.members);
        let mut total = sum(top.iter().map(|(_, bytes)| bytes));
        if self.through_nvme_paths && total.read_ios == 0 && total.write_ios == 0 {
            total = sum(members.iter().filter(|(name, _)| self.paths.contains(name)).map(|(_, bytes)| bytes));
        }
        let names = self.top.iter().map(|device| device.name.clone()).collect();
        let traffic = DeviceTraffic { total, names, members };
        if vanished.is_empty() {
            Ok(traffic)
        } else {
            Err(TrafficError::Vanished { devices: vanished, partial: Box::new(traffic) })
        }
    }

    /// What they moved since the start, at the end.
    ///
    /// # Errors
    /// As [`TrafficMeter::read`].
    pub fn stop(self) -> Result<DeviceTraffic, TrafficError> {
        self.read()
    }

    /// One device's share; None when it is gone, or another device came in its place.
    fn moved(&self, device: &Watched, now: &HashMap<String, Counters>) -> Option<DeviceBytes> {
        let counters = now.get(&device.name)?;
        if block::incarnation(&self.system, &device.name) != device.incarnation {
            return None;
        }
        let delta = counters.since(&device.counters);
        Some(DeviceBytes {
            read_bytes: delta.read_sectors.saturating_mul(SECTOR_BYTES),
            write_bytes: delta.write_sectors.saturating_mul(SECTOR_BYTES),
            read_ios: delta.read_ios,
            write_ios: delta.write_ios,
            read_merges: delta.read_merges,
            write_merges: delta.write_merges,
            busy_ms: delta.busy_ms,
        })
    }
}

fn counters(system: &System) -> Result<HashMap<String, Counters>, HostError> {
    system.text("/proc/diskstats").map(|text| parse_diskstats(&text))
}

/// Adds devices up. Busy time is the busiest one's: they work side by side.
fn sum<'a>(parts: impl Iterator<Item = &'a DeviceBytes>) -> DeviceBytes {
    parts.fold(DeviceBytes::default(), |all, part| DeviceBytes {
        read_bytes: all.read_bytes.saturating_add(part.read_bytes),
        write_bytes: all.write_bytes.saturating_add(part.write_bytes),
        read_ios: all.read_ios.saturating_add(part.read_ios),
        write_ios: all.write_ios.saturating_add(part.write_ios),
        read_merges: all.read_merges.saturating_add(part.read_merges),
        write_merges: all.write_merges.saturating_add(part.write_merges),
        busy_ms: all.busy_ms.max(part.busy_ms),
    })
}

/// Bytes that a device moved for others than us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtherIo {
    /// Read.
    pub read_bytes: u64,
    /// Written, the file system's own metadata included.
    pub write_bytes: u64,
}

/// What is left of a device's traffic after this program's own bytes; 0 where the program moved
/// more than the device did (page cache, compression, holes).
pub fn other_io(device: &DeviceBytes, own_read_bytes: u64, own_write_bytes: u64) -> OtherIo {
    OtherIo {
        read_bytes: device.read_bytes.saturating_sub(own_read_bytes),
        write_bytes: device.write_bytes.saturating_sub(own_write_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_io_is_never_negative() {
        let device = DeviceBytes { read_bytes: 100, write_bytes: 50, ..DeviceBytes::default() };
        assert_eq!(other_io(&device, 90, 60), OtherIo { read_bytes: 10, write_bytes: 0 });
    }

    #[test]
    fn devices_side_by_side_are_as_busy_as_the_busiest() {
        let a = DeviceBytes { read_ios: 1, busy_ms: 10, ..DeviceBytes::default() };
        let b = DeviceBytes { read_ios: 2, busy_ms: 7, ..DeviceBytes::default() };
        let all = sum([&a, &b].into_iter());
        assert_eq!((all.read_ios, all.busy_ms), (3, 10));
    }
}

#[cfg(test)]
mod tree_tests {
    use super::*;
    use crate::trees::unpack;
    use std::fs;
    use std::path::Path;
    use tempfile::TempDir;

    /// A meter on a captured machine whose counters can then be changed.
    fn meter(tree: &str, path: &str) -> (TempDir, TrafficMeter) {
        let root = unpack(tree);
        let system = System::captured(root.path());
        let stack = system.stack_of(Path::new(path)).unwrap();
        let meter = TrafficMeter::start(&system, &stack).unwrap();
        (root, meter)
    }

    fn change(root: &TempDir, edit: impl Fn(String) -> String) {
        let table = root.path().join("proc/diskstats");
        fs::write(&table, edit(fs::read_to_string(&table).unwrap())).unwrap();
    }

    /// Gives a device these counters.
    fn set(root: &TempDir, name: &str, fields: &str) {
        let name = format!(" {name} ");
        change(root, |table| {
            let row = |line: &str| match line.split_once(&name) {
                Some((number, _)) => format!("{number}{name}{fields}\n"),
                None => format!("{line}\n"),
            };
            table.lines().map(row).collect()
        });
    }

    #[test]
    fn an_array_and_its_members() {
        let (root, meter) = meter("ec2-raid10", "/data");
        set(&root, "md0", "10 0 80 5 100 0 1600 9 0 12 14 0 0 0 0 0 0");
        for member in 1..=4 {
            set(&root, &format!("nvme{member}n1"), "3 1 20 5 50 2 800 9 0 11 14 0 0 0 0 0 0");
        }
        let traffic = meter.stop().unwrap();
        assert_eq!(traffic.names, ["md0"]);
        assert_eq!((traffic.total.read_bytes, traffic.total.write_bytes), (80 * 512, 1600 * 512));
        assert_eq!((traffic.total.read_ios, traffic.total.write_ios, traffic.total.busy_ms), (10, 100, 12));
        assert_eq!(traffic.members.len(), 4);
        let (name, first) = &traffic.members[0];
        assert_eq!((name.as_str(), first.write_bytes, first.write_merges), ("nvme1n1", 800 * 512, 2));
        assert_eq!(first.read_merges, 1);
    }

    #[test]
    fn counters_of_an_old_kernel_wrap() {
        let (root, meter) = meter("azure-lvm", "/mnt/data one");
        set(&root, "dm-1", "10 0 104 50 0 0 0 0 0 296 0");
        let total = meter.stop().unwrap().total;
        assert_eq!((total.read_ios, total.read_bytes, total.busy_ms), (16, 200 * 512, 592));
    }

    #[test]
    fn a_multipath_drive_is_counted_on_its_paths() {
        let (root, meter) = meter("nvme-multipath", "/mnt");
        set(&root, "nvme3c33n1", "782 0 16948 59 67891 258573 17174264 58210 0 594 36052 0 0 0 0");
        set(&root, "nvme3c3n1", "150 0 1400 59 100 0 1000 58210 0 590 36052 0 0 0 0");
        let traffic = meter.read().unwrap();
        assert_eq!((traffic.total.read_ios, traffic.total.read_bytes), (150, 1200 * 512));
        // Where the kernel counts on the drive itself, that is the figure.
        set(&root, "nvme3n1p1", "150 0 1200 1 0 0 0 0 0 9 0 0 0 0 0");
        assert_eq!(meter.read().unwrap().total.read_ios, 150);
    }

    #[test]
    fn a_device_that_vanishes_is_named_and_the_others_still_count() {
        let (root, meter) = meter("ec2-raid10", "/data");
        set(&root, "md0", "10 0 80 5 100 0 1600 9 0 12 14 0 0 0 0 0 0");
        change(&root, |table| {
            table.lines().filter(|l| !l.contains("nvme3n1")).map(|l| format!("{l}\n")).collect()
        });
        match meter.stop() {
            Err(TrafficError::Vanished { devices, partial }) => {
                assert_eq!(devices, ["nvme3n1"]);
                assert_eq!((partial.total.read_ios, partial.members.len()), (10, 3));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn another_device_of_the_same_name_is_not_taken_for_the_first() {
        let (root, meter) = meter("laptop", "/boot/efi");
        fs::write(root.path().join("sys/class/block/nvme0n1/diskseq"), "2\n").unwrap();
        assert!(matches!(meter.read(), Err(TrafficError::Vanished { .. })));
    }

    #[test]
    fn no_device_no_meter() {
        let root = unpack("oddities");
        let system = System::captured(root.path());
        let stack = system.stack_of(Path::new("/ram")).unwrap();
        assert!(matches!(TrafficMeter::start(&system, &stack), Err(TrafficError::Host(_))));
        fs::write(root.path().join("proc/diskstats"), "").unwrap();
        assert!(matches!(TrafficMeter::start(&system, &stack), Err(TrafficError::NoDevice)));
    }

    #[test]
    fn a_device_shared_by_two_stacks_counts_once() {
        let root = unpack("laptop");
        let system = System::captured(root.path());
        let home = system.stack_of(Path::new("/home")).unwrap();
        let slash = system.stack_of(Path::new("/")).unwrap();
        let meter = TrafficMeter::start_all(&system, &[&home, &slash]).unwrap();
        assert_eq!(meter.read().unwrap().names, ["dm-0"]);
    }
}
