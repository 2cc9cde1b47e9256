//! The workload from its options to its record.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt};
use iobound_engine::{Control, Phase};
use iobound_fill::{FillSpec, Filler};
use iobound_host::System;
use iobound_record::{
    EngineChoice, Job, LayoutFacts, Measurement, Metric, ObjectKind, ObjectWorkload, Rw, Scenario,
    StoreRequests, VerifyOutcome, units,
};
use object_store::ObjectStore;

use super::mix::{Kind, Mix};
use super::population::Population;
use super::tally::Tally;
use super::worker::{Shared, Worker};
use crate::exit::Failure;
use crate::fresh;
use crate::object::{Address, Store};
use crate::progress::Line;
use crate::stream::{Surroundings, Written, new_run};
use crate::verdict;

const CONCURRENCY_MOST: u32 = 256;
/// An object is held in memory, twice for each request.
const OBJECT_MOST: u64 = 1 << 30;
const OBJECTS_MOST: u64 = 1_000_000;
const INTERVAL: Duration = Duration::from_secs(1);
const DRAW_EVERY: Duration = Duration::from_millis(200);
/// Cleaning up is given this long, and a second more for each so many objects.
const CLEAN_FOR: Duration = Duration::from_secs(30);
const CLEAN_NOTHING_FOR: Duration = Duration::from_secs(2);
const CLEANED_PER_S: u64 = 50;
/// A server may still be storing an object whose request was cut.
const SETTLE: Duration = Duration::from_millis(300);

/// What can be asked of the workload.
#[derive(Clone, Debug)]
pub struct Options {
    /// `s3://bucket/prefix`, and the like.
    pub place: String,
    /// Shares of the operations.
    pub mix: Mix,
    /// Bytes of an object.
    pub object_bytes: u64,
    /// Requests in flight.
    pub concurrency: u32,
    /// Measured time.
    pub runtime: Duration,
    /// Objects put before; None puts enough for the requests not to be in each other's way.
    pub prepared: Option<u64>,
    /// Of the content and the order of operations; None takes a new one.
    pub seed: Option<u64>,
}

impl Options {
    /// Refuses what means nothing, before anything is asked.
    ///
    /// # Errors
    /// Which option, why, and what would do.
    pub(crate) fn check(&self) -> Result<Address, Failure> {
        let address = Address::place(&self.place)?.ok_or_else(|| {
            Failure::usage(format!("{}: no object store; use s3://BUCKET/PREFIX, gs:// or az://", self.place))
        })?;
        let usage = |words: String| Err(Failure::usage(words));
        if self.object_bytes == 0 || self.object_bytes > OBJECT_MOST {
            return usage(format!("--object-size {}: use 1 byte to 1 GiB", self.object_bytes));
        }
        if !(1..=CONCURRENCY_MOST).contains(&self.concurrency) {
            return usage(format!("--concurrency {}: use 1 to {CONCURRENCY_MOST}", self.concurrency));
        }
        if self.runtime.is_zero() {
            return usage("--runtime 0: there is nothing to measure; use 1s or more".into());
        }
        if let Some(objects) = self.prepared
            && !(1..=OBJECTS_MOST).contains(&objects)
        {
            return usage(format!("--objects {objects}: use 1 to {OBJECTS_MOST}"));
        }
        let needed = 3 * u64::from(self.concurrency) * self.object_bytes;
        if let Some(available) = iobound_engine::available_memory().filter(|available| needed > *available) {
            return usage(format!(
                "--concurrency {} x --object-size {} needs {} of memory, {} is there; lower one of them",
                self.concurrency,
                units::bytes(self.object_bytes),
                units::bytes(needed),
                units::bytes(available)
            ));
        }
        Ok(address)
    }

    fn prepared(&self) -> u64 {
        self.prepared.unwrap_or(4 * u64::from(self.concurrency)).max(1)
    }
}

