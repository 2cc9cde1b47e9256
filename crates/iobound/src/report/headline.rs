//! The answer before all figures: is the storage fine, and what limits it?

use iobound_record::{Finding, Run, Scenario, Severity};

use crate::report::figure::title_of;
use crate::report::mark::{Mark, Tone};
use crate::verdict::{Roofline, bound_in_words};

/// The answer in two sentences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    /// How bad it is.
    pub tone: Tone,
    /// Whether the storage is fine.
    pub says: String,
    /// What limits it; empty when that is not known.
    pub limits: String,
}

/// The answer of a run, from its verdicts and findings as they are recorded.
pub fn headline(run: &Run) -> Headline {
    let (tone, says) = verdict(run);
    let says = match run.interrupted {
        true => format!("The run was cut short. {says}"),
        false => says,
    };
    let tone = if run.interrupted { tone.max(Tone::Caution) } else { tone };
    Headline { tone, says, limits: limits(run) }
}

fn verdict(run: &Run) -> (Tone, String) {
    let marked = |marks: &[Mark]| -> Vec<&Scenario> {
        run.scenarios.iter().filter(|scenario| marks.contains(&Mark::of(scenario, run))).collect()
    };
    let all = run.scenarios.len();
    if run.scenarios.iter().all(|scenario| scenario.measurement.is_none()) {
        return (Tone::Alarm, "Nothing was measured.".into());
    }
    let broken = marked(&[Mark::Void, Mark::Errors, Mark::Failed]);
    if !broken.is_empty() {
        let why = findings(run, Severity::Error).next().map(|f| format!(" {}.", stop(&f.what)));
        let why = why.unwrap_or_default();
        return (Tone::Alarm, format!("Do not use {} yet.{why}", some_of(broken.len(), all, "number")));
    }
    let (short, above, ok) = (marked(&[Mark::Short]), marked(&[Mark::Above]), marked(&[Mark::Ok]));
    if let Some(worst) = short.iter().min_by(|a, b| percent(a).total_cmp(&percent(b))) {
        let worst = format!("{} at {:.0}% of its ceiling", title_of(worst), percent(worst));
        let count = some_of(short.len(), all, "scenario");
        let verb = if short.len() == 1 { "falls" } else { "fall" };
        return (
            Tone::Caution,
            format!("{} {verb} short of what the storage promises: worst {worst}.", capital(&count)),
        );
    }
    if !above.is_empty() {
        let count = capital(&some_of(above.len(), all, "scenario"));
        let verb = if above.len() == 1 { "is" } else { "are" };
        let says = "faster than the storage promises; the context is wrong, or something else answers";
        return (Tone::Caution, format!("{count} {verb} {says}."));
    }
    let warnings = findings(run, Severity::Warning).count();
    if ok.is_empty() {
        let says = "Measured, but not judged: the run has no context that says what this storage should do";
        return match warnings {
            0 => (Tone::Neutral, format!("{says}.")),
            _ => (Tone::Caution, format!("{says}; {} below.", counted(warnings, "warning"))),
        };
    }
    let (least, most) = ok
        .iter()
        .map(|scenario| percent(scenario))
        .fold((f64::MAX, 0.0_f64), |(a, b), p| (a.min(p), b.max(p)));
    let judged = match ok.len() == all {
        true if all == 1 => "its scenario reaches".into(),
        true => format!("all {all} scenarios reach"),
        false => format!("the {} of {all} scenarios that have a ceiling reach", ok.len()),
    };
    let share = format!("what its hardware promises ({least:.0}% to {most:.0}% of the ceiling)");
    match warnings {
        0 => (Tone::Good, format!("The storage is fine: {judged} {share}.")),
        _ => (
            Tone::Caution,
            format!("{} {share}, but mind the {} below.", capital(&judged), counted(warnings, "warning")),
        ),
    }
}

fn percent(scenario: &Scenario) -> f64 {
    scenario.verdict.percent_of_ceiling.unwrap_or(0.0)
}

fn findings(run: &Run, severity: Severity) -> impl Iterator<Item = &Finding> {
    run.findings.iter().filter(move |finding| finding.severity == severity)
}

/// The bounds that bind, the most frequent first, each with its scenarios.
fn limits(run: &Run) -> String {
    let mut bounds: Vec<(&str, Vec<String>)> = Vec::new();
    for (index, scenario) in run.scenarios.iter().enumerate() {
        let Some(ceiling) = &scenario.ceiling else { continue };
        let number = number_of(scenario, index);
        match bounds.iter_mut().find(|(bound, _)| *bound == ceiling.bound) {
            Some((_, numbers)) => numbers.push(number),
            None => bounds.push((&ceiling.bound, vec![number])),
        }
    }
    bounds.sort_by_key(|(_, numbers)| std::cmp::Reverse(numbers.len()));
    let words: Vec<String> = bounds
        .iter()
        .map(|(bound, numbers)| format!("{} (scenario {})", bound_in_words(bound), numbers.join(", ")))
        .collect();
    match words.is_empty() {
        false => format!("What limits it: {}.", words.join("; ")),
        true => Roofline::of_reads(run).map(|roofline| roofline.in_words()).unwrap_or_default(),
    }
}

/// The number of a scenario in its suite, or its place where the record has none.
pub fn number_of(scenario: &Scenario, index: usize) -> String {
    if scenario.id == 0 { (index + 1).to_string() } else { scenario.id.to_string() }
}

/// `the 1 number`, `3 of 10 numbers`.
fn some_of(some: usize, all: usize, noun: &str) -> String {
    match (some, all) {
        (1, 1) => format!("the one {noun}"),
        (some, all) if some == all => format!("all {all} {noun}s"),
        _ => format!("{some} of {all} {noun}s"),
    }
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A sentence without the stop it may already have.
pub fn stop(sentence: &str) -> &str {
    sentence.trim().trim_end_matches('.')
}
