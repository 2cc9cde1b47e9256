//! What breaks while a job runs: the device, the disk's space.

use iobound_lab::{FailingVolume, SmallDisk, require};

use crate::support::{BROKE, Case, Outcome};

const MIB: u64 = 1 << 20;

/// Fails unless the run counted errors and kept what it had measured before.
#[track_caller]
fn assert_counted(outcome: &Outcome) {
    let run = outcome.record();
    let scenario = &run.scenarios[0];
    let counted = scenario.measurement.as_ref().map(|measurement| measurement.errors).unwrap_or(0);
    assert!(counted > 0, "no error was counted\n{outcome}");
    let moved = scenario.measurement.as_ref().is_some_and(|measurement| measurement.iops() > 0.0);
    assert!(moved, "what was measured before the fault is lost\n{outcome}");
}

#[test]
fn a_read_error_is_counted_and_reported() {
    for engine in ["io_uring", "libaio", "psync"] {
        let Some(volume) = require(FailingVolume::build(32 * MIB)) else { return };
        let case = Case::new();
        let device = volume.device().display();
        let job = case
            .job(&format!("[a]\nfilename={device}\ndirect=1\nrw=randread\nbs=4k\ntime_based\nruntime=5\n"));
        let mut running = case.start(&[&job, "--engine", engine]);
        running.let_measure(1, 1.0);
        volume.fail_reads().unwrap();
        let outcome = running.finish().expect(&[BROKE]);
        let outcome =
            outcome.expect_reports(&["i/o error|input/output|EIO", volume.device().to_str().unwrap()]);
        assert_counted(&outcome);
    }
}

#[test]
fn a_write_error_is_counted_and_reported() {
    for engine in ["io_uring", "libaio", "psync"] {
        let Some(mut volume) = require(FailingVolume::build(32 * MIB)) else { return };
        let case = Case::new();
        let device = volume.device().to_str().unwrap().to_owned();
        let job = case
            .job(&format!("[a]\nfilename={device}\ndirect=1\nrw=randwrite\nbs=4k\ntime_based\nruntime=5\n"));
        let mut running = case.start(&[&job, "--engine", engine, "--destroy-data", &device]);
        running.let_measure(1, 1.0);
        volume.fail_writes().unwrap();
        let outcome =
            running.finish().expect(&[BROKE]).expect_reports(&["i/o error|input/output|EIO", &device]);
        assert_counted(&outcome);
    }
}

#[test]
fn a_later_job_still_finds_the_earlier_ones_result() {
    let Some(volume) = require(FailingVolume::build(32 * MIB)) else { return };
    let case = Case::new();
    let device = volume.device().display();
    let job = case.job(&format!(
        "[global]\nfilename={device}\ndirect=1\nrw=randread\nbs=4k\ntime_based\nstonewall\n\
         [first]\nruntime=1\n[second]\nruntime=5\n"
    ));
    let mut running = case.start(&[&job]);
    running.let_measure(2, 1.0);
    volume.fail_reads().unwrap();
    let outcome = running.finish().expect(&[BROKE]);
    let first = outcome.record().scenarios.first().and_then(|scenario| scenario.measurement.clone());
    assert!(first.is_some_and(|measurement| measurement.errors == 0), "{outcome}");
}

#[test]
fn a_disk_that_fills_up_mid_run() {
    let Some(disk) = require(SmallDisk::ext4(64 * MIB)) else { return };
    let case = Case::on(disk.dir());
    // The file grows as it is written, so that another writer can take the space it counted on.
    let job = case.job("[a]\ndirect=1\nrw=write\nbs=64k\nsize=40m\nrate=6m\nfallocate=none\noverwrite=0\n");
    let mut running = case.start(&[&job]);
    running.let_measure(1, 1.0);
    disk.fill().unwrap();
    let outcome = running.finish().expect(&[BROKE]).expect_reports(&["space"]);
    assert_counted(&outcome);
    let left: Vec<_> = case.files().into_iter().filter(|path| path.is_file()).collect();
    assert_eq!(left, [disk.dir().join("filler")], "only the other writer's file stays\n{outcome}");
}
