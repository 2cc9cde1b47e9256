//! The intervals of a job as points to draw or list, at most so many.

use iobound_record::{Direction, DirectionStats, Interval};

/// One point in time of one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Start, seconds from the start of the measured time.
    pub start_s: f64,
    /// Operations per second.
    pub iops: f64,
    /// Bytes per second.
    pub bandwidth_bytes_per_s: f64,
    /// The highest median of its intervals, since medians cannot be averaged.
    pub p50_ns: u64,
    /// The highest 99th percentile of its intervals.
    pub p99_ns: u64,
}

/// The stats of one direction in an interval.
pub fn side(interval: &Interval, direction: Direction) -> Option<&DirectionStats> {
    match direction {
        Direction::Read => interval.read.as_ref(),
        Direction::Write => interval.write.as_ref(),
        Direction::Sync => interval.sync.as_ref(),
    }
}

/// A last interval shorter than this share of the others holds what was in flight at the end, and its
/// rate says nothing.
const STUB: f64 = 0.1;

/// The intervals without a last one that is a stub.
pub fn whole(series: &[Interval]) -> &[Interval] {
    let longest = series.iter().map(|interval| interval.length_ns).max().unwrap_or(0) as f64;
    match series.split_last() {
        Some((last, rest)) if (last.length_ns as f64) < STUB * longest => rest,
        _ => series,
    }
}

/// Intervals that make one point, so that there are at most `most` points.
pub fn intervals_per_point(series: &[Interval], most: usize) -> usize {
    series.len().div_ceil(most.max(1)).max(1)
}

/// The points of one direction; empty where it did nothing.
pub fn points(series: &[Interval], direction: Direction, most: usize) -> Vec<Point> {
    let series = whole(series);
    if !series.iter().any(|interval| side(interval, direction).is_some_and(|stats| stats.ios > 0)) {
        return Vec::new();
    }
    series.chunks(intervals_per_point(series, most)).map(|chunk| point(chunk, direction)).collect()
}

fn point(chunk: &[Interval], direction: Direction) -> Point {
    let sides = || chunk.iter().filter_map(|i| Some((i.length_ns.max(1) as f64, side(i, direction)?)));
    let length: f64 = chunk.iter().map(|interval| interval.length_ns.max(1) as f64).sum();
    // Not sum(), which gives -0 for nothing.
    let weighted =
        |of: fn(&DirectionStats) -> f64| sides().fold(0.0, |sum, (ns, s)| sum + of(s) * (ns / length));
    Point {
        start_s: chunk.first().map_or(0.0, |interval| interval.start_ns as f64 / 1e9),
        iops: weighted(|stats| stats.iops),
        bandwidth_bytes_per_s: weighted(|stats| stats.bandwidth_bytes_per_s),
        p50_ns: sides().map(|(_, stats)| stats.latency_ns.p50).max().unwrap_or(0),
        p99_ns: sides().map(|(_, stats)| stats.latency_ns.p99).max().unwrap_or(0),
    }
}

/// Bars of eight heights, from zero to the largest value.
pub fn sparkline(values: impl Iterator<Item = f64> + Clone) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.clone().fold(0.0, f64::max);
    // A value that is no number becomes the lowest bar by the cast.
    values.map(|value| BARS[((value / most * 8.0).ceil() as usize).clamp(1, 8) - 1]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(start: u64, iops: f64, p99: u64) -> Interval {
        let mut read = DirectionStats { ios: 1, iops, ..DirectionStats::default() };
        read.latency_ns.p99 = p99;
        Interval { start_ns: start, length_ns: 1_000_000_000, read: Some(read), ..Interval::default() }
    }

    #[test]
    fn many_intervals_become_few_points_and_no_tail_is_lost() {
        let series: Vec<Interval> = (0..100).map(|i| interval(i * 1_000_000_000, 100.0, i)).collect();
        let few = points(&series, Direction::Read, 30);
        assert_eq!(few.len(), 25);
        assert_eq!((few[0].iops, few[0].p99_ns, few[1].start_s), (100.0, 3, 4.0));
        assert!(points(&series, Direction::Sync, 30).is_empty());
        assert!(points(&[], Direction::Read, 30).is_empty());
    }

    #[test]
    fn a_sparkline_starts_at_zero() {
        assert_eq!(sparkline([0.0, 4.0, 8.0].into_iter()), "▁▄█");
        assert_eq!(sparkline([0.0, 0.0].into_iter()), "▁▁");
    }
}
