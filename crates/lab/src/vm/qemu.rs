//! QEMU's command line, and its process.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use super::Accel;
use super::channel::Channel;
use super::image::Image;
use super::spec::{Flush, VmSpec, VolumeSpec};
use super::transfer::{PARCEL_BYTES, PARCEL_SLOT};
use crate::LabError;
use crate::tool::{self, quoted};

/// The emulator.
pub const PROGRAM: &str = "qemu-system-x86_64";
/// A translated guest that waits for a processor of this machine reads low, however busy its drives are: it
/// goes before other work, where we may say so.
const NICE: &str = "nice -n -10 ";
/// What the guest's kernel is told. No mitigations: they cost a translated guest a third of its speed,
/// and it runs nothing foreign. No moving of the kernel in memory, no checks of clocks that QEMU gives, no
/// serial ports but one: each costs the boot a tenth of a second. The modules not wanted are those that udev
/// loads for the processor's features; they take a second to test themselves.
const KERNEL_LINE: &str = "root=/dev/nvme0n1 rw console=ttyS0 quiet net.ifnames=0 mitigations=off audit=0 \
     apparmor=0 random.trust_cpu=on nokaslr tsc=reliable no_timer_check 8250.nr_uarts=1 raid=noautodetect \
     rcupdate.rcu_expedited=1 modules_load=virtio_pci,virtio_console \
     modprobe.blacklist=aesni_intel,ghash_clmulni_intel,sha512_ssse3,sha256_ssse3,sha1_ssse3,cryptd,\
     crct10dif_pclmul,crc32_pclmul,polyval_clmulni,button,evdev,pcspkr,psmouse,iTCO_wdt,i2c_i801,lpc_ich,\
     kvm,kvm_amd,kvm_intel";

/// The files of a machine.
#[derive(Clone, Debug)]
pub struct Files {
    /// The directory they are in.
    pub dir: PathBuf,
}

impl Files {
    /// The root's changes over the image.
    pub fn overlay(&self) -> PathBuf {
        self.dir.join("root.qcow2")
    }

    /// What the guest printed on its console.
    pub fn console(&self) -> PathBuf {
        self.dir.join("console.log")
    }

    /// A volume's data.
    pub fn volume(&self, volume: &VolumeSpec) -> PathBuf {
        self.dir.join(format!("{}.raw", volume.name))
    }

    /// The drive on which large files travel.
    pub fn parcel(&self) -> PathBuf {
        self.dir.join("parcel.raw")
    }

    /// A program on its way into the guest.
    pub fn program(&self) -> PathBuf {
        self.dir.join("program")
    }

    /// Process id of QEMU.
    pub fn pid(&self) -> PathBuf {
        self.dir.join("qemu.pid")
    }

    fn messages(&self) -> PathBuf {
        self.dir.join("qemu.log")
    }

    /// Makes the disks that are not there yet; those that are keep what is on them.
    pub fn make_disks(&self, spec: &VmSpec, image: &Image) -> Result<(), LabError> {
        if !self.overlay().exists() {
            let mut command = Command::new("qemu-img");
            command.args(["create", "-q", "-f", "qcow2", "-F", "raw", "-b"]).arg(&image.root);
            tool::run(command.arg(self.overlay()))?;
        }
        File::create(self.parcel())
            .and_then(|file| file.set_len(PARCEL_BYTES))
            .map_err(|error| LabError::Failed(format!("{}: {error}", self.parcel().display())))?;
        for volume in &spec.volumes {
            let path = self.volume(volume);
            let failed = |error| LabError::Failed(format!("{}: {error}", path.display()));
            let file = File::options().create(true).append(true).open(&path).map_err(failed)?;
            let size = file.metadata().map_err(failed)?.len();
            match size {
                0 => file.set_len(volume.size_bytes).map_err(failed)?,
                _ if size == volume.size_bytes => {}
                _ => {
                    return Err(LabError::Usage(format!(
                        "{} has {size} bytes, and {} were asked",
                        path.display(),
                        volume.size_bytes
                    )));
                }
            }
        }
        Ok(())
    }
}

/// QEMU's process.
#[derive(Debug)]
pub struct Machine {
    child: Child,
    /// The channel to the guest's agent.
    pub channel: Arc<Channel>,
}

impl Machine {
    /// Switches the machine on. `name` appears in its command line, for the guardian.
    pub fn start(
        spec: &VmSpec,
        accel: Accel,
        image: &Image,
        files: &Files,
        name: &str,
    ) -> Result<Self, LabError> {
        let (ours, guests) =
            UnixStream::pair().map_err(|error| LabError::Failed(format!("a socket: {error}")))?;
        let messages = File::create(files.messages())
            .map_err(|error| LabError::Failed(format!("{}: {error}", files.messages().display())))?;
        // The process id is on disk before QEMU runs, so the guardian can always end it.
        let nice = if accel == Accel::Tcg && tool::is_root() { NICE } else { "" };
        // A shell needs the terminal as QEMU's standard input: the socket then is the next descriptor.
        let input = if spec.has_shell { "exec 3<&0 </dev/tty && " } else { "" };
        let script = format!("echo $$ >{} && {input}exec {nice}{PROGRAM} \"$@\"", quoted(files.pid()));
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh"]).args(arguments(spec, accel, image, files, name)?);
        command.stdin(OwnedFd::from(guests)).stderr(messages);
        if spec.has_shell {
            command.stdout(Stdio::inherit());
        } else {
            // Ctrl-C is for the process that owns the machine.
            command.stdout(Stdio::null()).process_group(0);
        }
        let child = tool::spawn(&mut command)?;
        // The command holds the guest's end of the socket, and would keep it open.
        drop(command);
        Ok(Machine { child, channel: Arc::new(Channel::start(ours)?) })
    }

