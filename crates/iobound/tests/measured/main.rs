//! The real binary against devices whose answers are known, and against fio.
//!
//! A binary of its own, and its tests take turns: nothing else of ours runs meanwhile.

#[path = "../support/mod.rs"]
mod support;

mod known_answers;
mod seed_000;
mod until_steady;
