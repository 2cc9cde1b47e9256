//! Operations that failed, and data that came back wrong.

use iobound_record::{Finding, Severity, Verify};

use super::{Case, finding};

pub(super) fn failed_operations(case: &Case<'_>) -> Option<Finding> {
    (case.measured.errors > 0).then(|| {
        let kinds: Vec<String> =
            case.measured.error_kinds.iter().map(|(words, count)| format!("{count} x {words}")).collect();
        finding(
            "io-errors",
            Severity::Error,
            "Operations failed: rates are those of the operations that did not.",
            format!("{}: {}", case.name(), kinds.join(", ")),
            "mend the cause and run again",
        )
    })
}

pub(super) fn verification(case: &Case<'_>) -> Option<Finding> {
    let asked =
        case.job.verify != Verify::None || case.scenario.stream.is_some() || case.scenario.objects.is_some();
    let outcome = case.measured.verify.as_ref().filter(|_| asked)?;
    (outcome.bad() > 0).then(|| {
        finding(
            "verify-failed",
            Severity::Error,
            "Data read back is not what was written: do not trust this storage.",
            format!(
                "{}: of {} blocks {} torn, {} lost, {} misplaced, {} corrupt; {}",
                case.name(),
                outcome.checked,
                outcome.torn,
                outcome.lost,
                outcome.misplaced,
                outcome.corrupt,
                outcome.examples.join("; ")
            ),
            "look at the kernel log (dmesg) and the device's health; check that nothing else writes there",
        )
    })
}
