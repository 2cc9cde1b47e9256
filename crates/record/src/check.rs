//! The checklist: what was looked at before a run, and how it stands.

use serde::{Deserialize, Serialize};

/// How one check came out.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// As it should be.
    Pass,
    /// Could not be looked at, and why is in `why`.
    Unknown,
    /// The numbers stand, but could be better, or mean something else.
    Warn,
    /// The numbers would not stand.
    Fail,
}

/// One check.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Stable name: `array-state`, `read-ahead`, ...
    pub id: String,
    /// What it is about: `/data`, `md0`, `nvme3n1`, `host`.
    pub subject: String,
    /// How it came out.
    pub outcome: Outcome,
    /// What was found.
    pub value: String,
    /// What was expected.
    pub expected: String,
    /// Why it matters, in a sentence.
    pub why: String,
    /// The command that mends it; empty when nothing is to mend.
    pub mend: String,
}

/// What has to be watched for a while to be known.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct Watched {
    /// For how long.
    pub seconds: f64,
    /// Traffic of each disk in that time that was not ours.
    pub traffic: Vec<WatchedDevice>,
    /// Processes that used much processor time or I/O.
    pub processes: Vec<WatchedProcess>,
    /// Lines of the kernel's log that tell of throttling, time-outs, resets or I/O errors; None when
    /// the log may not be read.
    pub kernel_log: Option<Vec<String>>,
}

/// Traffic of one device.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct WatchedDevice {
    /// Kernel name.
    pub device: String,
    /// Operations per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Share of the time in which it was busy, 0 to 1.
    pub busy: f64,
}

/// A process that used much.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct WatchedProcess {
    /// Process id.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Processors' worth of time.
    pub cpus: f64,
    /// Bytes per second to and from storage; None when we may not know.
    pub io_bytes_per_s: Option<f64>,
}
