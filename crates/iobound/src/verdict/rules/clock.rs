//! Time that did not pass as it should.

use iobound_record::{Finding, Severity, units};

use super::{Case, finding};

/// A smaller step of the wall clock is lost in how logs are read, by the second.
const STEP_NS_MIN: u64 = 1_000_000_000;
/// Samples are taken every second; one that comes after so many was held up.
const LATE_NS_MIN: u64 = 3_000_000_000;

pub(super) fn stepped(case: &Case<'_>) -> Option<Finding> {
    let step = case.samples()?.clock_step_ns?;
    (step.unsigned_abs() >= STEP_NS_MIN).then(|| {
        let direction = if step > 0 { "forward" } else { "back" };
        finding(
            "clock-stepped",
            Severity::Note,
            "The machine's clock was set in mid-run. Figures are not touched, they are taken by a clock that does not step; times of day in logs are.",
            format!("{}: {} {direction}", case.name(), units::duration(step.unsigned_abs())),
            "let chrony or timesyncd finish before a run whose times are to be held against a log",
        )
    })
}

pub(super) fn samples_late(case: &Case<'_>) -> Option<Finding> {
    let longest = case.samples()?.longest_ns;
    (longest >= LATE_NS_MIN).then(|| {
        finding(
            "samples-late",
            Severity::Note,
            "Sampling stood still for a while: the machine had no processor left for it, or was paused.",
            format!("{}: no sample for {}", case.name(), units::duration(longest)),
            "look for what takes the processors (top), or whether the virtual machine was moved or paused",
        )
    })
}
