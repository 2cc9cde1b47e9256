//! What a series of intervals, or a few repeats, say about a figure: how well it is known, whether it held
//! still, whether another is different. The formulas and how they were tried are in `docs/MATH.md`.
//!
//! - [`Estimate`]: a mean and how well it is known, from a correlated series or from repeats;
//! - [`Ratio`]: one estimate over another, with its interval, and [`geometric_mean`] over several;
//! - [`known_to`]: the rule that ends a run when its figure is known;
//! - [`is_steady`]: the SNIA rule;
//! - [`Figure`]: which number of a measurement is looked at.

mod correlation;
mod estimate;
mod figure;
mod ratio;
mod settled;
#[cfg(test)]
mod simulated;
mod steady;
mod student;

pub use correlation::effective_size;
pub use estimate::{Estimate, INTERVALS_MIN, Source, Unknown};
pub use figure::Figure;
pub use ratio::{Ratio, geometric_mean};
pub use settled::{Known, TOLERANCE, TOLERANCE_LEAST, is_known, known_for, known_to};
pub use steady::is_steady;
pub use student::quantile;

/// How sure every interval here is meant to be.
pub const CONFIDENCE: f64 = 0.95;

/// The mean; NaN of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The middle value, or the mean of the two in the middle; None of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = sorted[(sorted.len() - 1) / 2];
    Some(lower.midpoint(upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }
}
