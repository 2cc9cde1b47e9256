//! The file or device that is written to.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use iobound_host::System;
use iobound_host::guard::{self, Intent, Lock, Policy, Target, TargetKind, Wants};
use iobound_record::units;
use rustix::fs::{Advice, FallocateFlags, OFlags};
use rustix::io::Errno;

use super::geometry::Geometry;
use super::options::{Preallocate, Sync};
use super::record;
use crate::exit::Failure;
use crate::stop::Stop;

/// Free space that must stay.
const HEADROOM_BYTES: u64 = 16 << 20;
/// How much is written at once when a file is written in full.
const PIECE: usize = 1 << 20;
/// Alignment that direct I/O takes on any device.
const ALIGNMENT: usize = 4096;

/// A target that may be written: guarded, locked, made if it was missing.
pub struct Admitted {
    /// Absolute path.
    pub path: PathBuf,
    /// Bytes that it has; None for a file that was made just now.
    pub len: Option<u64>,
    /// A block device.
    pub is_device: bool,
    /// Worth telling.
    pub notes: Vec<String>,
    target: Target,
    _lock: Lock,
}

/// Checks, makes and locks.
///
/// # Errors
/// A refusal.
pub fn admit(path: &Path, overwrite: bool, destroy_data: &[PathBuf], bs: u64) -> Result<Admitted, Failure> {
    let policy = Policy { overwrite, destroy_data: destroy_data.into(), wants: Wants::File };
    let target = guard::check(&System::live(), path, Intent::Write, &policy)?;
    let (len, is_device) = match &target.kind {
        TargetKind::File { size_bytes, .. } => (Some(*size_bytes), false),
        TargetKind::Device { device, .. } => {
            let unit = u64::from(device.logical_block_bytes);
            if !bs.is_multiple_of(unit) {
                return Err(Failure::usage(format!(
                    "{}: --bs {bs} is not a multiple of its sectors of {unit} bytes; use --bs {}",
                    path.display(),
                    units::bytes_fio(unit.max(4096))
                )));
            }
            (Some(device.size_bytes), true)
        }
        TargetKind::NewFile | TargetKind::Directory => {
            make(&target.path)?;
            (None, false)
        }
    };
    let lock = guard::lock(&target.path)?;
    let notes = target.notes.clone();
    Ok(Admitted { path: target.path.clone(), len, is_device, notes, target, _lock: lock })
}

/// Makes a file whose name is durable: a directory that forgets it is not what is tested.
fn make(path: &Path) -> Result<(), Failure> {
    let made = File::options().write(true).create_new(true).mode(0o600).open(path).and_then(|file| {
        // A mark helps the next run; a file system without attributes does without.
        let _ = guard::mark_ours(&file);
        file.sync_all()?;
        File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
    });
    made.map_err(|error| {
        Failure::usage(format!("{}: cannot be made: {error}; name another file", path.display()))
    })
}

impl Admitted {
    /// Gives a file its length or its data.
    ///
    /// # Errors
    /// No room, or the storage failed.
    pub fn preallocate(&self, geometry: &Geometry, how: Preallocate, stop: &Stop) -> Result<(), Failure> {
        if self.is_device {
            return Ok(());
        }
        let failed = |what: &str, error: io::Error| {
            Failure::broke(format!("{}: {what}: {error}{}", self.path.display(), remedy(&error)))
        };
        let file = File::options()
            .write(true)
            .open(&self.path)
            .map_err(|error| failed("cannot be opened for writing", error))?;
        self.target.confirm(&file)?;
        let missing = geometry.bytes().saturating_sub(self.len.unwrap_or(0));
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        if missing > 0 {
            guard::check_space(directory, missing, HEADROOM_BYTES)?;
        }
        match how {
            Preallocate::None => {
                // What an earlier run left would look like blocks that are allocated.
                file.set_len(0).map_err(|error| failed("cannot be cut", error))?;
            }
            Preallocate::Reserve => {
                file.set_len(0).map_err(|error| failed("cannot be cut", error))?;
                rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, geometry.bytes()).map_err(
                    |error| {
                        failed("space cannot be reserved (--preallocate write works anywhere)", error.into())
                    },
                )?;
            }
            Preallocate::Write => {
                write_in_full(&file, geometry.bytes(), stop)
                    .map_err(|error| failed("cannot be written in full", error))?;
            }
        }
        file.sync_all().map_err(|error| failed("cannot be synced", error))?;
        let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
        Ok(())
    }

    /// Opens it as a run writes it. Where direct I/O is refused the file comes buffered; the flag says
    /// which it is.
    ///
    /// # Errors
    /// The system's.
    pub fn open(&self, sync: Sync, direct: bool) -> Result<(File, bool), Failure> {
        let flags = match sync {
            Sync::Osync => OFlags::SYNC,
            Sync::Odsync => OFlags::DSYNC,
            Sync::Fdatasync | Sync::Fsync | Sync::None => OFlags::empty(),
        };
        let with = |flags: OFlags| {
            File::options().read(true).write(true).custom_flags(flags.bits() as i32).open(&self.path)
        };
        let (opened, direct) = match with(flags | if direct { OFlags::DIRECT } else { OFlags::empty() }) {
            Err(error) if direct && error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
                (with(flags), false)
            }
            opened => (opened, direct),
        };
        let file = opened
            .map_err(|error| Failure::usage(format!("{}: cannot be opened: {error}", self.path.display())))?;
        self.target.confirm(&file)?;
        Ok((file, direct))
    }
}

fn write_in_full(file: &File, bytes: u64, stop: &Stop) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    while at < bytes && !stop.is_asked() {
        let length = (bytes - at).min(PIECE as u64) as usize;
        // Noise: zeroes may be left out by what is below, and then the run would allocate after all.
        record::fill(!at, &mut piece[..length]);
        file.write_all_at(&piece[..length], at)?;
        at += length as u64;
    }
    Ok(())
}

/// What to do about an error of the storage.
pub fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; lower --size, or free space there",
        io::ErrorKind::NotFound => "; the target vanished",
        io::ErrorKind::ReadOnlyFilesystem => "; the file system turned read-only: look at the kernel's log",
        _ => match error.raw_os_error().map(Errno::from_raw_os_error) {
            // The last two are what FUSE and network file systems say of a server that is gone.
            Some(Errno::NODEV | Errno::NXIO | Errno::NOTCONN | Errno::CONNABORTED) => "; the target vanished",
            Some(Errno::IO) => "; the storage failed: look at the kernel's log",
            Some(Errno::INVAL) => "; if it is the alignment of direct I/O: use --bs 4k, or --buffered",
            _ => "",
        },
    }
}

/// A block of memory that direct I/O takes.
pub struct Aligned {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Aligned {
    /// `len` zeroes.
    pub fn new(len: usize) -> Self {
        let memory = vec![0; len + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Aligned { memory, start, len }
    }

    /// The block.
    pub fn bytes(&mut self) -> &mut [u8] {
        // The vector is never resized, so its place stays.
        &mut self.memory[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_start_on_a_page() {
        for len in [512, 4096, 12_288] {
            let mut block = Aligned::new(len);
            assert_eq!(block.bytes().len(), len);
            assert_eq!(block.bytes().as_ptr() as usize % ALIGNMENT, 0);
        }
    }
}
