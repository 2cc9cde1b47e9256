//! The table: a row per scenario, rows for its directions and syncs below it, then its verdict in
//! words. Each row is one line, so that words can go between rows; columns go until it fits.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use iobound_record::{DirectionStats, EngineChoice, Job, LatencySummary, Run, Scenario, SyncMode, units};

use super::text::{Ink, Page};
use crate::report::headline::stop;
use crate::report::mark::{Mark, Tone};
use crate::report::phase;
use crate::report::swept::is_told;

/// Indent of the words below a row: under the names, past the widest mark.
const INDENT: &str = "       ";
/// Width of the column of marks.
const MARK_WIDTH: usize = 5;

/// A column of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Column {
    Mark,
    Name,
    Job,
    Iops,
    Mib,
    Mb,
    Mean,
    P50,
    P99,
    P9999,
}

const COLUMNS: [(Column, &str); 10] = [
    (Column::Mark, ""),
    (Column::Name, "scenario"),
    (Column::Job, "job"),
    (Column::Iops, "IOPS"),
    (Column::Mib, "MiB/s"),
    (Column::Mb, "(MB/s)"),
    (Column::Mean, "mean"),
    (Column::P50, "p50"),
    (Column::P99, "p99"),
    (Column::P9999, "p99.99"),
];

/// What goes when the table is too wide, and how long names may be then. The job moves into the
/// words below the row; of the latencies the tail stays longest, for that is what hurts.
const FITS: [(&[Column], usize); 8] = [
    (&[], 32),
    (&[Column::Job], 32),
    (&[Column::Job], 24),
    (&[Column::Job], 18),
    (&[Column::Job, Column::Mean], 18),
    (&[Column::Job, Column::Mean, Column::P50], 16),
    (&[Column::Job, Column::Mean, Column::P50, Column::P9999], 14),
    (&[Column::Job, Column::Mean, Column::P50, Column::P9999, Column::Mb], 12),
];

/// One line of the table.
struct Row {
    name: String,
    job: String,
    rate: Option<Rate>,
    latency: Option<LatencySummary>,
}

/// Operations per second, and bytes per second where the operations move any.
struct Rate {
    iops: f64,
    bytes_per_s: Option<f64>,
}

/// A scenario with its lines.
struct Block<'a> {
    scenario: &'a Scenario,
    mark: Mark,
    rows: Vec<Row>,
}

/// The colour of a mark.
pub(super) fn ink_of(mark: Mark) -> Ink {
    match mark.tone() {
        Tone::Good => Ink::Good,
        Tone::Neutral => Ink::Calm,
        Tone::Caution => Ink::Caution,
        Tone::Alarm => Ink::Alarm,
    }
}

/// Writes the table with the words below each row, and a legend of what it used.
pub(super) fn scenarios(run: &Run, page: &mut Page) {
    if run.scenarios.is_empty() {
        page.wrapped("", "No scenario ran.");
        return;
    }
    let blocks: Vec<Block> = run
        .scenarios
        .iter()
        .filter(|scenario| !is_told(run, scenario))
        .map(|scenario| Block { scenario, mark: Mark::of(scenario, run), rows: rows(scenario) })
        .collect();
    if blocks.is_empty() {
        return;
    }
    let phases = phase::begun(blocks.iter().map(|block| block.scenario));
    let (lines, with_job) = fitted(&blocks, page);
    let mut lines = lines.iter();
    if let Some(head) = lines.next() {
        page.line(head);
    }
    for (block, phase) in blocks.iter().zip(phases) {
        if let Some(phase) = phase {
            page.line(&phase);
        }
        for (i, line) in lines.by_ref().take(block.rows.len()).enumerate() {
            let mark = if i == 0 { block.mark.word() } else { "" };
            page.marked(line, mark, ink_of(block.mark));
        }
        let words = words(block.scenario, !with_job);
        if !words.is_empty() {
            page.wrapped(INDENT, &words);
        }
    }
    legend(&blocks, page);
}

