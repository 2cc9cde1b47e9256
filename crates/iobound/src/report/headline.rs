//! The answer before all figures: is the storage fine, and what limits it?

use iobound_record::{Finding, Run, Scenario, Severity, Status};

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
    if run.scenarios.iter().all(|scenario| scenario.measurement.is_none()) {
        return (Tone::Alarm, "Nothing was measured.".into());
    }
    let broken = broken(run);
    let (tone, rest) = standing(run);
    match broken.is_empty() {
        true => (tone, rest),
        false => (Tone::Alarm, format!("{} {rest}", broken.join(" "))),
    }
}

fn marked(run: &Run, mark: Mark) -> Vec<&Scenario> {
    run.scenarios.iter().filter(|scenario| Mark::of(scenario, run) == mark).collect()
}

/// What is not to be used, and why.
fn broken(run: &Run) -> Vec<String> {
    let all = run.scenarios.len();
    let mut says = Vec::new();
    let void = marked(run, Mark::Void);
    if !void.is_empty() {
        let why = findings(run, Severity::Error).find(|error| touches(&void, error));
        let why = why.map_or(String::new(), |finding| format!(": {}", stop(&finding.what)));
        says.push(format!("Do not use the numbers of {}{why}.", some_of(void.len(), all)));
    }
    let errors = marked(run, Mark::Errors).len();
    if errors > 0 {
        says.push(format!("Operations failed in {}.", some_of(errors, all)));
    }
    let failed = marked(run, Mark::Failed).len();
    if failed > 0 {
        let has = if failed == 1 { "has" } else { "have" };
        says.push(format!("{} {has} no result.", capital(&some_of(failed, all))));
    }
    says
}

/// How the numbers that stand compare with what was promised.
fn standing(run: &Run) -> (Tone, String) {
    let all = run.scenarios.len();
    let (short, above, ok) = (marked(run, Mark::Short), marked(run, Mark::Above), marked(run, Mark::Ok));
    if let Some(worst) = short.iter().min_by(|a, b| percent(a).total_cmp(&percent(b))) {
        let worst = format!("{} at {:.0}% of its ceiling", title_of(worst), percent(worst));
        let falls = if short.len() == 1 { "falls" } else { "fall" };
        let count = capital(&some_of(short.len(), all));
        let worst = if short.len() == 1 { worst } else { format!("worst, {worst}") };
        return (Tone::Caution, format!("{count} {falls} short of what the hardware promises: {worst}."));
    }
    if !above.is_empty() {
        let count = capital(&some_of(above.len(), all));
        let verb = if above.len() == 1 { "is" } else { "are" };
        let says = "faster than the hardware promises; the context is wrong, or something else answers";
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
    let shares = ok.iter().map(|scenario| percent(scenario));
    let (least, most) = shares.fold((f64::MAX, 0.0_f64), |(least, most), p| (least.min(p), most.max(p)));
    let reach = if ok.len() == 1 { "reaches" } else { "reach" };
    let share = format!(
        "{} {reach} what the hardware promises ({least:.0}% to {most:.0}% of the ceiling)",
        some_of(ok.len(), all)
    );
    match warnings {
        0 if ok.len() == all => (Tone::Good, format!("The storage is fine: {share}.")),
        0 => (Tone::Neutral, format!("{}.", capital(&share))),
        _ => (
            Tone::Caution,
            format!("{}, but mind the {} below.", capital(&share), counted(warnings, "warning")),
        ),
    }
}

fn touches(scenarios: &[&Scenario], finding: &Finding) -> bool {
    scenarios.iter().any(|scenario| scenario.verdict.findings.contains(&finding.id))
}

fn percent(scenario: &Scenario) -> f64 {
    scenario.verdict.percent_of_ceiling.unwrap_or(0.0)
}

fn findings(run: &Run, severity: Severity) -> impl Iterator<Item = &Finding> {
    run.findings.iter().filter(move |finding| finding.severity == severity)
}

/// Why what falls short may do so, and the bounds that bind where the ceiling is reached, the most
/// frequent first, each with its scenarios.
fn limits(run: &Run) -> String {
    let short = marked(run, Mark::Short);
    let worst = run.findings.iter().filter(|finding| touches(&short, finding));
    let why =
        worst.max_by_key(|finding| finding.severity).filter(|finding| finding.severity > Severity::Note);
    let why = why.map(|finding| format!("Likely why: {}.", stop(&finding.what)));
    let bounds = bounds(run);
    let words: Vec<String> = bounds
        .iter()
        .map(|(bound, scenarios)| {
            let numbers: Vec<&str> = scenarios.iter().map(|(_, number)| number.as_str()).collect();
            let plural = if numbers.len() == 1 { "" } else { "s" };
            format!("{} (scenario{plural} {})", bound_in_words(bound), numbers.join(", "))
        })
        .collect();
    let what = if short.is_empty() { "What limits it" } else { "What limits the others" };
    let bound = match words.is_empty() {
        false => Some(format!("{what}: {}.", words.join("; "))),
        true => Roofline::of_reads(run).map(|roofline| roofline.in_words()),
    };
    why.into_iter().chain(bound).collect::<Vec<_>>().join(" ")
}

/// Each bound with the scenarios that reached it, by number.
fn bounds(run: &Run) -> Vec<(&str, Vec<(u32, String)>)> {
    let mut bounds: Vec<(&str, Vec<(u32, String)>)> = Vec::new();
    for (index, scenario) in run.scenarios.iter().enumerate() {
        let Some(ceiling) = scenario.ceiling.as_ref().filter(|_| scenario.verdict.status == Status::Ok)
        else {
            continue;
        };
        let number = (scenario.id, number_of(scenario, index));
        match bounds.iter_mut().find(|(bound, _)| *bound == ceiling.bound) {
            Some((_, numbers)) => numbers.push(number),
            None => bounds.push((&ceiling.bound, vec![number])),
        }
    }
    bounds.iter_mut().for_each(|(_, numbers)| numbers.sort());
    bounds.sort_by_key(|(_, numbers)| std::cmp::Reverse(numbers.len()));
    bounds
}

/// The number of a scenario in its suite, or its place where the record has none.
pub fn number_of(scenario: &Scenario, index: usize) -> String {
    if scenario.id == 0 { (index + 1).to_string() } else { scenario.id.to_string() }
}

/// `the one scenario`, `all 10 scenarios`, `3 of 10 scenarios`.
fn some_of(some: usize, all: usize) -> String {
    match (some, all) {
        (1, 1) => "the one scenario".into(),
        (some, all) if some == all => format!("all {all} scenarios"),
        _ => format!("{some} of {all} scenarios"),
    }
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// `text` with a capital first letter.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A sentence without the stop it may already have.
pub fn stop(sentence: &str) -> &str {
    sentence.trim().trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn the_answer_of_each_kind_of_run() {
        let mut cut = sample::gp3();
        cut.interrupted = true;
        let mut void = sample::unjudged();
        void.findings[0].severity = Severity::Error;
        let runs = [sample::gp3(), sample::troubled(), sample::unjudged(), sample::empty(), cut, void];
        let said = runs.iter().map(headline).map(|h| format!("{:?}: {}\n  {}", h.tone, h.says, h.limits));
        insta::assert_snapshot!(said.collect::<Vec<_>>().join("\n"));
    }
}
