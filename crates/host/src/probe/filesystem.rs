//! Mounted file systems that lie on block devices.

use std::collections::HashMap;
use std::fs;

use iobound_record::MountedFileSystem;

use super::Notes;
use super::geometry::{self, Geometry};
use super::tables::{Placed, Tables};
use crate::block;
use crate::system::System;

/// In the order of the mounts. A mount that a later one at the same place hides is left out: nobody
/// reaches it.
pub(super) fn filesystems(system: &System, tables: &Tables, notes: &mut Notes) -> Vec<MountedFileSystem> {
    let uuids = by_uuid(system);
    let captured = geometry::captured(system);
    let mut found = Vec::new();
    for (at, placed) in tables.mounts.iter().enumerate() {
        let hidden =
            tables.mounts[at + 1..].iter().any(|later| later.mount.mount_point == placed.mount.mount_point);
        if !hidden {
            found.push(filesystem(system, tables, placed, &uuids, &captured));
        }
    }
    note_unknown_strides(system, &found, notes);
    found
}

/// One note for all: a container has a dozen mounts of one file system.
fn note_unknown_strides(system: &System, found: &[MountedFileSystem], notes: &mut Notes) {
    let is_unknown = |fs: &&MountedFileSystem| {
        fs.stripe_unit_bytes.is_none() && matches!(fs.kind.as_str(), "ext3" | "ext4")
    };
    let unknown: Vec<&str> = found.iter().filter(is_unknown).map(|fs| fs.mount.as_str()).collect();
    if !unknown.is_empty() {
        let why = match system.is_live() {
            true => "the superblock cannot be read (root may)",
            false => "it was not captured",
        };
        notes.add(format!("the stride of {} is not known: {why}", unknown.join(", ")));
    }
}

fn filesystem(
    system: &System,
    tables: &Tables,
    placed: &Placed,
    uuids: &HashMap<String, String>,
    captured: &HashMap<String, Geometry>,
) -> MountedFileSystem {
    let mount = &placed.mount;
    let at = mount.mount_point.display().to_string();
    let device = placed.devices.first().cloned().unwrap_or_default();
    let geometry = if system.is_live() {
        geometry::live(mount, &device)
    } else {
        geometry::by_options(mount, captured.get(&at).cloned().unwrap_or_default())
    };
    let number = block::number_of(system, &device).map(|number| number.to_string()).unwrap_or_default();
    let udev = || tables.udev(&number).and_then(|p| p.first(&["ID_FS_UUID"])).map(str::to_owned);
    let uuid = if mount.filesystem == "overlay" {
        String::new()
    } else {
        geometry.uuid.or_else(udev).or_else(|| uuids.get(&device).cloned()).unwrap_or_default()
    };
    MountedFileSystem {
        mount: at,
        device,
        kind: mount.filesystem.clone(),
        options: mount.options(),
        uuid,
        size_bytes: geometry.size_bytes,
        free_bytes: geometry.free_bytes,
        block_bytes: geometry.block_bytes,
        stripe_unit_bytes: geometry.stripe_unit_bytes,
        stripe_width_bytes: geometry.stripe_width_bytes,
    }
}

/// udev's links, by kernel name of the device.
fn by_uuid(system: &System) -> HashMap<String, String> {
    const LINKS: &str = "/dev/disk/by-uuid";
    let target = |uuid: &String| {
        let link = fs::read_link(system.place(format!("{LINKS}/{uuid}"))).ok()?;
        Some((link.file_name()?.to_str()?.to_owned(), uuid.clone()))
    };
    system.names(LINKS).iter().filter_map(target).collect()
}
