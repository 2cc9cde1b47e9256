//! Targets that cannot be used: missing, closed, too small, read-only, without direct I/O.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use iobound_lab::{SmallDisk, require};

use crate::support::{BROKE, Case, REFUSED, USAGE, make_file};

const MIB: u64 = 1 << 20;
/// A target that is no good may be called bad usage or a broken run; never done, never a signal.
const NO_GOOD: [i32; 3] = [USAGE, REFUSED, BROKE];

#[test]
fn a_directory_that_is_missing() {
    let case = Case::new();
    let job = case.job("[a]\ndirectory=not-there\nrw=write\nsize=1m\n");
    case.run(&[&job]).expect(&NO_GOOD).expect_says(&["not-there"]);
    case.run(&["quick", "--data", "not-there"]).expect(&NO_GOOD).expect_says(&["not-there"]);
    assert!(case.files().is_empty(), "it must not be made: a typing error would fill another disk");
}

#[test]
fn a_file_to_read_that_is_missing_in_a_missing_directory() {
    let case = Case::new();
    let job = case.job("[a]\nfilename=not-there/file\nrw=read\nsize=1m\n");
    case.run(&[&job]).expect(&NO_GOOD).expect_says(&["not-there"]);
}

#[test]
fn too_little_space_is_seen_first() {
    let Some(disk) = require(SmallDisk::ext4(64 * MIB)) else { return };
    let case = Case::on(disk.dir());
    let before = case.files();
    let job = case.job("[a]\nrw=randwrite\nsize=1g\nruntime=5\n");
    let outcome = case.run(&[&job]).expect(&NO_GOOD).expect_says(&["space"]);
    assert!(outcome.seconds < 3.0, "checked before anything is written\n{outcome}");
    assert_eq!(case.files(), before, "{outcome}");
}

#[test]
fn a_read_only_file_system() {
    let Some(disk) = require(SmallDisk::ext4(16 * MIB)) else { return };
    disk.make_read_only().unwrap();
    let case = Case::on(disk.dir());
    let job = case.job("[a]\nrw=write\nsize=1m\n");
    case.run(&[&job]).expect(&NO_GOOD).expect_says(&["read-only"]);
}

#[test]
fn a_file_system_without_direct_io() {
    let Some(disk) = require(SmallDisk::without_direct_io()) else { return };
    let case = Case::on(disk.dir());
    // A file to read: ramfs does not say how much space it has, which is another matter.
    make_file(&disk.dir().join("file"), 1 << 20);
    let job = case.job("[a]\nfilename=file\nrw=randread\nsize=1m\ndirect=1\n");
    let outcome = case.run(&[&job]).expect(&NO_GOOD).expect_says(&["direct"]);
    assert_eq!(case.files().len(), 1, "{outcome}");
}

#[test]
fn the_record_cannot_be_written() {
    let case = Case::new();
    let closed = case.beside("closed");
    fs::write(&closed, "a file where a directory is wanted").unwrap();
    let job = case.job("[a]\nrw=read\nsize=1m\n");
    // The harness gives an --out of its own, so this one is spelled by hand.
    let output = std::process::Command::new(crate::support::IOBOUND)
        .args(["run", &job, "--out"])
        .arg(closed.join("out"))
        .current_dir(case.target())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| NO_GOOD.contains(&code)), "{output:?}");
    assert!(said.contains("closed"), "{said}");
    assert!(case.files().is_empty());
}

#[test]
fn a_directory_that_somebody_else_may_not_write() {
    let case = Case::new();
    fs::set_permissions(case.target(), fs::Permissions::from_mode(0o755)).unwrap();
    let Some(nobody) = crate::restricted_hosts::as_nobody(&case) else { return };
    let job = case.job("[a]\nrw=write\nsize=1m\n");
    case.run_as(nobody, &[&job]).expect(&NO_GOOD).expect_says(&["permission|writ"]);
    assert!(case.files().is_empty());
}
