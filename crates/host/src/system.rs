//! Where `/proc` and `/sys` are read from.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::HostError;
use crate::mounts::{self, Mount};

/// A machine: this one, or one captured as a tree of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    root: PathBuf,
}

impl Default for System {
    fn default() -> Self {
        System::live()
    }
}

impl System {
    /// This machine.
    pub fn live() -> Self {
        System { root: PathBuf::from("/") }
    }

    /// A machine whose `proc/` and `sys/` lie under `root`. Paths asked about are then taken as
    /// written, with no look at the real file system: `/dev/NAME` is the block device NAME of the
    /// captured machine, anything else a directory on its mounts.
    pub fn captured(root: impl Into<PathBuf>) -> Self {
        System { root: root.into() }
    }

    /// Whether this is the machine we run on.
    pub fn is_live(&self) -> bool {
        self.root == Path::new("/")
    }

    /// The place of an absolute path of that machine, within ours.
    pub(crate) fn place(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// A small text file, trimmed; None when it is missing or unreadable, as most attributes of
    /// `/sys` are on some kernel.
    pub(crate) fn attribute(&self, path: impl AsRef<Path>) -> Option<String> {
        read_text(&self.place(path)).ok().map(|text| text.trim().to_owned())
    }

    /// A whole text file.
    ///
    /// # Errors
    /// When it is missing or unreadable; the error names the path on that machine.
    pub(crate) fn text(&self, path: impl AsRef<Path>) -> Result<String, HostError> {
        let path = path.as_ref();
        read_text(&self.place(path)).map_err(|e| HostError::unreadable(path, e))
    }

    /// Names in a directory, sorted; empty when it is missing.
    pub(crate) fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.place(path)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|e| e.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// The mounts that this thread sees. A thread may have a mount namespace of its own (tests do),
    /// so `/proc/self`, which is the process's first thread, may show others.
    ///
    /// # Errors
    /// When `/proc` cannot be read.
    pub(crate) fn mounts(&self) -> Result<Vec<Mount>, HostError> {
        self.text("/proc/thread-self/mountinfo")
            .or_else(|_| self.text("/proc/self/mountinfo"))
            .map(|text| mounts::parse_mountinfo(&text))
    }
}

/// Reads text that need not be UTF-8: device models and mount points hold any bytes.
fn read_text(path: &Path) -> io::Result<String> {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
