//! The files of a job: made, sized, opened, remembered, and removed again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use iobound_record::{EngineChoice, Fallocate, Job, SyncMode, units};
use rustix::fs::{Advice, FallocateFlags};

use crate::control::Control;
use crate::error::EngineError;

/// Files that this run made, and how much of each holds data. Dropping it removes them.
#[derive(Debug, Default)]
pub struct Ledger {
    made: BTreeMap<PathBuf, u64>,
    keep: bool,
}

impl Ledger {
    /// A ledger that leaves its files where they are when `keep` is set.
    pub fn new(keep: bool) -> Self {
        Ledger { made: BTreeMap::new(), keep }
    }

    /// Makes a file of ours if there is none.
    ///
    /// # Errors
    /// The path cannot be made; a file that appeared meanwhile is not taken over.
    pub fn create(&mut self, path: &Path) -> Result<(), EngineError> {
        if path.exists() {
            return Ok(());
        }
        let mut options = File::options();
        options.write(true).create_new(true).mode(0o600);
        options.open(path).map_err(|error| EngineError::open(path, "cannot be made", error))?;
        self.made.insert(path.into(), 0);
        Ok(())
    }

    /// Leaves a file to others: it is no longer removed.
    pub fn forget(&mut self, path: &Path) {
        self.made.remove(path);
    }

    /// Files made so far.
    pub fn made(&self) -> impl Iterator<Item = &Path> {
        self.made.keys().map(PathBuf::as_path)
    }

    /// Removes every file made, and returns those that could not be.
    pub fn remove(&mut self) -> Vec<(PathBuf, io::Error)> {
        if self.keep {
            return Vec::new();
        }
        std::mem::take(&mut self.made)
            .into_keys()
            .filter_map(|path| match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Some((path, error)),
                _ => None,
            })
            .collect()
    }

    /// Bytes from the start of a file of ours that hold data; None when it is not ours.
    pub(crate) fn data_len(&self, path: &Path) -> Option<u64> {
        self.made.get(path).copied()
    }

    pub(crate) fn set_data_len(&mut self, path: &Path, len: u64) {
        if let Some(known) = self.made.get_mut(path) {
            *known = (*known).max(len);
        }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Length of an existing target that the job must live with; None when it does not exist or is ours,
/// so that its length is the job's to choose.
pub(crate) fn existing_len(path: &Path, ledger: &Ledger) -> Result<Option<u64>, EngineError> {
    if ledger.data_len(path).is_some() {
        return Ok(None);
    }
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(EngineError::open(path, "cannot be looked at", error)),
    };
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok(Some(metadata.len()));
    }
    if kind.is_block_device() {
        let file = File::open(path).map_err(|error| EngineError::open(path, "cannot be opened", error))?;
        return device_len(&file).map(Some).map_err(|error| EngineError::open(path, "has no size", error));
    }
    let what = if kind.is_dir() { "a directory" } else { "neither a file nor a block device" };
    Err(EngineError::target(path, format!("it is {what}"), "name a file in it, or a block device"))
}

fn device_len(file: &File) -> io::Result<u64> {
    use std::io::{Seek, SeekFrom};
    let mut file = file;
    file.seek(SeekFrom::End(0))
}

/// A file or device, open for the job.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    pub(crate) is_device: bool,
}

/// Opens a file with the job's flags; `write` is the job's need, not the file's permission.
///
/// # Errors
/// Direct I/O refused, a block size that the device cannot do, or the system's own.
pub(crate) fn open(path: &Path, job: &Job, write: bool) -> Result<Opened, EngineError> {
    let metadata =
        std::fs::metadata(path).map_err(|error| EngineError::open(path, "cannot be opened", error))?;
    let is_device = metadata.file_type().is_block_device();
    let mut flags = match job.sync {
        SyncMode::None => 0,
        SyncMode::Sync => libc::O_SYNC,
        SyncMode::Dsync => libc::O_DSYNC,
    };
    if job.direct {
        flags |= libc::O_DIRECT;
    }
    let opened = File::options().read(true).write(write).custom_flags(flags).open(path);
    let file = match opened {
        Err(error) if job.direct && error.raw_os_error() == Some(libc::EINVAL) => {
            return Err(no_direct(path));
        }
        Err(error) => return Err(EngineError::open(path, "cannot be opened", error)),
        Ok(file) => file,
    };
    if job.direct {
        check_alignment(path, &file, is_device, job)?;
    }
    Ok(Opened { path: path.into(), file, is_device })
}

