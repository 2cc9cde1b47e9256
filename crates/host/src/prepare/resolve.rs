//! From what a disk or array is to what the kernel calls it now: names change between boots.

use iobound_record::{DeviceSort, Member, Probe};

/// The kernel name of a member; None when it is gone, or when two devices claim to be it.
pub(super) fn device_of(probe: &Probe, member: &Member) -> Option<String> {
    if let Some((group, volume)) = member.array.split_once('/') {
        let found = probe.logical_volumes.iter().find(|lv| lv.group == group && lv.name == volume)?;
        return Some(found.device.clone()).filter(|device| !device.is_empty());
    }
    if !member.array.is_empty() {
        return probe.arrays.iter().find(|md| md.uuid == member.array).map(|md| md.name.clone());
    }
    let disks = probe.devices.iter().filter(|device| device.sort == DeviceSort::Disk);
    let mut fit = disks.filter(|disk| match member.serial.is_empty() {
        false => disk.serial == member.serial,
        true => !member.wwn.is_empty() && disk.wwn == member.wwn,
    });
    match (fit.next(), fit.next()) {
        (Some(one), None) => Some(one.name.clone()),
        _ => None,
    }
}

/// The node of a kernel name.
pub(super) fn node(device: &str) -> String {
    format!("/dev/{}", device.replace('!', "/"))
}

/// A member in words.
pub(super) fn told(member: &Member) -> String {
    match (member.serial.is_empty(), member.wwn.is_empty()) {
        (false, _) => format!("{} (serial {})", member.node, member.serial),
        (_, false) => format!("{} ({})", member.node, member.wwn),
        _ => member.node.clone(),
    }
}
