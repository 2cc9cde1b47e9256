//! Sweeps as one small table each: block sizes down, jobs across.

use iobound_record::{Run, Scenario, units};

use super::text::Page;
use crate::report::swept::{figures, others, trouble};
use crate::verdict::{Column, Sweep, sweeps};

/// Width of the block sizes, and the least of a column: two numbers.
const SIZE_WIDTH: usize = 10;
const COLUMN_WIDTH: usize = 20;

/// Writes every sweep.
pub(super) fn matrices(run: &Run, page: &mut Page) {
    let sweeps = sweeps(run);
    for sweep in &sweeps {
        let widths: Vec<usize> =
            sweep.columns.iter().map(|c| (sweep.label(c).chars().count() + 2).max(COLUMN_WIDTH)).collect();
        let mut from = 0;
        while from < sweep.columns.len() {
            // As many columns as fit, and one at least.
            let mut to = from + 1;
            let mut width = SIZE_WIDTH + widths[from];
            while to < widths.len() && width + widths[to] <= page.width() {
                width += widths[to];
                to += 1;
            }
            let columns: Vec<(&Column, usize)> =
                sweep.columns[from..to].iter().zip(widths[from..to].iter().copied()).collect();
            block(run, sweep, &columns, page);
            from = to;
        }
    }
    if !sweeps.is_empty() {
        page.wrapped("", "Each cell: IOPS and MiB/s; 1 MiB = 1,048,576 bytes. % = share of its ceiling.");
        if !others(run).is_empty() {
            page.blank();
        }
    }
}

fn block(run: &Run, sweep: &Sweep, columns: &[(&Column, usize)], page: &mut Page) {
    page.heading(sweep.title);
    let head: String =
        columns.iter().map(|(column, width)| format!("{:>width$}", sweep.label(column))).collect();
    page.line(&format!("{:SIZE_WIDTH$}{head}", ""));
    for &size in &sweep.sizes {
        let cells: String = columns
            .iter()
            .map(|(column, width)| {
                let cell = sweep.at(size, column).map_or(String::new(), |(_, scenario)| cell(run, scenario));
                format!("{cell:>width$}")
            })
            .collect();
        page.line(&format!("{:>SIZE_WIDTH$}{cells}", units::bytes(size)));
    }
    page.blank();
}

/// `3,941  15.4`, with its share of the ceiling and what is wrong.
fn cell(run: &Run, scenario: &Scenario) -> String {
    let trouble = trouble(run, scenario).map_or(String::new(), |word| format!("{word} "));
    let Some((iops, mib)) = figures(scenario) else { return trouble };
    let share =
        scenario.verdict.percent_of_ceiling.map_or(String::new(), |percent| format!(" {percent:.0}%"));
    format!("{trouble}{iops} {mib:>7}{share}")
}
