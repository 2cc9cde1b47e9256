//! A run as `fio --output-format=json` would give it (fio 3.x keys), for scripts and plotters
//! written for fio. [`to_fio_json`] gives the whole run, [`fio_plot_files`] one file per job under
//! the names that fio-plot looks for.
//!
//! What is not the same as fio's, because the record holds something else:
//!
//! - `lat_ns` is ours, from just before submission to reaping. Submission is not timed apart, so
//!   `slat_ns` is empty and `clat_ns` repeats `lat_ns`: an upper bound of fio's `clat_ns`.
//! - `latency_ns`, `latency_us` and `latency_ms` are derived from the percentiles of the record
//!   (straight lines between them), not counted.
//! - `iodepth_level` is the depth asked for; with a rate set, the mean depth by Little's law.
//!   `iodepth_submit` and `iodepth_complete` are zero: batches are not recorded.
//! - `bw_min` .. `iops_samples` come from the series (1 s unless asked otherwise; fio: 500 ms), and
//!   are zero without one.
//! - `usr_cpu`, `sys_cpu` are of the whole process with its kernel workers, over the runtime of
//!   all threads; `majf` and `minf` are zero: faults are not recorded.
//! - `error` is the errno of the first failed operation where its text names one, else EIO; a
//!   scenario that did not run has it too, and says why in `iobound error`.
//! - `disk_util`: `read_ticks`, `write_ticks` and `in_queue` are zero; `util` is over the runtimes
//!   of the scenarios.
//! - `timestamp` is the start of the run, and `time` is in UTC: fio gives the end, in local time.

mod direction;
mod distribution;
mod fio_plot;
mod job_options;

pub use fio_plot::fio_plot_files;
pub use job_options::job_options;

use iobound_record::{CpuTime, DeviceBytes, DirectionStats, Job, Measurement, Run, Scenario, ThreadStats};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// fio's error of an operation whose errno is not known: I/O error.
const EIO: u64 = 5;
/// Bytes of a sector in the kernel's disk statistics.
const SECTOR_BYTES: u64 = 512;

/// The run as fio's JSON, one entry in `jobs` per scenario, or per thread where the threads are
/// reported apart. Scenarios run one after the other, so each is a group of its own.
pub fn to_fio_json(run: &Run) -> Value {
    output(run, &run.scenarios.iter().enumerate().collect::<Vec<_>>())
}

/// An output with these scenarios, each with its group number.
fn output(run: &Run, scenarios: &[(usize, &Scenario)]) -> Value {
    let started: Timestamp = run.started.parse().unwrap_or_default();
    let jobs: Vec<Value> = scenarios.iter().flat_map(|(group, scenario)| entries(scenario, *group)).collect();
    json!({
        // Programs that care print it; none was found that needs it to begin with "fio-".
        "fio version": format!("iobound-{}", run.iobound),
        "timestamp": started.as_second(),
        "timestamp_ms": started.as_millisecond(),
        "time": started.strftime("%a %b %e %H:%M:%S %Y").to_string(),
        // fio-plot lays these over each job's own options, so they stay empty.
        "global options": {},
        "jobs": jobs,
        "disk_util": disk_util(scenarios),
    })
}

/// The entries of one scenario.
fn entries(scenario: &Scenario, group: usize) -> Vec<Value> {
    let Some(measurement) = &scenario.measurement else {
        let mut broken = entry(scenario, &Measurement::default(), group, 1);
        broken["error"] = json!(EIO);
        broken["iobound error"] = json!(scenario.error.as_deref().unwrap_or("it did not run"));
        return vec![broken];
    };
    if measurement.threads.is_empty() {
        return vec![entry(scenario, measurement, group, scenario.job.numjobs.max(1))];
    }
    let count = measurement.threads.len() as u64;
    let threads = measurement.threads.iter();
    threads.map(|thread| entry(scenario, &alone(thread, measurement.cpu, count), group, 1)).collect()
}

/// One thread as a measurement of its own, with an equal share of the processor time: that is
/// recorded for all of them together.
fn alone(thread: &ThreadStats, cpu: CpuTime, threads: u64) -> Measurement {
    Measurement {
        runtime_ns: thread.runtime_ns,
        read: thread.read,
        write: thread.write,
        sync: thread.sync,
        errors: thread.errors,
        cpu: CpuTime {
            user_ns: cpu.user_ns / threads,
            system_ns: cpu.system_ns / threads,
            context_switches: cpu.context_switches / threads,
            ..CpuTime::default()
        },
        ..Measurement::default()
    }
}

