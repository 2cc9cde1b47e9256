//! The run as tables for spreadsheets and data frames: RFC 4180 with a head line, one unit a column,
//! said in the column's name. A cell without a value is empty.

use std::borrow::Cow;

use iobound_record::{Direction, DirectionStats, Measurement, Run, Scenario, Status, units};

use crate::report::series;

const SUMMARY_HEAD: &str = "run_id,started,suite,scenario_id,scenario,title,volume,phase,rw,read_percent,\
block_size_bytes,iodepth,numjobs,direction,operations,bytes,runtime_s,iops,bandwidth_bytes_per_s,\
bandwidth_mib_per_s,latency_min_ns,latency_mean_ns,latency_stddev_ns,latency_p50_ns,latency_p90_ns,\
latency_p95_ns,latency_p99_ns,latency_p99_9_ns,latency_p99_99_ns,latency_max_ns,scenario_errors,\
scenario_iops,ceiling_iops,ceiling_bandwidth_bytes_per_s,ceiling_bound,percent_of_ceiling,status,error";

const SERIES_HEAD: &str = "run_id,scenario_id,scenario,volume,direction,start_s,length_s,operations,bytes,\
iops,bandwidth_bytes_per_s,bandwidth_mib_per_s,latency_mean_ns,latency_p50_ns,latency_p99_ns,\
latency_p99_9_ns,latency_max_ns";

/// One row a scenario and direction; a scenario without a measurement has one row that says why.
pub fn summary(run: &Run) -> String {
    let mut out = format!("{SUMMARY_HEAD}\n");
    for scenario in &run.scenarios {
        let Some(measured) = &scenario.measurement else {
            row(&mut out, summary_row(run, scenario, None));
            continue;
        };
        let sides: Vec<Direction> =
            Direction::ALL.into_iter().filter(|&d| measured.direction(d).ios > 0).collect();
        if sides.is_empty() {
            row(&mut out, summary_row(run, scenario, None));
        }
        for direction in sides {
            row(&mut out, summary_row(run, scenario, Some((measured, direction))));
        }
    }
    out
}

/// One row an interval and direction.
pub fn series(run: &Run) -> String {
    let mut out = format!("{SERIES_HEAD}\n");
    for scenario in &run.scenarios {
        for interval in scenario.measurement.iter().flat_map(|measured| &measured.series) {
            for direction in Direction::ALL {
                let Some(stats) = series::side(interval, direction) else { continue };
                let latency = &stats.latency_ns;
                row(
                    &mut out,
                    [
                        quoted(&run.id),
                        number(scenario.id),
                        quoted(&scenario.name),
                        quoted(&scenario.volume),
                        word(direction),
                        number(interval.start_ns as f64 / 1e9),
                        number(interval.length_ns as f64 / 1e9),
                        number(stats.ios),
                        number(stats.bytes),
                        number(stats.iops),
                        number(stats.bandwidth_bytes_per_s),
                        number(stats.bandwidth_bytes_per_s / units::MIB as f64),
                        number(latency.mean),
                        number(latency.p50),
                        number(latency.p99),
                        number(latency.p99_9),
                        number(latency.max),
                    ],
                );
            }
        }
    }
    out
}

type Cell<'a> = Cow<'a, str>;

fn summary_row<'a>(
    run: &'a Run,
    scenario: &'a Scenario,
    side: Option<(&Measurement, Direction)>,
) -> impl Iterator<Item = Cell<'a>> {
    let job = &scenario.job;
    let measured = scenario.measurement.as_ref();
    let ceiling = scenario.ceiling.as_ref();
    let optional = |value: Option<f64>| value.map(number).unwrap_or_default();
    let head = [
        quoted(&run.id),
        quoted(&run.started),
        quoted(&run.suite),
        number(scenario.id),
        quoted(&scenario.name),
        quoted(&scenario.title),
        quoted(&scenario.volume),
        number(scenario.phase),
        Cow::Borrowed(job.rw.as_str()),
        number((job.read_share() * 100.0).round()),
        number(job.bs),
        number(job.iodepth),
        number(job.numjobs),
    ];
    let tail = [
        measured.map(|m| number(m.errors)).unwrap_or_default(),
        optional(measured.map(Measurement::iops)),
        optional(ceiling.map(|ceiling| ceiling.iops)),
        optional(ceiling.map(|ceiling| ceiling.bandwidth_bytes_per_s)),
        ceiling.map(|ceiling| quoted(&ceiling.bound)).unwrap_or_default(),
        optional(scenario.verdict.percent_of_ceiling),
        Cow::Borrowed(status_word(scenario.verdict.status)),
        quoted(scenario.error.as_deref().unwrap_or_default()),
    ];
    head.into_iter().chain(figures(side)).chain(tail)
}

/// The columns from `direction` to `latency_max_ns`.
fn figures<'a>(side: Option<(&Measurement, Direction)>) -> [Cell<'a>; 17] {
    let Some((measured, direction)) = side else { return Default::default() };
    let stats: &DirectionStats = measured.direction(direction);
    let latency = &stats.latency_ns;
    [
        word(direction),
        number(stats.ios),
        number(stats.bytes),
        number(measured.runtime_ns as f64 / 1e9),
        number(stats.iops),
        number(stats.bandwidth_bytes_per_s),
        number(stats.bandwidth_bytes_per_s / units::MIB as f64),
        number(latency.min),
        number(latency.mean),
        number(latency.stddev),
        number(latency.p50),
        number(latency.p90),
        number(latency.p95),
        number(latency.p99),
        number(latency.p99_9),
        number(latency.p99_99),
        number(latency.max),
    ]
}

/// The word of a status in tables and metrics.
pub fn status_word(status: Status) -> &'static str {
    match status {
        Status::Ok => "ok",
        Status::Short => "short",
        Status::Above => "above",
        Status::Unknown => "unknown",
    }
}

/// The word of a direction in tables and metrics.
pub fn direction_word(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "read",
        Direction::Write => "write",
        Direction::Sync => "sync",
    }
}

fn word<'a>(direction: Direction) -> Cell<'a> {
    Cow::Borrowed(direction_word(direction))
}

fn number<'a>(value: impl std::fmt::Display) -> Cell<'a> {
    Cow::Owned(value.to_string())
}

/// Text, quoted where a comma, quote or line break would end its cell.
fn quoted(text: &str) -> Cell<'_> {
    if text.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

fn row<'a>(out: &mut String, cells: impl IntoIterator<Item = Cell<'a>>) {
    for (index, cell) in cells.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(&cell);
    }
    out.push('\n');
}

#[cfg(test)]
#[path = "csv/tests.rs"]
mod tests;
