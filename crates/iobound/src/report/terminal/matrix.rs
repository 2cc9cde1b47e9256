//! Sweeps as one small table each: block sizes down, jobs across.

use iobound_record::{Run, Scenario, units};

use super::text::Page;
use crate::report::mark::{Mark, Tone};
use crate::verdict::{Column, Sweep, sweeps};

/// Width of the block sizes, and the least of a column: two numbers.
const SIZE_WIDTH: usize = 10;
const COLUMN_WIDTH: usize = 20;

/// Whether a scenario is a point that the matrix says enough of; one in trouble stands in the table too.
pub(super) fn holds(run: &Run, scenario: &Scenario) -> bool {
    let calm = matches!(Mark::of(scenario, run).tone(), Tone::Good | Tone::Neutral);
    calm && !scenario.sweep.is_empty()
}

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
        page.blank();
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

/// `3,941  15.4`, with its share of the ceiling or what is wrong.
fn cell(run: &Run, scenario: &Scenario) -> String {
    let mark = Mark::of(scenario, run);
    let Some(measured) = &scenario.measurement else { return mark.word().into() };
    let mib = units::significant(measured.bandwidth_bytes_per_s() / units::MIB as f64);
    let share =
        scenario.verdict.percent_of_ceiling.map_or(String::new(), |percent| format!(" {percent:.0}%"));
    let trouble = match mark.tone() {
        Tone::Good | Tone::Neutral => String::new(),
        Tone::Caution | Tone::Alarm => format!("{} ", mark.word()),
    };
    format!("{trouble}{} {mib:>7}{share}", units::count(measured.iops()))
}
