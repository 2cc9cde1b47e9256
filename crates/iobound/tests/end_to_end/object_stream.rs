//! `iobound stream` to an object store: a real S3 server, and what networks and stores do to it.

use std::process::Command;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use iobound_record::{Stream, StreamOutput};
use rustix::process::Signal;

use super::s3_server::{Certificate, Server, without_environment};
use crate::stream::{content, stream_of};
use crate::support::{BROKE, Case, IOBOUND, Outcome, REFUSED, USAGE};

const MIB: u64 = 1 << 20;
const PART: &str = "5MiB";

fn stream(server: &Server, case: &Case, arguments: &[&str]) -> Outcome {
    case.start_subcommand(server.command(), "stream", arguments).finish()
}

fn output(stream: &Stream) -> &StreamOutput {
    &stream.outputs[0]
}

/// Ends with `code` and these words, and the store holds nothing of it.
#[track_caller]
fn fails(server: &Server, outcome: Outcome, code: i32, words: &[&str]) -> Outcome {
    let outcome = outcome.expect(&[code]).expect_says(words);
    assert_eq!(server.keys(), Vec::<String>::new(), "{outcome}");
    assert_eq!(server.half_written(), Vec::<String>::new(), "{outcome}");
    outcome
}

#[test]
fn an_object_holds_the_stream_and_is_read_back() {
    let (server, case) = (Server::new(), Case::new());
    // Neither a multiple of the part nor of a block.
    let size = 23 * MIB + 4096 + 77;
    let size_words = size.to_string();
    for (number, settings) in
        [vec![], vec!["--mode", "split", "--num-writers", "3"], vec!["--num-writers", "1", "--depth", "3"]]
            .into_iter()
            .enumerate()
    {
        let key = format!("d/{number}.bin");
        let named = format!("s3://bench/{key}");
        let mut arguments =
            vec!["-s", &size_words, "-o", &named, "--seed", "9", "--read-back", "--buffer-size", PART];
        arguments.extend(&settings);
        let outcome = stream(&server, &case, &arguments).expect(&[0]);
        assert!(server.object(&key).unwrap() == content(9, 0, size), "other bytes\n{outcome}");
        let run = outcome.record();
        let stream = stream_of(&run);
        assert_eq!(stream.written_bytes, size);
        let read = stream.read_back.as_ref().expect("read back");
        assert!(read.bytes == size && read.bandwidth_bytes_per_s > 0.0);
        let measured = run.scenarios[0].measurement.as_ref().unwrap();
        assert_eq!(measured.verify.as_ref().unwrap().checked, size.div_ceil(4096));
        assert_eq!(measured.write.ios, 5, "parts\n{outcome}");
        let requests = output(stream).requests.as_ref().unwrap();
        assert!(requests.sent >= 9 && requests.failed.is_empty(), "{requests:?}");
        assert_eq!((output(stream).kind.as_str(), output(stream).direct), ("s3", false));
        outcome.expect_reports(&[
            "5 parts",
            "direct I/O does not apply",
            "of that, completing it",
            "read back",
        ]);
    }
    assert_eq!(server.half_written(), Vec::<String>::new());
}

#[test]
fn what_means_nothing_is_refused_before_anything_is_asked() {
    let (server, case) = (Server::new(), Case::new());
    for (arguments, words) in [
        (vec!["-o", "s3://bench", "-s", "1MB"], vec!["no key is named", "s3://bench/KEY"]),
        (vec!["-o", "s3://bench/dir/", "-s", "1MB"], vec!["no key is named"]),
        (vec!["-o", "s3:///key", "-s", "1MB"], vec!["no bucket is named"]),
        (vec!["-o", "ftp://host/key", "-s", "1MB"], vec!["'ftp' is no store", "s3://"]),
        (vec!["-o", "s3://bench/a//b", "-s", "1MB"], vec!["no key that a store takes"]),
        (vec!["-o", "file://relative", "-s", "1MB"], vec!["names no file"]),
        (vec!["-o", "s3://bench/key", "-s", "0"], vec!["--size 0", "1 byte or more"]),
        (
            vec!["-o", "s3://bench/key", "-s", "100MB", "--buffer-size", "1MiB"],
            vec!["5242880", "all but the last"],
        ),
        (
            vec!["-o", "s3://bench/key", "-s", "100MB", "--buffer-size", "5000000"],
            vec!["not a multiple of 4096"],
        ),
        (vec!["-o", "s3://bench/key", "-s", "1TB", "--buffer-size", "8MiB"], vec!["10000", "100663296"]),
        (vec!["-o", "s3://bench/key", "-s", "100TB"], vec!["10000 parts", "10737418240000 or less"]),
        (vec!["-o", "s3://bench/key", "-o", "s3://bench/key", "-s", "1MB"], vec!["named twice"]),
    ] {
        let outcome = stream(&server, &case, &arguments);
        let outcome = fails(&server, outcome, USAGE, &words);
        assert!(!outcome.out.exists(), "a directory without a result\n{outcome}");
    }
    assert_eq!(server.faults.connections.load(SeqCst), 0);
}

