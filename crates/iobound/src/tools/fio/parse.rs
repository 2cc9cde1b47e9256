//! fio's JSON into our [`Measurement`].
//!
//! | fio | here |
//! |---|---|
//! | `lat_ns` (slat + clat: from just before submission to reaping) | `latency_ns` |
//! | `lat_ns.percentile`, else `clat_ns.percentile` with a note | percentiles of `latency_ns` |
//! | `sync.lat_ns` and its `N` (`sync.total_ios` stays 0 in fio 3.33) | `sync` |
//! | `usr_cpu`, `sys_cpu` percent of `job_runtime`, both summed over the threads of an entry | `cpu` |
//! | `total_err`, else 1 where `error` is set | `errors` |
//! | `disk_util` of an output with one entry, where fio counts sectors | `device` |
//!
//! What cannot be had is left at its default and named in `engine_facts.refused`.

use iobound_record::{
    CpuTime, DeviceBytes, DeviceTraffic, DirectionStats, EngineChoice, EngineFacts, LatencySummary,
    Measurement,
};
use serde_json::{Deserializer, Map, Value};
use thiserror::Error;

/// Bytes of a sector in the kernel's disk statistics, whatever the device's own.
const SECTOR_BYTES: u64 = 512;
/// How much of an output without JSON an error quotes, in characters.
const QUOTED_CHARS: usize = 200;

/// Why an output of fio gives no measurement.
#[derive(Debug, Error)]
pub enum ParseError {
    /// No JSON object in it.
    #[error(
        "fio's output holds no JSON (it begins '{begins}'); \
         run it with --output-format=json and see what it says first"
    )]
    NoJson {
        /// Its first characters.
        begins: String,
    },
    /// The JSON breaks off or is damaged.
    #[error("fio's JSON is damaged: {0}; it was cut short or something else wrote into the same file")]
    Damaged(#[source] serde_json::Error),
    /// JSON, but not fio's.
    #[error("the JSON has no list 'jobs', so it is not the output of fio --output-format=json")]
    NoJobs,
    /// Reads and writes were added up by `unified_rw_reporting`.
    #[error("job '{job}' reports reads and writes as one; drop unified_rw_reporting from it")]
    Unified {
        /// The job.
        job: String,
    },
}

/// Reads the output of `fio --output-format=json`: one entry per job of the output, in its order,
/// with the name fio gives it. Without `group_reporting` fio gives one entry per thread.
///
/// Lines before, between and after the JSON (warnings, `fio: terminating on signal 2`) are passed
/// over; of several outputs (`--status-interval`) the last whole one counts.
///
/// # Errors
/// [`ParseError`]. A job that failed is no error: its measurement says so.
pub fn parse(text: &str) -> Result<Vec<(String, Measurement)>, ParseError> {
    let output = last_output(text)?;
    let version = output.get("fio version").and_then(Value::as_str).unwrap_or("unknown version");
    let jobs = output.get("jobs").and_then(Value::as_array).ok_or(ParseError::NoJobs)?;
    let mut parsed = Vec::with_capacity(jobs.len());
    for job in jobs.iter().filter_map(Value::as_object) {
        let name = job.get("jobname").and_then(Value::as_str).unwrap_or_default().to_owned();
        if job.contains_key("mixed") && !job.contains_key("read") {
            return Err(ParseError::Unified { job: name });
        }
        let mut measurement = measurement(job);
        let engine = option(job, "job options", "ioengine")
            .or_else(|| option(&output, "global options", "ioengine"))
            .unwrap_or("psync");
        measurement.engine_facts.reason = format!("driven as a program: {version}, ioengine {engine}");
        parsed.push((name, measurement));
    }
    // The disk counters are those of the whole output: with several entries they are nobody's.
    if let [(_, only)] = parsed.as_mut_slice() {
        match device(&output, only.runtime_ns) {
            Ok(traffic) => only.device = traffic,
            Err(note) => only.engine_facts.refused.push(note),
        }
    }
    Ok(parsed)
}

/// The last JSON object in `text` that holds jobs. fio begins its object in the first column;
/// only where no such place works is any brace tried.
fn last_output(text: &str) -> Result<Map<String, Value>, ParseError> {
    let mut found = None;
    let mut damaged = None;
    let mut other_json = false;
    let mut next = if text.starts_with('{') {
        Some(0)
    } else {
        text.find("\n{").map(|i| i + 1).or_else(|| text.find('{'))
    };
    while let Some(start) = next {
        let mut values = Deserializer::from_str(&text[start..]).into_iter::<Map<String, Value>>();
        let at = match values.next() {
            Some(Ok(object)) => {
                if object.contains_key("jobs") {
                    found = Some(object);
                } else {
                    other_json = true;
                }
                start + values.byte_offset()
            }
            Some(Err(error)) => {
                damaged.get_or_insert(error);
                start + 1
            }
            None => start + 1,
        };
        next = text[at..].find("\n{").map(|i| at + i + 1);
    }
    match (found, damaged) {
        (Some(object), _) => Ok(object),
        (None, Some(error)) => Err(ParseError::Damaged(error)),
        (None, None) if other_json => Err(ParseError::NoJobs),
        (None, None) => Err(ParseError::NoJson { begins: text.trim().chars().take(QUOTED_CHARS).collect() }),
    }
}

