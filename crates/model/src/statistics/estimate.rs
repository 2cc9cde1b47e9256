//! A mean and how well it is known.

use super::correlation::{autocovariance, effective_size};
use super::{CONFIDENCE, mean, student};

/// Fewer intervals than this say nothing of how the rest would have been.
pub const INTERVALS_MIN: usize = 5;
/// From here on the correlation of a series is estimated from it; below, that estimate is worth less than
/// looking at its slow swings alone. Measured: see `docs/MATH.md`.
const CORRELATED_FROM: usize = 20;
/// Slow swings that a short series is judged by.
const SWINGS: usize = 3;
/// Spread below this share of the mean is rounding.
const ROUNDING: f64 = 1e-12;

/// Where an estimate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The intervals of one run: says nothing of how runs differ from each other.
    Series,
    /// Several runs.
    Repeats,
    /// One run, taken to vary as the repeats beside it do.
    OneAmongRepeats,
}

/// Why there is no estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// Too few intervals.
    #[error(
        "{0} full intervals are too few to tell (at least {INTERVALS_MIN}; run longer, or with a shorter --interval)"
    )]
    FewIntervals(usize),
    /// Too few repeats.
    #[error("one run is no repeat")]
    FewRepeats,
    /// A percentile: its mean, over intervals or over runs, is the percentile of nothing.
    #[error("percentiles are not averaged")]
    Percentile,
    /// Zero, negative or no number.
    #[error("the figure is 0 or no number")]
    NotPositive,
}

/// A mean with what is known of its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Standard error of the mean over the mean.
    pub relative_error: f64,
    /// Degrees of freedom of that error.
    pub degrees: f64,
    /// Values that it comes from.
    pub count: usize,
    /// Independent values that they are worth.
    pub effective: f64,
    /// Where it comes from.
    pub source: Source,
}

impl Estimate {
    /// Of a series whose values may hang together.
    ///
    /// From 20 values on, the variance over [`effective_size`]. Below, from the three slowest cosines of
    /// the series (equal-weighted cosine estimator: Lazarus, Lewis, Stock and Watson 2018, *HAR
    /// Inference*, Journal of Business & Economic Statistics 36), which holds exactly for independent
    /// normal values and is wide; a trend widens either.
    ///
    /// # Errors
    /// Too few values, or a mean that is not above 0.
    pub fn of_series(values: &[f64]) -> Result<Estimate, Unknown> {
        if values.len() < INTERVALS_MIN {
            return Err(Unknown::FewIntervals(values.len()));
        }
        let mean = positive(mean(values))?;
        let count = values.len() as f64;
        let variance = autocovariance(values, 0);
        let base = Estimate {
            mean,
            relative_error: 0.0,
            degrees: count - 1.0,
            count: values.len(),
            effective: count,
            source: Source::Series,
        };
        if variance.sqrt() <= ROUNDING * mean {
            return Ok(base);
        }
        if values.len() < CORRELATED_FROM {
            let error = (swings(values) / count).sqrt();
            // What the error is worth in independent values, for whoever wants to see it.
            let effective = (variance / (error * error)).min(count);
            return Ok(Estimate { relative_error: error / mean, degrees: SWINGS as f64, effective, ..base });
        }
        let effective = effective_size(values).max(2.0);
        // The values lie around their own mean more closely than around the true one.
        let error = (variance / (1.0 - 1.0 / effective) / effective).sqrt();
        let degrees = effective.min(count) - 1.0;
        Ok(Estimate { relative_error: error / mean, degrees, effective, ..base })
    }

    /// Of the figures of several runs: their geometric mean, and the spread of their logarithms.
    ///
    /// # Errors
    /// Fewer than two, or one that is not above 0.
    pub fn of_repeats(values: &[f64]) -> Result<Estimate, Unknown> {
        if values.len() < 2 {
            return Err(Unknown::FewRepeats);
        }
        let logs = values.iter().map(|&value| positive(value).map(f64::ln));
        let logs = logs.collect::<Result<Vec<f64>, Unknown>>()?;
        let count = logs.len() as f64;
        let spread = autocovariance(&logs, 0) * count / (count - 1.0);
        Ok(Estimate {
            mean: mean(&logs).exp(),
            relative_error: (spread / count).sqrt(),
            degrees: count - 1.0,
            count: logs.len(),
            effective: count,
            source: Source::Repeats,
        })
    }

    /// Of one run beside repeats of another configuration: it is taken to vary as they do.
    ///
    /// # Errors
    /// A figure that is not above 0.
    pub fn of_one_among(value: f64, repeats: &Estimate) -> Result<Estimate, Unknown> {
        Ok(Estimate {
            mean: positive(value)?,
            relative_error: repeats.relative_error * (repeats.count as f64).sqrt(),
            degrees: repeats.degrees,
            count: 1,
            effective: 1.0,
            source: Source::OneAmongRepeats,
        })
    }

