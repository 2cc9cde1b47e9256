//! The search for settings, on the real targets.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use iobound_engine::Control;
use iobound_engine::stream::{Extent, Gauges, Mode, Output, Settings, run};
use iobound_record::{StreamSettings, StreamTrial, StreamTuning, units};

use super::options::{Options, PAGE};
use super::target::Ready;
use super::tune::{self, Fixed, Found, Remote, Seen};
use crate::exit::Failure;
use crate::object::least_part;
use crate::stop::Stop;

/// How long one setting is tried, and once more when it is among the best.
const TRY_NS: u64 = 300_000_000;
const AGAIN_NS: u64 = 700_000_000;
/// The same for object stores, where one part may take some 100 ms.
const OBJECT_TRIES_NS: (u64, u64) = (1_000_000_000, 2_000_000_000);

/// What a search needs of its surroundings.
pub(super) struct Tuning<'a> {
    pub(super) options: &'a Options,
    pub(super) outputs: &'a [Ready],
    pub(super) control: &'a Arc<Control>,
    pub(super) stop: &'a Stop,
    pub(super) cpus: u32,
    /// Shown as it goes.
    pub(super) tell: &'a dyn Fn(&str),
}

impl Tuning<'_> {
    /// Finds settings. Whatever was written to try is overwritten afterwards, or cut off. `output` makes
    /// the outputs with content of the given number, so that no try writes what another wrote.
    ///
    /// # Errors
    /// A target cannot be written.
    pub(super) fn find<'b>(
        &self,
        output: &dyn Fn(u64) -> Vec<Output<'b>>,
    ) -> Result<(Settings, StreamTuning), Failure> {
        let began = Instant::now();
        let (bytes, tries) = (Cell::new(0u64), Cell::new(0u64));
        let scratch = self.outputs.iter().map(|ready| ready.scratch(self.options.size)).min().unwrap_or(0);
        let granule = self.outputs.iter().map(|ready| ready.outlet().granule()).max().unwrap_or(1);
        let objects: Vec<_> =
            self.outputs.iter().filter_map(|ready| Some(&ready.object()?.store.address)).collect();
        let (try_ns, again_ns) = if objects.is_empty() { (TRY_NS, AGAIN_NS) } else { OBJECT_TRIES_NS };
        let fixed = Fixed {
            buffer_bytes: self.options.buffer_bytes,
            buffers: self.options.buffers,
            writers: self.options.writers,
            depth: self.options.depth,
            mode: self.options.mode,
            max_threads: self.options.max_threads,
            granule: granule.max(PAGE),
            remote: objects.first().map(|_| Remote {
                least_bytes: least_part(&objects, self.options.size),
                most_bytes: scratch,
            }),
        };
        let found = tune::search(self.cpus, &fixed, |settings, again| {
            if self.control.is_stopped() {
                return Ok(None);
            }
            tries.set(tries.get() + 1);
            (self.tell)(&format!("trying {}", tune::in_words(settings)));
            let longest_ns = if again { again_ns } else { try_ns };
            let seen = self.measure(&output(tries.get()), settings, scratch, longest_ns)?;
            bytes.set(bytes.get() + seen.1);
            Ok::<_, Failure>(Some(seen.0))
        })?;
        let tuning = StreamTuning {
            cpus: self.cpus,
            says: says(&found, self.cpus),
            bytes: bytes.get(),
            runtime_ns: began.elapsed().as_nanos() as u64,
            trials: found.tried.iter().map(|tried| trial(tried, &found)).collect(),
        };
        Ok((found.settings, tuning))
    }

    /// One try, and the bytes that it wrote.
    fn measure(
        &self,
        outputs: &[Output],
        settings: &Settings,
        scratch: u64,
        longest_ns: u64,
    ) -> Result<(Seen, u64), Failure> {
        for ready in self.outputs {
            ready.reserve(scratch, self.stop)?;
        }
        let extent = Extent {
            from: 0,
            to: scratch,
            longest_ns: Some(longest_ns),
            interval_ns: 1_000_000_000,
            finish: false,
        };
        let streamed = run(outputs, settings, &extent, self.control, &Gauges::default(), &())?;
        for (ready, result) in self.outputs.iter().zip(&streamed.outputs) {
            if let Some(failure) = &result.failure {
                return Err(Failure::broke(format!(
                    "{}: while settings were tried, at byte {}: {}",
                    ready.named, failure.position, failure.error
                )));
            }
        }
        let measured = &streamed.measurement;
        let written = measured.write.bytes;
        let cpu = measured.cpu.user_ns + measured.cpu.system_ns;
        let seen = Seen {
            rate: measured.write.bandwidth_bytes_per_s,
            cpu_ns_per_byte: cpu as f64 / written.max(1) as f64,
        };
        Ok((seen, written))
    }
}

fn trial(tried: &tune::Tried, found: &Found) -> StreamTrial {
    StreamTrial {
        settings: recorded(&tried.settings),
        bandwidth_bytes_per_s: tried.rate(),
        cpu_ns_per_byte: tried.cpu_ns_per_byte(),
        tries: tried.seen.len() as u32,
        chosen: tried.settings == found.settings,
    }
}

fn says(found: &Found, cpus: u32) -> String {
    let Some(start) = found.tried.first() else {
        return "Stopped before anything was tried: the table's own settings.".into();
    };
    let chosen = found.tried.iter().find(|tried| tried.settings == found.settings).unwrap_or(start);
    format!(
        "From the table for {cpus} processors ({}, {}) to {}: {}; {} settings tried.",
        tune::in_words(&start.settings),
        units::bandwidth(start.rate()),
        tune::in_words(&found.settings),
        units::bandwidth(chosen.rate()),
        found.tried.len()
    )
}

/// The record's form.
pub(super) fn recorded(settings: &Settings) -> StreamSettings {
    let (pools, buffers) = settings.pools();
    StreamSettings {
        mode: match settings.mode {
            Mode::Fused => "fused".into(),
            Mode::Split => "split".into(),
        },
        buffer_bytes: settings.buffer_bytes,
        buffers: pools * buffers,
        writers: settings.writers,
        producers: if settings.mode == Mode::Fused { 0 } else { settings.producers },
        depth: settings.depth,
    }
}
