//! Block devices: Documentation/ABI/stable/sysfs-block in the kernel tree.

use iobound_record::{Device, DeviceSort};

use super::Notes;
use super::identity;
use super::tables::Tables;
use super::udev::Properties;
use crate::block::{self, Below, SECTOR_BYTES};
use crate::system::System;

/// All of them, in the order in which people count: `nvme2n1` before `nvme10n1`. Devices without a
/// size and without anything to tell (idle loop devices, empty drives) are left out.
pub(super) fn devices(system: &System, tables: &Tables, notes: &mut Notes) -> Vec<Device> {
    let mut found: Vec<Device> = tables
        .names
        .iter()
        .map(|name| Reader { system, tables, name })
        // Most loop devices are idle, and there may be hundreds.
        .filter(|reader| reader.text("size").as_deref() != Some("0") || reader.sort() == DeviceSort::Md)
        .map(|reader| reader.device(notes))
        .filter(|device| device.size_bytes > 0 || device.sort == DeviceSort::Md)
        .collect();
    found.sort_by_key(|device| natural(&device.name));
    for at in 0..found.len() {
        add_what_lies_above(&mut found, at);
    }
    found
}

/// A loop device on a file of a file system is no holder to the kernel, but it is to people who ask
/// what would break.
fn add_what_lies_above(devices: &mut [Device], at: usize) {
    let Device { name, sort: DeviceSort::Loop | DeviceSort::NvmePath, below, .. } = &devices[at] else {
        return;
    };
    let (name, below) = (name.clone(), below.clone());
    for device in devices.iter_mut().filter(|device| below.contains(&device.name)) {
        if !device.above.contains(&name) {
            device.above.push(name.clone());
        }
    }
}

/// Letters and numbers in turns, numbers by their value.
pub(super) fn natural(name: &str) -> Vec<(String, u128)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (letters, tail) = rest.split_at(digits);
        let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let (number, next) = tail.split_at(end);
        parts.push((letters.to_owned(), number.parse().unwrap_or(0)));
        rest = next;
    }
    parts
}

/// Reads one device.
struct Reader<'a> {
    system: &'a System,
    tables: &'a Tables,
    name: &'a str,
}

