//! Whether a log would go down with the storage that it tells of.

use std::path::Path;

use iobound_host::{Stack, System};
use rustix::fs::stat;

/// File systems in memory: nothing there outlives a power cut.
const IN_MEMORY: [&str; 3] = ["tmpfs", "ramfs", "devtmpfs"];

/// Why an acknowledgement log is no witness for a target, with the evidence; None when nothing speaks
/// against it.
pub fn evidence(log: &Path, target: &Path) -> Option<String> {
    let directory = parent(log);
    let target = if target.exists() { target } else { parent(target) };
    let system = System::live();
    let (log_stack, target_stack) = (system.stack_of(directory), system.stack_of(target));
    let mount = log_stack.as_ref().ok().and_then(|stack| stack.mount.as_ref());
    if let Some(mount) = mount.filter(|mount| IN_MEMORY.contains(&mount.filesystem.as_str())) {
        return Some(format!("{} is a {}, which is memory", mount.mount_point.display(), mount.filesystem));
    }
    let (log_stat, target_stat) = (stat(directory).ok()?, stat(target).ok()?);
    if log_stat.st_dev == target_stat.st_dev {
        let at =
            mount.map_or_else(String::new, |mount| format!(" mounted on {}", mount.mount_point.display()));
        return Some(format!("both are on the file system{at}"));
    }
    let (log_stack, target_stack) = (log_stack.ok()?, target_stack.ok()?);
    let shared: Vec<String> =
        names(&log_stack).filter(|name| names(&target_stack).any(|n| n == *name)).collect();
    (!shared.is_empty()).then(|| format!("both are on {}", shared.join(", ")))
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn names(stack: &Stack) -> impl Iterator<Item = String> + '_ {
    stack.top.iter().chain(&stack.members).map(|device| device.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beside_the_target_or_in_memory() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("target");
        std::fs::write(&target, "x").unwrap();
        let said = evidence(&directory.path().join("acks"), &target).unwrap();
        assert!(said.contains("both are on") || said.contains("memory"), "{said}");
        if Path::new("/dev/shm").is_dir() {
            let said = evidence(Path::new("/dev/shm/acks"), &target).unwrap();
            assert!(said.contains("memory"), "{said}");
        }
    }
}
