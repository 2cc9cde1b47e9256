//! The log's format.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What an entry's flags say (`drivers/md/dm-log-writes.c`).
pub mod flags {
    /// Everything before is durable.
    pub const FLUSH: u64 = 1;
    /// This write is durable by itself.
    pub const FUA: u64 = 2;
    /// No data: the sectors' content is given up.
    pub const DISCARD: u64 = 4;
    /// A name for this moment; no write.
    pub const MARK: u64 = 8;
    /// A write of metadata.
    pub const METADATA: u64 = 16;
    /// All that are known.
    pub const KNOWN: u64 = FLUSH | FUA | DISCARD | MARK | METADATA;
}

/// `WRITE_LOG_MAGIC`.
const MAGIC: u64 = 0x6a_7366_7773_6872;
/// `WRITE_LOG_VERSION`.
const VERSION: u64 = 1;
/// Sizes of a sector that drives have.
const SECTOR_BYTES: [u64; 4] = [512, 1024, 2048, 4096];
/// Bytes of the super block's fields.
const SUPER: usize = 28;
/// Bytes of an entry's fields.
const ENTRY: usize = 32;

/// An entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// First sector, in the log's sectors.
    pub sector: u64,
    /// How many.
    pub nr_sectors: u64,
    /// See [`flags`].
    pub flags: u64,
    /// Where its data is in the log, bytes.
    pub data_at: u64,
}

impl Entry {
    /// Whether it changes sectors.
    pub fn is_write(&self) -> bool {
        self.nr_sectors > 0 && self.flags & flags::MARK == 0
    }

    /// Whether any of `wanted` is set.
    pub fn has(&self, wanted: u64) -> bool {
        self.flags & wanted != 0
    }
}

/// A log that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// It cannot be read.
    #[error("reading the write log: {0}")]
    Io(#[from] io::Error),
    /// Something else.
    #[error("no log of writes: {0}")]
    Foreign(String),
    /// Entries are missing in its middle, so that what was flushed cannot be told.
    #[error("the log promises {promised} entries, and only {readable} can be read")]
    Hole {
        /// What its super block says.
        promised: u64,
        /// How many there are up to the hole.
        readable: u64,
    },
}

/// A log of writes.
#[derive(Debug)]
pub struct WriteLog {
    file: File,
    /// Bytes of a sector, the unit of all entries.
    pub sector_bytes: u64,
    /// In their order.
    pub entries: Vec<Entry>,
    /// What the super block says: QEMU brings it up to date at each flush, and at the end if there is
    /// one.
    pub promised: u64,
}

impl WriteLog {
    /// Reads the entries of a log that nobody writes to any more, however it ended.
    ///
    /// # Errors
    /// It is none, or has a hole.
    pub fn read(path: &Path) -> Result<WriteLog, LogError> {
        let file = File::open(path)?;
        let end = file.metadata()?.len();
        let (promised, sector_bytes) = super_block(&file)?;
        let entries = walk(&file, sector_bytes, end)?;
        let readable = entries.len() as u64;
        if readable < promised {
            return Err(LogError::Hole { promised, readable });
        }
        Ok(WriteLog { file, sector_bytes, entries, promised })
    }

    /// How many entries begin the log up to its last flush, that flush included.
    pub fn flushed(&self, up_to: usize) -> usize {
        let last = self.entries[..up_to].iter().rposition(|entry| entry.has(flags::FLUSH));
        last.map_or(0, |at| at + 1)
    }

    /// How many entries have a flush.
    pub fn flushes(&self) -> usize {
        self.entries.iter().filter(|entry| entry.has(flags::FLUSH)).count()
    }

    /// A sector of an entry's data; zeroes for a discard.
    ///
    /// # Errors
    /// The system's.
    pub fn data(&self, entry: &Entry) -> io::Result<Vec<u8>> {
        let mut data = vec![0; (entry.nr_sectors * self.sector_bytes) as usize];
        if !entry.has(flags::DISCARD) {
            self.file.read_exact_at(&mut data, entry.data_at)?;
        }
        Ok(data)
    }
}

/// Entries promised and bytes of a sector. QEMU writes the super block with the first flush, or after 4,096
/// entries: the log of a drive that was sent no flush and then killed begins with zeroes.
fn super_block(file: &File) -> Result<(u64, u64), LogError> {
    let mut head = [0; SUPER];
    let foreign = |words: &str| LogError::Foreign(words.into());
    file.read_exact_at(&mut head, 0).map_err(|_| foreign("it is shorter than a super block"))?;
    if head == [0; SUPER] {
        // The first entry is one sector from the beginning.
        let is_entry = |at: &u64| {
            let mut entry = [0; ENTRY];
            file.read_exact_at(&mut entry, *at).is_ok() && entry != [0; ENTRY]
        };
        let found = SECTOR_BYTES.iter().copied().find(is_entry);
        return found.map(|bytes| (0, bytes)).ok_or_else(|| foreign("it has neither super block nor entry"));
    }
    if u64_at(&head, 0) != MAGIC || u64_at(&head, 8) != VERSION {
        return Err(foreign("its super block has another magic number or version"));
    }
    let sector_bytes = u64::from(u32::from_le_bytes(head[24..28].try_into().expect("four bytes")));
    if !SECTOR_BYTES.contains(&sector_bytes) {
        return Err(foreign("its sector size cannot be"));
    }
    Ok((u64_at(&head, 16), sector_bytes))
}

