//! Made-up runs for tests: eight gp3 volumes as RAID10 under the database suite, with the figures that
//! such a layout measured (10 scenarios, within a few percent of the model), 60 intervals each.

use iobound_record::{
    Calibration, CpuTime, DirectionStats, DiskFacts, EngineChoice, Finding, HostFacts, Interval,
    LatencySummary, Measurement, Run, SCHEMA_VERSION, Scenario, Severity, TargetFacts,
};

use crate::suites::{Suite, shipped};
use crate::verdict;

/// Seconds, and intervals, of each scenario.
const SECONDS: u64 = 60;

const CONTEXT: &str = "schema = 1\nname = 'c8gb.2xlarge.8disk.raid10'\n\
    [instance]\nname = 'c8gb.2xlarge'\ncloud = 'aws'\n\
    sustained = { iops = 60000, bandwidth = '1562500KB/s' }\n\
    [[volume]]\nname = 'data'\ncount = 8\nkind = 'gp3'\nsize = '50GiB'\niops = 3000\n\
    bandwidth = '125MiB/s'\nlatency = '589us'\nsync_latency = '1858us'\n\
    [[volume]]\nname = 'wal'\ncount = 8\nkind = 'gp3'\nsize = '30GiB'\niops = 3000\n\
    bandwidth = '125MiB/s'\nlatency = '589us'\nsync_latency = '1858us'\n\
    [[array]]\nname = 'md0'\nlevel = 'raid10'\nchunk = '64KiB'\nmembers = ['data']\n\
    [[array]]\nname = 'md1'\nlevel = 'raid10'\nchunk = '256KiB'\nmembers = ['wal']\n\
    [[filesystem]]\non = 'md0'\nmount = '/data'\nrole = 'data'\n\
    [[filesystem]]\non = 'md1'\nmount = '/wal'\nrole = 'wal'\n";

/// Scenario, operations per second and mean latency of reads, of writes, of syncs.
type Row = (u32, (f64, f64), (f64, f64), (f64, f64));
const NONE: (f64, f64) = (0.0, 0.0);
const MEASURED: [Row; 10] = [
    (1, NONE, (536.0, 760e3), (536.0, 1_098e3)),
    (3, (1690.0, 589e3), NONE, NONE),
    (4, (1003.0, 15.96e6), NONE, NONE),
    (5, NONE, (508.0, 31.5e6), NONE),
    (7, NONE, (509.0, 31.4e6), NONE),
    (10, (1003.0, 7.97e6), NONE, NONE),
    (2, (13_100.0, 13.6e6), (5_600.0, 13.8e6), NONE),
    (8, NONE, (12_200.0, 20.9e6), NONE),
    (6, NONE, (16_200.0, 5.8e6), (16_200.0, 2.1e6)),
    (9, (13_100.0, 6.8e6), (5_600.0, 4.7e6), (5_600.0, 2.1e6)),
];

/// The layout doing what it promises.
pub(crate) fn gp3() -> Run {
    let suite = Suite::parse(shipped("database").unwrap(), "database").unwrap();
    let scenarios = suite.scenarios(&[]).unwrap().into_iter().map(|entry| {
        let row = MEASURED.iter().find(|row| row.0 == entry.id).unwrap();
        let file = format!("/{}/iobound-{}.dat", entry.volume, entry.volume);
        let step = entry.step(file.as_ref()).remove(0);
        Scenario {
            id: step.id,
            name: step.name,
            title: step.about.title,
            metric: step.about.metric,
            report: step.about.report,
            phase_name: step.about.phase_name,
            volume: step.volume,
            phase: step.phase,
            fio: iobound_jobfile::print_fio(&step.job).text,
            measurement: Some(measurement(row, step.job.bs)),
            job: step.job,
            ..Scenario::default()
        }
    });
    let mut run =
        Run { scenarios: scenarios.collect(), context: Some(toml::from_str(CONTEXT).unwrap()), ..empty() };
    verdict::judge(&mut run);
    run
}

/// The layout with trouble: an array that lost a member, storage that compresses, and a scenario that
/// broke. Set by hand after judging, as a record may say anything.
pub(crate) fn troubled() -> Run {
    let mut run = gp3();
    for id in [2, 8] {
        let scenario = run.scenarios.iter_mut().find(|scenario| scenario.id == id).unwrap();
        let measured = scenario.measurement.as_mut().unwrap();
        for side in [&mut measured.read, &mut measured.write] {
            side.iops *= 0.55;
            side.bandwidth_bytes_per_s *= 0.55;
        }
    }
    let broken = run.scenarios.last_mut().unwrap();
    broken.measurement = None;
    broken.error = Some("/data/iobound-data.dat: No space left on device".into());
    verdict::judge(&mut run);
    run.findings = vec![
        finding(
            "other-io",
            Severity::Note,
            "another process wrote during the run",
            "md0 moved 2% more than this program did",
            "stop it and run again",
        ),
        finding(
            "array-degraded",
            Severity::Warning,
            "an array runs without all its members",
            "/proc/mdstat: md0 [8/7] [UUU_UUUU]",
            "replace the member: mdadm /dev/md0 --add DEVICE",
        ),
    ];
    for scenario in &mut run.scenarios {
        if [2, 8].contains(&scenario.id) {
            scenario.verdict.findings = vec!["array-degraded".into()];
        }
    }
    run
}

/// The layout without a context: figures, and nothing to hold them against.
pub(crate) fn unjudged() -> Run {
    let mut run = Run { context: None, ..gp3() };
    verdict::judge(&mut run);
    run
}

