//! The writer: record, sync, acknowledgement, and so on.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use iobound_engine::Histogram;
use iobound_record::units;

use super::ack::{Hello, Line, Step, VERSION, Why};
use super::ack_sink::{AckSink, Place};
use super::geometry::{Geometry, Pattern};
use super::options::{Preallocate, Sync};
use super::record::{self, Key};
use super::same_storage;
use super::say;
use super::tally::Tally;
use super::target::{self, Admitted, Aligned};
use crate::exit::{self, Failure};
use crate::stop::Stop;

/// How often the main thread looks whether the run is over.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Size of a file that is made.
const SIZE: u64 = units::GIB;

/// What is asked.
pub struct Wish {
    /// File or device to write to.
    pub target: PathBuf,
    /// Where the acknowledgements go.
    pub acks: Place,
    /// Bytes of the target that are used; None: all of an existing one.
    pub size: Option<u64>,
    /// Bytes of a record.
    pub bs: u64,
    /// Threads.
    pub threads: u32,
    /// How each write is made durable.
    pub sync: Sync,
    /// What happens after the last slot.
    pub pattern: Pattern,
    /// What is done to the file before; None: what suits the pattern.
    pub preallocate: Option<Preallocate>,
    /// When to stop.
    pub runtime: Option<Duration>,
    /// Past the page cache, where that can be.
    pub direct: bool,
    /// Existing files may be written.
    pub overwrite: bool,
    /// Devices that may be written.
    pub destroy_data: Vec<PathBuf>,
    /// The log may be where the target is.
    pub acks_on_same_storage: bool,
    /// Show nothing while running.
    pub quiet: bool,
}

/// Writes until it is stopped, and returns the exit code.
///
/// # Errors
/// A refusal; the storage or the other side failed.
pub fn write(wish: &Wish, stop: &Stop) -> Result<u8, Failure> {
    check_before_touching(wish)?;
    let admitted = target::admit(&wish.target, wish.overwrite, &wish.destroy_data, wish.bs)?;
    admitted.notes.iter().for_each(|note| eprintln!("note: {}: {note}", admitted.path.display()));
    let size = wish.size.or(admitted.len.filter(|&len| len > 0)).unwrap_or(SIZE);
    if let (true, Some(len)) = (admitted.is_device, admitted.len.filter(|&len| len < size)) {
        return Err(Failure::usage(format!("--size {size}: the device has {len} bytes")));
    }
    let geometry = Geometry::new(wish.bs, wish.threads, size, wish.pattern).map_err(Failure::usage)?;
    let preallocate = match wish.preallocate {
        _ if admitted.is_device => Preallocate::None,
        Some(preallocate) => preallocate,
        None if wish.pattern == Pattern::Append => Preallocate::None,
        None => Preallocate::Write,
    };
    // A file of its own for each thread: the kernel tells of a failed write-back once for each, and a thread
    // whose data was lost must not be the one that is not told.
    let opened: Result<Vec<_>, Failure> =
        (0..wish.threads).map(|_| admitted.open(wish.sync, wish.direct)).collect();
    let (files, direct): (Vec<File>, Vec<bool>) = opened?.into_iter().unzip();
    let direct = direct.iter().all(|direct| *direct);
    if wish.direct && !direct {
        eprintln!("note: O_DIRECT is refused here: the writes go through the page cache");
    }
    let hello = hello(&admitted, geometry, wish.sync, direct, preallocate);
    let sink = AckSink::open(&wish.acks, &hello)?;
    if sink.is_this_machine() {
        eprintln!(
            "note: the acknowledgements go to this very machine: they outlive the cut only on a volume that keeps \
             its power, and as far as that side has synced them"
        );
    }
    if preallocate == Preallocate::Write && !admitted.is_device {
        eprintln!("writing {} in full first", units::bytes(geometry.bytes()));
    }
    admitted.preallocate(&geometry, preallocate, stop)?;
    run(Writer::new(hello, files, sink), &admitted, wish, stop)
}

