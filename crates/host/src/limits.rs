//! What this process is allowed to do.

use rustix::process::{Resource, getrlimit};

use crate::system::System;

/// CAP_IPC_LOCK and CAP_SYS_ADMIN, include/uapi/linux/capability.h.
const CAP_IPC_LOCK: u32 = 14;
const CAP_SYS_ADMIN: u32 = 21;

/// Limits of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that may be locked in memory; None when unlimited. Registered buffers count.
    pub memlock_soft_bytes: Option<u64>,
    /// How far the soft limit can be raised without privilege; None when unlimited.
    pub memlock_hard_bytes: Option<u64>,
    /// CAP_IPC_LOCK: the limit does not apply.
    pub may_lock_any: bool,
    /// Whether io_uring may be used, as far as sysctl tells; a seccomp filter may still forbid it.
    pub io_uring: IoUring,
    /// A seccomp filter is in place (containers have one): system calls may fail with EPERM though
    /// nothing else forbids them.
    pub seccomp_filter: bool,
    /// libaio requests that the whole machine may have in flight, and has; None when unknown.
    pub aio_max_and_used: Option<(u64, u64)>,
}

/// What `kernel.io_uring_disabled` says to this process: Documentation/admin-guide/sysctl/kernel.rst.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IoUring {
    /// Nothing forbids it.
    Allowed,
    /// Forbidden; the reason names the setting and the way out.
    Forbidden {
        /// In a sentence.
        reason: String,
    },
    /// The kernel is older than the setting (6.6); only trying tells.
    Unknown,
}

impl Limits {
    /// Bytes that this process may lock; None when there is no limit.
    pub fn lockable_bytes(&self) -> Option<u64> {
        if self.may_lock_any { None } else { self.memlock_soft_bytes }
    }
}

/// The limits now.
pub fn limits(system: &System) -> Limits {
    let memlock = getrlimit(Resource::Memlock);
    let status = Status::read(system);
    Limits {
        memlock_soft_bytes: memlock.current,
        memlock_hard_bytes: memlock.maximum,
        may_lock_any: status.has(CAP_IPC_LOCK),
        io_uring: io_uring(system, &status),
        seccomp_filter: status.seccomp_filter,
        aio_max_and_used: number(system, "/proc/sys/fs/aio-max-nr")
            .zip(number(system, "/proc/sys/fs/aio-nr")),
    }
}

fn number(system: &System, path: &str) -> Option<u64> {
    system.attribute(path)?.parse().ok()
}

fn io_uring(system: &System, status: &Status) -> IoUring {
    let group = system.attribute("/proc/sys/kernel/io_uring_group").unwrap_or_default();
    let forbidden = |reason: String| IoUring::Forbidden { reason };
    match number(system, "/proc/sys/kernel/io_uring_disabled") {
        None => IoUring::Unknown,
        Some(0) => IoUring::Allowed,
        Some(1) if status.has(CAP_SYS_ADMIN) || status.groups.contains(&group) => IoUring::Allowed,
        Some(1) => forbidden(format!(
            "sysctl kernel.io_uring_disabled is 1: only root and members of the group kernel.io_uring_group \
             ({group}) may use io_uring; join it, or set kernel.io_uring_disabled=0"
        )),
        Some(value) => forbidden(format!(
            "sysctl kernel.io_uring_disabled is {value}: nobody may use io_uring; set it to 0 to allow it"
        )),
    }
}

/// The lines of `/proc/self/status` (proc_pid_status(5)) that matter here.
struct Status {
    effective: u64,
    seccomp_filter: bool,
    groups: Vec<String>,
}

impl Status {
    fn read(system: &System) -> Status {
        let text = system
            .attribute("/proc/thread-self/status")
            .or_else(|| system.attribute("/proc/self/status"))
            .unwrap_or_default();
        let line = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
                .unwrap_or("")
        };
        // Real, effective, saved and file-system id; the kernel asks for the effective one.
        let own_group = line("Gid").split_ascii_whitespace().nth(1).map(str::to_owned);
        Status {
            effective: u64::from_str_radix(line("CapEff"), 16).unwrap_or(0),
            seccomp_filter: line("Seccomp") == "2",
            groups: line("Groups").split_ascii_whitespace().map(str::to_owned).chain(own_group).collect(),
        }
    }

    fn has(&self, capability: u32) -> bool {
        self.effective & (1 << capability) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn told(disabled: &str, group: &str, status: &str) -> Limits {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("proc/sys/kernel/io_uring_disabled", disabled);
        put("proc/sys/kernel/io_uring_group", group);
        put("proc/self/status", status);
        limits(&System::captured(root.path()))
    }

    #[test]
    fn io_uring_by_sysctl() {
        let plain =
            "Gid:\t1000\t1000\t1000\t1000\nGroups:\t4 24 990 \nCapEff:\t0000000000000000\nSeccomp:\t2\n";
        let root = "Gid:\t0\t0\t0\t0\nGroups:\t0 \nCapEff:\t000001ffffffffff\nSeccomp:\t0\n";
        assert_eq!(told("0\n", "-1\n", plain).io_uring, IoUring::Allowed);
        assert_eq!(told("1\n", "990\n", plain).io_uring, IoUring::Allowed);
        assert_eq!(told("1\n", "1000\n", plain).io_uring, IoUring::Allowed);
        assert_eq!(told("1\n", "-1\n", root).io_uring, IoUring::Allowed);
        for (disabled, limits) in [("1", told("1\n", "-1\n", plain)), ("2", told("2\n", "-1\n", root))] {
            match limits.io_uring {
                IoUring::Forbidden { reason } => {
                    assert!(reason.contains(&format!("io_uring_disabled is {disabled}")), "{reason}")
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(told("", "", plain).io_uring, IoUring::Unknown);
        assert!(told("0", "", plain).seccomp_filter && !told("0", "", root).seccomp_filter);
        assert!(told("0", "", root).may_lock_any && !told("0", "", plain).may_lock_any);
        assert_eq!(told("0", "", root).lockable_bytes(), None);
    }

    #[test]
    fn this_process() {
        let limits = limits(&System::live());
        if let (Some(soft), Some(hard)) = (limits.memlock_soft_bytes, limits.memlock_hard_bytes) {
            assert!(soft <= hard);
        }
    }
}