/// A run without a scenario.
pub(crate) fn empty() -> Run {
    let target = |path: &str, device: &str| TargetFacts {
        path: path.into(),
        filesystem: "xfs".into(),
        mount_options: "rw,noatime".into(),
        device: device.into(),
        members: (1..=8).map(|n| format!("nvme{n}n1")).collect(),
        disks: (1..=8).map(|n| DiskFacts { name: format!("nvme{n}n1"), bytes: 50 << 30 }).collect(),
        logical_block_bytes: 512,
        scheduler: "none".into(),
        write_cache: "write through".into(),
    };
    Run {
        schema: SCHEMA_VERSION,
        iobound: "0.1.0".into(),
        id: "20260101T120000Z-42".into(),
        started: "2026-01-01T12:00:00Z".into(),
        suite: "database".into(),
        command: ["iobound", "run", "database", "--data", "/data", "--wal", "/wal"].map(String::from).into(),
        host: HostFacts {
            kernel: "6.12.0".into(),
            cpu_model: "Neoverse-V2".into(),
            cpus: 8,
            memory_bytes: 16 << 30,
            clocksource: "arch_sys_counter".into(),
            targets: vec![target("/data", "md0"), target("/wal", "md1")],
        },
        context: None,
        samples: None,
        checks: Vec::new(),
        calibration: Some(Calibration {
            null_iops_per_core: 8e6,
            null_iops_all_cores: 60e6,
            fill_bytes_per_s_all_cores: 80e9,
            cores: 8,
            ..Calibration::default()
        }),
        scenarios: Vec::new(),
        findings: Vec::new(),
        conclusions: Vec::new(),
        interrupted: false,
        ..Run::default()
    }
}

fn finding(id: &str, severity: Severity, what: &str, evidence: &str, remedy: &str) -> Finding {
    let [id, what, evidence, remedy] = [id, what, evidence, remedy].map(String::from);
    Finding { id, severity, what, evidence, remedy }
}

fn measurement(row: &Row, bs: u64) -> Measurement {
    let (_, read, write, sync) = *row;
    let whole = |of: (f64, f64), bs: u64| stats(of, bs, SECONDS as f64);
    let series = (0..SECONDS).map(|second| Interval {
        start_ns: second * 1_000_000_000,
        length_ns: 1_000_000_000,
        read: moving(read, bs, second),
        write: moving(write, bs, second),
        sync: moving(sync, 0, second),
    });
    Measurement {
        engine: EngineChoice::IoUring,
        runtime_ns: SECONDS * 1_000_000_000,
        read: whole(read, bs),
        write: whole(write, bs),
        sync: whole(sync, 0),
        cpu: CpuTime { user_ns: 2_000_000_000, system_ns: 9_000_000_000, context_switches: 1, wait_ns: 0 },
        series: series.collect(),
        ..Measurement::default()
    }
}

/// One second; it moves by one percent up and down, and one second in twenty is slow.
fn moving((iops, mean): (f64, f64), bs: u64, second: u64) -> Option<DirectionStats> {
    let swing = 1.0 + ((second * 7) % 11) as f64 / 500.0 - 0.01;
    let slow = if second % 20 == 13 { 1.6 } else { 1.0 };
    (iops > 0.0).then(|| stats((iops * swing, mean * slow / swing), bs, 1.0))
}

fn stats((iops, mean): (f64, f64), bs: u64, seconds: f64) -> DirectionStats {
    let at = |factor: f64| (mean * factor) as u64;
    let latency_ns = LatencySummary {
        min: at(0.55),
        mean,
        stddev: mean * 0.2,
        max: at(9.0),
        p1: at(0.6),
        p5: at(0.68),
        p10: at(0.74),
        p20: at(0.82),
        p30: at(0.88),
        p40: at(0.93),
        p50: at(0.97),
        p60: at(1.01),
        p70: at(1.06),
        p80: at(1.13),
        p90: at(1.25),
        p95: at(1.36),
        p99: at(1.8),
        p99_5: at(2.2),
        p99_9: at(3.6),
        p99_95: at(4.4),
        p99_99: at(6.5),
    };
    let ios = (iops * seconds) as u64;
    DirectionStats {
        ios,
        bytes: ios * bs,
        iops,
        bandwidth_bytes_per_s: iops * bs as f64,
        latency_ns: if ios > 0 { latency_ns } else { LatencySummary::default() },
        ..DirectionStats::default()
    }
}

/// The sweep suite on a volume of 3,000 operations and 125 MiB a second, each taking 1 ms alone; one point
/// broke.
pub(crate) fn swept() -> Run {
    let suite = Suite::parse(shipped("sweep").unwrap(), "sweep").unwrap();
    let scenarios = suite.scenarios(&[]).unwrap().into_iter().map(|entry| {
        let step = entry.step("/data/iobound-data.dat".as_ref()).remove(0);
        let job = step.job;
        let most = 3000f64.min(125.0 * 1_048_576.0 / job.bs as f64);
        let iops = most.min(1000.0 * f64::from(job.numjobs));
        let mean = 1e9 * f64::from(job.numjobs) / iops;
        let share = job.read_share();
        let row = (entry.id, (iops * share, mean), (iops * (1.0 - share), mean), NONE);
        Scenario {
            id: step.id,
            name: step.name,
            title: step.about.title,
            metric: step.about.metric,
            volume: step.volume,
            phase: step.phase,
            phase_name: step.about.phase_name,
            sweep: step.about.sweep,
            measurement: Some(measurement(&row, job.bs)),
            job,
            ..Scenario::default()
        }
    });
    let mut run = Run { suite: "sweep".into(), scenarios: scenarios.collect(), ..empty() };
    let broken = &mut run.scenarios[9];
    (broken.measurement, broken.error) = (None, Some("/data/iobound-data.dat: Input/output error".into()));
    verdict::judge(&mut run);
    run
}