/// Entries up to the first place where there is none: the end of the file, a sector of zeroes, or an
/// entry whose data is not all there, since the power went while it was logged.
fn walk(file: &File, sector_bytes: u64, end: u64) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut at = sector_bytes;
    while at + sector_bytes <= end {
        let mut head = [0; ENTRY];
        file.read_exact_at(&mut head, at)?;
        let (sector, nr_sectors, flags) = (u64_at(&head, 0), u64_at(&head, 8), u64_at(&head, 16));
        let is_none = head == [0; ENTRY] || flags & !flags::KNOWN != 0 || (nr_sectors == 0 && flags == 0);
        let has_data = flags & (flags::DISCARD | flags::MARK) == 0;
        let data_bytes = if has_data { nr_sectors.checked_mul(sector_bytes) } else { Some(0) };
        let next = data_bytes.and_then(|bytes| bytes.checked_add(at + sector_bytes));
        let in_range =
            sector.checked_add(nr_sectors).and_then(|last| last.checked_mul(sector_bytes)).is_some();
        match next {
            Some(next) if next <= end && !is_none && in_range => {
                entries.push(Entry { sector, nr_sectors, flags, data_at: at + sector_bytes });
                at = next;
            }
            _ => break,
        }
    }
    Ok(entries)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::io::Write;

    /// A log as QEMU writes it: sector, number, flags and the byte that its data consists of.
    pub fn log_of(entries: &[(u64, u64, u64, u8)], promised: u64) -> Vec<u8> {
        let mut bytes = vec![0; 512];
        bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[8..16].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..24].copy_from_slice(&promised.to_le_bytes());
        bytes[24..28].copy_from_slice(&512u32.to_le_bytes());
        for &(sector, number, flags, byte) in entries {
            let mut head = [0; 512];
            head[..8].copy_from_slice(&sector.to_le_bytes());
            head[8..16].copy_from_slice(&number.to_le_bytes());
            head[16..24].copy_from_slice(&flags.to_le_bytes());
            bytes.extend_from_slice(&head);
            if flags & (flags::DISCARD | flags::MARK) == 0 {
                bytes.resize(bytes.len() + number as usize * 512, byte);
            }
        }
        bytes
    }

    pub fn read(bytes: &[u8]) -> Result<WriteLog, LogError> {
        let path = std::env::temp_dir().join(format!("{}.log", crate::unique_name()));
        File::create(&path).unwrap().write_all(bytes).unwrap();
        let log = WriteLog::read(&path);
        std::fs::remove_file(&path).unwrap();
        log
    }

    const ENTRIES: [(u64, u64, u64, u8); 5] =
        [(0, 8, 0, 1), (0, 0, 1, 0), (8, 4, 4, 0), (0, 0, 8, 0), (16, 2, 2, 3)];

    /// The first bytes of a log that QEMU 7.2 wrote: 12 entries of 512 bytes a sector.
    #[test]
    fn the_super_block_of_qemu() {
        let mut bytes = [0; 512];
        bytes[..8].copy_from_slice(&29_963_231_459_240_050_u64.to_le_bytes());
        (bytes[8], bytes[16], bytes[25]) = (1, 12, 2);
        assert!(matches!(read(&bytes), Err(LogError::Hole { promised: 12, readable: 0 })));
    }

    #[test]
    fn entries_with_and_without_data() {
        let log = read(&log_of(&ENTRIES, 5)).unwrap();
        let shapes: Vec<_> = log.entries.iter().map(|e| (e.sector, e.nr_sectors, e.flags)).collect();
        assert_eq!(shapes, ENTRIES.map(|(sector, number, flags, _)| (sector, number, flags)));
        assert_eq!(log.data(&log.entries[4]).unwrap(), [3; 1024]);
        assert_eq!(log.data(&log.entries[2]).unwrap(), [0; 2048]);
        assert_eq!((log.flushed(5), log.flushed(1), log.flushes()), (2, 0, 1));
    }

    #[test]
    fn a_killed_daemon_leaves_more_than_the_super_block_says_or_half_an_entry() {
        let bytes = log_of(&ENTRIES, 2);
        assert_eq!(read(&bytes).unwrap().entries.len(), 5);
        assert_eq!(read(&bytes[..bytes.len() - 1]).unwrap().entries.len(), 4);
        // No flush came, so the super block was never written.
        let mut without = bytes.clone();
        without[..512].fill(0);
        assert_eq!(read(&without).unwrap().entries.len(), 5);
        assert!(matches!(read(&[0; 8192]), Err(LogError::Foreign(_))));
        let mut longer = bytes.clone();
        longer.resize(bytes.len() + 4096, 0);
        assert_eq!(read(&longer).unwrap().entries.len(), 5);
    }

    #[test]
    fn what_cannot_be_judged_is_an_error() {
        let bytes = log_of(&ENTRIES, 6);
        assert!(matches!(read(&bytes), Err(LogError::Hole { promised: 6, readable: 5 })));
        assert!(matches!(read(b"short"), Err(LogError::Foreign(_))));
        assert!(matches!(read(&[7; 4096]), Err(LogError::Foreign(_))));
        let mut odd = log_of(&[], 0);
        odd[24] = 1;
        assert!(matches!(read(&odd), Err(LogError::Foreign(_))));
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { cases: 300, ..Default::default() })]

        #[test]
        fn no_log_panics(
            at in proptest::prelude::any::<proptest::sample::Index>(),
            bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 1..40),
        ) {
            let mut log = log_of(&ENTRIES, 5);
            let at = at.index(log.len() - bytes.len());
            log[at..at + bytes.len()].copy_from_slice(&bytes);
            let _ = read(&log);
        }
    }
}
