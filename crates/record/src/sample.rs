//! What devices and the machine did in one short interval, and the sum of such intervals over a scenario.

use serde::{Deserialize, Serialize};

/// Rates of one device, or of several together, over one interval.
///
/// Formulas: Documentation/admin-guide/iostats.rst in the kernel tree, and `iostat -x`, whose columns are
/// named in brackets.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Default)]
#[serde(default)]
pub struct Rates {
    /// Reads completed a second (`r/s`).
    pub read_iops: f64,
    /// Writes completed a second (`w/s`).
    pub write_iops: f64,
    /// Bytes read a second (`rkB/s`).
    pub read_bytes_per_s: f64,
    /// Bytes written a second (`wkB/s`).
    pub write_bytes_per_s: f64,
    /// Reads merged into others a second (`rrqm/s`).
    pub read_merges_per_s: f64,
    /// Writes merged into others a second (`wrqm/s`).
    pub write_merges_per_s: f64,
    /// Operations in flight at the end of the interval.
    pub in_flight: u64,
    /// Operations in flight on average (`aqu-sz`): time of all operations over the interval.
    pub queue: f64,
    /// Mean time of a read that completed (`r_await`); None when none did, or the kernel keeps no times.
    pub read_await_ns: Option<u64>,
    /// Mean time of a write that completed (`w_await`).
    pub write_await_ns: Option<u64>,
    /// Share of the interval with something in flight (`%util`), 0 to 1. Devices that work on several
    /// operations at once are not at their limit at 1.
    pub utilisation: f64,
    /// Discards a second (`d/s`); None before kernel 4.18, which does not count them.
    pub discard_iops: Option<f64>,
    /// Bytes discarded a second (`dkB/s`).
    pub discard_bytes_per_s: Option<f64>,
    /// Flushes a second (`f/s`); None before kernel 5.5.
    pub flush_iops: Option<f64>,
}

impl Rates {
    /// Reads and writes a second.
    pub fn iops(&self) -> f64 {
        self.read_iops + self.write_iops
    }

    /// Bytes read and written a second.
    pub fn bytes_per_s(&self) -> f64 {
        self.read_bytes_per_s + self.write_bytes_per_s
    }
}

/// What a device is in the set that is sampled.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// A disk with nothing below it: totals are sums of these.
    #[default]
    Disk,
    /// Built on others: arrays, volumes, loop devices. Its bytes pass the disks below it too.
    Upper,
    /// A part of a disk.
    Partition,
    /// One path of a multipath NVMe drive: its bytes are the drive's.
    Path,
}

impl Layer {
    /// As in the record.
    pub fn as_str(self) -> &'static str {
        match self {
            Layer::Disk => "disk",
            Layer::Upper => "upper",
            Layer::Partition => "partition",
            Layer::Path => "path",
        }
    }
}

/// One device in one interval.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct DeviceSample {
    /// Kernel name.
    pub device: String,
    /// What it is among the others.
    pub layer: Layer,
    /// Devices right above it: an array that it is a member of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<String>,
    /// Whether the total counts it.
    pub in_total: bool,
    /// None in the interval in which it appeared, and while it is gone.
    pub rates: Option<Rates>,
}

/// The machine in one interval. Shares are of the time of all processors together, 0 to 1; pressure
/// is the share of the interval in which tasks stood still (Documentation/accounting/psi.rst).
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Default)]
#[serde(default)]
pub struct HostSample {
    /// Page-cache bytes that wait to be written.
    pub dirty_bytes: Option<u64>,
    /// Page-cache bytes being written.
    pub writeback_bytes: Option<u64>,
    /// Time in programs.
    pub cpu_user: Option<f64>,
    /// Time in the kernel.
    pub cpu_system: Option<f64>,
    /// Idle time with I/O outstanding.
    pub cpu_iowait: Option<f64>,
    /// Time that the hypervisor gave to others.
    pub cpu_steal: Option<f64>,
    /// Some task waited for I/O; None where the kernel keeps no pressure figures.
    pub psi_io_some: Option<f64>,
    /// All tasks that could run waited for I/O.
    pub psi_io_full: Option<f64>,
    /// Some task waited for a processor.
    pub psi_cpu_some: Option<f64>,
    /// Some task waited for memory.
    pub psi_memory_some: Option<f64>,
    /// All tasks that could run waited for memory.
    pub psi_memory_full: Option<f64>,
}

