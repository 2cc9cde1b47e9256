//! Software RAID: Documentation/admin-guide/md.rst, "MD devices in sysfs".

use iobound_record::{Device, DeviceSort, MdArray, MdMember};

use super::tables::Tables;
use super::{Notes, mdstat};
use crate::block;
use crate::system::System;

/// All arrays, also those that only `/proc/mdstat` tells of.
pub(super) fn arrays(
    system: &System,
    tables: &Tables,
    devices: &[Device],
    notes: &mut Notes,
) -> Vec<MdArray> {
    let told = mdstat::parse(&system.attribute("/proc/mdstat").unwrap_or_default());
    let of_kernel = |name: &str| told.iter().find(|array| array.name == name);
    let mut found: Vec<MdArray> = devices
        .iter()
        .filter(|device| device.sort == DeviceSort::Md)
        .map(|device| {
            let directory = Directory { system, name: &device.name };
            let mut array = directory.array(of_kernel(&device.name));
            if array.uuid.is_empty() {
                let udev = tables.udev(&device.number).and_then(|p| p.first(&["MD_UUID"]));
                array.uuid = udev.unwrap_or_default().to_owned();
            }
            array
        })
        // A name that was made and never used has neither members nor a level.
        .filter(|array| !(array.members.is_empty() && array.level.is_empty()))
        .collect();
    for array in &told {
        if !found.iter().any(|other| other.name == array.name) {
            notes.add(format!("{}: /sys does not show it; told from /proc/mdstat", array.name));
            found.push(array.clone());
        }
    }
    found
}

/// The directory of an array.
struct Directory<'a> {
    system: &'a System,
    name: &'a str,
}

impl Directory<'_> {
    fn text(&self, what: &str) -> Option<String> {
        block::attribute(self.system, self.name, &format!("md/{what}")).filter(|text| !text.is_empty())
    }

    fn number<T: std::str::FromStr>(&self, what: &str) -> Option<T> {
        // `raid_disks` shows `8 (4)` while the array is being reshaped.
        self.text(what)?.split_ascii_whitespace().next()?.parse().ok()
    }

    /// What the directory does not tell comes from mdstat's line.
    fn array(&self, mdstat: Option<&MdArray>) -> MdArray {
        let known = mdstat.cloned().unwrap_or_default();
        let members = self.members();
        let members = if members.is_empty() { known.members } else { members };
        let raid_disks = self.number("raid_disks").unwrap_or(known.raid_disks);
        let slots = slots(raid_disks, &members).unwrap_or(known.slots);
        MdArray {
            name: self.name.to_owned(),
            level: self.text("level").unwrap_or(known.level),
            chunk_bytes: self.number("chunk_size").unwrap_or(known.chunk_bytes),
            layout: self.text("layout").unwrap_or_default(),
            uuid: self.text("uuid").and_then(|text| as_mdadm_writes(&text)).unwrap_or_default(),
            metadata: self.text("metadata_version").unwrap_or(known.metadata),
            state: self.text("array_state").unwrap_or(known.state),
            // Levels without redundancy have no such file, and lose no member and live.
            degraded: self.number("degraded").unwrap_or(known.degraded),
            raid_disks,
            slots,
            members,
            sync_action: self.text("sync_action").unwrap_or(known.sync_action),
            sync_done: self.text("sync_completed").and_then(|t| fraction(&t)).or(known.sync_done),
            sync_bytes_per_s: self
                .number::<u64>("sync_speed")
                .and_then(|kib| kib.checked_mul(1024))
                .or(known.sync_bytes_per_s),
        }
    }

    fn members(&self) -> Vec<MdMember> {
        let names = self.system.names(format!("{}/md", block::dir(self.name)));
        let mut found: Vec<MdMember> = names
            .iter()
            .filter_map(|name| name.strip_prefix("dev-"))
            .map(|device| MdMember {
                device: device.to_owned(),
                slot: self.number(&format!("dev-{device}/slot")),
                state: self.text(&format!("dev-{device}/state")).unwrap_or_default(),
            })
            .collect();
        found.sort_by_key(|member| (member.slot.is_none(), member.slot, member.device.clone()));
        found
    }
}

/// More slots than the kernel allows an array (MD_SB_DISKS is 27, 1.x metadata 1,920): nonsense.
const SLOTS_MAX: u32 = 4096;

/// A letter a slot, as mdstat writes it; None when nothing is known of the members.
fn slots(raid_disks: u32, members: &[MdMember]) -> Option<String> {
    if raid_disks == 0 || raid_disks > SLOTS_MAX || members.iter().all(|member| member.slot.is_none()) {
        return None;
    }
    let works = |slot: u32| {
        let in_slot = |m: &&MdMember| m.slot == Some(slot);
        members.iter().find(in_slot).is_some_and(|m| m.state.split(',').any(|word| word == "in_sync"))
    };
    let letters = (0..raid_disks).map(|slot| if works(slot) { 'U' } else { '_' });
    Some(format!("[{}]", letters.collect::<String>()))
}

/// `sync_completed`: `123 / 456`, `none` or `delayed`.
fn fraction(text: &str) -> Option<f64> {
    let (done, all) = text.split_once('/')?;
    let (done, all): (f64, f64) = (done.trim().parse().ok()?, all.trim().parse().ok()?);
    (all > 0.0 && done >= 0.0).then(|| (done / all).min(1.0))
}

/// The kernel writes a UUID with dashes, mdadm the same digits in four groups of eight.
fn as_mdadm_writes(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|c| *c != '-' && *c != ':').collect();
    if digits.len() != 32
        || !digits.bytes().all(|c| c.is_ascii_hexdigit())
        || digits.bytes().all(|c| c == b'0')
    {
        return None;
    }
    Some(format!("{}:{}:{}:{}", &digits[..8], &digits[8..16], &digits[16..24], &digits[24..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_as_mdadm_writes_them() {
        assert_eq!(
            as_mdadm_writes("5c0e4f1a-9b2d-3c4e-5f60-718293a4b5c6").as_deref(),
            Some("5c0e4f1a:9b2d3c4e:5f607182:93a4b5c6")
        );
        for odd in ["", "none", "00000000-0000-0000-0000-000000000000", "zz0e4f1a9b2d3c4e5f60718293a4b5c6"] {
            assert_eq!(as_mdadm_writes(odd), None, "{odd}");
        }
    }

    #[test]
    fn progress() {
        assert_eq!(fraction("50 / 200"), Some(0.25));
        for odd in ["none", "delayed", "1 / 0", "x / 3", "-1 / 3"] {
            assert_eq!(fraction(odd), None, "{odd}");
        }
    }

    #[test]
    fn slots_without_members_are_unknown() {
        let member = |slot, state: &str| MdMember { device: "sda".into(), slot, state: state.into() };
        assert_eq!(slots(2, &[]), None);
        assert_eq!(slots(u32::MAX, &[member(Some(0), "in_sync")]), None);
        let members =
            [member(Some(0), "in_sync,write_mostly"), member(Some(1), "spare"), member(None, "faulty")];
        assert_eq!(slots(3, &members).as_deref(), Some("[U__]"));
    }
}
