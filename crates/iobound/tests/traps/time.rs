//! Clocks that step, and latency that starts too late.

use std::process::Command;

use iobound_lab::{ThrottledVolume, require, skip};
use iobound_record::Severity;

use crate::support::{Case, IOBOUND, alone, assert_near, fio};
use crate::{has, named, not_named};

const MIB: u64 = 1 << 20;

/// A library that sets the wall clock an hour back for the program alone, two seconds after its start.
const STEPPING_CLOCK: &str = r#"
#define _GNU_SOURCE
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
int clock_gettime(clockid_t id, struct timespec *ts) {
    static struct timespec first;
    struct timespec now;
    int done = syscall(SYS_clock_gettime, id, ts);
    if (done == 0 && id == CLOCK_REALTIME) {
        syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
        if (first.tv_sec == 0) first = now;
        if (now.tv_sec - first.tv_sec >= 2) ts->tv_sec -= 3600;
    }
    return done;
}
"#;

#[test]
fn a_clock_that_is_set_in_mid_run() {
    let _turn = alone();
    let case = Case::new();
    let (source, library) = (case.beside("clock.c"), case.beside("clock.so"));
    std::fs::write(&source, STEPPING_CLOCK).unwrap();
    match Command::new("cc").args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source).output() {
        Ok(made) => assert!(made.status.success(), "{made:?}"),
        Err(_) => {
            skip("no C compiler (cc) to build a clock that steps");
            return;
        }
    }
    let job = case.job(
        "[a]\nioengine=io_uring\nrw=randread\nbs=4k\nsize=16m\noverwrite=1\ndirect=1\nrate_iops=200\ntime_based\nruntime=4\n",
    );
    let mut command = Command::new(IOBOUND);
    command.env("LD_PRELOAD", &library);
    let outcome = case.run_as(command, &[&job]).expect(&[0]);
    let found = named(&outcome, "clock-stepped");
    assert_eq!(found.severity, Severity::Note);
    has(&found, &["60.0 min back"]);
    // The figures know nothing of it.
    let measured = outcome.measurement();
    assert_near("seconds", measured.runtime_ns as f64 / 1e9, 4.0, 5.0);
    assert_near("rate", measured.iops(), 200.0, 5.0);
    let samples = outcome.record().scenarios[0].samples.clone().unwrap();
    assert_near("seconds sampled", samples.covered_ns as f64 / 1e9, 4.0, 10.0);
}

#[test]
fn latency_under_a_rate_that_the_device_cannot_hold() {
    let _turn = alone();
    let Some(volume) = require(ThrottledVolume::builder().size(64 * MIB).iops(500).build()) else { return };
    let case = Case::new();
    let run = |rate: u32, engine: &str| {
        let job = case.job(&format!(
            "[a]\nioengine=io_uring\nfilename={}\nrw=randread\nbs=4k\niodepth=4\ndirect=1\nrate_iops={rate}\ntime_based\nruntime=3\n",
            volume.device().display()
        ));
        case.run_as(volume.command(IOBOUND), &[&job, "--engine", engine]).expect_done()
    };
    let found = named(&run(700, "io_uring"), "closed-loop-latency");
    assert_eq!(found.severity, Severity::Warning);
    has(&found, &["from the intended start", "from submission"]);
    // At a rate that the device holds both latencies are one.
    let mut held = run(100, "io_uring");
    for _ in 0..2 {
        if held.record().findings.iter().all(|finding| finding.id != "closed-loop-latency") {
            break;
        }
        held = run(100, "io_uring");
    }
    not_named(&held, "closed-loop-latency");
    // An engine that knows no intended start cannot tell.
    if fio::is_installed() {
        has(&named(&run(100, "fio"), "closed-loop-latency"), &["fio keeps no scheduled starts"]);
    }
}
