//! Each rule on a record that was made for it.

use super::*;
use iobound_record::{
    Backing, Calibration, Ceiling, Check, DeviceBytes, DeviceTraffic, DirectionStats, HostFacts, Interval,
    Job, LatencySummary, Metric, Outcome, ProcessSample, Rw, SCHEMA_VERSION, Spread, units,
};

pub(in crate::verdict) fn run_of(scenarios: Vec<Scenario>) -> Run {
    Run {
        schema: SCHEMA_VERSION,
        iobound: "0".into(),
        id: String::new(),
        started: String::new(),
        suite: "quick".into(),
        command: vec![],
        host: HostFacts::default(),
        context: None,
        checks: Vec::new(),
        calibration: Some(Calibration {
            null_iops_per_core: 20e6,
            null_iops_all_cores: 40e6,
            fill_bytes_per_s_per_core: 20e9,
            cores: 2,
            ..Calibration::default()
        }),
        scenarios,
        samples: None,
        findings: vec![],
        conclusions: vec![],
        interrupted: false,
        ..Run::default()
    }
}

fn clean() -> Scenario {
    let read = DirectionStats {
        ios: 15_000,
        bytes: 15_000 * 4096,
        iops: 3000.0,
        bandwidth_bytes_per_s: 3000.0 * 4096.0,
        ..DirectionStats::default()
    };
    let total = DeviceBytes { read_bytes: 15_000 * 4096, ..DeviceBytes::default() };
    let device = DeviceTraffic { total, names: vec!["loop0".into()], members: vec![] };
    Scenario {
        name: "rand-read".into(),
        job: Job { rw: Rw::RandRead, iodepth: 64, ..Job::default() },
        backing: Some(Backing { range_bytes: 1 << 30, ..Backing::default() }),
        measurement: Some(Measurement {
            engine: EngineChoice::IoUring,
            runtime_ns: 5_000_000_000,
            read,
            device: Some(device),
            ..Measurement::default()
        }),
        ..Scenario::default()
    }
}

fn found(spoil: impl Fn(&mut Scenario, &mut Measurement)) -> Vec<String> {
    let mut scenario = clean();
    let mut measurement = scenario.measurement.take().unwrap();
    spoil(&mut scenario, &mut measurement);
    scenario.measurement = Some(measurement);
    findings(&run_of(vec![scenario])).into_iter().map(|finding| finding.id).collect()
}

#[test]
fn a_clean_run_raises_nothing() {
    assert_eq!(found(|_, _| {}), Vec::<String>::new());
}

#[test]
fn each_trap_is_found_by_name() {
    assert_eq!(found(|s, _| s.backing.as_mut().unwrap().hole_bytes = 1 << 29), ["sparse-file"]);
    assert_eq!(found(|s, _| s.backing.as_mut().unwrap().unwritten_bytes = 1 << 29), ["fallocated-file"]);
    assert_eq!(found(|_, m| m.errors = 3), ["io-errors"]);
    let cached = |s: &mut Scenario, m: &mut Measurement| {
        s.job.direct = false;
        m.device = None;
    };
    assert_eq!(found(cached), ["page-cache"]);
    assert_eq!(found(|_, m| m.device.as_mut().unwrap().total.read_bytes = 0), ["cache-answered"]);
    assert_eq!(found(|_, m| m.device.as_mut().unwrap().total.read_bytes *= 2), ["other-io"]);
    assert_eq!(found(|_, m| m.device.as_mut().unwrap().total.write_bytes = 1 << 30), ["other-io"]);
    let fast = |_: &mut Scenario, m: &mut Measurement| {
        (m.read.iops, m.read.bandwidth_bytes_per_s) = (17e6, 17e6 * 4096.0);
    };
    assert_eq!(found(fast), ["generator-bound"]);
    assert_eq!(found(|_, m| m.read.iops *= 2.0), ["inconsistent-figures"]);
    assert_eq!(found(|_, m| m.runtime_ns = 1000), ["short-run"]);
    assert_eq!(
        found(|_, m| m.engine_facts.refused = vec!["registered_buffers: x".into()]),
        ["unregistered-io"]
    );
    let mut cached = run_of(vec![clean()]);
    let target =
        TargetFacts { device: "loop0".into(), write_cache: "write back".into(), ..TargetFacts::default() };
    cached.host.targets.push(target);
    assert_eq!(findings(&cached).len(), 0, "reads are not held in a write cache");
    cached.scenarios[0].measurement.as_mut().unwrap().write.ios = 1;
    assert_eq!(findings(&cached)[0].id, "volatile-cache");
    cached.scenarios[0].job.fdatasync = 1;
    assert_eq!(findings(&cached).len(), 0, "synced");
    let same = found(|s, _| {
        s.job = Job { rw: Rw::Read, numjobs: 4, filename: vec!["f".into()], ..Job::default() };
    });
    assert_eq!(same, ["same-offset"]);
}

