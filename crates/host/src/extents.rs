//! Which bytes of a file are really on the device.
//!
//! Reading holes and unwritten extents never reaches the device, and looks 50 to 70 times too
//! fast; so a read job asks here first.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{OFlags, SeekFrom};
use rustix::io::Errno;

use crate::error::HostError;

/// How the answer was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackingMethod {
    /// The file system's extent map: everything is told apart.
    #[default]
    Fiemap,
    /// `SEEK_DATA` and `SEEK_HOLE`: unwritten extents count as holes or as data, as the file
    /// system likes; encoded and inline data count as data.
    Seek,
    /// A block device: all data, as far as anybody can tell.
    Device,
}

/// What lies behind a range of a file, in bytes. The kinds add up to the length of the range;
/// `shared` counts some of them again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backing {
    /// How it was found.
    pub method: BackingMethod,
    /// Nothing there, the part of the range past the end of the file included. Reads as zeros
    /// without the device.
    pub hole_bytes: u64,
    /// Allocated but never written (`fallocate`). Reads as zeros without the device.
    pub unwritten_bytes: u64,
    /// Compressed or encrypted by the file system: what the device reads is of another size.
    pub encoded_bytes: u64,
    /// Within the inode: read with the metadata.
    pub inline_bytes: u64,
    /// Plain data on the device.
    pub data_bytes: u64,
    /// Of all these, shared with other files or snapshots: a write allocates anew.
    pub shared_bytes: u64,
}

impl Backing {
    /// Bytes that a read would not fetch from the device.
    pub fn unbacked_bytes(&self) -> u64 {
        self.hole_bytes + self.unwritten_bytes
    }

    /// Whether every byte of the range is fetched from the device as it is.
    pub fn is_all_data(&self) -> bool {
        self.unbacked_bytes() + self.encoded_bytes + self.inline_bytes == 0
    }
}

/// What lies behind `len` bytes of a file from `start`. `u64::MAX` as `len` means to the end of
/// the file. Data that the file system holds back is written out first, so that it counts as what
/// it will be. Memory does not grow with the file.
///
/// # Errors
/// [`HostError::Unreadable`] when the file cannot be opened or its map not read.
pub fn backing(path: &Path, start: u64, len: u64) -> Result<Backing, HostError> {
    find(path, start, len).map_err(|error| HostError::unreadable(path, error))
}

fn find(path: &Path, start: u64, len: u64) -> io::Result<Backing> {
    // Non-blocking, so that a FIFO in that place cannot hang us.
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    let is_device = meta.file_type().is_block_device();
    if !is_device && !meta.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a file nor a block device"));
    }
    let size = if is_device { rustix::fs::seek(&file, SeekFrom::End(0))? } else { meta.len() };
    let end = if len == u64::MAX { size.max(start) } else { start.saturating_add(len) };
    let within = start.min(size)..end.min(size);
    let past_end = (end - start) - (within.end - within.start);
    let mut found = if is_device {
        Backing { method: BackingMethod::Device, data_bytes: within.end - within.start, ..Backing::default() }
    } else if within.is_empty() {
        Backing::default()
    } else {
        match by_extents(&file, within.start, within.end) {
            Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL | Errno::NOSYS) => {
                by_seeking(&file, within.start, within.end)?
            }
            other => other?,
        }
    };
    found.hole_bytes += past_end;
    Ok(found)
}

/// Walks the extent map in batches.
fn by_extents(file: &File, start: u64, end: u64) -> Result<Backing, Errno> {
    let mut found = Backing::default();
    let mut at = start;
    let mut batch = Box::new(fiemap::Batch::new());
    while at < end {
        batch.fill(file.as_fd(), at, end - at)?;
        let extents = batch.extents();
        let Some(last) = extents.last() else { break };
        let before = at;
        for extent in extents {
            // Extents may begin before what was asked for, and end after it.
            let from = extent.logical.clamp(at, end);
            let to = extent.logical.saturating_add(extent.length).clamp(from, end);
            found.hole_bytes += from - at;
            count(&mut found, extent.flags, to - from);
            at = to;
        }
        // A map that leads nowhere (a file changed meanwhile) must not be followed round and round.
        if last.flags & fiemap::LAST != 0 || at == before {
            break;
        }
    }
    found.hole_bytes += end - at;
    Ok(found)
}

