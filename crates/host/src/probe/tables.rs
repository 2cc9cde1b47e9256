//! What is read once and asked for by many: names of devices, mounts, swap, udev's database.

use std::collections::HashMap;

use super::Notes;
use super::udev::{self, Properties};
use crate::block;
use crate::mounts::{Mount, unescape};
use crate::system::System;

/// Overlays are followed down to the device of their upper layer. A host of containers has hundreds
/// of them that nobody measures, and each costs another look at all mounts.
const OVERLAYS_MAX: usize = 16;

/// A mount on block devices.
pub(super) struct Placed {
    pub mount: Mount,
    /// Kernel names; never empty.
    pub devices: Vec<String>,
}

pub(super) struct Tables {
    /// All block devices, sorted.
    pub names: Vec<String>,
    /// Mounts that lie on block devices.
    pub mounts: Vec<Placed>,
    /// Kernel names of swap devices.
    pub swaps: Vec<String>,
    /// udev's database, by device number.
    pub udev: HashMap<String, Properties>,
}

impl Tables {
    pub fn read(system: &System, notes: &mut Notes) -> Tables {
        let names = block::names(system);
        if names.is_empty() {
            notes.add("/sys/class/block shows no block devices");
        }
        Tables {
            mounts: mounts(system, notes),
            swaps: swaps(system),
            udev: udev::database(system, &names),
            names,
        }
    }

    /// udev's word on a device.
    pub fn udev(&self, number: &str) -> Option<&Properties> {
        self.udev.get(number)
    }

    /// Where a device is mounted, in order, and `[SWAP]`.
    pub fn uses_of(&self, name: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for placed in self.mounts.iter().filter(|placed| placed.devices.iter().any(|d| d == name)) {
            // An overlay lies within a file system of the device; it is not mounted from it.
            let at = placed.mount.mount_point.display().to_string();
            if placed.mount.filesystem != "overlay" && !found.contains(&at) {
                found.push(at);
            }
        }
        if self.swaps.iter().any(|swap| swap == name) {
            found.push("[SWAP]".into());
        }
        found
    }
}

/// Whether a mount can lie on block devices; of the others nobody wants to hear why not.
fn may_have_device(mount: &Mount) -> bool {
    !mount.device.is_anonymous()
        || matches!(mount.filesystem.as_str(), "btrfs" | "bcachefs" | "zfs" | "overlay")
}

fn mounts(system: &System, notes: &mut Notes) -> Vec<Placed> {
    let all = match system.mounts() {
        Ok(all) => all,
        Err(error) => {
            notes.add(error.to_string());
            return Vec::new();
        }
    };
    let mut placed = Vec::new();
    let mut overlays = 0;
    for mount in all.into_iter().filter(may_have_device) {
        if mount.filesystem == "overlay" {
            overlays += 1;
            if overlays > OVERLAYS_MAX {
                notes.add(format!("more than {OVERLAYS_MAX} overlay mounts: the others are left out"));
                continue;
            }
        }
        let mut why = Vec::new();
        let devices = system.devices_of_mount(&mount, &mut why);
        for note in why {
            notes.add(format!("{}: {note}", mount.mount_point.display()));
        }
        if !devices.is_empty() {
            placed.push(Placed { mount, devices });
        }
    }
    placed
}

/// `/proc/swaps`: a heading, then a line each, with mountinfo's escapes. Swap files are left out.
fn swaps(system: &System) -> Vec<String> {
    let text = system.attribute("/proc/swaps").unwrap_or_default();
    let mut found = Vec::new();
    for line in text.lines().skip(1) {
        let mut words = line.split_ascii_whitespace();
        if let (Some(source), Some("partition")) = (words.next(), words.next()) {
            found.extend(system.name_of_source(&unescape(source)));
        }
    }
    found
}
