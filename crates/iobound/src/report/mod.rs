//! What people and other programs read of a run: pure functions of the record. The record is the truth:
//! a report says what the record says and judges nothing anew, so that every report of a run agrees with
//! what was printed when it ran.

pub mod answers;
pub mod ceilings;
pub mod compare;
pub mod csv;
pub mod figure;
pub mod files;
pub mod findings;
pub mod fio_json;
pub mod headline;
pub mod html;
pub mod layouts;
pub mod mark;
pub mod markdown;
pub mod members;
pub(crate) mod objects;
pub mod openmetrics;
pub mod parameters;
pub mod phase;
pub mod probe;
pub mod roofs;
#[cfg(test)]
pub(crate) mod sample;
pub mod series;
pub mod stream;
pub mod surroundings;
pub mod swept;
pub mod terminal;
