//! Pure data of iobound: units, [`Job`], [`Measurement`], [`Finding`] and the [`Run`] record; the hardware
//! [`Context`] that is meant and the [`Probe`] of what is.
//!
//! Nothing here touches a clock, a file or a device. Every number carries its unit in its name:
//! `_ns` is integer nanoseconds, `_bytes` bytes, `_bytes_per_s` bytes per second, `iops`
//! operations per second.

mod answer;
mod check;
mod context;
mod job;
mod measurement;
mod object;
mod plan;
mod probe;
mod quantity;
mod run;
mod sample;
mod stream;
pub mod units;
mod validate;

pub use answer::{DeviceClass, Fit, FitAnswer, Target, TargetOutcome};
pub use check::{Check, Outcome, Watched, WatchedDevice, WatchedProcess};
pub use context::{
    Array, ArrayManager, CONTEXT_VERSION, Cap, Context, Count, Directory, FileSystemKind, FileSystemSpec,
    Instance, Level, OsSettings, Role, VolumeGroup,
};
pub use job::{
    BlockShare, Distribution, EngineChoice, Extent, Fallocate, Job, PerDirection, Rw, SyncMode, Verify,
};
pub use measurement::{
    CpuTime, DeviceBytes, DeviceTraffic, Direction, DirectionStats, EndedSteady, EngineFacts, Interval,
    LatencySummary, LayoutFacts, Measurement, ThreadStats, VerifyOutcome,
};
pub use object::{ObjectKind, ObjectWorkload, StoreRequests};
pub use plan::{
    Change, DirectoryFacts, DiskRefusal, Evidence, EvidenceKind, Ground, Interests, Member, Op, PLAN_VERSION,
    Plan, Stage, Step, StepState, Undo,
};
pub use probe::{
    Cloud, Device, DeviceSort, LogicalVolume, LvmSegment, Machine, MdArray, MdMember, Memory,
    MountedFileSystem, NumaNode, PROBE_VERSION, Probe, ProcessLimits, Processor,
};
pub use quantity::{Bandwidth, Bytes, Duration, parse_bandwidth};
pub use run::{
    Backing, Calibration, Ceiling, DiskFacts, Finding, HostFacts, Metric, Run, SCHEMA_VERSION, Scenario,
    Severity, Status, TargetFacts, Verdict,
};
pub use sample::{
    DeviceSample, DeviceSummary, HostSample, Layer, Moment, ProcessSample, Rates, Sample, SampleSummary,
    Spread,
};
pub use stream::{
    Stream, StreamOutput, StreamReadBack, StreamSettings, StreamSide, StreamTrial, StreamTuning, StreamWriter,
};
pub use validate::JobError;