#[test]
fn an_object_that_is_there_is_not_replaced_unasked() {
    let (server, case) = (Server::new(), Case::new());
    std::fs::write(server.path("key"), "precious").unwrap();
    let arguments = ["-s", "1MB", "-o", "s3://bench/key", "--seed", "3"];
    stream(&server, &case, &arguments).expect(&[REFUSED]).expect_says(&["already", "8 bytes", "--overwrite"]);
    assert_eq!(server.object("key").unwrap(), b"precious");
    assert_eq!(server.half_written(), Vec::<String>::new());
    let outcome = stream(&server, &case, &[arguments.as_slice(), &["--overwrite"]].concat()).expect(&[0]);
    assert!(server.object("key").unwrap() == content(3, 0, 1_000_000), "{outcome}");
}

#[test]
fn a_server_that_is_not_there_is_told_in_bounded_time() {
    let (server, case) = (Server::new(), Case::new());
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = server.command();
    command.env("AWS_ENDPOINT_URL", format!("http://{closed}"));
    let began = Instant::now();
    let outcome = case.start_subcommand(command, "stream", &["-s", "1MB", "-o", "s3://bench/key"]).finish();
    let words = ["connection refused; trying again", "AWS_ENDPOINT_URL", "15 s"];
    let outcome = fails(&server, outcome, BROKE, &words);
    assert!(began.elapsed() < Duration::from_secs(25), "{outcome}");
    assert!(!outcome.out.exists(), "a directory without a result\n{outcome}");
}

/// By TLS as by plain HTTP; and a server that cannot prove who it is is not asked again and again.
#[test]
fn a_certificate_is_believed_when_its_authority_is() {
    let Some(certificate) = Certificate::make() else { return };
    let (server, case) = (Server::with_tls(&certificate), Case::new());
    let arguments = ["-s", "6MB", "--buffer-size", PART, "-o", "s3://bench/key"];
    let outcome = case.start_subcommand(server.command(), "stream", &arguments).finish();
    let words = ["certificate is not trusted (UnknownIssuer)", "SSL_CERT_FILE"];
    let outcome = fails(&server, outcome, USAGE, &words);
    assert!(outcome.seconds < 10.0, "{outcome}");

    let mut command = server.command();
    command.env("SSL_CERT_FILE", certificate.authority());
    let arguments = [&arguments[..], &["--seed", "5", "--read-back"]].concat();
    let outcome = case.start_subcommand(command, "stream", &arguments).finish().expect(&[0]);
    assert!(server.object("key").unwrap() == content(5, 0, 6_000_000), "{outcome}");
}

#[test]
fn credentials_and_buckets_that_are_wrong_are_told_at_once() {
    let (server, case) = (Server::new(), Case::new());
    let with = |name: &str, value: &str, named: &str| {
        let mut command = server.command();
        command.env(name, value);
        case.start_subcommand(command, "stream", &["-s", "1MB", "-o", named]).finish()
    };
    let words = ["refuses these credentials", "SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY"];
    fails(&server, with("AWS_SECRET_ACCESS_KEY", "wrong", "s3://bench/key"), USAGE, &words);
    let words = ["refuses these credentials", "AWS_ACCESS_KEY_ID"];
    fails(&server, with("AWS_ACCESS_KEY_ID", "NOBODY", "s3://bench/key"), USAGE, &words);
    let words = ["no bucket 'elsewhere'", "make it"];
    fails(&server, with("AWS_REGION", "us-east-1", "s3://elsewhere/key"), USAGE, &words);
    // No credentials at all, on a machine that no cloud gives any.
    let mut command = Command::new(IOBOUND);
    without_environment(&mut command);
    command.env("AWS_ENDPOINT_URL", server.endpoint()).env("AWS_REGION", "us-east-1");
    let outcome = case.start_subcommand(command, "stream", &["-s", "1MB", "-o", "s3://bench/key"]).finish();
    let outcome = fails(&server, outcome, USAGE, &["no credentials", "AWS_ACCESS_KEY_ID"]);
    assert!(outcome.seconds < 10.0, "{outcome}");
}

