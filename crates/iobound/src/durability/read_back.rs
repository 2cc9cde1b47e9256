//! Reads the medium after the cut.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{Advice, OFlags};

use super::geometry::Geometry;
use super::record::{self, Key};
use super::target::Aligned;
use super::verdict::{Found, Medium};

/// How much is read at once.
const PIECE: usize = 1 << 20;

/// A file or device that is read.
pub struct ReadBack {
    file: File,
    geometry: Geometry,
    piece: Aligned,
    /// First slot in the piece, and how many bytes of it are there.
    held: Option<(u64, usize)>,
    /// Past the page cache.
    pub direct: bool,
}

impl ReadBack {
    /// Opens it past the page cache where that can be, so that the medium answers.
    ///
    /// # Errors
    /// The system's.
    pub fn open(path: &Path, geometry: Geometry) -> io::Result<ReadBack> {
        let with = |flags: OFlags| File::options().read(true).custom_flags(flags.bits() as i32).open(path);
        let bs = geometry.bs as usize;
        let mut piece = Aligned::new((PIECE / bs).max(1) * bs);
        // Some file systems take the flag and refuse the read.
        let works = |file: &File, piece: &mut Aligned| match file.read_at(&mut piece.bytes()[..bs], 0) {
            Err(error) => error.raw_os_error() != Some(rustix::io::Errno::INVAL.raw_os_error()),
            Ok(_) => true,
        };
        let direct = with(OFlags::DIRECT).ok().filter(|file| works(file, &mut piece));
        let (file, direct) = match direct {
            Some(file) => (file, true),
            None => (with(OFlags::empty())?, false),
        };
        let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
        Ok(ReadBack { file, geometry, piece, held: None, direct })
    }

    /// The bytes of a slot that are there.
    fn slot(&mut self, slot: u64) -> io::Result<&[u8]> {
        let bs = self.geometry.bs as usize;
        let slots = (self.piece.bytes().len() / bs) as u64;
        if self.held.is_none_or(|(first, _)| slot < first || slot >= first + slots) {
            self.held = None;
            let held = match self.read(slot, slots as usize * bs) {
                Ok(length) => (slot, length),
                // One bad place must not hide its neighbours.
                Err(_) => {
                    let length = self.read(slot, bs)?;
                    return Ok(&self.piece.bytes()[..length]);
                }
            };
            self.held = Some(held);
        }
        let (first, length) = self.held.unwrap_or((slot, 0));
        let from = ((slot - first) as usize * bs).min(length);
        let to = (from + bs).min(length);
        Ok(&self.piece.bytes()[from..to])
    }

    /// Fills the piece from a slot on; how much of it was there.
    fn read(&mut self, slot: u64, length: usize) -> io::Result<usize> {
        let at = slot * u64::from(self.geometry.bs);
        let mut done = 0;
        while done < length {
            match self.file.read_at(&mut self.piece.bytes()[done..length], at + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Behind an end that is no multiple of the sector.
                Err(_) if done > 0 && done % 512 != 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }
}

impl Medium for ReadBack {
    fn content(&mut self, slot: u64) -> Found {
        let geometry = self.geometry;
        match self.slot(slot) {
            Ok(block) if block.len() < geometry.bs as usize => Found::Missing,
            Ok(block) => Found::Content(record::read(block, slot, &geometry)),
            Err(error) => Found::Unreadable(error.raw_os_error().unwrap_or(0)),
        }
    }

    fn sectors_of(&mut self, slot: u64, key: Key) -> u32 {
        let geometry = self.geometry;
        self.slot(slot).map_or(0, |block| record::sectors_of(block, key, &geometry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durability::geometry::Pattern;
    use crate::durability::record::Content;

    #[test]
    fn slots_of_a_file_up_to_its_end() {
        let geometry = Geometry { bs: 512, threads: 1, slots_per_thread: 5000, pattern: Pattern::Append };
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut block = vec![0; 512];
        for seq in [1, 2, 2049, 4000] {
            let key = Key { run: 3, thread: 0, seq };
            record::render(key, &geometry, &mut block);
            file.as_file().write_all_at(&block, (seq - 1) * 512).unwrap();
        }
        file.as_file().set_len(4001 * 512 + 100).unwrap();
        let mut medium = ReadBack::open(file.path(), geometry).unwrap();
        for slot in [0u64, 1, 2048, 3999] {
            let key = Key { run: 3, thread: 0, seq: slot + 1 };
            assert_eq!(medium.content(slot), Found::Content(Content::Record(key)), "{slot}");
            assert_eq!(medium.sectors_of(slot, key), 1);
        }
        assert_eq!(medium.content(2), Found::Content(Content::Foreign));
        assert_eq!(medium.content(4000), Found::Content(Content::Foreign));
        assert_eq!(medium.content(4001), Found::Missing);
        assert_eq!(medium.content(4999), Found::Missing);
    }
}