/// What can be refused while there is no file yet.
fn check_before_touching(wish: &Wish) -> Result<(), Failure> {
    let least = wish.bs.saturating_mul(u64::from(wish.threads)).saturating_mul(2);
    Geometry::new(wish.bs, wish.threads, wish.size.unwrap_or(least), wish.pattern).map_err(Failure::usage)?;
    let (Place::File(log), false) = (&wish.acks, wish.acks_on_same_storage) else { return Ok(()) };
    let Some(evidence) = same_storage::evidence(log, &wish.target) else { return Ok(()) };
    Err(Failure::usage(format!(
        "--acks {}: it would lose its power with the target\n  evidence: {evidence}\n  remedy: name another \
         volume that you trust, or HOST:PORT of another machine; --acks-on-same-storage overrules this",
        log.display()
    )))
}

fn hello(
    admitted: &Admitted,
    geometry: Geometry,
    sync: Sync,
    direct: bool,
    preallocate: Preallocate,
) -> Hello {
    Hello {
        version: VERSION,
        run: fresh_run(),
        iobound: env!("CARGO_PKG_VERSION").into(),
        started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        boot: boot_id(),
        target: admitted.path.display().to_string(),
        geometry,
        sync,
        direct,
        preallocate,
    }
}

/// What the threads share.
struct Writer {
    hello: Hello,
    /// One for each thread.
    files: Vec<File>,
    sink: AckSink,
    over: AtomicBool,
    acknowledged: AtomicU64,
    failure: Mutex<Option<String>>,
    syncs: Mutex<Histogram>,
}

impl Writer {
    fn new(hello: Hello, files: Vec<File>, sink: AckSink) -> Self {
        Writer {
            hello,
            files,
            sink,
            over: AtomicBool::new(false),
            acknowledged: AtomicU64::new(0),
            failure: Mutex::new(None),
            syncs: Mutex::new(Histogram::default()),
        }
    }

    /// One thread, until it is all over.
    fn thread(&self, thread: u32) {
        let geometry = self.hello.geometry;
        let mut block = Aligned::new(geometry.bs as usize);
        let mut syncs = Histogram::default();
        for seq in 1..=geometry.last() {
            if self.over.load(Ordering::Relaxed) {
                break;
            }
            record::render(Key { run: self.hello.run, thread, seq }, &geometry, block.bytes());
            let slot = geometry.slot(thread, seq);
            let started = Instant::now();
            if let Err((step, error)) = self.make_durable(&self.files[thread as usize], block.bytes(), slot) {
                self.give_up(thread, seq, step, &error);
                break;
            }
            syncs.record(started.elapsed().as_nanos() as u64);
            // Only now: the storage has said that the record is durable.
            let (run, generation) = (self.hello.run, geometry.generation(seq));
            if let Err(error) = self.sink.send(&Line::Ack { run, thread, seq, slot, generation }) {
                self.fail(format!("an acknowledgement cannot be sent, the other side is gone: {error}"));
                break;
            }
            self.acknowledged.fetch_add(1, Ordering::Relaxed);
        }
        locked(&self.syncs).merge(&syncs);
    }

    fn make_durable(&self, file: &File, block: &[u8], slot: u64) -> Result<(), (Step, io::Error)> {
        let at = slot * u64::from(self.hello.geometry.bs);
        file.write_all_at(block, at).map_err(|error| (Step::Write, error))?;
        let synced = match self.hello.sync {
            Sync::Fdatasync => file.sync_data(),
            Sync::Fsync => file.sync_all(),
            Sync::Odsync | Sync::Osync | Sync::None => Ok(()),
        };
        synced.map_err(|error| (Step::Sync, error))
    }

    /// A failed sync is not tried again: the kernel may have dropped what it could not write, and the
    /// next one would succeed for nothing.
    fn give_up(&self, thread: u32, seq: u64, step: Step, error: &io::Error) {
        let errno = error.raw_os_error().unwrap_or(0);
        let _ = self.sink.send(&Line::Fail { run: self.hello.run, thread, seq, step, errno });
        let what = match step {
            Step::Write => "a write failed".into(),
            Step::Sync => format!("a sync ({}) failed", self.hello.sync),
        };
        self.fail(format!("{}: {what}: {error}{}", self.hello.target, target::remedy(error)));
    }

