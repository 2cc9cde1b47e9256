//! What the checklist before a run leaves in its findings.

use iobound_record::{Check, Finding, Outcome, Severity};

/// A failed check as a finding. I/O of others is left to the rule that saw it during the jobs: what went
/// on in the second before them may have ended.
pub(super) fn finding_of(check: &Check) -> Option<Finding> {
    if check.outcome != Outcome::Fail || check.id == "other-io" {
        return None;
    }
    Some(Finding {
        id: format!("check-{}", check.id),
        severity: Severity::Warning,
        what: format!(
            "{} of {} was not as it should be before the run: {}.",
            check.id, check.subject, check.why
        ),
        evidence: format!("{}: {}; expected {}", check.subject, check.value, check.expected),
        remedy: check.mend.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_become_findings() {
        let check = |id: &str, outcome| Check {
            id: id.into(),
            subject: "md0".into(),
            outcome,
            value: "degraded (7 of 8)".into(),
            expected: "[UUUUUUUU]".into(),
            why: "a member is missing".into(),
            mend: "sudo mdadm --add".into(),
        };
        assert_eq!(finding_of(&check("array-state", Outcome::Warn)), None);
        assert_eq!(finding_of(&check("other-io", Outcome::Fail)), None);
        let finding = finding_of(&check("array-state", Outcome::Fail)).unwrap();
        assert_eq!((finding.id.as_str(), finding.severity), ("check-array-state", Severity::Warning));
        assert_eq!(finding.evidence, "md0: degraded (7 of 8); expected [UUUUUUUU]");
    }
}
