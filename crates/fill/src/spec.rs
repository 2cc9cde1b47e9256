//! What is asked of the data, and the range in which it can be met.

use crate::error::FillError;

/// Least ratio: the data as it is.
pub(crate) const MIN_RATIO: f64 = 1.0;
/// Above this a 4 KiB cell's framing in the compressors outweighs its random bytes.
pub(crate) const MAX_COMPRESS_RATIO: f64 = 32.0;
/// Keeps a group of duplicates within a few hundred MiB of stream.
pub(crate) const MAX_DEDUP_RATIO: f64 = 1000.0;
/// Smallest block that file systems and arrays deduplicate.
pub(crate) const MIN_DEDUP_UNIT_BYTES: usize = 4 << 10;
/// Largest record that they do.
pub(crate) const MAX_DEDUP_UNIT_BYTES: usize = 1 << 20;

/// What the data shall look like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FillSpec {
    /// Same seed, same bytes.
    pub seed: u64,
    /// Size before over size after, as `zstd -1` and `lz4` see it in pieces of 64 KiB: 1.0 (incompressible)
    /// to 32.
    pub compress_ratio: f64,
    /// Units over unique units: 1.0 (no duplicate) to 1000.
    pub dedup_ratio: f64,
    /// Unit at which data repeats, bytes: a power of two, 4 KiB to 1 MiB.
    pub dedup_unit: usize,
}

impl Default for FillSpec {
    fn default() -> Self {
        FillSpec { seed: 0, compress_ratio: 1.0, dedup_ratio: 1.0, dedup_unit: MIN_DEDUP_UNIT_BYTES }
    }
}

impl FillSpec {
    pub(crate) fn check(&self) -> Result<(), FillError> {
        // A range contains no NaN, so it is refused here too.
        if !(MIN_RATIO..=MAX_COMPRESS_RATIO).contains(&self.compress_ratio) {
            return Err(FillError::CompressRatio { asked: self.compress_ratio });
        }
        if !(MIN_RATIO..=MAX_DEDUP_RATIO).contains(&self.dedup_ratio) {
            return Err(FillError::DedupRatio { asked: self.dedup_ratio });
        }
        let unit = self.dedup_unit;
        if !unit.is_power_of_two() || !(MIN_DEDUP_UNIT_BYTES..=MAX_DEDUP_UNIT_BYTES).contains(&unit) {
            return Err(FillError::DedupUnit { asked: unit });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_inclusive() {
        let spec = FillSpec { compress_ratio: 32.0, dedup_ratio: 1000.0, dedup_unit: 1 << 20, seed: 1 };
        assert_eq!(spec.check(), Ok(()));
        assert_eq!(FillSpec::default().check(), Ok(()));
    }

    #[test]
    fn refuses_what_it_cannot_meet() {
        for asked in [0.0, -1.0, 0.999_999, 32.1, f64::INFINITY, f64::NEG_INFINITY] {
            let spec = FillSpec { compress_ratio: asked, ..FillSpec::default() };
            assert_eq!(spec.check(), Err(FillError::CompressRatio { asked }));
        }
        for asked in [0.0, 0.5, 1001.0, f64::INFINITY] {
            let spec = FillSpec { dedup_ratio: asked, ..FillSpec::default() };
            assert_eq!(spec.check(), Err(FillError::DedupRatio { asked }));
        }
        assert!(FillSpec { compress_ratio: f64::NAN, ..FillSpec::default() }.check().is_err());
        assert!(FillSpec { dedup_ratio: f64::NAN, ..FillSpec::default() }.check().is_err());
        for asked in [0, 1, 512, 2048, 4095, 6144, (1 << 20) + 1, 2 << 20, usize::MAX] {
            let spec = FillSpec { dedup_unit: asked, ..FillSpec::default() };
            assert_eq!(spec.check(), Err(FillError::DedupUnit { asked }));
        }
    }
}
