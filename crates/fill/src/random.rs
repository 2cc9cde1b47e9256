//! The generator: a keyed, counter-based hash on 32-bit lanes.
//!
//! Counter-based, so any byte can be made without those before it. Lanes of 32 bits with multiply, shift and
//! exclusive-or, because SSE, AVX2, AVX-512 and NEON all have these: every path gives the same bytes, none has
//! to emulate another's instructions. (An AES round counter is as fast on x86-64, but needs tables elsewhere.)
//!
//! Keys descend: seed -> stream -> cell, 16 lanes of 32 bits each, so two cells share a key only by a chance of
//! 2^-512. Within a cell, vector `j` of 64 bytes is `mix(key + j * STEP)`.

use crate::layout::{CELL_BYTES, VECTOR_BYTES};

/// Lanes in a vector.
const LANES: usize = VECTOR_BYTES / 4;
/// Vectors made per pass of the inner loop. With four, the loop is long enough that LLVM vectorises it along
/// the lanes, as they lie in memory; with one it unrolls the lanes and transposes, at a fifth of the speed.
const VECTORS_A_PASS: usize = 4;
/// Bytes made per pass of the inner loop.
pub(crate) const BLOCK_BYTES: usize = VECTORS_A_PASS * VECTOR_BYTES;
/// The counter's step from vector to vector: 2^32 over the golden ratio, odd.
const STEP: u32 = 0x9E37_79B9;
/// Keeps lanes apart whatever their keys: an odd constant of MurmurHash3's finaliser.
const LANE_STEP: u32 = 0x85EB_CA6B;

/// A key for each lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Keys([u32; LANES]);

/// Chris Wellons' `lowbias32`: the least biased 32-bit mix known of two multiplications.
#[inline(always)]
const fn mix(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7FEB_352D);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846C_A68B);
    x ^= x >> 16;
    x
}

impl Keys {
    /// The keys under which all seeds stand. They differ by lane, so that 64 bits of seed reach the lanes in 16
    /// different ways and no two seeds give the same keys.
    const ROOT: Keys = {
        let mut lanes = [0; LANES];
        let mut lane = 0;
        while lane < LANES {
            lanes[lane] = mix((lane as u32 + 1).wrapping_mul(STEP));
            lane += 1;
        }
        Keys(lanes)
    };

    pub(crate) fn of_seed(seed: u64) -> Keys {
        Keys::ROOT.derive(seed)
    }

    /// The keys of child `number`.
    #[inline(always)]
    pub(crate) fn derive(&self, number: u64) -> Keys {
        let (low, high) = (number as u32, (number >> 32) as u32);
        let mut lanes = [0; LANES];
        for (lane, (derived, key)) in lanes.iter_mut().zip(&self.0).enumerate() {
            let half = mix(key ^ low);
            *derived = mix(half.wrapping_add(high).wrapping_add((lane as u32).wrapping_mul(LANE_STEP)));
        }
        Keys(lanes)
    }

    /// Keys for one pass of the inner loop, the counter's steps within the pass added.
    #[inline(always)]
    pub(crate) fn spread(&self) -> Spread {
        let mut spread = [0; LANES * VECTORS_A_PASS];
        for (vector, part) in spread.chunks_exact_mut(LANES).enumerate() {
            for (lane, key) in part.iter_mut().zip(&self.0) {
                *lane = key.wrapping_add((vector as u32).wrapping_mul(STEP));
            }
        }
        Spread(spread)
    }
}

/// A cell's keys as the inner loop takes them.
pub(crate) struct Spread([u32; LANES * VECTORS_A_PASS]);

impl Spread {
    /// Writes blocks `first..` of the cell that has these keys; `out` is a whole number of blocks.
    #[inline(always)]
    pub(crate) fn write_blocks(&self, first: usize, out: &mut [u8]) {
        debug_assert!(out.len().is_multiple_of(BLOCK_BYTES));
        debug_assert!(first * BLOCK_BYTES + out.len() <= CELL_BYTES);
        const PASS_STEP: u32 = STEP.wrapping_mul(VECTORS_A_PASS as u32);
        let mut counter = PASS_STEP.wrapping_mul(first as u32);
        let (words, _) = out.as_chunks_mut::<4>();
        for block in words.chunks_exact_mut(LANES * VECTORS_A_PASS) {
            for (word, key) in block.iter_mut().zip(&self.0) {
                *word = mix(key.wrapping_add(counter)).to_le_bytes();
            }
            counter = counter.wrapping_add(PASS_STEP);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_block_is_made_alone() {
        let keys = Keys::of_seed(7).derive(3).derive(1 << 40);
        let mut whole = [0; CELL_BYTES];
        keys.spread().write_blocks(0, &mut whole);
        for first in 0..CELL_BYTES / BLOCK_BYTES {
            let mut block = [0; BLOCK_BYTES];
            keys.spread().write_blocks(first, &mut block);
            assert_eq!(block, whole[first * BLOCK_BYTES..][..BLOCK_BYTES]);
        }
    }

    #[test]
    fn vectors_are_as_documented() {
        let keys = Keys::of_seed(0);
        let mut cell = [0; CELL_BYTES];
        keys.spread().write_blocks(0, &mut cell);
        for (vector, bytes) in cell.chunks_exact(VECTOR_BYTES).enumerate() {
            for (word, key) in bytes.chunks_exact(4).zip(keys.0) {
                assert_eq!(word, mix(key.wrapping_add((vector as u32).wrapping_mul(STEP))).to_le_bytes());
            }
        }
    }

    #[test]
    fn keys_differ_by_both_halves_of_the_number_and_in_every_lane() {
        let root = Keys::of_seed(1);
        let derived = [0, 1, 1 << 32, u64::MAX].map(|number| root.derive(number));
        for (i, a) in derived.iter().enumerate() {
            for b in &derived[..i] {
                assert!(a.0.iter().zip(b.0).all(|(a, b)| *a != b));
            }
        }
    }
}
