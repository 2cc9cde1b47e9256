//! What a person reads, as snapshots of made-up runs at 80 and 120 columns.

use iobound_record::{
    DirectionStats, Finding, HostFacts, Job, LatencySummary, Measurement, Rw, SCHEMA_VERSION, Status,
    TargetFacts, Verdict,
};
use proptest::prelude::*;

use super::*;

fn latency(mean: f64) -> LatencySummary {
    let at = |factor: f64| (mean * factor) as u64;
    LatencySummary {
        min: at(0.5),
        mean,
        max: at(30.0),
        p50: at(0.9),
        p99: at(3.0),
        p99_99: at(12.0),
        ..LatencySummary::default()
    }
}

fn side(iops: f64, bs: u64, mean_ns: f64) -> DirectionStats {
    DirectionStats {
        ios: (iops * 60.0) as u64,
        bytes: (iops * 60.0) as u64 * bs,
        iops,
        bandwidth_bytes_per_s: iops * bs as f64,
        latency_ns: latency(mean_ns),
        ..DirectionStats::default()
    }
}

fn scenario(name: &str, job: Job, measurement: Measurement, status: Status, says: &str) -> Scenario {
    Scenario {
        name: name.into(),
        job,
        measurement: Some(Measurement { runtime_ns: 60_000_000_000, ..measurement }),
        verdict: Verdict { status, says: says.into(), ..Verdict::default() },
        ..Scenario::default()
    }
}

fn run(scenarios: Vec<Scenario>) -> Run {
    let target = TargetFacts {
        path: "/data".into(),
        filesystem: "xfs".into(),
        device: "md0".into(),
        ..TargetFacts::default()
    };
    Run {
        schema: SCHEMA_VERSION,
        iobound: "0.1.0".into(),
        id: "id".into(),
        started: "2026-11-21T07:24:17Z".into(),
        suite: "database".into(),
        command: vec![],
        host: HostFacts { targets: vec![target], ..HostFacts::default() },
        context: None,
        checks: Vec::new(),
        calibration: None,
        scenarios,
        samples: None,
        findings: vec![],
        conclusions: vec![],
        interrupted: false,
        ..Run::default()
    }
}

fn sync_latency() -> Scenario {
    let job = Job { rw: Rw::Write, bs: 8192, fdatasync: 1, ..Job::default() };
    let sync = DirectionStats { bandwidth_bytes_per_s: 0.0, bytes: 0, ..side(536.0, 0, 1_858_000.0) };
    let measured = Measurement { write: side(536.0, 8192, 4_100.0), sync, ..Measurement::default() };
    scenario("sync-latency", job, measured, Status::Ok, "99% of the ceiling; bound by sync latency")
}

fn mixed() -> Scenario {
    let job = Job {
        rw: Rw::RandRw,
        rwmixread: 70,
        bs: 8192,
        iodepth: 32,
        numjobs: 4,
        fdatasync: 1,
        ..Job::default()
    };
    let measured = Measurement {
        read: side(13_100.0, 8192, 5_200_000.0),
        write: side(5_600.0, 8192, 6_900_000.0),
        sync: side(5_600.0, 0, 2_100_000.0),
        ..Measurement::default()
    };
    let says = "101% of the ceiling: 8 x 3,000 IOPS / (0.7 + 2 x 0.3) = 18,462; bound by volume IOPS";
    scenario("mixed-70-30-fdatasync", job, measured, Status::Ok, says)
}

fn read_seq() -> Scenario {
    let job = Job { rw: Rw::Read, bs: 1 << 20, iodepth: 16, ..Job::default() };
    let measured = Measurement { read: side(411.0, 1 << 20, 38_900_000.0), ..Measurement::default() };
    let says = "41% of the ceiling of 1,000 MiB/s (1,049 MB/s); the array is degraded (7 of 8)";
    scenario("sequential-read", job, measured, Status::Short, says)
}

fn finding(id: &str, severity: Severity, what: &str, evidence: &str, remedy: &str) -> Finding {
    let [id, what, evidence, remedy] = [id, what, evidence, remedy].map(String::from);
    Finding { id, severity, what, evidence, remedy }
}

fn clean() -> Run {
    Run {
        conclusions: vec!["Random 8 KiB I/O is bound by the volumes' IOPS: more volumes help.".into()],
        ..run(vec![sync_latency(), mixed()])
    }
}

