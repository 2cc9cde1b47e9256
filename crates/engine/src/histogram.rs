//! A fixed histogram of times: buckets less than 1% wide from 1 ns to 19 hours.
//!
//! Up to 255 ns each value has its own bucket; above, every power of two is cut into 128 equal
//! buckets, so a bucket is at most 1/128 = 0.78% of its values wide and a percentile read from its
//! middle is at most 0.39% off. Recording is one shift, one add and one increment: the `hdrhistogram`
//! crate, with the same buckets at two significant digits, takes about 6 ns a record, which the
//! null engine's bar does not leave.

use iobound_record::LatencySummary;

/// Bits of a value that tell buckets apart within a power of two.
const SUB_BITS: u32 = 7;
const SUB_BUCKETS: usize = 1 << SUB_BITS;
/// Values from 2^MAX_BITS ns (19.5 hours) share the last bucket.
const MAX_BITS: u32 = 46;
const BUCKETS: usize = (MAX_BITS - SUB_BITS + 1) as usize * SUB_BUCKETS;

/// A histogram of nanoseconds.
#[derive(Clone)]
pub struct Histogram {
    counts: Box<[u64; BUCKETS]>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        let counts = vec![0; BUCKETS].into_boxed_slice().try_into().expect("length is BUCKETS");
        Histogram { counts, count: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

#[inline(always)]
fn bucket_of(ns: u64) -> usize {
    let ns = ns.min((1 << MAX_BITS) - 1);
    // Values below 2 * SUB_BUCKETS keep all their bits: shift is 0.
    let shift = (63 - (ns | (SUB_BUCKETS as u64)).leading_zeros()) - SUB_BITS;
    ((shift as usize) << SUB_BITS) + (ns >> shift) as usize
}

/// Smallest value of a bucket and how many values it holds.
fn bucket_range(bucket: usize) -> (u64, u64) {
    if bucket < 2 * SUB_BUCKETS {
        return (bucket as u64, 1);
    }
    let shift = (bucket >> SUB_BITS) as u32 - 1;
    let within = (bucket & (SUB_BUCKETS - 1)) + SUB_BUCKETS;
    ((within as u64) << shift, 1 << shift)
}

impl Histogram {
    /// Counts one time.
    #[inline(always)]
    pub fn record(&mut self, ns: u64) {
        // SAFETY: `bucket_of` clamps its argument below 2^MAX_BITS, whose bucket is the last one;
        // the test `the_last_bucket_is_inside` proves the bound.
        unsafe { *self.counts.get_unchecked_mut(bucket_of(ns)) += 1 };
        self.count += 1;
        self.sum += u128::from(ns);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    /// How many times were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of all times.
    pub fn sum_ns(&self) -> u128 {
        self.sum
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        let (first, last) = (bucket_of(other.min), bucket_of(other.max));
        for (mine, theirs) in self.counts[first..=last].iter_mut().zip(&other.counts[first..=last]) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        if self.count > 0 {
            let (first, last) = (bucket_of(self.min), bucket_of(self.max));
            self.counts[first..=last].fill(0);
        }
        (self.count, self.sum, self.min, self.max) = (0, 0, u64::MAX, 0);
    }

    /// The smallest recorded time that at least `percent` of all do not pass, from the middle of its
    /// bucket and never outside what was recorded.
    pub fn percentile(&self, percent: f64) -> u64 {
        if self.count == 0 {
            return 0;
        }
        let rank = ((percent / 100.0 * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut seen = 0;
        for bucket in bucket_of(self.min)..=bucket_of(self.max) {
            seen += self.counts[bucket];
            if seen >= rank {
                let (low, width) = bucket_range(bucket);
                return (low + width / 2).clamp(self.min, self.max);
            }
        }
        self.max
    }

    /// Everything the record keeps of a distribution.
    pub fn summary(&self) -> LatencySummary {
        if self.count == 0 {
            return LatencySummary::default();
        }
        let mean = self.sum as f64 / self.count as f64;
        let mut squares = 0.0;
        for bucket in bucket_of(self.min)..=bucket_of(self.max) {
            let (low, width) = bucket_range(bucket);
            let middle = (low as f64 + width as f64 / 2.0).clamp(self.min as f64, self.max as f64);
            squares += self.counts[bucket] as f64 * (middle - mean).powi(2);
        }
        let summary = LatencySummary {
            min: self.min,
            mean,
            stddev: (squares / self.count as f64).sqrt(),
            max: self.max,
            ..LatencySummary::default()
        };
        summary.with_percentiles(|percent| self.percentile(percent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_bucket_is_inside() {
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
        assert_eq!(bucket_of((1 << MAX_BITS) - 1), BUCKETS - 1);
        assert_eq!(bucket_of(0), 0);
    }

    #[test]
    fn buckets_join_without_a_gap() {
        for bucket in 0..BUCKETS - 1 {
            let (low, width) = bucket_range(bucket);
            assert_eq!(bucket_range(bucket + 1).0, low + width, "after bucket {bucket}");
            assert!(low == 0 || width == 1 || width as f64 / low as f64 <= 0.01, "bucket {bucket}");
        }
    }

    proptest! {
        #[test]
        fn a_value_falls_in_its_bucket(ns in 0u64..1 << MAX_BITS) {
            let (low, width) = bucket_range(bucket_of(ns));
            prop_assert!(low <= ns && ns < low + width);
        }

        #[test]
        fn percentiles_are_within_one_percent_of_exact(
            mut values in prop::collection::vec(1u64..10_000_000_000, 1..400),
            percent in 0.1f64..100.0,
        ) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&v| histogram.record(v));
            values.sort_unstable();
            let rank = ((percent / 100.0 * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1] as f64;
            let told = histogram.percentile(percent) as f64;
            prop_assert!((told / exact - 1.0).abs() <= 0.01, "{told} for {exact}");
        }

        #[test]
        fn merging_is_recording_together(
            a in prop::collection::vec(any::<u64>(), 0..100),
            b in prop::collection::vec(any::<u64>(), 0..100),
        ) {
            let (mut left, mut right, mut both) =
                (Histogram::default(), Histogram::default(), Histogram::default());
            a.iter().for_each(|&v| { left.record(v); both.record(v) });
            b.iter().for_each(|&v| { right.record(v); both.record(v) });
            left.merge(&right);
            prop_assert_eq!(left.summary(), both.summary());
            left.clear();
            prop_assert!(left.counts.iter().all(|&c| c == 0));
        }
    }
}
