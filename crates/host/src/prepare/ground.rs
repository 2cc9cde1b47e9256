//! Answers to what a plan asks besides the probe: programs, files, directories, accounts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use iobound_record::{DirectoryFacts, Ground, Interests};

use super::evidence::evidence_of;
use super::machine::Machine;
use super::resolve::node;
use crate::system::System;

/// Where programs for root are, whatever `PATH` says.
const PROGRAMS: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Where a program is.
pub(super) fn find_program(name: &str) -> Option<PathBuf> {
    let is_program =
        |path: &PathBuf| fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0);
    PROGRAMS.iter().map(|directory| Path::new(directory).join(name)).find(is_program)
}

pub(super) fn ground(machine: &dyn Machine, system: &System, wanted: &Interests) -> Ground {
    let root = rustix::process::geteuid().is_root();
    let accounts = Accounts::read();
    let mut ground = Ground { root, systemd: Path::new("/run/systemd/system").is_dir(), ..Ground::default() };
    ground.programs = wanted.programs.iter().filter(|name| find_program(name).is_some()).cloned().collect();
    for path in &wanted.files {
        if let Ok(Some(bytes)) = machine.read(path) {
            ground.files.insert(path.clone(), String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    for path in &wanted.directories {
        if let Some(facts) = directory(path, &accounts) {
            ground.directories.insert(path.clone(), facts);
        }
    }
    ground.accounts = wanted.accounts.iter().filter(|name| accounts.has(name)).cloned().collect();
    for device in &wanted.devices {
        if root {
            ground.evidence.insert(device.clone(), evidence_of(system, device));
        }
    }
    for device in &wanted.filesystems {
        if let Some((_, uuid)) = machine.filesystem(&node(device)) {
            ground.uuids.insert(device.clone(), uuid);
        }
    }
    ground
}

fn directory(path: &str, accounts: &Accounts) -> Option<DirectoryFacts> {
    // Not followed: a symbolic link is no place to mount on.
    let meta = fs::symlink_metadata(path).ok()?;
    let empty = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    Some(DirectoryFacts {
        owner: format!("{}:{}", accounts.user(meta.uid()), accounts.group(meta.gid())),
        mode: meta.permissions().mode() & 0o7777,
        empty,
        is_other: !meta.is_dir(),
    })
}

/// Users and groups of the local files. (Those of a directory service are asked for by name only.)
struct Accounts {
    users: BTreeMap<u32, String>,
    groups: BTreeMap<u32, String>,
}

impl Accounts {
    fn read() -> Self {
        let parse = |path: &str| {
            let text = fs::read_to_string(path).unwrap_or_default();
            let rows = text.lines().filter_map(|line| {
                let fields: Vec<&str> = line.split(':').collect();
                Some((fields.get(2)?.parse().ok()?, (*fields.first()?).to_owned()))
            });
            rows.collect::<BTreeMap<u32, String>>()
        };
        Accounts { users: parse("/etc/passwd"), groups: parse("/etc/group") }
    }

    fn user(&self, id: u32) -> String {
        self.users.get(&id).cloned().unwrap_or_else(|| id.to_string())
    }

    fn group(&self, id: u32) -> String {
        self.groups.get(&id).cloned().unwrap_or_else(|| id.to_string())
    }

    /// `name` is a user, `:name` a group.
    fn has(&self, name: &str) -> bool {
        let (all, name) = match name.strip_prefix(':') {
            Some(group) => (&self.groups, group),
            None => (&self.users, name),
        };
        all.values().collect::<BTreeSet<_>>().contains(&name.to_owned())
    }
}
