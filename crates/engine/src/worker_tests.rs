//! The hot loop against a device in memory whose faults are known.

use std::sync::{Arc, Mutex};

use iobound_record::{Job, PerDirection, Rw, Verify, VerifyOutcome};

use crate::backend::Op;
use crate::backend::faulty::{Fault, Faulty, Medium};
use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::control::Control;
use crate::pace::Pace;
use crate::payload::{Payload, filler_of};
use crate::seal;
use crate::series::Series;
use crate::verify::Verifier;
use crate::worker::{Counted, Window, Worker};
use crate::workload::{Region, Workload};

const BS: u64 = 8192;
const BLOCKS: u64 = 64;

fn medium() -> Medium {
    Arc::new(Mutex::new(vec![0; (BS * (BLOCKS + 1)) as usize]))
}

fn job(rw: Rw) -> Job {
    Job { rw, bs: BS, iodepth: 8, verify: Verify::Crc32c, ..Job::default() }
}

/// Runs one pass (or what `job` says) and returns the counts and the verifier.
fn drive(job: &Job, medium: &Medium, faults: &[Fault], reversed: bool) -> (Counted, Verifier) {
    let regions = vec![Region { file: 0, start: 0, len: BS * BLOCKS }];
    let mut verifier = Verifier::new(BS, vec![42], &regions, job.rw.writes());
    let bytes = job.io_size.unwrap_or(BS * BLOCKS);
    let mut workload = Workload::new(job, regions, 0, bytes, job.number_ios.unwrap_or(u64::MAX));
    let mut buffers = Buffers::new(job.iodepth as usize, BS as usize).unwrap();
    let mut payload = Payload::new(job, filler_of(job).unwrap(), 0);
    (0..job.iodepth).for_each(|slot| payload.prefill(slot, buffers.slice_mut(slot, BS as usize)));
    let clock = Clock::get();
    let control = Control::default();
    let series = Series::new(1, 1_000_000_000);
    let mut backend = Faulty::new(medium, faults);
    backend.reversed = reversed;
    let now = clock.now();
    let deadline = job.runtime_ns.map_or(u64::MAX, |ns| now + clock.to_ticks(ns));
    let counted = Worker {
        backend,
        buffers: &mut buffers,
        workload: &mut workload,
        payload: Some(&mut payload),
        verifier: (job.verify != Verify::None).then_some(&mut verifier),
        pace: Pace::of(job, &clock, now),
        depth: job.iodepth,
        batch: job.iodepth,
        clock,
        window: Window { measure_from: now, deadline, interval: clock.to_ticks(1_000_000_000) },
        control: &control,
        published: control.lane(),
        series: Some(&series),
    }
    .run()
    .unwrap();
    (counted, verifier)
}

/// Reads every written block from the medium and returns what that found.
fn read_back(medium: &Medium, mut verifier: Verifier) -> VerifyOutcome {
    let medium = medium.lock().unwrap();
    for (file, offset) in verifier.written_blocks() {
        verifier.check_read(file, offset, &medium[offset as usize..(offset + BS) as usize]);
    }
    verifier.outcome().clone()
}

fn written(faults: &[Fault]) -> VerifyOutcome {
    let medium = medium();
    let (counted, verifier) = drive(&job(Rw::RandWrite), &medium, faults, false);
    assert_eq!(counted.tally.lanes[1].latency.count(), BLOCKS);
    read_back(&medium, verifier)
}

#[test]
fn a_sound_device_verifies() {
    let outcome = written(&[]);
    assert_eq!((outcome.checked, outcome.bad()), (BLOCKS, 0), "{outcome:?}");
}

#[test]
fn completions_may_come_in_any_order() {
    let medium = medium();
    let (_, verifier) = drive(&job(Rw::RandWrite), &medium, &[], true);
    assert_eq!(read_back(&medium, verifier).bad(), 0);
}

#[test]
fn a_lost_write_is_found() {
    let outcome = written(&[Fault::Lost(17)]);
    assert_eq!((outcome.lost, outcome.bad()), (1, 1), "{outcome:?}");
}

#[test]
fn a_torn_write_is_found() {
    let medium = medium();
    let twice = Job { io_size: Some(2 * BS * BLOCKS), ..job(Rw::RandWrite) };
    // In the second pass each block holds an older write, so half of one is two writes in one.
    let (_, verifier) = drive(&twice, &medium, &[Fault::Torn(BLOCKS + 9)], false);
    let outcome = read_back(&medium, verifier);
    assert_eq!((outcome.torn, outcome.bad()), (1, 1), "{outcome:?}");
}

#[test]
fn an_older_write_in_place_of_a_newer_is_found() {
    let medium = medium();
    let twice = Job { io_size: Some(2 * BS * BLOCKS), ..job(Rw::RandWrite) };
    let (_, verifier) = drive(&twice, &medium, &[Fault::Lost(BLOCKS + 5)], false);
    let outcome = read_back(&medium, verifier);
    assert_eq!((outcome.lost, outcome.bad()), (1, 1), "{outcome:?}");
    assert!(outcome.examples[0].contains("holds write 1, write 2 was acknowledged"), "{outcome:?}");
}

