//! What a machine is: the facts that a probe of it finds.
//!
//! The other half of [`Context`](crate::Context): that one says what is meant, this one what is. Facts
//! that could not be read are absent (or empty), never guessed, and [`Probe::notes`] says why.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Version of the probe's shape.
pub const PROBE_VERSION: u32 = 1;

/// Everything a probe found.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct Probe {
    /// [`PROBE_VERSION`].
    pub schema: u32,
    /// When, RFC 3339; empty when nobody said.
    pub taken: String,
    /// The machine and its kernel.
    pub machine: Machine,
    /// Processors.
    pub processor: Processor,
    /// Memory.
    pub memory: Memory,
    /// Kernel settings, by their sysctl name: `vm.dirty_bytes`, `kernel.io_uring_disabled`, ...
    pub sysctl: BTreeMap<String, String>,
    /// Transparent huge pages in use: `always`, `madvise` or `never`; empty when unknown.
    pub transparent_hugepage: String,
    /// What this process may use.
    pub limits: ProcessLimits,
    /// Whose cloud it is in; None when in none that we know, or when not asked.
    pub cloud: Option<Cloud>,
    /// Block devices, by kernel name.
    pub devices: Vec<Device>,
    /// Software RAID.
    pub arrays: Vec<MdArray>,
    /// Logical volumes.
    pub logical_volumes: Vec<LogicalVolume>,
    /// Mounted file systems that lie on block devices.
    pub filesystems: Vec<MountedFileSystem>,
    /// What could not be read, and why.
    pub notes: Vec<String>,
}

/// The machine and its kernel.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct Machine {
    /// Host name.
    pub hostname: String,
    /// `/etc/machine-id`.
    pub machine_id: String,
    /// Changes with every boot.
    pub boot_id: String,
    /// Kernel release.
    pub kernel: String,
    /// `x86_64`, `aarch64`, ...
    pub architecture: String,
    /// Name of the distribution (`PRETTY_NAME`).
    pub distribution: String,
    /// Vendor and product of the hardware, by its firmware's tables.
    pub product: String,
    /// Hypervisor, `kvm`, `xen`, ...; empty on bare metal or when unknown.
    pub hypervisor: String,
    /// Container runtime, `docker`, `podman`, `kubernetes`, `lxc`, `container`; empty outside of one.
    pub container: String,
    /// Clock source in use.
    pub clocksource: String,
    /// Clock sources to choose from.
    pub clocksources: Vec<String>,
}

/// Processors.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct Processor {
    /// Model.
    pub model: String,
    /// Processors that are on.
    pub cpus_online: u32,
    /// Processors that this process may run on.
    pub cpus_allowed: u32,
    /// Frequency governors in use, each once; empty where the hypervisor or the hardware decides.
    pub governors: Vec<String>,
    /// NUMA nodes.
    pub nodes: Vec<NumaNode>,
}

/// One NUMA node.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct NumaNode {
    /// Number.
    pub id: u32,
    /// Its processors, as the kernel lists them: `0-7`.
    pub cpus: String,
    /// Its memory.
    pub memory_bytes: u64,
}

/// Memory.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct Memory {
    /// All of it.
    pub total_bytes: u64,
    /// What new work could take without swapping.
    pub available_bytes: u64,
    /// Waiting to be written.
    pub dirty_bytes: u64,
    /// Being written.
    pub writeback_bytes: u64,
    /// Swap space.
    pub swap_bytes: u64,
}

/// What this process may use: its own limits and those of its control group.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct ProcessLimits {
    /// Memory of the control group; None without a limit.
    pub memory_bytes: Option<u64>,
    /// Processors' worth of time of the control group; None without a limit.
    pub cpus: Option<f64>,
    /// Limits on I/O of the control group, as the kernel writes them: `259:0 riops=3000 ...`.
    pub io: Vec<String>,
    /// Open files (soft).
    pub nofile: Option<u64>,
    /// Memory that may be locked (soft).
    pub memlock_bytes: Option<u64>,
    /// Whether io_uring may be used; None when it was not tried (a captured machine).
    pub io_uring: Option<bool>,
    /// Why it may not.
    pub io_uring_refusal: String,
    /// Whether we are root.
    pub root: bool,
}

/// A cloud's own word on the machine.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct Cloud {
    /// `aws`, `azure` or `gcp`.
    pub provider: String,
    /// `c8gb.2xlarge`, `Standard_DS5_v2`, ...
    pub instance_type: String,
    /// Id.
    pub instance_id: String,
    /// Region.
    pub region: String,
    /// Availability zone.
    pub zone: String,
    /// How we know: `metadata service` or `firmware tables`.
    pub source: String,
}

/// Sort of a block device.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceSort {
    /// A whole disk.
    #[default]
    Disk,
    /// A part of one.
    Partition,
    /// Software RAID.
    Md,
    /// LVM volume.
    Lvm,
    /// Other device mapper: encryption, multipath, delay.
    DeviceMapper,
    /// A file.
    Loop,
    /// Memory.
    Ram,
    /// One path of a multipath NVMe drive; it has no node.
    NvmePath,
}

