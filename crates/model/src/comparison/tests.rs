use iobound_record::{
    DirectionStats, EngineChoice, Finding, HostFacts, Interval, Job, LatencySummary, Measurement, Metric,
    Run, Rw, Scenario, Severity,
};

use super::*;

/// A run of 30 s whose intervals lie around `iops` by a percent.
pub(super) fn scenario(name: &str, job: Job, iops: f64) -> Scenario {
    let side = |iops: f64| DirectionStats {
        ios: iops as u64,
        iops,
        bandwidth_bytes_per_s: iops * 4096.0,
        latency_ns: LatencySummary { mean: 1e9 / iops, p99: (3e9 / iops) as u64, ..Default::default() },
        ..DirectionStats::default()
    };
    // Neither a trend nor a repetition that would look like one.
    let wobble = |second: u64| 1.0 + 0.01 * f64::from((second * 7 % 11) as u32).sin();
    let series = (0..30).map(|second| Interval {
        start_ns: second * 1_000_000_000,
        length_ns: 1_000_000_000,
        read: Some(side(iops * wobble(second))),
        ..Interval::default()
    });
    let measurement = Measurement {
        engine: EngineChoice::IoUring,
        runtime_ns: 30_000_000_000,
        read: side(iops),
        series: series.collect(),
        ..Measurement::default()
    };
    Scenario { id: 1, name: name.into(), job, measurement: Some(measurement), ..Scenario::default() }
}

fn run_of(id: &str, scenarios: Vec<Scenario>) -> Run {
    Run {
        schema: 1,
        iobound: "0.1.0".into(),
        id: id.into(),
        started: "2026-01-01T00:00:00Z".into(),
        suite: "quick".into(),
        command: vec![],
        host: HostFacts { kernel: "6.1".into(), ..HostFacts::default() },
        context: None,
        samples: None,
        checks: vec![],
        calibration: None,
        scenarios,
        findings: vec![],
        conclusions: vec![],
        interrupted: false,
        ..Run::default()
    }
}

fn reads() -> Job {
    Job { rw: Rw::RandRead, ..Job::default() }
}

fn against(old: &[&Run], new: &[&Run]) -> Against {
    let side = |name: &str, runs: &[&'_ Run]| -> Vec<Run> {
        let _ = name;
        runs.iter().map(|run| (*run).clone()).collect()
    };
    let (olds, news) = (side("A", old), side("B", new));
    let a = Side { name: "A".into(), runs: olds.iter().collect() };
    let b = Side { name: "B".into(), runs: news.iter().collect() };
    compare(&a, &b, SAME_WITHIN)
}

fn of(iops: f64) -> Run {
    run_of(&format!("run-{iops}"), vec![scenario("x", reads(), iops)])
}

#[test]
fn verdicts_follow_the_interval() {
    for (iops, verdict) in [
        (1050.0, Verdict::Faster),
        (950.0, Verdict::Slower),
        (1001.0, Verdict::Same),
        (1000.0, Verdict::Same),
    ] {
        let against = against(&[&of(1000.0)], &[&of(iops)]);
        assert_eq!(against.rows[0].verdict, verdict, "{iops}: {:?}", against.rows[0]);
        assert!(against.single_runs);
    }
}

#[test]
fn a_shorter_time_is_faster() {
    let with = |iops: f64| {
        let mut run = of(iops);
        run.scenarios[0].metric = Metric::Latency;
        run
    };
    let against = against(&[&with(1000.0)], &[&with(1100.0)]);
    let row = &against.rows[0];
    assert_eq!(row.verdict, Verdict::Faster);
    assert!((row.judged.plain_speed() - 1.1).abs() < 1e-9 && row.judged.new < row.judged.old);
    // The percentile of one run has no interval.
    assert_eq!(row.tail.as_ref().unwrap().speed, Err(Unknown::Percentile));
}

#[test]
fn percentiles_of_repeats_are_not_averaged() {
    let with = |p99: u64| {
        let mut run = of(1000.0);
        run.scenarios[0].metric = Metric::Latency;
        run.scenarios[0].measurement.as_mut().unwrap().read.latency_ns.p99 = p99;
        run
    };
    let (a, b) = ([with(10), with(20), with(9000)], [with(10), with(30), with(40)]);
    let against = against(&a.each_ref(), &b.each_ref());
    let tail = against.rows[0].tail.as_ref().unwrap();
    // A mean of any kind would be far from both.
    assert_eq!((tail.old, tail.new, tail.speed), (20.0, 30.0, Err(Unknown::Percentile)));
}

