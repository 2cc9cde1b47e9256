//! What people and other programs read of a run: pure functions of the record.

pub mod fio_json;
pub mod probe;
pub mod terminal;
