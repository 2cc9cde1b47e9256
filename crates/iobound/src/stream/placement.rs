//! Where the threads and buffers of an output go on a machine of several NUMA nodes.

use std::path::Path;

use iobound_host::{System, numa};

use super::options::NumaMode;
use crate::exit::Failure;

/// Processors for an output's threads, and that in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Placement {
    /// None leaves it to the kernel.
    pub(super) cpus: Option<Vec<u32>>,
    /// For people.
    pub(super) words: String,
}

/// Places the threads of one output; `path` is None where no device is behind it.
///
/// # Errors
/// With [`NumaMode::Force`], when the node of the target is not known.
pub(super) fn place(system: &System, mode: NumaMode, path: Option<&Path>) -> Result<Placement, Failure> {
    let left = |words: &str| Ok(Placement { cpus: None, words: words.into() });
    if mode == NumaMode::Disabled {
        return left("disabled: threads and buffers go where the kernel puts them");
    }
    let nodes = numa::nodes(system);
    if nodes.len() <= 1 && mode == NumaMode::Auto {
        return left("one node: nothing to place");
    }
    let near =
        path.and_then(|path| system.stack_of(path).ok()).and_then(|stack| numa::node_of(system, &stack));
    let node = match near {
        Some(near) => nodes.iter().find(|node| node.id == near),
        None => nodes.first().filter(|_| nodes.len() == 1),
    };
    let cpus = node.map(|node| numa::cpus_of(&node.cpus)).filter(|cpus| !cpus.is_empty());
    match (node, cpus) {
        (Some(node), Some(cpus)) => {
            let words = format!("threads and buffers on node {} (processors {})", node.id, node.cpus.trim());
            Ok(Placement { cpus: Some(cpus), words })
        }
        _ if mode == NumaMode::Force => {
            let named = path.map_or("the output".into(), |path| path.display().to_string());
            Err(Failure::usage(format!(
                "--numa-mode force: this machine does not say which node {named} is near; use --numa-mode auto"
            )))
        }
        _ => left("the target's node is not known: left to the kernel"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A machine of two nodes whose disk hangs on the second.
    fn machine(nodes: &[&str], node_of_disk: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for (id, cpus) in nodes.iter().enumerate() {
            write(&format!("sys/devices/system/node/node{id}/cpulist"), cpus);
        }
        let disk = "sys/devices/pci0000:00/0000:00:04.0/nvme/nvme0/nvme0n1";
        write(&format!("{disk}/dev"), "259:0\n");
        write(&format!("{disk}/size"), "1000000\n");
        write("sys/devices/pci0000:00/0000:00:04.0/numa_node", node_of_disk);
        fs::create_dir_all(root.path().join("sys/block")).unwrap();
        fs::create_dir_all(root.path().join("sys/class/block")).unwrap();
        for place in ["sys/block/nvme0n1", "sys/class/block/nvme0n1"] {
            std::os::unix::fs::symlink(root.path().join(disk), root.path().join(place)).unwrap();
        }
        root
    }

    fn placed(nodes: &[&str], node: &str, mode: NumaMode) -> Result<Placement, Failure> {
        let root = machine(nodes, node);
        place(&System::captured(root.path()), mode, Some(Path::new("/dev/nvme0n1")))
    }

    #[test]
    fn threads_go_to_the_node_of_the_disk() {
        let two = ["0-1\n", "2-3\n"];
        let found = placed(&two, "1\n", NumaMode::Auto).unwrap();
        assert_eq!(found.cpus, Some(vec![2, 3]), "{}", found.words);
        assert_eq!(placed(&two, "1\n", NumaMode::Disabled).unwrap().cpus, None);
        assert_eq!(placed(&two, "-1\n", NumaMode::Auto).unwrap().cpus, None);
        assert!(placed(&two, "-1\n", NumaMode::Force).is_err());
    }

    #[test]
    fn one_node_leaves_nothing_to_place() {
        let found = placed(&["0-3\n"], "0\n", NumaMode::Auto).unwrap();
        assert_eq!((found.cpus, found.words.contains("one node")), (None, true));
        assert_eq!(placed(&["0-3\n"], "0\n", NumaMode::Force).unwrap().cpus, Some(vec![0, 1, 2, 3]));
    }
}
