//! Which devices are shown, what each is among the others, and which ones totals count.

use std::fs;

use iobound_record::Layer;

use crate::block::{self, Below, DeviceKind};
use crate::system::System;

/// Over which devices totals go, so that no byte counts twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TotalOver {
    /// Physical disks; where there are none among the devices (a loop device on tmpfs), those with
    /// nothing below them.
    #[default]
    Disks,
    /// The devices that were asked for, as their users see them: of a mirror, bytes before mirroring.
    Targets,
}

/// One device of the set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub name: String,
    pub layer: Layer,
    /// Devices of the set right below it.
    pub below: Vec<String>,
    /// Devices of the set right above it.
    pub parents: Vec<String>,
    /// Whether it is hardware, as opposed to memory or a file seen as a disk.
    real: bool,
    /// Whether it was asked for itself.
    target: bool,
    pub in_total: bool,
}

/// Looks at one device. None when it is no longer there.
pub(super) fn examine(system: &System, name: &str, target: bool) -> Option<Member> {
    let kind = block::describe(system, name).ok()?.kind;
    let below = below(system, name);
    let layer = match kind {
        DeviceKind::NvmePath => Layer::Path,
        DeviceKind::Partition => Layer::Partition,
        DeviceKind::Md { .. } | DeviceKind::DeviceMapper { .. } | DeviceKind::Loop { .. } => Layer::Upper,
        DeviceKind::NvmeHead => Layer::Disk,
        DeviceKind::Disk if below.is_empty() => Layer::Disk,
        DeviceKind::Disk => Layer::Upper,
    };
    let real = layer == Layer::Disk && (kind == DeviceKind::NvmeHead || is_hardware(system, name));
    Some(Member { name: name.to_owned(), layer, below, parents: Vec::new(), real, target, in_total: false })
}

/// Devices right below, partitions passed through to their disks: partitions are not shown.
fn below(system: &System, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for below in block::below(system, name) {
        // A loop device on a file in a file system is shown beside that one's disk: with many of them the
        // disk would stand below the first.
        let device = match below {
            Below::Device(device) => Some(device),
            Below::File(file) => block::name_of_node(system, &file.to_string_lossy()),
        };
        if let Some(device) = device {
            let device = block::whole_disk(system, &device).unwrap_or(device);
            if !found.contains(&device) {
                found.push(device);
            }
        }
    }
    found
}

/// The kernel keeps what has no hardware of its own (memory disks, volumes of ZFS) under
/// /sys/devices/virtual; network block devices too, but theirs are the only bytes we see.
fn is_hardware(system: &System, name: &str) -> bool {
    let place = fs::canonicalize(system.place(format!("/sys/class/block/{name}")));
    let is_virtual = place.is_ok_and(|place| place.to_string_lossy().contains("/sys/devices/virtual/"));
    !is_virtual || name.starts_with("nbd")
}

/// Links the members, marks those that totals count, and puts each below what is built on it.
pub(super) fn arrange(mut members: Vec<Member>, over: TotalOver) -> Vec<Member> {
    let names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
    let links: Vec<(String, String)> = members
        .iter()
        .flat_map(|upper| upper.below.iter().map(|lower| (upper.name.clone(), lower.clone())))
        .collect();
    for member in &mut members {
        member.parents =
            links.iter().filter(|(_, lower)| *lower == member.name).map(|(upper, _)| upper.clone()).collect();
        member.below.retain(|lower| names.contains(lower));
    }
    mark_total(&mut members, over);
    members.sort_by_key(|member| natural(&member.name));
    in_tree_order(members)
}

fn mark_total(members: &mut [Member], over: TotalOver) {
    let targets = over == TotalOver::Targets && members.iter().any(|member| member.target);
    let disks = members.iter().any(|member| member.real);
    for member in members {
        let shown_once = matches!(member.layer, Layer::Disk | Layer::Upper);
        // A multipath drive has its paths below it, and is a disk all the same.
        let lowest = member.layer == Layer::Disk || member.below.is_empty();
        member.in_total = shown_once
            && if targets {
                member.target
            } else if disks {
                member.real
            } else {
                lowest
            };
    }
}

