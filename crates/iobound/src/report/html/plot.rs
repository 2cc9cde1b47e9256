//! Axes: where a value goes, which values are marked, and how that is drawn.

use maud::{Markup, html};

/// An axis from one pixel to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    log: bool,
    from_px: f64,
    to_px: f64,
}

impl Scale {
    /// From zero to a round number above `most`.
    pub(super) fn linear(most: f64, (from_px, to_px): (f64, f64)) -> Scale {
        let high = if most.is_finite() && most > 0.0 { step_for(most) * TICKS } else { 1.0 };
        Scale { low: 0.0, high, log: false, from_px, to_px }
    }

    /// From `low` to `high`, both above zero, each factor as wide as the next.
    pub(super) fn log(low: f64, high: f64, (from_px, to_px): (f64, f64)) -> Scale {
        let low = if low.is_finite() { low.max(1e-9) } else { 1.0 };
        let high = if high.is_finite() { high.max(low * 1.001) } else { low * 10.0 };
        Scale { low, high, log: true, from_px, to_px }
    }

    /// Where `value` goes; beyond the ends at the end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = match self.log {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => value / self.high,
        };
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        self.from_px + share * (self.to_px - self.from_px)
    }

    /// Values to mark: round ones.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if !self.log {
            return (0..=TICKS as u32).map(|i| self.high / TICKS * f64::from(i)).collect();
        }
        let decades = (self.high / self.low).log10();
        let within = match () {
            () if decades < 1.5 => &[1.0, 2.0, 5.0][..],
            () if decades < 3.0 => &[1.0, 3.0],
            () => &[1.0],
        };
        // More decades than a measurement can span come from an edited record; some are left out.
        let stride = (decades / 8.0).ceil().max(1.0) as usize;
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        (first..=last)
            .step_by(stride)
            .flat_map(|power| within.iter().map(move |factor| factor * 10f64.powi(power)))
            .filter(|value| (self.low..=self.high).contains(value))
            .collect()
    }
}

/// Steps of a linear axis.
const TICKS: f64 = 4.0;

/// The smallest round step of which [`TICKS`] reach `most`.
fn step_for(most: f64) -> f64 {
    let raw = most / TICKS;
    let power = 10f64.powf(raw.log10().floor());
    let factor = [1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0].into_iter().find(|f| f * power >= raw);
    factor.unwrap_or(10.0) * power
}

/// A path through points that are already in pixels.
pub(super) fn path(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut text = String::new();
    for (x, y) in points {
        text += &format!("{}{x:.1} {y:.1}", if text.is_empty() { "M" } else { "L" });
    }
    text
}

/// A number that fits beside an axis: `12k`, `1.5M`.
pub(super) fn short(value: f64) -> String {
    for (scale, letter) in [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if value >= scale * 0.9995 {
            return format!("{}{letter}", trimmed(value / scale));
        }
    }
    trimmed(value)
}

/// A time that fits beside an axis.
pub(super) fn short_time(ns: f64) -> String {
    for (scale, unit) in [(1e9, "s"), (1e6, "ms"), (1e3, "us")] {
        if ns >= scale * 0.9995 {
            return format!("{} {unit}", trimmed(ns / scale));
        }
    }
    format!("{} ns", trimmed(ns))
}

/// At most two decimals, without zeroes at the end.
fn trimmed(value: f64) -> String {
    let text = if value >= 1e6 { format!("{value:.0e}") } else { format!("{value:.2}") };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Lines across at the values of the upright axis, each with its label to the left of `left`.
pub(super) fn rules(y: &Scale, (left, right): (f64, f64), label: impl Fn(f64) -> String) -> Markup {
    html! {
        @for value in y.ticks() {
            @let at = px(y.at(value));
            line.rule x1=(px(left)) x2=(px(right)) y1=(at) y2=(at) {}
            text.tick x=(px(left - 5.0)) y=(px(y.at(value) + 4.0)) text-anchor="end" { (label(value)) }
        }
    }
}

/// A coordinate.
pub(super) fn px(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn round_numbers_are_marked() {
        assert_eq!(Scale::linear(18_700.0, (0.0, 1.0)).ticks(), [0.0, 5000.0, 10_000.0, 15_000.0, 20_000.0]);
        assert_eq!(Scale::log(400.0, 40_000.0, (0.0, 1.0)).ticks(), [1000.0, 3000.0, 10_000.0, 30_000.0]);
        assert_eq!([short(12_500.0), short(999.9), short(0.0)], ["12.5k", "1k", "0"]);
        assert_eq!([short_time(1.5e6), short_time(999.0)], ["1.5 ms", "999 ns"]);
    }

    proptest! {
        #[test]
        fn any_number_has_a_place_on_any_axis(value: f64, low: f64, high: f64) {
            for scale in [Scale::linear(high, (10.0, 90.0)), Scale::log(low, high, (10.0, 90.0))] {
                prop_assert!((10.0..=90.0).contains(&scale.at(value)), "{scale:?}");
                prop_assert!(scale.ticks().len() < 40, "{scale:?}");
            }
            let _ = (short(value), short_time(value));
        }
    }
}
