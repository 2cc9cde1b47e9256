//! A stream from its options to its record.

use std::os::unix::fs::FileTypeExt;
use std::sync::Arc;
use std::time::Duration;

use iobound_engine::stream::{
    Extent, Gauges, Mode, Output, ReadBack, Settings, Source, Streamed, WriterResult, read_back, run,
};
use iobound_engine::{Control, choose};
use iobound_fill::Filler;
use iobound_host::System;
use iobound_record::{
    EngineChoice, Job, Metric, Run, Rw, SCHEMA_VERSION, Scenario, StoreRequests, Stream, StreamOutput,
    StreamReadBack, StreamSide, StreamTuning, StreamWriter, TargetFacts, units,
};

use super::options::{Options, fitted};
use super::placement::{Placement, place};
use super::target::{Ready, check_together};
use super::tuning::{Tuning, recorded};
use crate::exit::Failure;
use crate::fresh;
use crate::object::{self, Address};
use crate::progress::{Line, Progress};
use crate::sampling::Sampling;
use crate::session::Window;
use crate::stop::Stop;
use crate::store::Store;
use crate::verdict;

/// How often the progress line is drawn.
const DRAW_EVERY: Duration = Duration::from_millis(200);
/// Length of an interval of the recorded series.
const INTERVAL_NS: u64 = 1_000_000_000;
/// Ring depth asked of the engine when it is chosen; any ring can have it.
const DEPTH_TO_CHOOSE: u32 = 32;

/// What a stream runs among: who stops it, who is told, where its record goes.
pub struct Surroundings {
    pub(crate) stop: Arc<Stop>,
    pub(crate) progress: Progress,
    pub(crate) store: Option<Store>,
}

impl Surroundings {
    /// Nobody stops it, nobody is told, and the record is only returned.
    pub fn silent() -> Surroundings {
        Surroundings::silent_until(Arc::new(Stop::default()))
    }

    /// The same, until somebody asks `stop`.
    pub fn silent_until(stop: Arc<Stop>) -> Surroundings {
        Surroundings { stop, progress: Progress::Quiet, store: None }
    }
}

/// A stream that ran.
#[derive(Debug)]
pub struct Written {
    /// The record.
    pub run: Run,
    /// What broke it, where it did not come to its end; what was measured is in the record.
    pub failure: Option<Failure>,
}

/// Writes a stream as the options say.
///
/// # Errors
/// It could not start; nothing is left behind then.
pub fn write(options: &Options, surroundings: Surroundings) -> Result<Written, Failure> {
    options.check()?;
    check_together(&options.outputs, options.size)?;
    let addresses = addresses(&options.outputs)?;
    let is_pipe = |named: &String| {
        named == "-" || std::fs::metadata(named).is_ok_and(|found| found.file_type().is_fifo())
    };
    let ordered = options.outputs.iter().any(is_pipe);
    let options = &object::adjusted(options, &addresses.iter().collect::<Vec<_>>(), ordered)?;
    let control = Arc::new(Control::default());
    surroundings.stop.watch(&control);
    let choice = choose(EngineChoice::Auto, DEPTH_TO_CHOOSE)?;
    let mut outputs: Vec<Ready> = Vec::new();
    for named in &options.outputs {
        let mut say = |words: &str| surroundings.progress.say(words);
        match Ready::new(named, options, choice.engine, &surroundings.stop, &control, &mut say) {
            Ok(ready) => outputs.push(ready),
            Err(failure) => {
                outputs.iter().for_each(|ready| drop(ready.discard(0)));
                return Err(failure);
            }
        }
    }
    surroundings.stop.set_files(outputs.iter().filter_map(|ready| ready.made().map(Into::into)));
    surroundings.stop.set_last_words(unfinished(&addresses));
    let session = Session { options, surroundings: &surroundings, outputs, control, reason: choice.reason };
    let written = session.start();
    if written.is_err() {
        session.outputs.iter().for_each(|ready| drop(ready.discard(0)));
    }
    session.outputs.iter().for_each(Ready::release);
    surroundings.stop.set_files(std::iter::empty());
    surroundings.stop.set_last_words(String::new());
    surroundings.stop.unwatch_all();
    written
}

