//! One job, from its files to its measurement.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use iobound_fill::Filler;
use iobound_record::{
    Direction, DirectionStats, EngineChoice, EngineFacts, Extent, Interval, Job, LayoutFacts, Measurement,
    ThreadStats, Verify, units,
};

use crate::backend::{Aio, Backend, Grants, Null, Psync, Resources, Uring};
use crate::buffers::Buffers;
use crate::choose::{Choice, choose};
use crate::clock::{Clock, Ticks, kernel_ns};
use crate::control::{Control, Phase};
use crate::cpu::Used;
use crate::error::EngineError;
use crate::files::{self, Ledger, Opened};
use crate::layout;
use crate::pace::Pace;
use crate::payload::{Payload, filler_of};
use crate::plan::{Existing, Plan, paths_of, plan};
use crate::read_back::read_back;
use crate::series::Series;
use crate::tally::{Errors, Tally};
use crate::verify::{self, Verifier};
use crate::worker::{Counted, Window, Worker};
use crate::workload::{Region, Workload};

/// Working set of the null engine when the job names none.
const NULL_SIZE: u64 = 1 << 40;
/// Operations handed to the kernel at once where the job does not say. A device that completes in bursts
/// (virtual disks do: a whole queue at a time) would stand idle while a whole queue is prepared: 64 at
/// once cost a virtio disk a tenth of its rate. One at a time costs a system call each. Between them
/// there is little to choose; a small batch also keeps stamps close to the submission.
const BATCH: u32 = 4;
/// Longest sleep between looks at the stop flag.
const NAP: Duration = Duration::from_millis(20);

/// Told when the measured time begins and ends, to read counters of its own at the same moments.
pub trait Observer: Sync {
    /// The ramp is over; from now on operations are recorded.
    fn begin(&self) {}
    /// Everything has come back.
    fn end(&self) {}
    /// Whether [`is_enough`](Self::is_enough) is to be asked at all.
    fn may_end_early(&self) -> bool {
        false
    }
    /// Asked, outside the threads of the job, when an interval of the series was closed: whether the job
    /// may end. `series` has all closed intervals so far, each of full length.
    fn is_enough(&self, _series: &[Interval]) -> bool {
        false
    }
}

/// An observer that does nothing.
impl Observer for () {}

/// A job with its files open and laid out, ready to run.
pub struct Prepared {
    job: Job,
    choice: Choice,
    files: Vec<Opened>,
    plan: Plan,
    layout: Option<LayoutFacts>,
    filler: Filler,
}

impl Prepared {
    /// Checks the job, makes and opens its files, and lays out what it needs laid out.
    ///
    /// # Errors
    /// A job that means nothing, an engine the host forbids, a target that cannot be used.
    pub fn new(job: &Job, ledger: &mut Ledger, control: &Control) -> Result<Self, EngineError> {
        control.enter(Phase::Preparing, None, None);
        job.validate()?;
        let mut job = job.clone();
        let choice = choose(job.ioengine, job.iodepth)?;
        if choice.engine == EngineChoice::Null && job.size.is_none() {
            job.size = Some(Extent::Bytes(NULL_SIZE));
        }
        let filler = filler_of(&job)?;
        let with_files = files::uses_files(choice.engine);
        let paths = paths_of(&job);
        let existing = paths
            .iter()
            .map(|path| {
                let len = if with_files { files::existing_len(path, ledger)? } else { None };
                Ok(Existing { len })
            })
            .collect::<Result<Vec<_>, EngineError>>()?;
        let plan = plan(&job, &existing)?;
        check_memory(&job)?;
        let mut prepared = Prepared { job, choice, files: Vec::new(), plan, layout: None, filler };
        if with_files {
            for (index, path) in paths.iter().enumerate() {
                let needed = prepared.plan.needed(index as u32);
                prepared.make_ready(path, existing[index].len, needed, ledger, control)?;
                prepared.files.push(files::open(path, &prepared.job, prepared.job.rw.writes())?);
            }
        }
        Ok(prepared)
    }

