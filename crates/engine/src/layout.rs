//! Laying out: data in every block before the job, so that reads come from the device and writes
//! overwrite.
//!
//! A device answers a read of space that was never written without touching its medium, and a file
//! system turns the first write of reserved space into a metadata update: either gives numbers that a
//! database, whose files are written and recycled, never sees.

use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use iobound_record::{EngineChoice, Fallocate, Job, Rw, Verify};

use crate::backend::{Aio, Backend, Psync, Resources, Uring};
use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::control::Control;
use crate::error::EngineError;
use crate::files::{self, Opened};
use crate::payload::{Payload, filler_of};
use crate::worker::{Counted, Window, Worker};
use crate::workload::{Region, Workload};

/// Large enough for any device's bandwidth, small enough to stop within moments.
const BLOCK: u64 = 1 << 20;
/// In flight at once.
const DEPTH: u32 = 8;

/// Writes data into bytes `from..to` of a file. Returns the end of what was written, which is below
/// `to` only when the run was stopped.
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
        done += write_blocks(&opened, &writer, start, whole, engine, control)?;
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
    start: u64,
    len: u64,
    engine: EngineChoice,
    control: &Control,
) -> Result<u64, EngineError> {
    let depth = if engine == EngineChoice::Psync { 1 } else { DEPTH };
    let mut buffers = Buffers::new(depth as usize, BLOCK as usize)
        .map_err(|error| EngineError::broke("buffers for laying out", error))?;
    let fds = [opened.file.as_raw_fd()];
    let resources = Resources { depth, files: &fds, buffers: &buffers };
    let broke = |error| EngineError::broke("starting the engine for laying out", error);
    let regions = vec![Region { file: 0, start, len }];
    let run = Run { job, regions, control, depth };
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
            window: Window { measure_from: clock.now(), deadline: u64::MAX, interval: u64::MAX / 4 },
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
