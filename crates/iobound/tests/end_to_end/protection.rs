//! Data that is not ours stays as it is.

use std::path::Path;
use std::process::Command;

use iobound_lab::{SmallDisk, ThrottledVolume, require};

use crate::support::{Case, Outcome, REFUSED, fingerprint, make_file};

const MIB: u64 = 1 << 20;

fn on(path: &Path, options: &str) -> String {
    format!("[a]\nfilename={}\ndirect=1\nbs=64k\nsize=1m\n{options}\n", path.display())
}

#[test]
fn a_file_that_is_not_ours_is_not_written() {
    let case = Case::new();
    let file = case.target().join("letters");
    make_file(&file, MIB as usize);
    let before = fingerprint(&file);
    for rw in ["write", "randwrite", "randrw"] {
        let job = case.job(&on(&file, &format!("rw={rw}")));
        let outcome = case.run(&[&job]).expect(&[REFUSED]).expect_says(&["letters", "--overwrite"]);
        assert_eq!(fingerprint(&file), before, "{outcome}");
    }
    let job = case.job(&on(&file, "rw=write"));
    case.run(&[&job, "--overwrite"]).expect_done();
    assert_ne!(fingerprint(&file), before, "asked for, it is written");
    assert!(file.exists(), "and it stays: it is not ours to remove");
}

#[test]
fn a_read_job_never_alters_a_file() {
    let case = Case::new();
    let file = case.target().join("letters");
    make_file(&file, MIB as usize + 512);
    let before = fingerprint(&file);
    for rw in ["read", "randread"] {
        let job = case.job(&on(&file, &format!("rw={rw}")));
        let outcome = case.run(&[&job]).expect_done();
        assert_eq!(fingerprint(&file), before, "{outcome}");
        assert_eq!(case.files().len(), 1, "{outcome}");
    }
}

#[test]
fn a_read_job_does_not_grow_a_file_that_is_too_short() {
    let case = Case::new();
    let file = case.target().join("letters");
    make_file(&file, 64 << 10);
    let before = fingerprint(&file);
    let job = case.job(&on(&file, "rw=read"));
    let outcome = case.run(&[&job]);
    assert_eq!(fingerprint(&file), before, "{outcome}");
}

#[track_caller]
fn assert_refused(outcome: Outcome, device: &Path) {
    outcome.expect(&[REFUSED]).expect_says(&[device.to_str().unwrap(), "--destroy-data"]);
}

#[test]
fn a_mounted_device_is_refused() {
    let Some(disk) = require(SmallDisk::ext4(16 * MIB)) else { return };
    let device = disk.device().unwrap();
    let case = Case::new();
    let job = case.job(&on(device, "rw=write"));
    assert_refused(case.run(&[&job]), device);
    // Being asked is not enough here: a mounted file system would be torn under its users.
    let asked = case.run(&[&job, "--destroy-data", device.to_str().unwrap()]);
    asked.expect(&[REFUSED]).expect_says(&["mounted"]);
}

#[test]
fn a_device_with_a_signature_is_refused_until_named() {
    let Some(volume) = require(ThrottledVolume::builder().size(16 * MIB).build()) else { return };
    let device = volume.device();
    let made = Command::new("mkfs.ext4").args(["-q", "-F", "-E", "nodiscard"]).arg(device).status();
    assert!(made.is_ok_and(|status| status.success()));
    let case = Case::new();
    let job = case.job(&on(device, "rw=write"));
    case.run(&[&job]).expect(&[REFUSED]).expect_says(&[device.to_str().unwrap(), "ext4", "--destroy-data"]);
    // Naming another device, or --overwrite, does not name this one.
    assert_refused(case.run(&[&job, "--destroy-data", "/dev/null"]), device);
    assert_refused(case.run(&[&job, "--overwrite"]), device);
    let still = Command::new("e2fsck").arg("-fn").arg(device).output().unwrap();
    assert!(still.status.success(), "the file system was harmed: {still:?}");
    case.run(&[&job, "--destroy-data", device.to_str().unwrap()]).expect_done();
}

#[test]
fn a_device_in_use_is_refused() {
    let Some(volume) = require(ThrottledVolume::builder().size(16 * MIB).build()) else { return };
    // The volume's device is itself a loop device on another one, which is thereby in use.
    let name = volume.device().file_name().unwrap().to_str().unwrap();
    let below = std::fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).unwrap();
    let below = Path::new(below.trim());
    let case = Case::new();
    let job = case.job(&on(below, "rw=write"));
    assert_refused(case.run(&[&job]), below);
}

#[test]
fn a_second_run_on_the_same_file_is_refused() {
    let case = Case::new();
    let file = case.target().join("shared");
    make_file(&file, MIB as usize);
    let long = case.job(&on(&file, "rw=randwrite\ntime_based\nruntime=8"));
    let first = case.start(&[&long, "--overwrite"]);
    first.let_run(3.0);
    let second = case.job(&on(&file, "rw=randwrite"));
    let outcome = case.run(&[&second, "--overwrite"]).expect(&[REFUSED]);
    let outcome = outcome.expect_says(&["shared", "lock|another|in use"]);
    assert!(outcome.seconds < 4.0, "it refuses, it does not wait\n{outcome}");
    first.finish().expect_done();
}
