//! The rule that ends a run when its figure is known.

use iobound_record::Interval;

use super::correlation::{autocovariance, effective_size};
use super::steady::excursion;
use super::{Estimate, Figure, mean};

/// What "known" means unless asked otherwise: to 2% (issue 4).
pub const TOLERANCE: f64 = 0.02;
/// The least tolerance that may be asked: what a device of known rate is read to here (`docs/METHOD.md`)
/// is 1%, and half of it is left for those who know theirs better.
pub const TOLERANCE_LEAST: f64 = 0.005;

/// Least measured time: what a device does in its first seconds (caches, credits of a throttle) must have
/// had its time to show.
const TIME_LEAST_NS: u64 = 5_000_000_000;
/// Least number of intervals: from there on their correlation can be estimated.
const INTERVALS_LEAST: usize = 20;
/// The warm-up is looked for in steps of this many intervals: the 5 of MSER-5.
const BATCH: usize = 5;
/// Looks in a row that must agree. One look in a hundred finds an interval that is short by chance, and
/// there are hundreds of looks in a minute; a chance that lasts 5 intervals is rarer.
const STREAK: usize = 5;
/// Independent values that the part after the warm-up must be worth, unless the values themselves hardly
/// differ: an interval from fewer is short by luck too often. Chosen by simulation (`docs/MATH.md`): at
/// least 15 keep means that are more than the tolerance off to 1 in 20 runs as long as values 1 s apart
/// are correlated by 0.66 or less.
const EFFECTIVE_LEAST: f64 = 15.0;
/// Values hardly differ when their standard deviation is below this share of the tolerance: any few of
/// them then know the mean.
const CALM: f64 = 0.5;

/// Standard errors by which the straight line through the values may be steeper than it looks. Chosen by
/// simulation: none lets half of the runs end within a fall of 30% a minute; one makes noise of 4% a value
/// last half a minute.
const LINE_DOUBT: f64 = 0.5;

/// A figure that is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// Measured time that it took.
    pub after_ns: u64,
    /// How far the true figure may be from the measured one, over the measured one.
    pub within: f64,
    /// Length of the beginning that was found to differ from the rest.
    pub warm_up_ns: u64,
}

/// Whether the figure of a running job is known to `tolerance` from its closed intervals.
pub fn known_for(intervals: &[Interval], figure: Figure, tolerance: f64) -> Option<Known> {
    let last = intervals.last()?;
    let after_ns = last.start_ns + last.length_ns;
    if after_ns < TIME_LEAST_NS {
        return None;
    }
    let (within, warm_up) = is_known(&figure.series(intervals), tolerance)?;
    Some(Known { after_ns, within, warm_up_ns: warm_up as u64 * last.length_ns })
}

/// The first number of values at which the rule would have ended the series.
pub fn known_to(values: &[f64], tolerance: f64) -> Option<usize> {
    let mut agreed = 0;
    (INTERVALS_LEAST..=values.len()).find(|&count| {
        agreed = look(&values[..count], tolerance).map_or(0, |_| agreed + 1);
        agreed == STREAK
    })
}

/// Whether the mean of all values is known to `tolerance`, at each of the last looks: to how much, and how
/// many values at the beginning are warm-up.
pub fn is_known(values: &[f64], tolerance: f64) -> Option<(f64, usize)> {
    // The newest look first: it fails most often.
    let looks = (0..STREAK).map(|back| look(values.get(..values.len().checked_sub(back)?)?, tolerance));
    let looks: Option<Vec<_>> = looks.collect();
    looks?.first().copied()
}

/// One look. What is reported is the mean of *all* values, warm-up included, and what is claimed is about
/// the device after it: so the distance of the two counts, too, and a long warm-up makes a long run.
fn look(values: &[f64], tolerance: f64) -> Option<(f64, usize)> {
    if values.len() < INTERVALS_LEAST {
        return None;
    }
    let warm_up = warm_up(values);
    let settled = &values[warm_up..];
    let estimate = Estimate::of_series(settled).ok()?;
    let reported = mean(values);
    let within = ((reported - estimate.mean).abs() + estimate.half_width() * estimate.mean) / reported;
    let deviation = autocovariance(settled, 0).sqrt() / estimate.mean;
    let enough = deviation <= CALM * tolerance || effective_size(settled) >= EFFECTIVE_LEAST;
    // The line through what is left rises or falls by no more than the tolerance. Its standard error is that
    // of the mean times the square root of 12 (evenly spaced values).
    let unsure = LINE_DOUBT * 12f64.sqrt() * estimate.relative_error;
    let level = excursion(settled).abs() / estimate.mean + unsure <= tolerance;
    (within <= tolerance && enough && level).then_some((within, warm_up))
}

/// How many values at the beginning to leave out: the number that leaves the smallest standard error of
/// the rest, in batches of five, at most half (MSER-5: White, Cobb and Spratt 2000, *A Comparison of Five
/// Steady-State Truncation Heuristics for Simulation*, Winter Simulation Conference).
fn warm_up(values: &[f64]) -> usize {
    let batches: Vec<f64> = values.chunks_exact(BATCH).map(mean).collect();
    let error = |from: usize| {
        let rest = &batches[from..];
        autocovariance(rest, 0) / rest.len() as f64
    };
    let best = (0..=batches.len() / 2).min_by(|&a, &b| error(a).total_cmp(&error(b)));
    best.unwrap_or(0) * BATCH
}

