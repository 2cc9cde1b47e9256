//! What was asked of an object store.

use serde::{Deserialize, Serialize};

use crate::measurement::LatencySummary;

/// Requests to a store.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct StoreRequests {
    /// Sent, those that were tried again included.
    pub sent: u64,
    /// Those that failed in a way that is tried again (`503 Slow Down`, `connection cut`, ...), each kind with
    /// its count. Their time is in the latency of the operation that they belong to.
    pub failed: Vec<(String, u64)>,
}

/// A workload of whole objects: what it adds to its scenario. In its measurement GET counts as read and PUT
/// as write.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct ObjectWorkload {
    /// Under which the objects were made, as an address.
    pub prefix: String,
    /// Bytes of each object.
    pub object_bytes: u64,
    /// Requests in flight at most.
    pub concurrency: u32,
    /// Objects put before the measured time, so that there is something to get, list and delete.
    pub prepared: u64,
    /// Seed of the content and of the order of operations.
    pub seed: u64,
    /// Each kind of operation that was asked for.
    pub kinds: Vec<ObjectKind>,
    /// PUTs in place of an operation that found no object to work on.
    pub put_instead: u64,
    /// All requests, those before and after the measured time included.
    pub requests: StoreRequests,
    /// What is in the store now, in words.
    pub left: String,
}

/// One kind of operation.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct ObjectKind {
    /// `put`, `get`, `list` or `delete`.
    pub kind: String,
    /// Share of the operations asked for, 0 to 1.
    pub share: f64,
    /// Operations that succeeded in the measured time.
    pub ops: u64,
    /// Those over the measured time.
    pub ops_per_s: f64,
    /// Bytes of objects that they moved.
    pub bytes: u64,
    /// Those over the measured time.
    pub bandwidth_bytes_per_s: f64,
    /// From just before the request to the last byte of the answer, attempts that failed and the waits
    /// between them included.
    pub latency_ns: LatencySummary,
    /// Operations that failed, each kind of failure with its count.
    pub errors: Vec<(String, u64)>,
}
