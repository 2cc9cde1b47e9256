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
        let script = format!(
            "mkdir -p \"$(dirname {target})\" && rm -f {target} && cat >{target} && chmod {mode:o} {target}"
        );
        self.send(File::open(host).map_err(failed)?, &script)
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