/// One option as fio was given it. `global options` is an object, or in client/server outputs a
/// list of one.
fn option<'a>(object: &'a Map<String, Value>, key: &str, name: &str) -> Option<&'a str> {
    let options = match object.get(key)? {
        Value::Array(list) => list.first()?,
        options => options,
    };
    options.get(name)?.as_str()
}

fn measurement(job: &Map<String, Value>) -> Measurement {
    let mut facts = EngineFacts { clock: "fio's own".into(), ..EngineFacts::default() };
    let runtime_ns = ["read", "write"]
        .iter()
        .filter_map(|side| job.get(*side))
        .map(|side| uint(side, "runtime"))
        .max()
        .filter(|ms| *ms > 0)
        .unwrap_or_else(|| job.get("job_runtime").map_or(0, whole))
        .saturating_mul(1_000_000);
    let sync = sync(job.get("sync").unwrap_or(&Value::Null), runtime_ns);
    let mut read = direction(job.get("read").unwrap_or(&Value::Null), &mut facts);
    let write = direction(job.get("write").unwrap_or(&Value::Null), &mut facts);
    // fio counts each sync as a short read (seen in 3.33): those moved nothing and were asked none.
    if read.short_ios >= sync.ios {
        read.short_ios -= sync.ios;
    }
    if job.get("trim").is_some_and(|trim| uint(trim, "total_ios") > 0) {
        facts.refused.push("trims: fio did some, and the record has no place for them".into());
    }
    let (errors, error_kinds) = errors(job);
    Measurement {
        engine: EngineChoice::Fio,
        engine_facts: facts,
        runtime_ns,
        read,
        write,
        sync,
        cpu: cpu(job),
        errors,
        error_kinds,
        ..Measurement::default()
    }
}

fn direction(side: &Value, facts: &mut EngineFacts) -> DirectionStats {
    let ios = uint(side, "total_ios");
    let lat = side.get("lat_ns").unwrap_or(&Value::Null);
    let mut latency_ns = moments(lat);
    let mut ranks = percentiles(lat);
    if ios > 0 && ranks.is_empty() {
        ranks = side.get("clat_ns").map(percentiles).unwrap_or_default();
        let note = if ranks.is_empty() {
            "percentiles: fio gave none (clat_percentiles=0 without lat_percentiles=1)"
        } else {
            "lat_percentiles: not asked of fio, so percentiles are of clat, which leaves out submission"
        };
        if !facts.refused.iter().any(|said| said == note) {
            facts.refused.push(note.into());
        }
    }
    set_percentiles(&mut latency_ns, &ranks);
    DirectionStats {
        ios,
        bytes: uint(side, "io_bytes"),
        iops: float(side, "iops"),
        bandwidth_bytes_per_s: float(side, "bw_bytes"),
        latency_ns,
        scheduled_latency_ns: None,
        short_ios: if ios > 0 { uint(side, "short_ios") } else { 0 },
    }
}

fn sync(sync: &Value, runtime_ns: u64) -> DirectionStats {
    let lat = sync.get("lat_ns").unwrap_or(&Value::Null);
    let ios = uint(sync, "total_ios").max(uint(lat, "N"));
    let mut latency_ns = moments(lat);
    set_percentiles(&mut latency_ns, &percentiles(lat));
    let iops = if runtime_ns > 0 { ios as f64 / (runtime_ns as f64 / 1e9) } else { 0.0 };
    DirectionStats { ios, iops, latency_ns, ..DirectionStats::default() }
}

/// The exact part of a latency object, which always has its four keys.
fn moments(latency: &Value) -> LatencySummary {
    LatencySummary {
        min: uint(latency, "min"),
        mean: float(latency, "mean"),
        stddev: float(latency, "stddev"),
        max: uint(latency, "max"),
        ..LatencySummary::default()
    }
}

/// The `percentile` object of a latency, ascending by rank; empty where fio gave none.
fn percentiles(latency: &Value) -> Vec<(f64, u64)> {
    let Some(object) = latency.get("percentile").and_then(Value::as_object) else { return Vec::new() };
    let mut ranks: Vec<(f64, u64)> = object
        .iter()
        .filter_map(|(rank, value)| Some((rank.parse::<f64>().ok()?, whole(value))))
        .filter(|(rank, _)| (0.0..=100.0).contains(rank))
        .collect();
    ranks.sort_by(|a, b| a.0.total_cmp(&b.0));
    ranks
}

