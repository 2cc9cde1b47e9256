//! A drive with a volatile cache, as a file.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::cut::PowerCut;
use super::parse::WriteLog;
use crate::guardian::Guardian;
use crate::tool::{self, quoted};
use crate::{LabError, reap, unique_name};

/// How long the daemon may take to show the drive.
const PATIENCE: Duration = Duration::from_secs(20);

/// How a drive answers a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drive {
    /// By writing its cache back.
    Honest,
    /// By saying that it did.
    IgnoresFlush,
}

/// A drive, whose every write and flush is logged, until its power is cut.
#[derive(Debug)]
pub struct VolatileDrive {
    /// The files' common name, to which an extension is added: `reap` knows them by it.
    stem: PathBuf,
    daemon: Child,
    /// Last: it removes the files.
    _guardian: Guardian,
}

impl VolatileDrive {
    /// A drive of `size` bytes, full of noise.
    ///
    /// # Errors
    /// Skip where FUSE or QEMU is missing.
    pub fn new(nature: Drive, size: u64) -> Result<Self, LabError> {
        tool::need_root()?;
        if !Path::new("/dev/fuse").exists() {
            return Err(LabError::Skip("no FUSE here (/dev/fuse is missing)".into()));
        }
        reap();
        let mut guardian = Guardian::start()?;
        let stem = std::env::temp_dir().join(unique_name());
        let failed = |error: std::io::Error| LabError::Failed(format!("{}: {error}", stem.display()));
        guardian.undo(&format!("umount -l {stem}.drive; rm -f {stem}.*", stem = quoted(&stem)))?;
        make_files(&stem, size).map_err(failed)?;
        let daemon = Command::new("qemu-storage-daemon")
            .args(arguments(&stem, nature))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(stem.with_extension("said")).map_err(failed)?)
            .spawn()
            .map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => LabError::Skip(
                    "qemu-storage-daemon is not installed; scripts/install-test-deps.sh installs it".into(),
                ),
                _ => LabError::Failed(format!("qemu-storage-daemon: {error}")),
            })?;
        // By its id, and only as long as it is ours: the number may be somebody else's by then.
        guardian.undo(&format!(
            "grep -q iobound-lab-drive /proc/{pid}/cmdline && kill -9 {pid}",
            pid = daemon.id()
        ))?;
        let mut drive = VolatileDrive { stem, daemon, _guardian: guardian };
        drive.wait_until_shown()?;
        Ok(drive)
    }

    /// The drive: a file whose fsync is a flush.
    pub fn path(&self) -> PathBuf {
        self.stem.with_extension("drive")
    }

    /// Cuts the power: no write reaches the log any more.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn cut(&mut self) -> Result<WriteLog, LabError> {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
        WriteLog::read(&self.stem.with_extension("log")).map_err(|error| LabError::Failed(error.to_string()))
    }

    /// What the drive is after a cut: a file that lives as long as this value.
    ///
    /// # Errors
    /// The system's.
    pub fn after(&self, cut: PowerCut, log: &WriteLog, entries: usize) -> Result<PathBuf, LabError> {
        let image = self.stem.with_extension("after");
        cut.apply_at(log, entries, &self.stem.with_extension("base"), &image)
            .map_err(|error| LabError::Failed(format!("{}: {error}", image.display())))?;
        Ok(image)
    }

    fn wait_until_shown(&mut self) -> Result<(), LabError> {
        let started = Instant::now();
        let export = self.path();
        loop {
            let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
            if mounts.lines().any(|line| line.split(' ').nth(1) == export.to_str()) {
                return Ok(());
            }
            let ended = self.daemon.try_wait().ok().flatten();
            if ended.is_some() || started.elapsed() > PATIENCE {
                let said = fs::read_to_string(self.stem.with_extension("said")).unwrap_or_default();
                return Err(
                    if ["blklogwrites", "fuse"].iter().any(|word| said.contains(&format!("'{word}'"))) {
                        LabError::Skip(format!("this QEMU has no blklogwrites or FUSE: {}", said.trim()))
                    } else {
                        LabError::Failed(format!("qemu-storage-daemon shows no drive: {}", said.trim()))
                    },
                );
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for VolatileDrive {
    fn drop(&mut self) {
        // The guardian would do it too; the child is waited for only here.
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

fn make_files(stem: &Path, size: u64) -> std::io::Result<()> {
    crate::loopdev::fill(&mut File::create(stem.with_extension("image"))?, size)?;
    fs::copy(stem.with_extension("image"), stem.with_extension("base"))?;
    File::create(stem.with_extension("log"))?;
    File::create(stem.with_extension("drive"))?;
    Ok(())
}

/// The daemon's command line; the filter's place decides what the log sees.
fn arguments(stem: &Path, nature: Drive) -> Vec<String> {
    // A comma in a file name would end it.
    let name = |name: &str| stem.with_extension(name).display().to_string().replace(',', ",,");
    let lie = if nature == Drive::IgnoresFlush { ",cache.no-flush=on" } else { "" };
    let (image, log, drive) = (name("image"), name("log"), name("drive"));
    // The log is the truth here, so neither file need reach the machine's own disk.
    [
        "--blockdev".into(),
        format!("driver=file,node-name=image,filename={image},cache.no-flush=on"),
        "--blockdev".into(),
        format!("driver=file,node-name=log,filename={log},cache.no-flush=on"),
        "--blockdev".into(),
        format!(
            "driver=blklogwrites,node-name=iobound-lab-drive,file=image,log=log,log-sector-size=512{lie}"
        ),
        "--export".into(),
        format!("type=fuse,id=shown,node-name=iobound-lab-drive,mountpoint={drive},writable=on,growable=off"),
    ]
    .into()
}