#[test]
fn repeats_know_what_a_single_run_does_not() {
    // Between runs 5% of spread: what one run each would call faster is not.
    let (a, b) = ([of(950.0), of(1000.0), of(1050.0)], [of(980.0), of(1030.0), of(1080.0)]);
    let several = against(&a.each_ref(), &b.each_ref());
    assert_eq!(several.rows[0].verdict, Verdict::CannotTell);
    assert!(!several.single_runs);
    assert_eq!(against(&[&a[1]], &[&b[1]]).rows[0].verdict, Verdict::Faster);
    assert_eq!(against(&a.each_ref(), &[&b[1]]).rows[0].verdict, Verdict::CannotTell);
}

#[test]
fn another_question_is_refused_and_named() {
    type Change = fn(&mut Scenario);
    let changes: [(Change, &str); 8] = [
        (|s| s.job.rw = Rw::Read, "rw is randread in one and read in the other"),
        (|s| s.job.bs = 8192, "bs is 4k"),
        (|s| s.job.iodepth = 32, "iodepth is 1 in one and 32"),
        (|s| s.job.numjobs = 4, "numjobs"),
        (|s| s.job.direct = false, "direct is 1 in one and 0"),
        (|s| s.job.size = Some(iobound_record::Extent::Bytes(1 << 20)), "--size"),
        (|s| s.measurement.as_mut().unwrap().engine = EngineChoice::Null, "null engine"),
        (|s| s.metric = Metric::Latency, "different figures"),
    ];
    for (change, word) in changes {
        let mut other = of(1000.0);
        change(&mut other.scenarios[0]);
        let against = against(&[&of(1000.0)], &[&other]);
        assert!(against.rows.is_empty());
        assert!(against.left_out[0].why.contains(word), "{:?} has no '{word}'", against.left_out);
    }
    // What only concerns writes is nothing to a read.
    let mut other = of(1000.0);
    other.scenarios[0].job.fdatasync = 1;
    assert_eq!(against(&[&of(1000.0)], &[&other]).rows.len(), 1);
}

#[test]
fn broken_and_missing_scenarios_are_left_out_with_a_reason() {
    type Change = fn(&mut Run);
    let changes: [(Change, &str); 5] = [
        (|run| run.scenarios[0].measurement.as_mut().unwrap().interrupted = true, "interrupted"),
        (|run| run.scenarios[0].measurement.as_mut().unwrap().errors = 3, "3 of its operations failed"),
        (|run| run.scenarios[0].measurement = None, "no measurement"),
        (|run| run.scenarios.clear(), "it is not there"),
        (
            |run| {
                run.scenarios[0].verdict.findings.push("sparse-file".into());
                run.findings.push(Finding {
                    id: "sparse-file".into(),
                    severity: Severity::Error,
                    what: "a hole was read".into(),
                    evidence: String::new(),
                    remedy: String::new(),
                });
            },
            "do not stand: a hole was read",
        ),
    ];
    for (change, word) in changes {
        let mut broken = of(1000.0);
        change(&mut broken);
        let alone = against(&[&of(1000.0)], &[&broken]);
        assert!(alone.rows.is_empty() && alone.left_out[0].why.contains(word), "{:?}", alone.left_out);
        // Among repeats the others remain.
        let among = against(&[&of(1000.0)], &[&broken, &of(1000.0)]);
        assert_eq!((among.rows.len(), among.thinned.len()), (1, 1));
    }
    let more = run_of("more", vec![scenario("x", reads(), 1000.0), scenario("y", reads(), 1000.0)]);
    assert_eq!(
        against(&[&of(1000.0)], &[&more]).left_out[0],
        LeftOut { name: "y".into(), why: "not in A".into() }
    );
}

#[test]
fn what_differs_around_it_is_said() {
    let mut other = of(1000.0);
    other.host.kernel = "6.12".into();
    other.scenarios[0].measurement.as_mut().unwrap().runtime_ns = 10_000_000_000;
    let against = against(&[&of(1000.0)], &[&other]);
    assert_eq!(against.differences, ["kernel: 6.1 in A, 6.12 in B"]);
    assert_eq!(against.rows[0].notes, ["measured for 30.0 s against 10.0 s"]);
}

#[test]
fn a_name_used_twice_is_two_scenarios() {
    let twice = |a, b| run_of("twice", vec![scenario("x", reads(), a), scenario("x", reads(), b)]);
    let against = against(&[&twice(1000.0, 2000.0)], &[&twice(1000.0, 2200.0)]);
    let verdicts: Vec<(String, Verdict)> =
        against.rows.iter().map(|row| (row.name.clone(), row.verdict)).collect();
    assert_eq!(verdicts, [("x".into(), Verdict::Same), ("x (2)".into(), Verdict::Faster)]);
    // 1.0 and 1.1: the geometric mean.
    assert!((against.overall.unwrap().ratio - 1.1f64.sqrt()).abs() < 1e-9);
}

#[test]
fn only_what_is_surely_slower_is_below() {
    let against = against(&[&of(1000.0)], &[&of(900.0)]);
    assert_eq!(against.surely_below(-0.05).len(), 1);
    assert!(against.surely_below(-0.15).is_empty());
}
