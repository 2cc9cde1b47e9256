//! What the checklist before a run leaves in its findings.

use iobound_record::{Check, Finding, Outcome, Run, Severity};

/// Warnings of the checklist that bend figures by themselves, as its failures do.
const BENDING: [&str; 8] = [
    "filesystem-alignment",
    "partition-alignment",
    "array-layout",
    "lvm-layout",
    "mount",
    "io-limit",
    "cpu-limit",
    "mount-sync",
];
/// Those that do when the context says how it should be: then they are another machine than was meant.
const BENDING_BY_CONTEXT: [&str; 3] = ["scheduler", "mount-options", "nr-requests"];
/// Those that are worth a line beside any figures. The others are advice for a database, and `iobound
/// check` gives it.
const TOLD: [&str; 8] = [
    "read-ahead",
    "scheduler",
    "mount-options",
    "mount-atime",
    "mount-journal",
    "nr-requests",
    "kernel-log",
    "governor",
];

/// A check that did not pass, as a finding. I/O of others is left to the rule that saw it during the jobs:
/// what went on in the second before them may have ended.
pub(super) fn finding_of(run: &Run, check: &Check) -> Option<Finding> {
    if check.id == "other-io" {
        return None;
    }
    let severity = match check.outcome {
        Outcome::Fail => Severity::Warning,
        Outcome::Warn => of_warning(run, check)?,
        Outcome::Pass | Outcome::Unknown => return None,
    };
    Some(Finding {
        id: format!("check-{}", check.id),
        severity,
        what: format!(
            "{} of {} was not as it should be before the run: {}.",
            check.id, check.subject, check.why
        ),
        evidence: format!("{}: {}; expected {}", check.subject, check.value, check.expected),
        remedy: check.mend.clone(),
    })
}

fn of_warning(run: &Run, check: &Check) -> Option<Severity> {
    let id = check.id.as_str();
    // Only what goes through the page cache in order is read ahead.
    let reads_ahead =
        || run.scenarios.iter().any(|s| !s.job.direct && s.job.rw.reads() && !s.job.rw.is_random());
    let bends = BENDING.contains(&id)
        || run.context.is_some() && BENDING_BY_CONTEXT.contains(&id)
        || id == "read-ahead" && reads_ahead();
    if bends {
        return Some(Severity::Warning);
    }
    TOLD.contains(&id).then_some(Severity::Note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::{Context, Job, Rw, Scenario};

    fn check(id: &str, outcome: Outcome) -> Check {
        Check {
            id: id.into(),
            subject: "md0".into(),
            outcome,
            value: "degraded (7 of 8)".into(),
            expected: "[UUUUUUUU]".into(),
            why: "a member is missing".into(),
            mend: "sudo mdadm --add".into(),
        }
    }

    #[test]
    fn what_failed_is_a_warning() {
        let run = crate::verdict::rules::tests::run_of(vec![]);
        assert_eq!(finding_of(&run, &check("other-io", Outcome::Fail)), None);
        assert_eq!(finding_of(&run, &check("array-state", Outcome::Unknown)), None);
        let finding = finding_of(&run, &check("array-state", Outcome::Fail)).unwrap();
        assert_eq!((finding.id.as_str(), finding.severity), ("check-array-state", Severity::Warning));
        assert_eq!(finding.evidence, "md0: degraded (7 of 8); expected [UUUUUUUU]");
    }

    #[test]
    fn a_warning_counts_where_it_bends_figures() {
        let mut run = crate::verdict::rules::tests::run_of(vec![]);
        let severity =
            |run: &Run, id: &str| finding_of(run, &check(id, Outcome::Warn)).map(|finding| finding.severity);
        assert_eq!(severity(&run, "filesystem-alignment"), Some(Severity::Warning));
        assert_eq!(severity(&run, "scheduler"), Some(Severity::Note));
        assert_eq!(severity(&run, "read-ahead"), Some(Severity::Note));
        assert_eq!(severity(&run, "dirty-limit"), None);
        run.context = Some(Context::default());
        assert_eq!(severity(&run, "scheduler"), Some(Severity::Warning));
        let job = Job { rw: Rw::Read, direct: false, ..Job::default() };
        run.scenarios.push(Scenario { job, ..Scenario::default() });
        assert_eq!(severity(&run, "read-ahead"), Some(Severity::Warning));
    }
}
