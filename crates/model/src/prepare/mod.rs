//! What has to change on a host to become what a context says.
//!
//! [`plan`] is a pure function, and it is asked again after each step: a step is done when the plan
//! says so, which makes "already so", "verified" and "drifted" one and the same question.

mod arrays;
mod builder;
mod deps;
mod directories;
mod evidence;
mod filesystems;
mod fstab;
mod identity;
mod os;
mod queues;
mod sane;
mod script;
mod words;

pub use builder::{Input, interests, plan};
pub use evidence::evidence;
pub use fstab::{FstabEntry, parse_fstab};
pub use script::scripts;
pub use words::command_line;

/// First line of every file and every block of lines that is ours.
pub const MARK: &str = "# iobound prepare";
