//! Bytes with a chosen compress ratio and dedup ratio, addressable by position.
//!
//! Storage that compresses or deduplicates answers a benchmark with numbers that depend on the data. This crate
//! makes data of which both are known, at about the speed at which a thread can store, and from its position
//! alone: any thread can make, or check, any part of a stream.
//!
//! ```
//! use iobound_fill::{FillSpec, Filler};
//!
//! let filler = Filler::new(FillSpec { compress_ratio: 2.0, dedup_ratio: 1.5, ..FillSpec::default() })?;
//! let mut whole = vec![0; 10_000];
//! filler.fill(7, 123_456, &mut whole);
//!
//! let mut part = vec![0; 100];
//! filler.fill(7, 123_456 + 5_000, &mut part);
//! assert_eq!(part, whole[5_000..5_100]);
//! # Ok::<(), iobound_fill::FillError>(())
//! ```
#![deny(missing_docs)]

mod dedup;
mod error;
mod filler;
mod isa;
mod layout;
mod limit;
mod nontemporal;
mod random;
mod spec;
mod walk;

pub use error::FillError;
pub use filler::{Filler, STREAMING_BYTES};
pub use isa::Isa;
pub use limit::store_limit;
pub use spec::FillSpec;
