//! Findings in the order and words that every report has for them.

use iobound_record::{Finding, Run, Severity};

/// The run's findings, the worst first; within a severity the run's own order stays.
pub fn worst_first(run: &Run) -> Vec<&Finding> {
    let mut findings: Vec<&Finding> = run.findings.iter().collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

/// A severity in a word.
pub fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}
