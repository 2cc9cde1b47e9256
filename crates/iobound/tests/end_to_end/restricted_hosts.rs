//! Hosts that allow less: no root, no io_uring, little locked memory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use iobound_record::EngineChoice;

use crate::support::{BROKE, Case, IOBOUND, Outcome, USAGE};

/// The user and group that own nothing, on Debian and elsewhere.
const NOBODY: &str = "65534";

/// A copy of the program that everybody may run, whatever directory it was built in.
fn program_for_all(case: &Case) -> PathBuf {
    let copy = case.beside("iobound");
    fs::copy(IOBOUND, &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    copy
}

/// The program as a user without rights; None, and said so, when this process may not become one.
pub fn as_nobody(case: &Case) -> Option<Command> {
    if !iobound_lab::is_root() {
        iobound_lab::skip("needs root to become somebody else");
        return None;
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--no-new-privs"]);
    command.arg(program_for_all(case));
    Some(command)
}

fn assert_ran(outcome: &Outcome) {
    assert!(outcome.measurement().read.ios > 0, "{outcome}");
}

#[test]
fn the_main_job_needs_no_root() {
    let case = Case::new();
    let Some(nobody) = as_nobody(&case) else { return };
    let outcome = case.run_as(nobody, &["quick", "--runtime", "1", "--size", "64m"]).expect_done();
    let run = outcome.record();
    assert!(run.scenarios.len() > 3, "{outcome}");
    assert!(run.scenarios.iter().all(|scenario| scenario.measurement.is_some()), "{outcome}");
    assert!(case.files().is_empty(), "left {:?}\n{outcome}", case.files());
}

#[test]
fn a_depth_over_the_memlock_limit_runs_or_says_so() {
    let case = Case::new();
    let Some(nobody) = as_nobody(&case) else { return };
    let mut command = Command::new("prlimit");
    command.arg("--memlock=65536").arg("--").arg(nobody.get_program()).args(nobody.get_args());
    let job = case.job("[a]\ndirect=1\nrw=randread\nbs=64k\niodepth=512\nsize=64m\nruntime=1\ntime_based\n");
    let outcome = case.run_as(command, &[&job, "--engine", "io_uring"]);
    if outcome.code() == Some(0) || outcome.code() == Some(1) {
        // It may go on without registered buffers, if it says that it does.
        let facts = outcome.measurement().engine_facts;
        assert!(facts.refused.iter().any(|line| line.contains("memlock")), "{facts:?}\n{outcome}");
    } else {
        outcome.expect(&[USAGE, BROKE]).expect_says(&["memlock", "ulimit|limit"]);
    }
    assert!(case.files().is_empty());
}

/// A program that runs another one as a host that forbids io_uring by seccomp would.
fn without_io_uring(case: &Case) -> Option<Command> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/without_io_uring.c");
    let program = case.beside("without_io_uring");
    match Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(source).output() {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(_) => {
            iobound_lab::skip("no C compiler (cc) to build a program without io_uring");
            return None;
        }
    }
    let mut command = Command::new(program);
    command.arg(IOBOUND);
    Some(command)
}

#[test]
fn without_io_uring_it_takes_the_next_engine() {
    let case = Case::new();
    let Some(command) = without_io_uring(&case) else { return };
    let job = case.job("[a]\ndirect=1\nrw=randread\nbs=4k\niodepth=8\nsize=8m\nruntime=1\ntime_based\n");
    let outcome = case.run_as(command, &[&job, "--engine", "auto"]).expect_done();
    assert_ran(&outcome);
    let measurement = outcome.measurement();
    assert_eq!(measurement.engine, EngineChoice::Libaio, "{outcome}");
    assert!(measurement.engine_facts.reason.contains("io_uring"), "{:?}", measurement.engine_facts);
}

#[test]
fn without_io_uring_asking_for_it_is_an_error() {
    let case = Case::new();
    let Some(command) = without_io_uring(&case) else { return };
    let job = case.job("[a]\ndirect=1\nrw=randread\nbs=4k\niodepth=8\nsize=8m\nruntime=1\ntime_based\n");
    let outcome = case.run_as(command, &[&job, "--engine", "io_uring"]).expect(&[USAGE, BROKE]);
    let outcome = outcome.expect_says(&["io_uring", "libaio|auto|seccomp|sysctl"]);
    assert!(case.files().is_empty(), "{outcome}");
}
