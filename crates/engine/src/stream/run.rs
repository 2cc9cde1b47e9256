//! A whole stream: its threads, from their start to what they counted.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use iobound_record::{Direction, EngineFacts, Measurement, ThreadStats, units};

use super::account::{Account, Gauges, Times};
use super::pool::Pool;
use super::sink::{Granted, Outlet};
use super::source::{Cursor, Source};
use super::threads::{Lane, Writer, produce};
use super::trouble::Trouble;
use crate::clock::{Clock, Ticks, kernel_ns};
use crate::control::{Control, Phase};
use crate::cpu::Used;
use crate::error::EngineError;
use crate::run::{Gate, Observer, pin};
use crate::series::Series;
use crate::tally::{Errors, Tally};

/// Who fills and who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Each writer fills its own buffers.
    Fused,
    /// Producers fill, writers write, a pool between them.
    Split,
}

/// How a stream is run; all numbers are those of one output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Who fills.
    pub mode: Mode,
    /// Bytes of a buffer, which is written as one.
    pub buffer_bytes: u64,
    /// Buffers in the pool at most.
    pub buffers: u32,
    /// Threads that write.
    pub writers: u32,
    /// Threads that fill, in [`Mode::Split`].
    pub producers: u32,
    /// Buffers that one writer has in flight at most.
    pub depth: u32,
}

impl Settings {
    /// Pools of one output and buffers of each: a pool for each thread that fills what it writes, with
    /// one buffer to fill while the others are in flight.
    pub fn pools(&self) -> (u32, u32) {
        match self.mode {
            Mode::Fused => (self.writers, (self.depth + 1).min(self.buffers / self.writers.max(1)).max(1)),
            Mode::Split => (1, self.buffers),
        }
    }

    /// Memory of one output.
    pub fn memory_bytes(&self) -> u64 {
        let (pools, buffers) = self.pools();
        u64::from(pools) * u64::from(buffers) * self.buffer_bytes
    }
}

/// One output of a stream.
pub struct Output<'a> {
    /// Where it goes.
    pub outlet: &'a dyn Outlet,
    /// What it holds.
    pub source: Source,
    /// Processors for its threads; None leaves them to the kernel.
    pub cpus: Option<Vec<u32>>,
}

/// How much is written.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// First byte of the stream.
    pub from: u64,
    /// End of the stream.
    pub to: u64,
    /// Nothing more is begun after this time.
    pub longest_ns: Option<u64>,
    /// Length of an interval of the series.
    pub interval_ns: u64,
    /// Whether to write what is left behind the last granule and to make all durable, within the
    /// measured time.
    pub finish: bool,
}

/// What went wrong with an output.
#[derive(Debug)]
pub struct Failure {
    /// Of the first byte that could not be written.
    pub position: u64,
    /// The system's answer.
    pub error: io::Error,
}

/// One output's figures.
#[derive(Debug)]
pub struct LaneResult {
    /// End of what is written without a gap from the start.
    pub whole_to: u64,
    /// Bytes made for it.
    pub generated_bytes: u64,
    /// What ended it before its end.
    pub failure: Option<Failure>,
    /// Time of [`Outlet::finish`].
    pub finish_ns: u64,
}

/// One writer's figures.
#[derive(Clone, Copy, Debug)]
pub struct WriterResult {
    /// Which output it wrote to.
    pub output: usize,
    /// What it wrote.
    pub stats: ThreadStats,
    /// Where its time went.
    pub times: Times,
}

/// What a stream came to.
#[derive(Debug)]
pub struct Streamed {
    /// As of any job. The engine is left to the caller, who knows what is behind the outlets.
    pub measurement: Measurement,
    /// Each output, in order.
    pub outputs: Vec<LaneResult>,
    /// Each writer.
    pub writers: Vec<WriterResult>,
    /// Each producer; empty in [`Mode::Fused`].
    pub producers: Vec<Times>,
}

/// What a thread brings back.
enum Brought {
    Producer(Times),
    Writer(Box<Wrote>),
}