/// Fills the percentiles. A rank that a `percentile_list` of the job left out takes the value of
/// the next higher one listed, else the maximum: it can be too high, never flattering.
fn set_percentiles(summary: &mut LatencySummary, ranks: &[(f64, u64)]) {
    if ranks.is_empty() {
        return;
    }
    let max = summary.max;
    let at = |rank: f64| ranks.iter().find(|(listed, _)| *listed >= rank - 1e-6).map_or(max, |(_, ns)| *ns);
    *summary = summary.with_percentiles(at);
}

/// Of grouped threads fio sums both the processor time and `job_runtime` before it divides, so the
/// product is the group's whole processor time either way. Kernel workers are not in it.
fn cpu(job: &Map<String, Value>) -> CpuTime {
    let runtime_ns = job.get("job_runtime").map_or(0, whole) as f64 * 1e6;
    let share = |key| (job.get(key).map_or(0.0, number) / 100.0 * runtime_ns).round() as u64;
    CpuTime {
        user_ns: share("usr_cpu"),
        system_ns: share("sys_cpu"),
        context_switches: job.get("ctx").map_or(0, whole),
        ..CpuTime::default()
    }
}

fn errors(job: &Map<String, Value>) -> (u64, Vec<(String, u64)>) {
    let errno = ["first_error", "error"].iter().filter_map(|key| job.get(*key)).map(whole).find(|n| *n != 0);
    let total = job.get("total_err").map_or(0, whole);
    let errors = total.max(u64::from(errno.is_some()));
    let words = errno.map(|errno| match i32::try_from(errno) {
        Ok(errno) => std::io::Error::from_raw_os_error(errno).to_string(),
        Err(_) => format!("error {errno}"),
    });
    let kinds = if errors == 0 { vec![] } else { vec![(words.unwrap_or("unknown error".into()), errors)] };
    (errors, kinds)
}

/// The devices of `disk_util`. fio lists an array (it has `aggr_` keys) and then its members.
/// A fio that does not count sectors cannot say how many bytes moved, and zero would be a lie.
fn device(output: &Map<String, Value>, runtime_ns: u64) -> Result<Option<DeviceTraffic>, String> {
    let disks: Vec<&Value> =
        output.get("disk_util").and_then(Value::as_array).into_iter().flatten().collect();
    if disks.is_empty() {
        return Ok(None);
    }
    if disks.iter().any(|disk| disk.get("read_sectors").is_none()) {
        return Err("device counters: this fio's disk_util has no sectors, so bytes are unknown".into());
    }
    let is_array = |disk: &Value| disk.get("aggr_read_ios").is_some();
    let arrays = disks.iter().any(|disk| is_array(disk));
    let mut traffic = DeviceTraffic::default();
    for disk in disks {
        let name = disk.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let bytes = device_bytes(disk, runtime_ns);
        if arrays && !is_array(disk) {
            traffic.members.push((name, bytes));
        } else {
            traffic.names.push(name);
            add(&mut traffic.total, &bytes);
        }
    }
    Ok(Some(traffic))
}

fn device_bytes(disk: &Value, runtime_ns: u64) -> DeviceBytes {
    DeviceBytes {
        read_bytes: uint(disk, "read_sectors").saturating_mul(SECTOR_BYTES),
        write_bytes: uint(disk, "write_sectors").saturating_mul(SECTOR_BYTES),
        read_ios: uint(disk, "read_ios"),
        write_ios: uint(disk, "write_ios"),
        read_merges: uint(disk, "read_merges"),
        write_merges: uint(disk, "write_merges"),
        // fio gives the share of a time span that it does not state; the job's runtime is close.
        busy_ms: (float(disk, "util") / 100.0 * runtime_ns as f64 / 1e6).round() as u64,
    }
}

fn add(total: &mut DeviceBytes, one: &DeviceBytes) {
    for (total, one) in [
        (&mut total.read_bytes, one.read_bytes),
        (&mut total.write_bytes, one.write_bytes),
        (&mut total.read_ios, one.read_ios),
        (&mut total.write_ios, one.write_ios),
        (&mut total.read_merges, one.read_merges),
        (&mut total.write_merges, one.write_merges),
        (&mut total.busy_ms, one.busy_ms),
    ] {
        *total = total.saturating_add(one);
    }
}

fn uint(object: &Value, key: &str) -> u64 {
    object.get(key).map_or(0, whole)
}

fn float(object: &Value, key: &str) -> f64 {
    object.get(key).map_or(0.0, number)
}

/// A count: negative, fractional and foreign values become the nearest count there is.
fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| number(value) as u64)
}

/// A quantity that cannot be negative.
fn number(value: &Value) -> f64 {
    value.as_f64().filter(|number| number.is_finite()).unwrap_or(0.0).max(0.0)
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