/// Sorts numbers in names by value: `nvme2n1` before `nvme10n1`.
fn natural(name: &str) -> Vec<(bool, usize, String)> {
    let mut parts: Vec<(bool, usize, String)> = Vec::new();
    for letter in name.chars() {
        let digit = letter.is_ascii_digit();
        match parts.last_mut() {
            Some((is_digit, length, text)) if *is_digit == digit => {
                text.push(letter);
                *length += 1;
            }
            _ => parts.push((digit, 1, letter.to_string())),
        }
    }
    // A longer number is a greater one; words sort by letter.
    parts.into_iter().map(|(digit, length, text)| (digit, if digit { length } else { 0 }, text)).collect()
}

fn in_tree_order(members: Vec<Member>) -> Vec<Member> {
    fn place(name: &str, members: &[Member], placed: &mut Vec<Member>) {
        if placed.iter().any(|member| member.name == name) {
            return;
        }
        let Some(member) = members.iter().find(|member| member.name == name) else { return };
        placed.push(member.clone());
        // Sorted as the members are, not as /sys lists them.
        for lower in members.iter().filter(|lower| member.below.contains(&lower.name)) {
            place(&lower.name, members, placed);
        }
    }
    let mut placed = Vec::with_capacity(members.len());
    for root in members.iter().filter(|member| member.parents.is_empty()) {
        place(&root.name, &members, &mut placed);
    }
    // What is left lies in a loop of its own, which only a broken tree has.
    for member in &members {
        place(&member.name, &members, &mut placed);
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::unpack;

    fn arranged(tree: &str, names: &[(&str, bool)], over: TotalOver) -> Vec<String> {
        let root = unpack(tree);
        let system = System::captured(root.path());
        let members = names.iter().map(|(name, target)| examine(&system, name, *target).unwrap()).collect();
        let show = |member: &Member| {
            let star = if member.in_total { "*" } else { "" };
            format!("{}{star} {} {}", member.name, member.layer.as_str(), member.parents.join("+"))
        };
        arrange(members, over).iter().map(|member| show(member).trim_end().to_owned()).collect()
    }

    #[test]
    fn an_array_above_its_members() {
        let names = [("nvme0n1", false), ("nvme2n1", false), ("nvme1n1", false), ("md0", true)];
        let expected = ["md0 upper", "nvme1n1* disk md0", "nvme2n1* disk md0", "nvme0n1* disk"];
        assert_eq!(arranged("ec2-raid10", &names, TotalOver::Disks), expected);
        let expected = ["md0* upper", "nvme1n1 disk md0", "nvme2n1 disk md0", "nvme0n1 disk"];
        assert_eq!(arranged("ec2-raid10", &names, TotalOver::Targets), expected);
    }

    #[test]
    fn a_multipath_drive_is_one_disk() {
        let names = [("nvme3c3n1", false), ("nvme3n1", true), ("nvme3c33n1", false)];
        let expected = ["nvme3n1* disk", "nvme3c3n1 path nvme3n1", "nvme3c33n1 path nvme3n1"];
        assert_eq!(arranged("nvme-multipath", &names, TotalOver::Disks), expected);
    }

    #[test]
    fn partitions_are_passed_through() {
        let names = [("sda", false), ("dm-0", false), ("dm-1", false), ("sdc", false)];
        let expected = ["dm-0 upper", "sda* disk dm-0", "dm-1 upper", "sdc* disk dm-1"];
        assert_eq!(arranged("azure-lvm", &names, TotalOver::Disks), expected);
    }

    #[test]
    fn without_a_disk_the_lowest_counts() {
        assert_eq!(arranged("oddities", &[("loop0", true)], TotalOver::Disks), ["loop0* upper"]);
    }

    #[test]
    fn names_sort_as_people_count() {
        let mut names = ["nvme10n1", "nvme2n1", "md0", "sdb", "sda"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["md0", "nvme2n1", "nvme10n1", "sda", "sdb"]);
    }
}
