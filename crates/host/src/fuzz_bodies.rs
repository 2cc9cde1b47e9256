//! What the fuzz targets do with outside text: one function a target, also run by `cargo test` on stable
//! over a corpus and over arbitrary bytes. Each panics where a reader is wrong.

use std::path::Path;

use crate::{cloud, mounts, probe};

/// A fuzz target: panics where a reader is wrong about the bytes.
pub type Body = fn(&[u8]);

/// The targets by name; each is a directory of the corpus too.
pub const TARGETS: [(&str, Body); 4] = [
    ("host_mdstat", mdstat),
    ("host_lvm_text", lvm_text),
    ("host_mountinfo", mountinfo),
    ("host_metadata", metadata),
];

/// Reads the bytes as `/proc/mdstat`.
pub fn mdstat(data: &[u8]) {
    for array in probe::parse_mdstat(&String::from_utf8_lossy(data)) {
        assert!(array.sync_done.is_none_or(|done| (0.0..=1.0).contains(&done)));
        assert!(array.name.starts_with("md"));
    }
}

/// Reads the bytes as a backup of LVM's metadata, of the group that they name first.
pub fn lvm_text(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for group in ["vg", text.split_whitespace().next().unwrap_or_default()] {
        if let Some(group) = probe::parse_lvm_text(&text, group) {
            // Each device once, however the text repeats it.
            for segment in group.volumes.values().flatten() {
                let mut devices = segment.devices.clone();
                devices.sort();
                devices.dedup();
                assert_eq!(devices.len(), segment.devices.len());
            }
        }
    }
}

/// Reads the bytes as mountinfo, and looks for a mount in it.
pub fn mountinfo(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let all = mounts::parse_mountinfo(&text);
    mounts::holding(&all, Path::new("/a/b"));
    for mount in &all {
        let _ = (mount.options(), mount.read_only());
    }
}

/// Reads the bytes as the answer of each cloud's metadata service.
pub fn metadata(data: &[u8]) {
    cloud::read_any(&String::from_utf8_lossy(data));
}
