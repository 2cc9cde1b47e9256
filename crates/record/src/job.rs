//! One job: what I/O to issue, named as fio names it where fio has the option.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::units::{self, KIB};

/// The I/O pattern, with fio's words.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
pub enum Rw {
    /// Sequential reads.
    #[default]
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
    /// Sequential reads and writes, each with a position of its own.
    Rw,
    /// Random reads and writes.
    RandRw,
}

impl Rw {
    /// Every pattern, in the order fio documents them.
    pub const ALL: [Rw; 6] = [Rw::Read, Rw::Write, Rw::RandRead, Rw::RandWrite, Rw::Rw, Rw::RandRw];

    /// fio's word for the pattern.
    pub fn as_str(self) -> &'static str {
        match self {
            Rw::Read => "read",
            Rw::Write => "write",
            Rw::RandRead => "randread",
            Rw::RandWrite => "randwrite",
            Rw::Rw => "rw",
            Rw::RandRw => "randrw",
        }
    }

    /// Whether the job issues any read.
    pub fn reads(self) -> bool {
        !matches!(self, Rw::Write | Rw::RandWrite)
    }

    /// Whether the job issues any write.
    pub fn writes(self) -> bool {
        !matches!(self, Rw::Read | Rw::RandRead)
    }

    /// Whether offsets are random.
    pub fn is_random(self) -> bool {
        matches!(self, Rw::RandRead | Rw::RandWrite | Rw::RandRw)
    }

    /// Whether the job mixes reads and writes.
    pub fn is_mixed(self) -> bool {
        matches!(self, Rw::Rw | Rw::RandRw)
    }
}

impl fmt::Display for Rw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which engine issues the I/O. `Fio` hands the job to the real fio program.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum EngineChoice {
    /// The best one that the host allows: io_uring, else libaio, else psync.
    #[default]
    Auto,
    /// `io_uring` with registered files and buffers where granted.
    IoUring,
    /// Linux native AIO (`io_submit`), for hosts that forbid io_uring.
    Libaio,
    /// `pread`/`pwrite`, one operation at a time.
    Psync,
    /// No device: the cost of the loop itself.
    Null,
    /// The real fio, driven as a program.
    Fio,
    /// The real dd, driven as a program.
    Dd,
    /// Requests to an object store.
    Object,
}

impl EngineChoice {
    /// The word used on the command line and in the record.
    pub fn as_str(self) -> &'static str {
        match self {
            EngineChoice::Auto => "auto",
            EngineChoice::IoUring => "io_uring",
            EngineChoice::Libaio => "libaio",
            EngineChoice::Psync => "psync",
            EngineChoice::Null => "null",
            EngineChoice::Fio => "fio",
            EngineChoice::Dd => "dd",
            EngineChoice::Object => "object",
        }
    }
}

impl fmt::Display for EngineChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A length or position: absolute, or a share of the file or device.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Extent {
    /// Bytes.
    Bytes(u64),
    /// Percent of the file or device, 0 to 100.
    Percent(u8),
}

impl Extent {
    /// The extent in bytes of a file or device of `whole` bytes.
    pub fn resolve(self, whole: u64) -> u64 {
        match self {
            Extent::Bytes(bytes) => bytes,
            Extent::Percent(percent) => (whole as u128 * percent as u128 / 100) as u64,
        }
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Bytes(bytes) => f.write_str(&units::bytes(*bytes)),
            Extent::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// One entry of `bssplit`: a block size and its share of the operations.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockShare {
    /// Block size in bytes.
    pub bs: u64,
    /// Share in percent; the shares of a split sum to 100.
    pub percent: u8,
}

/// How random offsets are spread over the range (fio's `random_distribution`).
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Default)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Every block alike.
    #[default]
    Random,
    /// Zipf with exponent theta: a few blocks take most operations.
    Zipf {
        /// Exponent, above 0 and not 1.
        theta: f64,
    },
    /// Pareto with shape h.
    Pareto {
        /// Shape, above 0 and below 1.
        h: f64,
    },
    /// Normal around the middle of the range.
    Normal {
        /// Standard deviation in percent of the range.
        deviation: f64,
    },
}