/// I/O of one process.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct ProcessSample {
    /// Process id.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Bytes a second that it had read from storage.
    pub read_bytes_per_s: f64,
    /// Bytes a second that it caused to be written to storage, at the time it made the pages dirty.
    pub write_bytes_per_s: f64,
    /// It has the device of the scenario open, or a file on it: those who only moved bytes may have
    /// moved them elsewhere.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_target_open: bool,
}

/// One interval.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct Sample {
    /// End of the interval, since sampling began, by a clock that never steps.
    pub time_ns: u64,
    /// Its length.
    pub interval_ns: u64,
    /// Devices.
    pub devices: Vec<DeviceSample>,
    /// Over the devices with `in_total`, so that no byte counts twice. Utilisation is the busiest's.
    pub total: Rates,
    /// The machine.
    pub host: HostSample,
    /// Other processes with the most I/O, by the latest look; None where that may not be known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<Vec<ProcessSample>>,
}

/// Mean over a scenario, weighted by time, and the greatest value of an interval.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Default)]
#[serde(default)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Greatest.
    pub max: f64,
}

/// One device over a scenario.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct DeviceSummary {
    /// Kernel name.
    pub device: String,
    /// What it is among the others.
    pub layer: Layer,
    /// Devices right above it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<String>,
    /// Reads a second.
    pub read_iops: Spread,
    /// Writes a second.
    pub write_iops: Spread,
    /// Bytes read a second.
    pub read_bytes_per_s: Spread,
    /// Bytes written a second.
    pub write_bytes_per_s: Spread,
    /// Merged a second, reads and writes.
    pub merges_per_s: Spread,
    /// Operations in flight.
    pub queue: Spread,
    /// Time of a read, nanoseconds; the mean is over operations.
    pub read_await_ns: Spread,
    /// Time of a write, nanoseconds.
    pub write_await_ns: Spread,
    /// Share of the time with something in flight, 0 to 1.
    pub utilisation: Spread,
    /// Flushes a second; None where the kernel does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush_iops: Option<Spread>,
    /// Intervals in which the device was not there.
    #[serde(skip_serializing_if = "is_zero")]
    pub intervals_gone: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A stretch of a scenario's measured time.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct Moment {
    /// Its end, from the start of what was sampled.
    pub end_ns: u64,
    /// Dirty page-cache bytes, the most.
    pub dirty_bytes: u64,
    /// Page-cache bytes being written, the most.
    pub writeback_bytes: u64,
    /// Bytes a second that each of the summary's devices read and wrote, in their order.
    pub device_bytes_per_s: Vec<u64>,
}

/// The measured time of a scenario, as the kernel saw it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct SampleSummary {
    /// Intervals.
    pub intervals: u32,
    /// Time that they cover.
    pub covered_ns: u64,
    /// The longest of them.
    pub longest_ns: u64,
    /// How far the wall clock was set, by a clock that never steps: forward above 0; None where it was not
    /// looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_step_ns: Option<i64>,
    /// Devices under the targets and below those.
    pub devices: Vec<DeviceSummary>,
    /// The same over time; several intervals together where there were many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Moment>,
    /// Dirty page-cache bytes.
    pub dirty_bytes: Spread,
    /// Page-cache bytes being written.
    pub writeback_bytes: Spread,
    /// Share of the processors' time, 0 to 1.
    pub cpu_user: Spread,
    /// The same in the kernel.
    pub cpu_system: Spread,
    /// The same idle with I/O outstanding.
    pub cpu_iowait: Spread,
    /// The same given to others by the hypervisor.
    pub cpu_steal: Spread,
    /// Pressure: share of the time; None where the kernel keeps no such figures.
    pub psi_io_some: Option<Spread>,
    /// The same, all tasks.
    pub psi_io_full: Option<Spread>,
    /// Pressure on processors.
    pub psi_cpu_some: Option<Spread>,
    /// Pressure on memory.
    pub psi_memory_some: Option<Spread>,
    /// Other processes with the most I/O, from just before the job began until just after it ended;
    /// None where that may not be known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<Vec<ProcessSample>>,
}