fn troubled() -> Run {
    let mut fast = read_seq();
    fast.name = "random-read-of-a-sparse-file-with-a-long-name".into();
    fast.verdict = Verdict {
        status: Status::Above,
        says: "70 times the ceiling.".into(),
        findings: vec!["sparse-file".into()],
        ..Verdict::default()
    };
    let mut broken = mixed();
    let measured = broken.measurement.as_mut().unwrap();
    measured.errors = 1_234;
    measured.error_kinds = vec![("Input/output error (os error 5)".into(), 1_234)];
    measured.steady = Some(false);
    let refused = Scenario {
        name: "write-wal".into(),
        job: Job { rw: Rw::Write, direct: false, ..Job::default() },
        error: Some("/wal is read-only; mount it rw or name another place".into()),
        ..Scenario::default()
    };
    let mut short = read_seq();
    short.verdict.findings = vec!["degraded-array".into()];
    Run {
        findings: vec![
            finding("read-ahead", Severity::Note, "Read-ahead is 128 KiB.", "/sys/block/md0/queue/read_ahead_kb = 128", "blockdev --setra 8192 /dev/md0"),
            finding("sparse-file", Severity::Error, "The file has extents that were never written: reading them does not touch the device.", "3.9 of 4 GiB unwritten (FIEMAP)", "lay the file out first: leave out --no-layout"),
            finding("degraded-array", Severity::Warning, "The array md0 runs with 7 of 8 members.", "/proc/mdstat: md0 [8/7] [UUUUUUU_]", "mdadm --manage /dev/md0 --add DEVICE, and run again when the resync is done"),
        ],
        conclusions: vec![
            "Nothing here says what binds random I/O: its result is void.".into(),
            "Sequential reads are bound by the degraded array: 7 of 8 members give at most 875 MiB/s (918 MB/s), and the missing half of its mirror reads from one disk.".into(),
        ],
        ..run(vec![fast, short, broken, refused])
    }
}

fn interrupted() -> Run {
    let mut cut = read_seq();
    let measured = cut.measurement.as_mut().unwrap();
    (measured.interrupted, measured.runtime_ns) = (true, 3_210_000_000);
    cut.verdict = Verdict::default();
    let never = Scenario {
        name: "random-write".into(),
        error: Some("interrupted before it began".into()),
        ..Scenario::default()
    };
    Run { interrupted: true, ..run(vec![sync_latency(), cut, never]) }
}

fn plain(run: &Run, width: usize) -> String {
    let files = [PathBuf::from("results/2026-11-21T07-24-17Z/run.json"), PathBuf::from("fio.json")];
    render_with(run, Look { width, colour: false, unicode: false }, &files)
}

#[test]
fn snapshots() {
    let swept = crate::report::sample::swept();
    for (name, run) in
        [("clean", clean()), ("troubled", troubled()), ("interrupted", interrupted()), ("swept", swept)]
    {
        for width in [80, 120] {
            let text = plain(&run, width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{name} at {width}:\n{text}");
            assert!(text.is_ascii());
            insta::assert_snapshot!(format!("{name}_{width}"), text);
        }
    }
}

#[test]
fn colour_changes_no_text() {
    let coloured = render_with(&troubled(), Look { width: 100, colour: true, unicode: true }, &[]);
    assert!(
        coloured.contains("\u{1b}[1;31mVOID\u{1b}[0m") && coloured.contains("\u{1b}[33mWARNING\u{1b}[0m")
    );
    let mut bare = coloured;
    for code in ["0", "1", "32", "33", "36", "1;31"] {
        bare = bare.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert_eq!(bare, render_with(&troubled(), Look { width: 100, colour: false, unicode: true }, &[]));
}

#[test]
fn a_megabyte_is_never_a_mebibyte() {
    for width in [40, 60, 80, 120] {
        let text = plain(&clean(), width);
        assert!(text.contains("MiB/s"), "{text}");
        // 13,100 x 8 KiB: 102 MiB/s and 107 MB/s.
        let line = text.lines().find(|line| line.contains("13,100")).unwrap();
        assert!(line.contains("102"), "{line}");
        assert_eq!(line.contains("(107)"), text.contains("(MB/s)"), "{line}");
    }
}

#[test]
fn a_run_of_nothing_says_so() {
    let text = plain(&run(vec![]), 80);
    assert!(text.contains("No scenario ran.") && text.contains("No findings"), "{text}");
}

#[test]
fn a_paced_job_shows_both_latencies() {
    let mut paced = read_seq();
    paced.measurement.as_mut().unwrap().read.scheduled_latency_ns = Some(latency(77_000_000.0));
    let text = plain(&run(vec![paced]), 120);
    assert!(text.contains("read, as due") && text.contains("77.0 ms") && text.contains("38.9 ms"), "{text}");
}

proptest! {
    /// Names and sentences come from job files and the kernel: nothing in them reaches the
    /// terminal as a control character, and no width breaks the page.
    #[test]
    fn hostile_text_and_any_width(name in ".{0,60}", says in ".{0,200}", width in 0usize..300, unicode: bool) {
        let mut run = troubled();
        run.scenarios[0].name = name.clone();
        run.scenarios[1].verdict.says = says.clone();
        run.findings[0].evidence = says;
        run.suite = name;
        let text = render_with(&run, Look { width, colour: false, unicode }, &[]);
        prop_assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
        prop_assert!(unicode || text.is_ascii());
    }
}

#[test]
fn a_report_starts_with_the_answer_and_the_key_numbers() {
    use crate::report::sample;
    for (name, run) in [("fine", sample::gp3()), ("troubled", sample::troubled())] {
        for width in [80, 100] {
            let text = render_report(&run, Look { width, colour: false, unicode: true });
            let end = text.find("In full").expect("the table in full follows");
            insta::assert_snapshot!(format!("report_{name}_{width}"), &text[..end]);
        }
    }
}

#[test]
fn a_suite_without_titles_is_printed_as_when_it_ran() {
    let look = Look { width: 100, colour: false, unicode: true };
    assert_eq!(render_report(&clean(), look), render_with(&clean(), look, &[]));
}
