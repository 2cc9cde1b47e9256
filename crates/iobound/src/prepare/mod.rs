//! Setting a host up: the pure plan of `model` joined to the machine of `host`, and what people read.

mod named;
mod planner;
mod status;
mod words;

pub use named::{NamedDisk, named};
pub use planner::{ContextPlanner, context_hash};
pub use status::{Standing, StepStatus, status};
pub use words::{plan_text, status_text, told};