struct Wrote {
    output: usize,
    tally: Tally,
    errors: Errors,
    end: Ticks,
    times: Times,
    granted: Granted,
}

/// The parts of one output that its threads share.
struct Shared<'a> {
    pools: Vec<Pool>,
    cursor: Cursor,
    trouble: Trouble,
    producers_left: AtomicU32,
    output: &'a Output<'a>,
}

/// Writes a stream to each of `outputs` at once.
///
/// # Errors
/// It could not start, or a sink broke. A write that failed is in the result instead.
pub fn run(
    outputs: &[Output],
    settings: &Settings,
    extent: &Extent,
    control: &Control,
    gauges: &Gauges,
    observer: &dyn Observer,
) -> Result<Streamed, EngineError> {
    check_memory(settings, outputs.len())?;
    let clock = Clock::get();
    let shared = outputs
        .iter()
        .map(|output| prepare(output, settings, extent))
        .collect::<Result<Vec<_>, EngineError>>()?;
    let writers = settings.writers * outputs.len() as u32;
    let producers = match settings.mode {
        Mode::Fused => 0,
        Mode::Split => settings.producers * outputs.len() as u32,
    };
    let gate = Gate::new(writers + producers);
    let series = Series::new(writers, extent.interval_ns);
    let pools: u64 = shared.iter().flat_map(|one| &one.pools).map(|pool| u64::from(pool.buffers())).sum();
    gauges.start(pools);
    let threads = Threads { settings, control, gauges, clock, gate: &gate, series: &series, extent };
    let (results, used) = std::thread::scope(|scope| {
        let mut handles = Vec::new();
        for (index, one) in shared.iter().enumerate() {
            for writer in 0..settings.writers {
                let threads = &threads;
                handles.push(scope.spawn(move || threads.writer(index, writer, one)));
            }
            if settings.mode == Mode::Split {
                for _ in 0..settings.producers {
                    let threads = &threads;
                    handles.push(scope.spawn(move || threads.producer(one)));
                }
            }
        }
        gate.open(&clock);
        let whole = (extent.to - extent.from) * outputs.len() as u64;
        control.enter(Phase::Measuring, extent.longest_ns, Some(whole));
        let before = Used::by_process();
        observer.begin();
        let results: Vec<_> = handles.into_iter().map(|handle| handle.join()).collect();
        (results, Used::by_process() - before)
    });
    let mut brought = Vec::with_capacity(results.len());
    let mut by_threads = Used::default();
    for result in results {
        let (one, used) = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        by_threads = by_threads + used;
        brought.push(one);
    }
    let (finished, ends) = finish(shared, extent, control);
    observer.end();
    let mut streamed = assemble(&clock, gate.start(), brought, finished, ends, series);
    streamed.measurement.cpu = if control.is_alone() { used } else { by_threads }.of_job(by_threads);
    streamed.measurement.interrupted = control.is_stopped();
    Ok(streamed)
}

/// Maps an output's buffers, on the node where they will be used.
fn prepare<'a>(
    output: &'a Output<'a>,
    settings: &Settings,
    extent: &Extent,
) -> Result<Shared<'a>, EngineError> {
    let (count, buffers) = settings.pools();
    let granule = output.outlet.granule().max(1);
    let whole_to = extent.to / granule * granule;
    let pools = std::thread::scope(|scope| {
        let make = || {
            pin(output.cpus.as_ref())?;
            (0..count)
                .map(|_| Pool::new(buffers, settings.buffer_bytes as usize))
                .collect::<io::Result<Vec<_>>>()
                .map_err(|error| EngineError::broke("mapping buffers", error))
        };
        scope.spawn(make).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    Ok(Shared {
        pools,
        cursor: Cursor::new(extent.from.min(whole_to), whole_to, settings.buffer_bytes),
        trouble: Trouble::default(),
        producers_left: AtomicU32::new(settings.producers),
        output,
    })
}

/// What every thread needs.
struct Threads<'a> {
    settings: &'a Settings,
    control: &'a Control,
    gauges: &'a Gauges,
    clock: Clock,
    gate: &'a Gate,
    series: &'a Series,
    extent: &'a Extent,
}

