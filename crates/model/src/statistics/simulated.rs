//! Series with known answers, for tests: seeded, so that what passed once passes again.

/// A source of noise (SplitMix64: Steele, Lea and Flood 2014).
pub(super) struct Noise(u64);

impl Noise {
    pub(super) fn new(seed: u64) -> Noise {
        Noise(seed)
    }

    /// Above 0 and below 1.
    pub(super) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 + 1e-17
    }

    /// Standard normal (Box and Muller).
    pub(super) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// A first-order autoregression of variance 1 around 0.
    pub(super) fn autoregression(&mut self, count: usize, correlation: f64) -> Vec<f64> {
        let fresh = (1.0 - correlation * correlation).sqrt();
        let mut value = self.normal();
        (0..count)
            .map(|_| {
                let now = value;
                value = correlation * now + fresh * self.normal();
                now
            })
            .collect()
    }

    /// The same around `mean`, with `spread` of it as standard deviation.
    pub(super) fn around(&mut self, mean: f64, spread: f64, count: usize, correlation: f64) -> Vec<f64> {
        let values = self.autoregression(count, correlation);
        values.into_iter().map(|value| mean * (1.0 + spread * value)).collect()
    }

    /// Two levels, each kept for some time: what a device does that cleans up in the background.
    pub(super) fn two_levels(&mut self, levels: (f64, f64), stay: f64, count: usize) -> Vec<f64> {
        let mut high = self.uniform() < 0.5;
        (0..count)
            .map(|_| {
                high ^= self.uniform() > stay;
                (if high { levels.1 } else { levels.0 }) * (1.0 + 0.005 * self.normal())
            })
            .collect()
    }
}
