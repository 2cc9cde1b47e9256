//! `iobound stream` by the real binary: what is in its files, and what it does with bad input.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use iobound_fill::{FillSpec, Filler};
use iobound_lab::{SmallDisk, ThrottledVolume, require};
use iobound_record::{Run, Stream};
use rustix::process::Signal;

use crate::support::{BROKE, Case, IOBOUND, Outcome, REFUSED, USAGE, alone, fingerprint, make_file};

const MIB: u64 = 1 << 20;

/// What output `number` of a stream with `seed` holds.
pub fn content(seed: u64, number: u64, len: u64) -> Vec<u8> {
    let filler = Filler::new(FillSpec { seed, ..FillSpec::default() }).unwrap();
    let mut bytes = vec![0; len as usize];
    filler.fill(number, 0, &mut bytes);
    bytes
}

pub fn stream_of(run: &Run) -> &Stream {
    run.scenarios[0].stream.as_ref().expect("a stream's part of the record")
}

/// Ends like a program that refused: with `code`, these words, and nothing left behind.
#[track_caller]
fn refused(case: &Case, arguments: &[&str], code: i32, words: &[&str]) -> Outcome {
    let before = case.files();
    let outcome = case.stream(arguments).expect(&[code]).expect_says(words);
    assert_eq!(case.files(), before, "{outcome}");
    assert!(!outcome.out.exists(), "a directory without a result\n{outcome}");
    outcome
}

#[test]
fn a_file_holds_the_stream_and_the_record_tells_of_it() {
    let _turn = alone();
    let case = Case::new();
    // Neither a multiple of the buffer nor of a page.
    let size = 20 * MIB + 4096 + 77;
    for (number, settings) in [
        vec![],
        vec!["--mode", "split", "--max-threads", "2", "--num-writers", "2", "--buffer-count", "8"],
        vec!["--num-writers", "2", "--depth", "2", "--buffer-size", "64KB"],
        vec!["--no-direct"],
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("out{number}.bin");
        let size_words = size.to_string();
        let mut arguments = vec!["-s", &size_words, "-o", &name, "--seed", "9", "--read-back"];
        arguments.extend(&settings);
        let outcome = case.stream(&arguments).expect(&[0]);
        let written = fs::read(case.target().join(&name)).unwrap();
        assert!(written == content(9, 0, size), "{} of {size} bytes\n{outcome}", written.len());
        for words in [
            "Configuration",
            "Data transfer",
            "Throughput",
            "Latency",
            "p99",
            "Utilisation",
            "Bottleneck analysis",
            "Each writer",
            "MB/s",
            "MiB/s",
            "read back",
        ] {
            assert!(outcome.stdout.contains(words), "no '{words}'\n{outcome}");
        }
        let run = outcome.record();
        let stream = stream_of(&run);
        assert_eq!((stream.written_bytes, stream.generated_bytes), (size, size), "{outcome}");
        assert_eq!(stream.read_back.as_ref().unwrap().bytes, size);
        let verify = run.scenarios[0].measurement.as_ref().unwrap().verify.clone().unwrap();
        assert_eq!((verify.checked, verify.bad()), (size.div_ceil(4096), 0));
        let direct = !settings.contains(&"--no-direct");
        assert_eq!(stream.outputs[0].direct, direct);
        let page_cache = run.findings.iter().any(|finding| finding.id == "page-cache");
        assert_eq!(page_cache, !direct, "{outcome}");
        assert!(!stream.analysis.is_empty() && !stream.per_writer.is_empty());
    }
}

#[test]
fn every_report_renders_a_stream() {
    let case = Case::new();
    let outcome = case.stream(&["-s", "8MiB", "-o", "a.bin"]).expect(&[0]);
    for (format, words) in
        [("terminal", "Bottleneck"), ("markdown", "## Bottleneck"), ("html", "Bottleneck"), ("csv", "stream")]
    {
        let report = Command::new(IOBOUND)
            .arg("report")
            .arg(&outcome.out)
            .args(["--format", format])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&report.stdout);
        assert!(report.status.success() && text.contains(words), "{format}: {text}");
    }
}

