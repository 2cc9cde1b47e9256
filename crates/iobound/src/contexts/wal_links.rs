//! Symbolic links by which PostgreSQL keeps its write-ahead log on another file system.

use std::fs;
use std::path::Path;

use iobound_model::context::WalLink;
use iobound_record::Probe;

const NAMES: [&str; 2] = ["pg_wal", "pg_xlog"];
/// Directories between a mount point and a cluster: `16/main`.
const DEPTH: u32 = 3;
/// A file system of a million directories must not hold us up.
const LOOKED_AT: usize = 500;

/// The links on this machine's mounted file systems, as far as they may be read.
pub fn wal_links(probe: &Probe) -> Vec<WalLink> {
    let mut found = Vec::new();
    for mount in probe.filesystems.iter().filter(|fs| fs.mount != "/").map(|fs| &fs.mount) {
        let mut left = LOOKED_AT;
        below(Path::new(mount), DEPTH, &mut left, &mut found);
    }
    found
}

fn below(directory: &Path, depth: u32, left: &mut usize, found: &mut Vec<WalLink>) {
    for name in NAMES {
        let link = directory.join(name);
        let is_link = fs::symlink_metadata(&link).is_ok_and(|meta| meta.is_symlink());
        if let Ok(target) = fs::canonicalize(&link)
            && is_link
        {
            found.push(WalLink { link: link.display().to_string(), target: target.display().to_string() });
        }
    }
    let Some(depth) = depth.checked_sub(1) else { return };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        // Links are not followed: they may lead round.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            below(&entry.path(), depth, left, found);
        }
    }
}