#[test]
fn alike_findings_become_one() {
    let mut run = run_of(vec![clean(), clean(), clean(), clean(), clean(), clean()]);
    for scenario in &mut run.scenarios {
        scenario.job.direct = false;
        scenario.measurement.as_mut().unwrap().device = None;
    }
    let found = findings(&run);
    assert_eq!(found.len(), 1);
    assert!(found[0].evidence.ends_with("and 2 more"), "{}", found[0].evidence);
}

fn only(run: &Run, id: &str) -> Finding {
    let mut all = findings(run);
    all.retain(|finding| finding.id == id);
    assert_eq!(all.len(), 1, "{id} among {:#?}", findings(run));
    all.remove(0)
}

/// A scenario held against 3,000 IOPS that reached `iops` with `depth` in flight.
fn held(iops: f64, depth: u32) -> Run {
    let mut scenario = clean();
    scenario.job.iodepth = depth;
    scenario.ceiling = Some(Ceiling {
        iops: 3000.0,
        bandwidth_bytes_per_s: 3000.0 * 4096.0,
        bound: "volume-iops".into(),
        why: "3,000 operations/s".into(),
    });
    let percent = iops / 30.0;
    scenario.verdict.percent_of_ceiling = Some(percent);
    scenario.verdict.status = match percent {
        _ if percent > 105.0 => Status::Above,
        _ if percent >= 95.0 => Status::Ok,
        _ => Status::Short,
    };
    let measured = scenario.measurement.as_mut().unwrap();
    let ios = (iops * 5.0) as u64;
    (measured.read.ios, measured.read.bytes) = (ios, ios * 4096);
    measured.device.as_mut().unwrap().total.read_bytes = ios * 4096;
    (measured.read.iops, measured.read.bandwidth_bytes_per_s) = (iops, iops * 4096.0);
    measured.read.latency_ns.mean = f64::from(depth) * 1e9 / iops;
    measured.read.latency_ns.min = (measured.read.latency_ns.mean * 0.9) as u64;
    run_of(vec![scenario])
}

fn series(length_ns: u64, rates: &[f64]) -> Vec<Interval> {
    let interval = |(place, &iops): (usize, &f64)| Interval {
        start_ns: place as u64 * length_ns,
        length_ns,
        read: Some(DirectionStats { ios: iops as u64, iops, ..DirectionStats::default() }),
        ..Interval::default()
    };
    rates.iter().enumerate().map(interval).collect()
}

fn device(name: &str, parent: &str, iops: f64, await_ns: f64, queue: f64) -> DeviceSummary {
    let spread = |mean| Spread { mean, max: mean };
    DeviceSummary {
        device: name.into(),
        parents: if parent.is_empty() { vec![] } else { vec![parent.into()] },
        read_iops: spread(iops),
        read_await_ns: spread(await_ns),
        queue: spread(queue),
        utilisation: spread(1.0),
        ..DeviceSummary::default()
    }
}