#[cfg(test)]
mod tests {
    use super::super::simulated::Noise;
    use super::*;

    /// A minute in intervals of 250 ms.
    const MINUTE: usize = 240;

    /// Of many runs around 100: the mean length, the share that ended before its time, and the share of
    /// all runs that ended early with a mean more than the tolerance off.
    fn runs(mut make: impl FnMut() -> Vec<f64>) -> (f64, f64, f64) {
        let count = 100;
        let (mut length, mut early, mut off) = (0, 0, 0);
        for _ in 0..count {
            let values = make();
            let end = known_to(&values, TOLERANCE);
            let mean = mean(&values[..end.unwrap_or(values.len())]);
            length += end.unwrap_or(values.len());
            early += usize::from(end.is_some());
            off += usize::from(end.is_some() && (mean / 100.0 - 1.0).abs() > TOLERANCE);
        }
        let share = |n: usize| n as f64 / f64::from(count);
        (share(length), share(early), share(off))
    }

    #[test]
    fn a_steady_device_ends_in_a_third_of_the_minute_and_is_right() {
        let mut noise = Noise::new(21);
        for (spread, correlation) in [(0.0, 0.0), (0.01, 0.0), (0.02, 0.0), (0.01, 0.5), (0.01, 0.8)] {
            let (length, early, off) = runs(|| noise.around(100.0, spread, MINUTE, correlation));
            println!("{spread} at {correlation}: {length:.0} of 240, early {early:.2}, off {off:.3}");
            assert!(length < 80.0 && early > 0.99 && off == 0.0);
        }
    }

    #[test]
    fn an_uneven_device_takes_longer_and_is_seldom_wrong() {
        let mut noise = Noise::new(22);
        for (spread, correlation) in
            [(0.04, 0.0), (0.08, 0.0), (0.04, 0.5), (0.04, 0.8), (0.08, 0.8), (0.02, 0.9), (0.04, 0.9)]
        {
            let (length, early, off) = runs(|| noise.around(100.0, spread, MINUTE, correlation));
            println!("{spread} at {correlation}: {length:.0} of 240, early {early:.2}, off {off:.3}");
            assert!(off <= 0.07, "{spread} at {correlation}: {off}");
        }
    }

    #[test]
    fn two_levels_are_not_taken_for_one() {
        let mut noise = Noise::new(23);
        // 90 and 110, for a second each on average: whoever stops in one of them is 10% off. Kept for 2.5 s
        // on average, one run in ten begins with one that lasts as long as the rule looks at least; no rule
        // can know better.
        for (stay, allowed) in [(0.75, 0.02), (0.9, 0.15)] {
            let (length, early, off) = runs(|| noise.two_levels((90.0, 110.0), stay, MINUTE));
            println!("two levels, stay {stay}: {length:.0} of 240, early {early:.2}, off {off:.3}");
            assert!(off <= allowed);
        }
    }

    #[test]
    fn a_drift_is_seldom_taken_for_steady() {
        let mut noise = Noise::new(24);
        let (length, early, _) = runs(|| {
            let flat = noise.around(100.0, 0.01, MINUTE, 0.0);
            flat.iter().enumerate().map(|(i, v)| v * (1.15 - 0.3 * i as f64 / MINUTE as f64)).collect()
        });
        println!("drift of 30%: {length:.0} of 240, early {early:.2}");
        // Six seconds of it fall by 3%, which noise hides in some; see LINE_DOUBT.
        assert!(early <= 0.5);
    }

    #[test]
    fn a_warm_up_is_waited_out() {
        let mut noise = Noise::new(25);
        // The first half second at three times the rate: a throttle's credit, a write cache.
        let (length, early, off) = runs(|| {
            let mut values = noise.around(100.0, 0.01, MINUTE, 0.0);
            values[..2].iter_mut().for_each(|value| *value *= 3.0);
            values
        });
        println!("warm-up: {length:.0} of 240, early {early:.2}, off {off:.3}");
        // The credit of 4 intervals is 2% of 200.
        assert!(off <= 0.05 && length > 190.0);
    }

    #[test]
    fn nothing_is_known_of_little() {
        let second = |start: u64| Interval {
            start_ns: start * 250_000_000,
            length_ns: 250_000_000,
            read: Some(iobound_record::DirectionStats { ios: 10, iops: 40.0, ..Default::default() }),
            ..Interval::default()
        };
        let intervals: Vec<Interval> = (0..40).map(second).collect();
        assert_eq!(known_for(&intervals[..19], Figure::Iops, TOLERANCE), None);
        let known = known_for(&intervals[..24], Figure::Iops, TOLERANCE).unwrap();
        assert_eq!((known.after_ns, known.warm_up_ns), (6_000_000_000, 0));
        assert_eq!(known_for(&[], Figure::Iops, TOLERANCE), None);
        // A device that does nothing is not steady.
        assert_eq!(is_known(&[0.0; 60], TOLERANCE), None);
        assert_eq!(known_to(&[100.0; 60], TOLERANCE), Some(24));
    }
}
