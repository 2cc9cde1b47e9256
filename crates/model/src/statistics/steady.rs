//! Whether a rate held still.

use iobound_record::Interval;

/// Rounds that are looked at: the SNIA Solid State Storage Performance Test Specification (v2.0.2,
/// 2.1.24) takes five.
const ROUNDS: usize = 5;
/// The same: within the rounds no value is more than 20% of the average from another.
const RANGE_MAX: f64 = 0.20;
/// The same: the best straight line through the rounds rises or falls by 10% of the average at most.
const SLOPE_MAX: f64 = 0.10;
/// A round is at least this long: whether a device is steady must not hang on how finely its series was
/// recorded. (SNIA's rounds last a minute; a run here often does not.)
const ROUND_NS: u64 = 1_000_000_000;

/// Whether the last five rounds of full intervals are steady, by the SNIA rule; None with fewer.
pub fn is_steady(series: &[Interval]) -> Option<bool> {
    let rates = rounds(series);
    let rounds = rates.last_chunk::<ROUNDS>()?;
    let mean = super::mean(rounds);
    if mean <= 0.0 {
        return Some(false);
    }
    let max = rounds.iter().copied().fold(f64::MIN, f64::max);
    let min = rounds.iter().copied().fold(f64::MAX, f64::min);
    Some(max - min <= RANGE_MAX * mean && excursion(rounds).abs() <= SLOPE_MAX * mean)
}

/// Rates of rounds, from the last full interval backwards.
fn rounds(series: &[Interval]) -> Vec<f64> {
    let full = series.iter().map(|interval| interval.length_ns).max().unwrap_or(0);
    let rates: Vec<f64> = series.iter().filter(|interval| interval.length_ns == full).map(rate).collect();
    let in_round = ROUND_NS.div_ceil(full.max(1)) as usize;
    rates.rchunks_exact(in_round).rev().map(super::mean).collect()
}

/// How far the best straight line (least squares) through the values rises from the first to the last.
pub(super) fn excursion(values: &[f64]) -> f64 {
    let mean = super::mean(values);
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let (mut rise, mut run) = (0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let x = index as f64 - middle;
        rise += x * (value - mean);
        run += x * x;
    }
    if run > 0.0 { rise / run * 2.0 * middle } else { 0.0 }
}

/// Reads and writes per second of an interval.
fn rate(interval: &Interval) -> f64 {
    [&interval.read, &interval.write].into_iter().flatten().map(|stats| stats.iops).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::DirectionStats;

    fn series_of(length_ns: u64, rates: &[f64]) -> Vec<Interval> {
        rates
            .iter()
            .map(|&iops| Interval {
                length_ns,
                read: Some(DirectionStats { iops, ..DirectionStats::default() }),
                ..Interval::default()
            })
            .collect()
    }

    fn series(rates: &[f64]) -> Vec<Interval> {
        series_of(ROUND_NS, rates)
    }

    #[test]
    fn flat_is_steady_and_falling_is_not() {
        assert_eq!(is_steady(&series(&[3000.0, 3001.0, 2999.0, 3000.0, 3000.0])), Some(true));
        assert_eq!(is_steady(&series(&[9000.0, 3001.0, 2999.0, 3000.0, 3000.0, 3000.0])), Some(true));
        assert_eq!(is_steady(&series(&[3400.0, 3200.0, 3000.0, 2900.0, 2800.0])), Some(false));
        assert_eq!(is_steady(&series(&[3000.0, 3000.0, 3800.0, 3000.0, 3000.0])), Some(false));
        assert_eq!(is_steady(&series(&[3000.0; 4])), None);
        assert_eq!(is_steady(&series(&[0.0; 5])), Some(false));
        assert_eq!(is_steady(&[]), None);
    }

    #[test]
    fn a_short_last_interval_is_left_out() {
        let mut intervals = series(&[3000.0; 6]);
        intervals[5].length_ns = 7;
        intervals[5].read = None;
        assert_eq!(is_steady(&intervals), Some(true));
    }

    #[test]
    fn a_finer_series_says_the_same() {
        // Each second has a fast and a slow half; seconds are alike.
        let halves: Vec<f64> = (0..10).map(|i| if i % 2 == 0 { 4000.0 } else { 2000.0 }).collect();
        assert_eq!(is_steady(&series_of(ROUND_NS / 2, &halves)), Some(true));
        assert_eq!(is_steady(&series_of(ROUND_NS / 2, &halves[1..])), None);
    }
}