fn sampled(devices: Vec<DeviceSummary>) -> Option<SampleSummary> {
    Some(SampleSummary { intervals: 5, covered_ns: 5_000_000_000, devices, ..SampleSummary::default() })
}

fn check(id: &str, subject: &str, outcome: Outcome) -> Check {
    Check {
        id: id.into(),
        subject: subject.into(),
        outcome,
        value: "found".into(),
        expected: "meant".into(),
        why: "why".into(),
        mend: "mend".into(),
    }
}

#[test]
fn reserved_space_is_told_from_a_hole() {
    let what = |hole, unwritten| {
        found(|s, _| {
            s.backing.as_mut().unwrap().hole_bytes = hole;
            s.backing.as_mut().unwrap().unwritten_bytes = unwritten;
        })
    };
    assert_eq!(what(1 << 29, 0), ["sparse-file"]);
    assert_eq!(what(0, 1 << 29), ["fallocated-file"]);
    assert_eq!(what(1 << 20, 0), Vec::<String>::new(), "a thousandth moves nothing");
}

#[test]
fn compression_is_named_and_not_called_a_cache() {
    let mut run = run_of(vec![clean()]);
    let target = TargetFacts {
        device: "loop0".into(),
        filesystem: "btrfs".into(),
        mount_options: "rw,compress=zstd:3".into(),
        ..TargetFacts::default()
    };
    run.host.targets.push(target);
    run.scenarios[0].backing.as_mut().unwrap().encoded_bytes = 1 << 30;
    run.scenarios[0].measurement.as_mut().unwrap().device.as_mut().unwrap().total.read_bytes = 0;
    let finding = &findings(&run)[..];
    assert_eq!(finding.iter().map(|f| f.id.as_str()).collect::<Vec<_>>(), ["compressing-storage"]);
    assert!(finding[0].evidence.contains("mounted with compress=zstd:3"), "{finding:?}");
    // Encrypted data is of its own size.
    run.host.targets[0].filesystem = "ext4".into();
    assert_eq!(findings(&run)[0].id, "cache-answered");
}

#[test]
fn jobs_at_the_same_time_are_not_others() {
    let mut run = run_of(vec![clean(), clean()]);
    for (at, scenario) in run.scenarios.iter_mut().enumerate() {
        scenario.id = at as u32 + 1;
        scenario.measurement.as_mut().unwrap().device.as_mut().unwrap().total.read_bytes *= 2;
    }
    assert_eq!(only(&run, "other-io").severity, Severity::Warning);
    run.scenarios[0].beside = vec![2];
    run.scenarios[1].beside = vec![1];
    assert_eq!(findings(&run), Vec::new());
}

#[test]
fn others_are_named_and_small_operations_count() {
    let mut run = run_of(vec![clean()]);
    run.scenarios[0].measurement.as_mut().unwrap().device.as_mut().unwrap().total.read_ios = 20_000;
    let process = |pid, name: &str, rate| ProcessSample {
        pid,
        name: name.into(),
        read_bytes_per_s: rate,
        ..ProcessSample::default()
    };
    let mut samples = sampled(vec![]).unwrap();
    samples.processes = Some(vec![process(7, "kworker/u8:1", 9e6), process(4711, "dd", 5e6)]);
    run.scenarios[0].samples = Some(samples);
    let evidence = only(&run, "other-io").evidence;
    assert!(evidence.contains("dd (4711) reads 4.77 MiB/s") && !evidence.contains("kworker"), "{evidence}");
}

#[test]
fn counters_that_were_read_late_accuse_nobody() {
    let with = |covered_ns: u64| {
        let mut run = run_of(vec![clean()]);
        let samples = sampled(vec![]).unwrap();
        run.scenarios[0].samples = Some(SampleSummary { covered_ns, ..samples });
        run.scenarios[0].measurement.as_mut().unwrap().device.as_mut().unwrap().total.read_bytes /= 2;
        findings(&run).into_iter().map(|finding| finding.id).collect::<Vec<_>>()
    };
    assert_eq!(with(5_000_000_000), ["cache-answered"]);
    assert_eq!(with(2_700_000_000), Vec::<String>::new());
}