    /// Makes one file exist, with its length and data.
    fn make_ready(
        &mut self,
        path: &std::path::Path,
        existing: Option<u64>,
        needed: u64,
        ledger: &mut Ledger,
        control: &Control,
    ) -> Result<(), EngineError> {
        let ours = existing.is_none();
        if let Some(len) = existing
            && len < needed
            && (!self.job.rw.writes() || std::fs::metadata(path).is_ok_and(|m| !m.is_file()))
        {
            let cause = format!("it has {} bytes, the job needs {needed}", len);
            return Err(EngineError::target(path, cause, "lower size or offset"));
        }
        if ours {
            ledger.create(path)?;
        }
        let data = existing.or(ledger.data_len(path)).unwrap_or(0);
        if data >= needed {
            return Ok(());
        }
        if !(self.job.rw.reads() || self.job.overwrite) {
            return files::reserve(path, needed, self.job.fallocate);
        }
        control.enter(Phase::LayingOut, None, Some(needed - data));
        let start = kernel_ns();
        let end = layout::lay_out(path, data, needed, &self.job, self.choice.engine, control, Ticks::MAX)?;
        ledger.set_data_len(path, end);
        let facts = self.layout.get_or_insert_default();
        facts.bytes += end.saturating_sub(data);
        facts.runtime_ns += kernel_ns() - start;
        Ok(())
    }

    /// The engine that will run.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Whether any target is a block device.
    pub fn has_device(&self) -> bool {
        self.files.iter().any(|file| file.is_device)
    }

    /// Runs the job. When the run is stopped, the measurement has what was reached.
    ///
    /// # Errors
    /// The engine broke; failed operations are counted in the measurement instead.
    pub fn run(&mut self, control: &Control, observer: &dyn Observer) -> Result<Measurement, EngineError> {
        let job = &self.job;
        if !job.direct {
            self.set_cache(control)?;
        }
        sleep_unless_stopped(control, job.startdelay_ns);
        let clock = Clock::get();
        let gate = Gate::new(job.numjobs);
        let series = Series::new(job.numjobs, job.log_interval_ns);
        let fds: Vec<RawFd> = self.files.iter().map(|opened| opened.file.as_raw_fd()).collect();
        let shared = Shared {
            job,
            engine: self.choice.engine,
            fds: &fds,
            clock,
            control,
            gate: &gate,
            series: &series,
            filler: &self.filler,
        };
        let mut parts: Vec<Part> = (0..job.numjobs).map(|thread| Part::new(self, thread)).collect();

        let (results, by_process) = std::thread::scope(|scope| {
            let handles: Vec<_> = parts.iter_mut().map(|part| scope.spawn(|| part.run(&shared))).collect();
            let start = gate.open(&clock);
            control.enter(if job.ramp_time_ns > 0 { Phase::Ramping } else { Phase::Measuring }, None, None);
            if start.is_some() {
                if job.ramp_time_ns > 0 {
                    control.enter(Phase::Ramping, Some(job.ramp_time_ns), None);
                    wait_unless(control, job.ramp_time_ns, || handles.iter().all(|h| h.is_finished()));
                }
                control.enter(Phase::Measuring, job.runtime_ns, self.amount());
            }
            let before = Used::by_process();
            observer.begin();
            if observer.may_end_early() {
                let done = || handles.iter().all(|handle| handle.is_finished());
                watch(&series, control, observer, job.log_interval_ns, done);
            }
            let results: Vec<_> = handles.into_iter().map(|handle| handle.join()).collect();
            (results, Used::by_process() - before)
        });
        let measure_from = gate.start() + clock.to_ticks(job.ramp_time_ns);
        let mut threads = Vec::with_capacity(results.len());
        let mut grants = Grants::default();
        let mut by_threads = Used::default();
        for result in results {
            let (counted, granted, used) = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            threads.push(counted);
            grants = granted;
            by_threads = by_threads + used;
        }
        let end_sync = self.sync_at_end(&clock);
        observer.end();
        let mut measurement = assemble(job, &clock, measure_from, threads, end_sync, series);
        measurement.cpu = if control.is_alone() { by_process } else { by_threads }.of_job(by_threads);
        measurement.engine = self.choice.engine;
        measurement.engine_facts = EngineFacts {
            reason: self.choice.reason.clone(),
            granted: grants.granted,
            refused: grants.refused,
            clock: clock.name().into(),
        };
        measurement.layout = self.layout;
        measurement.interrupted = control.is_stopped();
        measurement.verify = self.verify(parts, control);
        control.enter(Phase::Done, None, None);
        Ok(measurement)
    }

