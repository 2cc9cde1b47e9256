//! Logical volumes, told without lvm2's programs: they may be missing, want root, and take locks.
//!
//! Names come from device mapper. What segments there are is told by the first of these that can be
//! had: the kernel's own table of the volume (as root), lvm2's last backup of the group's metadata
//! (which may be old, so it must agree with `/sys` on the devices), `/sys` alone (one segment, its stripe
//! size by the I/O sizes that the kernel recommends).

use std::collections::HashMap;

use iobound_record::{Device, DeviceSort, LogicalVolume, LvmSegment};

use super::lvm_text::{self, Group};
use super::{Notes, dm_table};
use crate::block;
use crate::system::System;

/// What lvm2 appends to the names of volumes that only it uses: the reserved strings of
/// lib/misc/lvm-string.c, plus the suffixes of layers.
const INTERNAL: [&str; 22] = [
    "_cdata", "_cmeta", "_corig", "_cpool", "_cvol", "_wcorig", "_mimage", "_mlog", "_rimage", "_rmeta",
    "_tdata", "_tmeta", "_tpool", "_pmspare", "_vdata", "_vorigin", "_vpool", "_imeta", "_iorig", "-real",
    "-cow", "-tpool",
];

pub(super) fn logical_volumes(
    system: &System,
    devices: &[Device],
    root: bool,
    notes: &mut Notes,
) -> Vec<LogicalVolume> {
    let mut groups: HashMap<String, Option<Group>> = HashMap::new();
    let mut found = Vec::new();
    for device in devices.iter().filter(|device| device.sort == DeviceSort::Lvm) {
        let Some((group, name)) = names(&device.label) else {
            notes.add(format!("{}: {:?} is no name that lvm2 makes", device.name, device.label));
            continue;
        };
        if is_internal(&name) {
            continue;
        }
        let told = groups.entry(group.clone()).or_insert_with(|| backup(system, &group));
        let segments = Teller { system, devices, device }.segments(root, told.as_ref(), &name, notes);
        found.push(LogicalVolume {
            name,
            group,
            device: device.name.clone(),
            size_bytes: device.size_bytes,
            segments,
        });
    }
    found
}

fn is_internal(name: &str) -> bool {
    INTERNAL.iter().any(|suffix| {
        name.match_indices(suffix).any(|(at, _)| {
            let rest = &name[at + suffix.len()..];
            rest.is_empty() || rest.strip_prefix('_').is_some_and(|n| n.bytes().all(|c| c.is_ascii_digit()))
        })
    })
}

/// Parts `vg--data-lv--data` into group and volume: in each a dash is written twice, so a single one
/// stands between them (dm_build_dm_name in lvm2's libdm/libdm-string.c).
fn names(label: &str) -> Option<(String, String)> {
    let bytes = label.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'-' {
            if bytes.get(at + 1) != Some(&b'-') {
                let plain = |text: &str| text.replace("--", "-");
                let (group, name) = (plain(&label[..at]), plain(&label[at + 1..]));
                return (!group.is_empty() && !name.is_empty()).then_some((group, name));
            }
            at += 1;
        }
        at += 1;
    }
    None
}

/// vgcfgbackup(8).
fn backup(system: &System, group: &str) -> Option<Group> {
    // A group's name cannot hold a slash (NAME RESTRICTIONS in lvm(8)); what we were told might.
    if group.contains('/') || group == "." || group == ".." {
        return None;
    }
    lvm_text::parse(&system.attribute(format!("/etc/lvm/backup/{group}"))?, group)
}

struct Teller<'a> {
    system: &'a System,
    devices: &'a [Device],
    device: &'a Device,
}

