//! Quantiles of Student's t distribution, for any number of degrees of freedom.
//!
//! Welch's degrees of freedom are no whole numbers, so a table does not do. The distribution function is
//! the regularised incomplete beta function (Abramowitz and Stegun 26.7.1), computed by its continued
//! fraction (26.5.8, by Lentz's method), and inverted by halving.

/// Terms of the continued fraction at most; it needs some tens for what is asked here.
const TERMS_MAX: u32 = 500;
/// Relative precision of the continued fraction.
const PRECISION: f64 = 1e-14;
/// Keeps Lentz's method from dividing by 0.
const TINY: f64 = 1e-300;
/// Halvings of the interval that holds a quantile: more than a `f64` can tell apart.
const HALVINGS: u32 = 200;
/// From here on the normal distribution is meant: t differs from it by less than 1e-7.
const NORMAL_FROM: f64 = 1e7;

/// The `t` for which a share `confidence` of the distribution lies within `-t..t`.
///
/// Fewer than one degree of freedom is taken as one: nothing that is estimated has fewer.
pub fn quantile(degrees: f64, confidence: f64) -> f64 {
    let degrees = degrees.clamp(1.0, NORMAL_FROM);
    let outside = 1.0 - confidence.clamp(0.0, 1.0 - 1e-9);
    let (mut low, mut high) = (0.0, 1.0);
    while tails(high, degrees) > outside {
        high *= 2.0;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if tails(middle, degrees) > outside { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Share of the distribution outside `-t..t`.
fn tails(t: f64, degrees: f64) -> f64 {
    incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t))
}

/// The regularised incomplete beta function.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    // The fraction converges fast below this point, and its mirror image above.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut whole = d;
    for m in 1..=TERMS_MAX {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut step = 1.0;
        for term in [even, odd] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            step = c * d;
            whole *= step;
        }
        if (step - 1.0).abs() < PRECISION {
            break;
        }
    }
    whole
}

/// The logarithm of the gamma function: Stirling's series (Abramowitz and Stegun 6.1.41) after moving
/// the argument up to where it is exact.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut moved) = (x, 0.0);
    while x < 12.0 {
        moved -= x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)));
    moved + (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // Abramowitz and Stegun, table 26.10, two-sided 95% and 99%.
        let tables = [
            (1.0, 0.95, 12.706),
            (2.0, 0.95, 4.303),
            (4.0, 0.95, 2.776),
            (10.0, 0.95, 2.228),
            (60.0, 0.95, 2.000),
            (1e9, 0.95, 1.960),
            (5.0, 0.99, 4.032),
            (30.0, 0.99, 2.750),
        ];
        for (degrees, confidence, expected) in tables {
            let t = quantile(degrees, confidence);
            assert!((t - expected).abs() < 6e-4, "{degrees} at {confidence}: {t}, not {expected}");
        }
    }

    #[test]
    fn more_degrees_never_widen() {
        let mut last = f64::INFINITY;
        for step in 0..200 {
            let t = quantile(0.5 + f64::from(step) * 0.37, 0.95);
            assert!(t <= last && t > 1.9599);
            last = t;
        }
    }
}