#[test]
fn reading_back_finds_what_the_storage_changed() {
    let Some(volume) = require(ThrottledVolume::builder().size(64 * MIB).bytes_per_s(40 * MIB).build())
    else {
        return;
    };
    let device = volume.device().to_str().unwrap().to_owned();
    let case = Case::new();
    let arguments =
        ["stream", "-s", "32MiB", "-o", &device, "--read-back", "--destroy-data", &device, "--seed", "3"];
    let mut command = volume.command(IOBOUND);
    let out = case.beside("record");
    command.args(arguments).arg("--out").arg(&out).current_dir(case.target());
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // Written once in 0.8 s, read in as much: a byte is changed under it, over and over, until it ends.
    let file = File::options().write(true).open(&device).unwrap();
    let watched = std::thread::spawn(move || child.wait_with_output().unwrap());
    while !watched.is_finished() {
        file.write_all_at(&[0x55; 512], 31 * MIB).unwrap();
        let _ = file.sync_data();
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = watched.join().unwrap();
    let run: Run = serde_json::from_str(&fs::read_to_string(out.join("run.json")).unwrap()).unwrap();
    let verify = run.scenarios[0].measurement.as_ref().unwrap().verify.clone().unwrap();
    assert!(verify.bad() >= 1 && verify.bad() <= 2, "{verify:?}");
    assert!(verify.examples[0].contains(&(31 * MIB).to_string()), "{verify:?}");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(run.findings.iter().any(|finding| finding.id == "verify-failed"));
}

#[test]
fn several_outputs_each_get_a_stream_of_their_own() {
    let case = Case::new();
    let outcome = case
        .stream(&["-s", "5000001", "-o", "a.bin", "-o", "b.bin", "-o", "null:", "--seed", "4"])
        .expect(&[0]);
    for (number, name) in ["a.bin", "b.bin"].into_iter().enumerate() {
        assert!(fs::read(case.target().join(name)).unwrap() == content(4, number as u64, 5_000_001));
    }
    assert_eq!(stream_of(&outcome.record()).outputs.len(), 3);
}

#[test]
fn repeats_are_scenarios_with_content_of_their_own() {
    let case = Case::new();
    let outcome = case
        .stream(&["-s", "3MiB", "-o", "a.bin", "--repeat", "3", "--seed", "1", "--read-back"])
        .expect(&[0]);
    assert_eq!(outcome.record().scenarios.len(), 3);
    assert!(fs::read(case.target().join("a.bin")).unwrap() == content(1, 2 << 32, 3 * MIB));
}

#[test]
fn a_pipe_takes_the_stream() {
    let case = Case::new();
    let size = 5_000_001u64;
    let mut child = Command::new(IOBOUND)
        .args(["stream", "-s", &size.to_string(), "-o", "-", "--seed", "8", "--out"])
        .arg(case.beside("record"))
        .current_dir(case.target())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut bytes = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(bytes == content(8, 0, size), "{} bytes", bytes.len());
    // The report must not be in the middle of the data.
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && report.contains("Bottleneck analysis"), "{report}");
}

/// A FIFO in the target directory; None where it cannot be made.
fn fifo(case: &Case) -> Option<std::path::PathBuf> {
    let path = case.target().join("fifo");
    let made = Command::new("mkfifo").arg(&path).status().is_ok_and(|status| status.success());
    made.then_some(path)
}

#[test]
fn a_fifo_takes_the_stream_and_a_reader_that_goes_is_told() {
    let case = Case::new();
    let Some(path) = fifo(&case) else { return };
    let running = case.start_stream(&["-s", "3000001", "-o", "fifo", "--seed", "8"]);
    let mut bytes = Vec::new();
    File::open(&path).unwrap().read_to_end(&mut bytes).unwrap();
    running.finish().expect(&[0]);
    assert!(bytes == content(8, 0, 3_000_001));

    let running = case.start_stream(&["-s", "1GB", "-o", "fifo"]);
    let mut some = vec![0; 100_000];
    File::open(&path).unwrap().read_exact(&mut some).unwrap();
    let outcome = running.finish().expect(&[BROKE]).expect_says(&["fifo", "reader closed the pipe"]);
    assert!(outcome.seconds < 10.0 && case.files().len() == 1, "{outcome}");
}

#[test]
fn a_fifo_that_nobody_reads_can_be_left() {
    let case = Case::new();
    if fifo(&case).is_none() {
        return;
    }
    let running = case.start_stream(&["-s", "1GB", "-o", "fifo"]);
    running.let_run(0.7);
    running.signal(Signal::INT);
    let outcome = running.finish().expect(&[BROKE]).expect_says(&["interrupted"]);
    assert!(outcome.seconds < 5.0, "{outcome}");
}

