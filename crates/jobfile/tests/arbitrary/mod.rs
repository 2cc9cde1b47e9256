//! Jobs of every kind, for property tests.

use std::path::PathBuf;

use iobound_record::{
    BlockShare, Distribution, EngineChoice, Extent, Fallocate, Job, PerDirection, Rw, SyncMode, Verify,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

/// A number that is small, round, or anything.
fn number(max: u64) -> BoxedStrategy<u64> {
    let round = (0u32..=40).prop_map(move |shift| (1u64 << shift).min(max));
    prop_oneof![1..=max.min(100), round, 1..=max].boxed()
}

fn count(max: u32) -> BoxedStrategy<u32> {
    number(max.into()).prop_map(|n| n as u32).boxed()
}

fn time() -> BoxedStrategy<u64> {
    // A year; whole seconds, milliseconds, and nanoseconds that fio cannot say.
    prop_oneof![
        (1u64..100_000).prop_map(|s| s * 1_000_000_000),
        (1u64..100_000).prop_map(|ms| ms * 1_000_000),
        1u64..31_536_000_000_000_000
    ]
    .boxed()
}

fn extent() -> BoxedStrategy<Extent> {
    prop_oneof![number(1 << 50).prop_map(Extent::Bytes), (1u8..=100).prop_map(Extent::Percent)].boxed()
}

fn ratio() -> BoxedStrategy<f64> {
    prop_oneof![Just(1.0), Just(1.5), Just(2.0), Just(3.0), 1.0..1000.0].boxed()
}

fn path() -> BoxedStrategy<PathBuf> {
    "(/?[a-zA-Z0-9_.:@-][a-zA-Z0-9_. :@-]{0,9}[a-z]){1,3}".prop_map(PathBuf::from).boxed()
}

fn text() -> BoxedStrategy<String> {
    "[a-zA-Z0-9_/=\\[\\].,:'\"\\\\ é$-]{0,20}[a-z]"
        .prop_map(|text| text.trim_start().to_owned())
        .prop_filter("fio's keywords", |text| !text.contains("${"))
        .boxed()
}

fn rates(max: u64) -> BoxedStrategy<PerDirection<Option<u64>>> {
    (of(number(max)), of(number(max))).prop_map(|(read, write)| PerDirection { read, write }).boxed()
}

/// `bs`, `bsrange`, `bssplit`.
type BlockSizes = (u64, Option<(u64, u64)>, Option<Vec<BlockShare>>);

fn block_sizes() -> BoxedStrategy<BlockSizes> {
    let size = number(1 << 30);
    let range = (size.clone(), size.clone()).prop_map(|(a, b)| (a.min(b), a.max(b)));
    let split = vec((size.clone(), 1u8..=20), 1..5).prop_map(|parts| {
        let mut shares: Vec<_> = parts.into_iter().map(|(bs, percent)| BlockShare { bs, percent }).collect();
        let given: u8 = shares.iter().map(|share| share.percent).sum();
        shares[0].percent += 100 - given;
        shares
    });
    prop_oneof![
        4 => size.prop_map(|bs| (bs, None, None)),
        1 => (range.clone(), Just(None)).prop_map(|(range, split)| (range.1, Some(range), split)),
        1 => split.clone().prop_map(|split| (largest(&split), None, Some(split))),
        1 => (range, split).prop_map(|(range, split)| (largest(&split), Some(range), Some(split))),
    ]
    .boxed()
}

fn largest(split: &[BlockShare]) -> u64 {
    split.iter().map(|share| share.bs).max().unwrap_or_default()
}

fn distribution() -> BoxedStrategy<Distribution> {
    prop_oneof![
        4 => Just(Distribution::Random),
        1 => (0.01..10.0).prop_map(|theta| Distribution::Zipf { theta }),
        1 => (0.01..0.99).prop_map(|h| Distribution::Pareto { h }),
        1 => (0.01..99.0).prop_map(|deviation| Distribution::Normal { deviation }),
    ]
    .boxed()
}

/// Any job that is valid and whose texts fio can carry.
///
/// Jobs are in their normal form: `bs` is the largest block size, shares are above 0, and a time or
/// list is given or not given, never given as nothing.
pub fn any_job() -> impl Strategy<Value = Job> {
    let engines = [
        EngineChoice::Auto,
        EngineChoice::IoUring,
        EngineChoice::Libaio,
        EngineChoice::Psync,
        EngineChoice::Null,
        EngineChoice::Fio,
        EngineChoice::Dd,
    ];
    let what = (
        prop_oneof!["[a-zA-Z0-9_. -]{0,20}[a-z]", text(), Just("global".to_owned())],
        of(text()),
        proptest::sample::select(Rw::ALL.to_vec()),
        0u8..=100,
        block_sizes(),
        proptest::sample::select(engines.to_vec()),
        distribution(),
        any::<bool>(),
        any::<u64>(),
    );
    let place = (
        vec(path(), 0..3).prop_map(|mut paths| {
            paths.dedup();
            paths
        }),
        of(path()),
        count(1000),
        of(extent()),
        of(number(1 << 50)),
        of(extent()),
        of(extent()),
        any::<bool>(),
        proptest::sample::select(vec![SyncMode::None, SyncMode::Sync, SyncMode::Dsync]),
        proptest::sample::select(vec![Fallocate::Native, Fallocate::Truncate, Fallocate::None]),
        any::<bool>(),
        of(proptest::collection::btree_set(0u32..200, 1..9).prop_map(|set| set.into_iter().collect())),
    );
    let flow = (
        count(32_768),
        count(32_768),
        count(1024),
        of(time()),
        any::<bool>(),
        (of(time()), of(time()), of(time())),
        count(100),
        of(number(1 << 40)),
        (rates(1 << 40), prop_oneof![3 => Just(PerDirection::default()), 1 => rates(1 << 31)]),
        count(100),
        (0u32..3, 0u32..50),
        (any::<bool>(), any::<bool>(), any::<bool>()),
    );
    let data = (
        any::<bool>(),
        ratio(),
        ratio(),
        12u32..=20,
        any::<bool>(),
        proptest::sample::select(vec![Verify::None, Verify::Crc32c]),
        any::<bool>(),
        prop_oneof![Just(1_000_000_000u64), 1_000_000u64..3_600_000_000_000],
    );
    (what, place, flow, data)
        .prop_map(|(what, place, flow, data)| {
            let (bs, bsrange, bssplit) = what.4;
            let (fsync_kind, every) = flow.10;
            Job {
                name: what.0.trim().to_owned(),
                description: what.1,
                rw: what.2,
                rwmixread: what.3,
                bs,
                bsrange,
                bssplit,
                ioengine: what.5,
                random_distribution: what.6,
                norandommap: what.7,
                randseed: what.8,
                filename: place.0,
                directory: place.1,
                nrfiles: place.2,
                size: place.3,
                io_size: place.4,
                offset: place.5,
                offset_increment: place.6,
                direct: place.7,
                pre_read: !place.7 && data.6,
                sync: place.8,
                fallocate: place.9,
                overwrite: place.10,
                cpus_allowed: place.11,
                iodepth: flow.0,
                iodepth_batch: flow.1 % (flow.0 + 1),
                numjobs: flow.2,
                runtime_ns: flow.3,
                time_based: flow.4 && flow.3.is_some(),
                ramp_time_ns: flow.5.0.unwrap_or(0),
                startdelay_ns: flow.5.1.unwrap_or(0),
                thinktime_ns: flow.5.2.unwrap_or(0),
                loops: flow.6,
                number_ios: flow.7,
                rate: flow.8.0,
                rate_iops: flow.8.1,
                thinktime_blocks: flow.9,
                fsync: if fsync_kind == 1 { every } else { 0 },
                fdatasync: if fsync_kind == 2 { every } else { 0 },
                end_fsync: flow.11.0,
                stonewall: flow.11.1,
                group_reporting: flow.11.2,
                zero_buffers: data.0,
                compress_ratio: data.1,
                dedup_ratio: data.2,
                dedup_unit: 1 << data.3,
                refill_buffers: data.4,
                verify: data.5,
                do_verify: data.6,
                log_interval_ns: data.7,
            }
        })
        .prop_map(nearest_valid)
}

/// Mends what two random choices rarely agree on.
fn nearest_valid(mut job: Job) -> Job {
    let (_, bs_max) = job.block_sizes();
    if let Some(Extent::Bytes(size)) = &mut job.size {
        *size = (*size).max(bs_max);
    }
    if job.validate().is_err_and(|error| error.option == "verify") {
        job.verify = Verify::None;
    }
    assert_eq!(job.validate(), Ok(()));
    job
}
