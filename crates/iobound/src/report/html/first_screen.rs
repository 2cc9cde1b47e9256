//! What stands first: the answer, the few numbers, each scenario against its ceiling, the findings.

use iobound_record::{Fit, Run, Scenario, Severity};
use maud::{Markup, html};

use super::plot::px;
use super::sweep;
use crate::report::answers;
use crate::report::figure::{figure_of, key_numbers, title_of};
use crate::report::findings::{severity_word, worst_first};
use crate::report::headline::{headline, number_of};
use crate::report::mark::{Mark, Tone};
use crate::report::phase;
use crate::report::swept::others;
use crate::verdict::bound_in_words;

/// Percent at the right end of a bar; above it a bar is full.
const BAR_END: f64 = 120.0;

pub(super) fn render(run: &Run) -> Markup {
    let answer = headline(run);
    html! {
        section.answer.(answer.tone.class()) {
            h1 { (answer.says) }
            @if !answer.limits.is_empty() { p { (answer.limits) } }
        }
        (tiles(run))
        (binds(run))
        (sweep::section(run))
        (against_ceilings(run))
        (findings(run))
        (fit(run))
    }
}

fn binds(run: &Run) -> Markup {
    html! {
        @if !run.conclusions.is_empty() {
            section {
                h2 { "What binds where" }
                ul { @for line in &run.conclusions { li { (line) } } }
            }
        }
    }
}

fn tiles(run: &Run) -> Markup {
    let numbers = key_numbers(run);
    html! {
        @if !numbers.is_empty() {
            section aria-label="Key numbers" {
                dl.tiles {
                    @for number in &numbers {
                        @let scenario = &run.scenarios[number.index];
                        @let tone = Mark::of(scenario, run).tone();
                        @let alarmed = tone == Tone::Alarm;
                        div.(tone.class()) {
                            dt { (number.label) }
                            dd { (number.figure.value) }
                            dd.beside {
                                @if let Some(also) = &number.figure.also { (also) ", " }
                                (number.figure.detail) @if alarmed { " (does not stand)" } }
                        }
                    }
                }
            }
        }
    }
}

fn against_ceilings(run: &Run) -> Markup {
    if !run.scenarios.is_empty() && others(run).is_empty() {
        return html! {};
    }
    let judged = run.scenarios.iter().any(|scenario| scenario.ceiling.is_some());
    html! {
        section {
            h2 { @if judged { "Measured against the ceiling" } @else { "Measured" } }
            @if run.scenarios.is_empty() {
                p { "No scenario ran." }
            } @else {
                @if judged {
                    p.caption {
                        "The ceiling is what the hardware promises for that job; the line in each bar is 100% of it."
                    }
                } @else {
                    p.caption { "Without a hardware context there is no ceiling to draw." }
                }
                (table(run, judged))
                (legend(run))
            }
        }
    }
}

fn table(run: &Run, judged: bool) -> Markup {
    let phases = phase::begun(others(run).into_iter().map(|(_, scenario)| scenario));
    html! {
        div.scroll {
            table.ceilings {
                thead {
                    tr {
                        th scope="col" { "Verdict" }
                        th.number scope="col" { "#" }
                        th scope="col" { "Scenario" }
                        th.number scope="col" { "Measured" }
                        @if judged {
                            th scope="col" { "Of its ceiling" }
                            th.wide scope="col" { "Ceiling set by" }
                        } @else {
                            th.wide scope="col" { "What was seen" }
                        }
                    }
                }
                tbody {
                    @for ((index, scenario), phase) in others(run).into_iter().zip(phases) {
                        @if let Some(phase) = phase { tr.phase { th colspan="6" scope="rowgroup" { (phase) } } }
                        (row(run, index, scenario, judged))
                    }
                }
            }
        }
    }
}

fn row(run: &Run, index: usize, scenario: &Scenario, judged: bool) -> Markup {
    let mark = Mark::of(scenario, run);
    let bound = scenario.ceiling.as_ref().map_or("", |ceiling| bound_in_words(&ceiling.bound));
    html! {
        tr {
            td { (badge(mark)) }
            td.number.id { (number_of(scenario, index)) }
            th scope="row" {
                a href={ "#scenario-" (index + 1) } { (title_of(scenario)) }
                @if !scenario.volume.is_empty() { " " span.volume { (scenario.volume) } }
                @if let Some(error) = &scenario.error { span.under.always { (error) } }
                @else if judged && !bound.is_empty() { span.under { "ceiling set by " (bound) } }
            }
            td.number {
                @match figure_of(scenario) {
                    Some(figure) => {
                        (figure.value)
                        @if let Some(also) = figure.also { " " span.beside { "(" (also) ")" } }
                    }
                    None => { "none" }
                }
            }
            @if judged {
                td.bar { (bar(scenario, mark)) }
                td.wide { (bound) }
            } @else {
                td.wide { (scenario.verdict.says) }
            }
        }
    }
}