/// The outputs that are objects.
fn addresses(outputs: &[String]) -> Result<Vec<Address>, Failure> {
    let remote = outputs.iter().filter(|named| !named.starts_with("file://"));
    remote.filter_map(|named| Address::parse(named).transpose()).collect()
}

/// What a stream that is left at once cannot take back.
fn unfinished(addresses: &[Address]) -> String {
    let named: Vec<String> = addresses.iter().map(Address::to_string).collect();
    match named.is_empty() {
        true => String::new(),
        false => format!("an unfinished upload may be left at {}: abort it by hand", named.join(", ")),
    }
}

struct Session<'a> {
    options: &'a Options,
    surroundings: &'a Surroundings,
    outputs: Vec<Ready>,
    control: Arc<Control>,
    reason: String,
}

/// What is known before the first byte.
struct Plan {
    filler: Filler,
    seed: u64,
    settings: Settings,
    tuning: Option<StreamTuning>,
    places: Vec<Placement>,
}

impl Session<'_> {
    fn start(&self) -> Result<Written, Failure> {
        let options = self.options;
        let pipe = self.outputs.iter().any(Ready::is_pipe);
        if options.read_back && (pipe || self.outputs.iter().any(Ready::is_null)) {
            return Err(Failure::usage(
                "--read-back: a pipe and null: keep nothing to read back; use it with files and devices",
            ));
        }
        if pipe && options.repeat > 1 {
            return Err(Failure::usage("--repeat: a pipe takes a stream once; leave --repeat out"));
        }
        let cpus = std::thread::available_parallelism().map_or(1, usize::from) as u32;
        let system = System::live();
        let places = self
            .outputs
            .iter()
            .map(|ready| place(&system, options.numa, ready.file().map(|outlet| outlet.path())))
            .collect::<Result<Vec<_>, Failure>>()?;
        let seed = options.seed.unwrap_or_else(fresh::seed);
        let filler = options.filler(seed)?;
        let settings = options.settings(pipe, cpus)?;
        let mut run = new_run(&system, "stream");
        run.host.targets = self.targets(&system);
        run.calibration = Some(iobound_engine::calibrate_quickly()?);
        let mut plan = Plan { filler, seed, settings, tuning: None, places };
        if options.auto && pipe {
            self.say("--auto: what went into a pipe cannot be taken back, so nothing is tried there");
        } else if options.auto {
            self.tune(&mut plan, cpus)?;
        }
        plan.settings = fitted(plan.settings, options.size);
        self.write_all(run, &plan, &system)
    }

    fn say(&self, words: &str) {
        self.surroundings.progress.say(words);
    }

    fn tune(&self, plan: &mut Plan, cpus: u32) -> Result<(), Failure> {
        let line = std::cell::RefCell::new(self.surroundings.progress.line("auto"));
        let tuning = Tuning {
            options: self.options,
            outputs: &self.outputs,
            control: &self.control,
            stop: &self.surroundings.stop,
            cpus,
            tell: &|words| line.borrow_mut().tell(words),
        };
        // Content that no repeat will write.
        let (settings, tuning) = tuning.find(&|number| self.sources(plan, u64::from(u32::MAX) - number))?;
        line.into_inner().finish_with(&tuning.says);
        (plan.settings, plan.tuning) = (settings, Some(tuning));
        Ok(())
    }

    fn targets(&self, system: &System) -> Vec<TargetFacts> {
        let mut all: Vec<TargetFacts> = Vec::new();
        for outlet in self.outputs.iter().filter_map(Ready::file) {
            let facts = system.stack_of(outlet.path()).map(|stack| stack.target_facts(outlet.path()));
            if let Ok(facts) = facts
                && all.iter().all(|known| (&known.device, &known.path) != (&facts.device, &facts.path))
            {
                all.push(facts);
            }
        }
        all
    }

    /// The outputs with the content of one repeat.
    fn sources(&self, plan: &Plan, repeat: u64) -> Vec<Output<'_>> {
        self.outputs
            .iter()
            .zip(&plan.places)
            .enumerate()
            .map(|(index, (ready, place))| Output {
                outlet: ready.outlet(),
                source: Source { filler: plan.filler.clone(), stream: (repeat << 32) + index as u64 },
                cpus: place.cpus.clone(),
            })
            .collect()
    }

    fn write_all(&self, mut run: Run, plan: &Plan, system: &System) -> Result<Written, Failure> {
        let store = self.surroundings.store.as_ref();
        let sampling = store.map(|store| Sampling::start(system, store.directory()));
        let mut failure = None;
        for repeat in 0..self.options.repeat {
            if self.surroundings.stop.is_asked() || failure.is_some() {
                break;
            }
            for ready in &self.outputs {
                ready.reserve(self.options.size, &self.surroundings.stop)?;
            }
            let (scenario, broke) = self.once(plan, repeat, system, sampling.as_ref())?;
            failure = broke;
            run.scenarios.push(scenario);
            run.interrupted = self.surroundings.stop.is_asked();
            if let Some(sampling) = &sampling {
                let (name, failed) = sampling.flush();
                run.samples = name;
                failed.iter().for_each(|words| self.say(words));
            }
            verdict::judge(&mut run);
            if let Some(store) = store {
                store.save(&run)?;
            }
        }
        run.interrupted = self.surroundings.stop.is_asked();
        if run.interrupted && run.scenarios.is_empty() {
            self.outputs.iter().for_each(|ready| drop(ready.discard(0)));
        }
        Ok(Written { run, failure })
    }

    /// Writes everything once.
    fn once(
        &self,
        plan: &Plan,
        repeat: u32,
        system: &System,
        sampling: Option<&Sampling>,
    ) -> Result<(Scenario, Option<Failure>), Failure> {
        let name = if self.options.repeat == 1 { "stream".into() } else { format!("stream-{}", repeat + 1) };
        let paths: Vec<_> =
            self.outputs.iter().filter_map(|ready| Some(ready.file()?.path().to_path_buf())).collect();
        let mut window = Window::new(system, &paths);
        if let Some(sampling) = sampling {
            window.mark(sampling, repeat as usize, &name);
        }
        let outputs = self.sources(plan, u64::from(repeat));
        let extent = Extent {
            from: 0,
            to: self.options.size,
            longest_ns: None,
            interval_ns: INTERVAL_NS,
            finish: true,
        };
        let gauges = Gauges::default();
        let mut line = self.surroundings.progress.line(&name);
        let streamed = std::thread::scope(|scope| {
            let task =
                scope.spawn(|| run(&outputs, &plan.settings, &extent, &self.control, &gauges, &window));
            self.watch(&mut line, &gauges, || task.is_finished());
            task.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        let mut left = Vec::with_capacity(self.outputs.len());
        let mut failure = None;
        for (ready, result) in self.outputs.iter().zip(&streamed.outputs) {
            let whole = result.whole_to;
            left.push(match &result.failure {
                // An empty file is nobody's product.
                None if whole == 0 => (ready.discard(0), None),
                None => (ready.leave(whole, self.options.size), None),
                Some(found) if streamed.measurement.interrupted && ready.is_pipe() => {
                    (ready.leave(found.position, self.options.size), None)
                }
                Some(_) if streamed.measurement.interrupted && ready.object().is_some() => {
                    (ready.discard(whole), None)
                }
                Some(found) => {
                    let why = self.why(ready, &found.error, found.position);
                    let now = ready.discard(whole);
                    failure = Some(Failure::broke(format!("{why}; {now}")));
                    (now, Some(why))
                }
            });
        }
        let found = match self.options.read_back && failure.is_none() && !streamed.measurement.interrupted {
            true => Some(self.read_back(&outputs, plan.settings.writers * plan.settings.depth, &mut line)?),
            false => None,
        };
        line.finish(Some(&streamed.measurement));
        let mut scenario = self.scenario(plan, repeat, &name, streamed, left, found);
        scenario.samples = sampling.and_then(|sampling| sampling.take(repeat as usize));
        if let Some(measurement) = &mut scenario.measurement {
            // What went to a store is in no counter of a device here.
            let all_here = self.outputs.iter().all(|ready| ready.object().is_none());
            measurement.device = window.traffic().filter(|_| all_here);
        }
        Ok((scenario, failure))
    }

    /// Why an output is not whole, for people.
    fn why(&self, ready: &Ready, error: &std::io::Error, position: u64) -> String {
        let named = &ready.named;
        if ready.object().is_some() {
            // A store's answer names the object itself.
            return format!("{error} (after {position} bytes)");
        }
        let at = format!("after {position} bytes");
        match rustix::io::Errno::from_io_error(error) {
            Some(rustix::io::Errno::PIPE) => format!("{named}: the reader closed the pipe {at}"),
            Some(rustix::io::Errno::NOSPC) => {
                format!("{named}: no space is left on the device {at}; free space there, or lower --size")
            }
            _ => format!("{named}: cannot be written {at}: {error}"),
        }
    }

    fn watch(&self, line: &mut Line, gauges: &Gauges, is_over: impl Fn() -> bool) {
        let mut last: Option<(u64, u64, u64, u64, u64)> = None;
        while !is_over() {
            let now = self.control.snapshot();
            let made = gauges.generated_bytes();
            let at = (now.elapsed_ns, made, now.bytes, now.ios, now.latency_ns);
            let since = last.filter(|last| last.0 < at.0).unwrap_or_default();
            line.update(&now);
            line.tell(&doing(at, since, gauges.pool(), now.length_bytes));
            if last.is_none_or(|last| at.0 >= last.0 + 1_000_000_000 || at.0 < last.0) {
                last = Some(at);
            }
            // Short streams are not held up by the drawing.
            let mut naps = DRAW_EVERY.as_millis() / 5;
            while naps > 0 && !is_over() {
                std::thread::sleep(Duration::from_millis(5));
                naps -= 1;
            }
        }
    }

    fn read_back(&self, outputs: &[Output], at_once: u32, line: &mut Line) -> Result<Vec<ReadBack>, Failure> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4) as u32;
        let mut found = Vec::new();
        for (ready, output) in self.outputs.iter().zip(outputs) {
            let (source, size) = (&output.source, self.options.size);
            let one = std::thread::scope(|scope| {
                let task = scope.spawn(|| match (ready.file(), ready.object()) {
                    (Some(outlet), _) => Ok(Some(read_back(outlet, source, size, threads, &self.control)?)),
                    (None, Some(outlet)) => {
                        object::read_back(&outlet.store, source, size, at_once, &self.control).map(Some)
                    }
                    (None, None) => Ok::<_, Failure>(None),
                });
                while !task.is_finished() {
                    line.update(&self.control.snapshot());
                    std::thread::sleep(Duration::from_millis(5));
                }
                task.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })?;
            found.extend(one);
        }
        Ok(found)
    }

    fn scenario(
        &self,
        plan: &Plan,
        repeat: u32,
        name: &str,
        streamed: Streamed,
        left: Vec<(String, Option<String>)>,
        found: Option<Vec<ReadBack>>,
    ) -> Scenario {
        let Streamed { mut measurement, outputs, writers, producers } = streamed;
        let job = self.job(plan, name);
        measurement.engine = job.ioengine;
        measurement.engine_facts.reason.clone_from(&self.reason);
        if job.ioengine == EngineChoice::Object {
            measurement.engine_facts.reason = "by requests over HTTP".into();
            // The engine knows numbers of the system's only; a store answers in words.
            let why = left.iter().find_map(|(_, error)| error.clone());
            if let Some(why) = why.filter(|_| measurement.errors > 0) {
                measurement.error_kinds = vec![(format!("put part: {why}"), measurement.errors)];
            }
        }
        let finishing_ns = outputs.iter().map(|output| output.finish_ns).max().unwrap_or(0);
        measurement.verify = found.as_ref().map(|found| merged(found));
        let fused = plan.settings.mode == Mode::Fused;
        let of_writers = side(writers.iter().map(|writer| writer.times));
        let stream = Stream {
            settings: recorded(&plan.settings),
            buffers_allowed: plan.settings.buffers,
            memory_bytes: plan.settings.memory_bytes() * self.outputs.len() as u64,
            numa: plan.places.iter().map(|place| place.words.as_str()).collect::<Vec<_>>().join("; "),
            seed: plan.seed,
            repeat,
            size_bytes: self.options.size,
            generated_bytes: outputs.iter().map(|output| output.generated_bytes).sum(),
            written_bytes: outputs.iter().map(|output| output.whole_to).sum(),
            writing_ns: measurement.runtime_ns.saturating_sub(finishing_ns),
            finishing_ns,
            producers: if fused { of_writers } else { side(producers.into_iter()) },
            writers: of_writers,
            outputs: self
                .outputs
                .iter()
                .zip(outputs)
                .zip(left)
                .map(|((ready, output), (left, error))| StreamOutput {
                    target: ready.named.clone(),
                    kind: ready.kind().into(),
                    direct: ready.file().is_some_and(|outlet| outlet.is_direct()),
                    written_bytes: output.whole_to,
                    left,
                    error,
                    requests: ready.object().map(|outlet| StoreRequests {
                        sent: outlet.store.requests.sent(),
                        failed: outlet.store.requests.failed(),
                    }),
                })
                .collect(),
            per_writer: writers.iter().map(writer).collect(),
            read_back: found.map(|found| {
                let bytes: u64 = found.iter().map(|one| one.bytes).sum();
                let runtime_ns: u64 = found.iter().map(|one| one.runtime_ns).sum();
                let bandwidth_bytes_per_s = bytes as f64 / (runtime_ns.max(1) as f64 / 1e9);
                StreamReadBack { bytes, runtime_ns, bandwidth_bytes_per_s }
            }),
            tuning: plan.tuning.clone().filter(|_| repeat == 0),
            ..Stream::default()
        };
        Scenario {
            id: repeat + 1,
            name: name.into(),
            metric: Metric::Bandwidth,
            // fio's own engine for objects puts whole objects only, one for each block.
            fio: match job.ioengine {
                EngineChoice::Object => String::new(),
                _ => iobound_jobfile::print_fio(&job).text,
            },
            job,
            measurement: Some(measurement),
            stream: Some(Box::new(stream)),
            ..Scenario::default()
        }
    }

    /// The stream as a job: what fio would be told to do the same.
    fn job(&self, plan: &Plan, name: &str) -> Job {
        let null = self.outputs.iter().all(Ready::is_null);
        let first = self.outputs.iter().find_map(Ready::file);
        Job {
            name: name.into(),
            rw: Rw::Write,
            bs: plan.settings.buffer_bytes,
            iodepth: plan.settings.depth,
            numjobs: plan.settings.writers * self.outputs.len() as u32,
            group_reporting: false,
            ioengine: match (null, first) {
                (true, _) => EngineChoice::Null,
                (false, Some(outlet)) => outlet.engine(),
                (false, None) if self.outputs.iter().any(|ready| ready.object().is_some()) => {
                    EngineChoice::Object
                }
                (false, None) => EngineChoice::Psync,
            },
            filename: self.outputs.iter().filter_map(|ready| Some(ready.file()?.path().into())).collect(),
            size: Some(iobound_record::Extent::Bytes(self.options.size * self.outputs.len() as u64)),
            direct: self.options.direct && first.is_some(),
            end_fsync: first.is_some(),
            overwrite: false,
            refill_buffers: true,
            compress_ratio: self.options.compress_ratio,
            dedup_ratio: self.options.dedup_ratio,
            randseed: plan.seed,
            ..Job::default()
        }
    }
}

