//! Data that is not there, not on the device, or not of its size; syncs that do nothing.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use iobound_lab::{ThrottledVolume, require};
use iobound_record::Severity;

use crate::support::{BOUND_FAILED, Case, Outcome, alone, make_file};
use crate::{has, is_bad, named, not_named};

const MIB: u64 = 1 << 20;

fn read_of(case: &Case, options: &str) -> Outcome {
    let job = case.job(&format!(
        "[a]\nioengine=io_uring\nfilename=f\nrw=randread\nbs=4k\niodepth=8\nsize=64m\ntime_based\nruntime=1\n{options}\n"
    ));
    case.run(&[&job])
}

#[test]
fn a_sparse_file() {
    let _turn = alone();
    let case = Case::new();
    File::create(case.target().join("f")).unwrap().set_len(64 * MIB).unwrap();
    // Only reading: a job that may write would lay it out.
    let outcome = read_of(&case, "direct=1").expect(&[BOUND_FAILED]);
    let found = named(&outcome, "sparse-file");
    assert_eq!(found.severity, Severity::Error);
    has(&found, &["64 MiB never allocated"]);
}

#[test]
fn a_fallocated_file() {
    let _turn = alone();
    let case = Case::new();
    let path = case.target().join("f");
    let made = Command::new("fallocate").args(["-l", "64MiB"]).arg(&path).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let outcome = read_of(&case, "direct=1").expect(&[BOUND_FAILED]);
    let found = named(&outcome, "fallocated-file");
    assert_eq!(found.severity, Severity::Error);
    has(&found, &["64 MiB allocated but never written"]);
}

#[test]
fn the_page_cache() {
    let _turn = alone();
    let case = Case::new();
    make_file(&case.target().join("f"), 64 << 20);
    let outcome = read_of(&case, "direct=0").expect(&[0]);
    let found = named(&outcome, "page-cache");
    assert_eq!(found.severity, Severity::Warning);
    has(&found, &["direct=0", "the device read"]);
    // The same file read past it.
    let outcome = read_of(&case, "direct=1").expect(&[0]);
    not_named(&outcome, "page-cache");
    not_named(&outcome, "sparse-file");
}

fn btrfs() -> Option<ThrottledVolume> {
    let volume = require(ThrottledVolume::builder().size(256 * MIB).filesystem("btrfs").build())?;
    remount(volume.dir(), "compress=zstd");
    Some(volume)
}

fn remount(dir: &Path, options: &str) {
    let done = Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(dir).output().unwrap();
    assert!(done.status.success(), "{options}: {done:?}");
}

#[test]
fn compressible_data_on_storage_that_compresses() {
    let _turn = alone();
    let Some(volume) = btrfs() else { return };
    let case = Case::on(volume.dir());
    // A file that somebody copied there, as a database's files are.
    let text = "each line of this table is like the one before\n".repeat((32 << 20) / 47);
    std::fs::write(volume.dir().join("f"), text).unwrap();
    let job = case
        .job("[a]\nioengine=io_uring\nfilename=f\nrw=randread\nbs=4k\niodepth=8\nsize=31m\ndirect=1\ntime_based\nruntime=1\n");
    let outcome = case.run(&[&job]).expect(&[BOUND_FAILED]);
    let found = named(&outcome, "compressing-storage");
    assert_eq!(found.severity, Severity::Error);
    has(&found, &["are compressed on btrfs", "compress=zstd"]);
    not_named(&outcome, "cache-answered");

    // And written by the job itself, through the page cache (direct writes btrfs leaves as they are), and
    // without its guess, which takes a fill that is random within a block for one that is all over.
    remount(volume.dir(), "compress-force=zstd");
    let job = case.job(
        "[a]\nioengine=io_uring\nrw=write\nbs=128k\nsize=32m\ndirect=0\nend_fsync=1\nfallocate=none\nrefill_buffers\nbuffer_compress_percentage=90\n",
    );
    let outcome = case.run(&[&job]).expect(&[BOUND_FAILED]);
    has(&named(&outcome, "compressing-storage"), &["are compressed on btrfs"]);
}

#[test]
fn incompressible_data_on_storage_that_compresses() {
    let _turn = alone();
    let Some(volume) = btrfs() else { return };
    let case = Case::on(volume.dir());
    let job = case.job("[a]\nioengine=io_uring\nrw=write\nbs=128k\nsize=64m\ndirect=0\nend_fsync=1\nfallocate=none\nrefill_buffers\n");
    let outcome = case.run(&[&job]).expect(&[0]);
    not_named(&outcome, "compressing-storage");
    // Laid out by the tool, read and overwritten past the page cache: nothing to object to.
    for rw in ["randread", "randwrite"] {
        let job = case.job(&format!(
            "[a]\nioengine=io_uring\nrw={rw}\nbs=4k\niodepth=16\nsize=64m\ndirect=1\noverwrite=1\ntime_based\nruntime=2\n"
        ));
        let outcome = case.run(&[&job]).expect(&[0]);
        let bad: Vec<_> = outcome.record().findings.into_iter().filter(is_bad).collect();
        assert!(bad.is_empty(), "{rw}: {bad:#?}\n{outcome}");
    }
}

#[test]
fn syncs_that_flush_nothing() {
    let _turn = alone();
    let volume = ThrottledVolume::builder().size(96 * MIB).filesystem("ext4").build();
    let Some(volume) = require(volume) else { return };
    let case = Case::on(volume.dir());
    let job = case
        .job("[a]\nioengine=io_uring\nrw=write\nbs=8k\nsize=32m\ndirect=1\nfdatasync=1\noverwrite=1\ntime_based\nruntime=2\n");
    not_named(&case.run(&[&job]).expect(&[0]), "sync-ignored");
    remount(volume.dir(), "barrier=0");
    let outcome = case.run(&[&job]).expect(&[BOUND_FAILED]);
    let found = named(&outcome, "sync-ignored");
    assert_eq!(found.severity, Severity::Error);
    has(&found, &["syncs/s", "write back", "nobarrier"]);
    named(&outcome, "check-mount-barriers");
}

#[test]
fn writes_that_a_volatile_cache_may_hold() {
    let _turn = alone();
    let volume = ThrottledVolume::builder().size(96 * MIB).filesystem("ext4").build();
    let Some(volume) = require(volume) else { return };
    let case = Case::on(volume.dir());
    let job = case.job("[a]\nioengine=io_uring\nrw=randwrite\nbs=8k\nsize=32m\ndirect=1\noverwrite=1\ntime_based\nruntime=1\n");
    let found = named(&case.run(&[&job]).expect(&[0]), "volatile-cache");
    assert_eq!(found.severity, Severity::Note);
    has(&found, &["write back"]);
}
