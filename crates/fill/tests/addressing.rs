//! Byte N of stream S is the same, however the range is cut up and whichever instructions make it.

use iobound_fill::{FillSpec, Filler, Isa};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

fn specs() -> impl Strategy<Value = FillSpec> {
    let ratio = || prop_oneof![Just(1.0), 1.0..6.0];
    let compress = prop_oneof![ratio(), 6.0..=32.0];
    let dedup = prop_oneof![ratio(), 6.0..=1000.0];
    (any::<u64>(), compress, dedup, 12..=20u32).prop_map(|(seed, compress_ratio, dedup_ratio, bits)| {
        FillSpec { seed, compress_ratio, dedup_ratio, dedup_unit: 1 << bits }
    })
}

fn positions() -> impl Strategy<Value = u64> {
    prop_oneof![0..20_000u64, (0..1u64 << 50).prop_map(|cell| cell << 12), any::<u64>()]
        .prop_map(|position| position.min(u64::MAX - (1 << 20)))
}

fn isas() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|isa| isa.is_available())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        // Beside this file: the default looks for a `lib.rs`, which tests of the public face have none of.
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn cutting_up_changes_nothing(
        spec in specs(),
        stream: u64,
        position in positions(),
        length in 0..40_000usize,
        cuts in prop::collection::vec(1..9000usize, 1..20),
        skew in 0..64usize,
    ) {
        let filler = Filler::new(spec).unwrap();
        let mut whole = vec![0; length];
        filler.fill(stream, position, &mut whole);

        let mut parts = vec![0; skew + length];
        let (mut at, mut cuts) = (0, cuts.into_iter().cycle());
        while at < length {
            let end = length.min(at + cuts.next().unwrap());
            filler.fill(stream, position + at as u64, &mut parts[skew + at..skew + end]);
            at = end;
        }
        prop_assert!(parts[..skew].iter().all(|byte| *byte == 0));
        prop_assert!(parts[skew..] == whole);
    }

    #[test]
    fn every_instruction_set_and_kind_of_store_gives_the_same(
        spec in specs(),
        stream: u64,
        position in positions(),
        length in 0..40_000usize,
        skew in prop_oneof![Just(0), 0..64usize],
    ) {
        let portable = Filler::new(spec).unwrap().with_isa(Isa::Portable).unwrap();
        let mut expected = vec![0; length];
        portable.fill(stream, position, &mut expected);
        for isa in isas() {
            let filler = portable.with_isa(isa).unwrap();
            let mut buffer = vec![0; length + 128];
            // Cells on cache lines, so that stores past the cache happen, unless skewed.
            let first_cell = position.wrapping_neg() as usize % 4096;
            let start = buffer[first_cell % 64..].as_ptr().align_offset(64) % 64 + skew;
            filler.fill_streaming(stream, position, &mut buffer[start..start + length]);
            prop_assert!(buffer[start..start + length] == expected, "{isa}, streaming");
            buffer.fill(0);
            filler.fill(stream, position, &mut buffer[start..start + length]);
            prop_assert!(buffer[start..start + length] == expected, "{isa}");
            prop_assert!(buffer[..start].iter().all(|byte| *byte == 0));
            prop_assert!(buffer[start + length..].iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn any_ratios_are_answered_never_with_a_panic(
        seed: u64, compress_ratio: f64, dedup_ratio: f64, dedup_unit: usize,
    ) {
        if let Ok(filler) = Filler::new(FillSpec { seed, compress_ratio, dedup_ratio, dedup_unit }) {
            filler.fill(1, 4000, &mut [0; 5000]);
        }
    }
}

#[test]
fn long_buffers_are_the_same_as_their_parts() {
    // Long enough for `fill` to store past the cache by itself.
    let filler =
        Filler::new(FillSpec { compress_ratio: 1.7, dedup_ratio: 1.3, ..FillSpec::default() }).unwrap();
    let mut whole = vec![0; 9 << 20];
    filler.fill(5, 1000, &mut whole);
    let mut part = vec![0; 100_001];
    for (index, expected) in whole.chunks(part.len()).enumerate() {
        let part = &mut part[..expected.len()];
        filler.fill(5, 1000 + (index * 100_001) as u64, part);
        assert!(part == expected);
    }
}

#[test]
fn seeds_and_streams_select_the_bytes() {
    let bytes = |seed, stream| {
        let mut bytes = [0; 64];
        Filler::new(FillSpec { seed, ..FillSpec::default() }).unwrap().fill(stream, 0, &mut bytes);
        bytes
    };
    assert_eq!(bytes(1, 2), bytes(1, 2));
    assert_ne!(bytes(1, 2), bytes(1, 3));
    assert_ne!(bytes(1, 2), bytes(2, 2));
    assert_ne!(bytes(1, 2), bytes(2, 1));
}
