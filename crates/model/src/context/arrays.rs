//! Arrays: members, levels, chunks.

use std::collections::BTreeMap;

use iobound_record::{Array, ArrayManager, Context, Level, units};

use super::capacity::{capacity, usable};
use super::names::{owners, unknown};
use super::words::{check_name, path_fault, quoted};
use super::{Found, names};

/// Below a page nothing can be striped: md takes chunks of 4 KiB and more.
const CHUNK_MIN: u64 = 4 << 10;
/// Above this a "stripe" is one disk at a time for any database.
const CHUNK_MAX: u64 = 1 << 30;

pub(super) fn arrays(found: &mut Found, context: &Context) {
    let before = found.0.len();
    used_once(found, context);
    let cycles: Vec<&str> = context
        .arrays
        .iter()
        .map(|array| array.name.as_str())
        .filter(|name| in_cycle(context, name))
        .collect();
    // Only of a tree can sizes be added up in reasonable time.
    let is_tree = cycles.is_empty() && found.0.len() == before;
    for array in &context.arrays {
        let place = format!("array.{}", array.name);
        check_name(found, &format!("{place}.name"), &array.name);
        known_members(found, &place, context, array);
        if cycles.contains(&array.name.as_str()) {
            found.error(
                format!("{place}.members"),
                "the array is, by way of its members, a member of itself",
                "build arrays from volumes upwards",
            );
        } else {
            members(found, &place, context, array);
            if is_tree {
                different_sizes(found, &place, context, array);
            }
        }
        level(found, &place, array);
        chunk(found, &place, array);
        device(found, &place, array);
    }
    devices_differ(found, context);
}

/// No volume or array in two arrays, or twice in one.
fn used_once(found: &mut Found, context: &Context) {
    let mut users: BTreeMap<String, &str> = BTreeMap::new();
    for array in &context.arrays {
        for unit in array.members.iter().flat_map(|member| names::units(context, member)) {
            if let Some(first) = users.insert(unit.clone(), &array.name) {
                let place = format!("array.{}.members", array.name);
                let twice = if first == array.name { "twice in it" } else { "already in" };
                let of =
                    if first == array.name { String::new() } else { format!(" array {}", quoted(first)) };
                found.error(place, format!("{} is {twice}{of}", quoted(&unit)), "a member serves one array");
            }
        }
    }
}

fn known_members(found: &mut Found, place: &str, context: &Context, array: &Array) {
    for member in array.members.iter().filter(|member| names::named(context, member).is_none()) {
        let (what, remedy) = unknown(context, member);
        found.error(format!("{place}.members"), what, remedy);
    }
}

/// Whether an array is below itself.
fn in_cycle(context: &Context, start: &str) -> bool {
    let mut waiting = vec![start];
    let mut seen: Vec<&str> = Vec::new();
    while let Some(name) = waiting.pop() {
        let Some(array) = context.arrays.iter().find(|array| array.name == name) else { continue };
        for member in &array.members {
            if member == start {
                return true;
            }
            if !seen.contains(&member.as_str()) {
                seen.push(member);
                waiting.push(member);
            }
        }
    }
    false
}

fn members(found: &mut Found, place: &str, context: &Context, array: &Array) {
    let units: Vec<String> = array.members.iter().flat_map(|member| names::units(context, member)).collect();
    let least = match (array.manager, array.level) {
        // One logical volume on one disk is how LVM is mostly used.
        (ArrayManager::Lvm, _) => 1,
        (ArrayManager::Mdadm, level) => level.members_min() as usize,
    };
    if array.members.is_empty() {
        found.error(format!("{place}.members"), "there are none", "name volumes, groups of them, or arrays");
    } else if units.len() < least {
        found.error(
            format!("{place}.members"),
            format!("{} members, {} needs {least} or more", units.len(), array.level.name()),
            "add volumes or take another level",
        );
    } else if array.level == Level::Raid10 && units.len() % 2 == 1 {
        found.warning(
            format!("{place}.members"),
            format!("{} members: the mirrors of a stripe lie crosswise", units.len()),
            "an even number is what the arithmetic of RAID10 assumes",
        );
    }
}