/// Whether each write is made durable by its open flags (fio's `sync`).
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
pub enum SyncMode {
    /// No flag.
    #[default]
    None,
    /// `O_SYNC`: data and all metadata.
    Sync,
    /// `O_DSYNC`: data, and the metadata needed to read it back.
    Dsync,
}

/// How a new file gets its space before writing (fio's `fallocate`).
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
pub enum Fallocate {
    /// `fallocate(2)`: space reserved, extents unwritten. fio's default.
    #[default]
    Native,
    /// Only the length is set; the file starts sparse.
    Truncate,
    /// Nothing: the file grows as it is written.
    None,
}

/// What each written block carries so that reading it back proves something (fio's `verify`).
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// Nothing.
    #[default]
    None,
    /// CRC-32C over each sealed piece, with its offset and generation: finds torn, lost and
    /// misplaced writes.
    Crc32c,
}

/// A value for reads and one for writes.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct PerDirection<T> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
}

/// One job. Field names are fio's; times are nanoseconds, sizes bytes.
///
/// `Job::default()` is fio's default job except that `direct` is on (a storage benchmark that
/// measures the page cache by default misleads) and `overwrite` is on: a file is laid out with
/// real data before it is measured.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(default)]
pub struct Job {
    /// Name, as in fio's `[section]`.
    pub name: String,
    /// What the job is for, in a sentence, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Pattern.
    pub rw: Rw,
    /// Share of reads of a mixed job, percent.
    pub rwmixread: u8,
    /// Block size in bytes; with `bsrange` or `bssplit` it is the largest one.
    pub bs: u64,
    /// Smallest and largest block size, uniformly chosen in steps of the smallest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bsrange: Option<(u64, u64)>,
    /// Weighted block sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bssplit: Option<Vec<BlockShare>>,
    /// Operations in flight per thread.
    pub iodepth: u32,
    /// At most this many operations are submitted at once; 0 = as the engine finds best (4).
    pub iodepth_batch: u32,
    /// Threads that run this job.
    pub numjobs: u32,
    /// Report the threads as one.
    pub group_reporting: bool,
    /// Engine.
    pub ioengine: EngineChoice,
    /// Files or devices; empty: files named after the job in `directory`.
    pub filename: Vec<PathBuf>,
    /// Where files without a path are made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Files per thread where `filename` is empty.
    pub nrfiles: u32,
    /// Working set: size of all files of a thread together. None: the whole existing file or device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Extent>,
    /// Bytes to move per loop, if not `size`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_size: Option<u64>,
    /// Start of the working set in the file or device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<Extent>,
    /// Thread k starts at `offset + k * offset_increment`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset_increment: Option<Extent>,
    /// Stop after this many operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number_ios: Option<u64>,
    /// Stop after this long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_ns: Option<u64>,
    /// Run for `runtime_ns` even when the working set was covered before.
    pub time_based: bool,
    /// Run this long before anything is recorded.
    pub ramp_time_ns: u64,
    /// Wait this long before starting.
    pub startdelay_ns: u64,
    /// Repeat the job this often.
    pub loops: u32,
    /// Wait for all jobs before this one to end.
    pub stonewall: bool,
    /// Bypass the page cache (O_DIRECT).
    pub direct: bool,
    /// Read the working set into the page cache first, so that a buffered job starts warm; without it,
    /// it starts cold.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pre_read: bool,
    /// Durability by open flags.
    pub sync: SyncMode,
    /// `fsync` after every this many writes; 0 = never.
    pub fsync: u32,
    /// `fdatasync` after every this many writes; 0 = never.
    pub fdatasync: u32,
    /// One `fsync` at the end, counted in the runtime.
    pub end_fsync: bool,
    /// How a new file gets its space.
    pub fallocate: Fallocate,
    /// Lay a new file out with data before writing, so that writes overwrite.
    pub overwrite: bool,
    /// Bytes per second and thread, for reads and for writes.
    pub rate: PerDirection<Option<u64>>,
    /// Operations per second and thread, for reads and for writes.
    pub rate_iops: PerDirection<Option<u64>>,
    /// Pause between operations.
    pub thinktime_ns: u64,
    /// Operations between pauses.
    pub thinktime_blocks: u32,
    /// How random offsets are spread.
    pub random_distribution: Distribution,
    /// Allow a block to be hit again before all were hit once.
    pub norandommap: bool,
    /// Seed of every random choice of this job.
    pub randseed: u64,
    /// Fill buffers anew before every write.
    pub refill_buffers: bool,
    /// Compress ratio of the data; 1.0 = incompressible.
    pub compress_ratio: f64,
    /// Dedup ratio of the data; 1.0 = no duplicate.
    pub dedup_ratio: f64,
    /// Unit at which data repeats, bytes.
    pub dedup_unit: u64,
    /// Write zeroes (fio's `zero_buffers`): only to see what a device makes of them.
    pub zero_buffers: bool,
    /// Seal blocks and check them.
    pub verify: Verify,
    /// Read back and check after writing, when `verify` is on.
    pub do_verify: bool,
    /// Processors the threads may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus_allowed: Option<Vec<u32>>,
    /// Length of one interval of the series.
    pub log_interval_ns: u64,
}