/// The lines of the widest table that fits, its head first, and whether the job is in it.
fn fitted(blocks: &[Block], page: &Page) -> (Vec<String>, bool) {
    let mut lines = Vec::new();
    for (dropped, name_width) in FITS {
        let columns: Vec<(Column, &str)> =
            COLUMNS.into_iter().filter(|(column, _)| !dropped.contains(column)).collect();
        lines = table(blocks, &columns, name_width, page);
        let widest = lines.iter().map(|line| line.trim_end().chars().count()).max().unwrap_or(0);
        if widest <= page.width() {
            return (lines, dropped.is_empty());
        }
    }
    (lines, false)
}

fn table(blocks: &[Block], columns: &[(Column, &str)], name_width: usize, page: &Page) -> Vec<String> {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(columns.iter().map(|(_, title)| *title));
    for block in blocks {
        for (i, row) in block.rows.iter().enumerate() {
            let mark = if i == 0 { block.mark.word() } else { "" };
            table.add_row(columns.iter().map(|(column, _)| match column {
                Column::Mark => format!("{mark:MARK_WIDTH$}"),
                Column::Name => page.shortened(&row.name, name_width),
                column => row.cell(*column),
            }));
        }
    }
    for (i, (column, _)) in columns.iter().enumerate() {
        let Some(shown) = table.column_mut(i) else { continue };
        shown.set_padding((0, 2));
        if !matches!(column, Column::Mark | Column::Name | Column::Job) {
            shown.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().collect()
}

/// A row per scenario; a mixed one shows its sum there and each direction below, since their
/// latencies are two different things; syncs are operations of their own.
fn rows(scenario: &Scenario) -> Vec<Row> {
    let job = job_words(&scenario.job);
    let name = if scenario.name.is_empty() { &scenario.job.name } else { &scenario.name }.clone();
    let Some(measured) = &scenario.measurement else {
        return vec![Row { name, job, rate: None, latency: None }];
    };
    let sides: Vec<(&str, &DirectionStats)> = [("read", &measured.read), ("write", &measured.write)]
        .into_iter()
        .filter(|(_, side)| side.ios > 0)
        .collect();
    let whole = Rate { iops: measured.iops(), bytes_per_s: Some(measured.bandwidth_bytes_per_s()) };
    let alone = if let [(_, side)] = sides[..] { Some(side) } else { None };
    let mut rows = vec![Row { name, job, rate: Some(whole), latency: alone.map(|side| side.latency_ns) }];
    for (word, side) in sides {
        if alone.is_none() {
            let rate = Rate { iops: side.iops, bytes_per_s: Some(side.bandwidth_bytes_per_s) };
            rows.push(Row::below(word, Some(rate), side.latency_ns));
        }
        if let Some(latency) = side.scheduled_latency_ns {
            rows.push(Row::below(&format!("{word}, as due"), None, latency));
        }
    }
    if measured.sync.ios > 0 {
        let rate = Rate { iops: measured.sync.iops, bytes_per_s: None };
        rows.push(Row::below("sync", Some(rate), measured.sync.latency_ns));
    }
    rows
}

impl Row {
    fn below(word: &str, rate: Option<Rate>, latency: LatencySummary) -> Row {
        Row { name: format!("  {word}"), job: String::new(), rate, latency: Some(latency) }
    }

    fn cell(&self, column: Column) -> String {
        let bytes_per_s = self.rate.as_ref().and_then(|rate| rate.bytes_per_s);
        let latency = |of: fn(&LatencySummary) -> u64| match self.latency.as_ref().map(of) {
            None => String::new(),
            // No operation takes no time: what is 0 was not recorded.
            Some(0) => "-".into(),
            Some(ns) => units::duration(ns),
        };
        match column {
            Column::Mark | Column::Name => String::new(),
            Column::Job => self.job.clone(),
            Column::Iops => self.rate.as_ref().map(|rate| units::count(rate.iops)).unwrap_or_default(),
            Column::Mib => bytes_per_s.map(|b| units::significant(b / units::MIB as f64)).unwrap_or_default(),
            Column::Mb => {
                bytes_per_s.map(|b| format!("({})", units::significant(b / 1e6))).unwrap_or_default()
            }
            Column::Mean => latency(|l| l.mean.round() as u64),
            Column::P50 => latency(|l| l.p50),
            Column::P99 => latency(|l| l.p99),
            Column::P9999 => latency(|l| l.p99_99),
        }
    }
}

/// Pattern, block size, depth and threads, and what makes writes durable.
pub(crate) fn job_words(job: &Job) -> String {
    let mut words = job.rw.to_string();
    if job.rw.is_mixed() {
        words += &format!(" {}/{}", job.rwmixread, 100 - job.rwmixread.min(100));
    }
    let (min, max) = job.block_sizes();
    words += &format!(" {}", units::bytes_fio(min));
    if min != max {
        words += &format!("-{}", units::bytes_fio(max));
    }
    words += &format!(" qd{}", job.iodepth);
    if job.numjobs != 1 {
        words += &format!(" x{}", job.numjobs);
    }
    for (option, every) in [("fsync", job.fsync), ("fdatasync", job.fdatasync)] {
        if every > 0 {
            words += &format!(" {option}={every}");
        }
    }
    match job.sync {
        SyncMode::None => {}
        SyncMode::Sync => words += " sync",
        SyncMode::Dsync => words += " dsync",
    }
    if !job.direct && job.ioengine != EngineChoice::Object {
        words += " buffered";
    }
    words
}

/// The verdict, and before it what a reader must know to take the numbers right.
fn words(scenario: &Scenario, with_job: bool) -> String {
    let mut says: Vec<String> = Vec::new();
    match &scenario.measurement {
        None => says.push(format!(
            "Did not run: {}.",
            stop(scenario.error.as_deref().unwrap_or("no reason recorded"))
        )),
        Some(measured) => {
            if measured.interrupted {
                says.push(format!("Cut short after {}.", units::duration(measured.runtime_ns)));
            }
            if measured.errors > 0 {
                let kinds: Vec<String> = measured
                    .error_kinds
                    .iter()
                    .map(|(kind, n)| format!("{kind} x {}", units::count(*n as f64)))
                    .collect();
                let kinds = if kinds.is_empty() { "kind not recorded".into() } else { kinds.join("; ") };
                says.push(format!("{} operations failed: {kinds}.", units::count(measured.errors as f64)));
            }
            if measured.steady == Some(false) {
                says.push("The rate did not hold still.".into());
            }
        }
    }
    if !scenario.verdict.says.is_empty() {
        says.push(format!("{}.", stop(&scenario.verdict.says)));
    }
    if !scenario.verdict.findings.is_empty() {
        says.push(format!("See finding {}.", scenario.verdict.findings.join(", ")));
    }
    let says = says.join(" ");
    match (with_job, says.is_empty()) {
        (true, true) => job_words(&scenario.job),
        (true, false) => format!("{}: {says}", job_words(&scenario.job)),
        (false, _) => says,
    }
}

/// What the marks and columns in use mean.
fn legend(blocks: &[Block], page: &mut Page) {
    let used = Mark::ALL.iter().filter(|(mark, _)| blocks.iter().any(|block| block.mark == *mark));
    let marks: Vec<String> = used.map(|(mark, means)| format!("{} = {means}", mark.word())).collect();
    let mut says = format!("{}. ", marks.join("; "));
    says += "Latency is from just before submission to completion; qd64 x4 = 64 in flight in each of 4 \
             threads; 1 MiB = 1,048,576 bytes, 1 MB = 1,000,000.";
    if blocks.iter().any(|block| block.rows.iter().any(|row| row.name.ends_with(", as due"))) {
        says += " 'As due' counts from the scheduled start, so a stall is charged to all that it delayed.";
    }
    page.blank();
    page.wrapped("", &says);
}
