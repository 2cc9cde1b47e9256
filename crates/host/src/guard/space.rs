//! Whether a lay-out will fit.

use std::path::Path;

use super::refusal::{Reason, Refusal};
use crate::error::HostError;

/// Space of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeSpace {
    /// Bytes that can still be written without root's reserve.
    pub available_bytes: u64,
    /// Size, bytes.
    pub total_bytes: u64,
}

/// Space of the file system that holds an existing path. Quotas are not known to it.
///
/// # Errors
/// When the path cannot be looked at.
pub fn free_space(path: &Path) -> Result<FreeSpace, HostError> {
    let found = rustix::fs::statvfs(path).map_err(|error| HostError::unreadable(path, error))?;
    Ok(FreeSpace {
        available_bytes: found.f_bavail.saturating_mul(found.f_frsize),
        total_bytes: found.f_blocks.saturating_mul(found.f_frsize),
    })
}

/// Refuses a lay-out of `needed_bytes` more bytes under `path` (existing) that would not leave
/// `headroom_bytes` free.
///
/// # Errors
/// [`Reason::NoSpace`], with how much is missing; [`Reason::Unverifiable`] when it cannot be told.
pub fn check_space(path: &Path, needed_bytes: u64, headroom_bytes: u64) -> Result<(), Refusal> {
    let refuse = |reason| Err(Refusal::new(path, reason));
    match free_space(path) {
        Ok(space) if needed_bytes.saturating_add(headroom_bytes) <= space.available_bytes => Ok(()),
        Ok(space) => {
            refuse(Reason::NoSpace { needed_bytes, headroom_bytes, available_bytes: space.available_bytes })
        }
        Err(error) => refuse(Reason::Unverifiable { error }),
    }
}
