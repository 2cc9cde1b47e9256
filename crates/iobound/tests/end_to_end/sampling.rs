//! `samples.csv` of a run, and `iobound monitor` in a pipe.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};

use iobound_record::Sample;

use crate::support::{BROKE, Case, IOBOUND, USAGE, alone};

const JOB: &str = "[load]\ndirect=1\nrw=randwrite\nbs=64k\nsize=32m\ntime_based\nruntime=3\n";

/// Rows as maps from column to cell.
fn rows(text: &str) -> Vec<BTreeMap<&str, &str>> {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let row = |line: &'_ str| {
        let cells = line.split(',').count();
        assert_eq!(cells, head.len(), "{line}");
    };
    let all: Vec<&str> = lines.collect();
    all.iter().for_each(|line| row(line));
    all.iter().map(|line| head.iter().copied().zip(line.split(',')).collect()).collect()
}

fn monitor(arguments: &[&str]) -> Output {
    Command::new(IOBOUND).arg("monitor").args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_run_keeps_samples_that_agree_with_its_device_counters() {
    let _turn = alone();
    let case = Case::new();
    let job = case.job(JOB);
    let outcome = case.run(&[&job]).expect_done();
    let run = outcome.record();
    assert_eq!(run.samples.as_deref(), Some("samples.csv"), "{outcome}");
    let text = std::fs::read_to_string(outcome.out.join("samples.csv")).unwrap();
    let measured: Vec<_> = rows(&text).into_iter().filter(|row| row["scenario"] == "load").collect();
    assert!(measured.iter().filter(|row| row["device"] == "total").count() >= 3, "{text}");

    let scenario = &run.scenarios[0];
    let summary = scenario.samples.as_ref().unwrap_or_else(|| panic!("no summary\n{outcome}"));
    let measurement = scenario.measurement.as_ref().unwrap();
    let covered = summary.covered_ns as f64 / measurement.runtime_ns as f64;
    assert!((0.9..1.1).contains(&covered), "covered {covered} of the measured time\n{outcome}");
    let Some(traffic) = measurement.device.as_ref() else { return };
    for (name, moved) in &traffic.members {
        let Some(device) = summary.devices.iter().find(|device| device.device == *name) else { continue };
        let sampled = device.write_bytes_per_s.mean * summary.covered_ns as f64 / 1e9;
        let off = sampled / moved.write_bytes.max(1) as f64 - 1.0;
        assert!(moved.write_bytes < 1 << 20 || off.abs() < 0.02, "{name}: {sampled} of {moved:?}");
    }
}

#[test]
fn a_run_that_cannot_keep_samples_says_so_once_and_goes_on() {
    let case = Case::new();
    let job = case.job("[a]\ndirect=1\nrw=write\nbs=64k\nsize=8m\nstonewall\n[b]\ndirect=1\nrw=read\nbs=64k\nsize=8m\nstonewall\n");
    // The case's second number is the output's: a directory stands where the file would.
    std::fs::create_dir_all(case.beside("out-1/samples.csv")).unwrap();
    let outcome = case.run(&[&job]).expect_done();
    assert_eq!(outcome.stderr.matches("samples.csv cannot be written").count(), 1, "{outcome}");
    let run = outcome.record();
    assert_eq!((run.samples.as_ref(), run.scenarios.len()), (None, 2), "{outcome}");
    assert!(run.scenarios.iter().all(|scenario| scenario.measurement.is_some()), "{outcome}");
}

#[test]
fn a_run_without_a_result_leaves_no_directory() {
    let case = Case::new();
    let job = case.job("[a]\nrw=read\nfilename=/no/such/place\nsize=1m\n");
    let outcome = case.run(&[&job]).expect(&[USAGE, BROKE]);
    assert!(!outcome.out.exists(), "{outcome}");
}

#[test]
fn comma_separated_values() {
    let output = monitor(&["--csv", "--interval", "200ms", "--count", "3", "/"]);
    let text = words(&output.stdout);
    if !output.status.success() {
        // A container's root may lie on nothing that the kernel counts for.
        assert!(words(&output.stderr).contains("no block device"), "{output:?}");
        return;
    }
    let all = rows(&text);
    let totals: Vec<_> = all.iter().filter(|row| row["device"] == "total").collect();
    assert_eq!(totals.len(), 3, "{text}");
    assert!(totals.iter().all(|row| row["dirty_bytes"].parse::<u64>().is_ok()), "{text}");
}

#[test]
fn json_lines_are_samples() {
    let output = monitor(&["--json", "-i", "200ms", "-n", "2", "--all"]);
    assert!(output.status.success(), "{output:?}");
    let samples: Vec<Sample> =
        words(&output.stdout).lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert_eq!(samples.len(), 2);
    assert!(samples[0].interval_ns >= 200_000_000 && samples[1].time_ns > samples[0].time_ns);
}

#[test]
fn a_table_without_a_terminal() {
    let output = monitor(&["-i", "200ms", "-n", "1"]);
    let text = words(&output.stdout);
    assert!(output.status.success() && text.contains("device") && text.contains("total"), "{output:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = Command::new(IOBOUND)
        .args(["monitor", "--csv", "-i", "100ms"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    reader.read_line(&mut String::new()).unwrap();
    drop(reader);
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    let status = child.wait().unwrap();
    assert!(status.success() && errors.is_empty(), "{status}: {errors}");
}

#[test]
fn bad_usage_is_named() {
    for (arguments, word) in [
        (&["/no/such/directory/file"][..], "does not exist"),
        (&["--interval", "1ms"], "100ms to 1h"),
        (&["--count", "0"], "1 or more"),
        (&["/proc"], "no block device"),
        (&["--total", "arrays"], "disks or targets"),
        (&["--csv", "--json"], "cannot be used with"),
    ] {
        let output = monitor(arguments);
        let errors = words(&output.stderr);
        assert_eq!(output.status.code(), Some(USAGE), "{arguments:?}: {errors}");
        assert!(errors.contains(word), "{arguments:?}: {errors}");
    }
}