pub(super) fn badge(mark: Mark) -> Markup {
    let word = if mark == Mark::Unknown { "none" } else { mark.word() };
    html! { span.badge.(mark.tone().class()) title=(mark.meaning()) { (word) } }
}

/// The bar is a picture of the number beside it, so it is hidden from those who hear the page.
fn bar(scenario: &Scenario, mark: Mark) -> Markup {
    let Some(percent) = scenario.verdict.percent_of_ceiling else {
        let why = if scenario.ceiling.is_some() { "not measured" } else { "no ceiling" };
        return html! { span.beside { (why) } };
    };
    let width = percent.clamp(0.0, BAR_END) / BAR_END * 100.0;
    let full = 100.0 / BAR_END * 100.0;
    html! {
        svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" {
            rect.track width=(px(full)) height="10" {}
            rect.fill.(mark.tone().class()) width=(px(width)) height="10" {}
            line.full x1=(px(full)) x2=(px(full)) y1="0" y2="10" {}
        }
        span.percent { (format!("{percent:.0}%")) }
    }
}

fn legend(run: &Run) -> Markup {
    let used = |wanted: Mark| run.scenarios.iter().any(|scenario| Mark::of(scenario, run) == wanted);
    html! {
        p.legend {
            @for (mark, means) in Mark::ALL.into_iter().filter(|(mark, _)| used(*mark)) {
                span { (badge(mark)) " " (means) }
            }
        }
    }
}

fn findings(run: &Run) -> Markup {
    let worst_first = worst_first(run);
    html! {
        section {
            h2 { "Findings, and what to do" }
            @if worst_first.is_empty() {
                p { "None: nothing was seen that puts these numbers in doubt." }
            }
            @for finding in worst_first {
                @let (tone, word) = (tone_of(finding.severity), severity_word(finding.severity));
                article.finding.(tone.class()) {
                    h3 { span.badge.(tone.class()) { (word) } " " (finding.what) }
                    @if !finding.remedy.is_empty() { p { strong { "Do: " } (finding.remedy) } }
                    @if !finding.evidence.is_empty() { p.evidence { "Seen: " (finding.evidence) } }
                    p.evidence { code { (finding.id) } (touched(run, &finding.id)) }
                }
            }
        }
    }
}

fn fit(run: &Run) -> Markup {
    html! {
        @if !run.fit.is_empty() {
            section {
                h2 { "Fit for" }
                p.caption { (answers::CAPTION) }
                div.scroll {
                    table.fit {
                        thead {
                            tr {
                                th scope="col" { "" } th scope="col" { "System" } th scope="col" { "Asks" }
                                th scope="col" { "Measured" } th.wide scope="col" { "Source" }
                            }
                        }
                        tbody { @for row in answers::rows(run) { (fit_row(row)) } }
                    }
                }
            }
        }
    }
}

fn fit_row(fit: &Fit) -> Markup {
    // An address from a record is only a link where it can be nothing else.
    let link = fit.url.starts_with("https://");
    html! {
        tr {
            td { span.badge.(answers::tone(fit.answer).class()) { (answers::word(fit.answer)) } }
            th scope="row" { (fit.system) }
            td { (fit.asks) }
            td { (fit.evidence) }
            td.wide { @if link { a href=(fit.url) rel="noreferrer" { (fit.source) } } @else { (fit.source) } }
        }
    }
}

fn tone_of(severity: Severity) -> Tone {
    match severity {
        Severity::Error => Tone::Alarm,
        Severity::Warning => Tone::Caution,
        Severity::Note => Tone::Neutral,
    }
}

/// The scenarios whose verdict names the finding.
fn touched(run: &Run, id: &str) -> String {
    let touched = run.scenarios.iter().enumerate();
    let numbers: Vec<String> = touched
        .filter(|(_, scenario)| scenario.verdict.findings.iter().any(|finding| finding == id))
        .map(|(index, scenario)| number_of(scenario, index))
        .collect();
    if numbers.is_empty() { String::new() } else { format!(", touches scenario {}", numbers.join(", ")) }
}