/// One entry of `jobs`, of `threads` threads.
fn entry(scenario: &Scenario, measured: &Measurement, group: usize, threads: u32) -> Value {
    let job = &scenario.job;
    let options: Map<String, Value> = job_options(job, measured.engine)
        .into_iter()
        .map(|(key, value)| (key.into(), value.into()))
        .collect();
    // fio's job_runtime is the sum over the threads of an entry, and its percents are of that sum.
    let job_runtime_ns = measured.runtime_ns.saturating_mul(u64::from(threads));
    let percent =
        |ns: u64| real(if job_runtime_ns > 0 { ns as f64 / job_runtime_ns as f64 * 100.0 } else { 0.0 });
    let first_error = if measured.errors > 0 { errno(measured) } else { 0 };
    let [latency_ns, latency_us, latency_ms] = distribution::of(&[&measured.read, &measured.write]);
    json!({
        "jobname": if scenario.name.is_empty() { &job.name } else { &scenario.name },
        "groupid": group,
        "error": first_error,
        "total_err": measured.errors,
        "first_error": first_error,
        "eta": 0,
        "elapsed": measured.runtime_ns.div_ceil(1_000_000_000),
        "job options": options,
        "read": direction::side(measured, |interval| interval.read.as_ref(), &measured.read),
        "write": direction::side(measured, |interval| interval.write.as_ref(), &measured.write),
        "trim": direction::side(measured, |_| None, &DirectionStats::default()),
        "sync": direction::sync(&measured.sync),
        "job_runtime": job_runtime_ns / 1_000_000,
        "usr_cpu": percent(measured.cpu.user_ns),
        "sys_cpu": percent(measured.cpu.system_ns),
        "ctx": measured.cpu.context_switches,
        "majf": 0,
        "minf": 0,
        "iodepth_level": depth_level(job, measured, threads),
        "iodepth_submit": zeros(&["0", "4", "8", "16", "32", "64", ">=64"]),
        "iodepth_complete": zeros(&["0", "4", "8", "16", "32", "64", ">=64"]),
        "latency_ns": latency_ns,
        "latency_us": latency_us,
        "latency_ms": latency_ms,
        "latency_depth": job.iodepth,
        "latency_target": 0,
        "latency_percentile": real(100.0),
        "latency_window": 0,
    })
}

/// The errno in the text of the first kind of error: the standard library writes `(os error N)`.
fn errno(measured: &Measurement) -> u64 {
    let named = measured.error_kinds.first().and_then(|(words, _)| {
        let (_, after) = words.split_once("(os error ")?;
        after.split_once(')')?.0.parse().ok()
    });
    named.unwrap_or(EIO)
}

/// All operations in the bucket of the depth at which they ran.
fn depth_level(job: &Job, measured: &Measurement, threads: u32) -> Value {
    const LEVELS: [(&str, f64); 7] =
        [("1", 1.0), ("2", 2.0), ("4", 4.0), ("8", 8.0), ("16", 16.0), ("32", 32.0), (">=64", 64.0)];
    let mut level = zeros(&LEVELS.map(|(name, _)| name));
    if measured.read.ios + measured.write.ios == 0 {
        return level;
    }
    let depth = if job.is_paced() {
        let in_flight = |side: &DirectionStats| side.iops * side.latency_ns.mean / 1e9;
        ((in_flight(&measured.read) + in_flight(&measured.write)) / f64::from(threads)).round()
    } else {
        // A closed loop holds its depth.
        f64::from(job.iodepth)
    };
    let (name, _) = LEVELS.iter().rev().find(|(_, from)| depth >= *from).unwrap_or(&LEVELS[0]);
    level[*name] = real(100.0);
    level
}

/// The devices under the scenarios, each with the sums over them.
fn disk_util(scenarios: &[(usize, &Scenario)]) -> Vec<Value> {
    let mut disks: Vec<(String, DeviceBytes, u64)> = Vec::new();
    for measured in scenarios.iter().filter_map(|(_, scenario)| scenario.measurement.as_ref()) {
        let Some(device) = &measured.device else { continue };
        // The record holds one sum for the devices of a job on several: so does the entry.
        let whole = (device.names.join("+"), device.total);
        for (name, bytes) in std::iter::once(&whole).chain(&device.members) {
            let known = disks.iter().position(|(disk, ..)| disk == name);
            let at = known.unwrap_or_else(|| {
                disks.push((name.clone(), DeviceBytes::default(), 0));
                disks.len() - 1
            });
            let (_, sum, runtime_ns) = &mut disks[at];
            sum.read_bytes += bytes.read_bytes;
            sum.write_bytes += bytes.write_bytes;
            sum.read_ios += bytes.read_ios;
            sum.write_ios += bytes.write_ios;
            sum.read_merges += bytes.read_merges;
            sum.write_merges += bytes.write_merges;
            sum.busy_ms += bytes.busy_ms;
            *runtime_ns += measured.runtime_ns;
        }
    }
    let util = |busy_ms: u64, runtime_ns: u64| {
        if runtime_ns > 0 { busy_ms as f64 * 1e8 / runtime_ns as f64 } else { 0.0 }
    };
    disks
        .into_iter()
        .map(|(name, sum, runtime_ns)| {
            json!({
                "name": name,
                "read_ios": sum.read_ios,
                "write_ios": sum.write_ios,
                "read_sectors": sum.read_bytes / SECTOR_BYTES,
                "write_sectors": sum.write_bytes / SECTOR_BYTES,
                "read_merges": sum.read_merges,
                "write_merges": sum.write_merges,
                "read_ticks": 0,
                "write_ticks": 0,
                "in_queue": 0,
                "util": real(util(sum.busy_ms, runtime_ns).min(100.0)),
            })
        })
        .collect()
}

/// An object with these keys, all 0.0.
fn zeros(keys: &[&str]) -> Value {
    Value::Object(keys.iter().map(|key| ((*key).to_owned(), real(0.0))).collect())
}

/// A number that is always one: JSON has no NaN, and a null would break readers of numbers.
fn real(value: f64) -> Value {
    json!(if value.is_finite() { value } else { 0.0 })
}

#[cfg(test)]
#[path = "fio_json/tests.rs"]
mod tests;
