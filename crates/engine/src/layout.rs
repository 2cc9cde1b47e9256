//! Laying out: data in every block before the job, so that reads come from the device and writes
//! overwrite.
//!
//! A device answers a read of space that was never written without touching its medium, and a file
//! system turns the first write of reserved space into a metadata update: either gives numbers that a
//! database, whose files are written and recycled, never sees.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use iobound_record::{EngineChoice, Fallocate, Job, LayoutFacts, Rw, Verify};

use crate::backend::{Aio, Backend, Psync, Resources, Uring};
use crate::buffers::Buffers;
use crate::choose::choose;
use crate::clock::{Clock, Ticks, kernel_ns};
use crate::control::{Control, Phase};
use crate::error::EngineError;
use crate::files::{self, Ledger, Opened};
use crate::payload::{Payload, filler_of};
use crate::worker::{Counted, Window, Worker};
use crate::workload::{Region, Workload};

/// Large enough for any device's bandwidth, small enough to stop within moments.
const BLOCK: u64 = 1 << 20;
/// In flight at once.
const DEPTH: u32 = 8;

/// Lays out as much of a new file as `longest` allows, at least `least` bytes and at most `most`, and
/// cuts the file there: a working set that a slow device can be given within the patience of a person.
///
/// # Errors
/// The file exists, there is no room, or the device failed a write.
pub fn lay_out_within(
    path: &Path,
    (least, most): (u64, u64),
    longest: Duration,
    ledger: &mut Ledger,
    control: &Control,
) -> Result<LayoutFacts, EngineError> {
    let job = Job::default();
    let engine = choose(EngineChoice::Auto, DEPTH)?.engine;
    ledger.create(path)?;
    control.enter(Phase::LayingOut, Some(longest.as_nanos() as u64), Some(most));
    let start = kernel_ns();
    let deadline = |elapsed: u64| {
        let left = (longest.as_nanos() as u64).saturating_sub(elapsed);
        Clock::get().now() + Clock::get().to_ticks(left)
    };
    files::reserve(path, least, Fallocate::Native)?;
    let mut end = lay_out(path, 0, least, &job, engine, control, Ticks::MAX)?;
    if end == least && most > least {
        end = lay_out(path, least, most, &job, engine, control, deadline(kernel_ns() - start))?;
        let cut = File::options().write(true).open(path).and_then(|file| file.set_len(end));
        cut.map_err(|error| EngineError::open(path, "cannot be cut", error))?;
    }
    ledger.set_data_len(path, end);
    Ok(LayoutFacts { bytes: end, runtime_ns: kernel_ns() - start })
}

/// Writes data into bytes `from..to` of a file. Returns the end of what was written, which is below
/// `to` only when the run was stopped or `deadline` passed.
///
/// # Errors
/// No room, or the device failed a write.
pub(crate) fn lay_out(
    path: &Path,
    from: u64,
    to: u64,
    job: &Job,
    engine: EngineChoice,
    control: &Control,
    deadline: Ticks,
) -> Result<u64, EngineError> {
    files::reserve(path, to, Fallocate::Native)?;
    let writer = Job {
        rw: Rw::Write,
        bs: BLOCK,
        bsrange: None,
        bssplit: None,
        iodepth: DEPTH,
        offset: None,
        // Direct where it can be, so that the page cache is neither filled nor measured.
        direct: files::open(path, &Job { direct: true, offset: None, bs: BLOCK, ..Job::default() }, true)
            .is_ok(),
        refill_buffers: true,
        verify: Verify::None,
        sync: iobound_record::SyncMode::None,
        fsync: 0,
        fdatasync: 0,
        ..job.clone()
    };
    let opened = files::open(path, &writer, true)?;
    let start = from / BLOCK * BLOCK;
    let whole = (to - start) / BLOCK * BLOCK;
    let mut done = start;
    if whole > 0 {
        done += write_blocks(&opened, &writer, (start, whole), engine, control, deadline)?;
    }
    if done == start + whole && done < to {
        write_tail(path, &writer, done, to)?;
        done = to;
    }
    rustix::fs::fsync(&opened.file)
        .map_err(|error| EngineError::broke("fsync of the laid-out file", error))?;
    files::drop_cache(&opened.file);
    Ok(done.min(to))
}

/// Returns how many bytes were written.
fn write_blocks(
    opened: &Opened,
    job: &Job,
    (start, len): (u64, u64),
    engine: EngineChoice,
    control: &Control,
    deadline: Ticks,
) -> Result<u64, EngineError> {
    let depth = if engine == EngineChoice::Psync { 1 } else { DEPTH };
    let mut buffers = Buffers::new(depth as usize, BLOCK as usize)
        .map_err(|error| EngineError::broke("buffers for laying out", error))?;
    let fds = [opened.file.as_raw_fd()];
    let resources = Resources { depth, files: &fds, buffers: &buffers };
    let broke = |error| EngineError::broke("starting the engine for laying out", error);
    let regions = vec![Region { file: 0, start, len }];
    let run = Run { job, regions, control, depth, deadline };
    let counted = match engine {
        EngineChoice::Libaio => run.with(Aio::new(&resources).map_err(broke)?, &mut buffers),
        EngineChoice::Psync => run.with(Psync::new(&fds), &mut buffers),
        _ => run.with(Uring::new(&resources).map_err(broke)?.0, &mut buffers),
    }?;
    if let Some((error, _)) = counted.errors.in_words().into_iter().next() {
        let (cause, remedy) = error.split_once("; ").unwrap_or((&error, "look at the kernel log (dmesg)"));
        return Err(EngineError::target(&opened.path, format!("laying out: {cause}"), remedy));
    }
    Ok(counted.tally.lanes[1].bytes)
}

/// What both engines run.
struct Run<'a> {
    job: &'a Job,
    regions: Vec<Region>,
    control: &'a Control,
    depth: u32,
    deadline: Ticks,
}

impl Run<'_> {
    fn with<B: Backend>(self, backend: B, buffers: &mut Buffers) -> Result<Counted, EngineError> {
        let bytes = self.regions.iter().map(|region| region.len).sum();
        let mut workload = Workload::new(self.job, self.regions, 0, bytes, u64::MAX);
        let mut payload = Payload::new(self.job, filler_of(self.job)?, u64::MAX);
        let clock = Clock::get();
        let worker = Worker {
            backend,
            buffers,
            workload: &mut workload,
            payload: Some(&mut payload),
            verifier: None,
            pace: None,
            depth: self.depth,
            batch: 1,
            clock,
            window: Window { measure_from: clock.now(), deadline: self.deadline, interval: u64::MAX / 4 },
            control: self.control,
            published: self.control.lane(),
            series: None,
        };
        worker.run().map_err(|error| EngineError::broke("laying out", error))
    }
}

/// The part behind the last whole block, through the page cache: its length may be any.
fn write_tail(path: &Path, job: &Job, from: u64, to: u64) -> Result<(), EngineError> {
    let opened = files::open(path, &Job { direct: false, ..job.clone() }, true)?;
    let mut data = vec![0; (to - from) as usize];
    filler_of(job)?.fill(u64::MAX, from, &mut data);
    opened
        .file
        .write_all_at(&data, from)
        .and_then(|()| opened.file.sync_data())
        .map_err(|error| EngineError::open(path, "laying out", error))
}
