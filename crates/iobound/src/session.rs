//! A run: guards its targets, runs its jobs, keeps its record.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use iobound_engine::{Control, Ledger, Observer, Prepared, lay_out_within, paths_of};
use iobound_host::guard::{self, Intent, Lock, Policy, Target, TargetKind, Wants};
use iobound_host::{System, TrafficError, TrafficMeter, backing};
use iobound_record::{Backing, DeviceTraffic, EngineChoice, Extent, Job, Measurement, Metric, Run, Scenario};

use crate::dd_engine;
use crate::exit::Failure;
use crate::fio_engine;
use crate::progress::{Line, Progress};
use crate::promised::volume_of;
use crate::sampling::{Mark, Sampling};
use crate::settling::Settling;
use crate::stop::Stop;
use crate::store::Store;
use crate::suites::{Group, Step};
use crate::verdict;

/// How often the progress lines are drawn.
const DRAW_EVERY: Duration = Duration::from_millis(200);

/// What the user allowed and wants kept.
#[derive(Clone, Debug, Default)]
pub struct Rights {
    /// Existing files may be written.
    pub overwrite: bool,
    /// Devices that may be written, each named.
    pub destroy_data: Vec<PathBuf>,
    /// Files that the run makes stay.
    pub keep_files: bool,
}

/// A run in progress. Dropping it removes the files it made.
pub struct Session {
    system: System,
    policy: Policy,
    ledger: Ledger,
    keep_files: bool,
    locks: BTreeMap<PathBuf, Lock>,
    /// Devices stay claimed as long as these live.
    targets: Vec<Target>,
    stop: Arc<Stop>,
    progress: Progress,
    store: Option<Store>,
    sampling: Option<Sampling>,
    /// Time between two groups, in which storage comes to rest.
    pub pause: Duration,
    /// End each scenario when its figure is known to this share.
    pub until_steady: Option<f64>,
    /// The record so far.
    pub run: Run,
}

impl Session {
    /// A session with an empty record, which `store` takes after every scenario.
    pub fn new(
        run: Run,
        rights: &Rights,
        stop: Arc<Stop>,
        progress: Progress,
        store: Option<Store>,
    ) -> Session {
        Session {
            system: System::live(),
            policy: Policy {
                overwrite: rights.overwrite,
                destroy_data: rights.destroy_data.clone(),
                wants: Wants::File,
            },
            ledger: Ledger::new(rights.keep_files),
            keep_files: rights.keep_files,
            locks: BTreeMap::new(),
            targets: Vec::new(),
            stop,
            progress,
            store,
            sampling: None,
            pause: Duration::ZERO,
            until_steady: None,
            run,
        }
    }

    /// Tells the person something.
    pub fn say(&self, text: &str) {
        self.progress.say(text);
    }

