//! File systems on loop devices.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::guardian::Guardian;
use crate::tool::{self, quoted};
use crate::{LabError, unique_name};

/// A mounted file system, in a directory of its own below the temporary directory.
#[derive(Debug)]
pub struct Mount {
    path: PathBuf,
}

impl Mount {
    /// Makes a file system of `kind` on `device` and mounts it; root of it is world-writable, as
    /// `/tmp` is, so that tests can also run as somebody else.
    pub fn make(device: &Path, kind: &str, guardian: &mut Guardian) -> Result<Self, LabError> {
        // No discard: it would punch holes into the file below, which read at memory speed. No lazy
        // initialisation: it would write during the run.
        let options: &[&str] = match kind {
            "ext4" => &["-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"],
            "xfs" => &["-q", "-f", "-K"],
            "btrfs" => &["-q", "-f", "-K"],
            _ => return Err(LabError::Failed(format!("'{kind}' is none of ext4, xfs, btrfs"))),
        };
        tool::run(Command::new(format!("mkfs.{kind}")).args(options).arg(device))?;
        Self::attach(Some(device), kind, guardian)
    }

    /// Mounts what is on `device`, or a file system that needs none.
    pub fn attach(device: Option<&Path>, kind: &str, guardian: &mut Guardian) -> Result<Self, LabError> {
        let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
        let path = std::env::temp_dir().join(unique_name());
        // Lazily: a program that still runs in it must not keep it from going.
        guardian.undo(&format!("umount -l {p}; rmdir {p}", p = quoted(&path)))?;
        fs::create_dir(&path).map_err(|error| LabError::Failed(format!("{}: {error}", path.display())))?;
        let source = device.unwrap_or(Path::new("none"));
        let mounted = tool::run(Command::new("mount").args(["-t", kind]).arg(source).arg(&path));
        if let Err(LabError::Failed(reason)) = mounted {
            // The module may also load on demand, so the list says only why mount failed.
            if !known.split_whitespace().any(|name| name == kind) {
                return Err(LabError::Skip(format!("this kernel has no {kind}: {reason}")));
            }
            return Err(LabError::Failed(reason));
        }
        mounted?;
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o1777))
            .map_err(|error| LabError::Failed(format!("{}: {error}", path.display())))?;
        Ok(Mount { path })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Changes its mount options.
    pub fn remount(&self, options: &str) -> Result<(), LabError> {
        tool::run(Command::new("mount").arg("-o").arg(format!("remount,{options}")).arg(&self.path)).map(drop)
    }
}
