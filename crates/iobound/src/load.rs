//! Reading a record back: whole or not at all, with the file, the field and the remedy in the error.
//!
//! A record is outside text: it may be cut short, edited by hand, of another version, or another
//! program's. What passes here has the shape of [`Run`] and no number that cannot be measured.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use iobound_record::{DirectionStats, Interval, LatencySummary, Measurement, Run, SCHEMA_VERSION, Scenario};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::error::Category;
use thiserror::Error;

use crate::exit::Failure;
use crate::store::RECORD;

/// Largest record that is read. An hour of ten scenarios in one-second intervals is about 100 MiB.
const BYTES_MAX: u64 = 256 << 20;
/// No count, size or time of a run is as large: an exbibyte, or 36 years in nanoseconds. What passes can be
/// added up without a care.
const COUNT_MAX: u64 = 1 << 60;
/// First bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Why a record cannot be used, and what to do.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{}: {cause}; {remedy}", path.display())]
pub struct LoadError {
    /// The file, or the directory that has none.
    pub path: PathBuf,
    /// What is wrong, with the field where there is one.
    pub cause: String,
    /// What to do.
    pub remedy: String,
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Failure::usage(error)
    }
}

/// Cause and remedy, before the file's name joins them.
type Fault = (String, String);

fn fault(cause: impl Into<String>, remedy: &str) -> Fault {
    (cause.into(), remedy.into())
}

/// The file of a record, given as itself or as the directory that holds it.
///
/// # Errors
/// Nothing is there, or a directory without a record.
pub fn record_path(given: &Path) -> Result<PathBuf, LoadError> {
    let named = |(cause, remedy)| LoadError { path: given.into(), cause, remedy };
    let metadata = std::fs::metadata(given).map_err(|error| {
        named(fault(error.to_string(), "give the directory that 'iobound run' wrote, or its run.json"))
    })?;
    if !metadata.is_dir() {
        return Ok(given.into());
    }
    let path = given.join(RECORD);
    if path.is_file() {
        return Ok(path);
    }
    Err(named(fault(
        format!("there is no {RECORD} in it"),
        "give the directory that 'iobound run' wrote (--out DIR, else iobound-TIME)",
    )))
}

/// Reads a record from its file or directory.
///
/// # Errors
/// Every way in which it is not one, with what to do.
pub fn load(given: &Path) -> Result<Run, LoadError> {
    let path = record_path(given)?;
    let named = |(cause, remedy)| LoadError { path: path.clone(), cause, remedy };
    let bytes = read_bounded(&path).map_err(named)?;
    parse(&bytes).map_err(|(cause, remedy)| LoadError { path: path.clone(), cause, remedy })
}

/// The records in a directory that is no run itself but has runs in it; by name. Empty for any other.
pub fn runs_in(directory: &Path) -> Vec<PathBuf> {
    if directory.join(RECORD).exists() {
        return Vec::new();
    }
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.join(RECORD).is_file()).collect();
    runs.sort();
    runs
}

fn read_bounded(path: &Path) -> Result<Vec<u8>, Fault> {
    let unreadable = |error: std::io::Error| fault(error.to_string(), "check its permissions");
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(fault("is not a regular file", "give a run.json or the directory that holds it"));
    }
    let mut bytes = Vec::new();
    // One byte more than allowed tells a file that is too large, also while it grows.
    File::open(path).and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(fault(
            "is larger than 256 MiB, which no record is",
            "if it is one, run again with a longer --interval",
        ));
    }
    Ok(bytes)
}

/// The record in `bytes`.
fn parse(bytes: &[u8]) -> Result<Run, Fault> {
    let text = text_of(bytes)?;
    let glance: Glance = serde_json::from_str(text).map_err(|error| not_json(&error))?;
    glance.check()?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let run: Run = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let field = error.path().to_string();
        let inner = error.into_inner();
        fault(
            format!("field '{field}': {inner}"),
            "the file was changed after it was written; take the original, or mend that field",
        )
    })?;
    plausible(&run)?;
    Ok(run)
}