fn no_direct(path: &Path) -> EngineError {
    EngineError::target(
        path,
        "this file system refuses O_DIRECT",
        "set direct=0 and read the result as the page cache's, or use a file system on a device",
    )
}

fn check_alignment(path: &Path, file: &File, is_device: bool, job: &Job) -> Result<(), EngineError> {
    let align = direct_alignment(file, is_device);
    if align == 0 {
        return Err(no_direct(path));
    }
    let mut sizes = match &job.bssplit {
        Some(split) => split.iter().map(|share| share.bs).collect(),
        None => vec![job.block_sizes().0, job.block_sizes().1],
    };
    if let Some(iobound_record::Extent::Bytes(offset)) = job.offset {
        sizes.push(offset);
    }
    match sizes.iter().find(|&&size| size % u64::from(align) != 0) {
        None => Ok(()),
        Some(size) => Err(EngineError::target(
            path,
            format!("bs or offset {size} is not a multiple of {align}, the smallest direct I/O there"),
            format!("use a multiple of {align}, or direct=0"),
        )),
    }
}

/// Alignment that direct I/O needs, in bytes; 0 where the file system says that it has none.
pub(crate) fn direct_alignment(file: &File, is_device: bool) -> u32 {
    const STATX_DIOALIGN: u32 = 0x2000;
    // SAFETY: statx is plain data; all zeroes is a valid value.
    let mut stat: libc::statx = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, the empty path means the descriptor itself, and `stat` is a
    // valid place for the answer.
    let returned = unsafe {
        libc::statx(file.as_raw_fd(), c"".as_ptr(), libc::AT_EMPTY_PATH, STATX_DIOALIGN, &mut stat)
    };
    if returned == 0 && stat.stx_mask & STATX_DIOALIGN != 0 {
        return stat.stx_dio_offset_align;
    }
    // Kernels before 6.1 do not say; the open with O_DIRECT went through.
    if is_device { rustix::fs::ioctl_blksszget(file).unwrap_or(512) } else { 512 }
}

/// Gives a file of ours its length and, as the job wishes, its space. Checked before anything is
/// written: whether the file system has room.
pub(crate) fn reserve(path: &Path, needed: u64, how: Fallocate) -> Result<(), EngineError> {
    let file = File::options()
        .write(true)
        .open(path)
        .map_err(|error| EngineError::open(path, "cannot be opened", error))?;
    let metadata = file.metadata().map_err(|error| EngineError::open(path, "cannot be looked at", error))?;
    check_space(path, &file, needed.saturating_sub(metadata.blocks() * 512))?;
    if metadata.len() >= needed {
        return Ok(());
    }
    let truncate = || file.set_len(needed).map_err(|error| EngineError::open(path, "cannot be sized", error));
    match how {
        Fallocate::None => Ok(()),
        Fallocate::Truncate => truncate(),
        Fallocate::Native => match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, needed) {
            Ok(()) => Ok(()),
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => truncate(),
            Err(error) => {
                let what = format!("{} cannot be reserved", units::bytes(needed));
                Err(EngineError::open(path, &what, error))
            }
        },
    }
}

fn check_space(path: &Path, file: &File, missing: u64) -> Result<(), EngineError> {
    let Ok(stat) = rustix::fs::fstatvfs(file) else { return Ok(()) };
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    // File systems of no fixed size (ramfs) say 0 blocks in all.
    if missing <= free || stat.f_blocks == 0 {
        return Ok(());
    }
    Err(EngineError::target(
        path,
        format!("{} is needed, {} is free on that file system", units::bytes(missing), units::bytes(free)),
        "lower size, or free space there",
    ))
}

/// Drops what the page cache holds of a file, so that a buffered job starts cold.
pub(crate) fn drop_cache(file: impl AsFd) {
    let _ = rustix::fs::fadvise(file, 0, None, Advice::DontNeed);
}

/// Reads the first `len` bytes of a file through the page cache, so that a buffered job starts warm.
///
/// # Errors
/// The device failed a read.
pub(crate) fn fill_cache(opened: &Opened, len: u64, control: &Control) -> Result<(), EngineError> {
    let mut piece = vec![0; 1 << 20];
    let mut done = 0;
    while done < len && !control.is_stopped() {
        let want = piece.len().min((len - done) as usize);
        match opened.file.read_at(&mut piece[..want], done) {
            Ok(0) => break,
            Ok(read) => done += read as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(EngineError::open(&opened.path, "cannot be read beforehand", error)),
        }
    }
    Ok(())
}

/// Whether an engine touches files at all.
pub(crate) fn uses_files(engine: EngineChoice) -> bool {
    engine != EngineChoice::Null
}