fn count(found: &mut Backing, flags: u32, bytes: u64) {
    let kind = if flags & fiemap::UNWRITTEN != 0 {
        &mut found.unwritten_bytes
    } else if flags & fiemap::DATA_INLINE != 0 {
        &mut found.inline_bytes
    } else if flags & (fiemap::ENCODED | fiemap::DATA_ENCRYPTED) != 0 {
        &mut found.encoded_bytes
    } else {
        &mut found.data_bytes
    };
    *kind += bytes;
    if flags & fiemap::SHARED != 0 {
        found.shared_bytes += bytes;
    }
}

/// For file systems without a map, such as tmpfs and ZFS.
fn by_seeking(file: &File, start: u64, end: u64) -> io::Result<Backing> {
    // What is held back counts as data to SEEK_DATA on most file systems, not on all.
    rustix::fs::fdatasync(file)?;
    let mut found = Backing { method: BackingMethod::Seek, ..Backing::default() };
    let mut at = start;
    while at < end {
        let data = match rustix::fs::seek(file, SeekFrom::Data(at)) {
            Ok(data) => data.clamp(at, end),
            // No data from here to the end.
            Err(Errno::NXIO) => end,
            Err(error) => return Err(error.into()),
        };
        found.hole_bytes += data - at;
        if data == end {
            break;
        }
        let hole = rustix::fs::seek(file, SeekFrom::Hole(data))?.clamp(data, end);
        found.data_bytes += hole - data;
        if hole == data {
            // The file was changed meanwhile; call the rest data rather than go round.
            found.data_bytes += end - data;
            break;
        }
        at = hole;
    }
    Ok(found)
}

/// The FIEMAP request: include/uapi/linux/fiemap.h.
mod fiemap {
    use std::os::fd::BorrowedFd;

    use rustix::io::Errno;
    use rustix::ioctl::{Opcode, Updater, ioctl, opcode};

    pub const LAST: u32 = 0x1;
    pub const ENCODED: u32 = 0x8;
    pub const DATA_ENCRYPTED: u32 = 0x80;
    pub const DATA_INLINE: u32 = 0x200;
    pub const UNWRITTEN: u32 = 0x800;
    pub const SHARED: u32 = 0x2000;

    /// FIEMAP_FLAG_SYNC: write out what is held back before mapping.
    const SYNC: u32 = 0x1;
    /// Extents in a batch: some 14 KiB.
    const BATCH: usize = 256;
    /// FS_IOC_FIEMAP: the size in its number is that of the header alone.
    const FS_IOC_FIEMAP: Opcode = opcode::read_write::<Header>(b'f', 11);

    /// `struct fiemap` without its extents.
    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    struct Header {
        start: u64,
        length: u64,
        flags: u32,
        mapped_extents: u32,
        extent_count: u32,
        reserved: u32,
    }

    /// `struct fiemap_extent`.
    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    pub struct Extent {
        pub logical: u64,
        physical: u64,
        pub length: u64,
        reserved64: [u64; 2],
        pub flags: u32,
        reserved: [u32; 3],
    }

    const _: () = assert!(size_of::<Header>() == 32 && size_of::<Extent>() == 56);

    /// A header with room for extents after it, as the kernel expects.
    #[repr(C)]
    pub struct Batch {
        header: Header,
        extents: [Extent; BATCH],
    }

    impl Batch {
        pub fn new() -> Self {
            Batch { header: Header::default(), extents: [Extent::default(); BATCH] }
        }

