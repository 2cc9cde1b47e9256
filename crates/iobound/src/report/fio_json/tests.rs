//! Our JSON against the real fio's (fio 3.33, `fixtures/fio-3.33`), and there and back.

use std::collections::BTreeMap;

use iobound_record::{
    DeviceTraffic, EngineChoice, HostFacts, Interval, Job, PerDirection, Rw, SCHEMA_VERSION,
};

use super::*;
use crate::tools::fio::parse;

const PSYNC: &str = include_str!("../../../fixtures/fio-3.33/psync-fdatasync.json");
const LIBAIO: &str = include_str!("../../../fixtures/fio-3.33/libaio-randrw-2jobs.json");
const IO_URING: &str = include_str!("../../../fixtures/fio-3.33/io_uring-randread.json");
const JOB_FILE: &str = include_str!("../../../fixtures/fio-3.33/job-file-three-entries.json");

/// Options of fio that are no part of a job: which figures it prints, and logs beside them.
const ABOUT_FIOS_OWN_OUTPUT: [&str; 6] = [
    "lat_percentiles",
    "clat_percentiles",
    "write_bw_log",
    "write_iops_log",
    "write_lat_log",
    "log_avg_msec",
];

fn job(name: &str, rw: Rw, bs: u64, iodepth: u32, ioengine: EngineChoice) -> Job {
    Job {
        name: name.into(),
        rw,
        bs,
        iodepth,
        ioengine,
        filename: vec!["data.dat".into()],
        size: Some(iobound_record::Extent::Bytes(16 << 20)),
        runtime_ns: Some(2_000_000_000),
        time_based: true,
        ..Job::default()
    }
}

