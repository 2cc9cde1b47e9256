//! The report of one scenario.

use iobound_record::{Ceiling, DeviceSummary, Direction, Measurement, Run, Scenario, units};

use super::page::Page;
use crate::report::csv::direction_word;
use crate::report::figure::{figure_of, time, title_of};
use crate::report::findings::worst_first;
use crate::report::headline::{capital, stop};
use crate::report::mark::Mark;
use crate::report::members::{members as members_of, mib};
use crate::report::parameters::parameters;
use crate::report::series::{self, Point};
use crate::report::stream;
use crate::verdict::bound_in_words;

/// Most rows of the table of intervals.
const ROWS_MAX: usize = 60;

/// What it is, how it ran, what came out, and what that means.
pub fn scenario(run: &Run, scenario: &Scenario) -> String {
    let mut page = Page::default();
    page.heading(1, title_of(scenario));
    if let Some(about) = &scenario.job.description {
        page.says(&format!("{}.", capital(stop(about))));
    }
    verdict(run, scenario, &mut page);
    ceiling(scenario, &mut page);
    if let Some(measured) = &scenario.measurement {
        results(measured, &mut page);
    }
    for section in stream::sections(scenario) {
        page.heading(2, section.title);
        if !section.facts.is_empty() {
            page.table(&["", ""], section.facts.into_iter().map(|(name, value)| vec![name, value]));
        }
        if let Some(table) = section.table {
            let head: Vec<&str> = table.head.to_vec();
            page.table(&head, table.rows);
        }
        section.says.iter().for_each(|words| page.says(words));
    }
    let mut touching = worst_first(run);
    touching.retain(|finding| scenario.verdict.findings.contains(&finding.id));
    if !touching.is_empty() {
        page.heading(2, "Findings");
        page.findings(touching.into_iter());
    }
    members(scenario, &mut page);
    job(run, scenario, &mut page);
    if let Some(measured) = &scenario.measurement {
        intervals(measured, &mut page);
    }
    page.finish()
}

fn verdict(run: &Run, scenario: &Scenario, page: &mut Page) {
    let mark = Mark::of(scenario, run);
    page.heading(2, "Verdict");
    if let Some(error) = &scenario.error {
        page.says(&format!("Did not run: {error}"));
        return;
    }
    if let Some(figure) = figure_of(scenario) {
        let detail = if figure.detail.is_empty() { String::new() } else { format!("({})", figure.detail) };
        page.markup(&format!(
            "**{}** {}",
            super::page::plain(&figure.in_full()),
            super::page::plain(&detail)
        ));
    }
    let word = if mark == Mark::Unknown { "" } else { mark.word() };
    let says = match (word, scenario.verdict.says.as_str()) {
        ("", "") => mark.meaning().to_owned(),
        ("", says) => says.to_owned(),
        (word, "") => format!("{word}: {}", mark.meaning()),
        (word, says) => format!("{word}: {says}"),
    };
    page.says(&says);
    if let Some(measured) = &scenario.measurement {
        if measured.interrupted {
            page.says(&format!("Cut short after {}.", units::duration(measured.runtime_ns)));
        }
        if measured.steady == Some(false) {
            page.says("The rate did not hold still over the last intervals.");
        }
        for (kind, count) in &measured.error_kinds {
            page.says(&format!("{} operations failed: {kind}.", units::count(*count as f64)));
        }
    }
}

fn ceiling(scenario: &Scenario, page: &mut Page) {
    let Some(Ceiling { iops, bandwidth_bytes_per_s, bound, why }) = &scenario.ceiling else { return };
    page.heading(2, "Ceiling");
    let measured = scenario.measurement.as_ref();
    let percent = scenario.verdict.percent_of_ceiling.map_or(String::new(), |p| format!("{p:.1}%"));
    page.table(
        &["", ">measured", ">ceiling", ">of the ceiling"],
        [
            vec![
                "IOPS".into(),
                measured.map_or("-".into(), |m| units::count(m.iops())),
                units::count(*iops),
                percent.clone(),
            ],
            vec![
                "bandwidth".into(),
                measured.map_or("-".into(), |m| units::bandwidth(m.bandwidth_bytes_per_s())),
                units::bandwidth(*bandwidth_bytes_per_s),
                percent,
            ],
        ],
    );
    page.says(&format!("Bound by {}: {why}", bound_in_words(bound)));
}

