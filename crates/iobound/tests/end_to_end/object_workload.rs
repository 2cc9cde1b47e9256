//! `iobound objects` against a real S3 server: what it counts, what it leaves (nothing), and what it does when
//! the store does not play along.

use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use iobound_record::{ObjectKind, ObjectWorkload, Run};
use rustix::process::Signal;

use super::s3_server::Server;
use crate::support::{BROKE, Case, IOBOUND, Outcome, USAGE};

fn objects(server: &Server, case: &Case, arguments: &[&str]) -> Outcome {
    case.start_subcommand(server.command(), "objects", arguments).finish()
}

fn workload(run: &Run) -> &ObjectWorkload {
    run.scenarios[0].objects.as_ref().expect("a workload's part of the record")
}

fn kind<'a>(run: &'a Run, name: &str) -> &'a ObjectKind {
    workload(run).kinds.iter().find(|kind| kind.kind == name).expect("that kind")
}

/// The store is as it was before: the bucket, and what the test put there itself.
#[track_caller]
fn left_clean(server: &Server, outcome: &Outcome) {
    assert_eq!(server.keys().len(), 1, "{:?}\n{outcome}", server.keys());
    assert_eq!(server.half_written(), Vec::<String>::new(), "{outcome}");
}

fn server_with_a_precious_object() -> Server {
    let server = Server::new();
    std::fs::create_dir(server.path("prefix")).unwrap();
    std::fs::write(server.path("prefix/precious"), "not the workload's").unwrap();
    server
}

#[test]
fn a_mix_is_counted_by_kind_verified_and_taken_away() {
    let (server, case) = (server_with_a_precious_object(), Case::new());
    let arguments = [
        "s3://bench/prefix",
        "--mix",
        "put=30,get=40,list=10,delete=20",
        "--object-size",
        "65537",
        "--concurrency",
        "4",
        "--runtime",
        "3s",
        "--objects",
        "20",
        "--seed",
        "7",
    ];
    let outcome = objects(&server, &case, &arguments).expect(&[0]);
    left_clean(&server, &outcome);
    let run = outcome.record();
    let measured = run.scenarios[0].measurement.as_ref().unwrap();
    // The server's own count: what was measured, and what was put before.
    let counted = |name: &str, operation: &str, before: u64| {
        let kind = kind(&run, name);
        assert_eq!(kind.ops + before, u64::from(server.faults.seen(operation)), "{name}\n{outcome}");
        assert!(kind.errors.is_empty() && kind.ops > 0 && kind.ops_per_s > 0.0, "{kind:?}");
        let latency = &kind.latency_ns;
        assert!(0 < latency.p50 && latency.p50 <= latency.p99 && latency.p99 <= latency.max, "{latency:?}");
        kind.ops
    };
    let gets = counted("get", "GetObject", 0);
    let puts = counted("put", "PutObject", 20);
    let deletes = kind(&run, "delete");
    assert!(deletes.ops > 0 && deletes.errors.is_empty(), "{deletes:?}");
    // All that was put was deleted one by one: within the measured time, and the rest afterwards.
    assert_eq!(u64::from(server.faults.seen("DeleteObject")), puts + 20, "{outcome}");
    assert_eq!(measured.write.bytes, puts * 65_537);
    assert_eq!(measured.verify.as_ref().unwrap().checked, gets * 17, "17 blocks of 4 KiB each");
    assert_eq!(measured.verify.as_ref().unwrap().bad(), 0);
    assert!(measured.series.len() >= 3, "{} intervals", measured.series.len());
    let all: u64 = workload(&run).kinds.iter().map(|kind| kind.ops).sum();
    let share = gets as f64 / all as f64;
    assert!((0.25..0.55).contains(&share), "{share} of {all} are GETs, 40% were asked for");
    outcome.expect_reports(&[
        "Operations",
        "ops/s",
        "p99.9",
        "list",
        "all objects were removed",
        "as it was put",
    ]);
}

#[test]
fn every_report_shows_a_workload() {
    let (server, case) = (server_with_a_precious_object(), Case::new());
    let arguments = ["s3://bench/prefix", "--object-size", "4KiB", "--concurrency", "2", "--runtime", "1s"];
    let outcome = objects(&server, &case, &arguments).expect(&[0]);
    for format in ["terminal", "markdown", "html", "csv", "series-csv", "fio-json", "openmetrics"] {
        let report = std::process::Command::new(IOBOUND)
            .args(["report", outcome.out.to_str().unwrap(), "--format", format])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&report.stdout);
        assert!(report.status.success() && text.contains("objects"), "{format}: {report:?}");
        if ["terminal", "markdown", "html"].contains(&format) {
            assert!(text.contains("delete") && text.contains("p99.9"), "{format}\n{text}");
        }
    }
}

#[test]
fn what_comes_back_wrong_is_found() {
    let (server, case) = (server_with_a_precious_object(), Case::new());
    let arguments = [
        "s3://bench/prefix",
        "--mix",
        "get=1",
        "--object-size",
        "16KiB",
        "--concurrency",
        "2",
        "--runtime",
        "4s",
        "--objects",
        "8",
    ];
    let running = case.start_subcommand(server.command(), "objects", &arguments);
    let began = Instant::now();
    while server.faults.seen("GetObject") < 5 && began.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    // One byte of one object changes in the store.
    let spoilt = server.keys().into_iter().find(|key| !key.ends_with("precious")).expect("objects");
    let mut bytes = std::fs::read(&spoilt).unwrap();
    bytes[5000] ^= 1;
    std::fs::write(&spoilt, bytes).unwrap();
    let outcome = running.finish().expect(&[1]).expect_reports(&["verify-failed", "other bytes"]);
    let run = outcome.record();
    let verify = run.scenarios[0].measurement.as_ref().unwrap().verify.as_ref().unwrap();
    assert!(verify.corrupt > 0 && verify.examples[0].contains("offset 5000"), "{verify:?}");
    left_clean(&server, &outcome);
}