    /// Cuts the power: QEMU writes nothing more.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// How it ended, waiting for it at most `limit`.
    pub fn wait(&mut self, limit: Duration) -> Result<Option<ExitStatus>, LabError> {
        tool::wait_at_most(&mut self.child, limit)
    }

    /// What QEMU and the guest's console said last.
    pub fn last_words(files: &Files) -> String {
        let mut text = String::new();
        for (who, path) in [("qemu", files.messages()), ("console", files.console())] {
            let said = fs::read(path).unwrap_or_default();
            let said = String::from_utf8_lossy(&said);
            let lines: Vec<&str> = said.lines().collect();
            for line in &lines[lines.len().saturating_sub(15)..] {
                text += &format!("\n  {who}: {line}");
            }
        }
        text
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.kill();
    }
}

fn arguments(
    spec: &VmSpec,
    accel: Accel,
    image: &Image,
    files: &Files,
    name: &str,
) -> Result<Vec<String>, LabError> {
    let mut words: Vec<String> = Vec::new();
    let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
    add("-name", format!("guest={name}"));
    let (accelerator, cpu) = match accel {
        Accel::Kvm => ("kvm", "host"),
        // An old processor: what newer ones add (AVX, its registers at each switch of tasks, five levels of
        // page tables) is slower in software than doing without. Its random numbers are worth having.
        _ => ("tcg,thread=multi", "Nehalem,+rdrand"),
    };
    add("-accel", accelerator.into());
    add("-cpu", cpu.into());
    add("-machine", "q35".into());
    add("-smp", spec.cpus.to_string());
    add("-m", format!("{}M", spec.memory_mib));
    add("-display", "none".into());
    add("-kernel", text(&image.kernel)?);
    let shell = if spec.has_shell { " iobound.shell" } else { "" };
    add("-append", format!("{KERNEL_LINE}{shell}"));
    if spec.has_shell {
        add("-chardev", "stdio,id=console,signal=off".into());
    } else {
        add("-chardev", format!("file,id=console,append=on,path={}", escaped(&files.console())?));
    }
    add("-serial", "chardev:console".into());
    add("-chardev", format!("socket,id=agent,fd={}", if spec.has_shell { 3 } else { 0 }));
    add("-device", "virtio-serial-pci".into());
    add("-device", "virtserialport,chardev=agent,name=iobound.agent".into());
    add("-drive", format!("if=none,id=root,format=qcow2,discard=unmap,file={}", escaped(&files.overlay())?));
    // The kernel numbers NVMe drives as the bus does, so the root is the first.
    add("-device", "nvme,id=nvme-root,drive=root,serial=lab-root".into());
    for (i, volume) in spec.volumes.iter().enumerate() {
        add("-drive", drive(i, volume, files)?);
        add("-device", format!("nvme,id=nvme-{i},drive=volume-{i},serial={}", volume.serial));
    }
    add("-drive", format!("if=none,id=parcel,format=raw,cache=unsafe,file={}", escaped(&files.parcel())?));
    add("-device", format!("nvme,id=nvme-parcel,drive=parcel,serial=lab-parcel,addr={PARCEL_SLOT}"));
    // A reboot ends QEMU, and it is started again with the same disks: nothing of the channel's old
    // stream can meet the new one.
    words.extend(["-nodefaults", "-no-user-config", "-no-reboot"].map(String::from));
    Ok(words)
}

/// A volume: limits at the top, then the write log, then the file.
fn drive(i: usize, volume: &VolumeSpec, files: &Files) -> Result<String, LabError> {
    let mut words = format!("if=none,id=volume-{i},discard=unmap");
    let file = escaped(&files.volume(volume))?;
    match &volume.write_log {
        None => words += &format!(",format=raw,file={file}"),
        // Flushes end at the log: it is what a power cut is judged by, and the host does not lose
        // power. The log's head is written with each entry, so that a killed QEMU leaves a true one.
        Some(log) => {
            let log_path = absolute(log)?;
            let log = escaped(&log_path)?;
            let goes_on = std::fs::metadata(&log_path).is_ok_and(|log| log.len() > 0);
            let head = if goes_on { "log-append=on" } else { "log-sector-size=512" };
            words += &format!(
                ",driver=blklogwrites,{head},log-super-update-interval=1,\
                 file.driver=file,file.filename={file},file.cache.no-flush=on,\
                 log.driver=file,log.filename={log},log.cache.no-flush=on"
            );
        }
    }
    // For the top node: it then passes no flush on, and a write log sees none.
    words += match volume.flush {
        Flush::Honest => ",cache=writeback",
        Flush::Ignored => ",cache=unsafe",
    };
    if let Some(iops) = volume.iops {
        words += &format!(",throttling.iops-total={iops}");
        if let Some(unit) = volume.iops_unit_bytes {
            words += &format!(",throttling.iops-size={unit}");
        }
    }
    if let Some(bytes) = volume.bytes_per_s {
        words += &format!(",throttling.bps-total={bytes}");
    }
    Ok(words)
}

fn absolute(path: &Path) -> Result<PathBuf, LabError> {
    std::path::absolute(path).map_err(|error| LabError::Usage(format!("{}: {error}", path.display())))
}

fn text(path: &Path) -> Result<String, LabError> {
    let text = path.to_str().ok_or_else(|| LabError::Usage(format!("{}: not UTF-8", path.display())))?;
    Ok(text.to_owned())
}

/// A path within an option: QEMU doubles a comma that separates nothing.
fn escaped(path: &Path) -> Result<String, LabError> {
    text(path).map(|text| text.replace(',', ",,"))
}
