//! The charts of one scenario: its rate and its latency over time, and its latency by percentile.

use iobound_record::{Direction, Measurement, Metric, Moment, SampleSummary, Scenario, units};
use maud::{Markup, html};

use super::plot::{Scale, path, px, rules, short, short_time};
use crate::report::csv::direction_word;
use crate::report::figure::{metric_of, time};
use crate::report::members::members;
use crate::report::series::{self, Point};

/// Drawn as large as it is shown on a phone, so that its text stays readable there.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 150.0;
/// Edges of the plot inside the picture.
const LEFT: f64 = 50.0;
const RIGHT: f64 = WIDTH - 8.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = HEIGHT - 22.0;
/// More points than pixels say nothing more.
const POINTS_MAX: usize = 300;

/// A line of a chart with its classes: the direction, and `tail` for a dashed one.
struct Line {
    class: String,
    points: Vec<(f64, f64)>,
}

/// The charts that the record has the figures for.
pub(super) fn charts(scenario: &Scenario) -> Markup {
    let Some(measured) = &scenario.measurement else { return html! {} };
    let sides: Vec<(Direction, Vec<Point>)> = Direction::ALL
        .into_iter()
        .map(|direction| (direction, series::points(&measured.series, direction, POINTS_MAX)))
        .filter(|(_, points)| points.len() > 1)
        .collect();
    html! {
        div.charts {
            @if !sides.is_empty() {
                (rate(scenario, measured, &sides))
                (latency(measured, &sides))
            }
            (percentiles(measured))
            (disks(scenario, measured))
            (dirty(scenario, measured))
        }
        (keys(measured))
    }
}

fn keys(measured: &Measurement) -> Markup {
    let used = Direction::ALL.into_iter().filter(|&direction| measured.direction(direction).ios > 0);
    html! {
        p.legend {
            @for direction in used {
                i.key.(direction_word(direction)) {} (direction_word(direction))
            }
            i.key.median {} "p50" i.key.tail {} "p99"
        }
    }
}

fn rate(scenario: &Scenario, measured: &Measurement, sides: &[(Direction, Vec<Point>)]) -> Markup {
    let bytes = metric_of(scenario) == Metric::Bandwidth;
    let (unit, of): (&str, fn(&Point) -> f64) = match bytes {
        true => ("MiB/s", |point| point.bandwidth_bytes_per_s / units::MIB as f64),
        false => ("IOPS", |point| point.iops),
    };
    // As many syncs as writes is no news; their latency is.
    let moving = sides.iter().filter(|(direction, _)| *direction != Direction::Sync);
    let lines: Vec<Line> = moving
        .map(|(direction, points)| Line {
            class: direction_word(*direction).into(),
            points: points.iter().map(|point| (point.start_s, of(point))).collect(),
        })
        .collect();
    let most = lines.iter().flat_map(|line| &line.points).map(|point| point.1).fold(0.0, f64::max);
    let y = Scale::linear(most, (BOTTOM, TOP));
    let words = lines.iter().map(|line| {
        let (low, high) = range(line.points.iter().map(|point| point.1));
        format!("{} between {} and {}", line.class, units::significant(low), units::significant(high))
    });
    let spoken = format!("{unit} over time: {}.", words.collect::<Vec<_>>().join("; "));
    over_time(&format!("{unit} over time"), &spoken, measured, &y, short, &lines)
}