#[test]
fn bad_input_is_refused_with_what_would_do() {
    let case = Case::new();
    let usage = |arguments: &[&str], words: &[&str]| {
        let with_output: Vec<&str> = ["-o", "x.bin"].iter().chain(arguments).copied().collect();
        refused(&case, &with_output, USAGE, words);
    };
    usage(&["-s", "0"], &["1 byte or more"]);
    usage(&["-s", "-5"], &["negative"]);
    usage(&["-s", "5XB"], &["unit"]);
    usage(&["-s", "900TB"], &["needed", "free"]);
    usage(&["-s", "1GB", "--buffer-size", "5000"], &["4096", "8192"]);
    usage(&["-s", "1GB", "--buffer-size", "1"], &["4096"]);
    usage(&["-s", "1GB", "--buffer-size", "0"], &["4096"]);
    usage(&["-s", "1GB", "--num-writers", "8", "--buffer-count", "4"], &["--buffer-count 4", "8 buffers"]);
    usage(&["-s", "1GB", "--num-writers", "0"], &["1 to 64"]);
    usage(&["-s", "1GB", "--num-writers", "65"], &["1 to 64"]);
    usage(&["-s", "1GB", "--dedup-ratio", "0.5"], &["below 1"]);
    usage(&["-s", "1GB", "--compress-ratio", "NaN"], &["not a number"]);
    usage(&["-s", "1GB", "--compress-ratio", "-1"], &["below 1"]);
    usage(&["-s", "1GB", "-o", "x.bin"], &["twice"]);
    usage(&["-s", "1GB", "-o", "s3://bucket/key"], &["s3"]);
    let large =
        ["-s", "900TB", "-o", "null:", "--buffer-size", "1GiB", "--buffer-count", "16384", "--mode", "split"];
    refused(&case, &large, USAGE, &["buffers are needed"]);
    refused(&case, &["-s", "1MB", "-o", "."], USAGE, &["directory"]);
    refused(&case, &["-s", "1MB", "-o", "no/such/x.bin"], USAGE, &["directory", "mkdir"]);
    refused(&case, &["-s", "1MB", "-o", "/dev/tty"], USAGE, &["character device|not"]);
    refused(&case, &["-s", "1MB", "-o", "null:", "--read-back"], USAGE, &["keep nothing"]);
    for size in ["1", "4095", "4097"] {
        let outcome = case.stream(&["-s", size, "-o", &format!("of{size}")]).expect(&[0]);
        let len = fs::metadata(case.target().join(format!("of{size}"))).unwrap().len();
        assert_eq!(len.to_string(), size, "{outcome}");
    }
}

#[test]
fn an_existing_file_is_not_written_unless_asked() {
    let case = Case::new();
    let path = case.target().join("letters");
    make_file(&path, MIB as usize);
    let before = fingerprint(&path);
    refused(&case, &["-s", "1MB", "-o", "letters"], REFUSED, &["letters", "--overwrite"]);
    assert_eq!(fingerprint(&path), before);
    case.stream(&["-s", "500000", "-o", "letters", "--overwrite"]).expect(&[0]);
    assert_eq!(fs::metadata(&path).unwrap().len(), 500_000);
    // The product of an earlier stream is the user's, like any file.
    case.stream(&["-s", "1MB", "-o", "mine"]).expect(&[0]);
    refused(&case, &["-s", "1MB", "-o", "mine"], REFUSED, &["--overwrite"]);
}

#[test]
fn a_place_that_refuses_direct_io_is_not_written_through_the_cache_unasked() {
    let Some(disk) = require(SmallDisk::without_direct_io()) else { return };
    let case = Case::on(disk.dir());
    refused(&case, &["-s", "1MB", "-o", "x.bin"], USAGE, &["O_DIRECT", "--no-direct"]);
    let outcome = case.stream(&["-s", "1MB", "-o", "x.bin", "--no-direct"]).expect_done();
    assert!(outcome.stdout.contains("PAGE CACHE"), "{outcome}");
}

#[test]
fn a_read_only_place_and_a_small_device_are_refused() {
    let Some(disk) = require(SmallDisk::ext4(16 * MIB)) else { return };
    let case = Case::on(disk.dir());
    refused(&case, &["-s", "100MB", "-o", "x.bin"], USAGE, &["needed", "free"]);
    let both = ["-s", "9MB", "-o", "x.bin", "-o", "y.bin"];
    refused(&case, &both, USAGE, &["needed", "free"]);
    disk.make_read_only().unwrap();
    refused(&case, &["-s", "1MB", "-o", "x.bin"], USAGE, &["read-only"]);
    drop(case);
    let Some(volume) = require(ThrottledVolume::builder().size(16 * MIB).build()) else { return };
    let device = volume.device().to_str().unwrap();
    let case = Case::new();
    refused(&case, &["-s", "1MB", "-o", device], REFUSED, &["--destroy-data"]);
    let all = ["-s", "20MB", "-o", device, "--destroy-data", device];
    refused(&case, &all, USAGE, &["16777216"]);
    case.stream(&["-s", "16777216", "-o", device, "--destroy-data", device, "--read-back"]).expect(&[0]);
}