impl Teller<'_> {
    fn segments(&self, root: bool, group: Option<&Group>, name: &str, notes: &mut Notes) -> Vec<LvmSegment> {
        if self.system.is_live() && root {
            match dm_table::of(&self.device.name, &self.device.number, self.devices) {
                Ok(segments) if !segments.is_empty() => return segments,
                Ok(_) => {}
                Err(error) => notes.add(format!("{}: its table cannot be read: {error}", self.device.name)),
            }
        }
        let told = group.and_then(|group| self.of_backup(group, name));
        match told {
            Some(segments) => segments,
            None => {
                let told = self.of_sys();
                if told.iter().all(|segment| segment.kind != "unknown") {
                    return told;
                }
                notes.add(format!(
                    "{}: its stripe size is not known (no metadata in /etc/lvm/backup that agrees with /sys, \
                     and the kernel's table needs root)",
                    self.device.label
                ));
                told
            }
        }
    }

    /// None when the backup does not have the volume, or speaks of other devices or another size.
    fn of_backup(&self, group: &Group, name: &str) -> Option<Vec<LvmSegment>> {
        let mut segments = group.volumes.get(name)?.clone();
        let known = |hint: &str| block::name_of_node(self.system, hint);
        for segment in &mut segments {
            // Without udev, or after a reboot, the hint may name a device that is now another.
            segment.devices = segment.devices.iter().map(|hint| known(hint).unwrap_or_default()).collect();
        }
        let size: u64 = segments.iter().fold(0, |sum, segment| sum.saturating_add(segment.size_bytes));
        let fits = segments.iter().all(|s| s.devices.iter().all(|device| self.lies_on(device)));
        (size == self.device.size_bytes && fits).then_some(segments)
    }

    /// Whether the volume is built on that device, through volumes of its own (RAID) too.
    fn lies_on(&self, device: &str) -> bool {
        let below = |name: &str| self.devices.iter().find(|d| d.name == name).map(|d| d.below.as_slice());
        let direct = &self.device.below;
        direct.iter().any(|name| name == device)
            || direct.iter().filter_map(|name| below(name)).flatten().any(|name| name == device)
    }

    fn of_sys(&self) -> Vec<LvmSegment> {
        let devices = self.device.below.clone();
        let (kind, stripes, stripe_bytes) = match devices.len() {
            0 => return Vec::new(),
            1 => ("linear", 1, 0),
            _ => match self.stripe_by_hints() {
                Some((stripes, bytes)) => ("striped", stripes, bytes),
                None => ("unknown", 0, 0),
            },
        };
        let size_bytes = self.device.size_bytes;
        vec![LvmSegment { kind: kind.into(), stripes, stripe_bytes, size_bytes, devices }]
    }

    /// A stripe tells its chunk and its width as smallest and best size of I/O (stripe_io_hints in
    /// drivers/md/dm-stripe.c). Only over disks that tell of neither, or the hints could be theirs.
    fn stripe_by_hints(&self) -> Option<(u32, u64)> {
        let (chunk, width) = (self.device.minimum_io_bytes, self.device.optimal_io_bytes);
        let stripes = u32::try_from(self.device.below.len()).ok()?;
        let is_plain = |name: &String| {
            let below = self.devices.iter().find(|device| device.name == *name);
            below.is_some_and(|disk| disk.minimum_io_bytes < chunk && disk.optimal_io_bytes < chunk)
        };
        let fits = chunk > 0 && chunk.checked_mul(stripes.into()) == Some(width);
        (fits && self.device.below.iter().all(is_plain)).then_some((stripes, chunk))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_part_at_the_single_dash() {
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(names("rootvg-root"), pair("rootvg", "root"));
        assert_eq!(names("vg--data-lv--data"), pair("vg-data", "lv-data"));
        assert_eq!(names("a----b-c"), pair("a--b", "c"));
        assert_eq!(names("vg-a-real"), pair("vg", "a-real"));
        for odd in ["", "vg", "vg--lv", "-lv", "vg-", "-", "--"] {
            assert_eq!(names(odd), None, "{odd}");
        }
    }

    #[test]
    fn internal_volumes_are_left_out() {
        for name in ["data_rimage_0", "data_rmeta_11", "pool_tdata", "pool_tmeta", "a-real", "pool-tpool"] {
            assert!(is_internal(name), "{name}");
        }
        for name in ["data", "my_rimages", "raw_tdata2", "x_rimage_0a"] {
            assert!(!is_internal(name), "{name}");
        }
    }
}
