//! The hardware context: what the hardware under a database promises, and how it is put together.
//!
//! A context is a file (`context.toml`) that a person can write, `iobound context detect` can make from
//! a host, and everything else is driven by: `prepare` builds it, `check` holds a host against it,
//! `ceilings` computes what it can do. It says what is meant to be; what *is* stands in
//! [`Probe`](crate::Probe).
//!
//! Computed settings (`[postgresql]` and the like) and cloud catalogs are not part of it: they are
//! derived from it, so that a file cannot disagree with itself.

use serde::{Deserialize, Serialize};

use crate::quantity::{Bandwidth, Bytes, Duration};

/// Version of the context's shape.
pub const CONTEXT_VERSION: u32 = 1;

/// A hardware context.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct Context {
    /// [`CONTEXT_VERSION`].
    pub schema: u32,
    /// Name: `INSTANCE.NET_GBPS.EBS_GBPS.Ndisk.LEVEL`, or any other.
    pub name: String,
    /// What it is, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The machine.
    #[serde(default)]
    pub instance: Instance,
    /// Volumes, or groups of equal ones.
    #[serde(default, rename = "volume")]
    pub volumes: Vec<VolumeGroup>,
    /// Arrays over them.
    #[serde(default, rename = "array", skip_serializing_if = "Vec::is_empty")]
    pub arrays: Vec<Array>,
    /// File systems on arrays or volumes.
    #[serde(default, rename = "filesystem", skip_serializing_if = "Vec::is_empty")]
    pub filesystems: Vec<FileSystemSpec>,
    /// What the operating system should be set to; absent leaves a setting alone.
    #[serde(default)]
    pub os: OsSettings,
}

/// The machine, as far as storage is concerned.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Instance {
    /// Type, such as `c8gb.2xlarge`; empty for a machine of one's own.
    pub name: String,
    /// `aws`, `azure`, `gcp`, or empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cloud: String,
    /// Processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vcpus: Option<u32>,
    /// Memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// What the machine may always move to all its volumes together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sustained: Option<Cap>,
    /// What it may move for a while.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Cap>,
    /// How long the burst lasts at least, a day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_per_day: Option<Duration>,
}

/// Limits of a machine towards its volumes.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Cap {
    /// Operations per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iops: Option<u64>,
    /// Bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Bandwidth>,
}

/// One volume, or `count` equal ones. A group `data` of 8 has the volumes `data-1` to `data-8`; a group
/// of one has the volume `data`.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields, default)]
pub struct VolumeGroup {
    /// Name, unique among volumes and arrays.
    pub name: String,
    /// How many.
    #[serde(skip_serializing_if = "is_one")]
    pub count: Count,
    /// `gp3`, `io2`, `premium-ssd`, `nvme`, `hdd`, `virtual`, ...
    pub kind: String,
    /// Size of each.
    pub size: Bytes,
    /// Operations per second of each; absent where nobody promises any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iops: Option<u64>,
    /// Bytes per second of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Bandwidth>,
    /// Time of one small read, unloaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
    /// Time of one small write made durable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync_latency: Option<Duration>,
    /// Serial numbers, one a volume in their order; `prepare` and `check` find the disks by them. EBS
    /// volume ids count as serials, with or without their dash.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub serials: Vec<String>,
    /// World-wide names (`eui.`, `naa.`, `nvme.`), in place of serials.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wwns: Vec<String>,
}

/// How many volumes a group has; one unless said.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(transparent)]
pub struct Count(pub u32);

impl Default for Count {
    fn default() -> Self {
        Count(1)
    }
}

fn is_one(count: &Count) -> bool {
    count.0 == 1
}

impl VolumeGroup {
    /// Names of its volumes, in order.
    pub fn volume_names(&self) -> Vec<String> {
        match self.count.0 {
            1 => vec![self.name.clone()],
            count => (1..=count).map(|number| format!("{}-{number}", self.name)).collect(),
        }
    }
}

/// What puts an array together.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[serde(rename_all = "lowercase")]
pub enum ArrayManager {
    /// Linux software RAID.
    #[default]
    Mdadm,
    /// Logical volume manager.
    Lvm,
}

