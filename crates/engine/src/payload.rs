//! What writes carry.

use iobound_fill::{FillSpec, Filler};
use iobound_record::{Job, JobError};

use crate::offsets::Random;

/// A sector: the piece that storage can tell apart from any other. Stamping each keeps buffers that
/// are reused from looking like duplicates to storage that removes them.
const SECTOR: usize = 512;

/// The L2 cache of a core on current servers, 1 to 2 MiB: above, data that was filled is gone from it
/// before the slot comes round again.
pub(crate) const CACHE: u64 = 1 << 20;

/// Makes the data of one thread's writes.
pub(crate) struct Payload {
    filler: Filler,
    stream: u64,
    cursor: u64,
    refill: bool,
    /// Buffers that together leave the cache anyway are stored past it.
    streaming: bool,
    zero: bool,
    stamps: Random,
}

/// The filler that a job asks for.
pub(crate) fn filler_of(job: &Job) -> Result<Filler, JobError> {
    let spec = FillSpec {
        seed: job.randseed,
        compress_ratio: job.compress_ratio,
        dedup_ratio: job.dedup_ratio,
        dedup_unit: job.dedup_unit as usize,
    };
    Filler::new(spec).map_err(|error| JobError {
        job: job.name.clone(),
        option: "compress_ratio",
        cause: error.to_string(),
        remedy: "choose ratios of 1.0 and more and a power of two as dedup_unit".into(),
    })
}

impl Payload {
    pub(crate) fn new(job: &Job, filler: Filler, stream: u64) -> Self {
        // Stamps would spoil a ratio that was asked for, so such data is made anew each time.
        let shaped = job.compress_ratio != 1.0 || job.dedup_ratio != 1.0;
        Payload {
            filler,
            stream,
            cursor: 0,
            refill: job.refill_buffers || shaped,
            streaming: u64::from(job.iodepth) * job.block_sizes().1 > CACHE,
            zero: job.zero_buffers,
            stamps: Random::new(job.randseed ^ stream.rotate_left(17)),
        }
    }

    /// First content of a buffer, before the run.
    pub(crate) fn prefill(&mut self, slot: u32, buffer: &mut [u8]) {
        if self.zero {
            buffer.fill(0);
        } else {
            // Far above every position that refilling reaches.
            self.filler.fill(self.stream, (1 << 62) + u64::from(slot) * (1 << 32), buffer);
        }
    }

    /// Whether each write needs `renew` before it.
    pub(crate) fn renews(&self) -> bool {
        !self.zero
    }

    /// New content for one write.
    #[inline]
    pub(crate) fn renew(&mut self, buffer: &mut [u8]) {
        if self.refill {
            if self.streaming {
                self.filler.fill_streaming(self.stream, self.cursor, buffer);
            } else {
                self.filler.fill(self.stream, self.cursor, buffer);
            }
            self.cursor += buffer.len() as u64;
            return;
        }
        for sector in buffer.chunks_exact_mut(SECTOR) {
            sector[..8].copy_from_slice(&self.stamps.draw().to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reused_buffers_hold_no_duplicate_sector() {
        let job = Job::default();
        let mut payload = Payload::new(&job, filler_of(&job).unwrap(), 1);
        let mut buffer = vec![0; 4096];
        payload.prefill(0, &mut buffer);
        let mut seen = std::collections::HashSet::new();
        for _ in 0..100 {
            payload.renew(&mut buffer);
            for sector in buffer.chunks(SECTOR) {
                assert!(seen.insert(sector.to_vec()), "a sector came twice");
            }
        }
    }
}
