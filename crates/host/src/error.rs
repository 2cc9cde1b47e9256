//! What can go wrong while looking at a machine.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The machine could not be read.
#[derive(Debug, Error)]
pub enum HostError {
    /// A file of `/proc` or `/sys`, or the path asked about, could not be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Neither the path nor the directory it would lie in exists.
    #[error("{path} does not exist, nor does the directory it would be in", path = path.display())]
    Missing {
        /// The path asked about.
        path: PathBuf,
    },
    /// No line of `/proc/self/mountinfo` covers the path: `/proc` is missing or belongs to another
    /// process tree.
    #[error("no mounted file system holds {path}; is /proc mounted?", path = path.display())]
    NotMounted {
        /// The path asked about.
        path: PathBuf,
    },
    /// The kernel knows no such block device.
    #[error("the kernel has no block device {device}")]
    NoSuchDevice {
        /// `major:minor` or a name.
        device: String,
    },
}

impl HostError {
    /// An I/O error with the path that it happened on.
    pub(crate) fn unreadable(path: &Path, source: impl Into<io::Error>) -> Self {
        HostError::Unreadable { path: path.to_owned(), source: source.into() }
    }
}