fn run(scenarios: Vec<Scenario>) -> Run {
    Run {
        schema: SCHEMA_VERSION,
        iobound: "0.1.0".into(),
        id: "id".into(),
        started: "2026-11-21T07:24:17.810Z".into(),
        suite: "quick".into(),
        command: vec![],
        host: HostFacts::default(),
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

/// A run with what fio measured in `output`, and the job it was told.
fn run_of(output: &str, job: Job) -> Run {
    let parsed = parse(output).unwrap();
    let scenario = |(name, measurement)| Scenario {
        name,
        job: job.clone(),
        measurement: Some(measurement),
        ..Scenario::default()
    };
    run(parsed.into_iter().map(scenario).collect())
}

fn runs() -> [(&'static str, Run); 4] {
    let psync = Job { fdatasync: 1, direct: false, ..job("wal", Rw::Write, 8192, 1, EngineChoice::Psync) };
    let libaio = Job {
        fdatasync: 8,
        numjobs: 2,
        rwmixread: 70,
        ..job("mixed", Rw::RandRw, 8192, 8, EngineChoice::Libaio)
    };
    let many = Job { numjobs: 2, stonewall: true, ..job("x", Rw::RandRead, 4096, 1, EngineChoice::Psync) };
    [
        (PSYNC, run_of(PSYNC, psync)),
        (LIBAIO, run_of(LIBAIO, libaio)),
        (IO_URING, run_of(IO_URING, job("reads", Rw::RandRead, 4096, 16, EngineChoice::IoUring))),
        (JOB_FILE, run_of(JOB_FILE, many)),
    ]
}

/// Every path of keys with the type at its end.
fn paths(value: &Value, at: &str, into: &mut BTreeMap<String, &'static str>) {
    let kind = match value {
        Value::Object(object) => {
            object.iter().for_each(|(key, value)| paths(value, &format!("{at}/{key}"), into));
            "object"
        }
        Value::Array(list) => {
            list.iter().for_each(|value| paths(value, &format!("{at}/*"), into));
            "list"
        }
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Bool(_) => "bool",
        Value::Null => "null",
    };
    into.insert(at.into(), kind);
}

fn fio(output: &str) -> Value {
    serde_json::from_str(output).unwrap()
}

fn assert_covers(ours: &Value, theirs: &Value, place: &str) {
    let (mut ours_at, mut theirs_at) = (BTreeMap::new(), BTreeMap::new());
    paths(ours, "", &mut ours_at);
    paths(theirs, "", &mut theirs_at);
    for (path, kind) in theirs_at {
        if ABOUT_FIOS_OWN_OUTPUT.iter().any(|option| path.ends_with(&format!("options/{option}"))) {
            continue;
        }
        assert_eq!(ours_at.get(&path), Some(&kind), "{place}: {path}");
    }
}

#[test]
fn our_keys_cover_those_of_the_real_fio() {
    for (output, run) in runs() {
        let (ours, theirs) = (to_fio_json(&run), fio(output));
        assert_eq!(ours["jobs"].as_array().unwrap().len(), theirs["jobs"].as_array().unwrap().len());
        for (ours, theirs) in ours["jobs"].as_array().unwrap().iter().zip(theirs["jobs"].as_array().unwrap())
        {
            assert_covers(ours, theirs, &theirs["jobname"].to_string());
        }
        for key in ["fio version", "timestamp", "timestamp_ms", "time", "jobs", "disk_util"] {
            assert!(ours.get(key).is_some(), "{key}");
        }
    }
}

#[test]
fn the_disks_are_covered_too_and_read_back() {
    let mut run = runs().into_iter().nth(2).unwrap().1;
    let total = DeviceBytes { read_bytes: 8192, read_ios: 2, busy_ms: 1000, ..DeviceBytes::default() };
    let device = DeviceTraffic { total, names: vec!["vda".into()], members: vec![] };
    run.scenarios[0].measurement.as_mut().unwrap().device = Some(device.clone());
    let ours = to_fio_json(&run);
    assert_covers(&ours["disk_util"], &fio(IO_URING)["disk_util"], "disk_util");
    let util = ours["disk_util"][0]["util"].as_f64().unwrap();
    assert!((util - 100.0 * 1000.0 / 2001.0).abs() < 1e-6, "{util}");
    assert_eq!(parse(&ours.to_string()).unwrap()[0].1.device, Some(device));
}

#[test]
fn there_and_back_the_figures_stay() {
    for (_, run) in runs() {
        let back = parse(&to_fio_json(&run).to_string()).unwrap();
        assert_eq!(back.len(), run.scenarios.len());
        for ((name, back), scenario) in back.iter().zip(&run.scenarios) {
            let measured = scenario.measurement.as_ref().unwrap();
            assert_eq!(name, &scenario.name);
            assert_eq!(back.runtime_ns, measured.runtime_ns);
            for (back, measured) in [(&back.read, &measured.read), (&back.write, &measured.write)] {
                assert_eq!(back, measured);
            }
            assert_eq!(back.sync.latency_ns, measured.sync.latency_ns);
            assert_eq!(back.sync.ios, measured.sync.ios);
            assert_eq!(back.errors, measured.errors);
            // fio's percents are of whole milliseconds of runtime.
            let near = |a: u64, b: u64| (a as f64 - b as f64).abs() <= b as f64 * 0.001 + 1.0;
            assert!(near(back.cpu.user_ns, measured.cpu.user_ns), "{:?} {:?}", back.cpu, measured.cpu);
            assert!(near(back.cpu.system_ns, measured.cpu.system_ns));
        }
    }
}

#[test]
fn the_series_gives_fios_samples() {
    let mut run = runs().into_iter().nth(2).unwrap().1;
    let interval = |start_s: u64, length_ns: u64, iops: f64| Interval {
        start_ns: start_s * 1_000_000_000,
        length_ns,
        read: Some(DirectionStats {
            iops,
            bandwidth_bytes_per_s: iops * 4096.0,
            ..DirectionStats::default()
        }),
        ..Interval::default()
    };
    // The last one is a stump and does not count.
    run.scenarios[0].measurement.as_mut().unwrap().series = vec![
        interval(0, 1_000_000_000, 100.0),
        interval(1, 1_000_000_000, 200.0),
        interval(2, 1_000_000, 9000.0),
    ];
    let read = &to_fio_json(&run)["jobs"][0]["read"];
    assert_eq!(
        (&read["iops_min"], &read["iops_max"], &read["iops_samples"]),
        (&json!(100), &json!(200), &json!(2))
    );
    assert_eq!((&read["bw_mean"], &read["iops_mean"]), (&json!(600.0), &json!(150.0)));
    assert!((read["iops_stddev"].as_f64().unwrap() - 70.710678).abs() < 1e-5);
}

#[test]
fn failures_and_scenarios_that_did_not_run_say_so() {
    let mut run = runs().into_iter().next().unwrap().1;
    let measured = run.scenarios[0].measurement.as_mut().unwrap();
    measured.errors = 3;
    measured.error_kinds = vec![("No space left on device (os error 28)".into(), 3)];
    run.scenarios.push(Scenario { name: "x".into(), error: Some("refused".into()), ..Scenario::default() });
    let json = to_fio_json(&run);
    assert_eq!((&json["jobs"][0]["error"], &json["jobs"][0]["total_err"]), (&json!(28), &json!(3)));
    assert_eq!(
        (&json["jobs"][1]["error"], &json["jobs"][1]["iobound error"]),
        (&json!(5), &json!("refused"))
    );
    let back = parse(&json.to_string()).unwrap();
    assert_eq!((back[0].1.errors, back[1].1.errors), (3, 1));
    assert_eq!(back[0].1.error_kinds, [("No space left on device (os error 28)".to_owned(), 3)]);
}

#[test]
fn threads_reported_apart_are_entries_of_their_own() {
    let mut run = runs().into_iter().nth(2).unwrap().1;
    let measured = run.scenarios[0].measurement.as_mut().unwrap();
    let half = DirectionStats { ios: 5, iops: 2.5, ..DirectionStats::default() };
    let thread = ThreadStats { runtime_ns: 2_000_000_000, read: half, ..ThreadStats::default() };
    measured.threads = vec![thread, thread];
    measured.cpu.user_ns = 1_000_000_000;
    let json = to_fio_json(&run);
    assert_eq!(json["jobs"].as_array().unwrap().len(), 2);
    assert_eq!(json["jobs"][1]["read"]["iops"], 2.5);
    assert_eq!(json["jobs"][1]["usr_cpu"], 25.0);
}

#[test]
fn the_depth_of_a_paced_job_is_the_one_it_had() {
    let mut run = runs().into_iter().nth(2).unwrap().1;
    assert_eq!(to_fio_json(&run)["jobs"][0]["iodepth_level"]["16"], 100.0);
    run.scenarios[0].job.rate_iops = PerDirection { read: Some(1000), write: None };
    let read = &mut run.scenarios[0].measurement.as_mut().unwrap().read;
    (read.iops, read.latency_ns.mean) = (1000.0, 2e6);
    assert_eq!(to_fio_json(&run)["jobs"][0]["iodepth_level"]["2"], 100.0);
}

/// All that fio-plot 1.1 reads of a file (its `jsonimport.py` and `jsonparsing_support.py`), with
/// the types it needs.
#[test]
fn fio_plot_finds_what_it_reads() {
    for (_, run) in runs() {
        for (path, text) in
            fio_plot_files(&run).iter().filter(|(path, _)| path.extension().unwrap() == "json")
        {
            let json: Value = serde_json::from_str(text).unwrap();
            assert!(json["fio version"].is_string() && json["global options"].is_object(), "{path:?}");
            let jobs = json["jobs"].as_array().unwrap();
            assert_eq!(jobs.len(), 1, "fio-plot adds up the jobs of a file");
            let job = &jobs[0];
            assert!(job["jobname"].is_string() && job.get("hostname").is_none());
            for option in ["rw", "bs", "iodepth", "numjobs"] {
                assert!(job["job options"][option].is_string(), "{option}");
            }
            for option in ["iodepth", "numjobs"] {
                assert!(job["job options"][option].as_str().unwrap().parse::<u32>().is_ok(), "{option}");
            }
            assert!(job["job options"].get("steadystate").is_none());
            for side in ["read", "write"] {
                for path in ["/bw", "/iops", "/iops_stddev", "/lat_ns/mean", "/lat_ns/stddev"] {
                    assert!(job[side].pointer(path).unwrap().is_number(), "{side}{path}");
                }
            }
            assert!(job["usr_cpu"].is_number() && job["sys_cpu"].is_number());
            for bins in ["latency_ns", "latency_us", "latency_ms"] {
                assert!(job[bins].as_object().unwrap().values().all(Value::is_number), "{bins}");
            }
        }
    }
}

#[test]
fn fio_plot_files_have_bench_fios_names_and_never_meet() {
    let mut run = runs().into_iter().nth(1).unwrap().1;
    run.scenarios[0].volume = "data".into();
    let stats =
        DirectionStats { iops: 10.0, bandwidth_bytes_per_s: 10.0 * 8192.0, ..DirectionStats::default() };
    run.scenarios[0].measurement.as_mut().unwrap().series =
        vec![Interval { length_ns: 1_000_000_000, write: Some(stats), ..Interval::default() }];
    run.scenarios.push(run.scenarios[0].clone());
    run.scenarios[1].volume = "../up".into();
    run.scenarios.push(run.scenarios[0].clone());
    let files = fio_plot_files(&run);
    let names: Vec<&str> = files.iter().map(|(path, _)| path.to_str().unwrap()).collect();
    assert_eq!(
        names[..4],
        [
            "data/8k-rwmix70-fdatasync8/randrw-8-2.json",
            "data/8k-rwmix70-fdatasync8/randrw-iodepth-8-numjobs-2_bw.1.log",
            "data/8k-rwmix70-fdatasync8/randrw-iodepth-8-numjobs-2_iops.1.log",
            "data/8k-rwmix70-fdatasync8/randrw-iodepth-8-numjobs-2_lat.1.log",
        ]
    );
    assert_eq!(files[1].1, "1000, 80, 1, 8192, 0\n");
    assert_eq!(names[4], "8k-rwmix70-fdatasync8/randrw-8-2.json");
    assert_eq!(names[8], "data/8k-rwmix70-fdatasync8_2/randrw-8-2.json");
}

#[test]
fn the_time_is_written_as_fio_writes_it() {
    let json = to_fio_json(&run(vec![]));
    assert_eq!(json["time"], "Sat Nov 21 07:24:17 2026");
    assert_eq!(json["timestamp_ms"], 1_795_245_857_810_i64);
}