/// A block device.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct Device {
    /// Kernel name: `nvme1n1`, `md0`, `dm-3`.
    pub name: String,
    /// Device number, `major:minor`; empty for NVMe paths.
    pub number: String,
    /// Sort.
    pub sort: DeviceSort,
    /// Name under `/dev/mapper`, or of the array; empty for others.
    pub label: String,
    /// Model.
    pub model: String,
    /// Serial number, trimmed.
    pub serial: String,
    /// World-wide name: `eui.…`, `naa.…`, `nvme.…`, `uuid.…`.
    pub wwn: String,
    /// `nvme`, `scsi`, `virtio`, `xen`, `mmc`, ...; empty for virtual devices.
    pub transport: String,
    /// EBS volume id, `vol-0123…`, told from the serial of an EBS volume.
    pub ebs_volume_id: String,
    /// Whether its data goes with the instance (EC2 instance store, Azure's temporary disk).
    pub ephemeral: bool,
    /// Size.
    pub size_bytes: u64,
    /// Smallest unit that can be addressed.
    pub logical_block_bytes: u32,
    /// Smallest unit written without reading first.
    pub physical_block_bytes: u32,
    /// Smallest and best sizes of I/O that the device tells of; 0 for none. An array tells its chunk and
    /// its stripe here.
    pub minimum_io_bytes: u64,
    /// See above.
    pub optimal_io_bytes: u64,
    /// Whether it spins.
    pub rotational: Option<bool>,
    /// Whether the kernel refuses writes.
    pub read_only: bool,
    /// Whether its medium can be taken out.
    pub removable: bool,
    /// Scheduler in use.
    pub scheduler: String,
    /// Schedulers to choose from.
    pub schedulers: Vec<String>,
    /// Read-ahead.
    pub read_ahead_bytes: u64,
    /// Requests that may wait.
    pub nr_requests: u32,
    /// Largest request that the kernel sends.
    pub request_bytes_max: u64,
    /// `write back` (volatile cache) or `write through`.
    pub write_cache: String,
    /// NUMA node it hangs on; None when none is told.
    pub numa_node: Option<u32>,
    /// For a partition, its disk.
    pub disk: String,
    /// For a partition, where it starts on its disk.
    pub start_bytes: u64,
    /// Bytes by which its start is off its disk's physical blocks; not 0 is misaligned.
    pub misaligned_bytes: u64,
    /// Devices it is built on, by kernel name.
    pub below: Vec<String>,
    /// Devices built on it, and its partitions.
    pub above: Vec<String>,
    /// Paths of a multipath NVMe drive.
    pub paths: Vec<String>,
    /// What its first bytes say it holds: `xfs`, `ext4`, `LVM2_member`, `linux_raid_member`, `gpt`, ...;
    /// empty for nothing. None when it was not read (no right to, or not asked).
    pub holds: Option<String>,
    /// Where it is mounted, or `[SWAP]`.
    pub mounts: Vec<String>,
}

/// A software RAID array.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct MdArray {
    /// Kernel name.
    pub name: String,
    /// `raid10`, ...; empty while it is not running.
    pub level: String,
    /// Chunk; 0 for levels without.
    pub chunk_bytes: u64,
    /// Layout number as the kernel gives it (RAID10: `258` is near=2).
    pub layout: String,
    /// UUID as mdadm writes it.
    pub uuid: String,
    /// Metadata version.
    pub metadata: String,
    /// Kernel's word: `clean`, `active`, `readonly`, `inactive`, ...
    pub state: String,
    /// Slots.
    pub raid_disks: u32,
    /// Slots without a working member.
    pub degraded: u32,
    /// `[UUUUUUUU]`: a letter a slot, `_` where one is missing.
    pub slots: String,
    /// Members.
    pub members: Vec<MdMember>,
    /// `idle`, `resync`, `recover`, `check`, `repair`, `reshape`, `frozen`.
    pub sync_action: String,
    /// How far that is, 0 to 1; None when idle or not told.
    pub sync_done: Option<f64>,
    /// How fast it goes.
    pub sync_bytes_per_s: Option<u64>,
}

/// A member of an array.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct MdMember {
    /// Kernel name.
    pub device: String,
    /// Slot; None for spares and failed ones.
    pub slot: Option<u32>,
    /// Kernel's word: `in_sync`, `faulty`, `spare`, ...
    pub state: String,
}

/// A logical volume.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct LogicalVolume {
    /// Name.
    pub name: String,
    /// Its volume group.
    pub group: String,
    /// Kernel name, `dm-0`.
    pub device: String,
    /// Size.
    pub size_bytes: u64,
    /// Segments, in order.
    pub segments: Vec<LvmSegment>,
}

/// A segment of a logical volume.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct LvmSegment {
    /// `linear`, `striped`, `raid10`, ...
    pub kind: String,
    /// Stripes.
    pub stripes: u32,
    /// Stripe size; 0 for one stripe.
    pub stripe_bytes: u64,
    /// Size.
    pub size_bytes: u64,
    /// Devices it lies on, by kernel name.
    pub devices: Vec<String>,
}

/// A mounted file system.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct MountedFileSystem {
    /// Mount point.
    pub mount: String,
    /// Kernel name of its device.
    pub device: String,
    /// Type.
    pub kind: String,
    /// Mount options, of the mount and of the file system.
    pub options: String,
    /// UUID; empty when unknown.
    pub uuid: String,
    /// Size.
    pub size_bytes: u64,
    /// Free for everybody.
    pub free_bytes: u64,
    /// Block size; 0 when unknown.
    pub block_bytes: u64,
    /// XFS su, ext4 stride, in bytes; 0 for none, None when unknown.
    pub stripe_unit_bytes: Option<u64>,
    /// XFS su x sw, ext4 stripe width, in bytes.
    pub stripe_width_bytes: Option<u64>,
}

impl Probe {
    /// The device of that kernel name.
    pub fn device(&self, name: &str) -> Option<&Device> {
        self.devices.iter().find(|device| device.name == name)
    }

    /// The file system mounted there.
    pub fn mounted_at(&self, mount: &str) -> Option<&MountedFileSystem> {
        // A later mount hides an earlier one.
        self.filesystems.iter().rev().find(|fs| fs.mount == mount)
    }
}