    /// Makes a working set of its own for a suite; see [`lay_out_within`]. Returns its length.
    ///
    /// # Errors
    /// The place cannot be used.
    pub fn make_working_set(
        &mut self,
        path: &Path,
        sizes: (u64, u64),
        longest: Duration,
    ) -> Result<u64, Failure> {
        self.take_over(path)?;
        self.guard(path, Intent::Write)?;
        self.create(path)?;
        self.lock(path)?;
        let control = Arc::new(Control::default());
        self.stop.watch(&control);
        let mut line = self.progress.line("lay-out");
        let ledger = &mut self.ledger;
        let layout = std::thread::scope(|scope| {
            let task = scope.spawn(|| lay_out_within(path, sizes, longest, ledger, &control));
            while !task.is_finished() {
                line.update(&control.snapshot());
                std::thread::sleep(DRAW_EVERY.min(Duration::from_millis(50)));
            }
            task.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        self.stop.unwatch_all();
        let layout = layout?;
        let rate = layout.bytes as f64 / (layout.runtime_ns.max(1) as f64 / 1e9);
        line.finish_with(&format!(
            "{} of data written, {}",
            iobound_record::units::bytes(layout.bytes),
            iobound_record::units::bandwidth(rate)
        ));
        Ok(layout.bytes)
    }

    /// Runs groups of steps one after another, and saves the record after each.
    ///
    /// # Errors
    /// The first step that cannot run ends the run; what was measured before is kept and saved.
    pub fn run_groups(&mut self, groups: Vec<Group>) -> Result<(), Failure> {
        let directory = self.store.as_ref().map(Store::directory);
        self.sampling = directory.map(|directory| Sampling::start(&self.system, directory));
        for (index, group) in groups.into_iter().enumerate() {
            if index > 0 {
                self.rest();
            }
            if self.stop.is_asked() {
                break;
            }
            let result = self.run_group(group);
            self.run.interrupted = self.stop.is_asked();
            self.keep_samples();
            verdict::judge(&mut self.run);
            self.save()?;
            result?;
        }
        self.run.interrupted = self.stop.is_asked();
        self.keep_samples();
        self.sampling = None;
        Ok(())
    }

    /// Writes the rows so far: now that no job runs it disturbs none.
    fn keep_samples(&mut self) {
        let Some(sampling) = &self.sampling else { return };
        let (name, failed) = sampling.flush();
        self.run.samples = name;
        failed.iter().for_each(|words| self.progress.say(words));
    }

    /// Waits between two groups, unless the run is stopped.
    fn rest(&self) {
        let end = std::time::Instant::now() + self.pause;
        while !self.stop.is_asked() {
            let left = end.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(DRAW_EVERY));
        }
    }

    /// Writes the record, if it is kept.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&self) -> Result<(), Failure> {
        self.store.as_ref().map_or(Ok(()), |store| store.save(&self.run))
    }

    /// Removes the files that the run made.
    ///
    /// # Errors
    /// Which could not be removed.
    pub fn clean_up(&mut self) -> Result<(), Failure> {
        for path in self.ledger.made().filter(|_| self.keep_files) {
            let _ = std::fs::File::open(path).map(guard::unmark);
        }
        let left = self.ledger.remove();
        self.stop.set_files(std::iter::empty());
        match left.first() {
            None => Ok(()),
            Some((path, error)) => Err(Failure::broke(format!(
                "{}: cannot be removed: {error}; remove it by hand",
                path.display()
            ))),
        }
    }

