//! The power cut.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::parse::{Entry, WriteLog, flags};

/// What a drive with a volatile cache keeps when its power is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerCut {
    /// What was flushed, and the FUA writes; of the rest nothing.
    LoseUnflushed,
    /// Of the writes after the last flush some, without regard for their order.
    Subset {
        /// Chooses them.
        seed: u64,
        /// Parts of them, sector by sector.
        torn: bool,
    },
}

impl PowerCut {
    /// Makes `image` what the drive is after a cut at the end of the log, from `base`, what it was at the
    /// log's beginning.
    ///
    /// # Errors
    /// The system's.
    pub fn apply(self, log: &WriteLog, base: &Path, image: &Path) -> io::Result<()> {
        self.apply_at(log, log.entries.len(), base, image)
    }

    /// The same, after the first `entries` of the log.
    ///
    /// # Errors
    /// The system's.
    ///
    /// # Panics
    /// With more entries than there are.
    pub fn apply_at(self, log: &WriteLog, entries: usize, base: &Path, image: &Path) -> io::Result<()> {
        std::fs::copy(base, image)?;
        let image = File::options().write(true).open(image)?;
        let flushed = log.flushed(entries);
        let mut draws = Draws::of(self);
        for (at, entry) in log.entries[..entries].iter().enumerate().filter(|(_, entry)| entry.is_write()) {
            // A write that comes with a flush is in the cache like any other: the flush goes before it.
            let carries_last_flush = at + 1 == flushed && entry.has(flags::FLUSH);
            if entry.has(flags::FUA) || (at < flushed && !carries_last_flush) {
                put(log, entry, &image, |_| true)?;
            } else {
                draws.next_write();
                put(log, entry, &image, |_| draws.keeps())?;
            }
        }
        image.sync_all()
    }
}

fn put(log: &WriteLog, entry: &Entry, image: &File, mut keeps: impl FnMut(u64) -> bool) -> io::Result<()> {
    let sector_bytes = log.sector_bytes as usize;
    for (i, sector) in log.data(entry)?.chunks(sector_bytes).enumerate() {
        if keeps(i as u64) {
            image.write_all_at(sector, (entry.sector + i as u64) * log.sector_bytes)?;
        }
    }
    Ok(())
}

/// A seed's choices.
struct Draws {
    cut: PowerCut,
    state: u64,
    whole: bool,
}

impl Draws {
    fn of(cut: PowerCut) -> Self {
        let state = if let PowerCut::Subset { seed, .. } = cut { seed } else { 0 };
        Draws { cut, state, whole: false }
    }

    /// SplitMix64.
    fn draw(&mut self) -> bool {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) & 1 == 1
    }

    fn next_write(&mut self) {
        self.whole = self.draw();
    }

    fn keeps(&mut self) -> bool {
        match self.cut {
            PowerCut::LoseUnflushed => false,
            PowerCut::Subset { torn: false, .. } => self.whole,
            PowerCut::Subset { torn: true, .. } => self.draw(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::tests::{log_of, read};
    use super::*;

    const FLUSH: (u64, u64, u64, u8) = (0, 0, flags::FLUSH, 0);

    /// The first byte of each sector after the cut, from eight sectors of nines.
    fn after(cut: PowerCut, entries: &[(u64, u64, u64, u8)], up_to: usize) -> Vec<u8> {
        let log = read(&log_of(entries, 0)).unwrap();
        let name = |what| std::env::temp_dir().join(format!("{}.{what}", crate::unique_name()));
        let (base, image) = (name("base"), name("image"));
        std::fs::write(&base, vec![9; 8 * 512]).unwrap();
        cut.apply_at(&log, up_to, &base, &image).unwrap();
        let bytes = std::fs::read(&image).unwrap();
        assert_eq!(std::fs::read(&base).unwrap(), vec![9; 8 * 512], "the base stays");
        std::fs::remove_file(base).unwrap();
        std::fs::remove_file(image).unwrap();
        assert!(bytes.chunks(512).all(|sector| sector.iter().all(|byte| *byte == sector[0])));
        bytes.chunks(512).map(|sector| sector[0]).collect()
    }

    #[test]
    fn what_was_flushed_stays_and_the_rest_goes() {
        let log = [(0, 2, 0, 1), (2, 1, 0, 2), FLUSH, (0, 1, 0, 3), (4, 1, flags::FUA, 4), (5, 1, 0, 5)];
        let lose = |up_to| after(PowerCut::LoseUnflushed, &log, up_to);
        assert_eq!(lose(6), [1, 1, 2, 9, 4, 9, 9, 9]);
        assert_eq!(lose(3), [1, 1, 2, 9, 9, 9, 9, 9]);
        assert_eq!(lose(2), [9; 8]);
    }

    #[test]
    fn discards_and_writes_that_come_with_a_flush() {
        let discard = (0, 2, flags::DISCARD, 0);
        let log = [discard, FLUSH, (3, 1, 0, 1), (4, 1, flags::FLUSH, 2)];
        assert_eq!(after(PowerCut::LoseUnflushed, &log, 4), [0, 0, 9, 1, 9, 9, 9, 9]);
    }

    #[test]
    fn a_subset_is_the_seeds_and_never_of_what_was_flushed() {
        let log = [(0, 2, 0, 1), FLUSH, (0, 2, 0, 2), (2, 2, 0, 3), (4, 2, 0, 4)];
        let mut whole = std::collections::BTreeSet::new();
        let mut torn = std::collections::BTreeSet::new();
        for seed in 0..200 {
            whole.insert(after(PowerCut::Subset { seed, torn: false }, &log, 5));
            torn.insert(after(PowerCut::Subset { seed, torn: true }, &log, 5));
        }
        // Each of three writes is there or not; each of six sectors is there or not.
        assert_eq!((whole.len(), torn.len()), (8, 63.min(torn.len())));
        assert!(torn.len() > 50);
        assert!(whole.iter().chain(&torn).all(|image| image[0] == 1 || image[0] == 2));
        assert!(whole.iter().all(|image| image[0] == image[1] && image[2] == image[3]));
    }
}