#[test]
fn a_sync_brings_its_journal_along() {
    let writes = |moved: u64| {
        found(move |s, m| {
            s.job = Job { rw: Rw::Write, fdatasync: 1, ..Job::default() };
            m.write = std::mem::take(&mut m.read);
            m.sync.ios = m.write.ios;
            let total = &mut m.device.as_mut().unwrap().total;
            (total.read_bytes, total.write_bytes) = (0, m.write.bytes * moved);
        })
    };
    assert_eq!(writes(5), Vec::<String>::new());
    assert_eq!(writes(10), ["other-io"]);
}

#[test]
fn littles_law_says_how_many_are_needed() {
    let finding = only(&held(1000.0, 4), "depth-too-low");
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.evidence.contains("4 in flight / 4.00 ms each = 1,000 IOPS"), "{}", finding.evidence);
    assert!(finding.remedy.contains("raise iodepth to 12"), "{}", finding.remedy);

    let mut latency_run = held(1000.0, 1);
    latency_run.scenarios[0].metric = Metric::Latency;
    assert_eq!(findings(&latency_run).len(), 1);
    assert_eq!(only(&latency_run, "depth-too-low").severity, Severity::Note);

    // The fastest operation took a tenth of the mean: they wait for each other.
    let mut queued = held(1000.0, 64);
    queued.scenarios[0].measurement.as_mut().unwrap().read.latency_ns.min = 6_000_000;
    assert!(findings(&queued).iter().all(|finding| finding.id != "depth-too-low"));

    // Sixteen in flight got no more than four.
    let mut deeper = held(1000.0, 4);
    deeper.scenarios.extend(held(1010.0, 16).scenarios);
    deeper.scenarios[1].measurement.as_mut().unwrap().read.latency_ns.min = 1;
    assert!(findings(&deeper).iter().all(|finding| finding.id != "depth-too-low"));
}

#[test]
fn a_fall_between_two_levels_is_a_burst() {
    let falls = |length: u64, rates: &[f64]| {
        let series = series(length, rates);
        !found(move |_, m| m.series = series.clone()).is_empty()
    };
    let second = 1_000_000_000;
    let of = |parts: &[(usize, f64)]| -> Vec<f64> {
        parts.iter().flat_map(|&(count, rate)| vec![rate; count]).collect()
    };
    assert!(falls(second, &of(&[(5, 3000.0), (1, 2000.0), (5, 1000.0)])));
    assert!(falls(second / 10, &of(&[(40, 3000.0), (40, 1000.0)])));
    // A throttle's slices: all of a quarter second's operations in one tenth of it.
    let slices: Vec<f64> = (0..80)
        .map(|i| {
            if i % 2 == 0 {
                0.0
            } else if i < 40 {
                6000.0
            } else {
                2000.0
            }
        })
        .collect();
    assert!(falls(second / 10, &slices));
    assert!(falls(second, &of(&[(4, 3000.0), (4, 1.0)])), "hardly anything after it");
    // A throttle's credit; a pause; a slow slope; noise; too short; a rise.
    assert!(!falls(second / 10, &of(&[(3, 30_000.0), (57, 3000.0)])));
    assert!(!falls(second, &of(&[(5, 3000.0), (1, 0.0), (5, 3000.0)])));
    assert!(!falls(second, &(0..30).map(|i| 3000.0 - 80.0 * f64::from(i)).collect::<Vec<_>>()));
    assert!(!falls(second, &(0..30).map(|i| if i % 3 == 0 { 1000.0 } else { 3000.0 }).collect::<Vec<_>>()));
    assert!(!falls(second, &of(&[(2, 3000.0), (2, 1000.0)])));
    assert!(!falls(second, &of(&[(5, 1000.0), (5, 3000.0)])));
    let evidence = {
        let mut run = run_of(vec![clean()]);
        run.scenarios[0].measurement.as_mut().unwrap().series =
            series(second, &of(&[(5, 3000.0), (1, 2000.0), (5, 1000.0)]));
        only(&run, "burst-ended").evidence
    };
    assert!(evidence.contains("3,000 IOPS fell to 1,000 (33%) after 5.00 s"), "{evidence}");
}

