//! Changing a machine: the steps of a plan done, verified, journaled, and undone.
//!
//! [`apply`] asks its [`Planner`] for the plan again before and after each step: what is done is what
//! the plan then calls done. What an operation changes is journaled before it is done. Everything that
//! touches the machine goes through [`Machine`], so the same logic runs on a simulated one in tests.

mod apply;
mod capture;
mod dissolve;
mod evidence;
mod file_lines;
mod ground;
mod journal;
mod live;
mod machine;
mod resolve;
mod undo;

pub use apply::{Applied, Told, apply};
pub use evidence::evidence_of;
pub use journal::{Entry, EntryState, Journal, JournalError};
pub use live::LiveMachine;
pub use machine::{Machine, Planner, Ran};
pub use undo::{Undone, undo};

use std::io;

use iobound_record::Plan;
use thiserror::Error;

/// Why preparing stopped.
#[derive(Debug, Error)]
pub enum PrepareError {
    /// The plan must not be applied: its problems and refusals say why.
    #[error("the plan must not be applied")]
    Refused {
        /// The plan.
        plan: Box<Plan>,
    },
    /// A step failed.
    #[error("step '{step}' failed: {cause}\n  remedy: {remedy}")]
    Step {
        /// Its id.
        step: String,
        /// What went wrong.
        cause: String,
        /// What to do.
        remedy: String,
    },
    /// Somebody asked to stop.
    #[error(
        "stopped before step '{step}', as asked: what was done is journaled; apply goes on, undo goes back"
    )]
    Interrupted {
        /// The next step.
        step: String,
    },
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The machine could not be looked at.
    #[error("this machine cannot be looked at: {0}")]
    Look(#[from] io::Error),
}
