//! Whether a rate held still.

use iobound_record::Interval;

/// Rounds that are looked at: the SNIA Solid State Storage Performance Test Specification (v2.0.2,
/// 2.1.24) takes five.
const ROUNDS: usize = 5;
/// The same: within the rounds no value is more than 20% of the average from another.
const RANGE_MAX: f64 = 0.20;
/// The same: the best straight line through the rounds rises or falls by 10% of the average at most.
const SLOPE_MAX: f64 = 0.10;

/// Whether the last five full intervals are steady, by the SNIA rule; None with fewer.
pub fn is_steady(series: &[Interval]) -> Option<bool> {
    let full = series.iter().map(|interval| interval.length_ns).max()?;
    let rates: Vec<f64> = series.iter().filter(|interval| interval.length_ns == full).map(rate).collect();
    let rounds = rates.last_chunk::<ROUNDS>()?;
    let mean = rounds.iter().sum::<f64>() / ROUNDS as f64;
    if mean <= 0.0 {
        return Some(false);
    }
    let max = rounds.iter().copied().fold(f64::MIN, f64::max);
    let min = rounds.iter().copied().fold(f64::MAX, f64::min);
    let middle = (ROUNDS - 1) as f64 / 2.0;
    let (mut rise, mut run) = (0.0, 0.0);
    for (index, rate) in rounds.iter().enumerate() {
        let x = index as f64 - middle;
        rise += x * (rate - mean);
        run += x * x;
    }
    let excursion = (rise / run * (ROUNDS - 1) as f64).abs();
    Some(max - min <= RANGE_MAX * mean && excursion <= SLOPE_MAX * mean)
}

/// Reads and writes per second of an interval.
fn rate(interval: &Interval) -> f64 {
    [&interval.read, &interval.write].into_iter().flatten().map(|stats| stats.iops).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::DirectionStats;

    fn series(rates: &[f64]) -> Vec<Interval> {
        rates
            .iter()
            .map(|&iops| Interval {
                length_ns: 1_000_000_000,
                read: Some(DirectionStats { iops, ..DirectionStats::default() }),
                ..Interval::default()
            })
            .collect()
    }

    #[test]
    fn flat_is_steady_and_falling_is_not() {
        assert_eq!(is_steady(&series(&[3000.0, 3001.0, 2999.0, 3000.0, 3000.0])), Some(true));
        assert_eq!(is_steady(&series(&[9000.0, 3001.0, 2999.0, 3000.0, 3000.0, 3000.0])), Some(true));
        assert_eq!(is_steady(&series(&[3400.0, 3200.0, 3000.0, 2900.0, 2800.0])), Some(false));
        assert_eq!(is_steady(&series(&[3000.0, 3000.0, 3800.0, 3000.0, 3000.0])), Some(false));
        assert_eq!(is_steady(&series(&[3000.0; 4])), None);
        assert_eq!(is_steady(&series(&[0.0; 5])), Some(false));
    }

    #[test]
    fn a_short_last_interval_is_left_out() {
        let mut intervals = series(&[3000.0; 6]);
        intervals[5].length_ns = 7;
        intervals[5].read = None;
        assert_eq!(is_steady(&intervals), Some(true));
    }
}