#[test]
fn a_busy_store_is_waited_for_and_counted() {
    let (server, case) = (Server::new(), Case::new());
    server.faults.slow_down("UploadPart", 3);
    let arguments = ["-s", "20MiB", "-o", "s3://bench/key", "--seed", "4", "--buffer-size", PART];
    let outcome = stream(&server, &case, &arguments).expect(&[0]).expect_reports(&["tried again", "503"]);
    assert!(server.object("key").unwrap() == content(4, 0, 20 * MIB), "{outcome}");
    let run = outcome.record();
    let requests = output(stream_of(&run)).requests.clone().unwrap();
    assert_eq!(requests.failed, [("503 Slow Down".to_string(), 3)]);
    assert_eq!(server.faults.seen("UploadPart"), 4);
    // The wait is in the latency of the part that waited.
    let slowest = run.scenarios[0].measurement.as_ref().unwrap().write.latency_ns.max;
    assert!(slowest > 50_000_000, "{slowest} ns\n{outcome}");
}

#[test]
fn a_store_that_stays_busy_ends_the_stream_and_keeps_nothing() {
    let (server, case) = (Server::new(), Case::new());
    server.faults.slow_down("UploadPart", u32::MAX);
    let arguments = ["-s", "20MiB", "-o", "s3://bench/key", "--buffer-size", PART];
    let words = ["503 Slow Down", "lower --num-writers", "nothing of it is stored"];
    let outcome = fails(&server, stream(&server, &case, &arguments), BROKE, &words);
    assert!(outcome.seconds < 40.0, "{outcome}");
}

#[test]
fn a_connection_cut_in_a_part_is_mended() {
    let (server, case) = (Server::new(), Case::new());
    server.faults.cut.store(3, SeqCst);
    let arguments =
        ["-s", "30MiB", "-o", "s3://bench/key", "--seed", "5", "--buffer-size", PART, "--read-back"];
    let outcome =
        stream(&server, &case, &arguments).expect(&[0]).expect_reports(&["tried again", "connection"]);
    assert!(server.object("key").unwrap() == content(5, 0, 30 * MIB), "{outcome}");
    let requests = output(stream_of(&outcome.record())).requests.clone().unwrap();
    // A connection on which nothing large was sent is never cut.
    let [(kind, count)] = requests.failed.as_slice() else { panic!("{requests:?}\n{outcome}") };
    assert!(kind == "connection cut" && (1..=3).contains(count), "{requests:?}\n{outcome}");
    assert_eq!(server.half_written(), Vec::<String>::new());
}

#[test]
fn connections_that_are_always_cut_end_the_stream_and_keep_nothing() {
    let (server, case) = (Server::new(), Case::new());
    server.faults.cut.store(-1, SeqCst);
    let arguments = ["-s", "30MiB", "-o", "s3://bench/key", "--buffer-size", PART];
    let words = ["connection cut", "nothing of it is stored"];
    let outcome = fails(&server, stream(&server, &case, &arguments), BROKE, &words);
    assert!(outcome.seconds < 40.0, "{outcome}");
}