    fn run_group(&mut self, group: Group) -> Result<(), Failure> {
        let mut running = Vec::with_capacity(group.len());
        for step in group {
            let first = self.run.scenarios.len();
            self.run.scenarios.push(scenario_of(&step));
            match self.prepare(&step) {
                Ok(prepared) => {
                    self.run.scenarios[first].volume = self.volume_of(&step);
                    if let Way::Dd(program) = &prepared {
                        self.run.scenarios[first].program = program.words();
                    }
                    running.push((first, step, prepared));
                }
                Err(failure) => {
                    self.run.scenarios[first].error = Some(failure.words.clone());
                    return Err(failure);
                }
            }
        }
        let shared = running.len() > 1;
        let ids: Vec<u32> = running.iter().map(|(_, step, _)| step.id).collect();
        let mut jobs: Vec<Running> = running
            .into_iter()
            .map(|(index, step, way)| {
                Running::new(index, step, way, &self.progress, &self.stop, &self.system, shared)
            })
            .collect();
        if let Some(sampling) = &self.sampling {
            jobs.iter_mut().for_each(|job| job.window.mark(sampling, job.index, &job.step.name));
        }
        let stop = &self.stop;
        let tolerance = self.until_steady;
        let metrics: Vec<Metric> = jobs.iter().map(|job| self.run.scenarios[job.index].metric).collect();
        let results: Vec<_> = std::thread::scope(|scope| {
            let mut tasks = Vec::with_capacity(jobs.len());
            let mut lines = Vec::with_capacity(jobs.len());
            for (job, metric) in jobs.iter_mut().zip(metrics) {
                let Running { way, control, window, line, step, .. } = job;
                lines.push((line, Arc::clone(control)));
                tasks.push(scope.spawn(move || match tolerance {
                    None => way.run(&step.job, control, window, stop),
                    Some(tolerance) => {
                        let settling = Settling::new(window, metric, &step.job, tolerance);
                        settling.mark(way.run(&step.job, control, &settling, stop))
                    }
                }));
            }
            while !tasks.iter().all(|task| task.is_finished()) {
                lines.iter_mut().for_each(|(line, control)| line.update(&control.snapshot()));
                std::thread::sleep(DRAW_EVERY / 4);
            }
            tasks
                .into_iter()
                .map(|task| task.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        self.stop.unwatch_all();
        let mut outcome = Ok(());
        for (job, result) in jobs.into_iter().zip(results) {
            let scenario = &mut self.run.scenarios[job.index];
            scenario.backing = job.backing;
            scenario.beside = ids.iter().copied().filter(|&id| id != job.step.id).collect();
            scenario.backing_after = may_be_compressed(&job.window.stacks, &job.step.job)
                .then(|| backing_of(&job.step.job, &paths_of(&job.step.job)))
                .flatten();
            scenario.samples = self.sampling.as_ref().and_then(|sampling| sampling.take(job.index));
            match result {
                Ok(mut measurement) => {
                    measurement.device = job.window.traffic().or(measurement.device);
                    job.line.finish(Some(&measurement));
                    scenario.measurement = Some(measurement);
                }
                Err(failure) => {
                    job.line.finish(None);
                    scenario.error = Some(failure.words.clone());
                    outcome = Err(failure);
                }
            }
        }
        outcome
    }

    /// As a suite says, or where the context has the job's files.
    fn volume_of(&self, step: &Step) -> String {
        let context = self.run.context.as_ref().filter(|_| step.volume.is_empty());
        let found = context.and_then(|context| volume_of(context, &self.system, &paths_of(&step.job)));
        found.unwrap_or_else(|| step.volume.clone())
    }

    /// Everything up to the moment the job can start.
    fn prepare(&mut self, step: &Step) -> Result<Way, Failure> {
        if step.for_fio.is_none() {
            step.job.validate().map_err(Failure::usage)?;
        }
        if step.job.ioengine == EngineChoice::Null {
            let control = Control::default();
            return Ok(Way::Ours(Box::new(Prepared::new(&step.job, &mut self.ledger, &control)?)));
        }
        for path in paths_of(&step.job) {
            self.admit(&path, &step.job)?;
        }
        if let Some(for_fio) = &step.for_fio {
            return Ok(Way::Fio(fio_engine::prepare(&step.job, for_fio)?));
        }
        let by_dd = step.job.ioengine == EngineChoice::Dd;
        // What dd is given is made and laid out as for our own engines.
        let job = match by_dd {
            true => Job { ioengine: EngineChoice::Psync, ..step.job.clone() },
            false => step.job.clone(),
        };
        let control = Arc::new(Control::default());
        self.stop.watch(&control);
        let mut line = self.progress.line(&step.name);
        let ledger = &mut self.ledger;
        let prepared = std::thread::scope(|scope| {
            let task = scope.spawn(|| Prepared::new(&job, ledger, &control));
            while !task.is_finished() {
                line.update(&control.snapshot());
                std::thread::sleep(Duration::from_millis(5));
            }
            task.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        line.clear();
        self.stop.unwatch_all();
        let prepared = Box::new(prepared?);
        Ok(if by_dd { Way::Dd(dd_engine::prepare(&step.job)?) } else { Way::Ours(prepared) })
    }

    /// Removes a file that a killed run left: marked as ours, and locked by nobody.
    fn take_over(&mut self, path: &Path) -> Result<(), Failure> {
        if !std::fs::File::open(path).is_ok_and(guard::is_ours) {
            return Ok(());
        }
        let _held = guard::lock(path)?;
        std::fs::remove_file(path).map_err(|error| {
            Failure::usage(format!("{}: left by a killed run and cannot be removed: {error}", path.display()))
        })?;
        self.say(&format!("removed {}, left by a run that was killed", path.display()));
        Ok(())
    }

    /// Checks, makes and locks one target.
    fn admit(&mut self, path: &Path, job: &Job) -> Result<(), Failure> {
        if self.locks.contains_key(path) {
            return Ok(());
        }
        self.take_over(path)?;
        let missing = !path.exists();
        let intent = if job.rw.writes() || missing { Intent::Write } else { Intent::Read };
        if missing && job.size.is_none() {
            return Err(Failure::usage(format!(
                "{}: it does not exist, and job '{}' gives no size to make it with; add size=1g, for example",
                path.display(),
                job.name
            )));
        }
        self.guard(path, intent)?;
        if missing {
            self.create(path)?;
        }
        let locked = self.lock(path);
        if locked.is_err() && missing {
            self.ledger.forget(path);
        }
        locked
    }

    fn guard(&mut self, path: &Path, intent: Intent) -> Result<(), Failure> {
        let target = guard::check(&self.system, path, intent, &self.policy)?;
        target.notes.iter().for_each(|note| self.progress.say(&format!("note: {}: {note}", path.display())));
        if matches!(target.kind, TargetKind::Device { .. }) {
            self.targets.push(target);
        }
        let facts = self.system.stack_of(path).map(|stack| stack.target_facts(path));
        if let Ok(facts) = facts
            && self
                .run
                .host
                .targets
                .iter()
                .all(|known| known.device != facts.device || known.filesystem != facts.filesystem)
        {
            self.run.host.targets.push(facts);
        }
        Ok(())
    }

    /// Makes a file and marks it as ours, so that one left by a killed run is known again.
    fn create(&mut self, path: &Path) -> Result<(), Failure> {
        self.ledger.create(path)?;
        self.stop.set_files(self.ledger.made().map(PathBuf::from));
        // A mark helps; a file system without attributes does without.
        let _ = std::fs::File::open(path).and_then(guard::mark_ours);
        Ok(())
    }

    fn lock(&mut self, path: &Path) -> Result<(), Failure> {
        if !self.locks.contains_key(path) {
            self.locks.insert(path.into(), guard::lock(path)?);
        }
        Ok(())
    }
}

/// The empty scenario of a step.
fn scenario_of(step: &Step) -> Scenario {
    let engine = step.for_fio.as_ref().map_or(step.job.ioengine, |for_fio| for_fio.engine);
    let as_fio = Job { ioengine: engine, ..step.job.clone() };
    Scenario {
        id: step.id,
        name: step.name.clone(),
        title: step.about.title.clone(),
        metric: step.about.metric,
        report: step.about.report.clone(),
        target: step.about.target,
        phase_name: step.about.phase_name.clone(),
        sweep: step.about.sweep.clone(),
        fresh: step.about.fresh,
        volume: step.volume.clone(),
        phase: step.phase,
        job: step.job.clone(),
        fio: iobound_jobfile::print_fio(&as_fio).text,
        ..Scenario::default()
    }
}

/// Who does the I/O.
enum Way {
    Ours(Box<Prepared>),
    Fio(fio_engine::Command),
    Dd(dd_engine::Program),
}

impl Way {
    fn run(
        &mut self,
        job: &Job,
        control: &Control,
        observer: &dyn Observer,
        stop: &Stop,
    ) -> Result<Measurement, Failure> {
        match self {
            Way::Ours(prepared) => Ok(prepared.run(control, observer)?),
            Way::Fio(command) => {
                observer.begin();
                let measurement = command.run(job, stop);
                observer.end();
                measurement
            }
            Way::Dd(program) => {
                observer.begin();
                let measurement = program.run(job, stop);
                observer.end();
                measurement
            }
        }
    }
}

/// One job of a group while it runs.
struct Running {
    index: usize,
    step: Step,
    way: Way,
    control: Arc<Control>,
    window: Window,
    backing: Option<Backing>,
    line: Line,
}

impl Running {
    fn new(
        index: usize,
        step: Step,
        way: Way,
        progress: &Progress,
        stop: &Stop,
        system: &System,
        shared: bool,
    ) -> Running {
        let control = Arc::new(Control::default());
        if shared {
            control.set_shared();
        }
        stop.watch(&control);
        let paths = if step.job.ioengine == EngineChoice::Null { Vec::new() } else { paths_of(&step.job) };
        Running {
            index,
            way,
            control,
            window: Window::new(system, &paths),
            backing: backing_of(&step.job, &paths),
            line: progress.line(&step.name),
            step,
        }
    }
}

/// Whether what a job wrote may be kept smaller: only then its files' maps are asked for again, which has
/// held-back data written out.
fn may_be_compressed(stacks: &[iobound_host::Stack], job: &Job) -> bool {
    let compresses = |stack: &iobound_host::Stack| {
        stack.mount.as_ref().is_some_and(|m| ["btrfs", "bcachefs", "f2fs"].contains(&m.filesystem.as_str()))
    };
    job.rw.writes() && stacks.iter().any(compresses)
}

/// What lies under the range of a job, over all its regular files.
fn backing_of(job: &Job, paths: &[PathBuf]) -> Option<Backing> {
    let mut sum = Backing::default();
    for path in paths {
        let metadata = std::fs::metadata(path).ok().filter(|metadata| metadata.is_file())?;
        let whole = metadata.len();
        let start = job.offset.map_or(0, |offset| offset.resolve(whole));
        let len = match job.size {
            Some(Extent::Bytes(bytes)) if !job.filename.is_empty() => bytes / paths.len() as u64,
            _ => whole.saturating_sub(start),
        };
        let len = len.min(whole.saturating_sub(start));
        let found = backing(path, start, len).ok()?;
        sum.range_bytes += len;
        sum.hole_bytes += found.hole_bytes;
        sum.unwritten_bytes += found.unwritten_bytes;
        sum.encoded_bytes += found.encoded_bytes;
    }
    (sum.range_bytes > 0).then_some(sum)
}

/// Reads the devices' counters at both ends of the measured time.
pub(crate) struct Window {
    system: System,
    stacks: Vec<iobound_host::Stack>,
    meter: Mutex<Option<TrafficMeter>>,
    moved: Mutex<Option<DeviceTraffic>>,
    mark: Option<Mark>,
}

impl Window {
    pub(crate) fn new(system: &System, paths: &[PathBuf]) -> Window {
        let stacks = paths.iter().filter_map(|path| system.stack_of(path).ok()).collect();
        Window {
            system: system.clone(),
            stacks,
            meter: Mutex::new(None),
            moved: Mutex::new(None),
            mark: None,
        }
    }

    pub(crate) fn mark(&mut self, sampling: &Sampling, scenario: usize, name: &str) {
        self.mark = Some(sampling.scenario(scenario, name, &self.stacks));
    }

    pub(crate) fn traffic(&self) -> Option<DeviceTraffic> {
        self.moved.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }
}

impl Observer for Window {
    fn begin(&self) {
        let stacks: Vec<&iobound_host::Stack> = self.stacks.iter().collect();
        let started = TrafficMeter::start_all(&self.system, &stacks).ok();
        *self.meter.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = started;
        self.mark.iter().for_each(Mark::begin);
    }

    fn end(&self) {
        self.mark.iter().for_each(Mark::end);
        let meter = self.meter.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        let moved = meter.and_then(|meter| match meter.stop() {
            Ok(traffic) => Some(traffic),
            Err(TrafficError::Vanished { partial, .. }) => Some(*partial),
            Err(_) => None,
        });
        *self.moved.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = moved;
    }
}