    /// Empties the page cache of the job's files, or fills it with what the job will read.
    fn set_cache(&self, control: &Control) -> Result<(), EngineError> {
        for (index, opened) in self.files.iter().enumerate() {
            if self.job.pre_read {
                files::fill_cache(opened, self.plan.needed(index as u32), control)?;
            } else {
                files::drop_cache(&opened.file);
            }
        }
        Ok(())
    }

    /// Bytes that all threads will move, where that is what ends the job.
    fn amount(&self) -> Option<u64> {
        let per_thread = self.plan.loop_bytes.saturating_mul(u64::from(self.job.loops));
        (!self.job.time_based).then(|| per_thread.saturating_mul(u64::from(self.job.numjobs)))
    }

    /// `end_fsync`: one fsync a file, inside the measured time.
    fn sync_at_end(&self, clock: &Clock) -> Tally {
        let mut tally = Tally::default();
        if self.job.end_fsync && self.job.rw.writes() {
            for opened in &self.files {
                let start = clock.now();
                if rustix::fs::fsync(&opened.file).is_ok() {
                    tally.lanes[Direction::Sync.index()].latency.record(clock.to_ns(clock.now() - start));
                }
            }
        }
        tally
    }

    fn verify(&self, parts: Vec<Part>, control: &Control) -> Option<iobound_record::VerifyOutcome> {
        let mut verifiers: Vec<Verifier> = parts.into_iter().filter_map(|part| part.verifier).collect();
        if verifiers.is_empty() {
            return None;
        }
        if self.job.do_verify && self.job.rw.writes() && files::uses_files(self.choice.engine) {
            let blocks: u64 = verifiers.iter().map(|v| v.written_blocks().len() as u64).sum();
            control.enter(Phase::Verifying, None, Some(blocks * self.job.bs));
            for verifier in &mut verifiers {
                read_back(&self.files, &self.job, verifier, control);
            }
        }
        Some(verify::merge(verifiers.iter().map(|verifier| verifier.outcome().clone())))
    }
}

/// What all threads of a job share.
struct Shared<'a> {
    job: &'a Job,
    engine: EngineChoice,
    fds: &'a [RawFd],
    clock: Clock,
    control: &'a Control,
    gate: &'a Gate,
    series: &'a Series,
    filler: &'a Filler,
}

/// What one thread owns.
struct Part {
    thread: u32,
    regions: Vec<Region>,
    workload: Workload,
    verifier: Option<Verifier>,
}

impl Part {
    fn new(prepared: &Prepared, thread: u32) -> Part {
        let job = &prepared.job;
        let regions = prepared.plan.threads[thread as usize].clone();
        let bytes = if job.time_based {
            u64::MAX
        } else {
            prepared.plan.loop_bytes.saturating_mul(u64::from(job.loops))
        };
        let workload = Workload::new(job, regions.clone(), thread, bytes, job.number_ios.unwrap_or(u64::MAX));
        let verifier = (job.verify != Verify::None).then(|| {
            let keys = paths_of(job).iter().map(|path| file_key(path)).collect();
            Verifier::new(job.bs, keys, &regions, job.rw.writes())
        });
        Part { thread, regions, workload, verifier }
    }