fn merged(found: &[ReadBack]) -> iobound_record::VerifyOutcome {
    let mut sum = iobound_record::VerifyOutcome::default();
    for one in found {
        sum.checked += one.outcome.checked;
        sum.lost += one.outcome.lost;
        sum.corrupt += one.outcome.corrupt;
        sum.examples.extend(one.outcome.examples.iter().cloned());
    }
    sum
}

fn side(times: impl Iterator<Item = iobound_engine::stream::Times>) -> StreamSide {
    times.fold(StreamSide::default(), |sum, one| StreamSide {
        threads: sum.threads + 1,
        all_ns: sum.all_ns + one.all_ns,
        filling_ns: sum.filling_ns + one.filling_ns,
        pool_ns: sum.pool_ns + one.pool_ns,
        target_ns: sum.target_ns + one.target_ns,
    })
}

fn writer(result: &WriterResult) -> StreamWriter {
    let WriterResult { output, stats, times } = result;
    StreamWriter {
        output: *output as u32,
        writes: stats.write.ios,
        bytes: stats.write.bytes,
        bandwidth_bytes_per_s: stats.write.bandwidth_bytes_per_s,
        latency_ns: stats.write.latency_ns,
        filling_ns: times.filling_ns,
        pool_ns: times.pool_ns,
        target_ns: times.target_ns,
        all_ns: times.all_ns,
        errors: stats.errors,
    }
}

