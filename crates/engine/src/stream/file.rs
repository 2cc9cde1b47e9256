//! Files and devices as the end of a stream, and nothing at all.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use iobound_record::{EngineChoice, Fallocate};

use super::pool::Pool;
use super::ring::Ring;
use super::sink::{Granted, Outlet, Sink};
use crate::backend::{Aio, Null, Psync, Resources, Uring};
use crate::error::EngineError;
use crate::files;

/// Direct I/O goes in multiples of a page, whatever smaller sector a device has: a page that is written
/// half past the cache and half through it has no certain content.
const PAGE: u64 = 4096;

/// A file or block device, open to be written or read.
#[derive(Debug)]
pub struct FileOutlet {
    path: PathBuf,
    file: File,
    /// The same through the page cache, for what is left behind the last page.
    plain: File,
    fd: [RawFd; 1],
    direct: bool,
    granule: u64,
    engine: EngineChoice,
}

impl FileOutlet {
    /// Opens an existing file or device. `engine` is one of ours, not `auto`.
    ///
    /// # Errors
    /// It cannot be opened, or refuses O_DIRECT where `direct` is asked.
    pub fn open(path: &Path, direct: bool, engine: EngineChoice) -> Result<FileOutlet, EngineError> {
        FileOutlet::open_for(path, true, direct, engine)
    }

    /// The same, only to be read.
    ///
    /// # Errors
    /// As [`open`](FileOutlet::open).
    pub fn open_to_read(path: &Path, direct: bool, engine: EngineChoice) -> Result<FileOutlet, EngineError> {
        FileOutlet::open_for(path, false, direct, engine)
    }

    fn open_for(
        path: &Path,
        write: bool,
        direct: bool,
        engine: EngineChoice,
    ) -> Result<FileOutlet, EngineError> {
        let cannot = |error: io::Error| EngineError::open(path, "cannot be opened", error);
        let is_device = std::fs::metadata(path).map_err(cannot)?.file_type().is_block_device();
        let open = |flags| File::options().read(true).write(write).custom_flags(flags).open(path);
        let plain = open(0).map_err(cannot)?;
        let (file, granule) = if direct {
            let file = match open(libc::O_DIRECT) {
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => return Err(no_direct(path)),
                opened => opened.map_err(cannot)?,
            };
            match files::direct_alignment(&file, is_device) {
                0 => return Err(no_direct(path)),
                alignment => (file, u64::from(alignment).max(PAGE)),
            }
        } else {
            (plain.try_clone().map_err(cannot)?, 1)
        };
        let fd = [file.as_raw_fd()];
        Ok(FileOutlet { path: path.into(), file, plain, fd, direct, granule, engine })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the page cache is passed by.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    pub(crate) fn reader(&self) -> &File {
        &self.file
    }

    /// The engine that writes it.
    pub fn engine(&self) -> EngineChoice {
        self.engine
    }

    /// Empties a file and gives it `bytes` of space, so that a full disk shows before anything is
    /// written and writes do not wait for one another to grow the file.
    ///
    /// # Errors
    /// There is no room.
    pub fn reserve(&self, bytes: u64) -> Result<(), EngineError> {
        self.cut(0)?;
        files::reserve(&self.path, bytes, Fallocate::Native)
    }

    /// Cuts a file at `bytes`.
    ///
    /// # Errors
    /// The system's.
    pub fn cut(&self, bytes: u64) -> Result<(), EngineError> {
        self.plain.set_len(bytes).map_err(|error| EngineError::open(&self.path, "cannot be cut", error))
    }
}

fn no_direct(path: &Path) -> EngineError {
    EngineError::target(
        path,
        "this file system refuses O_DIRECT",
        "give --no-direct and read the result as the page cache's, or name a file on a device's file system",
    )
}

impl Outlet for FileOutlet {
    fn sink(&self, pool: &Pool, _depth: u32) -> Result<(Box<dyn Sink + '_>, Granted), EngineError> {
        let resources = Resources { depth: pool.buffers(), files: &self.fd, buffers: pool.memory() };
        let broke = |error| EngineError::broke(format!("starting {}", self.engine), error);
        Ok(match self.engine {
            EngineChoice::Psync => (Box::new(Ring::new(Psync::new(&self.fd), pool)), Granted::default()),
            EngineChoice::Libaio => {
                let aio = Aio::new(&resources).map_err(broke)?;
                (Box::new(Ring::new(aio, pool)), Granted::default())
            }
            _ => {
                let (uring, grants) = Uring::new(&resources).map_err(broke)?;
                (Box::new(Ring::new(uring, pool)), grants.into())
            }
        })
    }

    fn granule(&self) -> u64 {
        self.granule
    }

    fn finish(&self, position: u64, rest: &[u8]) -> io::Result<()> {
        self.plain.write_all_at(rest, position)?;
        Ok(rustix::fs::fdatasync(&self.plain)?)
    }
}

/// Takes everything and keeps nothing: what the tool itself can do.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullOutlet;

impl Outlet for NullOutlet {
    fn sink(&self, pool: &Pool, _depth: u32) -> Result<(Box<dyn Sink + '_>, Granted), EngineError> {
        Ok((Box::new(Ring::new(Null::new(pool.buffers()), pool)), Granted::default()))
    }

    fn finish(&self, _position: u64, _rest: &[u8]) -> io::Result<()> {
        Ok(())
    }
}