fn on_machine(iops: f64, caps: &str) -> Run {
    let mut run = held(iops, 64);
    run.scenarios[0].volume = "data".into();
    run.scenarios[0].measurement.as_mut().unwrap().read.latency_ns.min = 1;
    let text = format!(
        "schema = 1\nname = 'x'\n[instance]\n{caps}\n[[volume]]\nname = 'disk'\nkind = 'gp3'\nsize = '50GiB'\n\
         iops = 3000\n[[filesystem]]\non = 'disk'\nmount = '/data'\nrole = 'data'\n"
    );
    run.context = Some(toml::from_str(&text).unwrap());
    crate::verdict::judge(&mut run);
    run
}

#[test]
fn a_burst_of_the_machine_is_told_with_its_time() {
    let caps = "sustained = { iops = 2000 }\nburst = { iops = 4000 }\nburst_per_day = '1800s'";
    let finding = only(&on_machine(2990.0, caps), "instance-burst");
    assert!(finding.evidence.contains("time to throttle: 30.0 min"), "{}", finding.evidence);
    // At the sustained rate there is no burst, and a cap below the volumes is told either way.
    let sustained = on_machine(1990.0, caps);
    assert_eq!(only(&sustained, "instance-cap").severity, Severity::Warning);
    assert!(sustained.findings.iter().all(|finding| finding.id != "instance-burst"));
    assert_eq!(only(&on_machine(5000.0, caps), "above-ceiling").severity, Severity::Warning);
    assert_eq!(on_machine(2990.0, "sustained = { iops = 9000 }").findings, Vec::new());
}

#[test]
fn one_slow_member_is_named() {
    let with = |last: DeviceSummary| {
        let member = |n: u32| device(&format!("nvme{n}n1"), "md0", 500.0, 1e6, 0.5);
        let mut run = run_of(vec![clean()]);
        run.scenarios[0].samples = sampled(vec![member(1), member(2), member(3), last]);
        findings(&run)
    };
    let found = with(device("nvme4n1", "md0", 500.0, 8e6, 4.0));
    assert_eq!(found[0].id, "slow-member");
    assert!(found[0].evidence.contains("nvme4n1 takes 8.00 ms"), "{found:?}");
    assert_eq!(with(device("nvme4n1", "md0", 500.0, 1.6e6, 0.8)), Vec::new(), "as volumes differ");
    assert_eq!(with(device("nvme4n1", "md0", 500.0, 8e6, 0.5)), Vec::new(), "and nothing waits for it");
    assert_eq!(with(device("nvme4n1", "md1", 500.0, 8e6, 4.0)), Vec::new(), "of another array");
}

#[test]
fn writes_that_crowd_one_member() {
    let member = |n: u32, mib: f64| {
        let mut device = device(&format!("sd{n}"), "md0", 100.0, 1e6, 0.5);
        device.write_bytes_per_s.mean = mib * units::MIB as f64;
        device
    };
    let mut run = run_of(vec![clean()]);
    run.scenarios[0].samples = sampled(vec![member(1, 10.0), member(2, 10.0), member(3, 30.0)]);
    assert_eq!(only(&run, "uneven-members").severity, Severity::Note);
}