        /// Asks for the next extents of a range.
        pub fn fill(&mut self, file: BorrowedFd<'_>, start: u64, length: u64) -> Result<(), Errno> {
            self.header =
                Header { start, length, flags: SYNC, extent_count: BATCH as u32, ..Header::default() };
            // SAFETY: FS_IOC_FIEMAP reads a `struct fiemap` and writes it back with at most
            // `extent_count` extents after it; `Batch` has that layout and room for BATCH.
            unsafe { ioctl(file, Updater::<FS_IOC_FIEMAP, Batch>::new(self)) }
        }

        pub fn extents(&self) -> &[Extent] {
            &self.extents[..BATCH.min(self.header.mapped_extents as usize)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;
    use tempfile::NamedTempFile;

    const MIB: u64 = 1 << 20;

    fn all(file: &NamedTempFile) -> Backing {
        backing(file.path(), 0, u64::MAX).unwrap()
    }

    #[test]
    fn holes_data_and_what_is_past_the_end() {
        let file = NamedTempFile::new().unwrap();
        assert_eq!(all(&file), Backing::default());
        file.as_file().set_len(8 * MIB).unwrap();
        assert_eq!(all(&file).hole_bytes, 8 * MIB);
        // Not synced: the flag has to settle it.
        file.as_file().write_all_at(&vec![1; MIB as usize], 2 * MIB).unwrap();
        let found = all(&file);
        assert_eq!((found.hole_bytes, found.data_bytes), (7 * MIB, MIB));
        assert!(!found.is_all_data());
        let part = backing(file.path(), 2 * MIB + 4096, MIB - 4096).unwrap();
        assert_eq!(part.data_bytes, MIB - 4096);
        assert!(part.is_all_data());
        let past = backing(file.path(), 7 * MIB, 3 * MIB).unwrap();
        assert_eq!(past.hole_bytes, 3 * MIB);
        assert_eq!(backing(file.path(), 20 * MIB, u64::MAX).unwrap(), Backing::default());
        assert_eq!(backing(file.path(), 20 * MIB, 5).unwrap().hole_bytes, 5);
        backing(file.path(), u64::MAX - 1, u64::MAX - 1).unwrap();
    }

    #[test]
    fn preallocated_bytes_are_unwritten() {
        let file = NamedTempFile::new().unwrap();
        let flags = rustix::fs::FallocateFlags::empty();
        if rustix::fs::fallocate(file.as_file(), flags, 0, 4 * MIB).is_err() {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "CI does not skip tests");
            eprintln!("skipped: the temporary directory's file system has no fallocate");
            return;
        }
        file.as_file().write_all_at(&vec![1; MIB as usize], MIB).unwrap();
        let found = all(&file);
        assert_eq!(found.unbacked_bytes(), 3 * MIB);
        assert_eq!(found.data_bytes, MIB);
        if found.method == BackingMethod::Fiemap {
            assert_eq!(found.unwritten_bytes, 3 * MIB);
        }
    }

    #[test]
    fn more_extents_than_one_batch() {
        let file = NamedTempFile::new().unwrap();
        let pieces = 700;
        for piece in 0..pieces {
            file.as_file().write_all_at(&[1; 4096], piece * 8192).unwrap();
        }
        let found = all(&file);
        assert_eq!(found.data_bytes, pieces * 4096);
        assert_eq!(found.hole_bytes, (pieces - 1) * 4096);
    }

    #[test]
    fn seeking_agrees_with_the_map() {
        let file = NamedTempFile::new().unwrap();
        file.as_file().set_len(4 * MIB).unwrap();
        file.as_file().write_all_at(&vec![1; MIB as usize], MIB).unwrap();
        let found = by_seeking(file.as_file(), 0, 4 * MIB).unwrap();
        assert_eq!((found.hole_bytes, found.data_bytes), (3 * MIB, MIB));
        assert_eq!(by_seeking(file.as_file(), MIB + 512, MIB + 1024).unwrap().data_bytes, 512);
    }

    #[test]
    fn neither_file_nor_device() {
        assert!(backing(Path::new("/"), 0, 1).is_err());
        assert!(backing(Path::new("/no/such/file"), 0, 1).is_err());
    }
}
