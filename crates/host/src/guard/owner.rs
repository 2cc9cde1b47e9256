//! Telling our files from others'.
//!
//! iobound marks each file that it makes with an extended attribute, where the file system has
//! them. The mark holds the file's inode number, so that a copy made with its attributes (`cp -a`,
//! a backup) is not taken for ours: somebody wanted that copy.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr, fstat};
use rustix::io::Errno;

const MARK: &str = "user.iobound";

/// Marks a file as made by iobound. Returns whether the file system took the mark; where it has no
/// extended attributes (some nfs, vfat, tmpfs before kernel 6.6) it is false, and the file will
/// later need `--overwrite` like any other.
///
/// # Errors
/// When the file refuses it for another reason.
pub fn mark_ours(file: impl AsFd) -> io::Result<bool> {
    let mark = mark_of(&file)?;
    match fsetxattr(&file, MARK, mark.as_bytes(), XattrFlags::empty()) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether iobound made a file; false when in doubt.
pub fn is_ours(file: impl AsFd) -> bool {
    let mut found = [0; 64];
    match (fgetxattr(&file, MARK, &mut found[..]), mark_of(&file)) {
        (Ok(length), Ok(mark)) => found.get(..length) == Some(mark.as_bytes()),
        _ => false,
    }
}

/// Takes the mark off a file that the user keeps: from then on it is theirs, and writing to it takes
/// `--overwrite`. A file that still has its mark was left by a run that was killed.
pub fn unmark(file: impl AsFd) {
    // Without attributes there was no mark.
    let _ = fremovexattr(&file, MARK);
}

fn mark_of(file: impl AsFd) -> io::Result<String> {
    Ok(format!("1 inode {}", fstat(file)?.st_ino))
}
