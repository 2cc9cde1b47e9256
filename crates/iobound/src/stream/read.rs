//! Reading a file or device through: how fast, and, where its content is known, whether it is right.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use iobound_engine::stream::{FileOutlet, Source, read_back, read_through};
use iobound_engine::{Control, choose};
use iobound_fill::Filler;
use iobound_host::System;
use iobound_host::guard::{self, Intent, Policy, Wants};
use iobound_record::{EngineChoice, VerifyOutcome};

use crate::exit::Failure;
use crate::stop::Stop;

/// Ring depth asked of the engine when it is chosen; any ring can have it.
const DEPTH_TO_CHOOSE: u32 = 32;
/// Threads when nothing is said: each has several reads in flight.
const THREADS_DEFAULT: usize = 4;

/// What is read, and what it should hold.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// A file or device.
    pub path: PathBuf,
    /// Bytes from the start; None: all.
    pub size: Option<u64>,
    /// Past the page cache.
    pub direct: bool,
    /// Threads that read and compare; None: one on each processor, 4 at most.
    pub threads: Option<u32>,
    /// The content, where it is known.
    pub expected: Option<Expected>,
}

/// The content of a stream's first output, as it was written first.
#[derive(Clone, Debug)]
pub struct Expected {
    /// With its seed and ratios.
    pub filler: Filler,
}

/// What was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Bytes.
    pub bytes: u64,
    /// Time that took.
    pub runtime_ns: u64,
    /// How it compares, where the content is known.
    pub outcome: Option<VerifyOutcome>,
    /// Whether it was stopped.
    pub interrupted: bool,
}

/// Reads as the options say.
///
/// # Errors
/// It cannot be read.
pub fn read(options: &ReadOptions, stop: &Stop) -> Result<Reading, Failure> {
    let named = options.path.display();
    if std::fs::symlink_metadata(&options.path).is_err() {
        return Err(Failure::usage(format!("{named}: there is no such file")));
    }
    let policy = Policy { wants: Wants::File, ..Policy::default() };
    let _target = guard::check(&System::live(), &options.path, Intent::Read, &policy)?;
    let choice = choose(EngineChoice::Auto, DEPTH_TO_CHOOSE)?;
    let outlet = FileOutlet::open_to_read(&options.path, options.direct, choice.engine)?;
    let holds = File::open(&options.path).and_then(|mut file| file.seek(SeekFrom::End(0)));
    let holds = holds.map_err(|error| Failure::usage(format!("{named}: its size is not known: {error}")))?;
    let size = options.size.unwrap_or(holds);
    if size == 0 {
        return Err(Failure::usage(format!("{named}: 0 bytes: there is nothing to read")));
    }
    if size > holds {
        return Err(Failure::usage(format!(
            "{named}: has {holds} bytes, {size} are asked for; ask for {holds} or less"
        )));
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = options.threads.unwrap_or(cpus.min(THREADS_DEFAULT) as u32);
    let control = Arc::new(Control::default());
    stop.watch(&control);
    let found = match &options.expected {
        Some(expected) => {
            let source = Source { filler: expected.filler.clone(), stream: 0 };
            read_back(&outlet, &source, size, threads, &control)
        }
        None => read_through(&outlet, size, threads, &control),
    };
    stop.unwatch_all();
    let found = found?;
    Ok(Reading {
        bytes: found.bytes,
        runtime_ns: found.runtime_ns,
        outcome: options.expected.as_ref().map(|_| found.outcome),
        interrupted: stop.is_asked(),
    })
}