impl Reader<'_> {
    fn text(&self, what: &str) -> Option<String> {
        block::attribute(self.system, self.name, what)
    }

    fn number(&self, what: &str) -> Option<u64> {
        self.text(what)?.parse().ok()
    }

    fn device(&self, notes: &mut Notes) -> Device {
        let disk = block::whole_disk(self.system, self.name);
        // Partitions share the queue of their disk.
        let queue_of = disk.as_deref().unwrap_or(self.name);
        let number = self.text("dev").unwrap_or_default();
        let udev = self.tables.udev(&number);
        let sort = self.sort();
        let mut device = Device {
            name: self.name.to_owned(),
            sort,
            label: self.label(sort, udev),
            size_bytes: self.number("size").unwrap_or(0).saturating_mul(SECTOR_BYTES),
            read_only: self.text("ro").as_deref() == Some("1"),
            removable: block::attribute(self.system, queue_of, "removable").as_deref() == Some("1"),
            paths: block::nvme_paths_among(self.system, self.name, &|| self.tables.names.clone()),
            above: self.above(),
            mounts: self.tables.uses_of(self.name),
            numa_node: identity::numa_node(self.system, queue_of),
            number,
            ..Device::default()
        };
        if self.text("size").is_none_or(|text| text.parse::<u64>().is_err()) {
            notes.add(format!("{}: its size cannot be read, so it is left out", self.name));
        }
        // udev's word, until the device itself is read. That it has none does not mean that there is none.
        let held = udev.and_then(|p| p.first(&["ID_FS_TYPE", "ID_PART_TABLE_TYPE"]));
        device.holds = held.map(str::to_owned);
        self.queue(queue_of, &mut device);
        identity::fill(self.system, queue_of, udev, &mut device);
        device.below = self.below(&device, disk.as_deref(), notes);
        if let Some(disk) = disk {
            let start = self.number("start").unwrap_or(0).saturating_mul(SECTOR_BYTES);
            let physical = u64::from(device.physical_block_bytes.max(1));
            (device.start_bytes, device.misaligned_bytes, device.disk) = (start, start % physical, disk);
        }
        device
    }

    fn sort(&self) -> DeviceSort {
        let exists = |what: &str| block::exists(self.system, self.name, what);
        match self.name {
            _ if exists("partition") => DeviceSort::Partition,
            _ if exists("md") => DeviceSort::Md,
            _ if exists("dm") => match self.text("dm/uuid") {
                Some(uuid) if uuid.starts_with("LVM-") => DeviceSort::Lvm,
                _ => DeviceSort::DeviceMapper,
            },
            name if name.starts_with("loop") => DeviceSort::Loop,
            name if name.starts_with("ram") || name.starts_with("zram") => DeviceSort::Ram,
            name if block::is_nvme_path(name) => DeviceSort::NvmePath,
            _ => DeviceSort::Disk,
        }
    }

    /// Device mapper's names are in `/sys`; an array's is only known to mdadm's udev rules.
    fn label(&self, sort: DeviceSort, udev: Option<&Properties>) -> String {
        let told = match sort {
            DeviceSort::Lvm | DeviceSort::DeviceMapper => self.text("dm/name"),
            DeviceSort::Md => udev.and_then(|p| p.first(&["MD_DEVNAME"])).map(str::to_owned),
            _ => None,
        };
        told.unwrap_or_default()
    }

    fn queue(&self, queue_of: &str, device: &mut Device) {
        let text = |what: &str| block::attribute(self.system, queue_of, &format!("queue/{what}"));
        let number = |what: &str| text(what).and_then(|text| text.parse::<u64>().ok());
        let small = |what: &str| number(what).and_then(|value| u32::try_from(value).ok());
        let kib = |what: &str| number(what).unwrap_or(0).saturating_mul(1024);
        let scheduler = text("scheduler").unwrap_or_default();
        device.logical_block_bytes = small("logical_block_size").unwrap_or(SECTOR_BYTES as u32);
        device.physical_block_bytes =
            small("physical_block_size").filter(|bytes| *bytes > 0).unwrap_or(device.logical_block_bytes);
        device.minimum_io_bytes = number("minimum_io_size").unwrap_or(0);
        device.optimal_io_bytes = number("optimal_io_size").unwrap_or(0);
        device.rotational = text("rotational").map(|text| text == "1");
        device.schedulers =
            scheduler.split_ascii_whitespace().map(|name| name.trim_matches(['[', ']']).to_owned()).collect();
        device.scheduler = block::chosen_scheduler(&scheduler);
        device.read_ahead_bytes = kib("read_ahead_kb");
        device.nr_requests = small("nr_requests").unwrap_or(0);
        device.request_bytes_max = kib("max_sectors_kb");
        device.write_cache = text("write_cache").unwrap_or_default();
    }

    fn above(&self) -> Vec<String> {
        let mut found = block::partitions(self.system, self.name);
        found.extend(block::holders(self.system, self.name));
        found.sort_by_key(|name| natural(name));
        found.dedup();
        found
    }

    fn below(&self, device: &Device, disk: Option<&str>, notes: &mut Notes) -> Vec<String> {
        if let Some(disk) = disk {
            return vec![disk.to_owned()];
        }
        if !device.paths.is_empty() {
            return device.paths.clone();
        }
        if device.size_bytes == 0 {
            return Vec::new();
        }
        let mut found = Vec::new();
        let mut why = Vec::new();
        // The paths were found above; asking `block` for them would list all devices again.
        match block::backing_file(self.system, self.name).map(Below::File) {
            Some(Below::File(file)) => found = self.system.devices_of_file(self.name, &file, &mut why),
            _ => found.extend(self.system.names(format!("{}/slaves", block::dir(self.name)))),
        }
        why.into_iter().for_each(|note| notes.add(note));
        found.sort_by_key(|name| natural(name));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::natural;

    #[test]
    fn devices_are_counted_as_people_do() {
        let mut names = ["nvme10n1", "nvme2n1p10", "nvme2n1p2", "nvme2n1", "dm-11", "dm-2", "sdaa", "sdb"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["dm-2", "dm-11", "nvme2n1", "nvme2n1p2", "nvme2n1p10", "nvme10n1", "sdaa", "sdb"]);
    }
}
