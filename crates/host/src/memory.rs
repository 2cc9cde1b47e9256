//! Memory that this process may use.

use crate::cgroup;
use crate::system::System;

/// The machine's memory, or the lowest limit of the control groups that this process is in, in
/// bytes; 0 when unknown.
pub(crate) fn memory_bytes(system: &System) -> u64 {
    let total = meminfo_total(&system.attribute("/proc/meminfo").unwrap_or_default()).unwrap_or(0);
    match cgroup_limit(system) {
        Some(limit) if total == 0 || limit < total => limit,
        _ => total,
    }
}

fn meminfo_total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The lowest limit on the way from our group up to the root. Version 1 writes a huge number for no
/// limit, version 2 `max`.
fn cgroup_limit(system: &System) -> Option<u64> {
    let values = cgroup::upwards(system, "memory", "memory.max", "memory.limit_in_bytes");
    values.iter().filter_map(|text| text.parse().ok()).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn machine(files: &[(&str, &str)]) -> u64 {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        memory_bytes(&System::captured(root.path()))
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal:       16384 kB\nMemFree:  1 kB\n");
    const V2: (&str, &str) =
        ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");

    #[test]
    fn without_limits() {
        assert_eq!(machine(&[MEMINFO]), 16 << 20);
        let no_limit = [MEMINFO, V2, ("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "max\n")];
        assert_eq!(machine(&no_limit), 16 << 20);
        assert_eq!(machine(&[]), 0);
        assert_eq!(machine(&[("proc/meminfo", "MemTotal: much kB")]), 0);
    }

    #[test]
    fn the_lowest_limit_upwards_counts() {
        let files = [
            MEMINFO,
            V2,
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/memory.max", "1048576\n"),
            ("sys/fs/cgroup/a/b/memory.max", "2097152\n"),
        ];
        assert_eq!(machine(&files), 1 << 20);
    }

    #[test]
    fn version_1_in_a_container() {
        let files = [
            MEMINFO,
            (
                "proc/self/mountinfo",
                "34 31 0:30 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
            ),
            ("proc/self/cgroup", "4:memory:/docker/x\n2:cpu,cpuacct:/docker/x\n0::/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "4194304\n"),
        ];
        assert_eq!(machine(&files), 4 << 20);
        let unlimited = [
            files[0],
            files[1],
            files[2],
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        assert_eq!(machine(&unlimited), 16 << 20);
    }
}