/// A volume that promised more than there is: it runs full in the middle, which no look beforehand can see.
#[test]
fn a_volume_that_runs_full_in_mid_stream_is_told_and_leaves_no_part() {
    let Some(disk) = require(SmallDisk::overcommitted(256 * MIB, 40 * MIB)) else { return };
    let case = Case::on(disk.dir());
    let before = case.files();
    for mode in ["fused", "split"] {
        let outcome = case
            .stream(&["-s", "100MB", "-o", "x.bin", "--mode", mode])
            .expect(&[BROKE])
            .expect_says(&["x.bin", "no space is left on the device after", "lower --size", "was removed"]);
        assert_eq!(case.files(), before, "{outcome}");
        let run = outcome.record();
        let ids: Vec<&str> = run.findings.iter().map(|finding| finding.id.as_str()).collect();
        assert!(ids.contains(&"io-errors") && !ids.contains(&"other-io"), "{ids:?}\n{outcome}");
    }
}

#[test]
fn a_file_that_may_not_be_so_long_is_told_and_not_left() {
    let case = Case::new();
    let mut limited = Command::new("bash");
    limited.arg("-c").arg(r#"ulimit -f 20000; trap '' XFSZ; exec "$0" "$@""#).arg(IOBOUND);
    let running = case.start_subcommand(limited, "stream", &["-s", "100MB", "-o", "x.bin"]);
    let outcome = running.finish().expect(&[USAGE]).expect_says(&["x.bin", "ulimit -f"]);
    assert!(case.files().is_empty(), "{:?}\n{outcome}", case.files());
}

#[test]
fn ctrl_c_keeps_the_record_and_says_what_is_there() {
    let _turn = alone();
    let Some(volume) =
        require(ThrottledVolume::builder().size(512 * MIB).bytes_per_s(20 * MIB).filesystem("ext4").build())
    else {
        return;
    };
    let case = Case::on(volume.dir());
    for mode in ["fused", "split"] {
        let arguments =
            ["-s", "300MB", "-o", "x.bin", "--mode", mode, "--seed", "2", "--buffer-size", "1MiB"];
        let mut running = case.start_subcommand(volume.command(IOBOUND), "stream", &arguments);
        running.let_measure(1, 1.5);
        let sent = Instant::now();
        running.signal(Signal::INT);
        let outcome = running.finish().expect(&[BROKE]).expect_says(&["interrupted", "first", "cut there"]);
        assert!(sent.elapsed() < Duration::from_secs(6), "slow to end\n{outcome}");
        let run = outcome.record();
        let whole = stream_of(&run).written_bytes;
        let written = fs::read(case.target().join("x.bin")).unwrap();
        assert_eq!(written.len() as u64, whole, "{outcome}");
        assert!(run.interrupted && (MIB..200 * MIB).contains(&whole), "{whole}\n{outcome}");
        assert!(written == content(2, 0, whole), "what is there is not the stream\n{outcome}");
        fs::remove_file(case.target().join("x.bin")).unwrap();
    }
}

#[test]
fn memory_is_the_pool_whatever_the_size() {
    let case = Case::new();
    let running = case.start_stream(&["-s", "1TB", "-o", "null:", "--num-writers", "2"]);
    running.let_run(2.0);
    let peak = |pid: u32| -> u64 {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
    };
    let early = peak(running.pid());
    running.let_run(4.0);
    let late = peak(running.pid());
    running.signal(Signal::INT);
    let outcome = running.finish().expect(&[0, BROKE]);
    let pool = stream_of(&outcome.record()).memory_bytes;
    assert!(late <= pool + 48 * MIB, "{late} for a pool of {pool}\n{outcome}");
    assert!(late <= early + 4 * MIB, "it grows: {early}, then {late}\n{outcome}");
}

#[test]
fn auto_measures_chooses_and_keeps_its_evidence() {
    let _turn = alone();
    let Some(volume) =
        require(ThrottledVolume::builder().size(512 * MIB).bytes_per_s(64 * MIB).filesystem("ext4").build())
    else {
        return;
    };
    let case = Case::on(volume.dir());
    // Fewer questions take less time; how the search does with all of them is tested on models.
    let fixed = ["--mode", "fused", "--num-writers", "1"];
    let arguments = [["--auto", "-s", "64MiB", "-o", "x.bin", "--seed", "6"].as_slice(), &fixed].concat();
    let outcome = case.start_subcommand(volume.command(IOBOUND), "stream", &arguments).finish().expect(&[0]);
    let run = outcome.record();
    let stream = stream_of(&run);
    let tuning = stream.tuning.as_ref().expect("what was tried");
    assert!(tuning.trials.len() >= 2 && tuning.trials.iter().filter(|trial| trial.chosen).count() == 1);
    assert!(outcome.stdout.contains("Settings tried"), "{outcome}");
    assert!(is_content(&case.target().join("x.bin"), 6, 64 * MIB), "{outcome}");
}

fn is_content(path: &Path, seed: u64, len: u64) -> bool {
    fs::read(path).unwrap() == content(seed, 0, len)
}
