//! The checklist: a probe held against a context.
//!
//! Each theme is a file of rules; each threshold is a constant beside its source. A rule gives a row for
//! what it looked at, also when all is well, so that a list says what was looked at; what could not be
//! seen is [`Outcome::Unknown`], which is never a pass. Without a context only what matters on any
//! machine is held against it.

mod alignment;
mod arrays;
mod clock;
mod dirty;
mod disks;
mod kernel;
mod kernel_log;
mod limits;
mod lvm;
mod machine;
mod mount;
mod processor;
mod queue;
mod read_ahead;
mod row;
mod scope;
mod space;
mod traffic;

use iobound_record::{Check, Context, Outcome, Probe, Role, Watched};

use scope::Scope;

/// What the rules look at.
#[derive(Clone, Copy, Debug)]
pub struct CheckInput<'a> {
    /// The machine.
    pub probe: &'a Probe,
    /// What it is meant to be.
    pub context: Option<&'a Context>,
    /// What went on for a while; None when nobody watched.
    pub watched: Option<&'a Watched>,
    /// What is to be measured or used. Empty takes the context's file systems.
    pub targets: &'a [Target],
}

/// A directory or device that is to be measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// Directory, file or device node.
    pub path: String,
    /// What for.
    pub role: Option<Role>,
    /// Kernel names of the devices right below it, where the caller knows them (a path may lead through
    /// links, binds and overlays); empty takes the longest mount point that holds the path.
    pub devices: Vec<String>,
    /// Space that a run wants there; 0 asks only whether there is any.
    pub needs_bytes: u64,
}

/// Runs every rule. Rows come theme by theme, in a fixed order.
pub fn check(input: &CheckInput<'_>) -> Vec<Check> {
    let scope = Scope::new(input);
    let mut checks = Vec::new();
    checks.extend(machine::rules(&scope));
    checks.extend(disks::rules(&scope));
    checks.extend(arrays::rules(&scope));
    checks.extend(lvm::rules(&scope));
    checks.extend(mount::rules(&scope));
    checks.extend(alignment::rules(&scope));
    checks.extend(space::rules(&scope));
    checks.extend(read_ahead::rules(&scope));
    checks.extend(queue::rules(&scope));
    checks.extend(dirty::rules(&scope));
    checks.extend(kernel::rules(&scope));
    checks.extend(clock::rules(&scope));
    checks.extend(processor::rules(&scope));
    checks.extend(limits::rules(&scope));
    checks.extend(traffic::rules(&scope));
    checks.extend(kernel_log::rules(&scope));
    checks
}

/// How many checks came out so.
pub fn count(checks: &[Check], outcome: Outcome) -> usize {
    checks.iter().filter(|check| check.outcome == outcome).count()
}

#[cfg(test)]
pub(crate) mod tests;
