//! Buffers without a generator: made in one call, or served from a pool.

use std::sync::{Arc, Mutex, MutexGuard};

use iobound_fill::Filler;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList};

use crate::arguments::{self, Count};
use crate::buffer::{Memory, want_huge_pages};
use crate::generator::no_threads;
use crate::team::{Crew, PIECE, Team, Work};

/// The team of the last call, kept since the next most likely wants the same. Only held attached.
static TEAM: Mutex<Option<Arc<Team>>> = Mutex::new(None);

/// What dgen-py's pool makes at once, which `remaining` counts down.
const POOL: u64 = 1 << 20;

fn team(crew: &Crew) -> PyResult<Arc<Team>> {
    let mut kept = TEAM.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match &*kept {
        Some(team) if team.is_for(crew) => Ok(team.clone()),
        _ => Ok(kept.insert(Team::new(crew.clone()).map_err(no_threads)?.into()).clone()),
    }
}

/// Fills all of `memory` from the start of a stream.
fn fill(py: Python<'_>, crew: &Crew, filler: Filler, position: u64, memory: Memory) -> PyResult<usize> {
    let len = memory.len();
    let team = team(crew)?;
    let work = Work::new(filler, position, memory, len, team.piece(len, PIECE));
    py.detach(|| team.fill(work));
    Ok(len)
}

/// `size` new bytes, other ones at each call.
#[pyfunction]
#[pyo3(signature = (size, dedup_ratio=1.0, compress_ratio=1.0, numa_mode="auto", max_threads=None,
                    numa_node=None))]
pub fn generate_buffer<'py>(
    py: Python<'py>,
    size: Count,
    dedup_ratio: f64,
    compress_ratio: f64,
    numa_mode: &str,
    max_threads: Option<Count>,
    numa_node: Option<Count>,
) -> PyResult<Bound<'py, PyBytes>> {
    let crew = arguments::crew(max_threads, numa_mode, numa_node)?;
    let filler = arguments::filler(arguments::fresh_seed(), dedup_ratio, compress_ratio)?;
    let (memory, bytes) = Memory::fresh(py, size.at_least_one("size")?)?;
    fill(py, &crew, filler, 0, memory)?;
    Ok(bytes)
}

/// Fills a writable buffer, with other bytes at each call; returns its length.
#[pyfunction]
#[pyo3(signature = (buffer, dedup_ratio=1.0, compress_ratio=1.0, numa_mode="auto", max_threads=None,
                    numa_node=None))]
pub fn generate_into_buffer(
    py: Python<'_>,
    buffer: &Bound<'_, PyAny>,
    dedup_ratio: f64,
    compress_ratio: f64,
    numa_mode: &str,
    max_threads: Option<Count>,
    numa_node: Option<Count>,
) -> PyResult<usize> {
    let crew = arguments::crew(max_threads, numa_mode, numa_node)?;
    let filler = arguments::filler(arguments::fresh_seed(), dedup_ratio, compress_ratio)?;
    match Memory::of(buffer)? {
        memory if memory.len() == 0 => Ok(0),
        memory => fill(py, &crew, filler, 0, memory),
    }
}

/// `count` bytearrays of `size` bytes. What they hold is undefined until they are filled.
#[pyfunction]
pub fn create_bytearrays(py: Python<'_>, count: Count, size: Count) -> PyResult<Bound<'_, PyList>> {
    let no_room = |_| PyMemoryError::new_err(format!("no memory for {} bytes", size.0));
    let len = isize::try_from(size.0).map_err(no_room)?.unsigned_abs();
    let all = PyList::empty(py);
    for _ in 0..count.0 {
        // An empty one that grows is not cleared, which for large ones would take longer than filling.
        let one = PyByteArray::new(py, &[]);
        one.resize(len)?;
        want_huge_pages(one.data(), len);
        all.append(one)?;
    }
    Ok(all)
}

/// Many small buffers, one after the other, of one content without end.
#[pyclass(frozen, module = "iobound")]
pub struct BufferPool {
    crew: Crew,
    /// Only held attached.
    state: Mutex<Stream>,
}

struct Stream {
    filler: Filler,
    position: u64,
    /// Bytes given since the last full pool.
    given: u64,
}

#[pymethods]
impl BufferPool {
    /// dedup_ratio and compress_ratio: 1.0 and more.
    #[new]
    #[pyo3(signature = (dedup_ratio=1.0, compress_ratio=1.0))]
    fn new(dedup_ratio: f64, compress_ratio: f64) -> PyResult<Self> {
        let filler = arguments::filler(arguments::fresh_seed(), dedup_ratio, compress_ratio)?;
        let stream = Stream { filler, position: 0, given: 0 };
        Ok(BufferPool { crew: arguments::crew(None, "auto", None)?, state: Mutex::new(stream) })
    }

    /// The next `size` bytes.
    fn next_slice<'py>(&self, py: Python<'py>, size: Count) -> PyResult<Bound<'py, PyBytes>> {
        let size = size.at_least_one("size")?;
        let (memory, bytes) = Memory::fresh(py, size)?;
        let mut stream = self.stream();
        let (filler, position) = (stream.filler.clone(), stream.position);
        // On whole cells of the fill, which are made once then.
        stream.position = position.wrapping_add(size.next_multiple_of(4096));
        if size < POOL {
            let left = POOL - stream.given;
            stream.given = if size <= left { stream.given + size } else { size };
        }
        drop(stream);
        fill(py, &self.crew, filler, position, memory)?;
        Ok(bytes)
    }

    /// Goes on with other ratios.
    #[pyo3(signature = (dedup_ratio=1.0, compress_ratio=1.0))]
    fn reconfigure(&self, dedup_ratio: f64, compress_ratio: f64) -> PyResult<()> {
        let filler = arguments::filler(arguments::fresh_seed(), dedup_ratio, compress_ratio)?;
        *self.stream() = Stream { filler, position: 0, given: 0 };
        Ok(())
    }

    /// Bytes left of the current MiB. Nothing is kept: each slice is made when it is asked for.
    #[getter]
    fn remaining(&self) -> u64 {
        POOL - self.stream().given
    }

    /// As asked.
    #[getter]
    fn dedup_ratio(&self) -> f64 {
        self.stream().filler.spec().dedup_ratio
    }

    /// As asked.
    #[getter]
    fn compress_ratio(&self) -> f64 {
        self.stream().filler.spec().compress_ratio
    }
}

impl BufferPool {
    fn stream(&self) -> MutexGuard<'_, Stream> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
