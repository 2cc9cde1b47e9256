//! What a person reads after a run: a table with one row per scenario and its verdict below it,
//! then the findings with what to do, what binds where, and where the files are.

mod checklist;
mod matrix;
mod stream;
mod summary;
mod table;
pub(super) mod text;

use std::path::PathBuf;

use iobound_record::{FitAnswer, Run, Scenario, Severity};

use super::answers;
use super::findings::worst_first;
use super::members::members as members_of;

pub(crate) use table::job_words;
use text::{Ink, Page};

pub use checklist::{render_checks, render_short, verdict};

/// How the text is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Columns of the terminal. Columns of the table go, least needed first, until it fits; below
    /// 40 lines may be longer.
    pub width: usize,
    /// Whether to colour marks and headings (ANSI).
    pub colour: bool,
    /// Whether the terminal shows UTF-8; if not, everything is ASCII.
    pub unicode: bool,
}

/// Narrower than this nothing useful fits; longer lines are then the lesser evil.
const WIDTH_MIN: usize = 40;

/// Whether the locale (`LC_ALL`, else `LC_CTYPE`, else `LANG`) is a UTF-8 one.
pub fn locale_is_utf8() -> bool {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// [`render_with`] for this process's locale, without files.
pub fn render(run: &Run, width: usize, colour: bool) -> String {
    render_with(run, Look { width, colour, unicode: locale_is_utf8() }, &[])
}

/// The run as text, with the files that were written for it. Ends with a newline.
pub fn render_with(run: &Run, look: Look, files: &[PathBuf]) -> String {
    let mut page = Page::new(Look { width: look.width.max(WIDTH_MIN), ..look });
    title(run, &mut page);
    in_full(run, &mut page);
    written(files, &mut page);
    page.finish()
}

/// Everything but the title and the summary.
fn in_full(run: &Run, page: &mut Page) {
    matrix::matrices(run, page);
    table::scenarios(run, page);
    members(run, page);
    stream::sections(run, page);
    findings(run, page);
    conclusions(run, page);
    fit(run, page);
}

/// The run as `iobound report` prints it: where the suite names what each scenario is run for, the
/// answer, the results and the key numbers before all of [`render_with`]'s. Ends with a newline.
pub fn render_report(run: &Run, look: Look) -> String {
    let mut page = Page::new(Look { width: look.width.max(WIDTH_MIN), ..look });
    title(run, &mut page);
    if summary::applies(run) {
        summary::results(run, &mut page);
    }
    in_full(run, &mut page);
    page.finish()
}

fn title(run: &Run, page: &mut Page) {
    page.heading(&format!("iobound {}, {}, {}", run.iobound, run.suite, run.started));
    for target in &run.host.targets {
        let holds = match (target.filesystem.as_str(), target.device.as_str()) {
            ("", "") => String::new(),
            ("", device) => format!(" (device {device})"),
            (filesystem, "") => format!(" ({filesystem})"),
            (filesystem, device) => format!(" ({filesystem} on {device})"),
        };
        page.wrapped("", &format!("on {}{holds}", target.path));
    }
    for engine in engines(run) {
        page.wrapped("", &engine);
    }
    if run.interrupted {
        let measured = run.scenarios.iter().filter(|scenario| scenario.measurement.is_some()).count();
        page.blank();
        page.labelled(
            ("INTERRUPTED", Ink::Alarm),
            &format!(
                "{measured} of {} scenarios have a result; one marked CUT ran for less time than asked.",
                run.scenarios.len()
            ),
        );
    }
    page.blank();
}

/// Who did the I/O and why, each way once.
fn engines(run: &Run) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for measurement in run.scenarios.iter().filter_map(|scenario| scenario.measurement.as_ref()) {
        let reason = match measurement.engine_facts.reason.as_str() {
            "" => String::new(),
            reason => format!(" ({reason})"),
        };
        let line = format!("by {}{reason}", measurement.engine);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// The rate of each disk, where several share a scenario's work.
fn members(run: &Run, page: &mut Page) {
    let shared: Vec<_> =
        run.scenarios.iter().filter_map(|scenario| Some((&scenario.name, members_of(scenario)?))).collect();
    if shared.is_empty() {
        return;
    }
    page.blank();
    page.heading("Member disks");
    for (name, members) in shared {
        page.bullet(&format!("{name}: {}", members.in_words()));
    }
}

fn findings(run: &Run, page: &mut Page) {
    page.blank();
    if run.findings.is_empty() {
        let whole = |scenario: &Scenario| scenario.measurement.as_ref().is_some_and(|m| m.errors == 0);
        let all_well = !run.interrupted && run.scenarios.iter().all(whole);
        page.wrapped(
            "",
            if all_well {
                "No findings: nothing was seen that puts these numbers in doubt."
            } else {
                "No findings besides what the table says."
            },
        );
        return;
    }
    page.heading("Findings");
    for finding in worst_first(run) {
        page.blank();
        page.labelled(severity(finding.severity), &format!("{}{}", finding.id, touched(run, &finding.id)));
        for (label, words) in [("", &finding.what), ("Seen: ", &finding.evidence), ("Do: ", &finding.remedy)]
        {
            if !words.is_empty() {
                page.wrapped("         ", &format!("{label}{words}"));
            }
        }
    }
}

fn severity(severity: Severity) -> (&'static str, Ink) {
    match severity {
        Severity::Error => ("ERROR", Ink::Alarm),
        Severity::Warning => ("WARNING", Ink::Caution),
        Severity::Note => ("note", Ink::Calm),
    }
}

/// The scenarios whose verdict names the finding.
fn touched(run: &Run, id: &str) -> String {
    let names: Vec<&str> = run
        .scenarios
        .iter()
        .filter(|scenario| scenario.verdict.findings.iter().any(|finding| finding == id))
        .map(|scenario| scenario.name.as_str())
        .collect();
    /// More names than these say no more than their number.
    const NAMES_MAX: usize = 8;
    match names.len() {
        0 => String::new(),
        1..=NAMES_MAX => format!(", touches {}", names.join(", ")),
        count => format!(", touches {} and {} more", names[..NAMES_MAX].join(", "), count - NAMES_MAX),
    }
}

fn conclusions(run: &Run, page: &mut Page) {
    if run.conclusions.is_empty() {
        return;
    }
    page.blank();
    page.heading("What binds where");
    for conclusion in &run.conclusions {
        page.bullet(conclusion);
    }
}

/// What it is fit for in a line, and what it is not, or hardly, with its figures. All figures and their
/// documents are in the other reports.
fn fit(run: &Run, page: &mut Page) {
    if run.fit.is_empty() {
        return;
    }
    page.blank();
    page.heading("Fit for");
    let (fine, others): (Vec<_>, Vec<_>) =
        answers::rows(run).into_iter().partition(|fit| fit.answer == FitAnswer::Yes);
    let mut systems: Vec<&str> = fine.iter().map(|fit| fit.system.as_str()).collect();
    systems.dedup();
    if !systems.is_empty() {
        page.labelled(
            ("yes", Ink::Good),
            &format!("{} (by the figures that their documents name)", systems.join("; ")),
        );
    }
    for fit in others {
        let ink = if fit.answer == FitAnswer::No { Ink::Caution } else { Ink::Calm };
        page.labelled(
            (answers::word(fit.answer), ink),
            &format!("{}: {}; measured {}", fit.system, fit.asks, fit.evidence),
        );
    }
}

fn written(files: &[PathBuf], page: &mut Page) {
    if files.is_empty() {
        return;
    }
    page.blank();
    page.heading("Written");
    for file in files {
        // Never wrapped: a path is there to be copied.
        page.line(&format!("  {}", file.display()));
    }
}

#[cfg(test)]
#[path = "terminal/tests.rs"]
mod tests;