    /// Half the length of its interval, over the mean.
    pub fn half_width(&self) -> f64 {
        self.relative_error * student::quantile(self.degrees, CONFIDENCE)
    }
}

fn positive(value: f64) -> Result<f64, Unknown> {
    if value.is_finite() && value > 0.0 { Ok(value) } else { Err(Unknown::NotPositive) }
}

/// The long-run variance from the slowest cosines.
fn swings(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let power = |j: usize| {
        let turn = std::f64::consts::PI * j as f64 / count;
        let sum: f64 = values.iter().enumerate().map(|(i, v)| v * (turn * (i as f64 + 0.5)).cos()).sum();
        2.0 / count * sum * sum
    };
    (1..=SWINGS).map(power).sum::<f64>() / SWINGS as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_known_is_an_error() {
        assert_eq!(Estimate::of_series(&[1.0; 4]), Err(Unknown::FewIntervals(4)));
        assert_eq!(Estimate::of_series(&[0.0; 8]), Err(Unknown::NotPositive));
        assert_eq!(Estimate::of_series(&[f64::NAN; 8]), Err(Unknown::NotPositive));
        assert_eq!(Estimate::of_repeats(&[1.0]), Err(Unknown::FewRepeats));
        assert_eq!(Estimate::of_repeats(&[1.0, 0.0]), Err(Unknown::NotPositive));
    }

    /// Share of series whose interval has the true mean in it.
    fn coverage(count: usize, correlation: f64) -> f64 {
        let mut noise = super::super::simulated::Noise::new(100 + count as u64);
        let trials = 4000;
        let held = (0..trials)
            .filter(|_| {
                let estimate = Estimate::of_series(&noise.around(100.0, 0.02, count, correlation)).unwrap();
                (estimate.mean / 100.0 - 1.0).abs() <= estimate.half_width() * estimate.mean / 100.0
            })
            .count();
        held as f64 / f64::from(trials)
    }

    /// The table of `docs/MATH.md`: what a 95% interval really holds. Up to a correlation of 0.8 from 60
    /// values on it is between 92% and 98%; what is less is said there.
    #[test]
    fn intervals_hold_what_they_say() {
        let rows: [(usize, &[(f64, f64)]); 6] = [
            (5, &[(0.0, 0.92), (0.3, 0.88)]),
            (10, &[(0.0, 0.92), (0.3, 0.90), (0.5, 0.87)]),
            (20, &[(-0.5, 0.92), (0.0, 0.92), (0.5, 0.91), (0.8, 0.86)]),
            (60, &[(-0.5, 0.92), (0.0, 0.92), (0.3, 0.92), (0.5, 0.92), (0.8, 0.92), (0.9, 0.88)]),
            (120, &[(0.0, 0.92), (0.5, 0.92), (0.8, 0.92), (0.9, 0.90)]),
            (240, &[(0.0, 0.92), (0.8, 0.92), (0.9, 0.92), (0.95, 0.88)]),
        ];
        for (count, row) in rows {
            for &(correlation, least) in row {
                let held = coverage(count, correlation);
                println!("{count} values at {correlation}: {:.1}%", 100.0 * held);
                let most = if count < 60 && correlation < 0.0 { 0.99 } else { 0.98 };
                assert!((least..=most).contains(&held), "{count} at {correlation}: {held}");
            }
        }
    }

    #[test]
    fn no_spread_is_no_error() {
        for count in [5, 19, 20, 60] {
            let estimate = Estimate::of_series(&vec![0.1; count]).unwrap();
            assert!((estimate.mean - 0.1).abs() < 1e-12);
            assert_eq!(estimate.half_width(), 0.0);
        }
    }

    #[test]
    fn a_trend_is_not_taken_for_noise() {
        // From 90 to 110: the mean of the next minute may be anywhere there.
        for count in [10, 60, 240] {
            let rising: Vec<f64> = (0..count).map(|i| 90.0 + 20.0 * i as f64 / count as f64).collect();
            let half = Estimate::of_series(&rising).unwrap().half_width();
            assert!(half > 0.05, "{count}: {half}");
        }
    }

    #[test]
    fn repeats_vary_as_their_logarithms() {
        let estimate = Estimate::of_repeats(&[90.0, 100.0, 110.0]).unwrap();
        assert!((estimate.mean - 99.67).abs() < 0.01);
        assert!((estimate.relative_error - 0.0580).abs() < 0.0005, "{}", estimate.relative_error);
        let one = Estimate::of_one_among(100.0, &estimate).unwrap();
        assert!((one.relative_error / estimate.relative_error - 3f64.sqrt()).abs() < 1e-9);
    }
}
