//! What people and other programs read of a run: pure functions of the record.

pub mod ceilings;
pub mod compare;
pub mod fio_json;
pub mod terminal;
