//! How many independent values a correlated series is worth.

use super::mean;

/// Largest lag-1 correlation that is believed. Above, the series is one swing, and its length in
/// independent values (fewer than n/65) says nothing any more.
const CORRELATION_MAX: f64 = 0.97;
/// The most negative one. A throttle that works in slices of time (the kernel's: 100 ms, or 20 ms on SSDs)
/// puts a slice more into one interval and a slice less into the next; their mean is known far better than
/// their spread looks. Below this no more is made of it: at most 9 values for one.
const CORRELATION_MIN: f64 = -0.8;
/// The sum of all autocovariances is taken as this share of the variance at least, which is what
/// [`CORRELATION_MIN`] comes to: estimated from a short series it can fall below 0.
const SUM_MIN: f64 = 0.11;

/// The covariance of a series with itself `lag` values later, divided by its whole length, which keeps
/// the sums below positive definite (Priestley 1981, 5.3.3).
pub(super) fn autocovariance(values: &[f64], lag: usize) -> f64 {
    let mean = mean(values);
    let pairs = values.iter().zip(values.iter().skip(lag));
    pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / values.len() as f64
}

/// How many independent values would know the mean as well: the smaller of two estimates. Where values
/// alternate (negative correlation) it is more than there are.
///
/// - Geyer's initial monotone sequence (Geyer 1992, *Practical Markov Chain Monte Carlo*, Statistical
///   Science 7): sums the autocovariances in pairs as long as the pairs are positive and fall. It assumes
///   no model, and reads short series too well: it misses what is slower than the series.
/// - A first-order autoregression whose lag-1 correlation is corrected for the bias that a short series
///   gives it, -(1 + 3r)/n (Kendall 1954, *Note on Bias in the Estimation of Autocorrelation*,
///   Biometrika 41): n (1 - r)/(1 + r).
pub fn effective_size(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let variance = autocovariance(values, 0);
    if values.len() < 3 || variance <= 0.0 {
        return count;
    }
    let sequence = count * variance / initial_sequence(values, variance).max(SUM_MIN * variance);
    sequence.min(autoregression(values, variance))
}

/// Geyer's estimate of the sum of all autocovariances.
fn initial_sequence(values: &[f64], variance: f64) -> f64 {
    let mut sum = -variance;
    let mut last = f64::INFINITY;
    for lag in (0..values.len().saturating_sub(1)).step_by(2) {
        let pair = (autocovariance(values, lag) + autocovariance(values, lag + 1)).min(last);
        if pair <= 0.0 {
            break;
        }
        sum += 2.0 * pair;
        last = pair;
    }
    sum
}

fn autoregression(values: &[f64], variance: f64) -> f64 {
    let count = values.len() as f64;
    let seen = autocovariance(values, 1) / variance;
    let corrected = (seen + (1.0 + 3.0 * seen) / count).clamp(CORRELATION_MIN, CORRELATION_MAX);
    count * (1.0 - corrected) / (1.0 + corrected)
}

#[cfg(test)]
mod tests {
    use super::super::simulated::Noise;
    use super::*;

    #[test]
    fn independent_values_count_almost_whole() {
        let mut noise = Noise::new(1);
        let sizes: Vec<f64> = (0..200).map(|_| effective_size(&noise.autoregression(120, 0.0))).collect();
        let typical = super::super::median(&sizes).unwrap();
        assert!((85.0..=125.0).contains(&typical), "{typical}");
    }

    #[test]
    fn correlated_values_count_less() {
        let mut noise = Noise::new(2);
        // 1,000 values at 0.8 are worth 1,000 x 0.2 / 1.8 = 111.
        let sizes: Vec<f64> = (0..50).map(|_| effective_size(&noise.autoregression(1000, 0.8))).collect();
        let typical = super::super::median(&sizes).unwrap();
        assert!((80.0..=125.0).contains(&typical), "{typical}");
    }

    #[test]
    fn alternating_values_count_more() {
        // A throttle's slices of 100 ms in intervals of 250 ms: two, three, two, three.
        let values: Vec<f64> = (0..40).map(|i| if i % 2 == 0 { 1600.0 } else { 2400.0 }).collect();
        assert!(effective_size(&values) > 200.0, "{}", effective_size(&values));
    }

    #[test]
    fn a_constant_or_short_series_is_taken_as_it_is() {
        assert_eq!(effective_size(&[5.0; 9]), 9.0);
        assert_eq!(effective_size(&[1.0, 2.0]), 2.0);
    }
}
