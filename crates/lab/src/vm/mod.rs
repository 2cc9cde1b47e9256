//! A virtual machine with real mdadm, LVM, XFS, udev, sysctl and reboots, and with NVMe drives whose
//! limits are known. Nothing it does touches this machine's own disks.
//!
//! ```no_run
//! # fn main() -> Result<(), iobound_lab::LabError> {
//! use iobound_lab::vm::{GuestCommand, Vm, VmSpec, VolumeSpec};
//!
//! // Eight drives at a tenth of gp3: vol0 ... vol7.
//! let drive = VolumeSpec::new("vol", 1 << 30).iops(300).bytes_per_s(12_800 << 10);
//! let vm = Vm::boot(VmSpec::new().volumes(8, &drive))?;
//! vm.push("target/debug/iobound".as_ref(), "/usr/local/bin/iobound")?;
//!
//! let output = vm.run("lsblk --nodeps --noheadings | wc -l")?;   // code, stdout, stderr
//! assert_eq!(output.stdout.trim(), "9");                         // the root is one more
//! vm.check("sysctl -w vm.swappiness=1")?;                        // an error unless its code is 0
//! vm.run(GuestCommand::program(["tee", "/etc/sysctl.d/90-lab.conf"]).stdin("vm.swappiness = 1\n"))?;
//!
//! vm.reboot()?;                                                  // clean; disks keep what they have
//! vm.power_cut()?;                                               // SIGKILL: nothing is flushed
//! vm.start_again()?;
//! vm.pull("/etc/sysctl.d", "there".as_ref())?;
//! # Ok(()) }
//! ```
//!
//! - **State** lives in a directory: the root's changes over the pristine image (qcow2), one sparse file
//!   a volume. [`Vm::boot`] takes a temporary one, removed when the `Vm` is dropped or its process is
//!   killed; [`Vm::boot_in`] takes yours, and starts from what is there.
//! - **The image** is Debian bookworm with systemd, its cloud kernel, mdadm, LVM, xfsprogs and fio, built
//!   once (see [`Image::ensure`]) by debootstrap, as root. Running machines needs no root.
//! - **Commands** go to an agent over a virtio-serial port; there is no network. Many may run at once
//!   ([`Vm::start`]). The agent is up early; `boot` returns once systemd has finished booting.
//! - **Files** above 4 MiB travel on a drive that the guest sees only meanwhile (PCI slot 1e).
//! - **Drives** are `/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_<serial>` ([`VolumeSpec::device`]);
//!   `/dev/nvme0n1` is the root, volumes follow in order. To pull one out in mid-flight:
//!   `echo 1 > /sys/block/nvme3n1/device/device/remove`.
//! - **A write log** ([`VolumeSpec::write_log`](VolumeSpec#structfield.write_log)) has every write in
//!   the order in which the drive took it, and a mark for each flush (QEMU's `blklogwrites`, the format
//!   of dm-log-writes). With [`Flush::Ignored`] the topmost block node has `no-flush` set: the drive
//!   answers flushes, and neither the log nor the file gets one.
//! - **Power cut** kills QEMU, not this machine: what QEMU had written stays, flushed or not. What a
//!   drive with a volatile cache would have lost is to be worked out from the write log.
//! - **Limits** hold reads and writes together, in QEMU, above the log.

mod accel;
mod channel;
mod command;
mod image;
mod qemu;
mod spec;
mod transfer;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use channel::{Event, Running};
pub use command::{GuestCommand, Output};
pub use image::{Image, cache_dir};
pub use spec::{Accel, Flush, VOLUMES_MAX, VmSpec, VolumeSpec};

use crate::guardian::Guardian;
use crate::tool::{self, quoted};
use crate::{LabError, reap, unique_name};
use channel::Channel;
use command::collect;
use qemu::{Files, Machine};

/// A Linux guest that has not come up under KVM in this time never does.
const KVM_BOOT_LIMIT: Duration = Duration::from_secs(40);
/// A clean shutdown, translated, on a busy machine.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(120);