#[test]
fn ctrl_c_aborts_the_upload() {
    let (server, case) = (Server::new(), Case::new());
    server.faults.part_ms.store(400, SeqCst);
    for mode in ["fused", "split"] {
        let before = server.faults.seen("UploadPart");
        let arguments = [
            "-s",
            "1GB",
            "-o",
            "s3://bench/key",
            "--buffer-size",
            PART,
            "--num-writers",
            "4",
            "--mode",
            mode,
        ];
        let running = case.start_subcommand(server.command(), "stream", &arguments);
        let began = Instant::now();
        while server.faults.seen("UploadPart") < before + 9 && began.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(10));
        }
        running.signal(Signal::INT);
        let sent = Instant::now();
        let words = ["interrupted", "aborted", "nothing of it is stored"];
        let outcome = fails(&server, running.finish(), BROKE, &words);
        assert!(sent.elapsed() < Duration::from_secs(6), "slow to end\n{outcome}");
        let run = outcome.record();
        assert!(run.interrupted && stream_of(&run).written_bytes >= 5 * MIB, "{outcome}");
        assert_eq!(run.scenarios[0].measurement.as_ref().unwrap().errors, 0, "{outcome}");
    }
}

#[test]
fn several_outputs_and_repeats_work() {
    let (server, case) = (Server::new(), Case::new());
    let arguments = [
        "-s",
        "11MiB",
        "-o",
        "s3://bench/one",
        "-o",
        "s3://bench/two",
        "-o",
        "local.bin",
        "--seed",
        "6",
        "--repeat",
        "2",
        "--read-back",
        "--num-writers",
        "2",
    ];
    let outcome = stream(&server, &case, &arguments).expect(&[0]);
    for (number, bytes) in [
        (0, server.object("one").unwrap()),
        (1, server.object("two").unwrap()),
        (2, std::fs::read(case.target().join("local.bin")).unwrap()),
    ] {
        assert!(bytes == content(6, (1 << 32) + number, 11 * MIB), "output {number}\n{outcome}");
    }
    let run = outcome.record();
    assert_eq!(run.scenarios.len(), 2);
    assert_eq!(stream_of(&run).read_back.as_ref().unwrap().bytes, 33 * MIB);
    assert_eq!(server.half_written(), Vec::<String>::new());
}

#[test]
fn a_file_url_is_a_file() {
    let case = Case::new();
    let path = case.target().join("a b.bin");
    let named = format!("file://{}", path.display()).replace(' ', "%20");
    let outcome = case.stream(&["-s", "1MB", "-o", &named, "--seed", "8", "--read-back"]).expect(&[0]);
    assert!(std::fs::read(&path).unwrap() == content(8, 0, 1_000_000), "{outcome}");
    assert_eq!(output(stream_of(&outcome.record())).kind, "file");
}

#[test]
fn auto_measures_parts_and_leaves_no_upload() {
    let (server, case) = (Server::new(), Case::new());
    let arguments = [
        "--auto",
        "-s",
        "40MiB",
        "-o",
        "s3://bench/key",
        "--seed",
        "6",
        "--mode",
        "fused",
        "--buffer-size",
        "8MiB",
    ];
    let outcome = stream(&server, &case, &arguments).expect(&[0]).expect_reports(&["Settings tried"]);
    let run = outcome.record();
    let tuning = stream_of(&run).tuning.as_ref().expect("what was tried");
    assert!(tuning.trials.len() >= 2 && tuning.trials.iter().filter(|trial| trial.chosen).count() == 1);
    assert!(tuning.trials.iter().all(|trial| trial.settings.depth == 1), "a writer has one part on its way");
    assert!(server.object("key").unwrap() == content(6, 0, 40 * MIB), "{outcome}");
    assert_eq!(server.half_written(), Vec::<String>::new());
}

#[test]
fn memory_is_the_pool_whatever_the_object() {
    let (server, case) = (Server::new(), Case::new());
    let arguments = ["-s", "400MiB", "-o", "s3://bench/key", "--buffer-size", PART, "--num-writers", "2"];
    let running = case.start_subcommand(server.command(), "stream", &arguments);
    let peak = |pid: u32| -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        line.map_or(0, |line| line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10)
    };
    let mut seen = 0;
    while server.faults.seen("CompleteMultipartUpload") == 0 && running.pid() > 0 {
        let now = peak(running.pid());
        if now == 0 {
            break;
        }
        seen = now.max(seen);
        std::thread::sleep(Duration::from_millis(20));
    }
    let outcome = running.finish().expect(&[0]);
    let pool = stream_of(&outcome.record()).memory_bytes;
    assert_eq!(pool, 4 * 5 * MIB);
    assert!(seen > pool / 2 && seen <= pool + 64 * MIB, "{seen} for a pool of {pool}\n{outcome}");
}
