//! The library of the `iobound` program: programs it drives ([`tools`]) and what it says about a
//! run ([`report`]).

pub mod report;
pub mod tools;
