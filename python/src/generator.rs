//! `Generator`: a stream of chosen length and content, made piece by piece.

use std::sync::{Mutex, MutexGuard};

use iobound_fill::Filler;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::{self, Count};
use crate::buffer::Memory;
use crate::team::{Crew, PIECE, Team, Work};

/// What dgen-py recommends, and its scripts expect.
const CHUNK: u64 = 32 << 20;
/// A piece shorter than a cell of the fill would make that cell more than once.
const BLOCK_LEAST: usize = 4096;

/// A stream of generated data. Byte N of a seed is the same however the stream is cut up, and with any
/// number of threads.
///
/// Several threads may share one: each call gets a part of the stream that no other gets.
#[pyclass(frozen, module = "iobound")]
pub struct Generator {
    size: u64,
    chunk: u64,
    piece: usize,
    crew: Crew,
    /// Only ever held attached to the interpreter, so nobody waits for it, and no forked child finds it
    /// held.
    state: Mutex<State>,
}

struct State {
    filler: Filler,
    seed: u64,
    position: u64,
    /// Where the filler's stream begins: a new seed begins it anew.
    origin: u64,
    team: Option<std::sync::Arc<Team>>,
}

#[pymethods]
impl Generator {
    /// size: bytes. dedup_ratio and compress_ratio: 1.0 and more. max_threads: of one call; None: one on each
    /// processor. numa_node: threads stay on it. chunk_size: what `chunk_size` says, 32 MiB unless given.
    /// block_size: bytes a thread fills at a time. seed: None takes a new one.
    #[new]
    #[pyo3(signature = (size, dedup_ratio=1.0, compress_ratio=1.0, numa_mode="auto", max_threads=None,
                        numa_node=None, chunk_size=None, block_size=None, seed=None))]
    #[allow(clippy::too_many_arguments, reason = "the signature that dgen-py's users know")]
    fn new(
        size: Count,
        dedup_ratio: f64,
        compress_ratio: f64,
        numa_mode: &str,
        max_threads: Option<Count>,
        numa_node: Option<Count>,
        chunk_size: Option<Count>,
        block_size: Option<Count>,
        seed: Option<Count>,
    ) -> PyResult<Self> {
        let seed = seed.map_or_else(arguments::fresh_seed, |seed| seed.0);
        let piece = match block_size {
            None => PIECE,
            Some(Count(bytes)) => {
                usize::try_from(bytes).ok().filter(|bytes| *bytes >= BLOCK_LEAST).ok_or_else(|| {
                    PyValueError::new_err(format!("block_size {bytes}: use {BLOCK_LEAST} bytes or more"))
                })?
            }
        };
        Ok(Generator {
            size: size.at_least_one("size")?,
            chunk: chunk_size.map_or(Ok(CHUNK), |chunk| chunk.at_least_one("chunk_size"))?,
            piece: piece.next_multiple_of(BLOCK_LEAST),
            crew: arguments::crew(max_threads, numa_mode, numa_node)?,
            state: Mutex::new(State {
                filler: arguments::filler(seed, dedup_ratio, compress_ratio)?,
                seed,
                position: 0,
                origin: 0,
                team: None,
            }),
        })
    }

    /// Fills a writable buffer with the next bytes of the stream; returns how many, 0 at the end.
    ///
    /// Takes whatever has a writable, contiguous buffer of numbers: bytearray, memoryview, mmap, array, NumPy
    /// array. Other Python threads run meanwhile.
    fn fill_chunk(&self, py: Python<'_>, buffer: &Bound<'_, PyAny>) -> PyResult<usize> {
        let memory = Memory::of(buffer)?;
        if memory.len() == 0 {
            return Err(PyValueError::new_err("Buffer is empty: nothing would ever be made"));
        }
        let len = memory.len();
        self.fill(py, memory, len)
    }

    /// The next `chunk_size` bytes of the stream, fewer at its end, None after it.
    fn get_chunk<'py>(&self, py: Python<'py>, chunk_size: Count) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let wanted = chunk_size.at_least_one("chunk_size")?;
        let state = self.state();
        let left = (self.size - state.position).min(wanted);
        drop(state);
        if left == 0 {
            return Ok(None);
        }
        let (memory, bytes) = Memory::fresh(py, left)?;
        let len = memory.len();
        self.fill(py, memory, len)?;
        Ok(Some(bytes))
    }

    /// Begins the stream anew, with the same content.
    fn reset(&self) {
        let mut state = self.state();
        (state.position, state.origin) = (0, 0);
    }

    /// Goes on with the content of another seed, from its beginning; None takes a new one. The position stays.
    fn set_seed(&self, seed: Option<Count>) -> PyResult<()> {
        let seed = seed.map_or_else(arguments::fresh_seed, |seed| seed.0);
        let mut state = self.state();
        let spec = *state.filler.spec();
        state.filler = arguments::filler(seed, spec.dedup_ratio, spec.compress_ratio)?;
        (state.seed, state.origin) = (seed, state.position);
        Ok(())
    }

    /// Bytes made so far.
    fn position(&self) -> u64 {
        self.state().position
    }

    /// Bytes of the whole stream.
    fn total_size(&self) -> u64 {
        self.size
    }

    /// Whether all bytes were made.
    fn is_complete(&self) -> bool {
        self.state().position >= self.size
    }

    /// A good size for buffers, bytes.
    #[getter]
    fn chunk_size(&self) -> u64 {
        self.chunk
    }

    /// The seed of the content, chosen or given.
    #[getter]
    fn seed(&self) -> u64 {
        self.state().seed
    }

    fn __repr__(&self) -> String {
        let state = self.state();
        format!("<iobound.Generator: {} of {} bytes, seed {}>", state.position, self.size, state.seed)
    }
}

impl Generator {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Takes the next `len` bytes of the stream for this call alone, and makes them.
    fn fill(&self, py: Python<'_>, memory: Memory, len: usize) -> PyResult<usize> {
        let mut state = self.state();
        let left = usize::try_from(self.size - state.position).unwrap_or(usize::MAX);
        let len = len.min(left);
        if len == 0 {
            return Ok(0);
        }
        let team = match &state.team {
            Some(team) if team.is_for(&self.crew) => team.clone(),
            _ => {
                let team = Team::new(self.crew.clone()).map_err(no_threads)?;
                state.team.insert(team.into()).clone()
            }
        };
        let piece = team.piece(len, self.piece);
        let position = state.position.wrapping_sub(state.origin);
        let work = Work::new(state.filler.clone(), position, memory, len, piece);
        state.position += len as u64;
        drop(state);
        py.detach(|| team.fill(work));
        Ok(len)
    }
}

/// The system gave fewer threads than `max_threads` asks.
pub fn no_threads(error: std::io::Error) -> PyErr {
    PyOSError::new_err(format!("cannot start the threads that fill: {error}; lower max_threads"))
}
