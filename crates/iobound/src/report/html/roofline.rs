//! The storage roofline: block size against operations per second, both in factors; the ceilings as
//! lines, each scenario as a point with its number.

use iobound_record::{Run, Scenario, units};
use maud::{Markup, html};

use super::plot::{Scale, path, px, rules, short};
use crate::report::headline::number_of;
use crate::report::mark::{Mark, Tone};
use crate::report::roofs::{Roof, roofs};

/// Radius of a point, with room for its number.
const RADIUS: f64 = 9.0;
/// Block sizes that are drawn: a record may say anything.
const BLOCKS: (f64, f64) = (512.0, 1_073_741_824.0);

/// The size of a picture and the room around its plot.
struct Picture {
    width: f64,
    height: f64,
    class: &'static str,
}

/// The same chart twice, so that its text has one size on a desk and on a phone; one of them is shown.
const PICTURES: [Picture; 2] = [
    Picture { width: 1000.0, height: 420.0, class: "wider" },
    Picture { width: 366.0, height: 400.0, class: "narrow" },
];

/// A measured point.
struct Point {
    number: String,
    title: String,
    tone: Tone,
    bytes: f64,
    iops: f64,
    ceiling: Option<f64>,
}

pub(super) fn section(run: &Run) -> Markup {
    let points: Vec<Point> = run
        .scenarios
        .iter()
        .enumerate()
        // Points of a sweep have curves of their own, and would hide all else here.
        .filter(|(_, scenario)| scenario.sweep.is_empty())
        .filter_map(|(index, scenario)| point(run, index, scenario))
        .collect();
    if points.is_empty() {
        return html! {};
    }
    let low = points.iter().map(|point| point.bytes).fold(4096.0, f64::min);
    let high = points.iter().map(|point| point.bytes).fold(1_048_576.0, f64::max);
    let roofs = roofs(run, low, high);
    html! {
        section {
            h2 { "Storage roofline" }
            p.caption { (in_words(&roofs)) }
            figure {
                @for picture in &PICTURES { (chart(picture, &points, &roofs, (low, high))) }
            }
            p.caption { "The same figures are in the table above; the numbers in the circles are its scenarios." }
        }
    }
}

fn in_words(roofs: &[Roof]) -> &'static str {
    match roofs.first() {
        Some(roof) if roof.empirical => {
            "Each circle is a scenario. Nothing was promised for this storage, so the dashed lines are the best \
             that the run itself reached: flat where operations bind, falling where bytes do."
        }
        Some(_) => {
            "Each circle is a scenario; the short bar at it is its own ceiling. The lines are what the hardware \
             promises for random operations with enough in flight: flat where operations bind, falling where \
             bytes do. A circle far under its line with its bar at it waits for single operations; one above \
             it is sequential, and its operations are merged on the way."
        }
        None => "Each circle is a scenario.",
    }
}

fn point(run: &Run, index: usize, scenario: &Scenario) -> Option<Point> {
    let measured = scenario.measurement.as_ref().filter(|measured| measured.iops() > 0.0)?;
    let (small, large) = scenario.job.block_sizes();
    let title = crate::report::figure::title_of(scenario);
    Some(Point {
        number: number_of(scenario, index),
        title: format!(
            "{title}: {} IOPS, {}",
            units::count(measured.iops()),
            units::bandwidth(measured.bandwidth_bytes_per_s())
        ),
        tone: Mark::of(scenario, run).tone(),
        bytes: (small as f64).midpoint(large as f64).clamp(BLOCKS.0, BLOCKS.1),
        iops: measured.iops(),
        ceiling: scenario.ceiling.as_ref().map(|ceiling| ceiling.iops).filter(|iops| *iops > 0.0),
    })
}

