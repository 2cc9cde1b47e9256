//! What a run answers besides its verdicts: targets that were set, what the storage is fit for, and what
//! it behaves like.

use serde::{Deserialize, Serialize};

use crate::quantity::{Bandwidth, Duration};

/// What somebody asks a scenario to reach. Rates are at least, times at most.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Target {
    /// Operations per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iops: Option<f64>,
    /// Bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Bandwidth>,
    /// Mean time of an operation; where writes are synced, of a sync.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
    /// 99th percentile of the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<Duration>,
    /// 99.9th percentile of the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_9: Option<Duration>,
}

impl Target {
    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        *self == Target::default()
    }
}

/// One figure of a target beside what was measured.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct TargetOutcome {
    /// What: `IOPS`, `p99`, ...
    pub what: String,
    /// The figure asked, with its unit.
    pub asked: String,
    /// The figure measured, with its unit.
    pub measured: String,
    /// Whether it is reached.
    pub met: bool,
}

/// Whether storage is fit for something.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum FitAnswer {
    /// It does what is asked, with room to spare.
    Yes,
    /// So near to the figure, on either side, that another day may answer otherwise.
    Close,
    /// It does not.
    No,
}

/// One published figure held against what was measured.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Stable name of the row: `etcd`, `cockroachdb-iops`, ...
    pub id: String,
    /// The system: `etcd`.
    pub system: String,
    /// What its document asks, in words.
    pub asks: String,
    /// Answer.
    pub answer: FitAnswer,
    /// The figure measured and the figure asked, with units.
    pub evidence: String,
    /// Number of the scenario that it was measured in.
    pub scenario: u32,
    /// The document.
    pub source: String,
    /// Its address.
    pub url: String,
}

/// What kind of device a run's own figures look like.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct DeviceClass {
    /// `memory`, `nvme`, `ssd`, `network-volume` or `rotational`.
    pub id: String,
    /// In words.
    pub says: String,
    /// The figures that say so.
    pub evidence: String,
}