impl Threads<'_> {
    fn lane<'b>(&'b self, shared: &'b Shared, pool: usize, start: Ticks) -> Lane<'b> {
        let deadline = self.extent.longest_ns.map_or(Ticks::MAX, |ns| start + self.clock.to_ticks(ns));
        Lane {
            pool: shared.pools[pool].clone(),
            source: &shared.output.source,
            cursor: &shared.cursor,
            trouble: &shared.trouble,
            control: self.control,
            gauges: self.gauges,
            clock: self.clock,
            deadline,
        }
    }

    fn producer(&self, shared: &Shared) -> Result<(Brought, Used), EngineError> {
        // Writers must not wait for a producer that could not start.
        let _closing = Closing(shared);
        let pinned = pin(shared.output.cpus.as_ref());
        if let Err(error) = pinned {
            self.gate.fail();
            return Err(error);
        }
        let Some(start) = self.gate.pass() else {
            return Ok((Brought::Producer(Times::default()), Used::default()));
        };
        let before = Used::by_thread();
        let times = produce(&self.lane(shared, 0, start), start);
        Ok((Brought::Producer(times), Used::by_thread() - before))
    }

    fn writer(&self, index: usize, writer: u32, shared: &Shared) -> Result<(Brought, Used), EngineError> {
        let fused = self.settings.mode == Mode::Fused;
        let number = if fused { writer as usize } else { 0 };
        let pool = &shared.pools[number];
        let depth = self.settings.depth.min(pool.buffers());
        let ready = pin(shared.output.cpus.as_ref()).and_then(|()| shared.output.outlet.sink(pool, depth));
        let (sink, granted) = match ready {
            Ok(ready) => ready,
            Err(error) => {
                self.gate.fail();
                return Err(error);
            }
        };
        let Some(start) = self.gate.pass() else {
            let wrote = Wrote {
                output: index,
                tally: Tally::default(),
                errors: Errors::default(),
                end: self.clock.now(),
                times: Times::default(),
                granted,
            };
            return Ok((Brought::Writer(Box::new(wrote)), Used::default()));
        };
        let before = Used::by_thread();
        let lane = self.lane(shared, number, start);
        let interval = self.clock.to_ticks(self.extent.interval_ns);
        let account = Account::new(self.clock, start, interval, self.series, self.control.lane());
        let mut writer = Writer::new(&lane, sink, depth, account);
        let ended = if fused { writer.fill_and_write() } else { writer.drain() };
        if let Err(error) = ended {
            // The others must not wait for this one.
            shared.trouble.give_up(Some(0));
            shared.trouble.failed(0, io::Error::new(error.kind(), error.to_string()));
            shared.trouble.give_up(pool.abandon());
            return Err(EngineError::broke("writing the stream", error));
        }
        let Writer { account, times, .. } = writer;
        let wrote = Wrote {
            output: index,
            tally: account.total,
            errors: account.errors,
            end: account.end,
            times,
            granted,
        };
        Ok((Brought::Writer(Box::new(wrote)), Used::by_thread() - before))
    }
}

/// The last producer that ends, in whatever way, closes the pool.
struct Closing<'a, 'b>(&'a Shared<'b>);

impl Drop for Closing<'_, '_> {
    fn drop(&mut self) {
        if self.0.producers_left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.pools[0].close();
        }
    }
}

