//! For a terminal.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use iobound_model::comparison::{Against, LeftOut};

use super::chart;
use super::{Part, Sides, cells, change, interval, verdict_words};
use crate::report::terminal::Look;

/// The whole report.
pub fn to_text(all: &Sides, look: &Look) -> String {
    let mut text = String::new();
    for (index, side) in all.sides.iter().enumerate() {
        let word = if index == 0 { "first" } else { "against it" };
        let started = side.runs.iter().map(|run| run.started.as_str()).min().unwrap_or("");
        let runs = if side.runs.len() == 1 { "1 run".into() } else { format!("{} repeats", side.runs.len()) };
        text += &format!("{word:>10}  {}: {runs}, {started}\n", side.name);
    }
    for part in all.parts {
        text += &one(part, all, look);
    }
    for failure in all.failures() {
        text += &format!("FAIL  {failure}\n");
    }
    if let Some(caution) = all.caution() {
        text += &format!("\n{caution}\n");
    }
    text += "\nChanges are of speed: + is faster, also where the figure is a time. Intervals hold 95%.\n";
    // A record comes from anywhere; what it says must not steer the terminal.
    text.replace(|c: char| c.is_control() && c != '\n', "?")
}

fn one(part: &Part, all: &Sides, look: &Look) -> String {
    let Against { differences, rows, left_out, thinned, overall, .. } = &part.against;
    let mut text = format!("\n{} against {}\n", part.name, all.sides[0].name);
    for difference in differences {
        text += &format!("  differs: {difference}\n");
    }
    if !rows.is_empty() {
        text += "\n";
        text += &table(part, all);
    }
    let mut drawn: Vec<_> =
        rows.iter().filter_map(|row| Some((row.name.clone(), row.judged.speed.ok()?))).collect();
    if let Some(overall) = overall.filter(|_| drawn.len() > 1) {
        drawn.push(("geometric mean".into(), overall));
    }
    let chart = chart::lines(&drawn, look.width, look.unicode);
    if !chart.is_empty() {
        text += &format!("\n{}\n", chart.join("\n"));
    }
    for row in rows.iter().filter(|row| !row.notes.is_empty()) {
        text += &format!("  note: {}: {}\n", row.name, row.notes.join("; "));
    }
    for LeftOut { name, why } in left_out {
        text += &format!("  not compared: {name}: {why}\n");
    }
    for LeftOut { name, why } in thinned {
        text += &format!("  without one repeat: {name}: {why}\n");
    }
    text
}

fn table(part: &Part, all: &Sides) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["scenario", "figure", "first", "other", "change", "95% interval", "verdict"]);
    for row in &part.against.rows {
        let verdict = verdict_words(row.verdict, all.same_within);
        let judged = cells(&row.judged);
        table.add_row([row.name.clone()].into_iter().chain(judged).chain([verdict]));
        if let Some(tail) = &row.tail {
            table.add_row([String::new()].into_iter().chain(cells(tail)).chain([String::new()]));
        }
    }
    if let Some(overall) = part.against.overall.filter(|_| part.against.rows.len() > 1) {
        let [change, interval] = [change(overall.ratio), interval(&overall)];
        let empty = String::new;
        table.add_row(["geometric mean".into(), empty(), empty(), empty(), change, interval, empty()]);
    }
    for index in 0..7 {
        let Some(column) = table.column_mut(index) else { continue };
        column.set_padding((0, 2));
        if (2..6).contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| format!("  {}\n", line.trim_end())).collect()
}
