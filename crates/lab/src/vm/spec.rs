//! What a virtual machine is to have.

use std::path::PathBuf;
use std::time::Duration;

use crate::LabError;

/// Drives beside the root that the machine's bus has room for.
pub const VOLUMES_MAX: usize = 24;
/// The kernel and systemd want this much.
const MEMORY_MIN_MIB: u32 = 256;
const MEMORY_DEFAULT_MIB: u32 = 1024;
const CPUS_DEFAULT: u32 = 2;
/// QEMU's NVMe drive cuts a serial number off after this many characters.
const SERIAL_LENGTH_MAX: usize = 20;
/// The smallest volume: a file system's minimum is above it, and a size of 0 is a mistake.
const SIZE_MIN: u64 = 1 << 20;
/// Nothing is written there until the guest writes; more than this is a slip of the unit.
const SIZE_MAX: u64 = 64 << 40;
/// QEMU refuses limits above 10^15, and then says little.
const LIMIT_MAX: u64 = 1_000_000_000_000_000;

/// What a drive does when the guest asks it to flush.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flush {
    /// Everything written before is safe once the flush is answered; a write log gets its mark.
    #[default]
    Honest,
    /// Answers at once and does nothing, as a drive with a lying cache does; no mark in a write log.
    Ignored,
}

/// Who runs the guest's instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accel {
    /// The processor where `/dev/kvm` works, else QEMU's translator.
    #[default]
    Auto,
    /// The processor (KVM), or it fails.
    Kvm,
    /// QEMU's translator (TCG): everywhere, and 5 to 20 times slower at computing.
    Tcg,
}

/// One NVMe drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeSpec {
    /// Its name: of its file, and of its `/dev/mapper` node where it has a delay.
    pub name: String,
    /// Its serial number: in the guest, `/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_<serial>`.
    pub serial: String,
    /// Bytes; a sparse file on the host.
    pub size_bytes: u64,
    /// Operations per second, reads and writes together.
    pub iops: Option<u64>,
    /// Bytes per second, reads and writes together.
    pub bytes_per_s: Option<u64>,
    /// With `iops`: an operation counts once for each of these that it begins (gp3: 256 KiB).
    pub iops_unit_bytes: Option<u64>,
    /// What a flush does.
    pub flush: Flush,
    /// A log of all writes, discards and flushes, in the format of the kernel's dm-log-writes.
    pub write_log: Option<PathBuf>,
    /// Milliseconds that device-mapper's delay target adds to each operation, and up to two ticks of the
    /// guest's clock (4 ms each) more; the volume to use is then `/dev/mapper/<name>`.
    pub delay_ms: Option<u32>,
}

impl VolumeSpec {
    /// An honest drive without limits whose serial number is its name.
    pub fn new(name: impl Into<String>, size_bytes: u64) -> Self {
        let name = name.into();
        VolumeSpec {
            serial: name.clone(),
            name,
            size_bytes,
            iops: None,
            bytes_per_s: None,
            iops_unit_bytes: None,
            flush: Flush::Honest,
            write_log: None,
            delay_ms: None,
        }
    }

    /// Sets the serial number.
    pub fn serial(mut self, serial: impl Into<String>) -> Self {
        self.serial = serial.into();
        self
    }

    /// Limits operations per second.
    pub fn iops(mut self, iops: u64) -> Self {
        self.iops = Some(iops);
        self
    }

    /// Limits bytes per second.
    pub fn bytes_per_s(mut self, bytes: u64) -> Self {
        self.bytes_per_s = Some(bytes);
        self
    }

    /// Sets what a flush does.
    pub fn flush(mut self, flush: Flush) -> Self {
        self.flush = flush;
        self
    }

    /// Logs writes and flushes to this file; see [`VolumeSpec::write_log`](Self#structfield.write_log).
    pub fn write_log(mut self, path: impl Into<PathBuf>) -> Self {
        self.write_log = Some(path.into());
        self
    }

    /// Adds a delay to each operation.
    pub fn delay_ms(mut self, delay: u32) -> Self {
        self.delay_ms = Some(delay);
        self
    }

    /// The drive as the guest's udev names it.
    pub fn device(&self) -> String {
        match self.delay_ms {
            Some(_) => format!("/dev/mapper/{}", self.name),
            None => self.drive(),
        }
    }

    /// The NVMe drive itself, below a delay.
    pub(super) fn drive(&self) -> String {
        format!("/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_{}", self.serial)
    }

    fn check(&self) -> Result<(), String> {
        let is_word = |text: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        };
        if !is_word(&self.name) {
            return Err(format!("'{}' is no name: letters, digits, - and _", self.name));
        }
        if !is_word(&self.serial) || self.serial.len() > SERIAL_LENGTH_MAX {
            return Err(format!(
                "'{}' is no serial number: up to {SERIAL_LENGTH_MAX} letters, digits, - and _",
                self.serial
            ));
        }
        if !(SIZE_MIN..=SIZE_MAX).contains(&self.size_bytes) || !self.size_bytes.is_multiple_of(512) {
            return Err(format!(
                "{} bytes is no size for a volume: 1 MiB to 64 TiB, in sectors of 512 bytes",
                self.size_bytes
            ));
        }
        for limit in [self.iops, self.bytes_per_s, self.iops_unit_bytes].into_iter().flatten() {
            if !(1..=LIMIT_MAX).contains(&limit) {
                return Err(format!("a limit of {limit}: 1 to {LIMIT_MAX}"));
            }
        }
        Ok(())
    }
}