#[test]
fn latency_that_starts_when_it_is_submitted() {
    let rate = |scheduled: Option<u64>| {
        found(move |s, m| {
            s.job.rate_iops.read = Some(3500);
            m.read.latency_ns.p99 = 10_000_000;
            let summary = |p99| LatencySummary { p99, ..LatencySummary::default() };
            m.read.scheduled_latency_ns = scheduled.map(summary);
        })
    };
    assert_eq!(rate(None), ["closed-loop-latency"]);
    assert_eq!(rate(Some(900_000_000)), ["closed-loop-latency"]);
    assert_eq!(rate(Some(12_000_000)), Vec::<String>::new());
}

#[test]
fn syncs_without_flushes() {
    let with = |flushes: f64, cache: &str| {
        let mut run = run_of(vec![clean()]);
        let target = TargetFacts { device: "loop0".into(), write_cache: cache.into(), ..Default::default() };
        run.host.targets.push(target);
        let scenario = &mut run.scenarios[0];
        scenario.job = Job { rw: Rw::Write, fdatasync: 1, ..Job::default() };
        let measured = scenario.measurement.as_mut().unwrap();
        measured.sync = DirectionStats { ios: 5000, iops: 1000.0, ..DirectionStats::default() };
        let mut top = device("loop0", "", 0.0, 0.0, 0.0);
        top.flush_iops = Some(Spread { mean: flushes, max: flushes });
        scenario.samples = sampled(vec![top]);
        findings(&run).into_iter().map(|finding| finding.id).collect::<Vec<_>>()
    };
    assert_eq!(with(0.0, "write back"), ["sync-ignored"]);
    assert_eq!(with(1000.0, "write back"), Vec::<String>::new());
    assert_eq!(with(0.0, "write through"), Vec::<String>::new());
}

#[test]
fn a_device_that_goes_is_told_and_not_taken_for_a_cache() {
    let mut run = run_of(vec![clean()]);
    run.scenarios[0].measurement.as_mut().unwrap().device.as_mut().unwrap().total.read_bytes = 0;
    let mut gone = device("loop0", "", 0.0, 0.0, 0.0);
    gone.intervals_gone = 2;
    run.scenarios[0].samples = sampled(vec![gone]);
    let found = findings(&run);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].evidence.contains("loop0 in 2 of 5"), "{found:?}");
}

#[test]
fn clocks_and_pauses() {
    let with = |step: i64, longest: u64| {
        let mut run = run_of(vec![clean()]);
        let samples = sampled(vec![]).unwrap();
        run.scenarios[0].samples =
            Some(SampleSummary { clock_step_ns: Some(step), longest_ns: longest, ..samples });
        findings(&run).into_iter().map(|finding| (finding.id, finding.severity)).collect::<Vec<_>>()
    };
    let note = |id: &str| vec![(id.to_owned(), Severity::Note)];
    assert_eq!(with(-3_600_000_000_000, 1), note("clock-stepped"));
    assert_eq!(with(5_000_000, 1_000_000_000), vec![]);
    assert_eq!(with(0, 7_000_000_000), note("samples-late"));
    assert_eq!(with(i64::MIN, 0), note("clock-stepped"));
}

/// A run that is short without a cause: 64 in flight that wait for each other, an uneven rate.
fn short() -> Run {
    let mut run = held(2000.0, 64);
    let measured = run.scenarios[0].measurement.as_mut().unwrap();
    measured.read.latency_ns.min = 1_000_000;
    measured.series = series(1_000_000_000, &[2100.0, 1800.0, 2200.0, 1900.0, 2000.0]);
    run.scenarios[0].samples = sampled(vec![device("loop0", "", 2000.0, 3e7, 63.0)]);
    run
}

fn cause(spoil: impl Fn(&mut Run)) -> String {
    let mut run = short();
    spoil(&mut run);
    only(&run, "short-of-ceiling").what
}

