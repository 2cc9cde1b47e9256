//! Latency under a rate: from when an operation was meant to start, or only from when it did.

use iobound_record::{Finding, Severity, units};

use super::{Case, finding};

/// The 99th percentile from the intended start is this many times the one from submission: the wait for a
/// turn is as long as the operation.
const HIDDEN_FACTOR: f64 = 2.0;
/// And longer by this: a thread that paces itself wakes late by milliseconds on a busy machine, and
/// that is no wait for the device.
const HIDDEN_NS_MIN: u64 = 5_000_000;

pub(super) fn closed_loop(case: &Case<'_>) -> Option<Finding> {
    if !case.job.is_paced() {
        return None;
    }
    let sides = [("read", &case.measured.read), ("write", &case.measured.write)];
    let used = || sides.into_iter().filter(|(_, side)| side.ios > 0);
    if used().next().is_some() && used().all(|(_, side)| side.scheduled_latency_ns.is_none()) {
        return Some(finding(
            "closed-loop-latency",
            Severity::Warning,
            "Latency was taken from each submission, not from when its turn was: a stall counts once, and the operations that it held up look fast (coordinated omission).",
            format!(
                "{}: a rate was asked and {} keeps no scheduled starts",
                case.name(),
                case.measured.engine
            ),
            "run it with --engine io_uring, libaio or psync, which record both",
        ));
    }
    let (word, side, scheduled) = used().find_map(|(word, side)| {
        let scheduled = side.scheduled_latency_ns?;
        let submitted = side.latency_ns.p99;
        let hidden = scheduled.p99 as f64 >= HIDDEN_FACTOR * submitted as f64
            && scheduled.p99.saturating_sub(submitted) >= HIDDEN_NS_MIN;
        hidden.then_some((word, side, scheduled))
    })?;
    Some(finding(
        "closed-loop-latency",
        Severity::Warning,
        "The storage fell behind the asked rate: latency from submission hides the wait for a turn that a client would feel. The one from the intended start is the one to read.",
        format!(
            "{}: p99 of a {word} is {} from the intended start, {} from submission; {} of them a second",
            case.name(),
            units::duration(scheduled.p99),
            units::duration(side.latency_ns.p99),
            units::count(side.iops)
        ),
        "lower the rate until both agree: that is the rate this latency goes with",
    ))
}
