//! What a probe alone says against destroying what is on a device. The host looks again, and closer,
//! right before anything is destroyed.

use std::collections::{BTreeSet, VecDeque};

use iobound_record::{Device, DeviceSort, Evidence, EvidenceKind, Probe};

/// Everything that speaks against it, by a device's kernel name.
pub fn evidence(probe: &Probe, name: &str) -> Vec<Evidence> {
    let Some(device) = probe.device(name) else {
        return vec![Evidence { kind: EvidenceKind::Gone, says: format!("there is no {name}") }];
    };
    let mut found = Found(Vec::new());
    sort(device, &mut found);
    used(probe, device, &mut found);
    content(device, &mut found);
    found.0.sort();
    found.0.dedup();
    found.0
}

struct Found(Vec<Evidence>);

impl Found {
    fn add(&mut self, kind: EvidenceKind, says: impl Into<String>) {
        self.0.push(Evidence { kind, says: says.into() });
    }
}

fn sort(device: &Device, found: &mut Found) {
    let name = &device.name;
    match device.sort {
        DeviceSort::Disk | DeviceSort::Md | DeviceSort::Lvm => {}
        DeviceSort::Partition => {
            found.add(EvidenceKind::NotADisk, format!("{name} is a partition of {}", device.disk));
        }
        DeviceSort::NvmePath => {
            found.add(EvidenceKind::Path, format!("{name} is one path of a multipath drive"))
        }
        DeviceSort::Loop => found.add(EvidenceKind::NotADisk, format!("{name} shows a file")),
        DeviceSort::Ram => found.add(EvidenceKind::NotADisk, format!("{name} is memory")),
        DeviceSort::DeviceMapper => {
            found.add(
                EvidenceKind::NotADisk,
                format!("{name} ({}) is mapped onto other devices", device.label),
            );
        }
    }
    if device.read_only {
        found.add(EvidenceKind::ReadOnly, format!("{name} takes no writes"));
    }
    if device.removable {
        found.add(EvidenceKind::Removable, format!("{name} has a medium that can be taken out"));
    }
    if device.size_bytes == 0 {
        found.add(EvidenceKind::TooSmall, format!("{name} has no medium"));
    }
}

/// Uses of the device and of everything built on it.
fn used(probe: &Probe, device: &Device, found: &mut Found) {
    let name = &device.name;
    for above in &device.above {
        match probe.device(above).map(|above| above.sort) {
            Some(DeviceSort::Partition) => {
                found.add(EvidenceKind::Partitions, format!("{name} has partition {above}"))
            }
            Some(DeviceSort::NvmePath) => {}
            _ => found.add(EvidenceKind::Held, format!("{name} is part of {above}")),
        }
    }
    for array in &probe.arrays {
        if array.members.iter().any(|member| member.device == *name) {
            let state =
                if array.level.is_empty() { "an array that is not running" } else { array.level.as_str() };
            found.add(EvidenceKind::ArrayMember, format!("{name} is a member of {} ({state})", array.name));
        }
    }
    for volume in &probe.logical_volumes {
        if volume.segments.iter().any(|segment| segment.devices.iter().any(|on| on == name)) {
            let (group, volume) = (&volume.group, &volume.name);
            found.add(EvidenceKind::Held, format!("{name} holds logical volume {group}/{volume}"));
        }
    }
    for user in family(probe, name) {
        let mounts = probe.device(&user).map(|user| user.mounts.clone()).unwrap_or_default();
        let mounted = probe.filesystems.iter().filter(|fs| fs.device == user).map(|fs| fs.mount.clone());
        for mount in mounts.into_iter().chain(mounted).collect::<BTreeSet<_>>() {
            match mount.as_str() {
                "[SWAP]" => found.add(EvidenceKind::Swap, format!("{user} is swap space in use")),
                "/" => found.add(EvidenceKind::Root, format!("{user} holds the root file system")),
                "/boot" | "/boot/efi" | "/efi" => {
                    found.add(EvidenceKind::Boot, format!("{user} is mounted on {mount}"));
                }
                _ => found.add(EvidenceKind::Mounted, format!("{user} is mounted on {mount}")),
            }
        }
    }
}

/// The device and everything built on it, by its own word or theirs.
fn family(probe: &Probe, name: &str) -> BTreeSet<String> {
    let mut family = BTreeSet::from([name.to_owned()]);
    let mut waiting = VecDeque::from([name.to_owned()]);
    while let Some(next) = waiting.pop_front() {
        let by_own_word = probe.device(&next).map(|device| device.above.clone()).unwrap_or_default();
        let by_theirs = probe.devices.iter().filter(|d| d.below.contains(&next) || d.disk == next);
        let above: Vec<String> = by_own_word.into_iter().chain(by_theirs.map(|d| d.name.clone())).collect();
        for user in above {
            if family.insert(user.clone()) {
                waiting.push_back(user);
            }
        }
    }
    family
}

fn content(device: &Device, found: &mut Found) {
    let name = &device.name;
    match device.holds.as_deref() {
        None | Some("") => {}
        Some(table @ ("gpt" | "dos" | "mbr" | "PMBR")) => {
            found.add(EvidenceKind::PartitionTable, format!("{name} has a partition table ({table})"));
        }
        Some(holds) => found.add(EvidenceKind::Signature, format!("{name} holds {holds}")),
    }
}