#[test]
fn what_falls_short_has_a_cause_or_what_was_looked_at() {
    let plain = only(&short(), "short-of-ceiling");
    assert!(plain.what.contains("cause not found"), "{plain:?}");
    for looked in ["array state", "64 in flight", "loop0 busy 100%", "iowait", "dirty pages"] {
        assert!(plain.evidence.contains(looked), "{looked}: {}", plain.evidence);
    }
    let on_check = |id: &'static str, subject: &'static str| {
        cause(move |run| run.checks.push(check(id, subject, Outcome::Fail)))
    };
    assert!(on_check("array-state", "md0").contains("degraded"));
    assert!(on_check("kernel-log", "host").contains("kernel's log"));
    assert!(on_check("filesystem-alignment", "/data").contains("lie across"));
    assert!(on_check("scheduler", "loop0").contains("setting"));
    assert!(on_check("read-ahead", "/data").contains("not found"), "direct I/O does not read ahead");
    let with = |words: &str, spoil: fn(&mut Scenario, &mut Measurement)| {
        let what = cause(|run| {
            let mut measured = run.scenarios[0].measurement.take().unwrap();
            spoil(&mut run.scenarios[0], &mut measured);
            run.scenarios[0].measurement = Some(measured);
        });
        assert!(what.contains(words), "{what}, not {words}");
    };
    with("others used", |_, m| m.device.as_mut().unwrap().total.read_bytes *= 3);
    with("operations failed", |_, m| m.errors = 1);
    with("burst", |_, m| {
        m.series = series(1_000_000_000, &[3000.0, 3000.0, 3000.0, 2000.0, 1000.0, 1000.0, 1000.0])
    });
    with("lower than the context's", |_, m| m.series = series(1_000_000_000, &[2000.0; 5]));
    // A single failure does not hide a crowd.
    let mut crowded = short();
    let measured = crowded.scenarios[0].measurement.as_mut().unwrap();
    (measured.errors, measured.device.as_mut().unwrap().total.read_bytes) = (1, u64::MAX / 2);
    assert!(findings(&crowded).iter().any(|finding| finding.id == "other-io"));
    // A hypervisor's share comes and goes; what stands still beside it is a limit.
    with("lower than the context's", |s, m| {
        s.samples.as_mut().unwrap().cpu_steal.mean = 0.15;
        m.series = series(1_000_000_000, &[2000.0; 5]);
    });
    with("generator", |_, m| m.cpu.system_ns = m.runtime_ns);
    with("processors were missing", |s, _| {
        s.samples.as_mut().unwrap().psi_cpu_some = Some(Spread { mean: 0.4, max: 1.0 });
    });
    with("processors were missing", |s, _| s.samples.as_mut().unwrap().cpu_steal.mean = 0.1);
    with("processors were missing", |_, m| m.cpu.wait_ns = m.runtime_ns / 2);
    with("written back", |s, _| s.samples.as_mut().unwrap().writeback_bytes.mean = 1e8);
    with("above the device's queue", |s, _| s.samples.as_mut().unwrap().devices[0].queue.mean = 8.0);
}

#[test]
fn several_causes_are_told_in_order() {
    let mut run = short();
    run.checks.push(check("scheduler", "loop0", Outcome::Warn));
    run.checks.push(check("array-state", "md0", Outcome::Fail));
    let finding = only(&run, "short-of-ceiling");
    let at = |words: &str| finding.evidence.find(words).unwrap_or_else(|| panic!("{}", finding.evidence));
    assert!(at("1. the array is degraded") < at("2. a setting"), "{finding:?}");
    assert_eq!(finding.remedy, "mend");
}

#[test]
fn a_scenario_has_the_findings_that_touch_it() {
    let mut run = run_of(vec![clean(), clean()]);
    run.scenarios[1].job.direct = false;
    run.scenarios[1].measurement.as_mut().unwrap().device = None;
    run.checks.push(check("array-state", "md0", Outcome::Fail));
    assert_eq!(ids_of(&run, &run.scenarios[0]), ["check-array-state"]);
    assert_eq!(ids_of(&run, &run.scenarios[1]), ["check-array-state", "page-cache"]);
}