    /// Sets up, waits for the others, runs.
    fn run(&mut self, shared: &Shared) -> Result<(Counted, Grants, Used), EngineError> {
        debug_assert!(!self.regions.is_empty());
        let pinned = pin(shared.job.cpus_allowed.as_ref());
        let depth = if shared.engine == EngineChoice::Psync { 1 } else { shared.job.iodepth };
        let (_, largest) = shared.job.block_sizes();
        let ready = pinned.and_then(|()| {
            let mut buffers = Buffers::new(depth as usize, largest as usize)
                .map_err(|error| EngineError::broke("mapping buffers", error))?;
            let payload = shared.job.rw.writes().then(|| {
                let mut payload = Payload::new(shared.job, shared.filler.clone(), u64::from(self.thread));
                (0..depth).for_each(|slot| payload.prefill(slot, buffers.slice_mut(slot, largest as usize)));
                payload
            });
            Ok((buffers, payload))
        });
        let (mut buffers, mut payload) = match ready {
            Ok(ready) => ready,
            Err(error) => {
                shared.gate.fail();
                return Err(error);
            }
        };
        let resources = Resources { depth, files: shared.fds, buffers: &buffers };
        let broke = |error| EngineError::broke(format!("starting {}", shared.engine), error);
        macro_rules! go {
            ($made:expr) => {
                match $made {
                    Ok((backend, grants)) => {
                        let before = Used::by_thread();
                        let counted = self.drive(backend, depth, &mut buffers, payload.as_mut(), shared)?;
                        Ok((counted, grants, Used::by_thread() - before))
                    }
                    Err(error) => {
                        shared.gate.fail();
                        Err(broke(error))
                    }
                }
            };
        }
        match shared.engine {
            EngineChoice::Null => go!(Ok::<_, std::io::Error>((Null::new(depth), Grants::default()))),
            EngineChoice::Psync => go!(Ok::<_, std::io::Error>((Psync::new(shared.fds), Grants::default()))),
            EngineChoice::Libaio => go!(Aio::new(&resources).map(|aio| (aio, Grants::default()))),
            _ => go!(Uring::new(&resources)),
        }
    }

    fn drive<B: Backend>(
        &mut self,
        backend: B,
        depth: u32,
        buffers: &mut Buffers,
        payload: Option<&mut Payload>,
        shared: &Shared,
    ) -> Result<Counted, EngineError> {
        let clock = shared.clock;
        let Some(start) = shared.gate.pass() else {
            return Ok(Counted { tally: Tally::default(), errors: Errors::default(), end: clock.now() });
        };
        let job = shared.job;
        let measure_from = start + clock.to_ticks(job.ramp_time_ns);
        let deadline = job.runtime_ns.map_or(u64::MAX, |ns| measure_from + clock.to_ticks(ns));
        let worker = Worker {
            backend,
            buffers,
            workload: &mut self.workload,
            payload: payload.filter(|payload| payload.renews()),
            verifier: self.verifier.as_mut(),
            pace: Pace::of(job, &clock, start),
            depth,
            batch: if job.iodepth_batch == 0 { BATCH.min(depth) } else { job.iodepth_batch.min(depth) },
            clock,
            window: Window { measure_from, deadline, interval: clock.to_ticks(job.log_interval_ns) },
            control: shared.control,
            published: shared.control.lane(),
            series: Some(shared.series),
        };
        worker.run().map_err(|error| EngineError::broke(format!("{} in the run", shared.engine), error))
    }
}

/// Names a file in seals: the same in every run, so that a later run can check an earlier one's data.
fn file_key(path: &std::path::Path) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    path.file_name().hash(&mut hasher);
    hasher.finish()
}

/// Holds all threads until each is set up, then starts them at one moment.
pub(crate) struct Gate {
    ready: Barrier,
    go: Barrier,
    failed: AtomicBool,
    start: AtomicU64,
}

impl Gate {
    pub(crate) fn new(threads: u32) -> Self {
        let parties = threads as usize + 1;
        Gate {
            ready: Barrier::new(parties),
            go: Barrier::new(parties),
            failed: AtomicBool::new(false),
            start: AtomicU64::new(0),
        }
    }

    /// A thread that could not be set up lets the others through to their end.
    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::Release);
        self.pass();
    }

    /// Waits for the start; None when some thread failed.
    pub(crate) fn pass(&self) -> Option<Ticks> {
        self.ready.wait();
        self.go.wait();
        (!self.failed.load(Ordering::Acquire)).then(|| self.start())
    }

    /// Called by the one that is not a thread of the job.
    pub(crate) fn open(&self, clock: &Clock) -> Option<Ticks> {
        self.ready.wait();
        self.start.store(clock.now(), Ordering::Release);
        self.go.wait();
        (!self.failed.load(Ordering::Acquire)).then(|| self.start())
    }

    pub(crate) fn start(&self) -> Ticks {
        self.start.load(Ordering::Acquire)
    }
}

