//! Which number of a measurement is looked at.

use iobound_record::{DirectionStats, Interval, LatencySummary, Measurement, Metric};

/// A figure of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Reads and writes per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Nanoseconds an operation takes on average, with its share of the syncs.
    MeanLatency,
    /// 99% of operations take fewer nanoseconds, in the slowest direction. Of a whole run only: the
    /// percentile of a run is no mean of its intervals' percentiles.
    TailLatency,
}

impl Figure {
    /// The figure that says how fast a scenario was.
    pub fn of(metric: Metric) -> Figure {
        match metric {
            // A percentile of a run is no mean of its intervals' percentiles, so the mean stands for it.
            Metric::Latency | Metric::SyncP99 => Figure::MeanLatency,
            Metric::Bandwidth => Figure::Bandwidth,
            Metric::Iops => Figure::Iops,
        }
    }

    /// Whether more is faster.
    pub fn more_is_faster(self) -> bool {
        matches!(self, Figure::Iops | Figure::Bandwidth)
    }

    /// Its value of a whole run; None when nothing completed.
    pub fn value(self, measurement: &Measurement) -> Option<f64> {
        let sides = [&measurement.read, &measurement.write, &measurement.sync];
        let value = match self {
            Figure::Iops => measurement.iops(),
            Figure::Bandwidth => measurement.bandwidth_bytes_per_s(),
            Figure::MeanLatency => Time::of(sides[0], sides[1], sides[2]).mean()?,
            Figure::TailLatency => {
                let used = sides.iter().filter(|side| side.ios > 0);
                used.map(|side| latency(side).p99).max()? as f64
            }
        };
        (value > 0.0).then_some(value)
    }

    /// A value for every full interval of a series, whose mean is the figure of these intervals. Empty
    /// for a percentile.
    pub fn series(self, intervals: &[Interval]) -> Vec<f64> {
        let full = intervals.iter().map(|interval| interval.length_ns).max().unwrap_or(0);
        let full = intervals.iter().filter(|interval| interval.length_ns == full);
        match self {
            Figure::Iops => full.map(|interval| sum(interval, |side| side.iops)).collect(),
            Figure::Bandwidth => {
                full.map(|interval| sum(interval, |side| side.bandwidth_bytes_per_s)).collect()
            }
            Figure::MeanLatency => time_series(full),
            Figure::TailLatency => Vec::new(),
        }
    }
}

/// Reads and writes; syncs move nothing.
fn sum(interval: &Interval, of: fn(&DirectionStats) -> f64) -> f64 {
    [&interval.read, &interval.write].into_iter().flatten().map(of).sum()
}

/// From the scheduled start where there is one: a stall counts for every operation that it held up.
fn latency(side: &DirectionStats) -> &LatencySummary {
    side.scheduled_latency_ns.as_ref().unwrap_or(&side.latency_ns)
}

/// Time spent on operations.
struct Time {
    spent_ns: f64,
    operations: f64,
}

impl Time {
    fn of(read: &DirectionStats, write: &DirectionStats, sync: &DirectionStats) -> Time {
        let spent = |side: &DirectionStats| latency(side).mean * side.ios as f64;
        Time { spent_ns: spent(read) + spent(write) + spent(sync), operations: (read.ios + write.ios) as f64 }
    }

    fn mean(&self) -> Option<f64> {
        (self.operations > 0.0).then(|| self.spent_ns / self.operations)
    }
}

/// A mean over operations is a ratio of two sums, and an interval with more operations weighs more. Each
/// interval's share of the ratio's error (its linearisation: Cochran 1977, *Sampling Techniques*, 6.4) is
/// laid around the ratio, so that the plain mean of the series is the ratio itself.
fn time_series<'a>(intervals: impl Iterator<Item = &'a Interval>) -> Vec<f64> {
    let nothing = DirectionStats::default();
    let times: Vec<Time> = intervals
        .map(|interval| {
            let side = |side: &'a Option<DirectionStats>| side.as_ref().unwrap_or(&nothing);
            Time::of(side(&interval.read), side(&interval.write), side(&interval.sync))
        })
        .collect();
    let operations: f64 = times.iter().map(|time| time.operations).sum();
    if operations <= 0.0 {
        return vec![0.0; times.len()];
    }
    let ratio = times.iter().map(|time| time.spent_ns).sum::<f64>() / operations;
    let typical = operations / times.len() as f64;
    times.iter().map(|time| ratio + (time.spent_ns - ratio * time.operations) / typical).collect()
}

#[cfg(test)]
mod tests {
    use super::super::mean;
    use super::*;

    fn side(ios: u64, mean: f64) -> DirectionStats {
        let latency_ns = LatencySummary { mean, p99: 2 * mean as u64, ..LatencySummary::default() };
        DirectionStats { ios, iops: ios as f64, latency_ns, ..DirectionStats::default() }
    }

    fn interval(ios: u64, mean: f64) -> Interval {
        Interval { length_ns: 1_000_000_000, read: Some(side(ios, mean)), ..Interval::default() }
    }

    #[test]
    fn a_durable_write_takes_the_write_and_its_sync() {
        let measurement =
            Measurement { write: side(100, 1000.0), sync: side(100, 3000.0), ..Measurement::default() };
        assert_eq!(Figure::MeanLatency.value(&measurement), Some(4000.0));
        assert_eq!(Figure::TailLatency.value(&measurement), Some(6000.0));
        assert_eq!(Figure::Iops.value(&Measurement::default()), None);
        assert_eq!(Figure::MeanLatency.value(&Measurement::default()), None);
    }

    #[test]
    fn the_series_of_a_latency_has_the_mean_of_its_operations() {
        let intervals = [interval(100, 1000.0), interval(300, 2000.0), interval(0, 0.0)];
        let series = Figure::MeanLatency.series(&intervals);
        assert!((mean(&series) - 1750.0).abs() < 1e-9, "{series:?}");
        assert_eq!(series.len(), 3);
    }

    #[test]
    fn a_short_last_interval_is_left_out() {
        let mut intervals = vec![interval(100, 1.0); 3];
        intervals[2].length_ns = 7;
        assert_eq!(Figure::Iops.series(&intervals), [100.0, 100.0]);
    }
}
