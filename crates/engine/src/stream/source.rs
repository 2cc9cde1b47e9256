//! What a stream holds, by position, and how far it has been handed out.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use iobound_fill::Filler;

use super::pool::{Chunk, Pool};
use crate::payload::CACHE;

/// The content of one stream.
#[derive(Clone, Debug)]
pub struct Source {
    /// Makes the bytes.
    pub filler: Filler,
    /// Which of the filler's streams.
    pub stream: u64,
}

impl Source {
    /// Bytes `position..` of the stream.
    pub fn fill(&self, position: u64, bytes: &mut [u8]) {
        self.filler.fill(self.stream, position, bytes);
    }

    /// Fills one buffer of a pool.
    pub(crate) fn fill_chunk(&self, pool: &Pool, chunk: &mut Chunk, (position, len): (u64, usize)) {
        // Buffers that together leave the cache anyway are stored past it.
        let past_the_cache = u64::from(pool.buffers()) * pool.buffer_bytes() as u64 > CACHE;
        chunk.fill(position, len, |bytes| {
            if past_the_cache {
                self.filler.fill_streaming(self.stream, position, bytes);
            } else {
                self.filler.fill(self.stream, position, bytes);
            }
        });
    }
}

/// Hands out a stream piece by piece, each piece once, in order.
pub(crate) struct Cursor {
    next: AtomicU64,
    start: u64,
    end: u64,
    piece: u64,
}

impl Cursor {
    /// Over bytes `start..end` in pieces of `piece` bytes; the last may be shorter.
    pub(crate) fn new(start: u64, end: u64, piece: u64) -> Self {
        Cursor { next: AtomicU64::new(start), start, end, piece }
    }

    /// The next piece: its position and length.
    pub(crate) fn take(&self) -> Option<(u64, usize)> {
        if self.next.load(Relaxed) >= self.end {
            return None;
        }
        let position = self.next.fetch_add(self.piece, Relaxed);
        let len = self.end.checked_sub(position).filter(|&left| left > 0)?.min(self.piece);
        Some((position, len as usize))
    }

    /// End of what was handed out.
    pub(crate) fn taken(&self) -> u64 {
        self.next.load(Relaxed).min(self.end)
    }

    /// Whether all was handed out.
    pub(crate) fn is_done(&self) -> bool {
        self.taken() >= self.end
    }

    /// Bytes handed out.
    pub(crate) fn handed_out(&self) -> u64 {
        self.taken() - self.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_cover_the_stream_once(len in 0u64..100_000, piece in 1u64..9_000) {
            let cursor = Cursor::new(0, len, piece);
            let mut at = 0;
            while let Some((position, taken)) = cursor.take() {
                prop_assert_eq!(position, at);
                prop_assert!(taken > 0 && taken as u64 <= piece);
                at += taken as u64;
            }
            prop_assert_eq!((at, cursor.taken(), cursor.is_done()), (len, len, true));
            prop_assert_eq!(cursor.take(), None);
        }
    }
}
