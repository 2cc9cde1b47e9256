//! fio's `read`, `write`, `trim` and `sync` objects.

use iobound_record::{DirectionStats, Interval, LatencySummary, Measurement};
use serde_json::{Map, Value, json};

use super::real;

/// One of `read`, `write`, `trim`; `of` picks the direction out of an interval.
pub(super) fn side(
    measured: &Measurement,
    of: impl Fn(&Interval) -> Option<&DirectionStats>,
    stats: &DirectionStats,
) -> Value {
    let runtime_ms = if stats.ios > 0 { (measured.runtime_ns as f64 / 1e6).round() as u64 } else { 0 };
    let intervals = if stats.ios > 0 { whole_intervals(&measured.series) } else { Vec::new() };
    // A direction that completed nothing in an interval had a rate of 0 there.
    let rates = |rate: fn(&DirectionStats) -> f64| -> Spread {
        Spread::of(intervals.iter().map(|interval| of(interval).map_or(0.0, rate)))
    };
    let bw = rates(|stats| stats.bandwidth_bytes_per_s / 1024.0);
    let iops = rates(|stats| stats.iops);
    json!({
        "io_bytes": stats.bytes,
        "io_kbytes": stats.bytes / 1024,
        "bw_bytes": stats.bandwidth_bytes_per_s.round() as u64,
        "bw": (stats.bandwidth_bytes_per_s / 1024.0) as u64,
        "iops": real(stats.iops),
        "runtime": runtime_ms,
        "total_ios": stats.ios,
        "short_ios": stats.short_ios,
        "drop_ios": 0,
        "slat_ns": latency(&LatencySummary::default(), 0),
        "clat_ns": latency(&stats.latency_ns, stats.ios),
        "lat_ns": latency(&stats.latency_ns, stats.ios),
        "bw_min": bw.min.round() as u64,
        "bw_max": bw.max.round() as u64,
        "bw_agg": real(if bw.samples > 0 { 100.0 } else { 0.0 }),
        "bw_mean": real(bw.mean),
        "bw_dev": real(bw.stddev),
        "bw_samples": bw.samples,
        "iops_min": iops.min.round() as u64,
        "iops_max": iops.max.round() as u64,
        "iops_mean": real(iops.mean),
        "iops_stddev": real(iops.stddev),
        "iops_samples": iops.samples,
    })
}

/// `sync`.
pub(super) fn sync(stats: &DirectionStats) -> Value {
    json!({ "total_ios": stats.ios, "lat_ns": latency(&stats.latency_ns, stats.ios) })
}

/// A latency object; like fio's, it has percentiles only where there were operations.
fn latency(summary: &LatencySummary, samples: u64) -> Value {
    let mut object = json!({
        "min": summary.min,
        "max": summary.max,
        "mean": real(summary.mean),
        "stddev": real(summary.stddev),
        "N": samples,
    });
    if samples > 0 {
        let ranks = summary.percentiles().into_iter().map(|(rank, ns)| (format!("{rank:.6}"), json!(ns)));
        object["percentile"] = Value::Object(ranks.collect::<Map<_, _>>());
    }
    object
}

/// The intervals without a last stump, whose rate is mostly chance.
fn whole_intervals(series: &[Interval]) -> Vec<&Interval> {
    let longest = series.iter().map(|interval| interval.length_ns).max().unwrap_or(0);
    series.iter().filter(|interval| interval.length_ns >= longest / 2).collect()
}

/// Least, greatest, mean and sample standard deviation, as fio gives them; zero without samples.
#[derive(Default)]
struct Spread {
    min: f64,
    max: f64,
    mean: f64,
    stddev: f64,
    samples: usize,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Spread {
        let values: Vec<f64> = values.collect();
        if values.is_empty() {
            return Spread::default();
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Spread {
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(0.0, f64::max),
            mean,
            stddev: if values.len() > 1 { (squares / (values.len() - 1) as f64).sqrt() } else { 0.0 },
            samples: values.len(),
        }
    }
}