/// What each disk moved; of an array its members, so that one that lags behind is seen.
fn disks(scenario: &Scenario, measured: &Measurement) -> Markup {
    let Some(samples) = scenario.samples.as_ref().filter(|samples| samples.series.len() > 1) else {
        return html! {};
    };
    let wanted: Vec<&str> = match members(scenario) {
        Some(members) => members.disks.iter().map(|disk| disk.device.as_str()).collect(),
        None => measured.device.iter().flat_map(|device| &device.names).map(String::as_str).collect(),
    };
    let places: Vec<usize> = (0..samples.devices.len())
        .filter(|&at| wanted.contains(&samples.devices[at].device.as_str()))
        .collect();
    let lines: Vec<Line> = places
        .iter()
        .map(|&at| Line {
            class: "disk".into(),
            points: over_samples(samples, |moment| {
                moment.device_bytes_per_s.get(at).map_or(0.0, |bytes| *bytes as f64 / units::MIB as f64)
            }),
        })
        .collect();
    if lines.is_empty() {
        return html! {};
    }
    let most = lines.iter().flat_map(|line| &line.points).map(|point| point.1).fold(0.0, f64::max);
    let words = places.iter().zip(&lines).map(|(&at, line)| {
        let (low, high) = range(line.points.iter().map(|point| point.1));
        let name = &samples.devices[at].device;
        format!("{name} between {} and {}", units::significant(low), units::significant(high))
    });
    let spoken = format!("MiB/s of each disk over time: {}.", words.collect::<Vec<_>>().join("; "));
    let title = match lines.len() {
        1 => format!("{}, MiB/s over time", samples.devices[places[0]].device),
        count => format!("{count} disks, MiB/s each over time"),
    };
    over_time(&title, &spoken, measured, &Scale::linear(most, (BOTTOM, TOP)), short, &lines)
}

/// Dirty pages: what the page cache still owes the disk. A few MiB are any system's own.
fn dirty(scenario: &Scenario, measured: &Measurement) -> Markup {
    const WORTH_A_CHART_MIB: f64 = 8.0;
    let Some(samples) = scenario.samples.as_ref().filter(|samples| samples.series.len() > 1) else {
        return html! {};
    };
    let line = |class: &str, of: fn(&Moment) -> u64| Line {
        class: class.into(),
        points: over_samples(samples, |moment| of(moment) as f64 / units::MIB as f64),
    };
    let lines =
        [line("write", |moment| moment.dirty_bytes), line("write tail", |moment| moment.writeback_bytes)];
    let most = lines.iter().flat_map(|line| &line.points).map(|point| point.1).fold(0.0, f64::max);
    if most < WORTH_A_CHART_MIB {
        return html! {};
    }
    let spoken = format!("Dirty and written-back pages over time, at most {} MiB.", units::significant(most));
    let title = "Dirty pages (dashed: being written), MiB over time";
    over_time(title, &spoken, measured, &Scale::linear(most, (BOTTOM, TOP)), short, &lines)
}

/// A figure of each stretch at its middle.
fn over_samples(samples: &SampleSummary, of: impl Fn(&Moment) -> f64) -> Vec<(f64, f64)> {
    let mut began = 0;
    let mut point = |moment: &Moment| {
        let middle = began.min(moment.end_ns).midpoint(moment.end_ns) as f64 / 1e9;
        began = moment.end_ns;
        (middle, of(moment))
    };
    samples.series.iter().map(&mut point).collect()
}

fn latency(measured: &Measurement, sides: &[(Direction, Vec<Point>)]) -> Markup {
    let mut lines = Vec::new();
    for (direction, points) in sides {
        let word = direction_word(*direction);
        let line = |of: fn(&Point) -> u64, class: String| Line {
            class,
            points: points.iter().map(|p| (p.start_s, of(p) as f64)).filter(|point| point.1 > 0.0).collect(),
        };
        lines.push(line(|point| point.p50_ns, word.to_owned()));
        lines.push(line(|point| point.p99_ns, format!("{word} tail")));
    }
    let (low, high) = range(lines.iter().flat_map(|line| &line.points).map(|point| point.1));
    let y = Scale::log(low / 1.5, high * 1.5, (BOTTOM, TOP));
    let words = sides.iter().map(|(direction, points)| {
        let worst = points.iter().map(|point| point.p99_ns).max().unwrap_or(0);
        format!("{} p99 at most {}", direction_word(*direction), time(worst))
    });
    let spoken = format!("Latency over time: {}.", words.collect::<Vec<_>>().join("; "));
    over_time("Latency over time, p50 and p99", &spoken, measured, &y, short_time, &lines)
}

