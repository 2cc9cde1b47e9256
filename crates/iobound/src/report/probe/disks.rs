//! Disks, equal ones in one row; and what parts of them there are.

use iobound_record::{Device, DeviceSort, Probe, units};

use super::super::terminal::text::Page;
use super::row::{Columns, below, fact, join};
use super::{or, section};

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
        above: device.above.iter().filter(|name| !is_part_of(&device.name, name)).cloned().collect(),
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

/// `nvme1n1..nvme16n1`: names that count up without a gap as the first and the last, others one by one.
pub(super) fn names(names: &[&str]) -> String {
    /// Two are as short written out.
    const RUN_MIN: usize = 3;
    let mut parts: Vec<String> = Vec::new();
    let mut rest = names;
    while let [first, ..] = rest {
        let length = 1 + rest.windows(2).take_while(|pair| counts_up(pair[0], pair[1])).count();
        let (run, next) = rest.split_at(length);
        match run {
            [.., last] if length >= RUN_MIN => parts.push(format!("{first}..{last}")),
            run => parts.extend(run.iter().map(|name| (*name).to_owned())),
        }
        rest = next;
    }
    parts.join(" ")
}

/// Whether a name is the next after another: one number in it is one more, or its last letter is.
fn counts_up(name: &str, next: &str) -> bool {
    let (a, b) = (pieces(name), pieces(next));
    if a.len() != b.len() {
        return false;
    }
    let mut differing = a.iter().zip(&b).filter(|(a, b)| a != b);
    let (Some((a, b)), None) = (differing.next(), differing.next()) else { return false };
    if let (Ok(a), Ok(b)) = (a.parse::<u64>(), b.parse::<u64>()) {
        return a.checked_add(1) == Some(b);
    }
    let (Some(x), Some(y)) = (a.chars().last(), b.chars().last()) else { return false };
    a.len() == b.len() && a.starts_with(&b[..b.len() - y.len_utf8()]) && u32::from(x) + 1 == u32::from(y)
}

/// Runs of digits and of others in turns.
fn pieces(name: &str) -> Vec<&str> {
    name.as_bytes()
        .chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit())
        .filter_map(|piece| std::str::from_utf8(piece).ok())
        .collect()
}

/// Whether that is a partition of the disk: `sda1` of `sda`; `nvme0n1p1` of `nvme0n1`.
fn is_part_of(disk: &str, name: &str) -> bool {
    let Some(rest) = name.strip_prefix(disk) else { return false };
    let number = match disk.ends_with(|c: char| c.is_ascii_digit()) {
        true => rest.strip_prefix('p').unwrap_or_default(),
        false => rest,
    };
    !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit())
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
    let kind = match disk.sort {
        DeviceSort::Loop => "a file",
        DeviceSort::Ram => "memory",
        _ => "",
    };
    let model = or(&disk.model, &disk.transport);
    vec![names(&all), size, join(&[model, kind], ", ")]
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
            if disk.rotational == Some(true) { "says that it spins" } else { "" },
            if disk.read_only { "read-only" } else { "" },
            if disk.ephemeral { "its data goes with the instance" } else { "" },
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
        disk.above.iter().map(String::as_str).filter(|name| !is_part_of(&disk.name, name)).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_a_gap_are_drawn_together() {
        for (all, shown) in [
            ("nvme1n1 nvme2n1 nvme3n1", "nvme1n1..nvme3n1"),
            ("nvme1n1 nvme2n1 nvme4n1 nvme5n1 nvme6n1", "nvme1n1 nvme2n1 nvme4n1..nvme6n1"),
            ("sda sdb sdc sdd sdf", "sda..sdd sdf"),
            ("nvme0n1 nvme0n2 nvme1n3", "nvme0n1 nvme0n2 nvme1n3"),
            ("md0 md0 md0", "md0 md0 md0"),
            ("\u{e9}a \u{e9}b x", "\u{e9}a \u{e9}b x"),
            ("", ""),
        ] {
            let list: Vec<&str> = all.split_whitespace().collect();
            assert_eq!(names(&list), shown);
        }
    }

    #[test]
    fn partitions_by_name() {
        assert!(is_part_of("sda", "sda1") && is_part_of("nvme0n1", "nvme0n1p12"));
        for (disk, other) in
            [("sda", "sda"), ("sda", "sdaa"), ("loop1", "loop10"), ("md0", "md0p"), ("sda", "dm-0")]
        {
            assert!(!is_part_of(disk, other), "{disk} {other}");
        }
    }
}
