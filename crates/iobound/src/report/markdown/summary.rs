//! The run on one page.

use iobound_record::{Context, Metric, Run, Scenario, units};

use super::page::{Page, plain};
use crate::report::answers;
use crate::report::figure::{figure_of, metric_of, title_of};
use crate::report::findings::worst_first;
use crate::report::headline::{headline, number_of};
use crate::report::mark::Mark;
use crate::report::members::members as members_of;
use crate::report::surroundings::{context_lines, host_lines};
use crate::report::swept::{figures, others, trouble};
use crate::verdict::{bound_in_words, sweeps};

/// The answer, the results by phase, the key numbers, the findings, and what it ran on.
pub fn summary(run: &Run) -> String {
    let mut page = Page::default();
    page.heading(1, &format!("Storage benchmark: {}, {}", run.suite, run.started));
    let answer = headline(run);
    page.markup(&format!("**{}**", plain(&answer.says)));
    page.says(&answer.limits);
    matrices(run, &mut page);
    results(run, &mut page);
    key_numbers(run, &mut page);
    members(run, &mut page);
    if !run.conclusions.is_empty() {
        page.heading(2, "What binds where");
        let lines: Vec<String> = run.conclusions.iter().map(|line| format!("- {}", plain(line))).collect();
        page.markup(&lines.join("\n"));
    }
    fit(run, &mut page);
    page.heading(2, "Findings");
    if run.findings.is_empty() {
        page.says("None.");
    }
    page.findings(worst_first(run).into_iter());
    surroundings(run, &mut page);
    page.finish()
}

/// Each sweep as a table: block sizes down, jobs across.
fn matrices(run: &Run, page: &mut Page) {
    for sweep in sweeps(run) {
        page.heading(2, sweep.title);
        let heads: Vec<String> = sweep
            .columns
            .iter()
            .flat_map(|column| {
                let label = sweep.label(column);
                [format!(">{label}: IOPS"), format!(">{label}: MiB/s")]
            })
            .collect();
        let head: Vec<&str> =
            std::iter::once(">block size").chain(heads.iter().map(String::as_str)).collect();
        page.table(
            &head,
            sweep.sizes.iter().map(|&size| {
                let cells = sweep.columns.iter().flat_map(|column| cells(run, sweep.at(size, column)));
                std::iter::once(units::bytes(size)).chain(cells).collect()
            }),
        );
    }
}

fn cells(run: &Run, cell: Option<(usize, &Scenario)>) -> [String; 2] {
    let Some((_, scenario)) = cell else { return Default::default() };
    let trouble = trouble(run, scenario).map_or(String::new(), |word| format!("{word} "));
    let (iops, mib) = figures(scenario).unwrap_or_default();
    [trouble + &iops, mib]
}

/// The rate of each disk, where several share a scenario's work.
fn members(run: &Run, page: &mut Page) {
    let lines: Vec<String> = run
        .scenarios
        .iter()
        .filter_map(|scenario| {
            let words = members_of(scenario)?.in_words();
            Some(format!("- {}: {}", plain(title_of(scenario)), plain(&words)))
        })
        .collect();
    if !lines.is_empty() {
        page.heading(2, "Member disks");
        page.markup(&lines.join("\n"));
    }
}

fn results(run: &Run, page: &mut Page) {
    if !run.scenarios.is_empty() && others(run).is_empty() {
        return;
    }
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
    let shown = others(run);
    page.table(&head, shown.iter().map(|(index, scenario)| row(run, *index, scenario)));
    let mut marks: Vec<Mark> = Vec::new();
    for mark in shown.iter().map(|(_, scenario)| Mark::of(scenario, run)) {
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
        match (scenario.phase, scenario.phase_name.as_str()) {
            (0, _) => String::new(),
            (phase, "") => phase.to_string(),
            (phase, name) => format!("{phase}: {name}"),
        },
        scenario.volume.clone(),
        value,
        detail,
        scenario.verdict.percent_of_ceiling.map_or(String::new(), |percent| format!("{percent:.0}%")),
        scenario.ceiling.as_ref().map_or(String::new(), |ceiling| bound_in_words(&ceiling.bound).into()),
    ]
}

fn key_numbers(run: &Run, page: &mut Page) {
    if !run.scenarios.is_empty() && others(run).is_empty() {
        return;
    }
    page.heading(2, "Key numbers to remember");
    for (metric, heading) in [
        (Metric::Latency, "Latency"),
        (Metric::SyncP99, "Syncs"),
        (Metric::Bandwidth, "Bandwidth"),
        (Metric::Iops, "Operations"),
    ] {
        let lines: Vec<String> = others(run)
            .into_iter()
            .map(|(_, scenario)| scenario)
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

fn fit(run: &Run, page: &mut Page) {
    if run.fit.is_empty() {
        return;
    }
    page.heading(2, "Fit for");
    page.says(answers::CAPTION);
    let row = |fit: &iobound_record::Fit| {
        let source = format!("{}, {}", fit.source, fit.url);
        vec![
            answers::word(fit.answer).into(),
            fit.system.clone(),
            fit.asks.clone(),
            fit.evidence.clone(),
            source,
        ]
    };
    page.table(&["", "system", "asks", "measured", "source"], answers::rows(run).into_iter().map(row));
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