fn over_time(
    title: &str,
    spoken: &str,
    measured: &Measurement,
    y: &Scale,
    label: fn(f64) -> String,
    lines: &[Line],
) -> Markup {
    let whole = series::whole(&measured.series);
    let end = whole.last().map_or(1.0, |last| last.start_ns.saturating_add(last.length_ns) as f64 / 1e9);
    let x = Scale::linear(end, (LEFT, RIGHT));
    let marks = x.ticks();
    let per_point = series::intervals_per_point(whole, POINTS_MAX);
    figure(
        title,
        spoken,
        html! {
            (rules(y, (LEFT, RIGHT), label))
            @for (index, value) in marks.iter().enumerate() {
                @let anchor = if index + 1 == marks.len() { "end" } else { "middle" };
                text.tick x=(px(x.at(*value))) y=(px(HEIGHT - 6.0)) text-anchor=(anchor) { (short(*value)) " s" }
            }
            @for line in lines {
                path.line.(line.class) d=(path(line.points.iter().map(|(t, v)| (x.at(*t), y.at(*v))))) {}
            }
        },
        (per_point > 1)
            .then(|| format!("Each point: {per_point} intervals, their mean rate and highest p50 and p99.")),
    )
}

/// Latency by percentile, the rank drawn by its nines: the tail is where the trouble is.
fn percentiles(measured: &Measurement) -> Markup {
    let sides: Vec<(Direction, Vec<(f64, f64)>)> = Direction::ALL
        .into_iter()
        .map(|direction| {
            let latency = &measured.direction(direction).latency_ns;
            let known = latency.percentiles().map(|(rank, ns)| (rank, ns as f64));
            (direction, known.into_iter().filter(|point| point.1 > 0.0).collect::<Vec<_>>())
        })
        .filter(|(direction, points)| points.len() > 1 && measured.direction(*direction).ios > 0)
        .collect();
    if sides.is_empty() {
        return html! {};
    }
    let (low, high) = range(sides.iter().flat_map(|(_, points)| points).map(|point| point.1));
    let y = Scale::log(low / 1.5, high * 1.5, (BOTTOM, TOP));
    // The share of slower operations: 1 for the first percentile, one in 10,000 for the last.
    let x = Scale::log(1.0, 10_100.0, (LEFT, RIGHT - 14.0));
    let place = |rank: f64| x.at(100.0 / (100.0 - rank));
    let spoken = sides.iter().map(|(direction, _)| {
        let latency = &measured.direction(*direction).latency_ns;
        let [p50, p99, worst] = [latency.p50, latency.p99, latency.p99_99].map(time);
        format!("{} p50 {p50}, p99 {p99}, p99.99 {worst}", direction_word(*direction))
    });
    let spoken = format!("Latency by percentile: {}.", spoken.collect::<Vec<_>>().join("; "));
    figure(
        "Latency by percentile",
        &spoken,
        html! {
            (rules(&y, (LEFT, RIGHT), short_time))
            @for (rank, label) in [ (50.0, "p50"), (90.0, "p90"), (99.0, "p99"), (99.9, "p99.9"), (99.99, "p99.99")] {
                text.tick x=(px(place(rank))) y=(px(HEIGHT - 6.0)) text-anchor="middle" { (label) }
            }
            @for (direction, points) in &sides {
                path.line.(direction_word(*direction)) d=(path(points.iter().map(|(rank, ns)| (place(*rank), y.at(*ns))))) {}
            }
        },
        None,
    )
}

fn figure(title: &str, spoken: &str, inside: Markup, note: Option<String>) -> Markup {
    html! {
        figure {
            figcaption { (title) @if let Some(note) = note { ". " (note) } }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(spoken) { (inside) }
        }
    }
}

/// Least and most; 1 for nothing.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    if low.is_finite() { (low, high) } else { (1.0, 1.0) }
}
