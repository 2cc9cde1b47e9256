//! The sections of a stream on a terminal.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use iobound_record::Run;

use super::text::{Page, wrap};
use crate::report::stream::{self, Section};

/// Longest cell: an output's path.
const CELL: usize = 28;

/// Writes the sections of every stream of the run.
pub(super) fn sections(run: &Run, page: &mut Page) {
    let several = run.scenarios.iter().filter(|scenario| scenario.stream.is_some()).count() > 1;
    for scenario in &run.scenarios {
        let sections = stream::sections(scenario);
        if several && !sections.is_empty() {
            page.blank();
            page.heading(&scenario.name);
        }
        sections.iter().for_each(|section| one(section, page));
    }
}

fn one(section: &Section, page: &mut Page) {
    page.blank();
    page.heading(section.title);
    let width = section.facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(CELL);
    for (name, value) in &section.facts {
        let name = page.shortened(name, CELL);
        let room = page.width().saturating_sub(width + 4);
        for (number, line) in wrap(&page.clean(value), room).iter().enumerate() {
            let name = if number == 0 { name.as_str() } else { "" };
            page.line(&format!("  {name:width$}  {line}"));
        }
    }
    if let Some(table) = &section.table {
        let mut drawn = Table::new();
        drawn.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        drawn.set_header(table.head.iter().map(|name| name.trim_start_matches('>')));
        for row in &table.rows {
            drawn.add_row(row.iter().map(|cell| page.shortened(cell, CELL)));
        }
        for (index, _) in table.head.iter().enumerate().filter(|(_, name)| name.starts_with('>')) {
            if let Some(column) = drawn.column_mut(index) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        drawn.lines().for_each(|line| page.line(&line));
    }
    section.says.iter().for_each(|words| page.bullet(words));
}