#[test]
fn a_busy_store_is_counted_and_what_fails_is_told_by_kind() {
    let (server, case) = (server_with_a_precious_object(), Case::new());
    server.faults.slow_down("GetObject", 5);
    let arguments = [
        "s3://bench/prefix",
        "--mix",
        "get=1,put=1",
        "--object-size",
        "4KiB",
        "--concurrency",
        "4",
        "--runtime",
        "2s",
    ];
    let outcome =
        objects(&server, &case, &arguments).expect(&[0]).expect_reports(&["tried again", "503 Slow"]);
    let run = outcome.record();
    // The server may have a failure of its own besides, and a line of the report breaks anywhere.
    let failed = &run.scenarios[0].objects.as_ref().unwrap().requests.failed;
    assert!(failed.contains(&("503 Slow Down".to_owned(), 5)), "{outcome}");
    assert!(kind(&run, "get").latency_ns.max > 50_000_000, "the wait is in the latency\n{outcome}");
    left_clean(&server, &outcome);
    // An object that somebody else takes away.
    let running =
        case.start_subcommand(server.command(), "objects", &[&arguments[..], &["--objects", "8"]].concat());
    let before = server.faults.seen("GetObject");
    let began = Instant::now();
    while server.faults.seen("GetObject") < before + 5 && began.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let taken = server.keys().into_iter().find(|key| !key.ends_with("precious")).expect("objects");
    std::fs::remove_file(taken).unwrap();
    let outcome = running.finish().expect(&[BROKE]).expect_reports(&["get failed", "NoSuchKey", "io-errors"]);
    let run = outcome.record();
    assert!(!kind(&run, "get").errors.is_empty() && kind(&run, "put").errors.is_empty(), "{outcome}");
    left_clean(&server, &outcome);
}

#[test]
fn ctrl_c_takes_everything_away() {
    let (server, case) = (server_with_a_precious_object(), Case::new());
    let arguments = ["s3://bench/prefix", "--object-size", "64KiB", "--concurrency", "4", "--runtime", "60s"];
    let running = case.start_subcommand(server.command(), "objects", &arguments);
    let began = Instant::now();
    while server.faults.seen("GetObject") < 20 && began.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    running.signal(Signal::INT);
    let sent = Instant::now();
    let outcome = running.finish().expect(&[BROKE]).expect_says(&["interrupted", "all objects were removed"]);
    assert!(sent.elapsed() < Duration::from_secs(8), "slow to end\n{outcome}");
    left_clean(&server, &outcome);
    let run = outcome.record();
    assert!(run.interrupted && kind(&run, "get").ops > 0, "{outcome}");
    assert!(kind(&run, "put").errors.is_empty(), "what was cut is no failure\n{outcome}");
}

#[test]
fn what_cannot_begin_is_told_and_leaves_nothing() {
    let (server, case) = (server_with_a_precious_object(), Case::new());
    for (arguments, words) in [
        (vec!["prefix"], vec!["no object store", "s3://BUCKET/PREFIX"]),
        (vec!["ftp://host/x"], vec!["'ftp' is no store"]),
        (vec!["s3://"], vec!["no bucket"]),
        (vec!["s3://bench", "--mix", "fetch=1"], vec!["'fetch' is no operation", "put=20"]),
        (vec!["s3://bench", "--mix", "get=0"], vec!["all shares are 0"]),
        (vec!["s3://bench", "--object-size", "0"], vec!["--object-size 0", "1 byte"]),
        (vec!["s3://bench", "--object-size", "5GiB"], vec!["1 GiB"]),
        (vec!["s3://bench", "--concurrency", "0"], vec!["1 to 256"]),
        (vec!["s3://bench", "--runtime", "0"], vec!["--runtime 0"]),
        (vec!["s3://bench", "--objects", "0"], vec!["--objects 0"]),
        (vec!["s3://bench", "--object-size", "1GiB", "--concurrency", "256"], vec!["of memory", "lower one"]),
        (vec!["s3://elsewhere/prefix"], vec!["no bucket 'elsewhere'"]),
    ] {
        let outcome = objects(&server, &case, &arguments).expect(&[USAGE]).expect_says(&words);
        assert!(!outcome.out.exists(), "a directory without a result\n{outcome}");
    }
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut nobody = server.command();
    nobody.env("AWS_ENDPOINT_URL", format!("http://{closed}"));
    let outcome = case.start_subcommand(nobody, "objects", &["s3://bench/prefix"]).finish();
    let words = ["connection refused; trying again", "AWS_ENDPOINT_URL", "15 s"];
    let outcome = outcome.expect(&[BROKE]).expect_says(&words);
    assert!(outcome.seconds < 30.0 && !outcome.out.exists(), "{outcome}");
    let mut wrong = server.command();
    wrong.env("AWS_SECRET_ACCESS_KEY", "wrong");
    let outcome = case.start_subcommand(wrong, "objects", &["s3://bench/prefix"]).finish();
    let outcome = outcome.expect(&[USAGE]).expect_says(&["refuses these credentials"]);
    left_clean(&server, &outcome);
    assert_eq!(server.faults.cut.load(SeqCst), 0);
}
