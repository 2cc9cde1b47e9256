//! What dgen-py's scripts ask of the machine.

use std::collections::BTreeSet;

use iobound_host::{System, numa};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Nodes, cores and processors of this machine: `num_nodes`, `physical_cores`, `logical_cpus`, `is_uma`,
/// `deployment_type`.
#[pyfunction]
pub fn get_numa_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let nodes = numa::nodes(&System::live());
    let cpus: Vec<u32> = nodes.iter().flat_map(|node| numa::cpus_of(&node.cpus)).collect();
    let logical = match cpus.len() {
        // Without a list of nodes the scheduler knows.
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        count => count,
    };
    let is_uma = nodes.len() <= 1;
    let info = PyDict::new(py);
    info.set_item("num_nodes", nodes.len().max(1))?;
    info.set_item("physical_cores", physical(&cpus).unwrap_or(logical))?;
    info.set_item("logical_cpus", logical)?;
    info.set_item("is_uma", is_uma)?;
    // dgen-py's own words: scripts print and compare them.
    let words = match is_uma {
        true => "UMA (single NUMA node - cloud VM or workstation)",
        false => "NUMA (multi-socket system or large cloud VM)",
    };
    info.set_item("deployment_type", words)?;
    Ok(info)
}

/// Cores, told apart by the processors they share; None where the kernel does not say.
fn physical(cpus: &[u32]) -> Option<usize> {
    let siblings = |cpu: &u32| {
        std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"))
            .ok()
    };
    let cores: BTreeSet<String> = cpus.iter().map(siblings).collect::<Option<_>>()?;
    Some(cores.len()).filter(|count| *count > 0)
}
