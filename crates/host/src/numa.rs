//! Which processors and memory are nearest to a device.

use iobound_record::NumaNode;

use crate::probe::{numa_node_of_disk, numa_nodes};
use crate::stack::Stack;
use crate::system::System;

/// NUMA nodes that have processors, by number.
pub fn nodes(system: &System) -> Vec<NumaNode> {
    numa_nodes(system).into_iter().filter(|node| !node.cpus.trim().is_empty()).collect()
}

/// The node that all disks below a target hang on; None where they are on several, or none is told.
pub fn node_of(system: &System, stack: &Stack) -> Option<u32> {
    let mut found =
        stack.top.iter().chain(&stack.members).filter_map(|device| numa_node_of_disk(system, &device.name));
    let first = found.next()?;
    found.all(|node| node == first).then_some(first)
}

/// Processors of a list as the kernel writes it: `0-3,8`. What is no list is empty.
pub fn cpus_of(list: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse::<u32>().ok()?, last.trim().parse::<u32>().ok()?);
        // The kernel's own largest number of processors is 8192.
        (first <= last && last < 65_536).then_some(first..=last)
    };
    list.trim().split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    #[test]
    fn lists_of_processors() {
        assert_eq!(cpus_of("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(cpus_of("5"), [5]);
        for nonsense in ["", "a", "3-1", "-", "1-99999999"] {
            assert_eq!(cpus_of(nonsense), Vec::<u32>::new(), "{nonsense}");
        }
    }

    #[test]
    fn nodes_without_processors_are_left_out() {
        let root = tempfile::tempdir().unwrap();
        for (node, cpus) in [(0, "0-15\n"), (1, "16-31\n"), (2, "\n")] {
            let place = root.path().join(format!("sys/devices/system/node/node{node}"));
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join("cpulist"), cpus).unwrap();
        }
        let found = nodes(&System::captured(root.path()));
        let lists: Vec<_> = found.iter().map(|node| (node.id, cpus_of(&node.cpus).len())).collect();
        assert_eq!(lists, [(0, 16), (1, 16)]);
    }

    #[test]
    fn this_machine_has_a_node() {
        let system = System::live();
        if !Path::new("/sys/devices/system/node").exists() {
            return;
        }
        assert!(nodes(&system).iter().any(|node| !cpus_of(&node.cpus).is_empty()));
    }
}
