//! The run on one page.

use iobound_record::{Context, Metric, Run, Scenario, units};

use super::page::{Page, plain};
use crate::report::figure::{figure_of, metric_of, title_of};
use crate::report::findings::worst_first;
use crate::report::headline::{headline, number_of};
use crate::report::mark::Mark;
use crate::report::surroundings::{context_lines, host_lines};
use crate::verdict::bound_in_words;

/// The answer, the results by phase, the key numbers, the findings, and what it ran on.
pub fn summary(run: &Run) -> String {
    let mut page = Page::default();
    page.heading(1, &format!("Storage benchmark: {}, {}", run.suite, run.started));
    let answer = headline(run);
    page.markup(&format!("**{}**", plain(&answer.says)));
    page.says(&answer.limits);
    results(run, &mut page);
    key_numbers(run, &mut page);
    if !run.conclusions.is_empty() {
        page.heading(2, "What binds where");
        let lines: Vec<String> = run.conclusions.iter().map(|line| format!("- {}", plain(line))).collect();
        page.markup(&lines.join("\n"));
    }
    page.heading(2, "Findings");
    if run.findings.is_empty() {
        page.says("None.");
    }
    page.findings(worst_first(run).into_iter());
    surroundings(run, &mut page);
    page.finish()
}

fn results(run: &Run, page: &mut Page) {
    page.heading(2, "Results");
    if run.scenarios.is_empty() {
        page.says("No scenario ran.");
        return;
    }
    let head = [
        "",
        ">#",
        "scenario",
        "phase",
        "volume",
        ">measured",
        "beside it",
        ">of the ceiling",
        "ceiling set by",
    ];
    page.table(&head, run.scenarios.iter().enumerate().map(|(index, scenario)| row(run, index, scenario)));
    let mut marks: Vec<Mark> = Vec::new();
    for mark in run.scenarios.iter().map(|scenario| Mark::of(scenario, run)) {
        if !marks.contains(&mark) {
            marks.push(mark);
        }
    }
    let legend: Vec<String> =
        marks.iter().map(|mark| format!("{} = {}", mark.word(), mark.meaning())).collect();
    page.says(&format!("{}.", legend.join("; ")));
}

fn row(run: &Run, index: usize, scenario: &Scenario) -> Vec<String> {
    let (value, detail) = figure_of(scenario).map_or_else(
        || ("none".into(), scenario.error.clone().unwrap_or_default()),
        |figure| (figure.in_full(), figure.detail),
    );
    vec![
        Mark::of(scenario, run).word().into(),
        number_of(scenario, index),
        title_of(scenario).into(),
        if scenario.phase == 0 { String::new() } else { scenario.phase.to_string() },
        scenario.volume.clone(),
        value,
        detail,
        scenario.verdict.percent_of_ceiling.map_or(String::new(), |percent| format!("{percent:.0}%")),
        scenario.ceiling.as_ref().map_or(String::new(), |ceiling| bound_in_words(&ceiling.bound).into()),
    ]
}

fn key_numbers(run: &Run, page: &mut Page) {
    page.heading(2, "Key numbers to remember");
    for (metric, heading) in [
        (Metric::Latency, "Latency"),
        (Metric::SyncP99, "Syncs"),
        (Metric::Bandwidth, "Bandwidth"),
        (Metric::Iops, "Operations"),
    ] {
        let lines: Vec<String> = run
            .scenarios
            .iter()
            .filter(|scenario| metric_of(scenario) == metric)
            .filter_map(|scenario| Some((title_of(scenario), figure_of(scenario)?)))
            .map(|(title, figure)| {
                let detail = if figure.detail.is_empty() { "" } else { ", " };
                format!(
                    "- {}: **{}**{detail}{}",
                    plain(title),
                    plain(&figure.in_full()),
                    plain(&figure.detail)
                )
            })
            .collect();
        if !lines.is_empty() {
            page.markup(&format!("{heading}\n\n{}", lines.join("\n")));
        }
    }
}

fn surroundings(run: &Run, page: &mut Page) {
    page.heading(2, "Host");
    page.table(&["", ""], host_lines(run).into_iter().map(|(name, value)| vec![name, value]));
    if let Some(context) = &run.context {
        page.heading(2, &context_title(context));
        page.table(&["", ""], context_lines(context).into_iter().map(|(name, value)| vec![name, value]));
    }
    page.heading(2, "To repeat it");
    page.code(&run.command.join(" "));
    page.says(&format!(
        "1 MiB = {} bytes, 1 MB = 1,000,000. iobound {}, run {}.",
        units::count(units::MIB as f64),
        run.iobound,
        run.id
    ));
}

fn context_title(context: &Context) -> String {
    if context.name.is_empty() { "Context".into() } else { format!("Context: {}", context.name) }
}