/// Runs the workload and takes away all that it put.
///
/// # Errors
/// It could not start, or not a single object could be put.
pub fn run(options: &Options, surroundings: Surroundings) -> Result<Written, Failure> {
    let address = options.check()?;
    let control = Arc::new(Control::default());
    surroundings.stop.watch(&control);
    let system = System::live();
    let mut record = new_run(&system, "objects");
    let seed = options.seed.unwrap_or_else(fresh::seed);
    let spec = FillSpec { seed, ..FillSpec::default() };
    let filler = Filler::new(spec).map_err(|error| Failure::usage(error.to_string()))?;
    let store = Store::new(&address, options.object_bytes)?;
    // A place of its own: nothing of anybody else's is under it.
    let base = address.key.clone().join(format!("iobound-{}", record.id));
    surroundings.stop.set_last_words(format!(
        "objects under '{base}/' in {} may be left: remove them by hand",
        address.bucket
    ));
    let shared = Shared {
        store: &store,
        base,
        filler: &filler,
        object_bytes: options.object_bytes,
        mix: options.mix,
        population: Population::default(),
        tally: Tally::default(),
        control: &control,
    };
    let mut session = Session { options, surroundings: &surroundings, shared, seed };
    let measured = session.measure();
    let took_nothing = measured.is_err() && session.shared.population.len() == 0;
    let left = session.clean_up(took_nothing);
    let (measurement, tally) = measured.map_err(|failure| match took_nothing {
        true => failure,
        false => Failure { code: failure.code, words: format!("{}; {left}", failure.words) },
    })?;
    record.calibration = Some(iobound_engine::calibrate_quickly()?);
    let scenario = session.scenario(measurement, tally, left);
    record.interrupted = surroundings.stop.is_asked();
    record.scenarios.push(scenario);
    verdict::judge(&mut record);
    if let Some(store) = &surroundings.store {
        store.save(&record)?;
    }
    surroundings.stop.set_last_words(String::new());
    surroundings.stop.unwatch_all();
    Ok(Written { run: record, failure: None })
}

struct Session<'a> {
    options: &'a Options,
    surroundings: &'a Surroundings,
    shared: Shared<'a>,
    seed: u64,
}

