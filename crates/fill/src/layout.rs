//! How a cell is made compressible: some random bytes, then a run that repeats them.
//!
//! Every 4 KiB cell has the same share of random bytes, so storage that compresses in pieces of 4 KiB and
//! storage that compresses in pieces of 128 KiB see about the same ratio. The run copies bytes of its own
//! cell, never zeros or a constant: each cell stays unique, and storage that leaves out zero blocks has none
//! to leave out. A compressor finds the run as one match and, because it extends a match backwards, does so
//! however few positions it tries in random data.

/// Unit of the layout, bytes.
pub(crate) const CELL_BYTES: usize = 4096;
/// Unit of the generator's stores, bytes: the widest register.
pub(crate) const VECTOR_BYTES: usize = 64;

/// What one run costs in compressed bytes beside the random bytes, between what lz4 and zstd need.
///
/// lz4 (block format) counts lengths in bytes of 255: token 1 + offset 2 + about 4096 / 255 + 1 for both
/// lengths = 20. zstd takes some 3 to 5 for the sequence, and a 64 KiB piece some 25 for frame, block and table
/// headers: 1.5 a cell. Their mean leaves each within 1% at ratio 5.
const RUN_COST_BYTES: f64 = 12.5;

/// Random bytes at the start of each cell, and the period of the run after them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Layout {
    /// Random bytes; `CELL_BYTES` when nothing shall compress.
    pub(crate) random_bytes: usize,
    /// The run's byte `i` is the cell's byte `i - period_bytes`.
    pub(crate) period_bytes: usize,
    /// In the vector where the run begins: ones in its bytes, zeros in the random ones.
    pub(crate) run_mask: [u8; VECTOR_BYTES],
}

impl Layout {
    pub(crate) fn new(compress_ratio: f64) -> Self {
        if compress_ratio <= 1.0 {
            return Layout {
                random_bytes: CELL_BYTES,
                period_bytes: CELL_BYTES,
                run_mask: [0; VECTOR_BYTES],
            };
        }
        let random_bytes = (CELL_BYTES as f64 / compress_ratio - RUN_COST_BYTES).round() as usize;
        let random_bytes = random_bytes.clamp(VECTOR_BYTES, CELL_BYTES);
        // Whole vectors, so that the run is made of aligned copies; an odd number of them, so that no period
        // divides the distance of two 512-byte sectors of the cell: sectors stay unique up to a ratio of 7.
        let vectors = random_bytes / VECTOR_BYTES;
        let odd_vectors = vectors - (vectors + 1) % 2;
        let mut run_mask = [0; VECTOR_BYTES];
        run_mask[random_bytes % VECTOR_BYTES..].fill(0xFF);
        Layout { random_bytes, run_mask, period_bytes: odd_vectors * VECTOR_BYTES }
    }

    #[inline(always)]
    pub(crate) fn is_random(&self) -> bool {
        self.random_bytes == CELL_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incompressible_cells_are_all_random() {
        assert!(Layout::new(1.0).is_random());
    }

    #[test]
    fn periods_reach_back_to_random_bytes_and_keep_sectors_apart() {
        let mut ratio = 1.001;
        while ratio <= 32.0 {
            let Layout { random_bytes, period_bytes, .. } = Layout::new(ratio);
            assert!((VECTOR_BYTES..CELL_BYTES).contains(&random_bytes), "{ratio}");
            assert!(period_bytes <= random_bytes && period_bytes > 0);
            assert_eq!(period_bytes / VECTOR_BYTES % 2, 1);
            if ratio <= 6.5 {
                assert!((1..8).all(|sectors| sectors * 512 % period_bytes != 0), "{ratio}");
            }
            ratio *= 1.01;
        }
    }
}
