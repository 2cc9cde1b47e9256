//! What one job measured.

use serde::{Deserialize, Serialize};

use crate::job::EngineChoice;

/// What an operation did.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Device to memory.
    Read,
    /// Memory to device.
    Write,
    /// fsync or fdatasync.
    Sync,
}

impl Direction {
    /// All directions, in the order of the record.
    pub const ALL: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Sync];

    /// Position in arrays kept per direction.
    pub fn index(self) -> usize {
        match self {
            Direction::Read => 0,
            Direction::Write => 1,
            Direction::Sync => 2,
        }
    }
}

/// A latency distribution in nanoseconds. `min`, `max`, `mean` and `stddev` are exact; percentiles
/// come from a histogram whose buckets are less than 1% wide.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Default)]
#[serde(default)]
#[allow(missing_docs)]
pub struct LatencySummary {
    pub min: u64,
    pub mean: f64,
    pub stddev: f64,
    pub max: u64,
    pub p1: u64,
    pub p5: u64,
    pub p10: u64,
    pub p20: u64,
    pub p30: u64,
    pub p40: u64,
    pub p50: u64,
    pub p60: u64,
    pub p70: u64,
    pub p80: u64,
    pub p90: u64,
    pub p95: u64,
    pub p99: u64,
    pub p99_5: u64,
    pub p99_9: u64,
    pub p99_95: u64,
    pub p99_99: u64,
}

impl LatencySummary {
    /// The same with the percentiles that `at` gives for their ranks (percent).
    pub fn with_percentiles(self, at: impl Fn(f64) -> u64) -> Self {
        LatencySummary {
            p1: at(1.0),
            p5: at(5.0),
            p10: at(10.0),
            p20: at(20.0),
            p30: at(30.0),
            p40: at(40.0),
            p50: at(50.0),
            p60: at(60.0),
            p70: at(70.0),
            p80: at(80.0),
            p90: at(90.0),
            p95: at(95.0),
            p99: at(99.0),
            p99_5: at(99.5),
            p99_9: at(99.9),
            p99_95: at(99.95),
            p99_99: at(99.99),
            ..self
        }
    }

    /// Percentile ranks (percent) and their values, ascending: fio's default list.
    pub fn percentiles(&self) -> [(f64, u64); 17] {
        [
            (1.0, self.p1),
            (5.0, self.p5),
            (10.0, self.p10),
            (20.0, self.p20),
            (30.0, self.p30),
            (40.0, self.p40),
            (50.0, self.p50),
            (60.0, self.p60),
            (70.0, self.p70),
            (80.0, self.p80),
            (90.0, self.p90),
            (95.0, self.p95),
            (99.0, self.p99),
            (99.5, self.p99_5),
            (99.9, self.p99_9),
            (99.95, self.p99_95),
            (99.99, self.p99_99),
        ]
    }
}

/// One direction of a job.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Default)]
#[serde(default)]
pub struct DirectionStats {
    /// Operations that completed.
    pub ios: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// `ios` over the measured time.
    pub iops: f64,
    /// `bytes` over the measured time.
    pub bandwidth_bytes_per_s: f64,
    /// From just before submission to reaping.
    pub latency_ns: LatencySummary,
    /// With a rate set: from the scheduled start, so that a stall is charged to every operation
    /// that it delayed (no coordinated omission).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_latency_ns: Option<LatencySummary>,
    /// Operations that moved fewer bytes than asked.
    pub short_ios: u64,
}

/// One interval of the series, with its own rates and percentiles, not cumulative.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Default)]
#[serde(default)]
pub struct Interval {
    /// Start, from the start of the measured time.
    pub start_ns: u64,
    /// Length; the last one may be shorter.
    pub length_ns: u64,
    /// Reads that completed in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<DirectionStats>,
    /// Writes that completed in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<DirectionStats>,
    /// Syncs that completed in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<DirectionStats>,
}

/// Processor time of the process during the measured time, kernel workers included.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct CpuTime {
    /// In user mode.
    pub user_ns: u64,
    /// In the kernel.
    pub system_ns: u64,
    /// Voluntary and involuntary context switches.
    pub context_switches: u64,
    /// Time in which the job's threads were ready to run and had no processor, all threads together; 0
    /// where the kernel does not say.
    #[serde(skip_serializing_if = "is_zero")]
    pub wait_ns: u64,
}

fn is_zero(ns: &u64) -> bool {
    *ns == 0
}

/// Bytes that a device moved, by the kernel's own counters.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct DeviceBytes {
    /// Read from the device.
    pub read_bytes: u64,
    /// Written to the device.
    pub write_bytes: u64,
    /// Read operations completed.
    pub read_ios: u64,
    /// Write operations completed.
    pub write_ios: u64,
    /// Reads that the kernel merged into others.
    pub read_merges: u64,
    /// Writes that the kernel merged into others.
    pub write_merges: u64,
    /// Time with at least one operation in flight, milliseconds (the kernel's `io_ticks`).
    pub busy_ms: u64,
}

