//! Disks, equal ones in one row; and what parts of them there are.

use iobound_record::{Device, DeviceSort, Probe, units};

use super::super::terminal::text::Page;
use super::row::{Columns, below, fact, join};
use super::{or, section};

/// As many names are shown one by one; more as the first, the last and how many.
const NAMES_SHOWN: usize = 3;

/// Disks that differ in nothing but their identity.
struct Group<'a> {
    disks: Vec<&'a Device>,
}

impl<'a> Group<'a> {
    fn first(&self) -> &'a Device {
        self.disks[0]
    }
}

/// What makes two disks equal: all that is shown of one.
fn alike(a: &Device, b: &Device) -> bool {
    let same = |device: &Device| Device {
        name: String::new(),
        number: String::new(),
        serial: String::new(),
        wwn: String::new(),
        ebs_volume_id: String::new(),
        numa_node: None,
        below: Vec::new(),
        paths: Vec::new(),
        // A disk of an array and one of another are not alike; two disks with a file system each are.
        above: device.above.iter().filter(|name| !name.starts_with(&device.name)).cloned().collect(),
        ..device.clone()
    };
    same(a) == same(b)
}

fn groups<'a>(devices: impl Iterator<Item = &'a Device>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group> = Vec::new();
    for device in devices {
        match groups.iter_mut().find(|group| alike(group.first(), device)) {
            Some(group) => group.disks.push(device),
            None => groups.push(Group { disks: vec![device] }),
        }
    }
    groups
}

/// `nvme1n1..nvme16n1`, or each name when they are few.
pub(super) fn names(names: &[&str]) -> String {
    match names {
        [first, .., last] if names.len() > NAMES_SHOWN => format!("{first}..{last}"),
        _ => names.join(" "),
    }
}

pub(super) fn disks(probe: &Probe, page: &mut Page) {
    section(page, "Disks");
    let is_whole =
        |device: &&Device| matches!(device.sort, DeviceSort::Disk | DeviceSort::Loop | DeviceSort::Ram);
    let groups = groups(probe.devices.iter().filter(is_whole));
    if groups.is_empty() {
        page.line("  none");
        return;
    }
    let rows: Vec<Vec<String>> = groups.iter().map(row).collect();
    let columns = Columns::of(&rows);
    for (group, row) in groups.iter().zip(&rows) {
        columns.row(page, row);
        queue(group.first(), page);
        identity(group, page);
    }
}

fn row(group: &Group) -> Vec<String> {
    let disk = group.first();
    let all: Vec<&str> = group.disks.iter().map(|disk| disk.name.as_str()).collect();
    let size = units::bytes(disk.size_bytes);
    let size = if all.len() == 1 { size } else { format!("{} x {size}", all.len()) };
    let spins = if disk.rotational == Some(true) { "says that it spins" } else { "" };
    let kind = match disk.sort {
        DeviceSort::Loop => "a file",
        DeviceSort::Ram => "memory",
        _ => "",
    };
    let ephemeral = if disk.ephemeral { "goes with the instance" } else { "" };
    let model = or(&disk.model, &disk.transport);
    vec![names(&all), size, join(&[model, kind, ephemeral, spins], ", ")]
}

fn queue(disk: &Device, page: &mut Page) {
    let blocks = match (disk.logical_block_bytes, disk.physical_block_bytes) {
        (logical, physical) if logical == physical => format!("blocks {logical}"),
        (logical, physical) => format!("blocks {logical}/{physical}"),
    };
    let requests = match (disk.nr_requests, disk.request_bytes_max) {
        (0, _) => String::new(),
        (count, 0) => format!("queue {count}"),
        (count, bytes) => format!("queue {count} x {}", units::bytes(bytes)),
    };
    below(
        page,
        &[
            &fact("scheduler", &disk.scheduler),
            &format!("read-ahead {}", units::bytes(disk.read_ahead_bytes)),
            &requests,
            &blocks,
            &fact("cache", &disk.write_cache),
            if disk.read_only { "read-only" } else { "" },
        ],
    );
}

fn identity(group: &Group, page: &mut Page) {
    let disk = group.first();
    let alone = group.disks.len() == 1;
    let id = if alone { or(&disk.ebs_volume_id, &disk.serial) } else { "" };
    let holds = match disk.holds.as_deref() {
        Some("") => "holds nothing".to_owned(),
        Some(held) => format!("holds {held}"),
        None => String::new(),
    };
    let above: Vec<&str> =
        disk.above.iter().map(String::as_str).filter(|name| !name.starts_with(&disk.name)).collect();
    let parts = disk.above.len() - above.len();
    let parts = match parts {
        0 => String::new(),
        1 => "1 partition".into(),
        count => format!("{count} partitions"),
    };
    let node = disk.numa_node.filter(|_| alone).map(|node| format!("NUMA node {node}")).unwrap_or_default();
    let on = if disk.sort == DeviceSort::Loop { fact("on", &disk.below.join(" ")) } else { String::new() };
    below(
        page,
        &[
            &fact("id", id),
            &holds,
            &parts,
            &fact("part of", &names(&above)),
            &fact("paths", &disk.paths.join(" ")),
            &fact("mounted at", &disk.mounts.join(" ")),
            &on,
            &node,
        ],
    );
}

/// Partitions, and what device mapper makes that is no logical volume.
pub(super) fn parts(probe: &Probe, page: &mut Page) {
    let wanted = |device: &&Device| matches!(device.sort, DeviceSort::Partition | DeviceSort::DeviceMapper);
    let rows: Vec<Vec<String>> = probe.devices.iter().filter(wanted).map(part).collect();
    if rows.is_empty() {
        return;
    }
    section(page, "Parts and mappings");
    let columns = Columns::of(&rows);
    for row in &rows {
        columns.row(page, row);
    }
}

fn part(device: &Device) -> Vec<String> {
    let start = match device.sort {
        DeviceSort::Partition if device.misaligned_bytes > 0 => {
            format!("starts at byte {}, {} off a block", device.start_bytes, device.misaligned_bytes)
        }
        DeviceSort::Partition => format!("starts at {}", units::bytes(device.start_bytes)),
        _ => join(&[&device.label, &fact("on", &device.below.join(" "))], " "),
    };
    let holds = device.holds.as_deref().unwrap_or_default();
    let used = join(&[holds, &fact("part of", &device.above.join(" ")), &device.mounts.join(" ")], ", ");
    vec![device.name.clone(), units::bytes(device.size_bytes), start, used]
}
