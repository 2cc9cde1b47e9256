//! The decision about a block device.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::SeekFrom;

use super::check::{Check, Intent};
use super::claims::{Claim, claims};
use super::exclusive::open_exclusively;
use super::refusal::Reason;
use super::signature::{self, Signature};
use crate::block::{self, BlockDevice, DeviceNumber};
use crate::error::HostError;

/// A device that may be used as intended.
pub(super) struct Checked {
    pub device: BlockDevice,
    pub destroys: Vec<Signature>,
    pub notes: Vec<String>,
    pub claim: Option<OwnedFd>,
}

/// Decides. In order: may it be opened, does anybody use it (nothing overrules that), was it
/// named, what does it hold.
pub(super) fn check(check: &Check, path: &Path, number: DeviceNumber) -> Result<Checked, Reason> {
    let unverifiable = |error| Reason::Unverifiable { error };
    let name = block::name_of(check.system, number)
        .ok_or_else(|| unverifiable(HostError::NoSuchDevice { device: number.to_string() }))?;
    let device = block::describe(check.system, &name).map_err(unverifiable)?;
    let used = claims(check.system, &name).map_err(unverifiable)?;
    if check.intent == Intent::Read {
        not_empty(&open(check, path, false)?)?;
        let notes = used.iter().map(|claim| format!("{claim}: its own I/O is in the numbers")).collect();
        return Ok(Checked { device, destroys: Vec::new(), notes, claim: None });
    }
    if !used.is_empty() {
        return Err(Reason::DeviceInUse { claims: used });
    }
    if device.read_only {
        return Err(Reason::ReadOnlyDevice);
    }
    // The kernel's own answer: mounts of other namespaces, ZFS and virtual machines show only
    // here. Read-only, so that closing it tells udev of no change.
    let opened = open(check, path, true)?;
    not_empty(&opened)?;
    may_write(check, path)?;
    let scan = Scan::of(check, &device, &opened)
        .map_err(|error| unverifiable(HostError::unreadable(path, error)))?;
    let (named, misnamed) = named(&check.policy.destroy_data, number);
    if !named {
        return Err(if scan.signatures.is_empty() {
            Reason::NotNamed { head_is_empty: scan.head_is_empty, misnamed }
        } else {
            Reason::HoldsData { signatures: scan.signatures, misnamed }
        });
    }
    let notes = scan.signatures.iter().map(|found| format!("will be destroyed: {found}")).collect();
    Ok(Checked { device, destroys: scan.signatures, notes, claim: Some(opened.into()) })
}

fn open(check: &Check, path: &Path, alone: bool) -> Result<File, Reason> {
    let opened = match alone {
        true => open_exclusively(OpenOptions::new().read(true), path),
        false => File::open(path),
    };
    opened.map_err(|error| match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::BUSY) => Reason::DeviceInUse { claims: vec![Claim::Exclusive] },
        Some(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => {
            Reason::NotPermitted { verb: check.verb(), error, within: None }
        }
        _ => Reason::Unreachable { error },
    })
}

fn not_empty(opened: &File) -> Result<(), Reason> {
    match rustix::fs::seek(opened, SeekFrom::End(0)) {
        Ok(0) => Err(Reason::EmptyDevice),
        Ok(_) => Ok(()),
        Err(error) => Err(Reason::Unreachable { error: error.into() }),
    }
}

/// Asks for permission to write without opening for writing.
fn may_write(check: &Check, path: &Path) -> Result<(), Reason> {
    let answer = rustix::fs::accessat(
        rustix::fs::CWD,
        path,
        rustix::fs::Access::WRITE_OK,
        rustix::fs::AtFlags::EACCESS,
    );
    answer.map_err(|error| Reason::NotPermitted { verb: check.verb(), error: error.into(), within: None })
}

/// Whether the user named the device of this number, and which names are no block devices.
fn named(destroy_data: &[PathBuf], number: DeviceNumber) -> (bool, Vec<PathBuf>) {
    let mut found = false;
    let mut misnamed = Vec::new();
    for name in destroy_data {
        match fs::metadata(name) {
            Ok(meta) if meta.file_type().is_block_device() => {
                found |= DeviceNumber::from_raw(meta.rdev()) == number;
            }
            _ => misnamed.push(name.clone()),
        }
    }
    (found, misnamed)
}

/// What is on a device.
struct Scan {
    signatures: Vec<Signature>,
    head_is_empty: bool,
}

impl Scan {
    fn of(check: &Check, device: &BlockDevice, opened: &File) -> io::Result<Scan> {
        // Asked of the device, since `/sys` may lag behind a change of size.
        let size = rustix::fs::seek(opened, SeekFrom::End(0))?;
        let mut signatures = signature::signatures(opened, size)?;
        for partition in block::partitions(check.system, &device.name) {
            signatures.extend(Self::of_partition(&partition));
        }
        Ok(Scan { signatures, head_is_empty: signature::head_is_empty(opened, size)? })
    }

    /// What is on a partition: more evidence, so one that has no node is passed over.
    fn of_partition(name: &str) -> Vec<Signature> {
        let node = Path::new("/dev").join(name.replace('!', "/"));
        let Ok(file) = File::open(node) else { return Vec::new() };
        let Ok(size) = rustix::fs::seek(&file, SeekFrom::End(0)) else { return Vec::new() };
        let found = signature::signatures(&file, size).unwrap_or_default();
        let told = |s: Signature| Signature { name: format!("partition {name}: {}", s.name), ..s };
        found.into_iter().map(told).collect()
    }
}
