//! Other people's programs, driven as programs.

pub mod dd;
pub mod fio;
mod running;
