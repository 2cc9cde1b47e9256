//! Streams as a library: options in, a run record out. Needs no terminal.
//!
//! ```no_run
//! use iobound::stream::{Options, Surroundings, write};
//!
//! let options = Options { size: 1 << 30, outputs: vec!["data.bin".into()], ..Options::default() };
//! let written = write(&options, Surroundings::silent())?;
//! println!("{:?}", written.run.scenarios[0].stream);
//! # Ok::<(), iobound::exit::Failure>(())
//! ```

mod options;
mod placement;
mod read;
mod session;
mod target;
mod tune;
mod tuning;

pub use crate::stop::Stop;
pub use options::{NumaMode, Options, parse_buffer_size};
pub use read::{Expected, ReadOptions, Reading, read};
pub(crate) use session::new_run;
pub use session::{Surroundings, Written, write};
