//! The model against what was measured, what the arithmetic must be, and what must hold for any input.

use iobound_record::{Cap, Context, Level, units::KIB, units::MIB};
use proptest::prelude::*;

use super::*;

/// 8 x gp3 as seed 000 had it, with the latencies it measured.
fn gp3() -> Limits {
    Limits {
        name: "data".into(),
        iops: Some(3000),
        bytes_per_s: Some(125 * MIB),
        latency_ns: Some(589_000),
        sync_latency_ns: Some(1_858_000),
        operation_bytes: Some(256 * KIB),
    }
}

fn raid10(chunk: u64) -> Topology {
    Topology::uniform(Some(Level::Raid10), chunk, 8, &gp3())
}

fn demand(read_share: f64, bytes: u64, depth: u64, sequential: bool, writes_per_sync: u32) -> Demand {
    Demand { read_share, bytes, depth, sequential, writes_per_sync }
}

/// The ten measured rows of seed 000 (its "MB/s" are MiB/s), each with the bound that holds it.
#[test]
fn the_ten_measured_rows() {
    let (data, wal) = (raid10(64 * KIB), raid10(256 * KIB));
    let rows: [(u32, &Topology, Demand, f64, &str); 10] = [
        (1, &wal, demand(0.0, 8 * KIB, 1, true, 1), 536.0, "latency"),
        (3, &data, demand(1.0, 8 * KIB, 1, false, 0), 1690.0, "latency"),
        (4, &data, demand(1.0, MIB, 16, true, 0), 1003.0, "volume-bandwidth"),
        (5, &wal, demand(0.0, MIB, 16, true, 0), 508.0, "volume-bandwidth"),
        (7, &data, demand(0.0, MIB, 16, true, 0), 509.0, "volume-bandwidth"),
        (10, &wal, demand(1.0, MIB, 8, true, 0), 1003.0, "volume-bandwidth"),
        (2, &data, demand(0.7, 8 * KIB, 256, false, 0), 18_700.0, "volume-iops"),
        (8, &data, demand(0.0, 8 * KIB, 256, false, 0), 12_200.0, "volume-iops"),
        (6, &wal, demand(0.0, 32 * KIB, 128, true, 1), 16_200.0, "volume-bandwidth"),
        (9, &data, demand(0.7, 8 * KIB, 128, false, 1), 18_700.0, "volume-iops"),
    ];
    for (number, topology, demand, measured, bound) in rows {
        let ceiling = ceilings(topology, &demand, None).ceiling().unwrap();
        let off = (measured / ceiling.iops - 1.0) * 100.0;
        println!("{number:>2}: {:.0} ({off:+.1}%) {}: {}", ceiling.iops, ceiling.bound, ceiling.why);
        assert!(off.abs() <= 3.0, "scenario {number}: {ceiling:?} is {off:+.1}% from {measured}");
        assert_eq!(ceiling.bound, bound, "scenario {number}: {ceiling:?}");
    }
}

#[test]
fn the_arithmetic_in_words() {
    let why = |demand| ceilings(&raid10(64 * KIB), &demand, None).ceiling().unwrap().why;
    assert_eq!(why(demand(0.7, 8 * KIB, 256, false, 0)), "8 x 3,000 operations/s / (0.7 + 2 x 0.3) = 18,462");
    assert_eq!(why(demand(1.0, MIB, 16, true, 0)), "8 x 125 MiB/s = 1000 MiB/s");
    assert_eq!(why(demand(0.0, MIB, 16, true, 0)), "8 x 125 MiB/s / 2 = 500 MiB/s");
    assert_eq!(why(demand(1.0, 8 * KIB, 1, false, 0)), "1 in flight / 589 us each = 1,698");
}

/// A c8g.2xlarge, which the seed's page names, could not have done what it measured: the machine's own
/// cap binds, and mirrored writes cross it twice.
#[test]
fn the_instance_binds_where_it_is_small() {
    let mut topology = raid10(64 * KIB);
    let bandwidth = |mb: u64| Some(iobound_record::Bandwidth(mb * 100_000));
    topology.sustained = Cap { iops: Some(12_000), bandwidth: bandwidth(3125) };
    topology.burst = Some(Cap { iops: Some(40_000), bandwidth: bandwidth(12_500) });
    let of = |demand| ceilings(&topology, &demand, None);
    let write = of(demand(0.0, MIB, 16, true, 0));
    let ceiling = write.ceiling().unwrap();
    assert_eq!(ceiling.bound, "instance-bandwidth");
    assert!((ceiling.bandwidth_bytes_per_s - 312.5e6 / 2.0).abs() < 1.0, "{ceiling:?}");
    assert_eq!(write.burst.unwrap().bound, "volume-bandwidth");
    let mixed = of(demand(0.7, 8 * KIB, 256, false, 0)).ceiling().unwrap();
    assert_eq!(mixed.bound, "instance-iops");
    assert!((mixed.iops - 12_000.0 / 1.3).abs() < 1.0, "{mixed:?}");
}

