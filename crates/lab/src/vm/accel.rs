//! Whether this machine's processor can run a guest.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::Accel;
use super::image;
use crate::{LabError, tool};

/// What the smallest guest answers: `isa-debug-exit` turns a byte b into exit code 2b + 1.
const ANSWER: u8 = 0x10;
const EXIT_CODE: i32 = 2 * ANSWER as i32 + 1;
/// It is five instructions; a host that needs longer does not run them.
const PROBE_LIMIT: Duration = Duration::from_secs(5);

/// The accelerator that will be used: never [`Accel::Auto`].
pub fn choose(wanted: Accel) -> Result<Accel, LabError> {
    let wanted = match std::env::var("IOBOUND_LAB_ACCEL") {
        Ok(word) if word == "kvm" => Accel::Kvm,
        Ok(word) if word == "tcg" => Accel::Tcg,
        Ok(word) if word == "auto" || word.is_empty() => Accel::Auto,
        Ok(word) => {
            return Err(LabError::Usage(format!("IOBOUND_LAB_ACCEL={word}: none of auto, kvm, tcg")));
        }
        Err(_) => wanted,
    };
    match wanted {
        Accel::Auto if works()? => Ok(Accel::Kvm),
        Accel::Auto => Ok(Accel::Tcg),
        chosen => Ok(chosen),
    }
}

/// Remembers that a Linux guest did not come up under KVM, although the probe's did.
pub fn distrust() {
    let _ =
        verdict_file().and_then(|file| fs::write(file, "no").map_err(|_| LabError::Failed(String::new())));
}

/// The verdict holds until this machine boots again.
fn verdict_file() -> Result<std::path::PathBuf, LabError> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    Ok(image::cache_dir()?.join(format!("kvm-{}", boot.trim())))
}

/// Whether KVM runs instructions here. `/dev/kvm` alone says too little: inside another virtual
/// machine it may be there and still hang or abort.
fn works() -> Result<bool, LabError> {
    if File::options().read(true).write(true).open("/dev/kvm").is_err() {
        return Ok(false);
    }
    let remembered = verdict_file()?;
    if let Ok(verdict) = fs::read_to_string(&remembered) {
        return Ok(verdict == "yes");
    }
    let verdict = probe()?;
    if !verdict {
        eprintln!("lab: /dev/kvm is there and does not run a guest; using QEMU's translator (slower)");
    }
    fs::write(&remembered, if verdict { "yes" } else { "no" })
        .map_err(|error| LabError::Failed(format!("{}: {error}", remembered.display())))?;
    Ok(verdict)
}

/// Runs the smallest guest: firmware that writes one byte to a port.
fn probe() -> Result<bool, LabError> {
    let mut firmware = vec![0xF4; 65536];
    // At the reset vector: mov al, ANSWER; out 0xf4, al; hlt
    firmware[0xFFF0..0xFFF5].copy_from_slice(&[0xB0, ANSWER, 0xE6, 0xF4, 0xF4]);
    let path = image::cache_dir()?.join(format!("probe-{}", std::process::id()));
    fs::write(&path, firmware).map_err(|error| LabError::Failed(format!("{}: {error}", path.display())))?;
    let ended = run_probe(&path);
    let _ = fs::remove_file(&path);
    ended
}

fn run_probe(firmware: &Path) -> Result<bool, LabError> {
    let mut command = Command::new(super::qemu::PROGRAM);
    command
        .args(["-accel", "kvm", "-cpu", "host", "-m", "16", "-nodefaults", "-no-user-config"])
        .args(["-display", "none", "-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-bios"])
        .arg(firmware)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = tool::spawn(&mut command)?;
    let ended = tool::wait_at_most(&mut child, PROBE_LIMIT)?;
    if ended.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    Ok(ended.is_some_and(|status| status.code() == Some(EXIT_CODE)))
}
