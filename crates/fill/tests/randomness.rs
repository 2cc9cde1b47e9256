//! Random bytes look random: to strong compressors, to simple statistics, and across positions and streams.

mod observe;

use std::collections::HashSet;

use iobound_fill::{FillSpec, Filler};
use observe::{PIECE_BYTES, bytes, filler, lz4_ratio, zstd_ratio_at};

#[test]
fn nothing_compresses_it() {
    let data = bytes(&filler(1.0, 1.0, 4096), 0, 1 << 44, 4 << 20);
    for piece_bytes in [PIECE_BYTES, 4 << 20] {
        for level in [1, 19] {
            let found = zstd_ratio_at(level, &data, piece_bytes);
            assert!(found < 1.001, "zstd -{level} on {piece_bytes}: {found}");
        }
        assert!(lz4_ratio(&data, piece_bytes) < 1.001);
    }
}

#[test]
fn no_16_bytes_occur_twice_at_any_position_stream_or_seed() {
    let mut seen = HashSet::new();
    for seed in [0, 1, 1 << 32] {
        let filler = Filler::new(FillSpec { seed, ..FillSpec::default() }).unwrap();
        for stream in [0, 1, 2, 1 << 32, u64::MAX] {
            for position in [0, 1 << 44, 1 << 60] {
                let data = bytes(&filler, stream, position, 512 << 10);
                for block in data.chunks_exact(16) {
                    let block = u128::from_le_bytes(block.try_into().unwrap());
                    assert!(seen.insert(block), "seed {seed}, stream {stream}, after {position}");
                }
            }
        }
    }
}

#[test]
fn bytes_are_uniform_and_bits_balanced_in_every_place() {
    let data = bytes(&filler(1.0, 1.0, 4096), 1, 0, 16 << 20);
    // Chi-square over all bytes and over each place in a 32-bit lane; 255 degrees of freedom, 6 sigma.
    let limit = 255.0 + 6.0 * (2.0 * 255.0f64).sqrt();
    let chi_square = |sample: &mut dyn Iterator<Item = u8>| {
        let mut counts = [0u64; 256];
        sample.for_each(|byte| counts[usize::from(byte)] += 1);
        let expected = counts.iter().sum::<u64>() as f64 / 256.0;
        counts.iter().map(|count| (*count as f64 - expected).powi(2) / expected).sum::<f64>()
    };
    assert!(chi_square(&mut data.iter().copied()) < limit);
    for place in 0..4 {
        assert!(
            chi_square(&mut data.iter().copied().skip(place).step_by(4)) < limit,
            "byte {place} of a lane"
        );
    }

    // Each bit of a vector is set half of the time.
    let vectors = data.len() / 64;
    let mut set = [0u32; 512];
    for vector in data.chunks_exact(64) {
        for (bit, count) in set.iter_mut().enumerate() {
            *count += u32::from(vector[bit / 8] >> (bit % 8) & 1);
        }
    }
    let sigma = (vectors as f64).sqrt() / 2.0;
    for (bit, count) in set.iter().enumerate() {
        assert!((f64::from(*count) - vectors as f64 / 2.0).abs() < 6.0 * sigma, "bit {bit}: {count}");
    }
}

#[test]
fn neighbours_streams_and_seeds_are_unrelated() {
    let length = 4 << 20;
    let of = |seed, stream, position| {
        let filler = Filler::new(FillSpec { seed, ..FillSpec::default() }).unwrap();
        bytes(&filler, stream, position, length)
    };
    let base = of(0, 0, 0);
    let others = [
        ("next stream", of(0, 1, 0)),
        ("next seed", of(1, 0, 0)),
        ("next vector", of(0, 0, 64)),
        ("next cell", of(0, 0, 4096)),
        ("far away", of(0, 0, 1 << 44)),
    ];
    // Half of the bits differ, within 6 sigma.
    let bits = length as f64 * 8.0;
    for (name, other) in others {
        let differ: u64 = base.iter().zip(&other).map(|(a, b)| u64::from((a ^ b).count_ones())).sum();
        assert!((differ as f64 - bits / 2.0).abs() < 3.0 * bits.sqrt(), "{name}: {differ} of {bits} differ");
    }
}