/// How an array spreads data.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Striped, no redundancy: mdadm's RAID0 and LVM's `--stripes`.
    #[default]
    Raid0,
    /// Mirrored.
    Raid1,
    /// Striped mirrors.
    Raid10,
    /// One parity.
    Raid5,
    /// Two parities.
    Raid6,
    /// One after the other.
    Linear,
}

impl Level {
    /// Its name as mdadm writes it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Raid0 => "raid0",
            Level::Raid1 => "raid1",
            Level::Raid10 => "raid10",
            Level::Raid5 => "raid5",
            Level::Raid6 => "raid6",
            Level::Linear => "linear",
        }
    }

    /// Fewest members it can be made of.
    pub fn members_min(self) -> u32 {
        match self {
            Level::Linear => 1,
            // mdadm makes RAID0 of one with force only, and RAID10 of two, which is a mirror.
            Level::Raid0 | Level::Raid1 | Level::Raid10 => 2,
            Level::Raid5 => 3,
            Level::Raid6 => 4,
        }
    }
}

/// An array.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Array {
    /// Name, unique among volumes and arrays.
    pub name: String,
    /// mdadm or LVM.
    pub manager: ArrayManager,
    /// Level.
    pub level: Level,
    /// Chunk of mdadm, stripe size of LVM: what goes to one member before the next. Absent for RAID1 and
    /// linear, which have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Bytes>,
    /// Volume groups, single volumes (`data-3`) or other arrays, by name.
    pub members: Vec<String>,
    /// Where it appears: `/dev/md0`, `/dev/vg0/lv0`. Absent takes `/dev/md/NAME` or `/dev/NAME/NAME`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub device: String,
}

/// File systems that `prepare` can make.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[serde(rename_all = "lowercase")]
pub enum FileSystemKind {
    /// XFS.
    #[default]
    Xfs,
    /// ext4.
    Ext4,
    /// ext3, for old set-ups that are to be compared.
    Ext3,
}

impl FileSystemKind {
    /// Its name as `mount` writes it.
    pub fn name(self) -> &'static str {
        match self {
            FileSystemKind::Xfs => "xfs",
            FileSystemKind::Ext4 => "ext4",
            FileSystemKind::Ext3 => "ext3",
        }
    }
}

/// What a file system is for.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Tables and indexes: random I/O.
    Data,
    /// Write-ahead log: sequential, synchronous I/O.
    Wal,
}

impl Role {
    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Role::Data => "data",
            Role::Wal => "wal",
        }
    }
}

/// A file system and how its device is tuned.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields, default)]
pub struct FileSystemSpec {
    /// Array or volume that holds it, by name.
    pub on: String,
    /// Type.
    pub kind: FileSystemKind,
    /// Where it is mounted.
    pub mount: String,
    /// Mount options beside the defaults.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// What for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Read-ahead of its device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_ahead: Option<Bytes>,
    /// I/O scheduler of its disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Requests that may wait at each of its disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nr_requests: Option<u32>,
    /// Directories to make on it, relative to the mount point.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<Directory>,
}

/// A directory to make.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Directory {
    /// Relative to the mount point; no `..`.
    pub path: String,
    /// `user` or `user:group`; empty leaves it to root.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// Octal mode, such as `0700`; empty takes the default.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mode: String,
}

/// Settings of the operating system.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(deny_unknown_fields, default)]
pub struct OsSettings {
    /// `vm.dirty_bytes`: a writer waits above it. A ratio is a share of the memory that may be dirtied,
    /// in whole percents; bytes say what is meant, so they are preferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty_bytes: Option<Bytes>,
    /// `vm.dirty_background_bytes`: writing out begins above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty_background_bytes: Option<Bytes>,
    /// `vm.dirty_ratio`, percent; not together with `dirty_bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty_ratio: Option<u32>,
    /// `vm.dirty_background_ratio`, percent; not together with `dirty_background_bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty_background_ratio: Option<u32>,
    /// `vm.dirty_writeback_centisecs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty_writeback_centisecs: Option<u32>,
    /// `vm.dirty_expire_centisecs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty_expire_centisecs: Option<u32>,
    /// `vm.swappiness`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swappiness: Option<u32>,
    /// `vm.overcommit_memory`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overcommit_memory: Option<u32>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transparent_hugepage: Option<String>,
    /// Open files a process may have (`nofile`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nofile: Option<u64>,
}
