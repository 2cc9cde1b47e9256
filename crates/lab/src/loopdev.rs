//! Loop devices on files and on each other.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::guardian::Guardian;
use crate::tool::{self, quoted};
use crate::{LabError, unique_name};

/// A file with data in every block: no hole, no unwritten extent, nothing to compress.
///
/// It is unlinked once a loop device holds it (see [`BackingFile::unlink`]).
#[derive(Debug)]
pub struct BackingFile {
    path: PathBuf,
    file: File,
}

impl BackingFile {
    /// Makes a file of `size` bytes in the temporary directory.
    pub fn create(size: u64, guardian: &mut Guardian) -> Result<Self, LabError> {
        let path = std::env::temp_dir().join(format!("{}.img", unique_name()));
        guardian.undo(&format!("rm -f {}", quoted(&path)))?;
        let failed = |error| LabError::Failed(format!("{}: {error}", path.display()));
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).map_err(failed)?;
        fill(&mut file, size).map_err(failed)?;
        Ok(BackingFile { path, file })
    }

    /// Where the file is, or was.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the name; the data lives as long as a loop device holds it.
    pub fn unlink(&self) -> Result<(), LabError> {
        fs::remove_file(&self.path)
            .map_err(|error| LabError::Failed(format!("{}: {error}", self.path.display())))
    }

    /// Cuts the file to nothing.
    pub fn truncate(&self) -> Result<(), LabError> {
        self.file
            .set_len(0)
            .map_err(|error| LabError::Failed(format!("truncating {}: {error}", self.path.display())))
    }
}

/// Writes `size` bytes of noise and makes them durable, so that write-back does not fall into a run.
pub(crate) fn fill(file: &mut File, size: u64) -> std::io::Result<()> {
    const PIECE: usize = 4 << 20;
    let mut noise = vec![0; PIECE];
    File::open("/dev/urandom")?.read_exact(&mut noise)?;
    let mut left = size;
    let mut round = 0u64;
    while left > 0 {
        // The same noise over and over would be duplicate data: each 4 KiB gets a number of its own.
        for block in noise.chunks_exact_mut(4096) {
            block[..8].copy_from_slice(&round.to_le_bytes());
            round += 1;
        }
        let length = left.min(PIECE as u64) as usize;
        file.write_all(&noise[..length])?;
        left -= length as u64;
    }
    file.sync_all()?;
    file.seek(SeekFrom::Start(0))?;
    Ok(())
}

/// An attached loop device with direct I/O.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    /// Keeps an autoclear device attached, and lets it go when this process ends in any way.
    hold: Option<File>,
}

impl LoopDevice {
    /// Attaches `backing`, a file or block device.
    pub fn attach(backing: &Path, guardian: &mut Guardian) -> Result<Self, LabError> {
        if !Path::new("/dev/loop-control").exists() {
            return Err(LabError::Skip("no loop devices here (/dev/loop-control is missing)".into()));
        }
        let path = PathBuf::from(tool::run(
            Command::new("losetup").args(["--direct-io=on", "--find", "--show"]).arg(backing),
        )?);
        let device = LoopDevice { path, hold: None };
        // Only if it still has this backing: its number may be somebody else's by then. The kernel
        // says "(deleted)" behind a name that is gone.
        guardian.undo(&format!(
            "case $(cat {sys}/loop/backing_file) in {back}|{back}' (deleted)') losetup -d {dev};; esac",
            sys = device.sysfs().display(),
            back = quoted(backing),
            dev = device.path.display(),
        ))?;
        if fs::read_to_string(device.sysfs().join("loop/dio")).unwrap_or_default().trim() != "1" {
            return Err(LabError::Skip(format!(
                "{} does not take direct I/O here: its file system may not support it",
                backing.display()
            )));
        }
        Ok(device)
    }

    /// Lets the kernel detach the device when nobody has it open any more; this value holds it
    /// open until then, and `holder` says whether something else does already.
    pub fn autoclear(&mut self, held: bool) -> Result<(), LabError> {
        if !held {
            let hold = File::open(&self.path)
                .map_err(|error| LabError::Failed(format!("{}: {error}", self.path.display())))?;
            self.hold = Some(hold);
        }
        tool::run(Command::new("losetup").arg("-d").arg(&self.path)).map(drop)
    }

    /// `/dev/loopN`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `/sys/block/loopN`.
    pub fn sysfs(&self) -> PathBuf {
        Path::new("/sys/block").join(self.path.file_name().unwrap_or_default())
    }

    /// `major:minor`.
    pub fn number(&self) -> Result<String, LabError> {
        let path = self.sysfs().join("dev");
        let number = fs::read_to_string(&path)
            .map_err(|error| LabError::Failed(format!("{}: {error}", path.display())))?;
        Ok(number.trim().to_owned())
    }
}

/// Two loop devices on one file: a limit or a fault sits on the lower one, and programs use the
/// upper one. The crate's documentation says why it takes two.
#[derive(Debug)]
pub struct LoopStack {
    /// Directly on the file.
    pub lower: LoopDevice,
    /// On the lower one.
    pub upper: LoopDevice,
    /// The file, unlinked.
    pub backing: BackingFile,
}

impl LoopStack {
    /// Attaches both to a new file of `size` bytes, which then has no name any more.
    pub fn attach(size: u64, guardian: &mut Guardian) -> Result<Self, LabError> {
        let backing = BackingFile::create(size, guardian)?;
        let mut lower = LoopDevice::attach(backing.path(), guardian)?;
        let mut upper = LoopDevice::attach(lower.path(), guardian)?;
        backing.unlink()?;
        upper.autoclear(false)?;
        lower.autoclear(true)?;
        Ok(LoopStack { lower, upper, backing })
    }
}
