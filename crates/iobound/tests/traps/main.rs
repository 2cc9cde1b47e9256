//! Ways in which storage benchmarks mislead, each planted on a real fixture and found by name by the real
//! binary; and clean runs, in which nothing is found.
//!
//! `docs/TRAPS.md` is the table of what is found and how. Tests take turns, since they measure. Those that
//! hang on the machine's mood are tried up to three times; a rule that is wrong fails all three.

#[path = "../support/mod.rs"]
mod support;
#[path = "../../../host/tests/trees/mod.rs"]
mod trees;

mod clean;
mod company;
mod data;
mod database;
mod fixtures;
mod limits;
mod settings;
mod time;

use iobound_record::{Finding, Severity};

use support::Outcome;

/// The finding of that name.
#[track_caller]
fn named(outcome: &Outcome, id: &str) -> Finding {
    let found = outcome.record().findings.into_iter().find(|finding| finding.id == id);
    let found = found.unwrap_or_else(|| panic!("{id} was not found\n{}\n{outcome}", told(outcome)));
    println!("found {id}: {}", found.evidence);
    // Whoever reads only the terminal is told too.
    assert!(outcome.stdout.contains(id), "{id} is not told\n{outcome}");
    found
}

/// Fails if a finding of that name is there.
#[track_caller]
fn not_named(outcome: &Outcome, id: &str) {
    let found = outcome.record().findings.into_iter().find(|finding| finding.id == id);
    assert!(found.is_none(), "{id} was found, and is not there: {found:#?}\n{outcome}");
}

/// All findings, a line each.
fn told(outcome: &Outcome) -> String {
    let findings = outcome.record().findings;
    let line = |finding: &Finding| format!("{:?} {}: {}", finding.severity, finding.id, finding.evidence);
    findings.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Whether the run found it; up to three tries for what needs the machine to keep up.
#[track_caller]
fn in_three_tries(id: &str, mut attempt: impl FnMut() -> Outcome) -> (Finding, Outcome) {
    for tried in 1..=3 {
        let outcome = attempt();
        if tried == 3 || outcome.record().findings.iter().any(|finding| finding.id == id) {
            return (named(&outcome, id), outcome);
        }
        println!("{id}: not found in try {tried}\n{}", told(&outcome));
    }
    unreachable!("the third try returns or fails");
}

/// Fails unless the evidence has every one of `words`.
#[track_caller]
fn has(finding: &Finding, words: &[&str]) {
    for word in words {
        assert!(finding.evidence.contains(word), "{}: no '{word}' in: {}", finding.id, finding.evidence);
    }
    assert!(!finding.remedy.is_empty(), "{} has no remedy", finding.id);
}

fn is_bad(finding: &Finding) -> bool {
    finding.severity >= Severity::Warning
}
