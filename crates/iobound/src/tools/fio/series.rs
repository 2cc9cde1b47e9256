//! The per-second series of a job, from the logs that fio writes beside its JSON.
//!
//! Each thread has `PREFIX_bw.N.log`, `PREFIX_iops.N.log` and `PREFIX_lat.N.log`; a line is
//! `end in ms, value, direction, block size, offset`, the value KiB/s, IOPS or nanoseconds. fio
//! averages within an interval, so an interval has rates and a mean latency, and no percentiles:
//! those are left at 0. The last interval is often not in them: fio may end before it logs it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use iobound_record::{DirectionStats, Interval};

/// Length of an interval, milliseconds: what fio is told by `--log_avg_msec`.
const INTERVAL_MS: u64 = 1000;
/// How late fio may close an interval for the entry still to count to it, milliseconds.
const LATE_MS: u64 = 100;
/// More intervals than a month has seconds are damage, not a log.
const INTERVALS_MAX: u64 = 31 * 86_400;

/// The options that make fio write the logs, all with `prefix`.
pub(super) fn options(prefix: &Path) -> Vec<String> {
    let prefix = prefix.display();
    vec![
        format!("--write_bw_log={prefix}"),
        format!("--write_iops_log={prefix}"),
        format!("--write_lat_log={prefix}"),
        format!("--log_avg_msec={INTERVAL_MS}"),
    ]
}

/// The series of each of `jobs` entries of fio's output. Logs are per thread and entries per group
/// of threads, and nothing names which thread is in which group: so one entry takes all threads,
/// as many entries as threads take one each, and anything else is left empty.
pub(super) fn read(prefix: &Path, jobs: usize) -> Vec<Vec<Interval>> {
    let mut threads = Vec::new();
    loop {
        let text = |kind: &str| {
            fs::read_to_string(format!("{}_{kind}.{}.log", prefix.display(), threads.len() + 1)).ok()
        };
        let (Some(bandwidth), Some(iops)) = (text("bw"), text("iops")) else { break };
        threads.push(windows(&bandwidth, &iops, &text("lat").unwrap_or_default()));
    }
    match (jobs, threads.len()) {
        (1, _) => vec![intervals(&threads)],
        (jobs, logs) if jobs == logs => threads.chunks(1).map(intervals).collect(),
        _ => vec![Vec::new(); jobs],
    }
}

/// One direction of one thread in one interval.
#[derive(Clone, Copy, Default)]
struct Window {
    iops: f64,
    bytes_per_s: f64,
    latency_ns: f64,
}

/// Keyed by interval and direction (0 read, 1 write).
type Windows = BTreeMap<(u64, u64), Window>;

fn windows(bandwidth: &str, iops: &str, latency: &str) -> Windows {
    let mut windows = Windows::new();
    for (key, value) in entries(iops) {
        windows.entry(key).or_insert(Window { iops: value, ..Window::default() });
    }
    for (key, value) in entries(bandwidth) {
        if let Some(window) = windows.get_mut(&key) {
            window.bytes_per_s = value * 1024.0;
        }
    }
    for (key, value) in entries(latency) {
        // fio may add the last few operations under the same time again: the first entry is the interval's.
        if let Some(window) = windows.get_mut(&key).filter(|window| window.latency_ns == 0.0) {
            window.latency_ns = value;
        }
    }
    windows
}

/// The lines of a log that are whole: ((interval, direction), value).
fn entries(log: &str) -> impl Iterator<Item = ((u64, u64), f64)> {
    log.lines().filter_map(|line| {
        let mut fields = line.split(',').map(str::trim);
        let end_ms: u64 = fields.next()?.parse().ok()?;
        let value: f64 = fields.next()?.parse().ok()?;
        let direction: u64 = fields.next()?.parse().ok()?;
        let interval = (end_ms.checked_add(INTERVAL_MS - LATE_MS)? / INTERVAL_MS).checked_sub(1)?;
        let sound = direction <= 1 && interval < INTERVALS_MAX && value.is_finite() && value >= 0.0;
        sound.then_some(((interval, direction), value))
    })
}

/// Adds threads up: rates are sums, the mean latency is weighted by operations.
fn intervals(threads: &[Windows]) -> Vec<Interval> {
    let mut sums = Windows::new();
    for (key, window) in threads.iter().flatten() {
        let sum = sums.entry(*key).or_default();
        sum.iops += window.iops;
        sum.bytes_per_s += window.bytes_per_s;
        sum.latency_ns += window.latency_ns * window.iops;
    }
    let mut series: BTreeMap<u64, Interval> = BTreeMap::new();
    for ((interval, direction), sum) in sums {
        let length_ns = INTERVAL_MS * 1_000_000;
        let entry = series.entry(interval).or_insert(Interval {
            start_ns: interval * length_ns,
            length_ns,
            ..Interval::default()
        });
        let seconds = INTERVAL_MS as f64 / 1e3;
        let mut stats = DirectionStats {
            ios: (sum.iops * seconds).round() as u64,
            bytes: (sum.bytes_per_s * seconds).round() as u64,
            iops: sum.iops,
            bandwidth_bytes_per_s: sum.bytes_per_s,
            ..DirectionStats::default()
        };
        stats.latency_ns.mean = if sum.iops > 0.0 { sum.latency_ns / sum.iops } else { 0.0 };
        *(if direction == 0 { &mut entry.read } else { &mut entry.write }) = Some(stats);
    }
    series.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn threads_add_up_and_latencies_weigh_by_operations() {
        // Times as fio 3.33 writes them: a little early, on time, a little late, and a repeated end.
        let first = windows(
            "999, 1000, 0, 0, 0\n2000, 1000, 0, 0, 0\n",
            "1000, 250, 0, 0, 0\n2000, 250, 0, 0, 0\n",
            "1000, 100, 0, 0, 0\n2001, 100, 0, 0, 0\n2001, 9000, 0, 0, 0\n2500, 70, 0, 0, 0\n",
        );
        let second = windows(
            "1000, 3000, 0, 0, 0\n1000, 8, 1, 0, 0\n",
            "1000, 750, 0, 0, 0\n1000, 2, 1, 0, 0\n",
            "1000, 300, 0, 0, 0\n",
        );
        let series = intervals(&[first, second]);
        assert_eq!(series.len(), 2);
        let read = series[0].read.unwrap();
        assert_eq!((read.iops, read.bandwidth_bytes_per_s), (1000.0, 4000.0 * 1024.0));
        assert_eq!(read.latency_ns.mean, 250.0);
        assert_eq!(series[0].write.unwrap().iops, 2.0);
        assert_eq!((series[1].start_ns, series[1].read.unwrap().latency_ns.mean), (1_000_000_000, 100.0));
    }

    #[test]
    fn threads_that_cannot_be_told_apart_give_no_series() {
        let directory = tempfile::tempdir().unwrap();
        let prefix = directory.path().join("s");
        for thread in 1..=3 {
            for kind in ["bw", "iops"] {
                fs::write(format!("{}_{kind}.{thread}.log", prefix.display()), "1000, 10, 0, 0, 0\n")
                    .unwrap();
            }
        }
        assert_eq!(read(&prefix, 1)[0][0].read.unwrap().iops, 30.0);
        assert_eq!(read(&prefix, 2), [vec![], vec![]]);
        assert_eq!(read(&prefix, 3)[2][0].read.unwrap().iops, 10.0);
    }

    proptest! {
        #[test]
        fn no_log_panics(text in "([-0-9e., \\n]|\\PC){0,120}") {
            intervals(&[windows(&text, &text, &text)]);
        }
    }
}