    fn fail(&self, words: String) {
        locked(&self.failure).get_or_insert(words);
        self.over.store(true, Ordering::SeqCst);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Runs the threads, says how it went, and returns the exit code. The target stays admitted: nobody
/// else may write to it meanwhile.
fn run(writer: Writer, _admitted: &Admitted, wish: &Wish, stop: &Stop) -> Result<u8, Failure> {
    eprintln!("{}", announcement(&writer.hello));
    let deadline = wish.runtime.map(|runtime| Instant::now() + runtime);
    let mut timed_out = false;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..wish.threads)
            .map(|thread| {
                let writer = &writer;
                scope.spawn(move || writer.thread(thread))
            })
            .collect();
        let mut tally = Tally::new(wish.quiet);
        while !threads.iter().all(|thread| thread.is_finished()) {
            std::thread::sleep(LOOK_EVERY);
            tally.show(writer.acknowledged.load(Ordering::Relaxed), "writes acknowledged");
            if let Some(why) = writer.sink.gone() {
                writer.fail(why);
            }
            timed_out |= deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if timed_out || stop.is_asked() {
                writer.over.store(true, Ordering::SeqCst);
            }
        }
    });
    let Writer { hello, sink, acknowledged, failure, syncs, .. } = writer;
    let failure = failure.into_inner().unwrap_or_default();
    let why = match () {
        () if failure.is_some() => Why::Failed,
        () if stop.is_asked() => Why::Stopped,
        () if timed_out => Why::Runtime,
        () => Why::Full,
    };
    let acknowledged = acknowledged.into_inner();
    let told = sink.finish(&Line::End { run: hello.run, why, acknowledged });
    let syncs = syncs.into_inner().unwrap_or_default().summary();
    say(&format!(
        "run {:016x}: {acknowledged} writes acknowledged; {} took {} (p50), {} (p99), {} at most",
        hello.run,
        if hello.sync == Sync::None {
            "a write, not synced,".into()
        } else {
            format!("write and {}", hello.sync)
        },
        units::duration(syncs.p50),
        units::duration(syncs.p99),
        units::duration(syncs.max)
    ));
    if let Some(words) = failure.or(told.err()) {
        return Err(Failure::broke(format!("{words}\n  {acknowledged} writes were acknowledged before")));
    }
    say(&format!(
        "It ended {}, not by a power cut: 'verify' can find a loss now, and cannot prove that there would be none.",
        match why {
            Why::Stopped => "because it was stopped",
            Why::Runtime => "after its runtime",
            _ => "with the last slot",
        }
    ));
    // Without a runtime there is no other end than being stopped.
    Ok(if why == Why::Stopped && wish.runtime.is_some() { exit::BROKE } else { exit::DONE })
}

fn announcement(hello: &Hello) -> String {
    let geometry = &hello.geometry;
    format!(
        "writing: run {:016x}, {} thread{}, records of {} in {} of {}, {}, {}\n\
         Cut the power (not a reset: a volatile cache outlives that) at any moment, start again, and run:\n  \
         iobound durability verify --target {} --acks LOG",
        hello.run,
        geometry.threads,
        if geometry.threads == 1 { "" } else { "s" },
        units::bytes(geometry.bs.into()),
        units::bytes(geometry.bytes()),
        hello.target,
        if hello.direct { "O_DIRECT" } else { "buffered" },
        match hello.sync {
            Sync::None => "not synced: this is the control, which must lose something".into(),
            sync => format!("each made durable by {sync}"),
        },
        hello.target,
    )
}

fn fresh_run() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    // Seeded by the system's randomness.
    RandomState::new().hash_one((std::process::id(), jiff::Timestamp::now()))
}

/// The kernel's name for the time between two boots; empty where it has none.
pub fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().into()
}