impl Session<'_> {
    fn measure(&mut self) -> Result<(Measurement, Tally), Failure> {
        let mut line = self.surroundings.progress.line("objects");
        let control = self.shared.control;
        let prepared = self.options.prepared();
        let began = Instant::now();
        control.enter(Phase::LayingOut, None, Some(prepared * self.options.object_bytes));
        self.in_threads(&mut line, |worker| worker.prepare(prepared), |_| {})?;
        let layout = LayoutFacts {
            bytes: self.shared.population.len() as u64 * self.options.object_bytes,
            runtime_ns: began.elapsed().as_nanos() as u64,
        };
        // What was counted until here is not measured.
        self.shared.tally = Tally::default();
        let began = Instant::now();
        let end = began + self.options.runtime;
        control.enter(Phase::Measuring, Some(self.options.runtime.as_nanos() as u64), None);
        let mut last = 0;
        let tick = |shared: &Shared| {
            let now = began.elapsed().as_nanos() as u64;
            if now >= last + INTERVAL.as_nanos() as u64 {
                shared.tally.end_interval(last, now - last);
                last = now;
            }
        };
        let work = |worker: &mut Worker| {
            worker.work(end);
            Ok(())
        };
        let found = self.in_threads(&mut line, work, tick)?;
        let runtime_ns = began.elapsed().as_nanos() as u64;
        self.shared.tally.end_interval(last, runtime_ns.saturating_sub(last).max(1));
        let verify = found.into_iter().fold(VerifyOutcome::default(), |mut sum, one| {
            sum.checked += one.checked;
            sum.lost += one.lost;
            sum.corrupt += one.corrupt;
            sum.examples.extend(one.examples);
            sum.examples.truncate(8);
            sum
        });
        let measurement = Measurement {
            engine: EngineChoice::Object,
            runtime_ns,
            interrupted: control.is_stopped(),
            layout: Some(layout),
            verify: Some(verify),
            ..Measurement::default()
        };
        line.finish_with("measured");
        Ok((measurement, std::mem::take(&mut self.shared.tally)))
    }

    /// Lets each thread do its work, and `tick` be called meanwhile; what their GETs showed.
    fn in_threads(
        &self,
        line: &mut Line,
        work: impl Fn(&mut Worker) -> Result<(), Failure> + Sync,
        mut tick: impl FnMut(&Shared),
    ) -> Result<Vec<VerifyOutcome>, Failure> {
        let shared = &self.shared;
        let mut told = None;
        std::thread::scope(|scope| {
            let work = &work;
            let one = move |number: u32| -> Result<VerifyOutcome, Failure> {
                let mut worker = Worker::new(shared, self.seed ^ (u64::from(number) + 1).rotate_left(32))?;
                work(&mut worker)?;
                Ok(worker.outcome)
            };
            let threads: Vec<_> =
                (0..self.options.concurrency).map(|number| scope.spawn(move || one(number))).collect();
            let mut drawn = Instant::now();
            while !threads.iter().all(|thread| thread.is_finished()) {
                std::thread::sleep(Duration::from_millis(5));
                tick(shared);
                if drawn.elapsed() >= DRAW_EVERY {
                    drawn = Instant::now();
                    line.update(&shared.control.snapshot());
                    let last = shared.store.requests.last().filter(|last| told.as_ref() != Some(last));
                    if let Some(last) = last {
                        let words = format!("{}: {last}; trying again", shared.store.address);
                        self.surroundings.progress.say(&words);
                        told = Some(last);
                    }
                }
            }
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        })
    }

    /// Takes away every object under the workload's own prefix; what is left, in words.
    fn clean_up(&self, took_nothing: bool) -> String {
        let shared = &self.shared;
        let given_out = shared.population.given_out();
        let longest = match took_nothing {
            // Such a store is not waited for a second time.
            true => CLEAN_NOTHING_FOR,
            false => CLEAN_FOR + Duration::from_secs(given_out / CLEANED_PER_S),
        };
        if shared.control.is_stopped() {
            std::thread::sleep(SETTLE);
        }
        let objects = &shared.store.objects;
        let removed = shared.store.wait_at_most(longest, async {
            let mut removed = 0;
            // What a cut request still stores may come after the first look.
            loop {
                let all = objects.list(Some(&shared.base)).map_ok(|found| found.location).boxed();
                let gone: Vec<_> = objects.delete_stream(all).try_collect().await?;
                removed += gone.len();
                if gone.is_empty() {
                    return Ok(removed);
                }
            }
        });
        match removed {
            Ok(removed) => format!("all objects were removed ({removed} at the end)"),
            Err(failure) => format!(
                "objects under '{}/' may be left, remove them by hand: {}",
                shared.base, failure.words
            ),
        }
    }

    fn scenario(&self, mut measurement: Measurement, tally: Tally, left: String) -> Scenario {
        let (lanes, series, put_instead) = tally.take();
        let ns = measurement.runtime_ns;
        let mix = self.options.mix;
        let kinds = Kind::ALL
            .into_iter()
            .zip(&lanes)
            .filter(|(kind, lane)| {
                mix.share(*kind) > 0.0 || lane.latency.count() > 0 || !lane.errors.is_empty()
            })
            .map(|(kind, lane)| {
                let stats = lane.stats(ns);
                ObjectKind {
                    kind: kind.as_str().into(),
                    share: mix.share(kind),
                    ops: stats.ios,
                    ops_per_s: stats.iops,
                    bytes: stats.bytes,
                    bandwidth_bytes_per_s: stats.bandwidth_bytes_per_s,
                    latency_ns: stats.latency_ns,
                    errors: lane.errors.iter().map(|(why, count)| (why.clone(), *count)).collect(),
                }
            })
            .collect::<Vec<_>>();
        measurement.read = lanes[Kind::Get.index()].stats(ns);
        measurement.write = lanes[Kind::Put.index()].stats(ns);
        measurement.series = series;
        for kind in &kinds {
            let errors = kind.errors.iter().map(|(why, count)| (format!("{}: {why}", kind.kind), *count));
            measurement.error_kinds.extend(errors);
        }
        measurement.errors = measurement.error_kinds.iter().map(|(_, count)| count).sum();
        let store = self.shared.store;
        let objects = ObjectWorkload {
            prefix: format!(
                "{}://{}/{}",
                store.address.scheme.as_str(),
                store.address.bucket,
                self.shared.base
            ),
            object_bytes: self.options.object_bytes,
            concurrency: self.options.concurrency,
            prepared: self.options.prepared(),
            seed: self.seed,
            kinds,
            put_instead,
            requests: StoreRequests { sent: store.requests.sent(), failed: store.requests.failed() },
            left,
        };
        let (get, put) = (mix.share(Kind::Get), mix.share(Kind::Put));
        let job = Job {
            name: "objects".into(),
            rw: match (get > 0.0, put > 0.0) {
                (true, false) => Rw::RandRead,
                (false, _) => Rw::Write,
                (true, true) => Rw::RandRw,
            },
            rwmixread: if get + put > 0.0 { (100.0 * get / (get + put)).round() as u8 } else { 0 },
            bs: self.options.object_bytes,
            iodepth: 1,
            numjobs: self.options.concurrency,
            ioengine: EngineChoice::Object,
            size: Some(iobound_record::Extent::Bytes(self.options.prepared() * self.options.object_bytes)),
            runtime_ns: Some(self.options.runtime.as_nanos() as u64),
            time_based: true,
            randseed: self.seed,
            ..Job::default()
        };
        Scenario {
            id: 1,
            name: "objects".into(),
            metric: Metric::Iops,
            job,
            measurement: Some(measurement),
            objects: Some(Box::new(objects)),
            ..Scenario::default()
        }
    }
}
