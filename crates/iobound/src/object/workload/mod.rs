//! A workload of whole objects: PUT, GET, LIST and DELETE in a chosen mix, each timed by itself, everything
//! that comes back held against what was put, and everything that was put taken away again.

mod mix;
mod population;
mod session;
mod tally;
mod worker;

pub use mix::Mix;
pub use session::{Options, run};