fn results(measured: &Measurement, page: &mut Page) {
    page.heading(2, "Results");
    let sides: Vec<Direction> =
        Direction::ALL.into_iter().filter(|&d| measured.direction(d).ios > 0).collect();
    if sides.is_empty() {
        page.says("Nothing completed.");
        return;
    }
    let head = ["", ">operations", ">IOPS", ">MiB/s", ">MB/s", ">errors"];
    page.table(
        &head,
        sides.iter().map(|&direction| {
            let stats = measured.direction(direction);
            let moved = |unit: f64| match direction {
                Direction::Sync => String::new(),
                _ => units::significant(stats.bandwidth_bytes_per_s / unit),
            };
            vec![
                direction_word(direction).into(),
                units::count(stats.ios as f64),
                units::count(stats.iops),
                moved(units::MIB as f64),
                moved(1e6),
                units::count(measured.errors as f64),
            ]
        }),
    );
    page.markup("Latency, from submission to completion:");
    let head = ["", ">min", ">mean", ">p50", ">p90", ">p95", ">p99", ">p99.9", ">p99.99", ">max"];
    let row = |name: String, latency: &iobound_record::LatencySummary| {
        let l = latency;
        let values = [l.min, l.mean as u64, l.p50, l.p90, l.p95, l.p99, l.p99_9, l.p99_99, l.max];
        std::iter::once(name).chain(values.map(time)).collect::<Vec<String>>()
    };
    let rows = sides.iter().flat_map(|&direction| {
        let stats = measured.direction(direction);
        let name = direction_word(direction);
        let due = stats.scheduled_latency_ns.map(|latency| row(format!("{name}, as due"), &latency));
        std::iter::once(row(name.into(), &stats.latency_ns)).chain(due)
    });
    page.table(&head, rows);
}

fn members(scenario: &Scenario, page: &mut Page) {
    let Some(members) = members_of(scenario) else { return };
    page.heading(2, "Member disks");
    let rows = members.disks.iter().map(|disk| {
        let await_ns = disk.read_await_ns.mean.max(disk.write_await_ns.mean) as u64;
        vec![
            disk.device.clone(),
            mib(disk.read_bytes_per_s.mean),
            mib(disk.write_bytes_per_s.mean),
            units::count(disk.read_iops.mean + disk.write_iops.mean),
            time(await_ns),
            format!("{:.0}%", 100.0 * disk.utilisation.mean),
        ]
    });
    let sum = |of: fn(&DeviceSummary) -> f64| members.disks.iter().map(|disk| of(disk)).sum::<f64>();
    let total = vec![
        "all".into(),
        mib(sum(|disk| disk.read_bytes_per_s.mean)),
        mib(sum(|disk| disk.write_bytes_per_s.mean)),
        units::count(sum(|disk| disk.read_iops.mean + disk.write_iops.mean)),
        String::new(),
        String::new(),
    ];
    let head = ["disk", ">read MiB/s", ">write MiB/s", ">IOPS", ">await", ">busy"];
    page.table(&head, rows.chain([total]));
    if let Some(uneven) = members.uneven() {
        page.says(&format!("The disks share the work {uneven}."));
    }
}

fn job(run: &Run, scenario: &Scenario, page: &mut Page) {
    page.heading(2, "How it ran");
    let rows = parameters(scenario).into_iter().map(|(name, value)| vec![name.into(), value]);
    page.table(&["parameter", "value"], rows);
    if !scenario.program.is_empty() {
        page.markup("What ran:");
        page.code(&scenario.program);
    }
    if !scenario.fio.is_empty() {
        page.markup("The same job for fio:");
        page.code(&scenario.fio);
    }
    page.says(&format!("iobound {}, run {}, begun {}.", run.iobound, run.id, run.started));
}

fn intervals(measured: &Measurement, page: &mut Page) {
    let sides: Vec<(Direction, Vec<Point>)> = Direction::ALL
        .into_iter()
        .map(|direction| (direction, series::points(&measured.series, direction, ROWS_MAX)))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    if sides.is_empty() {
        return;
    }
    page.heading(2, "Over time");
    let lines: Vec<String> = sides
        .iter()
        .map(|(direction, points)| {
            let line = series::sparkline(points.iter().map(|point| point.iops));
            let most = points.iter().map(|point| point.iops).fold(0.0, f64::max);
            format!("{:5} {line} 0 to {} IOPS", direction_word(*direction), units::count(most))
        })
        .collect();
    page.code(&lines.join("\n"));
    let per_row = series::intervals_per_point(&measured.series, ROWS_MAX);
    if per_row > 1 {
        page.says(&format!(
            "A row stands for {per_row} intervals: their mean rate, and the highest p50 and p99 among them."
        ));
    }
    let mut head = vec![">from, s".to_owned()];
    for (direction, _) in &sides {
        let word = direction_word(*direction);
        head.extend([
            format!(">{word} IOPS"),
            format!(">{word} MiB/s"),
            format!(">{word} p50"),
            format!(">{word} p99"),
        ]);
    }
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let rows = sides.iter().map(|(_, points)| points.len()).max().unwrap_or(0);
    page.table(
        &head,
        (0..rows).map(|index| {
            let start = sides.iter().find_map(|(_, points)| points.get(index)).map_or(0.0, |p| p.start_s);
            let cells = sides.iter().flat_map(|(direction, points)| cells(*direction, points.get(index)));
            std::iter::once(format!("{start:.1}")).chain(cells).collect()
        }),
    );
}

fn cells(direction: Direction, point: Option<&Point>) -> [String; 4] {
    let Some(point) = point else { return Default::default() };
    let mib = match direction {
        Direction::Sync => String::new(),
        _ => units::significant(point.bandwidth_bytes_per_s / units::MIB as f64),
    };
    [units::count(point.iops), mib, time(point.p50_ns), time(point.p99_ns)]
}
