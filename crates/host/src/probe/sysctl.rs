//! Kernel settings that storage, or a database on it, depends on.
//!
//! Documentation/admin-guide/sysctl/{vm,kernel,fs,net}.rst.

use std::collections::BTreeMap;

use crate::block::chosen_scheduler as in_brackets;
use crate::system::System;

/// All that `prepare` may set is here, so that an undo can be compared with the first state.
const NAMES: [&str; 37] = [
    "vm.dirty_background_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_ratio",
    "vm.dirty_expire_centisecs",
    "vm.dirty_writeback_centisecs",
    "vm.dirtytime_expire_seconds",
    "vm.swappiness",
    "vm.overcommit_memory",
    "vm.overcommit_ratio",
    "vm.overcommit_kbytes",
    "vm.nr_hugepages",
    "vm.nr_overcommit_hugepages",
    "vm.zone_reclaim_mode",
    "vm.min_free_kbytes",
    "vm.watermark_scale_factor",
    "vm.vfs_cache_pressure",
    "vm.max_map_count",
    "vm.page-cluster",
    "vm.stat_interval",
    "vm.laptop_mode",
    "kernel.io_uring_disabled",
    "kernel.io_uring_group",
    "kernel.numa_balancing",
    "kernel.sched_autogroup_enabled",
    "kernel.sched_migration_cost_ns",
    "kernel.shmmax",
    "kernel.shmall",
    "kernel.sem",
    "kernel.hung_task_timeout_secs",
    "kernel.nmi_watchdog",
    "fs.aio-max-nr",
    "fs.file-max",
    "fs.nr_open",
    "net.core.somaxconn",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_max_syn_backlog",
];

/// Those that this kernel has. Several numbers (`kernel.sem`) are parted by single spaces.
pub(super) fn settings(system: &System) -> BTreeMap<String, String> {
    let value = |name: &&str| {
        let text = system.attribute(format!("/proc/sys/{}", name.replace('.', "/")))?;
        let words: Vec<&str> = text.split_whitespace().collect();
        (!words.is_empty()).then(|| ((*name).to_owned(), words.join(" ")))
    };
    NAMES.iter().filter_map(value).collect()
}

/// Documentation/admin-guide/mm/transhuge.rst: `always [madvise] never`.
pub(super) fn transparent_hugepage(system: &System) -> String {
    let text = system.attribute("/sys/kernel/mm/transparent_hugepage/enabled");
    text.map(|text| in_brackets(&text)).unwrap_or_default()
}