/// Puts the threads' counts together.
fn assemble(
    job: &Job,
    clock: &Clock,
    measure_from: Ticks,
    threads: Vec<Counted>,
    end_sync: Tally,
    series: Series,
) -> Measurement {
    let runtime_of = |counted: &Counted| clock.to_ns(counted.end.saturating_sub(measure_from));
    let mut runtime_ns = threads.iter().map(runtime_of).max().unwrap_or(0);
    runtime_ns += end_sync.lane(Direction::Sync).latency.sum_ns() as u64;
    let mut tally = end_sync;
    let mut errors = Errors::default();
    for counted in &threads {
        tally.merge(&counted.tally);
        errors.merge(&counted.errors);
    }
    let stats =
        |tally: &Tally, direction, runtime| -> DirectionStats { tally.lane(direction).stats(runtime) };
    let each = |counted: &Counted| {
        let runtime_ns = runtime_of(counted);
        ThreadStats {
            runtime_ns,
            read: stats(&counted.tally, Direction::Read, runtime_ns),
            write: stats(&counted.tally, Direction::Write, runtime_ns),
            sync: stats(&counted.tally, Direction::Sync, runtime_ns),
            errors: counted.errors.count,
        }
    };
    Measurement {
        runtime_ns,
        read: stats(&tally, Direction::Read, runtime_ns),
        write: stats(&tally, Direction::Write, runtime_ns),
        sync: stats(&tally, Direction::Sync, runtime_ns),
        errors: errors.count,
        error_kinds: errors.in_words(),
        series: series.finish(runtime_ns),
        threads: if job.group_reporting { Vec::new() } else { threads.iter().map(each).collect() },
        ..Measurement::default()
    }
}

/// Refuses a job whose buffers would push the machine into swap or worse.
fn check_memory(job: &Job) -> Result<(), EngineError> {
    let (_, largest) = job.block_sizes();
    let depth = if job.ioengine == EngineChoice::Psync { 1 } else { u64::from(job.iodepth) };
    let needed = u128::from(largest.next_multiple_of(4096)) * u128::from(depth) * u128::from(job.numjobs);
    match available_memory() {
        Some(available) if needed > u128::from(available) => Err(EngineError::Memory {
            needed: units::bytes(u64::try_from(needed).unwrap_or(u64::MAX)),
            available: units::bytes(available),
        }),
        _ => Ok(()),
    }
}

/// Memory that can be had without swapping, bytes.
pub fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}

/// Binds a thread to the processors of the job, and makes its sleeps as exact as the kernel can.
pub(crate) fn pin(cpus: Option<&Vec<u32>>) -> Result<(), EngineError> {
    // SAFETY: PR_SET_TIMERSLACK takes one number and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let Some(cpus) = cpus else { return Ok(()) };
    let mut set = rustix::thread::CpuSet::new();
    cpus.iter()
        .filter(|&&cpu| (cpu as usize) < rustix::thread::CpuSet::MAX_CPU)
        .for_each(|&cpu| set.set(cpu as usize));
    rustix::thread::sched_setaffinity(None, &set).map_err(|error| EngineError::Backend {
        engine: "cpus_allowed",
        cause: format!("processors {cpus:?} cannot be used: {error}"),
        remedy: "name processors that are online and allowed to this process".into(),
    })
}

/// Looks at the series as its intervals close, and ends the job when that is enough.
fn watch(
    series: &Series,
    control: &Control,
    observer: &dyn Observer,
    interval_ns: u64,
    done: impl Fn() -> bool,
) {
    // A few looks an interval: more would find nothing new.
    let nap = Duration::from_nanos(interval_ns / 4).clamp(Duration::from_millis(1), NAP);
    let mut seen = Vec::new();
    while !done() && !control.is_ended() {
        std::thread::sleep(nap);
        let closed = series.closed(seen.len());
        if !closed.is_empty() {
            seen.extend(closed);
            if observer.is_enough(&seen) {
                control.end_early();
            }
        }
    }
}

fn sleep_unless_stopped(control: &Control, ns: u64) {
    wait_unless(control, ns, || false);
}

/// Sleeps, in naps, until the time is over, the run is stopped, or `done`.
fn wait_unless(control: &Control, ns: u64, done: impl Fn() -> bool) {
    let end = kernel_ns().saturating_add(ns);
    loop {
        let left = end.saturating_sub(kernel_ns());
        if left == 0 || control.is_stopped() || done() {
            return;
        }
        std::thread::sleep(Duration::from_nanos(left).min(NAP));
    }
}
