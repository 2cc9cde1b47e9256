//! Arrays, logical volumes and file systems.

use iobound_record::{LvmSegment, MdArray, MountedFileSystem, Probe, units};

use super::super::terminal::text::{Ink, Page};
use super::disks::names;
use super::row::{Columns, ROW, below, fact};
use super::{or, section};

pub(super) fn arrays(probe: &Probe, page: &mut Page) {
    if probe.arrays.is_empty() {
        return;
    }
    section(page, "Arrays");
    for array in &probe.arrays {
        let device = probe.device(&array.name);
        let size = device.map(|device| units::bytes(device.size_bytes)).unwrap_or_default();
        let level = or(&array.level, "no level");
        let name = format!("{ROW}{}", array.name);
        let of = if array.raid_disks == 0 { String::new() } else { format!(" of {}", array.raid_disks) };
        let line =
            format!("{name}  {level}{of}  {size}  {}  {}", or(&array.state, "state unknown"), array.slots);
        let sound = array.degraded == 0 && !array.slots.contains('_') && array.state != "inactive";
        if sound {
            page.line(&line);
        } else {
            page.marked(&format!("{line}  DEGRADED"), &name, Ink::Alarm);
        }
        let chunk = if array.chunk_bytes == 0 { String::new() } else { units::bytes(array.chunk_bytes) };
        let read_ahead = device.map(|device| units::bytes(device.read_ahead_bytes)).unwrap_or_default();
        below(
            page,
            &[
                &fact("chunk", &chunk),
                &layout(array),
                &fact("read-ahead", &read_ahead),
                &fact("metadata", &array.metadata),
                &sync(array),
            ],
        );
        below(page, &[&members(array), &fact("uuid", &array.uuid)]);
    }
}

/// RAID10's layout number: the low byte is the near copies, the next the far ones, and bit 16 makes
/// these offset (raid10.c, setup_geo).
fn layout(array: &MdArray) -> String {
    let Ok(number) = array.layout.parse::<u32>() else { return String::new() };
    if array.level != "raid10" {
        return String::new();
    }
    let (near, far) = (number & 0xff, number >> 8 & 0xff);
    let offset = number & 1 << 16 != 0;
    match (near, far, offset) {
        (near, 1, false) => format!("near={near}"),
        (1, far, false) => format!("far={far}"),
        (1, far, true) => format!("offset={far}"),
        _ => format!("layout {number:#x}"),
    }
}

fn sync(array: &MdArray) -> String {
    if matches!(array.sync_action.as_str(), "" | "idle") {
        return String::new();
    }
    let done = array.sync_done.map(|done| format!(" {:.1}%", done * 100.0)).unwrap_or_default();
    let speed =
        array.sync_bytes_per_s.map(|s| format!(" at {}", units::bandwidth(s as f64))).unwrap_or_default();
    format!("{}{done}{speed}", array.sync_action.to_uppercase())
}

/// Members that do their work by name; the others with their state.
fn members(array: &MdArray) -> String {
    let works = |state: &str| state.split(',').any(|word| word == "in_sync");
    let well: Vec<&str> =
        array.members.iter().filter(|m| works(&m.state)).map(|m| m.device.as_str()).collect();
    let mut text = fact("on", &names(&well));
    for member in array.members.iter().filter(|member| !works(&member.state)) {
        text.push_str(&format!(" {} ({})", member.device, or(&member.state, "state unknown")));
    }
    text.trim_start().to_owned()
}

pub(super) fn logical_volumes(probe: &Probe, page: &mut Page) {
    if probe.logical_volumes.is_empty() {
        return;
    }
    section(page, "Logical volumes");
    let rows: Vec<Vec<String>> = probe
        .logical_volumes
        .iter()
        .map(|volume| {
            let device = probe.device(&volume.device);
            let read_ahead = device.map(|d| format!("read-ahead {}", units::bytes(d.read_ahead_bytes)));
            vec![
                format!("{}/{}", volume.group, volume.name),
                volume.device.clone(),
                units::bytes(volume.size_bytes),
                read_ahead.unwrap_or_default(),
            ]
        })
        .collect();
    let columns = Columns::of(&rows);
    for (volume, row) in probe.logical_volumes.iter().zip(&rows) {
        columns.row(page, row);
        for part in &volume.segments {
            below(page, &[&segment(part, volume.segments.len() > 1)]);
        }
    }
}

fn segment(segment: &LvmSegment, one_of_many: bool) -> String {
    let devices: Vec<&str> = segment.devices.iter().map(String::as_str).collect();
    let stripe = match (segment.stripes, segment.stripe_bytes) {
        (0 | 1, _) => String::new(),
        (stripes, 0) => format!(" over {stripes}"),
        (stripes, bytes) => format!(" over {stripes}, stripe {}", units::bytes(bytes)),
    };
    let size = if one_of_many { format!("{}  ", units::bytes(segment.size_bytes)) } else { String::new() };
    let kind = if segment.kind == "unknown" { "stripe size not known" } else { &segment.kind };
    format!("{size}{kind}{stripe}, on {}", names(&devices))
}

pub(super) fn filesystems(probe: &Probe, page: &mut Page) {
    section(page, "File systems");
    if probe.filesystems.is_empty() {
        page.line("  none on a block device");
        return;
    }
    let rows: Vec<Vec<String>> = probe.filesystems.iter().map(filesystem).collect();
    let columns = Columns::of(&rows);
    for (fs, row) in probe.filesystems.iter().zip(&rows) {
        columns.row(page, row);
        below(page, &[&stripe(fs), &fs.options.replace(',', ", ")]);
    }
}

fn filesystem(fs: &MountedFileSystem) -> Vec<String> {
    let room = match fs.size_bytes {
        0 => String::new(),
        size => format!("{}, {} free", units::bytes(size), units::bytes(fs.free_bytes)),
    };
    vec![fs.mount.clone(), fs.kind.clone(), fs.device.clone(), room]
}

fn stripe(fs: &MountedFileSystem) -> String {
    let bytes = |told: Option<u64>| told.map(units::bytes).unwrap_or_else(|| "unknown".into());
    match (fs.kind.as_str(), fs.stripe_unit_bytes, fs.stripe_width_bytes) {
        ("xfs" | "ext4" | "ext3", Some(0) | None, Some(0) | None) => String::new(),
        ("xfs", unit, width) => format!("stripe unit {}, width {}", bytes(unit), bytes(width)),
        ("ext4" | "ext3", unit, width) => format!("stride {}, stripe width {}", bytes(unit), bytes(width)),
        _ => String::new(),
    }
}