/// A virtual machine: two processors, 1 GiB and no volume unless said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmSpec {
    /// Drives beside the root, in the order of the bus.
    pub volumes: Vec<VolumeSpec>,
    /// Memory.
    pub memory_mib: u32,
    /// Processors.
    pub cpus: u32,
    /// Who runs the guest's instructions; `IOBOUND_LAB_ACCEL=kvm|tcg` wins.
    pub accel: Accel,
    /// How long a boot may take.
    pub boot_limit: Duration,
    /// A shell on the serial console, on this process's terminal.
    pub(super) has_shell: bool,
}

impl Default for VmSpec {
    fn default() -> Self {
        VmSpec {
            volumes: Vec::new(),
            memory_mib: MEMORY_DEFAULT_MIB,
            cpus: CPUS_DEFAULT,
            accel: Accel::Auto,
            boot_limit: Duration::from_secs(180),
            has_shell: false,
        }
    }
}

impl VmSpec {
    /// As [`default`](Self::default).
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a volume.
    pub fn volume(mut self, volume: VolumeSpec) -> Self {
        self.volumes.push(volume);
        self
    }

    /// Adds `count` volumes like `one`, named and numbered `<name>0`, `<name>1`, ...
    pub fn volumes(mut self, count: usize, one: &VolumeSpec) -> Self {
        for i in 0..count {
            let mut volume = one.clone();
            volume.name = format!("{}{i}", one.name);
            volume.serial = format!("{}{i}", one.serial);
            self.volumes.push(volume);
        }
        self
    }

    /// Sets the memory.
    pub fn memory_mib(mut self, mib: u32) -> Self {
        self.memory_mib = mib;
        self
    }

    /// Sets the number of processors.
    pub fn cpus(mut self, cpus: u32) -> Self {
        self.cpus = cpus;
        self
    }

    /// Puts a shell of the guest on this process's terminal.
    pub fn with_shell(mut self) -> Self {
        self.has_shell = true;
        self
    }

    /// Chooses who runs the guest's instructions.
    pub fn accel(mut self, accel: Accel) -> Self {
        self.accel = accel;
        self
    }

    /// Whether it can be built.
    ///
    /// # Errors
    /// [`LabError::Usage`] with what is wrong.
    pub fn check(&self) -> Result<(), LabError> {
        let usage = |words: String| Err(LabError::Usage(words));
        if self.volumes.len() > VOLUMES_MAX {
            return usage(format!("{} volumes: up to {VOLUMES_MAX} fit the bus", self.volumes.len()));
        }
        if self.memory_mib < MEMORY_MIN_MIB {
            return usage(format!(
                "{} MiB of memory: the guest needs {MEMORY_MIN_MIB} at least",
                self.memory_mib
            ));
        }
        if !(1..=64).contains(&self.cpus) {
            return usage(format!("{} processors: 1 to 64", self.cpus));
        }
        for (i, volume) in self.volumes.iter().enumerate() {
            volume.check().or_else(|words| usage(format!("volume {}: {words}", volume.name)))?;
            let earlier = &self.volumes[..i];
            if earlier.iter().any(|other| other.name == volume.name || other.serial == volume.serial) {
                return usage(format!("two volumes are named {} or have its serial number", volume.name));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(spec: &VmSpec) -> String {
        spec.check().unwrap_err().to_string()
    }

    #[test]
    fn a_sound_machine_passes() {
        let volume = VolumeSpec::new("data", 1 << 30).iops(300).bytes_per_s(12 << 20).delay_ms(2);
        assert_eq!(volume.device(), "/dev/mapper/data");
        let spec = VmSpec::new().volumes(16, &volume).volume(VolumeSpec::new("wal", 1 << 30));
        spec.check().unwrap();
        assert_eq!(spec.volumes[15].serial, "data15");
        assert_eq!(spec.volumes[16].device(), "/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_wal");
    }

    #[test]
    fn what_cannot_be_built_is_refused() {
        let with = |volume: VolumeSpec| VmSpec::new().volume(volume);
        let gib = 1 << 30;
        assert!(words(&with(VolumeSpec::new("a b", gib))).contains("no name"));
        assert!(words(&with(VolumeSpec::new("a", 0))).contains("no size"));
        assert!(words(&with(VolumeSpec::new("a", 1 << 50))).contains("no size"));
        assert!(words(&with(VolumeSpec::new("a", gib).iops(0))).contains("limit of 0"));
        assert!(words(&with(VolumeSpec::new("a", gib).serial("x".repeat(21)))).contains("serial"));
        let twice = with(VolumeSpec::new("a", gib)).volume(VolumeSpec::new("a", gib));
        assert!(words(&twice).contains("two volumes"));
        assert!(words(&VmSpec::new().volumes(25, &VolumeSpec::new("a", gib))).contains("25 volumes"));
        assert!(words(&VmSpec::new().memory_mib(16)).contains("memory"));
        assert!(words(&VmSpec::new().cpus(0)).contains("processors"));
    }
}
