//! What fixtures left behind, and its removal.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cgroup;

/// Something of a fixture that is still there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// A mount point.
    Mount(PathBuf),
    /// A loop device.
    Loop(PathBuf),
    /// A cgroup.
    Cgroup(PathBuf),
    /// A file or directory.
    Path(PathBuf),
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Leftover::Mount(path) => write!(f, "mount {}", path.display()),
            Leftover::Loop(path) => write!(f, "loop device {}", path.display()),
            Leftover::Cgroup(path) => write!(f, "cgroup {}", path.display()),
            Leftover::Path(path) => write!(f, "file {}", path.display()),
        }
    }
}

/// The process id in `iobound-<pid>-<n>...`, if `name` is one of our names.
fn owner(name: &str) -> Option<u32> {
    let (pid, rest) = name.strip_prefix("iobound-")?.split_once('-')?;
    rest.starts_with(|c: char| c.is_ascii_digit()).then(|| pid.parse().ok())?
}

fn owner_of(path: &Path) -> Option<u32> {
    owner(path.file_name()?.to_str()?)
}

fn is_alive(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Loop devices on files of ours, each after the ones that are on it, with their owner.
fn loop_devices() -> Vec<(PathBuf, u32)> {
    let backing: Vec<(PathBuf, String)> = entries(Path::new("/sys/block"))
        .into_iter()
        .filter_map(|sys| {
            let file = fs::read_to_string(sys.join("loop/backing_file")).ok()?;
            Some((Path::new("/dev").join(sys.file_name()?), file.trim().to_owned()))
        })
        .collect();
    let mut found = Vec::new();
    for (device, file) in &backing {
        let Some(pid) = owner_of(Path::new(file.trim_end_matches(" (deleted)"))) else { continue };
        let upper = backing.iter().filter(|(_, file)| Path::new(file) == device);
        found.extend(upper.map(|(device, _)| (device.clone(), pid)));
        found.push((device.clone(), pid));
    }
    found
}

/// Everything of fixtures that is there now and whose owner `wanted` says, in the order in which it
/// must go.
fn find(wanted: impl Fn(u32) -> bool) -> Vec<Leftover> {
    let mut found = Vec::new();
    let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mounts: Vec<&str> = mountinfo.lines().filter_map(|line| line.split(' ').nth(4)).collect();
    let ours = |path: &Path| owner_of(path).is_some_and(&wanted);
    found.extend(mounts.iter().rev().map(PathBuf::from).filter(|p| ours(p)).map(Leftover::Mount));
    found.extend(
        loop_devices().into_iter().filter(|(_, pid)| wanted(*pid)).map(|(path, _)| Leftover::Loop(path)),
    );
    for root in cgroup::roots() {
        found.extend(entries(&root).into_iter().filter(|p| ours(p)).map(Leftover::Cgroup));
    }
    found.extend(entries(&std::env::temp_dir()).into_iter().filter(|p| ours(p)).map(Leftover::Path));
    found
}

/// Everything that fixtures of any process have, or left, on this machine.
pub fn leftovers() -> Vec<Leftover> {
    find(|_| true)
}

/// Removes what fixtures of dead processes left behind, and returns it. Those of processes that
/// live are not touched.
pub fn reap() -> Vec<Leftover> {
    let found = find(|pid| !is_alive(pid));
    for leftover in &found {
        let quietly = |command: &mut Command| drop(command.output());
        match leftover {
            Leftover::Mount(path) => quietly(Command::new("umount").arg("-l").arg(path)),
            Leftover::Loop(path) => quietly(Command::new("losetup").arg("-d").arg(path)),
            Leftover::Cgroup(path) => drop(fs::remove_dir(path)),
            // A directory that is not empty holds a mount that would not go, or is not what we made.
            Leftover::Path(path) => {
                let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
                // A virtual machine's directory: nothing is ever mounted in it.
                if path.extension().is_some_and(|extension| extension == "vm") {
                    let _ = fs::remove_dir_all(path);
                }
            }
        }
    }
    unmark_free_loop_devices();
    cgroup::lift_forgotten_limits();
    found
}

/// A device that a [`FailingVolume`](crate::FailingVolume) turned read-only stays so when it is
/// detached; one that nobody has attached can only have been ours, or forgotten.
fn unmark_free_loop_devices() {
    for sys in entries(Path::new("/sys/block")) {
        let Some(name) = sys.file_name().filter(|name| name.to_string_lossy().starts_with("loop")) else {
            continue;
        };
        let is_read_only = fs::read_to_string(sys.join("ro")).is_ok_and(|ro| ro.trim() == "1");
        if is_read_only && !sys.join("loop").exists() {
            let _ = Command::new("blockdev").arg("--setrw").arg(Path::new("/dev").join(name)).output();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_have_an_owner() {
        assert_eq!(owner("iobound-12-0"), Some(12));
        assert_eq!(owner("iobound-12-3.img"), Some(12));
        for other in ["iobound", "iobound-12", "iobound-data-1", "iobound-12-x", "xiobound-1-1"] {
            assert_eq!(owner(other), None, "{other}");
        }
    }
}
