//! What the tool itself can do on this machine, so that a result is never mistaken for the device's
//! when it is the generator's.

use std::hint::black_box;
use std::time::{Duration, Instant};

use iobound_fill::{FillSpec, Filler};
use iobound_record::{Calibration, EngineChoice, Extent, Job, Rw};

use crate::buffers::Buffers;
use crate::clock::{Clock, kernel_ns};
use crate::control::Control;
use crate::error::EngineError;
use crate::files::Ledger;
use crate::run::Prepared;

/// Larger than the last-level cache share of a core on most servers; stores past the cache reach
/// memory from any buffer.
const MEMORY_BYTES: usize = 64 << 20;
/// The same within a run, which shall not need more memory than its buffers and a little.
const MEMORY_BYTES_QUICK: usize = 8 << 20;
/// Well inside the L2 cache of any current server core.
const CACHED_BYTES: usize = 256 << 10;
/// Fill in steps of the largest buffers that streams use.
const STEP: usize = 4 << 20;

/// Measures everything; takes about `6 x each`.
///
/// # Errors
/// Memory that cannot be had.
pub fn calibrate(each: Duration) -> Result<Calibration, EngineError> {
    measure(each, MEMORY_BYTES)
}

fn measure(each: Duration, memory: usize) -> Result<Calibration, EngineError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u32;
    let clock = Clock::get();
    let filler = Filler::new(FillSpec::default()).map_err(|error| EngineError::Broke {
        what: "fill".into(),
        source: std::io::Error::other(error.to_string()),
        remedy: String::new(),
    })?;
    Ok(Calibration {
        null_iops_per_core: null_iops(1, each)?,
        null_iops_all_cores: null_iops(cores, each)?,
        fill_bytes_per_s_per_core: rate_of(1, memory, each, |buffer, at| fill_memory(&filler, buffer, at))?,
        fill_bytes_per_s_all_cores: rate_of(cores, memory, each, |buffer, at| {
            fill_memory(&filler, buffer, at)
        })?,
        fill_cached_bytes_per_s_per_core: rate_of(1, CACHED_BYTES, each, |buffer, at| {
            filler.fill(at, 0, buffer)
        })?,
        store_bytes_per_s_per_core: rate_of(1, memory, each, store)?,
        clock_read_ns: cost_ns(|| clock.now()),
        clock: clock.name().into(),
        clock_gettime_ns: cost_ns(kernel_ns),
        cores,
    })
}

/// So often a rate of 0 is measured again.
const TRIES: usize = 5;

/// The same in about a quarter of a second, for the record of every run.
///
/// # Errors
/// As [`calibrate`].
pub fn calibrate_quickly() -> Result<Calibration, EngineError> {
    measure(Duration::from_millis(30), MEMORY_BYTES_QUICK)
}

/// As writes larger than the caches are filled.
fn fill_memory(filler: &Filler, buffer: &mut [u8], round: u64) {
    for (index, step) in buffer.chunks_mut(STEP).enumerate() {
        filler.fill_streaming(round, (index * STEP) as u64, step);
    }
}

fn store(buffer: &mut [u8], _round: u64) {
    iobound_fill::store_limit(buffer);
}

/// Null-engine operations per second with all statistics on.
fn null_iops(threads: u32, each: Duration) -> Result<f64, EngineError> {
    let job = Job {
        name: "calibrate".into(),
        ioengine: EngineChoice::Null,
        rw: Rw::RandRead,
        bs: 4096,
        iodepth: 64,
        numjobs: threads,
        size: Some(Extent::Bytes(1 << 30)),
        time_based: true,
        runtime_ns: Some(each.as_nanos() as u64),
        ..Job::default()
    };
    // On a busy machine a thread may get no processor at all in so short a time, which measures nothing.
    for _ in 0..TRIES {
        let control = Control::default();
        let mut ledger = Ledger::default();
        let measurement = Prepared::new(&job, &mut ledger, &control)?.run(&control, &())?;
        if measurement.read.ios > 0 {
            return Ok(measurement.read.iops);
        }
    }
    Ok(0.0)
}

/// Bytes per second that `threads` threads together write into buffers of `len` bytes with `work`.
fn rate_of(
    threads: u32,
    len: usize,
    each: Duration,
    work: impl Fn(&mut [u8], u64) + Sync,
) -> Result<f64, EngineError> {
    let run = || -> std::io::Result<f64> {
        let mut buffers = Buffers::new(1, len)?;
        let buffer = buffers.slice_mut(0, len);
        work(buffer, 0);
        let start = Instant::now();
        let mut rounds = 0u64;
        while start.elapsed() < each {
            rounds += 1;
            work(buffer, rounds);
            black_box(&buffer);
        }
        Ok(rounds as f64 * len as f64 / start.elapsed().as_secs_f64())
    };
    let rates = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        handles.into_iter().map(|handle| handle.join().expect("a fill does not panic")).collect::<Vec<_>>()
    });
    let rates = rates.into_iter().collect::<Result<Vec<_>, _>>();
    Ok(rates.map_err(|error| EngineError::broke("memory to calibrate with", error))?.iter().sum())
}

/// What one call costs, the least of several rounds: interruptions only ever add.
fn cost_ns(call: impl Fn() -> u64) -> f64 {
    const CALLS: u32 = 20_000;
    (0..8)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..CALLS {
                black_box(call());
            }
            start.elapsed().as_nanos() as f64 / f64::from(CALLS)
        })
        .fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_there() {
        let calibration = calibrate(Duration::from_millis(10)).unwrap();
        for figure in [
            calibration.null_iops_per_core,
            calibration.null_iops_all_cores,
            calibration.fill_bytes_per_s_per_core,
            calibration.fill_bytes_per_s_all_cores,
            calibration.fill_cached_bytes_per_s_per_core,
            calibration.store_bytes_per_s_per_core,
            calibration.clock_read_ns,
            calibration.clock_gettime_ns,
        ] {
            assert!(figure.is_finite() && figure > 0.0, "{calibration:?}");
        }
    }
}