fn text_of(bytes: &[u8]) -> Result<&str, Fault> {
    if bytes.starts_with(&GZIP) {
        return Err(fault("is compressed with gzip", "unpack it first: gunzip FILE"));
    }
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    let text = text.ok_or_else(|| fault("is binary, not a record", "give a run.json"))?;
    // An editor may have put a byte-order mark before it.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(fault(
            "is empty",
            "the disk was full or the copy failed; take the original, or run again",
        ));
    }
    Ok(text)
}

fn not_json(error: &serde_json::Error) -> Fault {
    let place = format!("line {}, column {}", error.line(), error.column());
    match error.classify() {
        Category::Eof => fault(
            format!("is cut short at {place}"),
            "copy it again in full; 'iobound run' itself never leaves half a record",
        ),
        Category::Data => fault("is JSON, but no record", "give a run.json that 'iobound run' wrote"),
        Category::Syntax | Category::Io => fault(
            format!("is not JSON: {error}"),
            "give a run.json that 'iobound run' wrote; if it was edited, mend that place",
        ),
    }
}

/// What tells whose file it is, read before the rest, so that another program's file is not blamed for
/// a field that it never promised.
#[derive(Deserialize)]
struct Glance {
    schema: Option<Value>,
    iobound: Option<Value>,
    #[serde(rename = "fio version")]
    fio: Option<IgnoredAny>,
}

impl Glance {
    fn check(&self) -> Result<(), Fault> {
        if self.fio.is_some() {
            return Err(fault(
                "is what fio writes, and a report needs an iobound record",
                "run the same job file with 'iobound run JOBFILE --engine fio', which keeps one",
            ));
        }
        let version = self.iobound.as_ref().and_then(Value::as_str);
        let Some(schema) = &self.schema else {
            return Err(fault(
                "has no field 'schema', so it is not an iobound record",
                "give a run.json that 'iobound run' wrote",
            ));
        };
        let ours = u64::from(SCHEMA_VERSION);
        match schema.as_u64() {
            Some(schema) if schema == ours => Ok(()),
            Some(schema) if schema > ours => Err(fault(
                format!(
                    "field 'schema' is {schema}, written by a newer iobound ({}), and this one reads {ours}",
                    version.unwrap_or("version unknown")
                ),
                "use that version or a later one",
            )),
            Some(schema) => Err(fault(
                format!("field 'schema' is {schema}, older than the {ours} that this iobound reads"),
                "report it with the version that wrote it, or run again",
            )),
            None => Err(fault(
                format!("field 'schema' is {schema}, not a version"),
                "take the original; it is 1 in a record of this version",
            )),
        }
    }
}

/// No number that cannot be measured: rates and times are at least zero, and counts of this world.
fn plausible(run: &Run) -> Result<(), Fault> {
    for (index, scenario) in run.scenarios.iter().enumerate() {
        plausible_scenario(scenario).map_err(|(field, value)| {
            fault(
                format!("field 'scenarios[{index}].{field}': {value} cannot be measured"),
                "the file was changed after it was written; take the original, or mend that field",
            )
        })?;
    }
    Ok(())
}

/// A field and its value.
type Odd = (String, f64);