#[test]
fn write_penalties() {
    let penalty = |level, n| {
        let limits = Limits { iops: Some(1000), ..Limits::default() };
        let topology = Topology::uniform(Some(level), 64 * KIB, n, &limits);
        let iops = ceilings(&topology, &demand(0.0, 4 * KIB, 64, false, 0), None).ceiling().unwrap().iops;
        f64::from(n) * 1000.0 / iops
    };
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} is not {b}");
    near(penalty(Level::Raid0, 8), 1.0);
    near(penalty(Level::Raid1, 2), 2.0);
    near(penalty(Level::Raid10, 8), 2.0);
    near(penalty(Level::Raid5, 8), 4.0);
    near(penalty(Level::Raid6, 8), 6.0);
    // The rest is less than what is replaced.
    near(penalty(Level::Raid5, 3), 3.0);
    near(penalty(Level::Raid6, 4), 4.0);
}

#[test]
fn whole_stripes_pay_for_parity_once() {
    let limits = Limits { bytes_per_s: Some(100 * MIB), ..Limits::default() };
    let rate = |level, n| {
        let topology = Topology::uniform(Some(level), 64 * KIB, n, &limits);
        let ceiling = ceilings(&topology, &demand(0.0, MIB, 16, true, 0), None).ceiling().unwrap();
        ceiling.bandwidth_bytes_per_s / MIB as f64
    };
    assert!((rate(Level::Raid5, 5) - 400.0).abs() < 1e-6);
    assert!((rate(Level::Raid6, 6) - 400.0).abs() < 1e-6);
    assert!((rate(Level::Raid0, 4) - 400.0).abs() < 1e-6);
    // A chain in order uses one volume at a time.
    assert!((rate(Level::Linear, 4) - 100.0).abs() < 1e-6);
}

#[test]
fn a_nested_array_is_what_its_parts_make_it() {
    let pair = Node::Array {
        level: Level::Raid1,
        chunk_bytes: 0,
        members: vec![Node::Volume(gp3()), Node::Volume(gp3())],
    };
    let root = Node::Array { level: Level::Raid0, chunk_bytes: 64 * KIB, members: vec![pair; 4] };
    let nested = Topology { root, ..raid10(64 * KIB) };
    for demand in [demand(0.7, 8 * KIB, 256, false, 0), demand(0.0, MIB, 16, true, 0)] {
        let (a, b) = (ceilings(&nested, &demand, None), ceilings(&raid10(64 * KIB), &demand, None));
        assert!((a.ceiling().unwrap().iops - b.ceiling().unwrap().iops).abs() < 1e-6, "{a:?} {b:?}");
    }
}

#[test]
fn a_context_gives_the_tree() {
    let context: Context = toml::from_str(
        r#"
        schema = 1
        name = "x"
        [[volume]]
        name = "data"
        count = 8
        kind = "gp3"
        size = "50GiB"
        iops = 3000
        bandwidth = "125MiB/s"
        [[array]]
        name = "fast"
        level = "raid10"
        chunk = "64KiB"
        members = ["data"]
        [[filesystem]]
        on = "fast"
        mount = "/data"
        role = "data"
        "#,
    )
    .unwrap();
    let by_role = Topology::of(&context, "data").unwrap();
    assert_eq!(by_role, Topology::of(&context, "/data").unwrap());
    assert_eq!(by_role, Topology::of(&context, "fast").unwrap());
    let ceiling = ceilings(&by_role, &demand(0.0, 8 * KIB, 256, false, 0), None).ceiling().unwrap();
    assert!((ceiling.iops - 12_000.0).abs() < 1e-6);
    assert_eq!(Topology::of(&context, "nothing"), Err(TopologyError::Unknown("nothing".into())));
}

#[test]
fn nothing_promised_is_no_ceiling() {
    let topology = Topology::uniform(None, 0, 1, &Limits::default());
    assert_eq!(ceilings(&topology, &demand(1.0, 4096, 1, false, 0), None).ceiling(), None);
}

fn any_level() -> impl Strategy<Value = Level> {
    prop_oneof![
        Just(Level::Raid0),
        Just(Level::Raid1),
        Just(Level::Raid10),
        Just(Level::Raid5),
        Just(Level::Raid6),
    ]
}

proptest! {
    /// More of anything promised never lowers a ceiling, and writes never cost less than reads.
    #[test]
    fn ceilings_grow_with_what_is_promised(
        level in any_level(),
        n in 4u32..17,
        iops in 100u64..100_000,
        bandwidth in 1u64..4_000,
        shift in 0u32..9,
        read_share in 0.0f64..=1.0,
        depth in 1u64..512,
        sequential: bool,
    ) {
        let limits = |iops, bandwidth: u64| Limits {
            iops: Some(iops),
            bytes_per_s: Some(bandwidth * MIB),
            operation_bytes: Some(256 * KIB),
            ..Limits::default()
        };
        let ask = demand(read_share, (4 * KIB) << shift, depth, sequential, 0);
        let rate = |n, limits: &Limits, ask: &Demand| {
            let topology = Topology::uniform(Some(level), 64 * KIB, n, limits);
            ceilings(&topology, ask, None).ceiling().unwrap().iops
        };
        let base = rate(n, &limits(iops, bandwidth), &ask);
        prop_assert!(base.is_finite() && base > 0.0);
        prop_assert!(rate(n, &limits(2 * iops, bandwidth), &ask) >= base);
        prop_assert!(rate(n, &limits(iops, 2 * bandwidth), &ask) >= base);
        let reads = rate(n, &limits(iops, bandwidth), &Demand { read_share: 1.0, ..ask.clone() });
        let writes = rate(n, &limits(iops, bandwidth), &Demand { read_share: 0.0, ..ask });
        prop_assert!(writes <= reads * (1.0 + 1e-9), "{writes} > {reads}");
    }
}
