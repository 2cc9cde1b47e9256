//! fio's captured outputs (fio 3.33, `fixtures/fio-3.33`), and outputs that are none.

use super::*;
use proptest::prelude::*;

const PSYNC: &str = include_str!("../../../fixtures/fio-3.33/psync-fdatasync.json");
const LIBAIO: &str = include_str!("../../../fixtures/fio-3.33/libaio-randrw-2jobs.json");
const IO_URING: &str = include_str!("../../../fixtures/fio-3.33/io_uring-randread.json");
const JOB_FILE: &str = include_str!("../../../fixtures/fio-3.33/job-file-three-entries.json");
const FAILED: &str = include_str!("../../../fixtures/fio-3.33/failed-open.json");
const INTERRUPTED: &str = include_str!("../../../fixtures/fio-3.33/interrupted.json");

fn only(text: &str) -> Measurement {
    let mut jobs = parse(text).unwrap();
    assert_eq!(jobs.len(), 1);
    jobs.remove(0).1
}

#[test]
fn a_psync_job_with_fdatasync() {
    let measured = only(PSYNC);
    assert_eq!(measured.engine, EngineChoice::Fio);
    assert_eq!(measured.engine_facts.reason, "driven as a program: fio-3.33, ioengine psync");
    assert_eq!(measured.runtime_ns, 2_001_000_000);
    assert_eq!((measured.write.ios, measured.write.bytes), (18_144, 148_635_648));
    assert_eq!(measured.write.iops, 9067.466267);
    assert_eq!(measured.write.bandwidth_bytes_per_s, 74_280_683.0);
    assert_eq!(measured.write.latency_ns.mean, 4918.614032);
    assert_eq!(measured.write.latency_ns.p99, 9792);
    // fio says total_ios 0 and counts each sync as a short read; both are put right.
    assert_eq!((measured.sync.ios, measured.read.short_ios), (18_144, 0));
    assert_eq!(measured.sync.latency_ns.mean, 103_739.264716);
    assert!((measured.sync.iops - 9067.466).abs() < 0.01);
    // 1.25% and 38.1% of 2 s.
    assert_eq!((measured.cpu.user_ns, measured.cpu.system_ns), (25_000_000, 762_000_000));
    assert_eq!(measured.cpu.context_switches, 37_236);
    assert_eq!((measured.errors, measured.read), (0, DirectionStats::default()));
}

#[test]
fn grouped_threads_sum_their_processor_time_and_note_clat_percentiles() {
    let measured = only(LIBAIO);
    // job_runtime is 4000 ms for two threads of 2 s each: 2.85% of it.
    assert_eq!(measured.cpu.user_ns, 114_000_000);
    assert_eq!(measured.runtime_ns, 2_001_000_000);
    assert_eq!((measured.read.ios, measured.write.ios, measured.sync.ios), (70_081, 30_099, 12_291));
    assert_eq!(measured.read.latency_ns.mean, 281_406.034888);
    assert_eq!(measured.read.latency_ns.p99, 995_328);
    assert_eq!(measured.read.short_ios, 0);
    let notes = &measured.engine_facts.refused;
    assert!(notes.iter().any(|note| note.contains("percentiles are of clat")), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("no sectors")), "{notes:?}");
    assert_eq!(measured.device, None);
}

#[test]
fn an_io_uring_job_has_all_percentiles_of_the_whole_latency() {
    let measured = only(IO_URING);
    assert_eq!(measured.engine_facts.reason, "driven as a program: fio-3.33, ioengine io_uring");
    let values = measured.read.latency_ns.percentiles();
    assert!(values.iter().all(|(_, ns)| *ns > 0) && values.is_sorted_by(|a, b| a.1 <= b.1));
    assert!(!measured.engine_facts.refused.iter().any(|note| note.contains("clat")));
}

#[test]
fn every_entry_of_a_job_file_comes_back() {
    let jobs = parse(JOB_FILE).unwrap();
    let names: Vec<&str> = jobs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["first", "second", "second"]);
    assert_eq!((jobs[0].1.read.ios, jobs[1].1.write.ios, jobs[2].1.write.ios), (19_141, 15_503, 15_489));
}

#[test]
fn a_failed_job_carries_its_error_and_junk_before_the_json_is_passed_over() {
    assert!(FAILED.starts_with("fio: pid=0"));
    let failed = only(FAILED);
    assert_eq!(failed.errors, 1);
    assert_eq!(failed.error_kinds, [("Is a directory (os error 21)".to_owned(), 1)]);
    assert!(INTERRUPTED.contains("terminating on signal 2"));
    assert_eq!(only(INTERRUPTED).read.ios, 21_552);
    assert_eq!(only(&format!("{{ is no JSON\n{PSYNC}\ntail")), only(PSYNC));
    assert_eq!(only(&format!("warning: {PSYNC}")), only(PSYNC));
}

