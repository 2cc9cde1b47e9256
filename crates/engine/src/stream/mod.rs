//! Streams: data made at memory speed and written at the target's own.
//!
//! Threads fill buffers in place and hand them to others that write them ([`Mode::Split`]), or one
//! thread does both ([`Mode::Fused`]). Between the two stands a bounded [`Pool`], behind the writers an
//! [`Outlet`]: a file or device, a pipe, nothing, or a storage that the caller brings. What a stream
//! holds depends on seed and position alone, so it can be checked afterwards by [`read_back`].

mod account;
mod compare;
mod file;
mod pipe;
mod pool;
mod read_back;
mod ring;
mod run;
mod sink;
mod source;
mod threads;
mod trouble;

#[cfg(test)]
mod tests;

pub use account::{Gauges, Times};
pub use compare::Comparison;
pub use file::{FileOutlet, NullOutlet};
pub use pipe::PipeOutlet;
pub use pool::{Chunk, Pool};
pub use read_back::{ReadBack, read_back, read_through};
pub use run::{Extent, Failure, LaneResult, Mode, Output, Settings, Streamed, WriterResult, run};
pub use sink::{Done, Granted, Outlet, Sink};
pub use source::Source;
