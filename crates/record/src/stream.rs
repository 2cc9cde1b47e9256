//! What a stream adds to its scenario.

use serde::{Deserialize, Serialize};

use crate::measurement::LatencySummary;
use crate::object::StoreRequests;

/// A stream: how it ran, where its time went, what became of its outputs.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct Stream {
    /// Settings that ran; all numbers are those of one output.
    pub settings: StreamSettings,
    /// Buffers that were asked for or follow from the table, where fewer are enough.
    pub buffers_allowed: u32,
    /// Memory of all pools.
    pub memory_bytes: u64,
    /// Placement on NUMA nodes, in words.
    pub numa: String,
    /// Seed of the content; output k of repeat r is the filler's stream r * 2^32 + k.
    pub seed: u64,
    /// Which repeat, from 0.
    pub repeat: u32,
    /// Bytes asked for, each output.
    pub size_bytes: u64,
    /// Bytes made.
    pub generated_bytes: u64,
    /// Bytes written without a gap from the start, all outputs.
    pub written_bytes: u64,
    /// From the first buffer to the last write.
    pub writing_ns: u64,
    /// The rest of the stream and the final sync.
    pub finishing_ns: u64,
    /// Who filled buffers; with `fused` the writers themselves.
    pub producers: StreamSide,
    /// Who wrote them.
    pub writers: StreamSide,
    /// What held it back: `storage`, `generator`, `processor`, `reader`, `balanced`, `none`.
    pub bottleneck: String,
    /// That in a sentence or two.
    pub analysis: Vec<String>,
    /// What to change.
    pub advice: Vec<String>,
    /// Each output.
    pub outputs: Vec<StreamOutput>,
    /// Each writer.
    pub per_writer: Vec<StreamWriter>,
    /// What reading it back showed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_back: Option<StreamReadBack>,
    /// How the settings were found, if they were searched for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tuning: Option<StreamTuning>,
}

/// Threads and buffers of one output.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct StreamSettings {
    /// `fused` (each writer fills its own buffers) or `split` (producers fill, writers write).
    pub mode: String,
    /// Bytes of a buffer, written as one.
    pub buffer_bytes: u64,
    /// Buffers.
    pub buffers: u32,
    /// Threads that write.
    pub writers: u32,
    /// Threads that fill; 0 when `fused`.
    pub producers: u32,
    /// Buffers a writer has in flight at most.
    pub depth: u32,
}

/// Where the time of all threads of one kind went, as sums over the threads.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct StreamSide {
    /// Threads.
    pub threads: u32,
    /// From the start to each one's end.
    pub all_ns: u64,
    /// Making data.
    pub filling_ns: u64,
    /// Waiting for the other side of the pool.
    pub pool_ns: u64,
    /// Waiting for the target.
    pub target_ns: u64,
}

impl StreamSide {
    /// A part of the threads' time, 0 to 1.
    pub fn share(&self, ns: u64) -> f64 {
        if self.all_ns == 0 { 0.0 } else { (ns as f64 / self.all_ns as f64).min(1.0) }
    }
}

/// One output.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct StreamOutput {
    /// As named by the user.
    pub target: String,
    /// `file`, `device`, `pipe`, `null`, or the scheme of a store.
    pub kind: String,
    /// Whether the page cache was passed by.
    pub direct: bool,
    /// Bytes written without a gap from the start.
    pub written_bytes: u64,
    /// What is there now, in words.
    pub left: String,
    /// Why it is not whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What was asked of the store, where it is an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<StoreRequests>,
}

/// One writer.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Default)]
#[serde(default)]
pub struct StreamWriter {
    /// Which output, from 0.
    pub output: u32,
    /// Writes.
    pub writes: u64,
    /// Bytes.
    pub bytes: u64,
    /// Bytes per second over its own time.
    pub bandwidth_bytes_per_s: f64,
    /// Of its writes.
    pub latency_ns: LatencySummary,
    /// Making data.
    pub filling_ns: u64,
    /// Waiting for a full buffer.
    pub pool_ns: u64,
    /// Waiting for the target.
    pub target_ns: u64,
    /// From the start to its end.
    pub all_ns: u64,
    /// Writes that failed.
    pub errors: u64,
}

/// What reading back showed.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct StreamReadBack {
    /// Bytes read and compared, all outputs.
    pub bytes: u64,
    /// Time that took.
    pub runtime_ns: u64,
    /// Bytes per second.
    pub bandwidth_bytes_per_s: f64,
}

/// A search for the best settings.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct StreamTuning {
    /// Processors by which the start was chosen.
    pub cpus: u32,
    /// What was done, and why this was chosen.
    pub says: String,
    /// Bytes written to try.
    pub bytes: u64,
    /// Time it took.
    pub runtime_ns: u64,
    /// What was tried, in order.
    pub trials: Vec<StreamTrial>,
}

/// One setting that was tried.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct StreamTrial {
    /// What.
    pub settings: StreamSettings,
    /// Bytes per second, of several tries the median.
    pub bandwidth_bytes_per_s: f64,
    /// Processor time for each byte, nanoseconds.
    pub cpu_ns_per_byte: f64,
    /// How often it was tried.
    pub tries: u32,
    /// Whether it was chosen.
    pub chosen: bool,
}
