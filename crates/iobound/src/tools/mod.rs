//! Other people's programs, driven as programs.

pub mod fio;
mod running;
