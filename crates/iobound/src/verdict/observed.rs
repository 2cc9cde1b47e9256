//! Figures of a measurement that more than one judgement asks for.

use iobound_record::{EngineChoice, LatencySummary, Measurement, Run, Scenario};

use crate::report::figure::in_flight;
use crate::report::mark::Mark;

/// A measurement whose numbers stand: whole, without errors, of storage.
pub(super) fn standing<'a>(run: &Run, scenario: &'a Scenario) -> Option<&'a Measurement> {
    let measured = scenario.measurement.as_ref()?;
    let stands = !matches!(Mark::of(scenario, run), Mark::Void | Mark::Cut | Mark::Errors | Mark::Failed);
    (stands && measured.engine != EngineChoice::Null && measured.iops() > 0.0).then_some(measured)
}

/// Whether each write is durable before the next of the same thread is counted on.
pub(super) fn every_write_is_synced(scenario: &Scenario) -> bool {
    scenario.job.rw.writes() && scenario.job.syncs_each_write()
}

/// One operation at a time.
pub(super) fn one_at_a_time(scenario: &Scenario) -> bool {
    in_flight(&scenario.job) == 1
        || (scenario.job.ioengine == EngineChoice::Psync && scenario.job.numjobs == 1)
}

/// The times of what a caller waits for, each with its count: the sync where writes are synced by a call
/// of its own, else every operation.
pub(super) fn waits(measured: &Measurement) -> Vec<(u64, &LatencySummary)> {
    if measured.sync.ios > 0 {
        return vec![(measured.sync.ios, &measured.sync.latency_ns)];
    }
    [&measured.read, &measured.write]
        .into_iter()
        .filter(|side| side.ios > 0)
        .map(|side| (side.ios, &side.latency_ns))
        .collect()
}

/// Mean of [`waits`], nanoseconds; None where no times were taken.
pub(super) fn mean_wait(measured: &Measurement) -> Option<f64> {
    let waits = waits(measured);
    // As floats: an edited record may hold counts whose sum is none.
    let count: f64 = waits.iter().map(|(ios, _)| *ios as f64).sum();
    let sum: f64 = waits.iter().map(|(ios, latency)| *ios as f64 * latency.mean).sum();
    (count > 0.0 && sum > 0.0).then(|| sum / count)
}

/// A percentile of [`waits`], nanoseconds: of two directions the worse one, for percentiles of different
/// distributions have no mean. None where no times were taken.
pub(super) fn tail(measured: &Measurement, of: fn(&LatencySummary) -> u64) -> Option<u64> {
    waits(measured).into_iter().map(|(_, latency)| of(latency)).max().filter(|&ns| ns > 0)
}