fn plausible_scenario(scenario: &Scenario) -> Result<(), Odd> {
    let at_least_zero = |field: &str, value: f64| match value >= 0.0 && value.is_finite() {
        true => Ok(()),
        false => Err((field.to_owned(), value)),
    };
    if let Some(ceiling) = &scenario.ceiling {
        at_least_zero("ceiling.iops", ceiling.iops)?;
        at_least_zero("ceiling.bandwidth_bytes_per_s", ceiling.bandwidth_bytes_per_s)?;
    }
    if let Some(percent) = scenario.verdict.percent_of_ceiling {
        at_least_zero("verdict.percent_of_ceiling", percent)?;
    }
    let Some(measured) = &scenario.measurement else { return Ok(()) };
    plausible_counts(measured).map_err(|(field, value)| (format!("measurement.{field}"), value))?;
    for (name, side) in [("read", &measured.read), ("write", &measured.write), ("sync", &measured.sync)] {
        plausible_side(side).map_err(|(field, value)| (format!("measurement.{name}.{field}"), value))?;
    }
    for (index, interval) in measured.series.iter().enumerate() {
        let times = [("start_ns", interval.start_ns), ("length_ns", interval.length_ns)];
        below_max(&times)
            .map_err(|(field, value)| (format!("measurement.series[{index}].{field}"), value))?;
        for (name, side) in sides_of(interval) {
            plausible_side(side)
                .map_err(|(field, value)| (format!("measurement.series[{index}].{name}.{field}"), value))?;
        }
    }
    Ok(())
}

fn sides_of(interval: &Interval) -> impl Iterator<Item = (&'static str, &DirectionStats)> {
    [("read", &interval.read), ("write", &interval.write), ("sync", &interval.sync)]
        .into_iter()
        .filter_map(|(name, side)| Some((name, side.as_ref()?)))
}

fn below_max(counts: &[(&str, u64)]) -> Result<(), Odd> {
    match counts.iter().find(|(_, count)| *count > COUNT_MAX) {
        Some((field, count)) => Err(((*field).to_owned(), *count as f64)),
        None => Ok(()),
    }
}

fn plausible_counts(measured: &Measurement) -> Result<(), Odd> {
    let cpu = &measured.cpu;
    below_max(&[
        ("runtime_ns", measured.runtime_ns),
        ("errors", measured.errors),
        ("cpu.user_ns", cpu.user_ns),
        ("cpu.system_ns", cpu.system_ns),
        ("cpu.context_switches", cpu.context_switches),
    ])?;
    for (index, (_, count)) in measured.error_kinds.iter().enumerate() {
        below_max(&[("", *count)]).map_err(|(_, value)| (format!("error_kinds[{index}][1]"), value))?;
    }
    let Some(device) = &measured.device else { return Ok(()) };
    let members = device.members.iter().map(|(name, bytes)| (name.as_str(), bytes));
    for (name, bytes) in std::iter::once(("total", &device.total)).chain(members) {
        below_max(&[
            ("read_bytes", bytes.read_bytes),
            ("write_bytes", bytes.write_bytes),
            ("read_ios", bytes.read_ios),
            ("write_ios", bytes.write_ios),
            ("read_merges", bytes.read_merges),
            ("write_merges", bytes.write_merges),
            ("busy_ms", bytes.busy_ms),
        ])
        .map_err(|(field, value)| (format!("device.{name}.{field}"), value))?;
    }
    Ok(())
}

fn plausible_side(side: &DirectionStats) -> Result<(), Odd> {
    below_max(&[("ios", side.ios), ("bytes", side.bytes), ("short_ios", side.short_ios)])?;
    below_max(&[("latency_ns.min", side.latency_ns.min), ("latency_ns.max", side.latency_ns.max)])?;
    let percentiles = side.latency_ns.percentiles();
    if let Some((rank, value)) = percentiles.into_iter().find(|(_, value)| *value > COUNT_MAX) {
        return Err((format!("latency_ns, percentile {rank}"), value as f64));
    }
    let LatencySummary { mean, stddev, .. } = side.latency_ns;
    let values = [
        ("iops", side.iops),
        ("bandwidth_bytes_per_s", side.bandwidth_bytes_per_s),
        ("latency_ns.mean", mean),
        ("latency_ns.stddev", stddev),
    ];
    match values.into_iter().find(|(_, value)| *value < 0.0 || !value.is_finite()) {
        Some((field, value)) => Err((field.to_owned(), value)),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "load/tests.rs"]
mod tests;