/// How the stream stands: rates since `since`, about a second ago. Each is elapsed time, bytes made, bytes
/// written, writes and the sum of their latencies.
fn doing(
    now: (u64, u64, u64, u64, u64),
    since: (u64, u64, u64, u64, u64),
    (waiting, buffers): (u64, u64),
    length: Option<u64>,
) -> String {
    let seconds = now.0.saturating_sub(since.0).max(1) as f64 / 1e9;
    let mib = |bytes: u64| units::significant(bytes as f64 / seconds / units::MIB as f64);
    let writes = now.3.saturating_sub(since.3);
    let latency = match writes {
        0 => "-".into(),
        writes => units::duration(now.4.saturating_sub(since.4) / writes),
    };
    let left = match length.filter(|_| now.2 > 0) {
        Some(length) => {
            let share = 100.0 * now.2 as f64 / length.max(1) as f64;
            let ns = length.saturating_sub(now.2) as f64 / now.2 as f64 * now.0 as f64;
            format!("{share:.0}%, {:.0} s left", ns / 1e9)
        }
        None => String::new(),
    };
    format!(
        "made {} MiB/s  written {} MiB/s  pool {waiting}/{buffers} full  {latency} a write  {left}",
        mib(now.1.saturating_sub(since.1)),
        mib(now.2.saturating_sub(since.2))
    )
}

/// The record of a run that begins now.
pub(crate) fn new_run(system: &System, suite: &str) -> Run {
    let now = jiff::Timestamp::now();
    Run {
        schema: SCHEMA_VERSION,
        iobound: env!("CARGO_PKG_VERSION").into(),
        id: fresh::run_id(),
        started: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        suite: suite.into(),
        command: std::env::args().collect(),
        host: iobound_host::host_facts(system),
        ..Run::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_progress_line_has_both_rates_the_pool_and_the_time_left() {
        let mib = units::MIB;
        let now = (4_000_000_000, 600 * mib, 500 * mib, 125, 1_250_000_000);
        let since = (3_000_000_000, 400 * mib, 350 * mib, 100, 1_000_000_000);
        assert_eq!(
            doing(now, since, (12, 250), Some(1000 * mib)),
            "made 200 MiB/s  written 150 MiB/s  pool 12/250 full  10.0 ms a write  50%, 4 s left"
        );
    }
}
