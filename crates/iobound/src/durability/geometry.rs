//! Which record stands where.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The unit that devices write whole (or are supposed to): records consist of such sectors.
pub const SECTOR: u32 = 512;
/// Largest record: larger ones only make the test slower.
const BS_MAX: u32 = 16 << 20;
/// Most threads.
const THREADS_MAX: u32 = 1024;
/// Most places for records: verifying keeps a few bytes of each.
const SLOTS_MAX: u64 = 1 << 28;

/// More records than any run writes, and far enough from the end of the numbers to count on.
const SEQUENCE_MAX: u64 = 1 << 60;

/// What happens when every slot has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Each slot is written once: the file grows, unless it is preallocated
    Append,
    /// Slots are written again and again, as a recycled WAL or a table's pages are
    Overwrite,
}

/// Sizes and places of the records of a run. Threads take the slots in turns, so that a file that
/// grows has no holes for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    /// Bytes of a record and its slot.
    pub bs: u32,
    /// Threads, each with its own sequence.
    pub threads: u32,
    /// Slots of each thread.
    pub slots_per_thread: u64,
    /// What happens after the last slot.
    pub pattern: Pattern,
}

/// Sizes that cannot be.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum GeometryError {
    /// Not whole sectors.
    #[error("--bs {0} is not a multiple of 512 between 512 and 16 MiB; use 4k, for example")]
    BlockSize(u64),
    /// Too many or none.
    #[error("--threads {0} is not between 1 and 1024")]
    Threads(u32),
    /// Not even a record for each thread.
    #[error(
        "--size {size} has no room for two records of {bs} bytes for each of {threads} threads; use more"
    )]
    TooSmall {
        /// What was asked.
        size: u64,
        /// Bytes of a record.
        bs: u64,
        /// Threads.
        threads: u32,
    },
    /// More places than verifying can keep track of.
    #[error(
        "{0} records are too many to keep track of (2^28 are not); use a larger --bs or a smaller --size"
    )]
    TooLarge(u64),
}

impl Geometry {
    /// As many slots as fit into `size` bytes.
    ///
    /// # Errors
    /// Sizes that cannot be.
    pub fn new(bs: u64, threads: u32, size: u64, pattern: Pattern) -> Result<Self, GeometryError> {
        let fits = u32::try_from(bs).ok().filter(|bs| *bs <= BS_MAX && *bs > 0 && bs.is_multiple_of(SECTOR));
        let Some(bs) = fits else { return Err(GeometryError::BlockSize(bs)) };
        let slots_per_thread = size / u64::from(bs) / u64::from(threads.max(1));
        let geometry = Geometry { bs, threads, slots_per_thread, pattern };
        geometry.check().map(|()| geometry)
    }

    /// Whether the sizes can be; those of a log come from outside.
    ///
    /// # Errors
    /// Which of them cannot.
    pub fn check(&self) -> Result<(), GeometryError> {
        if self.bs == 0 || self.bs > BS_MAX || !self.bs.is_multiple_of(SECTOR) {
            return Err(GeometryError::BlockSize(self.bs.into()));
        }
        if self.threads == 0 || self.threads > THREADS_MAX {
            return Err(GeometryError::Threads(self.threads));
        }
        if self.slots_per_thread < 2 {
            let (bs, threads) = (u64::from(self.bs), self.threads);
            let size = self.slots_per_thread * bs * u64::from(threads);
            return Err(GeometryError::TooSmall { size, bs, threads });
        }
        let slots = self.slots_per_thread.saturating_mul(u64::from(self.threads));
        if slots > SLOTS_MAX { Err(GeometryError::TooLarge(slots)) } else { Ok(()) }
    }

    /// All slots.
    pub fn slots(&self) -> u64 {
        self.slots_per_thread * u64::from(self.threads)
    }

    /// Bytes of all slots.
    pub fn bytes(&self) -> u64 {
        self.slots() * u64::from(self.bs)
    }

    /// Where the record `seq` (from 1) of a thread stands.
    pub fn slot(&self, thread: u32, seq: u64) -> u64 {
        (seq - 1) % self.slots_per_thread * u64::from(self.threads) + u64::from(thread)
    }

    /// How many records of its slot there are with this one.
    pub fn generation(&self, seq: u64) -> u64 {
        (seq - 1) / self.slots_per_thread + 1
    }

    /// Whose slot it is.
    pub fn thread_of(&self, slot: u64) -> u32 {
        (slot % u64::from(self.threads)) as u32
    }

    /// The newest record that the slot holds once its thread has written all up to `last`.
    pub fn newest_in(&self, slot: u64, last: u64) -> Option<u64> {
        let first = slot / u64::from(self.threads) + 1;
        (first <= last).then(|| first + (last - first) / self.slots_per_thread * self.slots_per_thread)
    }

    /// The last record of a thread, where records are not overwritten.
    pub fn last(&self) -> u64 {
        match self.pattern {
            Pattern::Append => self.slots_per_thread,
            Pattern::Overwrite => SEQUENCE_MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_that_cannot_be() {
        let new = |bs, threads, size| Geometry::new(bs, threads, size, Pattern::Overwrite);
        assert_eq!(new(4096, 2, 1 << 20).unwrap().slots_per_thread, 128);
        for bs in [0, 100, 513, 32 << 20, u64::MAX] {
            assert_eq!(new(bs, 1, 1 << 30), Err(GeometryError::BlockSize(bs)));
        }
        assert_eq!(new(4096, 0, 1 << 20), Err(GeometryError::Threads(0)));
        assert!(matches!(new(4096, 1, 4096), Err(GeometryError::TooSmall { .. })));
        assert!(matches!(new(512, 1, 1 << 40), Err(GeometryError::TooLarge(_))));
    }

    proptest! {
        #[test]
        fn newest_is_the_last_that_was_written(threads in 1u32..5, per in 2u64..9, last in 0u64..60) {
            let geometry = Geometry { bs: 512, threads, slots_per_thread: per, pattern: Pattern::Overwrite };
            for thread in 0..threads {
                let mut slots = std::collections::BTreeMap::new();
                for seq in 1..=last {
                    slots.insert(geometry.slot(thread, seq), seq);
                }
                for slot in (0..geometry.slots()).filter(|&slot| geometry.thread_of(slot) == thread) {
                    prop_assert_eq!(geometry.newest_in(slot, last), slots.get(&slot).copied());
                }
            }
        }
    }
}
