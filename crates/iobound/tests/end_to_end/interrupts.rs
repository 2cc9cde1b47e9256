//! Ctrl-C and SIGTERM at any moment: what was measured is kept, files are removed.

use std::time::Instant;

use rustix::process::Signal;

use crate::support::{BROKE, Case, alone};

/// Three jobs of a second each, on files of their own.
const JOBS: &str = "[global]\ndirect=1\nrw=randwrite\nbs=4k\nsize=16m\ntime_based\nruntime=1\nstonewall\n\
                    [one]\n[two]\n[three]\n";

/// Conventional codes of a program that a signal ended, besides our own.
const ENDED: [i32; 3] = [BROKE, 130, 143];

/// Ending means removing files that may be half written back: at once, but as the disk allows.
const END_S_MAX: f64 = 8.0;

/// Fails unless the run ended soon after `signal`, `seconds` in, and left all in order.
fn interrupted(signal: Signal, seconds: f64) {
    let case = Case::new();
    let job = case.job(JOBS);
    let running = case.start(&[&job]);
    running.let_run(seconds);
    let sent = Instant::now();
    running.signal(signal);
    let outcome = running.finish();
    assert!(sent.elapsed().as_secs_f64() < END_S_MAX, "slow to end\n{outcome}");
    assert!(case.files().is_empty(), "{signal:?} at {seconds:.3} s left {:?}\n{outcome}", case.files());
    if outcome.signal().is_some() {
        // Before it could install a handler: there is nothing to keep yet.
        assert!(seconds < 0.2, "ended by the signal itself at {seconds:.3} s\n{outcome}");
        return;
    }
    let outcome = outcome.expect(&ENDED);
    let outcome = outcome.expect_reports(&["interrupt|signal|cut short"]);
    let Some(run) = outcome.try_record() else {
        assert!(!outcome.stderr.contains("measuring"), "a job ran, and there is no record\n{outcome}");
        return;
    };
    assert!(run.interrupted, "the record does not say that it was cut short\n{outcome}");
    if outcome.stderr.contains("two") {
        assert!(run.scenarios.first().is_some_and(|one| one.measurement.is_some()), "{outcome}");
    }
}

#[test]
fn at_random_moments() {
    let _turn = alone();
    // Different moments each time; the failure message tells which one it was.
    let mut state = std::process::id() | 1;
    for i in 0..10 {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let seconds = f64::from(state % 3000) / 1000.0;
        interrupted(if i % 2 == 0 { Signal::INT } else { Signal::TERM }, seconds);
    }
}

#[test]
fn twice_in_a_row() {
    let case = Case::new();
    let job = case.job(JOBS);
    let running = case.start(&[&job]);
    running.let_run(3.0);
    running.signal(Signal::INT);
    running.signal(Signal::INT);
    let outcome = running.finish();
    assert!(case.files().is_empty(), "left {:?}\n{outcome}", case.files());
}

#[test]
fn a_killed_run_does_not_lock_out_the_next() {
    let case = Case::new();
    let job = case.job(JOBS);
    let running = case.start(&[&job]);
    running.let_run(3.0);
    running.signal(Signal::KILL);
    assert_eq!(running.finish().signal(), Some(9));
    // Its files may still be there, since nobody could remove them; they are ours to take over.
    let outcome = case.run(&[&job]).expect_done();
    assert!(case.files().is_empty(), "left {:?}\n{outcome}", case.files());
}
