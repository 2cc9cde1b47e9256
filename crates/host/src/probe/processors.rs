//! Processors and memory.

use iobound_record::{Memory, NumaNode, Processor};

use crate::processor::cpu_model;
use crate::system::System;

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

pub(super) fn processor(system: &System) -> Processor {
    let cpuinfo = system.attribute("/proc/cpuinfo").unwrap_or_default();
    let listed = |path: &str| system.attribute(path).and_then(|text| count_of_list(&text));
    let counted = cpuinfo.lines().filter(|line| line.starts_with("processor")).count() as u32;
    let online = listed(&format!("{CPUS}/online")).unwrap_or(counted);
    Processor {
        model: cpu_model(&cpuinfo),
        cpus_online: online,
        cpus_allowed: allowed(system).unwrap_or(online),
        governors: governors(system),
        nodes: nodes(system),
    }
}

/// Processors that we may run on: narrowed by cpusets and taskset.
fn allowed(system: &System) -> Option<u32> {
    if system.is_live() {
        return rustix::thread::sched_getaffinity(None).ok().map(|set| set.count());
    }
    let status = system.attribute("/proc/self/status")?;
    status.lines().find_map(|line| count_of_list(line.strip_prefix("Cpus_allowed_list:")?.trim()))
}

/// How many a list such as `0-3,8` names: Documentation/admin-guide/cputopology.rst.
fn count_of_list(text: &str) -> Option<u32> {
    let mut count = 0u32;
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        count = count.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(count)
}

/// One policy may cover many processors; before kernel 4.3 each had its own.
fn governors(system: &System) -> Vec<String> {
    let policies = system.names(format!("{CPUS}/cpufreq"));
    let mut found: Vec<String> = policies
        .iter()
        .filter(|name| name.starts_with("policy"))
        .filter_map(|name| system.attribute(format!("{CPUS}/cpufreq/{name}/scaling_governor")))
        .filter(|governor| !governor.is_empty())
        .collect();
    found.sort();
    found.dedup();
    found
}

pub(crate) fn nodes(system: &System) -> Vec<NumaNode> {
    let number = |name: &String| name.strip_prefix("node")?.parse::<u32>().ok();
    let mut ids: Vec<u32> = system.names(NODES).iter().filter_map(number).collect();
    ids.sort_unstable();
    ids.into_iter().map(|id| node(system, id)).collect()
}

fn node(system: &System, id: u32) -> NumaNode {
    let place = format!("{NODES}/node{id}");
    // `Node 0 MemTotal:  32768 kB`
    let meminfo = system.attribute(format!("{place}/meminfo")).unwrap_or_default();
    let total = meminfo.lines().find_map(|line| kib_after(line, "MemTotal:"));
    NumaNode {
        id,
        cpus: system.attribute(format!("{place}/cpulist")).unwrap_or_default(),
        memory_bytes: total.unwrap_or(0),
    }
}

/// The bytes of `NAME:   123 kB`, wherever the name stands in the line.
fn kib_after(line: &str, name: &str) -> Option<u64> {
    let (_, value) = line.split_once(name)?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// `/proc/meminfo`: proc_meminfo(5).
pub(super) fn memory(system: &System) -> Memory {
    let text = system.attribute("/proc/meminfo").unwrap_or_default();
    let field = |name: &str| {
        let mut lines = text.lines().filter(|line| line.starts_with(name));
        lines.find_map(|line| kib_after(line, name)).unwrap_or(0)
    };
    Memory {
        total_bytes: field("MemTotal:"),
        available_bytes: field("MemAvailable:"),
        dirty_bytes: field("Dirty:"),
        writeback_bytes: field("Writeback:"),
        swap_bytes: field("SwapTotal:"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors() {
        for (text, count) in [("0", Some(1)), ("0-7", Some(8)), ("0-3,8,10-11", Some(7))] {
            assert_eq!(count_of_list(text), count);
        }
        for odd in ["", "a", "3-1", "0-", "0-4294967295", ",", "-1"] {
            assert_eq!(count_of_list(odd), None, "{odd}");
        }
    }

    #[test]
    fn amounts_in_kib() {
        assert_eq!(kib_after("Node 0 MemTotal:    4 kB", "MemTotal:"), Some(4096));
        assert_eq!(kib_after("MemTotal: 18446744073709551615 kB", "MemTotal:"), None);
        assert_eq!(kib_after("MemTotal: 4", "MemTotal:"), None);
    }
}
