//! What this process may use.

use iobound_record::ProcessLimits;
use rustix::io_uring::{io_uring_params, io_uring_setup};

use crate::cgroup;
use crate::limits::{IoUring, Limits, limits as known};
use crate::system::System;

pub(super) fn limits(system: &System) -> ProcessLimits {
    let (io_uring, io_uring_refusal) = try_io_uring(system, &known(system));
    let memory = cgroup::upwards(system, "memory", "memory.max", "memory.limit_in_bytes");
    ProcessLimits {
        memory_bytes: memory
            .iter()
            .filter_map(|text| text.parse().ok())
            .filter(|limit| *limit < NO_LIMIT_V1)
            .min(),
        cpus: cpus(system),
        io: io(system),
        nofile: of_process(system, "Max open files"),
        memlock_bytes: of_process(system, "Max locked memory"),
        io_uring,
        io_uring_refusal,
        root: is_root(system),
    }
}

/// Version 1 writes the largest number of whole pages for no limit (PAGE_COUNTER_MAX); anything near
/// it is none.
const NO_LIMIT_V1: u64 = 1 << 62;

/// Time that the groups may take: the least of `quota / period`. Version 2 keeps both in one file.
fn cpus(system: &System) -> Option<f64> {
    let quotas = cgroup::upwards(system, "cpu", "cpu.max", "cpu.cfs_quota_us");
    let periods = cgroup::upwards(system, "cpu", "", "cpu.cfs_period_us");
    let mut periods_v1 = periods.iter();
    let mut least: Option<f64> = None;
    for text in &quotas {
        let (quota, period) = match text.split_once(' ') {
            Some((quota, period)) => (quota, period),
            None => (text.as_str(), periods_v1.next().map_or("", String::as_str)),
        };
        let (Ok(quota), Ok(period)) = (quota.parse::<f64>(), period.parse::<f64>()) else { continue };
        // -1, or `max`, is no limit.
        if quota > 0.0 && period > 0.0 {
            least = Some(least.unwrap_or(f64::MAX).min(quota / period));
        }
    }
    least
}

/// Version 2 has a line a device in `io.max`; version 1 a file a limit, whose lines get the limit's
/// name here: `259:0 read_iops=3000`.
fn io(system: &System) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for text in cgroup::upwards(system, "", "io.max", "") {
        found.extend(text.lines().map(str::to_owned));
    }
    for limit in ["read_iops", "write_iops", "read_bps", "write_bps"] {
        for text in cgroup::upwards(system, "blkio", "", &format!("blkio.throttle.{limit}_device")) {
            let lines = text.lines().filter_map(|line| line.split_once(' '));
            found.extend(lines.map(|(device, value)| format!("{device} {limit}={value}")));
        }
    }
    found
}

/// The soft limit in `/proc/self/limits`: proc_pid_limits(5). None when unlimited.
fn of_process(system: &System, name: &str) -> Option<u64> {
    let text = system.attribute("/proc/self/limits")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

fn is_root(system: &System) -> bool {
    if system.is_live() {
        return rustix::process::geteuid().is_root();
    }
    let status = system.attribute("/proc/self/status").unwrap_or_default();
    let effective =
        |line: &str| line.strip_prefix("Uid:")?.split_ascii_whitespace().nth(1).map(str::to_owned);
    status.lines().find_map(effective).is_some_and(|id| id == "0")
}

/// Whether io_uring may be used: on this machine by making a ring, since a seccomp filter shows only
/// then; on a captured one only a setting that forbids it is known.
fn try_io_uring(system: &System, limits: &Limits) -> (Option<bool>, String) {
    if let IoUring::Forbidden { reason } = &limits.io_uring {
        return (Some(false), reason.clone());
    }
    if !system.is_live() {
        return (None, String::new());
    }
    let mut params = io_uring_params::default();
    // SAFETY: the kernel reads and writes only `params`, which is a whole structure; the ring that it
    // makes is closed with its descriptor, and nothing is mapped.
    match unsafe { io_uring_setup(1, &mut params) } {
        Ok(_ring) => (Some(true), String::new()),
        Err(rustix::io::Errno::NOSYS) => (Some(false), "this kernel has no io_uring".into()),
        Err(rustix::io::Errno::PERM | rustix::io::Errno::ACCESS) if limits.seccomp_filter => (
            Some(false),
            "a seccomp filter forbids io_uring, as container runtimes do by default; allow io_uring_setup, \
             io_uring_enter and io_uring_register in its profile"
                .into(),
        ),
        Err(error) => (Some(false), format!("io_uring_setup fails: {error}")),
    }
}