/// What `/proc/diskstats` says about the devices under the target.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct DeviceTraffic {
    /// The devices that hold the target (one, unless the job has files on several).
    #[serde(flatten)]
    pub total: DeviceBytes,
    /// Their names.
    pub names: Vec<String>,
    /// Each device under them (array members, LVM volumes, the disk of a partition), by name.
    pub members: Vec<(String, DeviceBytes)>,
}

/// Which engine ran, what the kernel granted it, and why it was chosen.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct EngineFacts {
    /// Why this one was taken.
    pub reason: String,
    /// Kernel features in use: `registered_files`, `registered_buffers`, `defer_taskrun`, ...
    pub granted: Vec<String>,
    /// Features that were asked for and refused, each with why.
    pub refused: Vec<String>,
    /// Time source of the latencies: `tsc`, `cntvct` or `clock_gettime`.
    pub clock: String,
}

/// The lay-out phase before a job.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct LayoutFacts {
    /// Bytes written so that every block holds data.
    pub bytes: u64,
    /// How long it took.
    pub runtime_ns: u64,
}

/// What verification found.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct VerifyOutcome {
    /// Blocks read back and checked.
    pub checked: u64,
    /// Blocks with pieces of different writes.
    pub torn: u64,
    /// Blocks that still hold an older write.
    pub lost: u64,
    /// Blocks that hold another block's data.
    pub misplaced: u64,
    /// Blocks whose content fits no seal.
    pub corrupt: u64,
    /// The first few, in words.
    pub examples: Vec<String>,
}

impl VerifyOutcome {
    /// Blocks that were not as written.
    pub fn bad(&self) -> u64 {
        self.torn + self.lost + self.misplaced + self.corrupt
    }
}

/// One thread of a job, reported when `group_reporting` is off.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Default)]
#[serde(default)]
pub struct ThreadStats {
    /// From the first submission to the last reaping.
    pub runtime_ns: u64,
    /// Reads.
    pub read: DirectionStats,
    /// Writes.
    pub write: DirectionStats,
    /// Syncs.
    pub sync: DirectionStats,
    /// Operations that failed.
    pub errors: u64,
}

/// A job that was ended because its figure was known (`--until-steady`).
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Default)]
#[serde(default)]
pub struct EndedSteady {
    /// Measured time until then.
    pub after_ns: u64,
    /// How far the true figure may be from the measured one, over the measured one: 0.02 is 2%.
    pub within: f64,
    /// What was asked for.
    pub asked: f64,
    /// Length of the beginning that differed from the rest; it is in the figure and in `within`.
    pub warm_up_ns: u64,
}

/// What one job measured.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct Measurement {
    /// The engine that ran (never `auto`).
    pub engine: EngineChoice,
    /// Why that one, and what the kernel granted.
    pub engine_facts: EngineFacts,
    /// Measured time: after the ramp, from the first submission to the last reaping.
    pub runtime_ns: u64,
    /// Whether the rate held still over the run; None until there are enough intervals to tell.
    pub steady: Option<bool>,
    /// Ended by Ctrl-C or SIGTERM before its time.
    pub interrupted: bool,
    /// Ended before its time because its figure was known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_steady: Option<EndedSteady>,
    /// Reads.
    pub read: DirectionStats,
    /// Writes.
    pub write: DirectionStats,
    /// Syncs.
    pub sync: DirectionStats,
    /// Processor time.
    pub cpu: CpuTime,
    /// The kernel's own counters; None where the target's device has none.
    pub device: Option<DeviceTraffic>,
    /// Operations that failed.
    pub errors: u64,
    /// The first errors, in words, each with its count.
    pub error_kinds: Vec<(String, u64)>,
    /// The lay-out before the job, if any.
    pub layout: Option<LayoutFacts>,
    /// What verification found, if asked.
    pub verify: Option<VerifyOutcome>,
    /// Intervals.
    pub series: Vec<Interval>,
    /// Threads, when `group_reporting` is off.
    pub threads: Vec<ThreadStats>,
}

impl Measurement {
    /// The stats of one direction.
    pub fn direction(&self, direction: Direction) -> &DirectionStats {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
            Direction::Sync => &self.sync,
        }
    }

    /// Reads and writes per second together.
    pub fn iops(&self) -> f64 {
        self.read.iops + self.write.iops
    }

    /// Bytes per second, reads and writes together.
    pub fn bandwidth_bytes_per_s(&self) -> f64 {
        self.read.bandwidth_bytes_per_s + self.write.bandwidth_bytes_per_s
    }
}
