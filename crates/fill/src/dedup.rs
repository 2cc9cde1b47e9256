//! Where duplicates lie: which unit of a stream repeats which, by arithmetic alone.
//!
//! The stream is seen as rows of `columns` units. Down each column the same content is held for a few rows
//! (on average `ratio` of them), then the next one begins, so copies of a unit lie exactly one row apart. The
//! columns change content at different rows, spread evenly, so every row holds the same share of new units
//! and the ratio holds in any window, wherever it begins.

use crate::layout::CELL_BYTES;

/// The most a row holds, and so the most that lies between copies. More than the window of `zstd -1`.
const MAX_ROW_BYTES: u64 = 1 << 20;
/// The least: more than any piece that compressing storage commonly takes at once (btrfs, 128 KiB), so that
/// duplicates do not show up as compressible data.
const MIN_ROW_BYTES: u64 = 128 << 10;
/// How much of the stream a group of copies should span. A window of the stream cuts the groups at its ends,
/// which costs `SPAN / window` of the ratio: 1.6% in 64 MiB.
const GROUP_SPAN_BYTES: f64 = (1 << 20) as f64;
/// Golden ratio in 64 fraction bits: its multiples spread evenly over the unit interval.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Maps a cell of the stream to the cell of content that it shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DedupMap {
    /// Unique units per unit, in 64 fraction bits; 0 means that all are unique.
    unique_share: u64,
    /// log2 of units in a row.
    column_bits: u32,
    /// log2 of cells in a unit.
    cell_bits: u32,
}

impl DedupMap {
    pub(crate) fn new(ratio: f64, unit_bytes: usize) -> Self {
        let unit_bytes = unit_bytes as u64;
        let cell_bits = (unit_bytes / CELL_BYTES as u64).ilog2();
        if ratio <= 1.0 {
            return DedupMap { unique_share: 0, column_bits: 0, cell_bits };
        }
        let wanted = (GROUP_SPAN_BYTES / (ratio - 1.0)).min(MAX_ROW_BYTES as f64) as u64;
        let row_bytes = (1 << wanted.max(1).ilog2()).max(MIN_ROW_BYTES).max(unit_bytes);
        // The cast saturates just above 1, where the share would not fit.
        let unique_share = (2f64.powi(64) / ratio) as u64;
        DedupMap { unique_share, column_bits: (row_bytes / unit_bytes).ilog2(), cell_bits }
    }

    #[inline(always)]
    pub(crate) fn content(&self, cell: u64) -> u64 {
        if self.unique_share == 0 {
            return cell;
        }
        let unit = cell >> self.cell_bits;
        let column = unit & ((1 << self.column_bits) - 1);
        let row = unit >> self.column_bits;
        let phase = column.wrapping_mul(GOLDEN);
        let group = ((u128::from(row) * u128::from(self.unique_share) + u128::from(phase)) >> 64) as u64;
        let content_unit = (group << self.column_bits) | column;
        (content_unit << self.cell_bits) | (cell & ((1 << self.cell_bits) - 1))
    }

    /// Bytes between two copies.
    #[cfg(test)]
    fn distance_bytes(&self) -> u64 {
        (CELL_BYTES as u64) << (self.cell_bits + self.column_bits)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    fn unique(map: &DedupMap, cells: std::ops::Range<u64>) -> usize {
        cells.map(|cell| map.content(cell)).collect::<HashSet<_>>().len()
    }

    #[test]
    fn ratio_one_repeats_nothing() {
        let map = DedupMap::new(1.0, 1 << 20);
        for cell in [0, 1, 255, 256, u64::MAX >> 12] {
            assert_eq!(map.content(cell), cell);
        }
    }

    #[test]
    fn ratio_holds_in_any_window_of_64_mib() {
        let window = (64 << 20) / CELL_BYTES as u64;
        for ratio in [1.1, 1.5, 2.0, 2.5, 3.0, 5.0, 7.3] {
            let map = DedupMap::new(ratio, 4096);
            for start in [0, 1, 100, 777, 65_536, 123_457, (1 << 40) + 99] {
                let found = window as f64 / unique(&map, start..start + window) as f64;
                let error = found / ratio - 1.0;
                assert!(error.abs() < 0.02, "{ratio} at {start}: {found}");
            }
        }
    }

    #[test]
    fn ratio_holds_for_each_unit() {
        for unit in (12..=20).map(|bits| 1usize << bits) {
            let window = (256 << 20) / CELL_BYTES as u64;
            for ratio in [1.5, 2.0, 3.0, 5.0] {
                let map = DedupMap::new(ratio, unit);
                let found = window as f64 / unique(&map, 0..window) as f64;
                assert!((found / ratio - 1.0).abs() < 0.02, "{ratio} in units of {unit}: {found}");
            }
        }
    }

    #[test]
    fn copies_lie_at_least_a_row_apart_and_units_repeat_whole() {
        for (ratio, unit) in [(1.01, 4096), (1.5, 4096), (5.0, 4096), (100.0, 4096), (3.0, 65_536)] {
            let map = DedupMap::new(ratio, unit);
            assert!(map.distance_bytes() >= MIN_ROW_BYTES);
            let mut seen = HashMap::new();
            for cell in 0..65_536 {
                if let Some(before) = seen.insert(map.content(cell), cell) {
                    assert_eq!((cell - before) * CELL_BYTES as u64, map.distance_bytes());
                }
                assert_eq!(map.content(cell) % (unit / 4096) as u64, cell % (unit / 4096) as u64);
            }
        }
        assert_eq!(DedupMap::new(2.0, 4096).distance_bytes(), 1 << 20);
    }

    #[test]
    fn the_end_of_the_address_space_is_no_different() {
        let map = DedupMap::new(5.0, 4096);
        let last = u64::MAX >> 12;
        assert!(map.content(last) < last);
    }
}
