//! Reading a stream back and holding every byte against what was written.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use iobound_record::{EngineChoice, VerifyOutcome};

use super::compare::Comparison;
use super::file::FileOutlet;
use super::sink::Outlet;
use super::source::{Cursor, Source};
use crate::backend::{Aio, Backend, Completion, Io, Op, Psync, Resources, Uring};
use crate::buffers::Buffers;
use crate::clock::kernel_ns;
use crate::control::{Control, Phase, Published};
use crate::error::{EngineError, describe};
use crate::files;
use crate::verify::merge;

/// Read at once: what most devices read fastest, and little enough that three are no burden.
const PIECE: u64 = 1 << 20;
/// In flight at once a thread.
const DEPTH: u32 = 4;

/// What reading back found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadBack {
    /// Bytes read and compared.
    pub bytes: u64,
    /// Time that took.
    pub runtime_ns: u64,
    /// Blocks of 4 KiB: how many were as written, and how many were not.
    pub outcome: VerifyOutcome,
}

/// Reads bytes `0..to` of `outlet` with `threads` threads and compares them with `source`. What the page
/// cache holds is dropped first.
///
/// # Errors
/// No memory, no engine. A piece that cannot be read is counted as corrupt.
pub fn read_back(
    outlet: &FileOutlet,
    source: &Source,
    to: u64,
    threads: u32,
    control: &Control,
) -> Result<ReadBack, EngineError> {
    read(outlet, Some(source), to, threads, control)
}

/// As [`read_back`], of content that nobody knows: nothing is compared, and what cannot be read is an error.
///
/// # Errors
/// No memory, no engine, a piece that cannot be read.
pub fn read_through(
    outlet: &FileOutlet,
    to: u64,
    threads: u32,
    control: &Control,
) -> Result<ReadBack, EngineError> {
    let read = read(outlet, None, to, threads, control)?;
    match read.outcome.examples.first() {
        Some(words) => Err(EngineError::broke("reading", io::Error::other(words.clone()))),
        None => Ok(ReadBack { outcome: VerifyOutcome::default(), ..read }),
    }
}

fn read(
    outlet: &FileOutlet,
    source: Option<&Source>,
    to: u64,
    threads: u32,
    control: &Control,
) -> Result<ReadBack, EngineError> {
    let _ = rustix::fs::fdatasync(outlet.reader());
    files::drop_cache(outlet.reader());
    control.enter(Phase::Verifying, None, Some(to));
    let cursor = Cursor::new(0, to, PIECE);
    let start = kernel_ns();
    let outcomes = std::thread::scope(|scope| {
        let handles: Vec<_> =
            (0..threads.max(1)).map(|_| scope.spawn(|| check(outlet, source, &cursor, control))).collect();
        handles
            .into_iter()
            .map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Result<Vec<_>, EngineError>>()
    })?;
    Ok(ReadBack { bytes: cursor.taken(), runtime_ns: kernel_ns() - start, outcome: merge(outcomes) })
}

fn check(
    outlet: &FileOutlet,
    source: Option<&Source>,
    cursor: &Cursor,
    control: &Control,
) -> Result<VerifyOutcome, EngineError> {
    let mut buffers = Buffers::new(DEPTH as usize, PIECE as usize)
        .map_err(|error| EngineError::broke("mapping buffers", error))?;
    let fds = [outlet.reader().as_raw_fd()];
    let resources = Resources { depth: DEPTH, files: &fds, buffers: &buffers };
    let broke = |error| EngineError::broke("reading back", error);
    let published = control.lane();
    let mut reader = Reader { source, cursor, control, published, granule: outlet.granule() as usize };
    match outlet.engine() {
        EngineChoice::Psync => reader.run(Psync::new(&fds), &mut buffers),
        EngineChoice::Libaio => Aio::new(&resources).and_then(|aio| reader.run(aio, &mut buffers)),
        _ => Uring::new(&resources).and_then(|(uring, _)| reader.run(uring, &mut buffers)),
    }
    .map_err(broke)
}

struct Reader<'a> {
    source: Option<&'a Source>,
    cursor: &'a Cursor,
    control: &'a Control,
    published: &'a Published,
    granule: usize,
}

impl Reader<'_> {
    fn run<B: Backend>(&mut self, mut backend: B, buffers: &mut Buffers) -> io::Result<VerifyOutcome> {
        let mut comparison = self.source.map_or_else(Comparison::with_nothing, Comparison::new);
        let mut free: Vec<u32> = (0..DEPTH).collect();
        let mut pieces = [(0u64, 0usize); DEPTH as usize];
        let mut completions: Vec<Completion> = Vec::new();
        loop {
            while !self.control.is_stopped()
                && let Some(&slot) = free.last()
                && let Some((offset, len)) = self.cursor.take()
            {
                free.pop();
                pieces[slot as usize] = (offset, len);
                // Direct reads go in whole granules; the end of the file cuts the last one short.
                let asked = len.next_multiple_of(self.granule) as u32;
                let buffer = buffers.pointer(slot);
                backend.push(&Io { slot, op: Op::Read, file: 0, offset, len: asked, buffer });
                backend.submit(0, None)?;
            }
            if free.len() == DEPTH as usize {
                return Ok(comparison.outcome);
            }
            backend.reap(&mut completions);
            if completions.is_empty() {
                backend.submit(1, Some(Duration::from_millis(100)))?;
                backend.reap(&mut completions);
            }
            for completion in completions.drain(..) {
                let (offset, len) = pieces[completion.slot as usize];
                let data = buffers.slice_mut(completion.slot, len);
                let came = usize::try_from(completion.result).unwrap_or(0).min(len);
                comparison.hold(offset, &data[..came]);
                if came < len {
                    let why = match completion.result {
                        result if result < 0 => describe(&io::Error::from_raw_os_error(-result)),
                        _ => "the file ends there".into(),
                    };
                    comparison.missing(offset + came as u64..offset + len as u64, &why);
                }
                self.published.add(1, len as u64, 0);
                free.push(completion.slot);
            }
        }
    }
}