#[test]
fn a_misplaced_write_is_found() {
    let medium = medium();
    // The last write of the pass goes one block too far, over a block that was written before.
    let sequential = job(Rw::Write);
    let (_, verifier) = drive(&sequential, &medium, &[Fault::Misplaced(10, BS)], false);
    let outcome = read_back(&medium, verifier);
    // Block 10 never got its write; block 11 was overwritten again by its own.
    assert_eq!((outcome.lost, outcome.bad()), (1, 1), "{outcome:?}");
    let (_, verifier) =
        drive(&Job { rw: Rw::RandWrite, ..sequential }, &medium, &[Fault::Misplaced(BLOCKS - 1, 0)], false);
    assert_eq!(read_back(&medium, verifier).bad(), 0);
    let mut block = vec![1; BS as usize];
    seal::seal(&mut block, seal::Place { file_key: 42, offset: 5 * BS, generation: 1, run: 0 });
    medium.lock().unwrap()[..BS as usize].copy_from_slice(&block);
    let (_, verifier) = drive(&Job { number_ios: Some(0), ..job(Rw::RandWrite) }, &medium, &[], false);
    assert_eq!(read_back(&medium, verifier).checked, 0);
    let (counted, verifier) = drive(&job(Rw::Read), &medium, &[], false);
    assert_eq!(counted.tally.lanes[0].latency.count(), BLOCKS);
    assert_eq!(verifier.outcome().misplaced, 1, "{:?}", verifier.outcome());
}

#[test]
fn mixed_jobs_check_their_reads_as_they_go() {
    let medium = medium();
    let mixed = Job { norandommap: true, io_size: Some(40 * BS * BLOCKS), ..job(Rw::RandRw) };
    let (_, verifier) = drive(&mixed, &medium, &[], true);
    assert!(verifier.outcome().checked > 500, "{:?}", verifier.outcome());
    assert_eq!(verifier.outcome().bad(), 0, "{:?}", verifier.outcome());
    let (_, verifier) = drive(&mixed, &medium, &[Fault::Lost(3), Fault::Lost(4), Fault::Lost(5)], false);
    assert!(verifier.outcome().lost > 0, "{:?}", verifier.outcome());
}

#[test]
fn a_failed_operation_is_counted_and_not_timed() {
    let (counted, _) = drive(&job(Rw::Read), &medium(), &[Fault::Error(Op::Read, 3, libc::EIO)], false);
    assert_eq!(counted.errors.count, 1);
    assert_eq!(counted.tally.lanes[0].latency.count(), BLOCKS - 1);
    assert!(counted.errors.in_words()[0].0.starts_with("read: EIO"), "{:?}", counted.errors.in_words());
}

#[test]
fn a_dead_device_does_not_hold_the_run() {
    let endless = Job { io_size: Some(u64::MAX), verify: Verify::None, ..job(Rw::RandRead) };
    let (counted, _) = drive(&endless, &medium(), &[Fault::ErrorsFrom(Op::Read, 20, libc::EIO)], false);
    assert_eq!(counted.tally.lanes[0].latency.count(), 20);
    assert!(counted.errors.count >= 100 && counted.errors.count < 120, "{}", counted.errors.count);
}

#[test]
fn a_full_disk_ends_the_job_at_once() {
    let (counted, _) =
        drive(&job(Rw::Write), &medium(), &[Fault::ErrorsFrom(Op::Write, 16, libc::ENOSPC)], false);
    assert_eq!(counted.errors.count, 8, "what was in flight, and no more");
}

#[test]
fn short_operations_are_told() {
    let plain = Job { verify: Verify::None, ..job(Rw::Read) };
    let (counted, _) = drive(&plain, &medium(), &[Fault::Short(Op::Read, 2)], false);
    assert_eq!(counted.tally.lanes[0].short_ios, 1);
    assert_eq!(counted.tally.lanes[0].bytes, BS * BLOCKS - BS / 2);
}

#[test]
fn a_rate_is_held_and_timed_from_the_schedule() {
    let paced = Job {
        verify: Verify::None,
        rate_iops: PerDirection { read: Some(1000), write: None },
        io_size: Some(u64::MAX),
        runtime_ns: Some(300_000_000),
        ..job(Rw::RandRead)
    };
    let (counted, _) = drive(&paced, &medium(), &[], false);
    let lane = &counted.tally.lanes[0];
    assert!((290..=301).contains(&lane.latency.count()), "{}", lane.latency.count());
    assert_eq!(lane.scheduled.count(), lane.latency.count());
    assert!(lane.scheduled.sum_ns() >= lane.latency.sum_ns());
}

#[test]
fn think_time_spaces_operations() {
    let thinking = Job {
        verify: Verify::None,
        thinktime_ns: 5_000_000,
        thinktime_blocks: 4,
        number_ios: Some(40),
        ..job(Rw::RandRead)
    };
    let start = std::time::Instant::now();
    let (counted, _) = drive(&thinking, &medium(), &[], false);
    assert_eq!(counted.tally.lanes[0].latency.count(), 40);
    // Nine pauses lie between ten groups of four.
    assert!(start.elapsed().as_millis() >= 45, "{:?}", start.elapsed());
}