fn chart(picture: &Picture, points: &[Point], roofs: &[Roof], (low, high): (f64, f64)) -> Markup {
    let (left, right, top, bottom) = (46.0, picture.width - 10.0, 26.0, picture.height - 40.0);
    // Half a doubling on each side keeps whole circles inside.
    let x = Scale::log(low / 1.6, high * 1.6, (left, right));
    let values = || {
        let measured = points.iter().flat_map(|point| [Some(point.iops), point.ceiling]).flatten();
        measured.chain(roofs.iter().flat_map(|roof| roof.points.iter().map(|point| point.1)))
    };
    let most = values().fold(1.0, f64::max);
    let least = values().fold(most, f64::min);
    let y = Scale::log(least / 1.5, most * 1.6, (bottom, top));
    let spoken =
        format!("Storage roofline: {} scenarios by block size and operations per second.", points.len());
    html! {
        svg class=(picture.class) viewBox=(format!("0 0 {} {}", picture.width, picture.height))
            role="img" aria-label=(spoken) {
            text.name x="0" y="12" { "IOPS" }
            (rules(&y, (left, right), short))
            @for bytes in doublings(low, high, picture.width) {
                text.tick x=(px(x.at(bytes as f64))) y=(px(bottom + 17.0)) text-anchor="middle" { (units::bytes(bytes)) }
            }
            text.name x=(px(right)) y=(px(bottom + 34.0)) text-anchor="end" { "block size" }
            @for roof in roofs { (line(roof, &x, &y)) }
            @for (point, at) in points.iter().zip(places(points, &x, &y)) { (circle(point, at, &y)) }
        }
    }
}

/// Block sizes to mark: each second doubling, or fewer where there is no room.
fn doublings(low: f64, high: f64, width: f64) -> Vec<u64> {
    let (first, last) = (low.log2().ceil() as u32, high.log2().floor() as u32);
    let room = (width / 70.0).max(2.0) as u32;
    let stride = (last.saturating_sub(first) / room + 1).max(2);
    (first..=last).step_by(stride as usize).map(|power| 1 << power).collect()
}

fn line(roof: &Roof, x: &Scale, y: &Scale) -> Markup {
    let class = match roof.read_share {
        1.0 => "read",
        0.0 => "write",
        _ => "mix",
    };
    let dashed = if roof.empirical { "guess" } else { "" };
    let ends = roof.points.first().zip(roof.points.last());
    html! {
        path.roof.(class).(dashed) d=(path(roof.points.iter().map(|(bytes, iops)| (x.at(*bytes), y.at(*iops))))) {}
        @if let Some((left, right)) = ends {
            text.label.(class) x=(px(x.at(left.0 * 2.7))) y=(px(y.at(left.1) - 5.0)) {
                (roof.label) " " (units::count(left.1)) " IOPS"
            }
            text.label.(class) x=(px(x.at(right.0 / 1.7))) y=(px(y.at(right.1) + 4.0)) text-anchor="end" {
                (roof.label) " " (units::count(right.0 * right.1 / units::MIB as f64)) " MiB/s"
            }
        }
    }
}

/// Where each circle goes: those that would cover each other stand side by side.
fn places(points: &[Point], x: &Scale, y: &Scale) -> Vec<(f64, f64)> {
    let ideal: Vec<(f64, f64)> = points.iter().map(|point| (x.at(point.bytes), y.at(point.iops))).collect();
    let near = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).abs() < RADIUS && (a.1 - b.1).abs() < 1.6 * RADIUS;
    let beside = |index: usize| {
        let group: Vec<usize> = (0..ideal.len()).filter(|&other| near(ideal[index], ideal[other])).collect();
        let place = group.iter().position(|&other| other == index).unwrap_or(0) as f64;
        let shift = (place - (group.len() as f64 - 1.0) / 2.0) * 2.1 * RADIUS;
        (ideal[index].0 + shift, ideal[index].1)
    };
    (0..ideal.len()).map(beside).collect()
}

fn circle(point: &Point, (cx, cy): (f64, f64), y: &Scale) -> Markup {
    html! {
        g {
            title { (point.number) ". " (point.title) }
            @if let Some(ceiling) = point.ceiling {
                @let at = px(y.at(ceiling));
                line.own x1=(px(cx - RADIUS - 6.0)) x2=(px(cx + RADIUS + 6.0)) y1=(at) y2=(at) {}
            }
            circle.dot.(point.tone.class()) cx=(px(cx)) cy=(px(cy)) r=(px(RADIUS)) {}
            text.inside x=(px(cx)) y=(px(cy + 4.0)) text-anchor="middle" { (point.number) }
        }
    }
}