/// A virtual machine. Dropping it cuts its power; a temporary directory goes with it.
#[derive(Debug)]
pub struct Vm {
    // Fields drop in this order: the machine, then its directory by the guardian.
    machine: Mutex<Option<Machine>>,
    spec: VmSpec,
    accel: Mutex<Accel>,
    image: Image,
    files: Files,
    name: String,
    /// One parcel at a time.
    parcel: Mutex<()>,
    _in_use: File,
    _guardian: Guardian,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Vm {
    /// Boots a machine whose state is temporary.
    ///
    /// # Errors
    /// Skip when this host lacks QEMU or the image cannot be built here; Usage when the machine asked
    /// for cannot be; Failed or TimedOut when it does not come up.
    pub fn boot(spec: VmSpec) -> Result<Vm, LabError> {
        let dir = std::env::temp_dir().join(format!("{}.vm", unique_name()));
        Self::boot_at(spec, &dir, true)
    }

    /// Boots a machine whose state is in `dir`, made if need be, and stays there.
    ///
    /// # Errors
    /// As [`boot`](Self::boot); Usage when another machine uses `dir`.
    pub fn boot_in(spec: VmSpec, dir: &Path) -> Result<Vm, LabError> {
        let dir = std::path::absolute(dir)
            .map_err(|error| LabError::Usage(format!("{}: {error}", dir.display())))?;
        Self::boot_at(spec, &dir, false)
    }

    fn boot_at(spec: VmSpec, dir: &Path, is_temporary: bool) -> Result<Vm, LabError> {
        spec.check()?;
        tool::need_programs(&[(qemu::PROGRAM, "qemu-system-x86"), ("qemu-img", "qemu-utils")])?;
        let image = Image::ensure()?;
        let accel = accel::choose(spec.accel)?;
        reap();
        let mut guardian = Guardian::start()?;
        if is_temporary {
            guardian.undo(&format!("rm -rf {}", quoted(dir)))?;
        }
        let failed = |error| LabError::Failed(format!("{}: {error}", dir.display()));
        fs::create_dir_all(dir).map_err(failed)?;
        let in_use = File::create(dir.join("lock")).map_err(failed)?;
        if in_use.try_lock().is_err() {
            return Err(LabError::Usage(format!("{}: another machine uses it", dir.display())));
        }
        let files = Files { dir: dir.to_owned() };
        let name = unique_name();
        guardian.undo(&tool::kill_line(&files.pid(), &name))?;
        files.make_disks(&spec, &image)?;
        let vm = Vm {
            machine: Mutex::new(None),
            spec,
            accel: Mutex::new(accel),
            image,
            files,
            name,
            parcel: Mutex::new(()),
            _in_use: in_use,
            _guardian: guardian,
        };
        vm.start_again()?;
        Ok(vm)
    }

    /// What it was made from.
    pub fn spec(&self) -> &VmSpec {
        &self.spec
    }

    /// Where its state is.
    pub fn dir(&self) -> &Path {
        &self.files.dir
    }

    /// A volume's data on the host. Not to be written while the machine is up.
    pub fn volume_file(&self, volume: &VolumeSpec) -> PathBuf {
        self.files.volume(volume)
    }

    /// Who runs its instructions: KVM or TCG.
    pub fn accel(&self) -> Accel {
        *locked(&self.accel)
    }

    /// Whether it is up. A guest that powered itself off, or rebooted, is not.
    pub fn is_up(&self) -> bool {
        let mut machine = locked(&self.machine);
        machine.as_mut().is_some_and(|machine| matches!(machine.wait(Duration::ZERO), Ok(None)))
    }

    /// Switches it on again, after [`power_cut`](Self::power_cut) or when the guest went down by itself,
    /// and waits until it is up.
    ///
    /// # Errors
    /// As [`boot`](Self::boot); Usage when it is up.
    pub fn start_again(&self) -> Result<(), LabError> {
        if self.is_up() {
            return Err(LabError::Usage("the virtual machine is up already".into()));
        }
        for volume in &self.spec.volumes {
            prepare_log(volume)?;
        }
        let accel = self.accel();
        let is_free_to_choose =
            self.spec.accel == Accel::Auto && std::env::var_os("IOBOUND_LAB_ACCEL").is_none();
        if accel == Accel::Kvm && is_free_to_choose {
            match self.switch_on(accel, KVM_BOOT_LIMIT) {
                Err(LabError::TimedOut(_) | LabError::Failed(_)) => {
                    eprintln!("lab: the guest did not come up under KVM; using QEMU's translator (slower)");
                    accel::distrust();
                    *locked(&self.accel) = Accel::Tcg;
                }
                other => return other.and_then(|()| self.finish_boot()),
            }
        }
        self.switch_on(self.accel(), self.spec.boot_limit)?;
        self.finish_boot()
    }

    /// Starts QEMU and waits for the guest's agent.
    fn switch_on(&self, accel: Accel, limit: Duration) -> Result<(), LabError> {
        *locked(&self.machine) = None;
        let mut machine = Machine::start(&self.spec, accel, &self.image, &self.files, &self.name)?;
        let said = match machine.channel.hello(limit) {
            Ok(Some(_)) => {
                *locked(&self.machine) = Some(machine);
                return Ok(());
            }
            Ok(None) => LabError::TimedOut(format!(
                "the virtual machine did not come up in {limit:?}{}",
                Machine::last_words(&self.files)
            )),
            Err(_) => {
                machine.kill();
                LabError::Failed(format!("QEMU ended at once{}", Machine::last_words(&self.files)))
            }
        };
        Err(said)
    }

    /// Waits for systemd and udev, then makes the delays.
    fn finish_boot(&self) -> Result<(), LabError> {
        // systemd does not wait for udev, and devices get their links and arrays their members there.
        let script = format!("systemctl is-system-running --wait; {}", transfer::hide_parcel());
        let wait = GuestCommand::shell(script).time_limit(self.spec.boot_limit);
        let Output { code, stdout: state, stderr } = self.run(wait)?;
        // "degraded": a unit failed, which may be what a test is about.
        if code != 0 || !matches!(state.trim(), "running" | "degraded") {
            return Err(LabError::Failed(format!(
                "the guest's boot ended in '{}' {}{}",
                state.trim(),
                stderr.trim(),
                Machine::last_words(&self.files)
            )));
        }
        for volume in &self.spec.volumes {
            if let Some(delay) = volume.delay_ms {
                self.check(&format!(
                    "modprobe dm-delay && dmsetup create {name} --table \"0 {sectors} delay {drive} 0 {delay}\"",
                    name = volume.name,
                    sectors = volume.size_bytes / 512,
                    drive = volume.drive(),
                ))?;
            }
        }
        Ok(())
    }

    fn channel(&self) -> Result<Arc<Channel>, LabError> {
        let machine = locked(&self.machine);
        let machine = machine.as_ref().ok_or_else(|| LabError::Down("the virtual machine is off".into()))?;
        Ok(Arc::clone(&machine.channel))
    }

    /// Starts a command, to be followed by its events.
    ///
    /// # Errors
    /// Down when the machine is.
    pub fn start(&self, command: &GuestCommand) -> Result<Running, LabError> {
        self.channel()?.run(&command.words)
    }

    /// Runs a command to its end: a text for `sh -c`, or a [`GuestCommand`].
    ///
    /// # Errors
    /// Failed when it cannot be started, TimedOut when its time is over (it is killed then), Down when
    /// the machine goes down.
    pub fn run(&self, command: impl Into<GuestCommand>) -> Result<Output, LabError> {
        let command = command.into();
        let deadline = Instant::now() + command.limit;
        let running = self.start(&command)?;
        if let Some(input) = &command.stdin {
            running.write_stdin(input)?;
        }
        running.close_stdin()?;
        match collect(&running, Some(deadline), &command.to_string()) {
            Err(LabError::TimedOut(words)) => {
                let _ = running.signal("KILL");
                Err(LabError::TimedOut(words))
            }
            ended => ended,
        }
    }

    /// Runs a shell command that must succeed, and returns its standard output.
    ///
    /// # Errors
    /// As [`run`](Self::run); Failed, with what it said, when its exit code is not 0.
    pub fn check(&self, script: &str) -> Result<String, LabError> {
        self.run(script)?.expect_success(script)
    }

    /// Reboots the guest cleanly and waits until it is up.
    ///
    /// # Errors
    /// TimedOut when it does not go down; else as [`start_again`](Self::start_again).
    pub fn reboot(&self) -> Result<(), LabError> {
        self.shut_down("reboot")?;
        self.start_again()
    }

    /// Switches the guest off cleanly.
    ///
    /// # Errors
    /// TimedOut when it does not go down.
    pub fn power_off(&self) -> Result<(), LabError> {
        self.shut_down("poweroff")
    }

    fn shut_down(&self, how: &str) -> Result<(), LabError> {
        // Its end may come before its answer.
        let asked = self.start(&GuestCommand::program(["systemctl", "--no-block", how]))?;
        self.wait_down(SHUTDOWN_LIMIT)?;
        drop(asked);
        Ok(())
    }

    /// Waits for a guest that goes down by itself, whether it reboots or powers off.
    ///
    /// # Errors
    /// TimedOut when it does not.
    pub fn wait_down(&self, limit: Duration) -> Result<(), LabError> {
        let mut machine = locked(&self.machine);
        let Some(running) = machine.as_mut() else { return Ok(()) };
        if running.wait(limit)?.is_none() {
            let words = Machine::last_words(&self.files);
            return Err(LabError::TimedOut(format!("the guest did not go down in {limit:?}{words}")));
        }
        *machine = None;
        Ok(())
    }

    /// Cuts the power: QEMU is killed where it stands. Commands that run end with [`LabError::Down`].
    ///
    /// # Errors
    /// None at present.
    pub fn power_cut(&self) -> Result<(), LabError> {
        *locked(&self.machine) = None;
        Ok(())
    }
}

/// QEMU appends to a log that has a head, and makes none where there is no file.
fn prepare_log(volume: &VolumeSpec) -> Result<(), LabError> {
    let Some(log) = &volume.write_log else { return Ok(()) };
    File::options()
        .create(true)
        .append(true)
        .open(log)
        .map(drop)
        .map_err(|error| LabError::Usage(format!("write log {}: {error}", log.display())))
}