#[test]
fn of_several_outputs_the_last_whole_one_counts() {
    assert_eq!(only(&format!("{PSYNC}\n{IO_URING}")), only(IO_URING));
    assert_eq!(only(&format!("{PSYNC}\n{}", &IO_URING[..3000])), only(PSYNC));
}

#[test]
fn what_is_no_output_is_explained() {
    assert!(matches!(parse(""), Err(ParseError::NoJson { .. })));
    assert!(matches!(parse("fio: failed parsing options"), Err(ParseError::NoJson { .. })));
    assert!(matches!(parse(&PSYNC[..3000]), Err(ParseError::Damaged(_))));
    assert!(matches!(parse("{}"), Err(ParseError::NoJobs)));
    assert!(matches!(parse(r#"{"jobs": 3}"#), Err(ParseError::NoJobs)));
    let unified = r#"{"jobs":[{"jobname":"x","mixed":{}}]}"#;
    assert!(matches!(parse(unified), Err(ParseError::Unified { job }) if job == "x"));
}

#[test]
fn a_short_percentile_list_never_flatters() {
    let text = r#"{"jobs":[{"jobname":"x","read":{"total_ios":9,"runtime":1000,
        "lat_ns":{"min":1,"max":90,"mean":20.0,"stddev":1.0,"N":9,
                  "percentile":{"50.000000":20,"99.000000":80}}}}]}"#;
    let latency = only(text).read.latency_ns;
    assert_eq!((latency.p1, latency.p50, latency.p95, latency.p99, latency.p99_9), (20, 20, 80, 80, 90));
}

#[test]
fn the_disk_counters_of_one_job_become_its_device_traffic() {
    let text = r#"{"jobs":[{"jobname":"x","read":{"total_ios":9,"runtime":1000}}],"disk_util":[
        {"name":"md0","read_ios":4,"write_ios":0,"read_merges":0,"write_merges":0,"read_sectors":16,
         "write_sectors":8,"util":50.0,"aggr_read_ios":2},
        {"name":"sda","read_ios":2,"write_ios":0,"read_merges":0,"write_merges":0,"read_sectors":8,
         "write_sectors":4,"util":25.0}]}"#;
    let device = only(text).device.unwrap();
    assert_eq!(device.names, ["md0"]);
    assert_eq!((device.total.read_bytes, device.total.write_bytes, device.total.busy_ms), (8192, 4096, 500));
    assert_eq!(device.members[0].0, "sda");
    assert_eq!(device.members[0].1.read_bytes, 4096);
}

/// A fixture with pieces cut out, doubled or overwritten.
fn mutated() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just("-1e308".to_owned()),
        Just("99999999999999999999999".to_owned()),
        Just("null".to_owned()),
        Just("[[[{\"jobs\":".to_owned()),
        Just("\n{".to_owned()),
        "\\PC{0,12}",
    ];
    let change = (any::<prop::sample::Index>(), 0usize..200, piece);
    let whole = prop_oneof![Just(PSYNC), Just(LIBAIO), Just(FAILED)];
    (whole, prop::collection::vec(change, 0..6)).prop_map(|(whole, changes)| {
        let mut text: Vec<char> = whole.chars().collect();
        for (at, cut, piece) in changes {
            let start = at.index(text.len());
            let end = (start + cut).min(text.len());
            text.splice(start..end, piece.chars());
            if text.is_empty() {
                text.push(' ');
            }
        }
        text.into_iter().collect()
    })
}

/// Any JSON where the parser looks for an object, a list or a number.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        "[a-z0-9.]{0,8}".prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "jobs",
        "jobname",
        "read",
        "write",
        "sync",
        "lat_ns",
        "clat_ns",
        "percentile",
        "50.000000",
        "NaN",
        "-inf",
        "N",
        "total_ios",
        "runtime",
        "job_runtime",
        "usr_cpu",
        "error",
        "total_err",
        "disk_util",
        "read_sectors",
        "util",
        "aggr_read_ios",
        "job options",
        "global options",
        "ioengine",
        "trim",
    ]);
    leaf.prop_recursive(5, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..8).prop_map(|pairs| {
                Value::Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn no_damage_panics(text in mutated()) {
        let _ = parse(&text);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_json_panics(job in any_json(), disks in any_json()) {
        let output = serde_json::json!({ "jobs": [job], "disk_util": disks });
        let _ = parse(&output.to_string());
    }
}
