//! Files to and from the guest, as streams of a command.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::channel::Event;
use super::{GuestCommand, Vm};
use crate::LabError;
use crate::tool::{self, quoted};

/// Files above this go by the parcel drive: the port moves a page at a time, 5 to 10 MiB/s translated.
const PORT_MAX: u64 = 4 << 20;
/// Size of the parcel drive; a sparse file on the host.
pub(super) const PARCEL_BYTES: u64 = 8 << 30;
/// Where on the guest's bus the parcel drive is: behind all others, so that it shifts no name.
pub(super) const PARCEL_SLOT: &str = "1e.0";

/// Takes the parcel drive away from the guest's kernel: it shows only while a parcel is under way.
pub(super) fn hide_parcel() -> String {
    format!("echo 0000:00:{PARCEL_SLOT} >/sys/bus/pci/drivers/nvme/unbind && udevadm settle")
}

/// How long one transfer may take.
const LIMIT: Duration = Duration::from_secs(600);

impl Vm {
    /// Copies a file, with its mode, or a directory to `guest`; directories above it are made. A
    /// directory's contents join those of one that is already there.
    ///
    /// # Errors
    /// When either side cannot read or write it.
    pub fn push(&self, host: &Path, guest: &str) -> Result<(), LabError> {
        let failed = |error| LabError::Failed(format!("{}: {error}", host.display()));
        let metadata = fs::metadata(host).map_err(failed)?;
        let target = quoted(guest);
        if metadata.is_dir() {
            let mut command = Command::new("tar");
            command.arg("-C").arg(host).args(["-cf", "-", "."]).stdout(Stdio::piped());
            let mut tar = tool::spawn(&mut command)?;
            let stream = tar.stdout.take().ok_or_else(|| LabError::Failed("tar has no output".into()))?;
            let sent = self.send(stream, &format!("mkdir -p {target} && tar -C {target} -xf -"));
            let status = tar.wait().map_err(failed)?;
            sent?;
            return match status.success() {
                true => Ok(()),
                false => Err(LabError::Failed(format!("tar of {}: {status}", host.display()))),
            };
        }
        use std::os::unix::fs::PermissionsExt;
        let mode = metadata.permissions().mode() & 0o7777;
        let script = |take: &str| {
            format!("mkdir -p \"$(dirname {target})\" && rm -f {target} && {take} && chmod {mode:o} {target}")
        };
        match metadata.len() {
            length if length > PARCEL_BYTES => {
                Err(LabError::Usage(format!("{}: more than 8 GiB do not fit the parcel", host.display())))
            }
            length if length > PORT_MAX => {
                let pieces = length.div_ceil(1 << 20);
                let take = format!(
                    "dd if=\"$drive\" of={target} bs=1M iflag=direct count={pieces} status=none && \
                     truncate -s {length} {target}"
                );
                self.send_parcel(host, &script(&take))
            }
            _ => self.send(File::open(host).map_err(failed)?, &script(&format!("cat >{target}"))),
        }
    }

    /// Copies a program as a file, without its debug information where this host can take that away: what
    /// a test links is mostly that, and a translated guest takes seconds to read it.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_program(&self, host: &Path, guest: &str) -> Result<(), LabError> {
        let stripped = self.files.program();
        let mut command = Command::new("strip");
        command.arg("--strip-debug").arg("-o").arg(&stripped).arg(host);
        if tool::run(&mut command).is_err() {
            return self.push(host, guest);
        }
        let pushed = self.push(&stripped, guest);
        let _ = fs::remove_file(&stripped);
        pushed
    }

    /// The file's bytes on a drive that the guest reads directly, past its cache.
    fn send_parcel(&self, host: &Path, take: &str) -> Result<(), LabError> {
        let failed = |error| LabError::Failed(format!("{}: {error}", host.display()));
        let parcel = super::locked(&self.parcel);
        let path = self.files.parcel();
        let mut drive = File::options().write(true).open(&path).map_err(failed)?;
        std::io::copy(&mut File::open(host).map_err(failed)?, &mut drive).map_err(failed)?;
        let done = self.check(&format!(
            "set -e; echo 0000:00:{PARCEL_SLOT} >/sys/bus/pci/drivers/nvme/bind; \
             for i in $(seq 300); do drive=$(echo /sys/bus/pci/devices/0000:00:{PARCEL_SLOT}/nvme/*/nvme*n1); \
             drive=/dev/${{drive##*/}}; [ -b \"$drive\" ] && break; sleep 0.05; done; {take}; {}",
            hide_parcel()
        ));
        // Its space is free again; the drive keeps its size.
        drive.set_len(0).and_then(|()| drive.set_len(PARCEL_BYTES)).map_err(failed)?;
        drop(parcel);
        done.map(drop)
    }

    fn send(&self, mut from: impl Read, script: &str) -> Result<(), LabError> {
        let running = self.start(&GuestCommand::shell(script))?;
        let mut buffer = vec![0; 256 << 10];
        loop {
            let got = from.read(&mut buffer).map_err(|error| LabError::Failed(error.to_string()))?;
            if got == 0 {
                break;
            }
            running.write_stdin(&buffer[..got])?;
        }
        running.close_stdin()?;
        super::collect(&running, Some(Instant::now() + LIMIT), script)?.expect_success(script).map(drop)
    }

    /// Copies the guest's file or directory to `host`.
    ///
    /// # Errors
    /// When either side cannot read or write it.
    pub fn pull(&self, guest: &str, host: &Path) -> Result<(), LabError> {
        let failed = |error| LabError::Failed(format!("{}: {error}", host.display()));
        let source = quoted(guest);
        let is_dir = self.run(format!("test -d {source}").as_str())?.code == 0;
        if is_dir {
            fs::create_dir_all(host).map_err(failed)?;
            let mut command = Command::new("tar");
            let mut tar = tool::spawn(command.arg("-C").arg(host).args(["-xf", "-"]).stdin(Stdio::piped()))?;
            let stream = tar.stdin.take().ok_or_else(|| LabError::Failed("tar has no input".into()))?;
            let received = self.receive(&format!("tar -C {source} -cf - ."), stream);
            let status = tar.wait().map_err(failed)?;
            received?;
            return match status.success() {
                true => Ok(()),
                false => Err(LabError::Failed(format!("tar into {}: {status}", host.display()))),
            };
        }
        if let Some(parent) = host.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        self.receive(&format!("cat {source}"), File::create(host).map_err(failed)?)
    }

    fn receive(&self, script: &str, mut to: impl Write) -> Result<(), LabError> {
        let running = self.start(&GuestCommand::shell(script))?;
        running.close_stdin()?;
        let deadline = Instant::now() + LIMIT;
        let mut stderr = Vec::new();
        loop {
            match running.next_event(Some(deadline))? {
                Some(Event::Stdout(bytes)) => {
                    to.write_all(&bytes).map_err(|error| LabError::Failed(error.to_string()))?;
                }
                Some(Event::Stderr(bytes)) => stderr.extend(bytes),
                Some(Event::Ended(0)) => return Ok(()),
                Some(Event::Ended(code)) => {
                    let said = String::from_utf8_lossy(&stderr);
                    return Err(LabError::Failed(format!("{script}: code {code}: {}", said.trim())));
                }
                None => return Err(LabError::TimedOut(format!("{script}: not done in {LIMIT:?}"))),
            }
        }
    }
}
