//! Figures of one measurement that must agree with each other, whatever the storage does.

use iobound_record::{Finding, LatencySummary, Measurement, Scenario, Severity, units};

/// More operations in flight on average than were ever allowed, by more than this share, is impossible:
/// the rest is for the operations that straddle the ends of the measured time.
const IN_FLIGHT_SLACK: f64 = 0.05;
/// Bytes are operations times the block, but for rounding.
const BYTES_SLACK: f64 = 0.01;

/// Little's law (operations in flight are rate times latency), and bytes as operations times block size.
pub(super) fn broken(scenario: &Scenario, measured: &Measurement) -> Option<Finding> {
    let wrong: Vec<String> =
        [littles_law(scenario, measured), bytes(scenario, measured)].into_iter().flatten().collect();
    (!wrong.is_empty()).then(|| Finding {
        id: "inconsistent-figures".into(),
        severity: Severity::Error,
        what: "The figures contradict each other: whoever measured them counted wrongly, or its clock moved."
            .into(),
        evidence: format!("{}: {}", scenario.name, wrong.join("; ")),
        remedy: "run again, with another engine (--engine psync, --engine fio) beside it, and report it"
            .into(),
    })
}

fn littles_law(scenario: &Scenario, measured: &Measurement) -> Option<String> {
    let waited = |ios: u64, latency: &LatencySummary| ios as f64 * latency.mean;
    let sum = waited(measured.read.ios, &measured.read.latency_ns)
        + waited(measured.write.ios, &measured.write.latency_ns)
        + waited(measured.sync.ios, &measured.sync.latency_ns);
    let job = &scenario.job;
    // A sync may be in flight besides the writes: one more for each thread.
    let syncs = if measured.sync.ios > 0 { f64::from(job.numjobs) } else { 0.0 };
    let allowed = f64::from(job.iodepth) * f64::from(job.numjobs) + syncs;
    let in_flight = sum / measured.runtime_ns.max(1) as f64;
    let slowest = [&measured.read, &measured.write, &measured.sync].map(|side| side.latency_ns.max);
    // What was begun before the measured time and ended in it counts whole: at most one wait for each place.
    let ends = slowest.into_iter().max().unwrap_or(0) as f64 / measured.runtime_ns.max(1) as f64;
    (measured.runtime_ns > 0 && in_flight > allowed * (1.0 + IN_FLIGHT_SLACK + ends)).then(|| {
        format!(
            "{} operations in {} at their mean latencies make {} in flight, of {allowed} allowed",
            units::count(measured.read.ios as f64 + measured.write.ios as f64 + measured.sync.ios as f64),
            units::duration(measured.runtime_ns),
            units::significant(in_flight)
        )
    })
}

fn bytes(scenario: &Scenario, measured: &Measurement) -> Option<String> {
    let job = &scenario.job;
    if job.bsrange.is_some() || job.bssplit.is_some() {
        return None;
    }
    let stream = scenario.stream.is_some();
    let wrong = [("read", &measured.read), ("write", &measured.write)].into_iter().find(|(_, side)| {
        let bytes = side.iops * job.bs as f64;
        // A stream ends with the piece that is left, however short.
        if stream && side.bandwidth_bytes_per_s <= bytes {
            return false;
        }
        side.short_ios == 0 && (side.bandwidth_bytes_per_s - bytes).abs() > BYTES_SLACK * bytes
    });
    wrong.map(|(what, side)| {
        format!(
            "{what}: {} IOPS of {} are not {}",
            units::count(side.iops),
            units::bytes(job.bs),
            units::bandwidth(side.bandwidth_bytes_per_s)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::{DirectionStats, Job};

    fn measured(iops: f64, mean_ns: f64, bs: f64) -> Measurement {
        let latency_ns =
            LatencySummary { mean: mean_ns, max: (mean_ns * 2.0) as u64, ..LatencySummary::default() };
        let read = DirectionStats {
            ios: iops as u64,
            iops,
            bandwidth_bytes_per_s: iops * bs,
            latency_ns,
            ..DirectionStats::default()
        };
        Measurement { runtime_ns: 1_000_000_000, read, ..Measurement::default() }
    }

    fn of(iodepth: u32) -> Scenario {
        Scenario {
            name: "it".into(),
            job: Job { bs: 4096, iodepth, ..Job::default() },
            ..Scenario::default()
        }
    }

    #[test]
    fn what_agrees_is_not_mentioned() {
        assert_eq!(broken(&of(64), &measured(3_000.0, 64.0 / 3_000.0 * 1e9, 4096.0)), None);
        // Making data takes a part of the time: less in flight is no contradiction.
        assert_eq!(broken(&of(64), &measured(3_000.0, 1e6, 4096.0)), None);
    }

    #[test]
    fn more_in_flight_than_allowed_is_impossible() {
        let finding = broken(&of(1), &measured(3_000.0, 1e6, 4096.0)).unwrap();
        assert!(finding.evidence.contains("make 3.00 in flight, of 1 allowed"), "{finding:?}");
    }

    #[test]
    fn bytes_are_operations_times_block() {
        let finding = broken(&of(64), &measured(1_000.0, 1e5, 8192.0)).unwrap();
        assert!(finding.evidence.contains("1,000 IOPS of 4 KiB are not"), "{finding:?}");
    }
}
