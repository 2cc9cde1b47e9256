//! Pure functions: no clock, no files, no network. Each threshold and formula stands beside its source.
//!
//! - [`ceiling`]: how fast a job could go on a topology, and what binds it;
//! - [`context`]: whether a hardware context holds together;
//! - [`device_class`]: what kind of device figures look like, where nothing is promised;
//! - [`layout`]: what an array of a context amounts to: capacity, stripe, alignment;
//! - [`matching`]: which disks of a host are a context's volumes;
//! - [`check`]: the checklist, from a probe and a context;
//! - [`prepare`]: what has to change on a host to become what a context says;
//! - [`statistics`]: how well a figure is known, and whether another differs;
//! - [`comparison`]: runs against each other.

pub mod ceiling;
pub mod check;
pub mod comparison;
pub mod context;
pub mod device_class;
pub mod layout;
pub mod matching;
pub mod prepare;
pub mod statistics;
