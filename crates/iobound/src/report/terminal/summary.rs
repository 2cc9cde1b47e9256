//! The results in one table with the figure each scenario is run for, and the numbers to remember.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use iobound_record::{Metric, Run, Scenario};

use super::table::ink_of;
use super::text::Page;
use crate::report::figure::{figure_of, metric_of, title_of};
use crate::report::headline::{headline, number_of};
use crate::report::mark::Mark;
use crate::report::phase;
use crate::report::swept::{is_told, others};
use crate::verdict::bound_in_words;

/// Widths of the name, from what reads best to what a narrow terminal holds; the last goes without the
/// column of the bound.
const NAME_WIDTHS: [(usize, bool); 4] = [(44, true), (30, true), (30, false), (18, false)];

/// Whether the scenarios were made to be summed up so: each with a title and a metric.
pub(super) fn applies(run: &Run) -> bool {
    run.scenarios.iter().any(|scenario| !scenario.title.is_empty() && !is_told(run, scenario))
}

/// Writes the answer, the results and the key numbers.
pub(super) fn results(run: &Run, page: &mut Page) {
    let answer = headline(run);
    page.heading(&answer.says);
    if !answer.limits.is_empty() {
        page.wrapped("", &answer.limits);
    }
    page.blank();
    page.heading("Results");
    let shown = others(run);
    let marks: Vec<Mark> = shown.iter().map(|(_, scenario)| Mark::of(scenario, run)).collect();
    let mut lines = fitted(run, &marks, page).into_iter();
    if let Some(head) = lines.next() {
        page.line(&head);
    }
    let phases = phase::begun(shown.iter().map(|(_, scenario)| *scenario));
    for ((line, mark), phase) in lines.zip(&marks).zip(phases) {
        if let Some(phase) = phase {
            page.line(&phase);
        }
        page.marked(&line, mark.word(), ink_of(*mark));
    }
    key_numbers(run, page);
    page.blank();
    page.heading("In full");
}

fn fitted(run: &Run, marks: &[Mark], page: &Page) -> Vec<String> {
    let mut lines = Vec::new();
    for (name_width, with_bound) in NAME_WIDTHS {
        lines = table(run, marks, name_width, with_bound, page);
        if lines.iter().all(|line| line.trim_end().chars().count() <= page.width()) {
            break;
        }
    }
    lines
}

fn table(run: &Run, marks: &[Mark], name_width: usize, with_bound: bool, page: &Page) -> Vec<String> {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let head = ["", "#", "scenario", "volume", "metric", "measured", "ceiling", "set by"];
    let judged = run.scenarios.iter().any(|scenario| scenario.ceiling.is_some());
    let left_out = if !judged { 2 } else { usize::from(!with_bound) };
    let columns = head.len() - left_out;
    table.set_header(&head[..columns]);
    for ((index, scenario), mark) in others(run).into_iter().zip(marks) {
        let ceiling = scenario.verdict.percent_of_ceiling.map(|percent| format!("{percent:.0}%"));
        let cells = [
            format!("{:5}", mark.word()),
            number_of(scenario, index),
            page.shortened(title_of(scenario), name_width),
            page.shortened(&scenario.volume, 8),
            metric_word(scenario).into(),
            figure_of(scenario).map_or("none".into(), |figure| figure.in_full()),
            ceiling.unwrap_or_default(),
            page.shortened(bound(scenario), 28),
        ];
        table.add_row(cells.into_iter().take(columns));
    }
    for index in 0..columns {
        let Some(column) = table.column_mut(index) else { continue };
        column.set_padding((0, 2));
        if [1, 5, 6].contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().collect()
}

fn bound(scenario: &Scenario) -> &str {
    scenario.ceiling.as_ref().map_or("", |ceiling| bound_in_words(&ceiling.bound))
}

fn metric_word(scenario: &Scenario) -> &'static str {
    match metric_of(scenario) {
        Metric::Latency => "latency",
        Metric::SyncP99 => "sync p99",
        Metric::Bandwidth => "bandwidth",
        Metric::Iops => "IOPS",
    }
}

fn key_numbers(run: &Run, page: &mut Page) {
    let blocks = [
        (Metric::Latency, "Latency (the speed of light)"),
        (Metric::SyncP99, "Syncs"),
        (Metric::Bandwidth, "Bandwidth"),
        (Metric::Iops, "Operations"),
    ];
    // A narrow terminal has both units in the table above, and the end of a detail can go.
    let narrow = page.width() < 100;
    let (width, figure_width) = if narrow { (26, 12) } else { (36, 24) };
    page.blank();
    page.heading("Key numbers to remember");
    for (metric, heading) in blocks {
        let rows: Vec<_> = others(run)
            .into_iter()
            .map(|(_, scenario)| scenario)
            .filter(|scenario| metric_of(scenario) == metric)
            .filter_map(|scenario| Some((title_of(scenario), figure_of(scenario)?)))
            .collect();
        if rows.is_empty() {
            continue;
        }
        page.line(&format!("  {heading}"));
        for (title, figure) in rows {
            let title = page.shortened(title, width);
            let value = if narrow { figure.value } else { figure.in_full() };
            let line = format!("    {title:width$}  {value:>figure_width$}  {}", figure.detail);
            let line = page.shortened(&line, page.width());
            page.line(&line);
        }
    }
}
