//! Whether a job may touch a target.
//!
//! [`check`] decides before anything is opened for writing, and never alters what it looks at.
//! Every way to lose data that it knows of is a [`Reason`]; the caller opens what was checked and
//! has [`Target::confirm`] make sure that it is still the same thing.

mod check;
mod claims;
mod device;
mod exclusive;
mod lock;
mod magic;
mod owner;
mod refusal;
mod signature;
mod space;

pub use check::{Intent, Policy, Target, TargetKind, Wants, check};
pub use claims::{Claim, claims};
pub(crate) use exclusive::{is_busy, open_exclusively};
pub use lock::{Lock, lock};
pub use owner::{is_ours, mark_ours, unmark};
pub use refusal::{Reason, Refusal};
pub use signature::{Signature, signatures};
pub use space::{FreeSpace, check_space, free_space};