/// Ends each output: its rest, its durability, and how far it is whole.
fn finish(shared: Vec<Shared>, extent: &Extent, control: &Control) -> (Vec<LaneResult>, Tally) {
    let mut tally = Tally::default();
    let end_of = |one: Shared| {
        // A buffer that was filled when everything ended may still wait.
        one.pools.iter().for_each(|pool| one.trouble.give_up(pool.abandon()));
        let (taken, done) = (one.cursor.taken(), one.cursor.is_done());
        let mut result = LaneResult {
            whole_to: taken,
            generated_bytes: one.cursor.handed_out(),
            failure: None,
            finish_ns: 0,
        };
        let (failure, missing_from) = one.trouble.take();
        result.whole_to = missing_from.map_or(taken, |missing| missing.min(taken));
        result.failure = failure.map(|(position, error)| Failure { position, error });
        let whole = done && missing_from.is_none() && !control.is_stopped();
        if extent.finish && whole {
            let mut rest = vec![0; (extent.to - taken) as usize];
            one.output.source.fill(taken, &mut rest);
            let start = kernel_ns();
            match one.output.outlet.finish(taken, &rest) {
                Ok(()) => {
                    result.whole_to = extent.to;
                    result.generated_bytes += rest.len() as u64;
                }
                Err(error) => result.failure = Some(Failure { position: taken, error }),
            }
            result.finish_ns = kernel_ns() - start;
        }
        result
    };
    // Each is its own device: they end at the same time.
    let results: Vec<LaneResult> = std::thread::scope(|scope| {
        let ends: Vec<_> = shared.into_iter().map(|one| scope.spawn(|| end_of(one))).collect();
        ends.into_iter()
            .map(|end| end.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    if extent.finish {
        for result in results.iter().filter(|result| result.finish_ns > 0 && result.failure.is_none()) {
            tally.lanes[Direction::Sync.index()].latency.record(result.finish_ns);
        }
    }
    (results, tally)
}

fn assemble(
    clock: &Clock,
    start: Ticks,
    brought: Vec<Brought>,
    outputs: Vec<LaneResult>,
    ends: Tally,
    series: Series,
) -> Streamed {
    let mut producers = Vec::new();
    let mut wrote = Vec::new();
    for one in brought {
        match one {
            Brought::Producer(times) => producers.push(times),
            Brought::Writer(one) => wrote.push(one),
        }
    }
    let runtime_of = |end: Ticks| clock.to_ns(end.saturating_sub(start));
    let mut tally = ends;
    let mut errors = Errors::default();
    let mut facts = EngineFacts { clock: clock.name().into(), ..EngineFacts::default() };
    let writing_ns = wrote.iter().map(|one| runtime_of(one.end)).max().unwrap_or(0);
    let mut writers = Vec::with_capacity(wrote.len());
    for one in wrote {
        let runtime_ns = runtime_of(one.end);
        let stats = |direction| one.tally.lane(direction).stats(runtime_ns);
        let stats = ThreadStats {
            runtime_ns,
            write: stats(Direction::Write),
            errors: one.errors.count,
            ..ThreadStats::default()
        };
        writers.push(WriterResult { output: one.output, stats, times: one.times });
        tally.merge(&one.tally);
        errors.merge(&one.errors);
        (facts.granted, facts.refused) = (one.granted.granted, one.granted.refused);
    }
    let finishing_ns = outputs.iter().map(|output| output.finish_ns).max().unwrap_or(0);
    let runtime_ns = writing_ns + finishing_ns;
    let stats = |direction| tally.lane(direction).stats(runtime_ns);
    let measurement = Measurement {
        engine_facts: facts,
        runtime_ns,
        write: stats(Direction::Write),
        sync: stats(Direction::Sync),
        errors: errors.count,
        error_kinds: errors.in_words(),
        series: series.finish(writing_ns),
        threads: writers.iter().map(|writer| writer.stats).collect(),
        ..Measurement::default()
    };
    Streamed { measurement, outputs, writers, producers }
}

/// Refuses a pool that would push the machine into swap or worse.
fn check_memory(settings: &Settings, outputs: usize) -> Result<(), EngineError> {
    let needed = settings.memory_bytes().saturating_mul(outputs as u64);
    match crate::run::available_memory() {
        Some(available) if needed > available => {
            Err(EngineError::Pool { needed: units::bytes(needed), available: units::bytes(available) })
        }
        _ => Ok(()),
    }
}
