//! The run record: `run.json`.

use serde::{Deserialize, Serialize};

use crate::answer::{DeviceClass, Fit, Target, TargetOutcome};
use crate::check::Check;
use crate::context::Context;
use crate::job::Job;
use crate::measurement::Measurement;
use crate::object::ObjectWorkload;
use crate::sample::SampleSummary;
use crate::stream::Stream;

/// Version of the record's shape. It grows when a field changes meaning or goes; fields that
/// join leave it as it is.
pub const SCHEMA_VERSION: u32 = 1;

/// How bad a finding is.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; the numbers stand.
    Note,
    /// The numbers stand, but mean something else than a reader would think.
    Warning,
    /// The numbers do not stand.
    Error,
}

/// Something that the run noticed, with its evidence and what to do.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Stable name: `sparse-file`, `generator-bound`, ...
    pub id: String,
    /// How bad.
    pub severity: Severity,
    /// What, in a sentence.
    pub what: String,
    /// The numbers or text it was seen in.
    pub evidence: String,
    /// What to do.
    pub remedy: String,
}

/// How fast a job could be, and what holds it there.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// Operations per second.
    pub iops: f64,
    /// Bytes per second.
    pub bandwidth_bytes_per_s: f64,
    /// The bound that binds: `volume-iops`, `volume-bandwidth`, `latency`, `generator`, ...
    pub bound: String,
    /// The arithmetic, in words.
    pub why: String,
}

/// How a measurement stands to its ceiling.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// At its ceiling.
    Ok,
    /// Below it.
    Short,
    /// Above it: the ceiling or the measurement is wrong.
    Above,
    /// No ceiling to compare with.
    #[default]
    Unknown,
}

/// The judgement of one scenario.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct Verdict {
    /// Measured over ceiling, percent.
    pub percent_of_ceiling: Option<f64>,
    /// In a word.
    pub status: Status,
    /// In a sentence, for people.
    pub says: String,
    /// Ids of the findings that touch it.
    pub findings: Vec<String>,
    /// Each figure of its target.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetOutcome>,
}

/// What lies under the range that a job works on, by the file system's own map.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct Backing {
    /// Bytes of the range, over all files.
    pub range_bytes: u64,
    /// Never allocated: a read is answered with zeroes and touches no device.
    pub hole_bytes: u64,
    /// Allocated and never written: the same, and a write must first update the map.
    pub unwritten_bytes: u64,
    /// Compressed or otherwise encoded by the file system.
    pub encoded_bytes: u64,
}

/// The figure that a scenario is run for.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Time of an operation.
    Latency,
    /// Bytes per second.
    Bandwidth,
    /// Operations per second.
    #[default]
    Iops,
    /// The 99th percentile of the time of a sync.
    #[serde(rename = "sync-p99")]
    SyncP99,
}

/// One job of a run with everything said about it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct Scenario {
    /// Number within the suite.
    pub id: u32,
    /// Name.
    pub name: String,
    /// Name for people; empty when there is none but its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The figure it is run for.
    pub metric: Metric,
    /// File name of its report, without time and ending; empty takes its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub report: String,
    /// `data`, `wal` or empty.
    pub volume: String,
    /// Phase of the suite.
    pub phase: u32,
    /// What somebody asks of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// What its suite calls the phase; empty when it has no name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase_name: String,
    /// The sweep that it is a point of, as people call it: points of one sweep differ in block size,
    /// jobs, depth and data only. Empty when it is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sweep: String,
    /// Whether its suite asks for an empty file, which grows as it is written.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// The job as it ran.
    pub job: Job,
    /// The equivalent fio command.
    pub fio: String,
    /// The command that was run, where a program other than fio did the I/O.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub program: String,
    /// What lay under its range when it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backing: Option<Backing>,
    /// What lay there when it ended, of writes to a file system that can compress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backing_after: Option<Backing>,
    /// Numbers of the scenarios that ran at the same time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<u32>,
    /// What the kernel saw meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<SampleSummary>,
    /// What it measured; None when it did not run or broke.
    pub measurement: Option<Measurement>,
    /// What a stream adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<Box<Stream>>,
    /// What a workload of whole objects adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<Box<ObjectWorkload>>,
    /// How fast it could be.
    pub ceiling: Option<Ceiling>,
    /// Judgement.
    pub verdict: Verdict,
    /// Why there is no measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The machine, as far as a run needs it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct HostFacts {
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu_model: String,
    /// Processors this process may use.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Kernel clock source.
    pub clocksource: String,
    /// What is under the targets.
    pub targets: Vec<TargetFacts>,
}

