//! Sweeps as heat maps, and as curves over the block size with the place where operations hand over to
//! bandwidth.

use iobound_record::{Run, Scenario, units};
use maud::{Markup, html};

use super::plot::{Scale, path, px, rules, short};
use crate::report::swept::{figures, trouble};
use crate::verdict::{Curve, Roofline, Sweep, sweeps};

/// Drawn as large as it is shown on a phone, so that its text stays readable there.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 210.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = WIDTH - 10.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = HEIGHT - 36.0;
/// Lines of a chart that have a colour of their own; more start again.
const COLOURS: usize = 6;
/// Warmth of the slowest cell, percent: enough to tell it from an empty one.
const COOLEST: f64 = 6.0;

pub(super) fn section(run: &Run) -> Markup {
    let sweeps = sweeps(run);
    let heat = Heat::of(&sweeps);
    html! {
        @if !sweeps.is_empty() {
            section {
                h2 { "Block size and what is in flight" }
                p.caption {
                    "Each cell: MiB/s, and IOPS below it. The warmer, the more bytes a second, from "
                    (mib(heat.least)) " to " (mib(heat.most)) " MiB/s over all tables, each factor as warm as the next."
                }
                div.heatmaps { @for sweep in &sweeps { (map(run, sweep, &heat)) } }
                div.charts { @for sweep in &sweeps { (curves(sweep)) } }
                p.caption {
                    "Bytes a second by block size, both in factors. Rising straight, each operation takes as long "
                    "whatever its size; flat, bytes bind. The dashed line is the knee, where the flat part of "
                    "operations would meet that of bytes, drawn where both were seen."
                }
            }
        }
    }
}

/// How warm a rate is.
struct Heat {
    least: f64,
    most: f64,
}

impl Heat {
    fn of(sweeps: &[Sweep]) -> Heat {
        let all = || sweeps.iter().flat_map(|sweep| sweep.points.iter()).filter_map(|(_, s)| rate(s));
        let most = all().fold(0.0, f64::max);
        Heat { least: all().fold(most, f64::min), most }
    }

    /// Percent of warmth.
    fn warmth(&self, rate: f64) -> f64 {
        let share = (rate / self.least).ln() / (self.most / self.least).ln();
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 1.0 };
        COOLEST + share * (100.0 - COOLEST)
    }
}

fn rate(scenario: &Scenario) -> Option<f64> {
    let rate = scenario.measurement.as_ref()?.bandwidth_bytes_per_s();
    (rate > 0.0).then_some(rate)
}

fn mib(bytes_per_s: f64) -> String {
    units::significant(bytes_per_s / units::MIB as f64)
}

fn map(run: &Run, sweep: &Sweep, heat: &Heat) -> Markup {
    html! {
        div.scroll {
            table.heat {
                caption { (sweep.title) }
                thead {
                    tr {
                        th scope="col" { "block" }
                        @for column in &sweep.columns { th scope="col" { (sweep.label(column)) } }
                    }
                }
                tbody {
                    @for &size in &sweep.sizes {
                        tr {
                            th scope="row" { (units::bytes(size)) }
                            @for column in &sweep.columns {
                                @match sweep.at(size, column) {
                                    Some((index, scenario)) => { (cell(run, index, scenario, heat)) }
                                    None => { td {} }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn cell(run: &Run, index: usize, scenario: &Scenario, heat: &Heat) -> Markup {
    let warmth = rate(scenario).map_or(0.0, |rate| heat.warmth(rate));
    let share = scenario.verdict.percent_of_ceiling;
    html! {
        td style={ "--warmth:" (px(warmth)) "%" } {
            a href={ "#scenario-" (index + 1) } {
                @match figures(scenario) {
                    Some((iops, mib)) => { b { (mib) } span { (iops) } }
                    None => { b { "none" } }
                }
                @if let Some(percent) = share { span { (format!("{percent:.0}%")) } }
                @if let Some(word) = trouble(run, scenario) { span.trouble { (word) } }
            }
        }
    }
}

fn curves(sweep: &Sweep) -> Markup {
    let lines: Vec<(String, Curve)> = sweep
        .columns
        .iter()
        .map(|column| (sweep.label(column), sweep.curve(column)))
        .filter(|(_, curve)| curve.len() > 1)
        .collect();
    let points = || lines.iter().flat_map(|(_, curve)| curve.iter().copied());
    let most = points().map(|point| point.2).fold(0.0, f64::max);
    if most <= 0.0 {
        return html! {};
    }
    let least = points().map(|point| point.2).fold(most, f64::min);
    let low = points().map(|point| point.0).min().unwrap_or(1) as f64;
    let high = points().map(|point| point.0).max().unwrap_or(1) as f64;
    let x = Scale::log(low / 1.2, high * 1.2, (LEFT, RIGHT));
    let to_mib = |rate: f64| rate / units::MIB as f64;
    let y = Scale::log(to_mib(least) / 1.3, to_mib(most) * 1.4, (BOTTOM, TOP));
    let knee = sweep.knee().filter(|roofline| (low..=high).contains(&roofline.knee_bytes()));
    html! {
        figure {
            figcaption { (sweep.title) ", MiB/s by block size" }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img"
                aria-label={ (sweep.title) ": bytes a second by block size" } {
                text.name x="0" y="12" { "MiB/s" }
                (rules(&y, (LEFT, RIGHT), short))
                @for (place, &size) in sweep.sizes.iter().enumerate() {
                    @if place % sweep.sizes.len().div_ceil(5) == 0 {
                        text.tick x=(px(x.at(size as f64))) y=(px(BOTTOM + 15.0)) text-anchor="middle" { (units::bytes(size)) }
                    }
                }
                text.name x=(px(RIGHT)) y=(px(BOTTOM + 31.0)) text-anchor="end" { "block size" }
                @if let Some(roofline) = knee { (marked(&roofline, &x)) }
                @for (number, (_, curve)) in lines.iter().enumerate() {
                    @let at = |point: &(u64, f64, f64)| (x.at(point.0 as f64), y.at(to_mib(point.2)));
                    path.line.{ "c" (number % COLOURS) } d=(path(curve.iter().map(at))) {}
                    @for point in curve {
                        circle.point.{ "c" (number % COLOURS) } cx=(px(at(point).0)) cy=(px(at(point).1)) r="3" {}
                    }
                }
            }
            p.legend {
                @for (number, (label, _)) in lines.iter().enumerate() {
                    i.key.{ "c" (number % COLOURS) } {} (label)
                }
            }
        }
    }
}

/// The knee, with its name beside it.
fn marked(roofline: &Roofline, x: &Scale) -> Markup {
    let at = x.at(roofline.knee_bytes());
    let left = at > f64::midpoint(LEFT, RIGHT);
    let (beside, anchor) = if left { (at - 5.0, "end") } else { (at + 5.0, "start") };
    html! {
        line.knee x1=(px(at)) x2=(px(at)) y1=(px(TOP)) y2=(px(BOTTOM)) {}
        text.label x=(px(beside)) y=(px(BOTTOM - 8.0)) text-anchor=(anchor) {
            "knee " (units::bytes(roofline.knee_bytes().round() as u64))
        }
    }
}
