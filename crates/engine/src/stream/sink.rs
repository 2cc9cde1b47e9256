//! The boundary behind which full buffers go: a file, a device, a pipe, nothing, or storage of another
//! kind that the caller brings.

use std::io;
use std::time::Duration;

use super::pool::{Chunk, Pool};
use crate::backend::Grants;
use crate::error::EngineError;

/// Where a stream goes. It makes one [`Sink`] for each thread that writes.
pub trait Outlet: Sync {
    /// A sink for the calling thread, which will have at most `depth` chunks of `pool` with it at a time.
    ///
    /// # Errors
    /// What keeps the thread from writing there.
    fn sink(&self, pool: &Pool, depth: u32) -> Result<(Box<dyn Sink + '_>, Granted), EngineError>;

    /// Whether chunks must come in the order of their positions; then one thread fills and one writes.
    fn is_ordered(&self) -> bool {
        false
    }

    /// Chunks begin and end at multiples of this many bytes. What is left of the stream behind the last
    /// one goes to [`finish`](Self::finish).
    fn granule(&self) -> u64 {
        1
    }

    /// Takes the rest of the stream, when all sinks are done, and makes everything durable as far as the
    /// outlet can.
    ///
    /// # Errors
    /// The system's.
    fn finish(&self, position: u64, rest: &[u8]) -> io::Result<()>;
}

/// Takes full chunks from one thread and gives them back when they are written.
pub trait Sink {
    /// Takes a full chunk and begins to write it.
    ///
    /// # Errors
    /// The sink itself broke; a chunk that cannot be written comes back from [`done`](Self::done).
    fn put(&mut self, chunk: Chunk) -> io::Result<()>;

    /// Waits until `least` chunks are done or `longest` passed, and appends all that are done. May
    /// return early.
    ///
    /// # Errors
    /// The sink itself broke.
    fn done(&mut self, least: u32, longest: Option<Duration>, done: &mut Vec<Done>) -> io::Result<()>;
}

/// A chunk that a sink is done with.
pub struct Done {
    /// The chunk: dropping it frees its buffer.
    pub chunk: Chunk,
    /// Whether it was written, all of it.
    pub result: io::Result<()>,
}

/// What the system granted and refused a sink.
#[derive(Clone, Debug, Default)]
pub struct Granted {
    /// In use.
    pub granted: Vec<String>,
    /// Asked for and refused, each with why.
    pub refused: Vec<String>,
}

impl From<Grants> for Granted {
    fn from(grants: Grants) -> Self {
        Granted { granted: grants.granted, refused: grants.refused }
    }
}
