//! One estimate over another.

use super::{CONFIDENCE, Estimate, Source, student};

/// A ratio with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The ratio.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Standard error of its logarithm.
    pub error: f64,
    /// Degrees of freedom of that error.
    pub degrees: f64,
}

impl Ratio {
    /// `new` over `old`, on the scale of logarithms, where halving and doubling are equally far: a mean
    /// known to a few percent has a logarithm with the same standard error (the delta method).
    ///
    /// The errors of both may differ: Welch 1947, *The Generalization of Student's Problem*, Biometrika 34,
    /// with Satterthwaite's degrees of freedom. A run that borrowed its error from the repeats beside it
    /// adds no degree of its own.
    pub fn of(new: &Estimate, old: &Estimate) -> Ratio {
        let errors = [new, old].map(|estimate| (estimate.relative_error, estimate.degrees));
        let borrowed = [new, old].iter().any(|estimate| estimate.source == Source::OneAmongRepeats);
        let (error, degrees) = joined(&errors);
        let least = new.degrees.min(old.degrees);
        Ratio::around((new.mean / old.mean).ln(), error, if borrowed { least } else { degrees })
    }

    fn around(log: f64, error: f64, degrees: f64) -> Ratio {
        let half = error * student::quantile(degrees, CONFIDENCE);
        Ratio { ratio: log.exp(), low: (log - half).exp(), high: (log + half).exp(), error, degrees }
    }

    /// The other way round.
    pub fn inverted(self) -> Ratio {
        Ratio { ratio: 1.0 / self.ratio, low: 1.0 / self.high, high: 1.0 / self.low, ..self }
    }
}

/// The error of a sum (or difference) of independent parts, and Satterthwaite's degrees of freedom of it.
fn joined(errors: &[(f64, f64)]) -> (f64, f64) {
    let variance: f64 = errors.iter().map(|(error, _)| error * error).sum();
    let spread: f64 = errors.iter().map(|(error, degrees)| error.powi(4) / degrees.max(1.0)).sum();
    let degrees = if spread > 0.0 {
        variance * variance / spread
    } else {
        errors.iter().map(|(_, degrees)| degrees).sum()
    };
    (variance.sqrt(), degrees.max(1.0))
}

/// The geometric mean of ratios, with the interval that their measured errors give it. It is about these
/// scenarios, not about others that were not run. None of nothing.
pub fn geometric_mean(ratios: &[Ratio]) -> Option<Ratio> {
    if ratios.is_empty() {
        return None;
    }
    let count = ratios.len() as f64;
    let log = ratios.iter().map(|ratio| ratio.ratio.ln()).sum::<f64>() / count;
    let errors: Vec<(f64, f64)> = ratios.iter().map(|ratio| (ratio.error / count, ratio.degrees)).collect();
    let (error, degrees) = joined(&errors);
    Some(Ratio::around(log, error, degrees))
}

#[cfg(test)]
mod tests {
    use super::super::simulated::Noise;
    use super::*;

    /// Share of pairs of equal processes whose interval leaves 1 out.
    fn falsely_different(count: usize, correlation: f64, spread: f64) -> f64 {
        let mut noise = Noise::new(7 + count as u64);
        let trials = 2000;
        let wrong = (0..trials)
            .filter(|_| {
                let [a, b] = [(); 2]
                    .map(|()| Estimate::of_series(&noise.around(100.0, spread, count, correlation)).unwrap());
                let ratio = Ratio::of(&b, &a);
                ratio.low > 1.0 || ratio.high < 1.0
            })
            .count();
        wrong as f64 / f64::from(trials)
    }

    #[test]
    fn equal_processes_are_seldom_called_different() {
        // Either way: half of it is "faster".
        for (count, correlation) in [(5, 0.0), (10, 0.0), (20, 0.0), (60, 0.0), (60, 0.5), (60, 0.8)] {
            let wrong = falsely_different(count, correlation, 0.02);
            println!("{count} intervals at {correlation}: {:.1}% called different", 100.0 * wrong);
            assert!(wrong <= 0.06, "{count} at {correlation}: {wrong}");
        }
    }

    #[test]
    fn five_percent_is_seen_at_one_percent_of_noise() {
        let mut noise = Noise::new(11);
        for trial in 0..500 {
            let a = Estimate::of_series(&noise.around(100.0, 0.01, 60, 0.0)).unwrap();
            let b = Estimate::of_series(&noise.around(105.0, 0.01, 60, 0.0)).unwrap();
            let ratio = Ratio::of(&b, &a);
            assert!(ratio.low > 1.0, "trial {trial}: {ratio:?}");
        }
    }

    #[test]
    fn repeats_of_equal_processes_are_seldom_called_different() {
        let mut noise = Noise::new(13);
        for (of_a, of_b) in [(2, 2), (3, 3), (5, 3), (3, 1)] {
            let trials = 4000;
            let wrong = (0..trials)
                .filter(|_| {
                    let a = Estimate::of_repeats(&noise.around(100.0, 0.05, of_a, 0.0)).unwrap();
                    let b = noise.around(100.0, 0.05, of_b, 0.0);
                    let b = Estimate::of_repeats(&b).or_else(|_| Estimate::of_one_among(b[0], &a)).unwrap();
                    let ratio = Ratio::of(&b, &a);
                    ratio.low > 1.0 || ratio.high < 1.0
                })
                .count();
            let wrong = wrong as f64 / f64::from(trials);
            println!("{of_a} against {of_b} repeats: {:.1}% called different", 100.0 * wrong);
            assert!(wrong <= 0.06, "{of_a} against {of_b}: {wrong}");
        }
    }

    #[test]
    fn the_mean_of_a_doubling_and_a_halving_is_one() {
        let exact = |ratio: f64| Ratio::around(ratio.ln(), 0.0, 10.0);
        let mean = geometric_mean(&[exact(2.0), exact(0.5)]).unwrap();
        assert!((mean.ratio - 1.0).abs() < 1e-12 && mean.low == mean.high);
        assert_eq!(geometric_mean(&[]), None);
        let ratio = Ratio::around(1.1f64.ln(), 0.01, 20.0);
        let back = ratio.inverted().inverted();
        assert!((back.low - ratio.low).abs() < 1e-12);
        // Ten ratios of one error know their mean better than each knows itself.
        let of_ten = geometric_mean(&[ratio; 10]).unwrap();
        assert!((of_ten.error - 0.01 / 10f64.sqrt()).abs() < 1e-9);
    }
}