fn different_sizes(found: &mut Found, place: &str, context: &Context, array: &Array) {
    let members = super::members(context, array);
    let sizes: Vec<u64> = members.iter().filter_map(|unit| capacity(context, unit)).collect();
    let (Some(&least), Some(&most)) = (sizes.iter().min(), sizes.iter().max()) else { return };
    if least != most && array.level != Level::Linear {
        let holds = usable(array, &sizes).map_or("nothing".into(), units::bytes);
        found.warning(
            format!("{place}.members"),
            format!(
                "they differ in size, {} to {}: usable is {holds}",
                units::bytes(least),
                units::bytes(most)
            ),
            "equal volumes waste nothing and stay equally busy",
        );
    }
}

fn level(found: &mut Found, place: &str, array: &Array) {
    if array.manager == ArrayManager::Lvm && !matches!(array.level, Level::Raid0 | Level::Linear) {
        found.error(
            format!("{place}.level"),
            format!("{} by LVM is not built here", array.level.name()),
            "use manager = \"mdadm\" for redundancy, or level \"raid0\" (LVM's --stripes) or \"linear\"",
        );
    }
}

fn chunk(found: &mut Found, place: &str, array: &Array) {
    let place = format!("{place}.chunk");
    let striped = !matches!(array.level, Level::Raid1 | Level::Linear);
    match array.chunk.map(|chunk| chunk.0) {
        None if striped => {
            let what = format!("is missing, {} is striped", array.level.name());
            found.error(place, what, "\"64KiB\" suits random I/O, \"256KiB\" sequential");
        }
        Some(_) if !striped => {
            let what = format!("{} has none", array.level.name());
            found.error(place, what, "leave it out");
        }
        Some(bytes) if !bytes.is_power_of_two() => {
            let what = format!("{} is no power of two", units::bytes(bytes));
            found.error(place, what, "use 64KiB, 128KiB, 256KiB, ...");
        }
        Some(bytes) if !(CHUNK_MIN..=CHUNK_MAX).contains(&bytes) => {
            let what = format!("{} is out of range", units::bytes(bytes));
            found.error(place, what, "use 4KiB to 1GiB");
        }
        _ => {}
    }
}

fn device(found: &mut Found, place: &str, array: &Array) {
    if array.device.is_empty() {
        return;
    }
    let place = format!("{place}.device");
    let remedy = match array.manager {
        ArrayManager::Mdadm => "write /dev/md0 or /dev/md/NAME",
        ArrayManager::Lvm => "write /dev/GROUP/VOLUME",
    };
    let Some(name) = array.device.strip_prefix("/dev/") else {
        found.error(place, format!("{} is not below /dev", quoted(&array.device)), remedy);
        return;
    };
    let shape_fits = match array.manager {
        ArrayManager::Mdadm => name.starts_with("md"),
        ArrayManager::Lvm => name.split('/').count() == 2 && !name.starts_with("mapper/"),
    };
    if let Some(fault) = path_fault(name) {
        found.error(place, format!("{} {fault}", quoted(&array.device)), remedy);
    } else if !shape_fits {
        found.error(place, format!("{} is no name that its manager makes", quoted(&array.device)), remedy);
    }
}

fn devices_differ(found: &mut Found, context: &Context) {
    let mut taken: BTreeMap<&str, &str> = BTreeMap::new();
    for array in context.arrays.iter().filter(|array| !array.device.is_empty()) {
        if let Some(first) = taken.insert(&array.device, &array.name) {
            let what = format!("{} is already that of {}", quoted(&array.device), quoted(first));
            found.error(format!("array.{}.device", array.name), what, "give each array its own");
        }
    }
}

/// The array that a volume or array is a member of.
pub(super) fn owner_of<'a>(context: &'a Context, name: &str) -> Option<&'a str> {
    let owners = owners(context);
    names::units(context, name).iter().find_map(|unit| owners.get(unit).copied())
}