impl Default for Job {
    fn default() -> Self {
        Job {
            name: "job".into(),
            description: None,
            rw: Rw::Read,
            rwmixread: 50,
            bs: 4 * KIB,
            bsrange: None,
            bssplit: None,
            iodepth: 1,
            iodepth_batch: 0,
            numjobs: 1,
            group_reporting: true,
            ioengine: EngineChoice::Auto,
            filename: Vec::new(),
            directory: None,
            nrfiles: 1,
            size: None,
            io_size: None,
            offset: None,
            offset_increment: None,
            number_ios: None,
            runtime_ns: None,
            time_based: false,
            ramp_time_ns: 0,
            startdelay_ns: 0,
            loops: 1,
            stonewall: false,
            direct: true,
            pre_read: false,
            sync: SyncMode::None,
            fsync: 0,
            fdatasync: 0,
            end_fsync: false,
            fallocate: Fallocate::Native,
            overwrite: true,
            rate: PerDirection::default(),
            rate_iops: PerDirection::default(),
            thinktime_ns: 0,
            thinktime_blocks: 1,
            random_distribution: Distribution::Random,
            norandommap: false,
            randseed: 0x10b0_07d5,
            refill_buffers: false,
            compress_ratio: 1.0,
            dedup_ratio: 1.0,
            dedup_unit: 4 * KIB,
            zero_buffers: false,
            verify: Verify::None,
            do_verify: true,
            cpus_allowed: None,
            log_interval_ns: 1_000_000_000,
        }
    }
}

impl Job {
    /// The job that fio runs when a job file says nothing: buffered, on psync, one submission at a
    /// time, new files reserved but not laid out, threads reported one by one.
    ///
    /// A fio job file is read on top of this, so that it means what fio means by it; everything
    /// else starts from [`Job::default`]. Source: the `.def` fields of fio 3.33's `options.c`.
    pub fn fio_default() -> Job {
        Job {
            direct: false,
            overwrite: false,
            ioengine: EngineChoice::Psync,
            iodepth_batch: 1,
            group_reporting: false,
            randseed: 0x89,
            ..Job::default()
        }
    }

    /// Smallest and largest block size that the job issues, in bytes.
    pub fn block_sizes(&self) -> (u64, u64) {
        if let Some(split) = &self.bssplit {
            let sizes = split.iter().filter(|share| share.percent > 0).map(|share| share.bs);
            let min = sizes.clone().min().unwrap_or(self.bs);
            return (min, sizes.max().unwrap_or(self.bs));
        }
        self.bsrange.unwrap_or((self.bs, self.bs))
    }

    /// Share of operations that read, 0.0 to 1.0.
    pub fn read_share(&self) -> f64 {
        match (self.rw.reads(), self.rw.writes()) {
            (true, false) => 1.0,
            (false, true) => 0.0,
            _ => f64::from(self.rwmixread) / 100.0,
        }
    }

    /// Whether every single write is durable before the next, so that even a buffered one is measured at
    /// the device: at its sync.
    pub fn syncs_each_write(&self) -> bool {
        self.sync != SyncMode::None || self.fsync == 1 || self.fdatasync == 1
    }

    /// Whether a rate is set, so that operations have scheduled starts.
    pub fn is_paced(&self) -> bool {
        [self.rate.read, self.rate.write, self.rate_iops.read, self.rate_iops.write]
            .iter()
            .any(Option::is_some)
    }
}