/// One target: where the I/O goes.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct TargetFacts {
    /// Directory, file or device as given.
    pub path: String,
    /// File system type; empty for a device.
    pub filesystem: String,
    /// Mount options.
    pub mount_options: String,
    /// Device that holds it.
    pub device: String,
    /// Devices under that one.
    pub members: Vec<String>,
    /// The disks at the bottom, each with its size.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskFacts>,
    /// Logical sector size, bytes.
    pub logical_block_bytes: u32,
    /// I/O scheduler.
    pub scheduler: String,
    /// The kernel's view of the device's write cache: `write back` or `write through`.
    pub write_cache: String,
}

/// A disk below a target.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct DiskFacts {
    /// Kernel name.
    pub name: String,
    /// Size.
    pub bytes: u64,
}

/// What this tool itself can do here.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct Calibration {
    /// Null-engine operations per second of one core, every latency recorded.
    pub null_iops_per_core: f64,
    /// Null-engine operations per second of all cores together.
    pub null_iops_all_cores: f64,
    /// Incompressible fill of one core, bytes per second, into memory larger than the caches.
    pub fill_bytes_per_s_per_core: f64,
    /// The same for all cores together.
    pub fill_bytes_per_s_all_cores: f64,
    /// Incompressible fill of one core into a buffer that stays in its L2 cache.
    pub fill_cached_bytes_per_s_per_core: f64,
    /// Plain stores of a constant by one core into the same memory: what no fill can pass.
    pub store_bytes_per_s_per_core: f64,
    /// Cost of reading the time once, in nanoseconds, by the source in use.
    pub clock_read_ns: f64,
    /// The source in use.
    pub clock: String,
    /// Cost of `clock_gettime`, in nanoseconds, for comparison.
    pub clock_gettime_ns: f64,
    /// Processors used for the figures of all cores.
    pub cores: u32,
}

/// A run: `run.json`.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Run {
    /// [`SCHEMA_VERSION`].
    pub schema: u32,
    /// Version of the program.
    pub iobound: String,
    /// Unique name of the run.
    pub id: String,
    /// Start, RFC 3339.
    pub started: String,
    /// Suite or job file.
    pub suite: String,
    /// The command, as typed.
    #[serde(default)]
    pub command: Vec<String>,
    /// Machine.
    pub host: HostFacts,
    /// Hardware context the run was held against.
    #[serde(default)]
    pub context: Option<Context>,
    /// The checklist, as it stood before the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// The tool's own limits.
    #[serde(default)]
    pub calibration: Option<Calibration>,
    /// Scenarios.
    #[serde(default)]
    pub scenarios: Vec<Scenario>,
    /// File beside the record with the devices' rates second by second; None when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<String>,
    /// Findings.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// What kind of device its figures look like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_class: Option<DeviceClass>,
    /// Published figures held against what was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fit: Vec<Fit>,
    /// Sentences that sum the run up: what binds where.
    #[serde(default)]
    pub conclusions: Vec<String>,
    /// Whether the run was cut short.
    #[serde(default)]
    pub interrupted: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_survives_its_json() {
        let run = Run {
            schema: SCHEMA_VERSION,
            iobound: "0.1.0".into(),
            id: "x".into(),
            started: "2026-01-01T00:00:00Z".into(),
            suite: "quick".into(),
            command: vec!["iobound".into(), "run".into()],
            host: HostFacts::default(),
            context: None,
            checks: vec![],
            calibration: Some(Calibration::default()),
            scenarios: vec![Scenario { measurement: Some(Measurement::default()), ..Scenario::default() }],
            samples: Some("samples.csv".into()),
            findings: vec![],
            conclusions: vec![],
            interrupted: false,
            ..Run::default()
        };
        let text = serde_json::to_string_pretty(&run).unwrap();
        assert_eq!(serde_json::from_str::<Run>(&text).unwrap(), run);
    }

    #[test]
    fn fields_that_are_missing_take_defaults() {
        let text = r#"{"schema":1,"iobound":"0","id":"","started":"","suite":"quick","host":{}}"#;
        assert!(serde_json::from_str::<Run>(text).is_ok());
    }
}
