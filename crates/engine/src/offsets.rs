//! Where the next block lies: sequences of block numbers, random or in order.
//!
//! The random map is a permutation computed block by block: every block is hit once before any is
//! hit twice, as with fio's bitmap, but with no memory to keep, whatever the size of the file.

use iobound_record::Distribution;
use rand_core::RngCore;
use rand_distr::Distribution as _;

/// SplitMix64 (Steele, Lea, Flood 2014): one multiply-xorshift chain a draw, any seed is good.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed)
    }

    #[inline(always)]
    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`, uniform to within n / 2^64.
    #[inline(always)]
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(n)) >> 64) as u64
    }

    /// A number in 0.0..1.0.
    fn unit(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl RngCore for Random {
    fn next_u32(&mut self) -> u32 {
        (self.draw() >> 32) as u32
    }

    fn next_u64(&mut self) -> u64 {
        self.draw()
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.draw().to_le_bytes()[..chunk.len()]);
        }
    }
}

/// A permutation of 0..n with no table.
///
/// Odd multiplications and right shifts with exclusive-or are each invertible on k-bit numbers, so
/// their chain permutes 0..2^k; numbers at or above n are sent through again until they fall below
/// it (cycle walking), which leaves a permutation of 0..n. As 2^k < 2n, less than one further round
/// is needed on average.
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    n: u64,
    mask: u64,
    shift: u32,
    key: [u64; 2],
}

impl Permutation {
    pub(crate) fn new(n: u64, seed: u64) -> Self {
        let bits = (64 - n.saturating_sub(1).leading_zeros()).max(2);
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        let mut random = Random::new(seed);
        Permutation { n, mask, shift: bits.div_ceil(2), key: [random.draw(), random.draw()] }
    }

    /// Element `index` of the permutation; `index` < n.
    #[inline(always)]
    pub(crate) fn at(&self, index: u64) -> u64 {
        let mut x = index;
        loop {
            x = x.wrapping_add(self.key[0]).wrapping_mul(0xBF58_476D_1CE4_E5B9) & self.mask;
            x ^= x >> self.shift;
            x = x.wrapping_add(self.key[1]).wrapping_mul(0x94D0_49BB_1331_11EB) & self.mask;
            x ^= x >> self.shift;
            x = x.wrapping_mul(0x9E37_79B9_7F4A_7C15) & self.mask;
            x ^= x >> self.shift;
            if x < self.n {
                return x;
            }
        }
    }
}

/// How block numbers follow each other.
#[derive(Clone, Debug)]
enum Order {
    Sequential,
    Permutation(Permutation),
    Uniform,
    /// Ranks drawn from a skewed distribution, then scattered so that hot blocks are not neighbours.
    Zipf(rand_distr::Zipf<f64>, Permutation),
    /// Self-similar: a share `h` of the blocks takes 1 - h of the operations, at every scale.
    /// `power` = ln h / ln (1 - h), after Gray et al., "Quickly Generating Billion-Record Synthetic
    /// Databases", 1994.
    Pareto(f64, Permutation),
    /// Around the middle, blocks near each other alike.
    Normal(rand_distr::Normal<f64>),
}

/// An endless sequence of block numbers below `blocks`.
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    blocks: u64,
    position: u64,
    passes: u64,
    seed: u64,
    random: Random,
    order: Order,
}

impl Sequence {
    /// # Panics
    /// With no blocks; the plan rejects working sets below one block.
    pub(crate) fn new(
        blocks: u64,
        random_offsets: bool,
        norandommap: bool,
        distribution: Distribution,
        seed: u64,
    ) -> Self {
        assert!(blocks > 0, "a sequence needs at least one block");
        let scatter = || Permutation::new(blocks, seed ^ 0x5CA7_7E12);
        let order = match distribution {
            _ if !random_offsets => Order::Sequential,
            Distribution::Zipf { theta } => {
                let zipf = rand_distr::Zipf::new(blocks as f64, theta).expect("theta was validated");
                Order::Zipf(zipf, scatter())
            }
            Distribution::Pareto { h } => Order::Pareto(h.ln() / (1.0 - h).ln(), scatter()),
            Distribution::Normal { deviation } => {
                let sigma = blocks as f64 * deviation / 100.0;
                let middle = blocks as f64 / 2.0;
                Order::Normal(rand_distr::Normal::new(middle, sigma).expect("deviation was validated"))
            }
            Distribution::Random if norandommap => Order::Uniform,
            Distribution::Random => Order::Permutation(Permutation::new(blocks, seed)),
        };
        Sequence { blocks, position: 0, passes: 0, seed, random: Random::new(seed), order }
    }

    /// The next block number.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> u64 {
        match &mut self.order {
            Order::Sequential => {
                let block = self.position;
                self.position += 1;
                if self.position == self.blocks {
                    self.position = 0;
                }
                block
            }
            Order::Permutation(permutation) => {
                let block = permutation.at(self.position);
                self.position += 1;
                if self.position == self.blocks {
                    self.position = 0;
                    self.passes += 1;
                    // A new order each pass: repeating one would show caches a pattern.
                    let seed = self.seed.wrapping_add(self.passes.wrapping_mul(0x2545_F491_4F6C_DD1D));
                    self.order = Order::Permutation(Permutation::new(self.blocks, seed));
                }
                block
            }
            Order::Uniform => self.random.below(self.blocks),
            _ => self.next_skewed(),
        }
    }

    fn next_skewed(&mut self) -> u64 {
        let last = self.blocks - 1;
        match &self.order {
            Order::Zipf(zipf, scatter) => {
                let rank = zipf.sample(&mut self.random) as u64;
                scatter.at(rank.saturating_sub(1).min(last))
            }
            Order::Pareto(power, scatter) => {
                let rank = (self.blocks as f64 * self.random.unit().powf(*power)) as u64;
                scatter.at(rank.min(last))
            }
            Order::Normal(normal) => loop {
                let block = normal.sample(&mut self.random);
                if block >= 0.0 && (block as u64) < self.blocks {
                    return block as u64;
                }
            },
            _ => unreachable!("only skewed orders come here"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(blocks: u64, distribution: Distribution, draws: usize) -> Vec<u64> {
        let mut sequence = Sequence::new(blocks, true, true, distribution, 7);
        let mut counts = vec![0; blocks as usize];
        (0..draws).for_each(|_| counts[sequence.next() as usize] += 1);
        counts
    }

    /// Share of the draws that the most hit tenth of the blocks took.
    fn hottest_tenth(mut counts: Vec<u64>) -> f64 {
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let top: u64 = counts[..counts.len() / 10].iter().sum();
        top as f64 / counts.iter().sum::<u64>() as f64
    }

    proptest! {
        #[test]
        fn a_pass_hits_every_block_once(blocks in 1u64..5_000, seed: u64) {
            let mut sequence = Sequence::new(blocks, true, false, Distribution::Random, seed);
            for _pass in 0..2 {
                let mut hit = vec![false; blocks as usize];
                for _ in 0..blocks {
                    let block = sequence.next() as usize;
                    prop_assert!(!hit[block], "block {} twice", block);
                    hit[block] = true;
                }
            }
        }

        #[test]
        fn every_order_stays_in_range(blocks in 1u64..u64::MAX / 2, seed: u64, kind in 0..6) {
            let distribution = match kind {
                0 => Distribution::Zipf { theta: 1.2 },
                1 => Distribution::Pareto { h: 0.2 },
                2 => Distribution::Normal { deviation: 20.0 },
                _ => Distribution::Random,
            };
            let mut sequence = Sequence::new(blocks, kind != 5, kind == 4, distribution, seed);
            for _ in 0..100 {
                prop_assert!(sequence.next() < blocks);
            }
        }
    }

    #[test]
    fn two_passes_differ() {
        let mut sequence = Sequence::new(1000, true, false, Distribution::Random, 1);
        let first: Vec<u64> = (0..1000).map(|_| sequence.next()).collect();
        let second: Vec<u64> = (0..1000).map(|_| sequence.next()).collect();
        assert_ne!(first, second);
    }

    #[test]
    fn a_permutation_does_not_look_sequential() {
        let mut sequence = Sequence::new(1 << 16, true, false, Distribution::Random, 3);
        let order: Vec<i64> = (0..1 << 16).map(|_| sequence.next() as i64).collect();
        let near = order.windows(2).filter(|pair| (pair[1] - pair[0]).abs() <= 16).count();
        // 33 of 65,536 neighbours fall this near by chance: 33 pairs; allow five times that.
        assert!(near < 165, "{near} neighbouring pairs");
        let up = order.windows(2).filter(|pair| pair[1] > pair[0]).count() as f64 / order.len() as f64;
        assert!((0.48..0.52).contains(&up), "{up} ascending");
    }

    #[test]
    fn skew_is_as_asked() {
        let uniform = hottest_tenth(counts(1000, Distribution::Random, 200_000));
        assert!((0.10..0.13).contains(&uniform), "uniform: {uniform}");
        // Zipf 1.2 over 1000 ranks: the first 100 hold H(100, 1.2) / H(1000, 1.2) = 0.83 of it.
        let zipf = hottest_tenth(counts(1000, Distribution::Zipf { theta: 1.2 }, 200_000));
        assert!((0.80..0.86).contains(&zipf), "zipf: {zipf}");
        // Self-similar with h = 0.1: a tenth of the blocks takes nine tenths.
        let pareto = hottest_tenth(counts(1000, Distribution::Pareto { h: 0.1 }, 200_000));
        assert!((0.88..0.92).contains(&pareto), "pareto: {pareto}");
        let normal = counts(1000, Distribution::Normal { deviation: 10.0 }, 200_000);
        let middle: u64 = normal[400..600].iter().sum();
        // Within one standard deviation: 68%.
        assert!((0.66..0.71).contains(&(middle as f64 / 200_000.0)), "normal: {middle}");
    }
}
