//! Words and numbers that cannot mean anything: bad usage, the place named, nothing left.

use std::process::Command;

use crate::support::{Case, IOBOUND, USAGE};

/// Runs a job file that must be refused as bad usage before anything is made.
#[track_caller]
fn refused(job: &str, says: &[&str]) {
    let case = Case::new();
    let path = case.job(job);
    let outcome = case.run(&[&path]).expect(&[USAGE]).expect_says(says);
    assert!(case.files().is_empty(), "left {:?}\n{outcome}", case.files());
}

#[test]
fn sizes_that_are_none() {
    for bs in ["0", "-4k", "4x", "k", "99999999999999999999", "20000p", "1.2.3"] {
        refused(&format!("[a]\nrw=read\nsize=1m\nbs={bs}\n"), &["bs"]);
    }
    for size in ["-1", "1e99g", "ten"] {
        refused(&format!("[a]\nrw=read\nsize={size}\n"), &["size"]);
    }
}

#[test]
fn counts_and_times_that_are_none() {
    for (option, value) in [
        ("iodepth", "0"),
        ("iodepth", "-1"),
        ("iodepth", "many"),
        ("iodepth", "99999999999999999999"),
        ("numjobs", "0"),
        ("numjobs", "-3"),
        ("rwmixread", "101"),
        ("runtime", "5 fortnights"),
        ("runtime", "-5"),
        ("rw", "sideways"),
    ] {
        refused(&format!("[a]\nrw=read\nsize=1m\n{option}={value}\n"), &[option]);
    }
}

#[test]
fn a_size_below_the_block_size() {
    refused("[a]\nrw=read\nsize=4k\nbs=64k\n", &["size", "bs|block"]);
}

#[test]
fn a_block_that_direct_io_cannot_move() {
    refused("[a]\nrw=randread\nsize=1m\nbs=1000\ndirect=1\n", &["bs|block", "512|4096|logical|multiple"]);
}

#[test]
fn an_unknown_option_names_its_place_and_the_nearest() {
    let case = Case::new();
    let path = case.job("[a]\nrw=read\nsize=1m\nidepth=4\n");
    let outcome = case.run(&[&path]).expect(&[USAGE]).expect_says(&["idepth", "iodepth", &path]);
    assert!(outcome.stderr.contains('4'), "the line number\n{outcome}");
}

#[test]
fn a_job_file_that_is_missing_or_empty() {
    let case = Case::new();
    case.run(&["no-such-file.fio"]).expect(&[USAGE]).expect_says(&["no-such-file.fio"]);
    let empty = case.job("");
    case.run(&[&empty]).expect(&[USAGE]).expect_says(&["job"]);
}

#[test]
fn flags_that_are_none() {
    let case = Case::new();
    case.run(&["--no-such-flag"]).expect(&[USAGE]).expect_says(&["no-such-flag"]);
    case.run(&["quick", "--engine", "steam"]).expect(&[USAGE]).expect_says(&["steam", "io_uring"]);
    assert!(case.files().is_empty());
}

#[test]
fn help_and_version_are_success() {
    for argument in ["--help", "--version"] {
        let output = Command::new(IOBOUND).arg(argument).output().unwrap();
        assert!(output.status.success(), "{argument}: {output:?}");
        assert!(!output.stdout.is_empty(), "{argument}");
    }
}
