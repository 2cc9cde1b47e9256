//! The real binary against real (loop) devices whose answers are known.

#[path = "../support/mod.rs"]
mod support;

mod bad_input;
mod interrupts;
mod known_answers;
mod mid_run_faults;
mod protection;
mod restricted_hosts;
mod seed_000;
mod targets;
