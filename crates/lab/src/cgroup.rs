//! Limits by the block I/O cgroup, version 1 (`blkio.throttle.*`) and version 2 (`io.max`).

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::guardian::Guardian;
use crate::tool::quoted;
use crate::{LabError, unique_name};

/// Start of a loop device's number; Documentation/admin-guide/devices.txt assigns major 7.
const LOOP_MAJOR: &str = "7:";

/// Limits of a device; None = none. Reads and writes have a budget each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Operations per second.
    pub iops: Option<u64>,
    /// Bytes per second.
    pub bytes_per_s: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

/// A cgroup with limits for devices.
#[derive(Debug)]
pub struct Cgroup {
    version: Version,
    path: PathBuf,
    /// Whether it is version 1's root group, which holds every process and the kernel's own threads
    /// unless they were moved elsewhere.
    is_root: bool,
}

/// Where cgroups of the block I/O controller are made, by `/proc/self/mountinfo`.
fn controller_root(mountinfo: &str) -> Option<(Version, PathBuf)> {
    let mut v2 = None;
    for line in mountinfo.lines() {
        // "id parent major:minor root mountpoint options [tags] - type source superoptions"
        let Some((left, right)) = line.split_once(" - ") else { continue };
        let mountpoint = left.split(' ').nth(4).map(PathBuf::from);
        let mut right = right.split(' ');
        match (right.next(), right.nth(1), mountpoint) {
            (Some("cgroup"), Some(options), Some(path)) if options.split(',').any(|o| o == "blkio") => {
                return Some((Version::V1, path));
            }
            (Some("cgroup2"), _, Some(path)) => v2 = Some((Version::V2, path)),
            _ => {}
        }
    }
    v2
}

/// All directories in which this crate makes cgroups.
pub fn roots() -> Vec<PathBuf> {
    let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    controller_root(&mountinfo).map(|(_, path)| path).into_iter().collect()
}

impl Cgroup {
    /// A cgroup that also holds the write-back of the device `number`.
    ///
    /// Version 1 has the kernel's flusher do it in the root group, so the limit goes there; version
    /// 2 charges it to the group that dirtied the pages, so a group of our own will do.
    pub fn with_write_back(number: &str, guardian: &mut Guardian) -> Result<Self, LabError> {
        let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        match controller_root(&mountinfo) {
            Some((Version::V1, path)) => {
                guardian.undo(&format!(
                    "for f in {}/blkio.throttle.*_device; do echo '{number} 0' > $f; done",
                    path.display()
                ))?;
                Ok(Cgroup { version: Version::V1, path, is_root: true })
            }
            _ => Self::create(guardian),
        }
    }

    /// Makes an empty cgroup.
    pub fn create(guardian: &mut Guardian) -> Result<Self, LabError> {
        let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let Some((version, root)) = controller_root(&mountinfo) else {
            return Err(LabError::Skip("no cgroup file system is mounted".into()));
        };
        if version == Version::V2 {
            let controllers = fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
            if !controllers.split_whitespace().any(|name| name == "io") {
                return Err(LabError::Skip("the cgroup v2 io controller is not available".into()));
            }
            write(&root.join("cgroup.subtree_control"), "+io")?;
        }
        let path = root.join(unique_name());
        // Whoever is still in it was started by the fixture. The kernel empties a cgroup a moment
        // after its last process died.
        guardian.undo(&format!(
            "for i in 1 2 3 4 5 6 7 8 9; do [ -d {p} ] || break; for q in $(cat {p}/cgroup.procs); do \
             kill -9 $q; done; rmdir {p} && break; sleep 0.1; done",
            p = quoted(&path)
        ))?;
        fs::create_dir(&path)
            .map_err(|error| LabError::Skip(format!("cannot make a cgroup {}: {error}", path.display())))?;
        Ok(Cgroup { version, path, is_root: false })
    }

    /// Sets the limits of the device `number` (`major:minor`).
    pub fn limit(&self, number: &str, limits: Limits) -> Result<(), LabError> {
        match self.version {
            Version::V1 => {
                // 0 lifts a limit.
                let iops = limits.iops.unwrap_or(0);
                let bytes = limits.bytes_per_s.unwrap_or(0);
                for (what, value) in
                    [("read_iops", iops), ("write_iops", iops), ("read_bps", bytes), ("write_bps", bytes)]
                {
                    let file = self.path.join(format!("blkio.throttle.{what}_device"));
                    if !file.exists() {
                        return Err(LabError::Skip(format!(
                            "the kernel lacks {} (CONFIG_BLK_DEV_THROTTLING)",
                            file.display()
                        )));
                    }
                    write(&file, &format!("{number} {value}"))?;
                }
                Ok(())
            }
            Version::V2 => {
                let file = self.path.join("io.max");
                if !file.exists() {
                    return Err(LabError::Skip(format!("the kernel lacks {}", file.display())));
                }
                let word = |limit: Option<u64>| limit.map_or("max".to_owned(), |value| value.to_string());
                let (iops, bytes) = (word(limits.iops), word(limits.bytes_per_s));
                write(&file, &format!("{number} rbps={bytes} wbps={bytes} riops={iops} wiops={iops}"))
            }
        }
    }

    /// A command that runs in this cgroup, and so do its children.
    ///
    /// A shell moves itself in before it becomes the program: it keeps its process id, so signals
    /// sent to the child reach the program.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        if self.is_root {
            return Command::new(program);
        }
        let mut command = Command::new("sh");
        let script = format!("echo $$ > {} && exec \"$0\" \"$@\"", quoted(self.path.join("cgroup.procs")));
        command.arg("-c").arg(script).arg(program);
        command
    }
}

/// Lifts limits in version 1's root group for loop devices that nobody has attached: they stay when
/// a device is detached, and would slow its next user down.
pub fn lift_forgotten_limits() {
    let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let Some((Version::V1, root)) = controller_root(&mountinfo) else { return };
    for what in ["read_iops", "write_iops", "read_bps", "write_bps"] {
        let file = root.join(format!("blkio.throttle.{what}_device"));
        for line in fs::read_to_string(&file).unwrap_or_default().lines() {
            let Some((number, _)) = line.split_once(' ') else { continue };
            let device = Path::new("/sys/dev/block").join(number);
            let is_loop = number.starts_with(LOOP_MAJOR);
            if is_loop && !device.join("loop").exists() {
                let _ = fs::write(&file, format!("{number} 0"));
            }
        }
    }
}

fn write(path: &Path, text: &str) -> Result<(), LabError> {
    fs::write(path, text)
        .map_err(|error| LabError::Failed(format!("writing '{text}' to {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_1_wins_where_it_has_the_controller() {
        let hybrid = "30 24 0:26 / /sys/fs/cgroup/blkio rw,relatime - cgroup cgroup rw,blkio\n\
                      31 24 0:27 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        assert_eq!(controller_root(hybrid), Some((Version::V1, "/sys/fs/cgroup/blkio".into())));
    }

    #[test]
    fn version_2_alone_is_found() {
        let unified = "31 24 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        assert_eq!(controller_root(unified), Some((Version::V2, "/sys/fs/cgroup".into())));
        assert_eq!(controller_root("1 2 0:1 / / rw - ext4 /dev/sda rw\n"), None);
    }
}
