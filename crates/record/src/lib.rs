//! Pure data of iobound: units, [`Job`], [`Measurement`], [`Finding`] and the [`Run`] record.
//!
//! Nothing here touches a clock, a file or a device. Every number carries its unit in its name:
//! `_ns` is integer nanoseconds, `_bytes` bytes, `_bytes_per_s` bytes per second, `iops`
//! operations per second.

mod job;
mod measurement;
mod run;
pub mod units;
mod validate;

pub use job::{
    BlockShare, Distribution, EngineChoice, Extent, Fallocate, Job, PerDirection, Rw, SyncMode, Verify,
};
pub use measurement::{
    CpuTime, DeviceBytes, DeviceTraffic, Direction, DirectionStats, EngineFacts, Interval, LatencySummary,
    LayoutFacts, Measurement, ThreadStats, VerifyOutcome,
};
pub use run::{
    Backing, Calibration, Ceiling, Context, Finding, HostFacts, Run, SCHEMA_VERSION, Scenario, Severity,
    Status, TargetFacts, Verdict,
};
pub use validate::JobError;
