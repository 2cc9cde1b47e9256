//! One run at a time on one target.

use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;

use super::refusal::{Reason, Refusal};
use crate::system::System;

/// udev locks a block device for a moment while it looks at it
/// (systemd.io/BLOCK_DEVICE_LOCKING), so a device is tried for this long.
const DEVICE_PATIENCE: Duration = Duration::from_millis(500);
const RETRY_EVERY: Duration = Duration::from_millis(20);

/// A target locked for this process until this is dropped or the process ends.
#[derive(Debug)]
pub struct Lock {
    _file: OwnedFd,
}

/// Locks an existing file, directory or block device (`flock`, exclusive). The lock is advisory:
/// it keeps out other runs of iobound, and udev from a device. It is not altered.
///
/// # Errors
/// [`Reason::Locked`] when another process has it, by name when `/proc/locks` shows it;
/// [`Reason::Missing`], [`Reason::NotPermitted`], [`Reason::Unreachable`] when it cannot be opened.
pub fn lock(path: &Path) -> Result<Lock, Refusal> {
    try_lock(path).map_err(|reason| Refusal::new(path, reason))
}

fn try_lock(path: &Path) -> Result<Lock, Reason> {
    let mut file = open(path, false)?;
    let meta = file.metadata().map_err(|error| Reason::Unreachable { error })?;
    let patience = if meta.file_type().is_block_device() { DEVICE_PATIENCE } else { Duration::ZERO };
    let started = Instant::now();
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Lock { _file: file.into() }),
            Err(Errno::WOULDBLOCK) if started.elapsed() < patience => sleep(RETRY_EVERY),
            Err(Errno::WOULDBLOCK) => {
                return Err(Reason::Locked { holder: holder(&System::live(), meta.dev(), meta.ino()) });
            }
            Err(Errno::INTR) => {}
            // nfs turns flock into a POSIX lock, which needs a file open for writing (flock(2)).
            Err(Errno::BADF) if meta.is_file() => file = open(path, true)?,
            Err(error) => return Err(Reason::Unreachable { error: error.into() }),
        }
    }
}

fn open(path: &Path, write: bool) -> Result<File, Reason> {
    // Non-blocking, so that a FIFO in that place cannot hang us.
    let flags = OFlags::NONBLOCK.bits() as i32;
    let opened = OpenOptions::new().read(true).write(write).custom_flags(flags).open(path);
    opened.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Reason::Missing,
        std::io::ErrorKind::PermissionDenied => {
            Reason::NotPermitted { verb: if write { "write" } else { "read" }, error, within: None }
        }
        _ => Reason::Unreachable { error },
    })
}

/// Who has an flock on an inode: proc_locks(5).
fn holder(system: &System, device: u64, inode: u64) -> Option<(u32, String)> {
    let table = system.attribute("/proc/locks")?;
    let exact = format!("{:02x}:{:02x}:{inode}", rustix::fs::major(device), rustix::fs::minor(device));
    let pids = |wanted: &dyn Fn(&str) -> bool| -> Vec<u32> {
        table.lines().filter_map(|l| flock_of(l, wanted)).collect()
    };
    let mut found = pids(&|file| file == exact);
    if found.is_empty() {
        // btrfs shows another device number here than to stat; the inode alone will do when it
        // leaves no choice.
        found = pids(&|file| file.rsplit(':').next() == Some(&inode.to_string()));
        found.truncate(if found.len() == 1 { 1 } else { 0 });
    }
    let pid = *found.first()?;
    let name = system.attribute(format!("/proc/{pid}/comm")).unwrap_or_else(|| "?".into());
    Some((pid, name))
}

/// The process of a line such as `1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF`, if it is about
/// the wanted file. Lines of waiting processes have `->` after the number and are passed over.
fn flock_of(line: &str, wanted: &dyn Fn(&str) -> bool) -> Option<u32> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    match words.as_slice() {
        [_, "FLOCK", _, _, pid, file, ..] if wanted(file) => pid.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_proc_locks() {
        let wanted = |file: &str| file == "fe:00:5678";
        assert_eq!(flock_of("1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF", &wanted), Some(1234));
        assert_eq!(flock_of("1: -> FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF", &wanted), None);
        assert_eq!(flock_of("1: POSIX  ADVISORY  WRITE 1234 fe:00:5678 0 EOF", &wanted), None);
        // The holder is in another pid namespace.
        assert_eq!(flock_of("1: FLOCK  ADVISORY  WRITE -1 fe:00:5678 0 EOF", &wanted), None);
        assert_eq!(flock_of("", &wanted), None);
    }

    #[test]
    fn a_second_lock_names_the_process_that_has_the_first() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let first = lock(file.path()).unwrap();
        let refusal = lock(file.path()).unwrap_err();
        assert_eq!(refusal.exit_code(), 3);
        match &refusal.reason {
            Reason::Locked { holder: Some((pid, _)) } => assert_eq!(*pid, std::process::id()),
            other => panic!("{other:?}"),
        }
        drop(first);
        lock(file.path()).unwrap();
    }

    #[test]
    fn directories_can_be_locked_and_missing_files_cannot() {
        let directory = tempfile::tempdir().unwrap();
        let _held = lock(directory.path()).unwrap();
        assert!(matches!(lock(directory.path()).unwrap_err().reason, Reason::Locked { .. }));
        let refusal = lock(&directory.path().join("missing")).unwrap_err();
        assert!(matches!(refusal.reason, Reason::Missing));
    }
}
