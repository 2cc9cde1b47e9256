//! The bodies of the fuzz targets on a stable toolchain: over the seed corpus, over every cut of it, and
//! over arbitrary bytes.

use std::fs;
use std::path::Path;

use iobound_host::fuzz_bodies::TARGETS;
use proptest::prelude::*;

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut seeds: Vec<_> = fs::read_dir(&directory)
        .unwrap_or_else(|e| panic!("{}: {e}", directory.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    seeds.sort();
    assert!(seeds.len() >= 4, "{} has too few seeds", directory.display());
    seeds.iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn every_seed_and_every_cut_of_it() {
    for (target, body) in TARGETS {
        for seed in corpus(target) {
            for end in 0..=seed.len() {
                body(&seed[..end]);
            }
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes(data in proptest::collection::vec(any::<u8>(), 0..400)) {
        TARGETS.iter().for_each(|(_, body)| body(&data));
    }

    /// Pieces of the seeds, in any order.
    #[test]
    fn shuffled_seeds(target in 0..TARGETS.len(), cuts in proptest::collection::vec((0usize..4, 0usize..2000, 0usize..80), 0..12)) {
        let (name, body) = TARGETS[target];
        let seeds = corpus(name);
        let mut data = Vec::new();
        for (seed, start, length) in cuts {
            let seed = &seeds[seed % seeds.len()];
            let start = start.min(seed.len());
            data.extend(&seed[start..(start + length).min(seed.len())]);
        }
        body(&data);
    }
}
