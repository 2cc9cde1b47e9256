//! What a caller may ask for, checked before anything is touched.

use std::sync::OnceLock;

use iobound_fill::{FillSpec, Filler};
use iobound_host::{System, numa};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::team::Crew;

/// More than any machine has processors.
const THREADS_MOST: usize = 1024;

/// A count of bytes or other things: an integer of 0 and more.
#[derive(Clone, Copy, Debug)]
pub struct Count(pub u64);

impl<'py> FromPyObject<'_, 'py> for Count {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        object.extract::<u64>().map(Count).map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(object.py()) {
                PyValueError::new_err(format!("{}: use a number from 0 to {}", &*object, u64::MAX))
            } else {
                PyTypeError::new_err("expected an integer")
            }
        })
    }
}

impl Count {
    /// At least one.
    ///
    /// # Errors
    /// `ValueError` naming the argument.
    pub fn at_least_one(self, name: &str) -> PyResult<u64> {
        match self.0 {
            0 => Err(PyValueError::new_err(format!("{name} 0: there is nothing to make; use 1 or more"))),
            count => Ok(count),
        }
    }
}

/// What makes the content.
///
/// # Errors
/// `ValueError` for a ratio that is no number, below 1, or more than the data can give.
pub fn filler(seed: u64, dedup_ratio: f64, compress_ratio: f64) -> PyResult<Filler> {
    let spec = FillSpec { seed, dedup_ratio, compress_ratio, ..FillSpec::default() };
    Filler::new(spec).map_err(|error| PyValueError::new_err(error.to_string().replacen(' ', "_", 1)))
}

/// A seed nobody asked for: another one each time.
pub fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}

/// Who fills, from `max_threads`, `numa_mode` and `numa_node`.
///
/// # Errors
/// `ValueError` for what is none of the choices, or a node that this machine does not have.
pub fn crew(max_threads: Option<Count>, numa_mode: &str, numa_node: Option<Count>) -> PyResult<Crew> {
    let threads = match max_threads {
        None => processors(),
        Some(Count(asked)) => usize::try_from(asked)
            .ok()
            .filter(|threads| (1..=THREADS_MOST).contains(threads))
            .ok_or_else(|| {
                PyValueError::new_err(format!(
                    "max_threads {asked}: use 1 to {THREADS_MOST}, or None for one on each processor"
                ))
            })?,
    };
    let node = match (numa_mode, numa_node) {
        ("disabled", _) | ("auto", None) => None,
        ("auto" | "force", Some(Count(node))) => Some(node),
        ("force", None) => here(),
        (other, _) => {
            return Err(PyValueError::new_err(format!(
                "Invalid numa_mode '{other}': must be 'auto', 'force', or 'disabled'"
            )));
        }
    };
    Ok(Crew { threads, cpus: node.map(cpus_of).transpose()? })
}

/// Processors that the caller may use. The control group's share is read once, since reading it takes longer
/// than filling a small buffer; the affinity, which programs set as they go, each time.
fn processors() -> usize {
    static SHARE: OnceLock<usize> = OnceLock::new();
    let parallel = || std::thread::available_parallelism().map_or(1, usize::from);
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return parallel() };
    let allowed = (allowed.count() as usize).max(1);
    // As many as are allowed means that there is no share.
    let share =
        *SHARE.get_or_init(|| Some(parallel()).filter(|share| *share < allowed).unwrap_or(usize::MAX));
    allowed.min(share)
}

/// The node that the calling thread runs on.
fn here() -> Option<u64> {
    Some(rustix::thread::sched_getcpu() as u32).and_then(|cpu| {
        let nodes = numa::nodes(&System::live());
        nodes.iter().find(|node| numa::cpus_of(&node.cpus).contains(&cpu)).map(|node| u64::from(node.id))
    })
}

fn cpus_of(asked: u64) -> PyResult<Vec<u32>> {
    let nodes = numa::nodes(&System::live());
    match nodes.iter().find(|node| u64::from(node.id) == asked) {
        Some(node) => Ok(numa::cpus_of(&node.cpus)),
        None => {
            let known: Vec<String> = nodes.iter().map(|node| node.id.to_string()).collect();
            Err(PyValueError::new_err(format!(
                "numa_node {asked}: this machine has the nodes [{}]",
                known.join(", ")
            )))
        }
    }
}
