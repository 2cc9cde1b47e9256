//! What speaks against destroying what is on a device, asked of the kernel and the device this moment.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use iobound_record::{Evidence, EvidenceKind};
use rustix::fs::SeekFrom;

use super::resolve::node;
use crate::block::{self, DeviceKind};
use crate::guard::{Claim, claims, is_busy, open_exclusively, signatures};
use crate::system::System;

/// What is looked at, and on undoing wiped, at either end of a device. Every signature that we know lies
/// there, but for copies that nothing looks for on its own.
pub(super) const END_BYTES: u64 = 1 << 20;

struct Found(Vec<Evidence>);

impl Found {
    fn add(&mut self, kind: EvidenceKind, says: impl Into<String>) {
        self.0.push(Evidence { kind, says: says.into() });
    }
}

/// Everything that speaks against it. Nothing is altered.
pub fn evidence_of(system: &System, name: &str) -> Vec<Evidence> {
    let mut found = Found(Vec::new());
    match block::describe(system, name) {
        Ok(device) => sort(name, &device.kind, &mut found),
        Err(_) => {
            found.add(EvidenceKind::Gone, format!("{name} is gone"));
            return found.0;
        }
    }
    if system.attribute(format!("/sys/class/block/{name}/ro")).as_deref() == Some("1") {
        found.add(EvidenceKind::ReadOnly, format!("{name} takes no writes"));
    }
    if system.attribute(format!("/sys/class/block/{name}/removable")).as_deref() == Some("1") {
        found.add(EvidenceKind::Removable, format!("{name} has a medium that can be taken out"));
    }
    for partition in block::partitions(system, name) {
        found.add(EvidenceKind::Partitions, format!("{name} has partition {partition}"));
    }
    match claims(system, name) {
        Ok(used) => used.iter().for_each(|claim| found.add(kind_of(claim), claim.to_string())),
        Err(error) => found.add(EvidenceKind::Unreadable, error.to_string()),
    }
    members(system, name, &mut found);
    content(name, &mut found);
    found.0.sort();
    found.0.dedup();
    found.0
}

fn sort(name: &str, kind: &DeviceKind, found: &mut Found) {
    match kind {
        DeviceKind::Partition => found.add(EvidenceKind::NotADisk, format!("{name} is a partition")),
        DeviceKind::NvmePath => {
            found.add(EvidenceKind::Path, format!("{name} is one path of a multipath drive"))
        }
        _ => {}
    }
}

fn kind_of(claim: &Claim) -> EvidenceKind {
    match claim {
        Claim::Root { .. } => EvidenceKind::Root,
        Claim::Mounted { at, .. } if at.starts_with("/boot") || at.starts_with("/efi") => EvidenceKind::Boot,
        Claim::Mounted { .. } => EvidenceKind::Mounted,
        Claim::Swap { .. } => EvidenceKind::Swap,
        Claim::Holder { by, .. } if by.starts_with("md") => EvidenceKind::ArrayMember,
        Claim::Holder { .. } | Claim::Loop { .. } => EvidenceKind::Held,
        Claim::Exclusive => EvidenceKind::Busy,
    }
}

/// Arrays that the kernel has put it into, also those that do not run: they hold their members, but not
/// every kernel shows that below `holders`.
fn members(system: &System, name: &str, found: &mut Found) {
    for array in system.names("/sys/class/block").into_iter().filter(|array| array.starts_with("md")) {
        if system.place(format!("/sys/class/block/{array}/md/dev-{name}")).exists() {
            found.add(EvidenceKind::ArrayMember, format!("{name} is a member of {array}"));
        }
    }
}

/// What can only be known by opening it.
fn content(name: &str, found: &mut Found) {
    let in_use = found.0.iter().any(|seen| !seen.kind.is_overruled_by_name());
    let at = node(name);
    // Read-only, so that closing it tells udev of no change.
    let opened = match in_use {
        true => File::open(&at),
        false => match open_exclusively(OpenOptions::new().read(true), Path::new(&at)) {
            Err(error) if is_busy(&error) => {
                let says = format!("{name} cannot be opened exclusively: another program holds it");
                found.add(EvidenceKind::Busy, says);
                File::open(&at)
            }
            opened => opened,
        },
    };
    let file = match opened {
        Ok(file) => file,
        Err(error) => {
            found.add(EvidenceKind::Unreadable, format!("{name} cannot be read: {error}"));
            return;
        }
    };
    if let Err(error) = signs(name, &file, found) {
        found.add(EvidenceKind::Unreadable, format!("{name} cannot be read: {error}"));
    }
}

fn signs(name: &str, file: &File, found: &mut Found) -> io::Result<()> {
    let size = rustix::fs::seek(file, SeekFrom::End(0))?;
    if size == 0 {
        found.add(EvidenceKind::TooSmall, format!("{name} has no medium"));
        return Ok(());
    }
    let signatures = signatures(file, size)?;
    for signature in &signatures {
        let kind = match signature.name.contains("partition table") {
            true => EvidenceKind::PartitionTable,
            false => EvidenceKind::Signature,
        };
        found.add(kind, format!("{name} holds {signature}"));
    }
    if signatures.is_empty() {
        let zeros = vec![0; END_BYTES as usize];
        for (which, at) in [("first", 0), ("last", size.saturating_sub(END_BYTES))] {
            let mut end = vec![0; END_BYTES.min(size) as usize];
            file.read_exact_at(&mut end, at)?;
            // Most are empty: compared as a whole, which is fast, and searched only when not.
            if end != zeros[..end.len()]
                && let Some(first) = end.iter().position(|byte| *byte != 0)
            {
                let says = format!("the {which} MiB of {name} is not empty, from byte {}", at + first as u64);
                found.add(EvidenceKind::UnknownData, says);
            }
        }
    }
    Ok(())
}
