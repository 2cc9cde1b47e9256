//! Whether a hardware context holds together, and what a host's own would be.
//!
//! - [`validate`]: everything wrong with a context, each with its place and what to do;
//! - [`capacity`]: what an array or volume of it holds;
//! - [`detect`]: a context of what a probe found.

mod arrays;
mod capacity;
mod detect;
mod detect_os;
mod filesystems;
mod names;
mod os;
mod volumes;
mod words;

use std::fmt;

use iobound_record::{CONTEXT_VERSION, Context, Severity};

pub use capacity::{capacity, leaves, members};
pub use detect::{Detected, WalLink, detect};
pub use volumes::same_serial;
pub use words::nearest_to;

/// Something wrong with a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// An error keeps the context from being used; a warning does not.
    pub severity: Severity,
    /// Where: `array.md0.members`, `filesystem./data.mount`.
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.place, self.what, self.remedy)
    }
}

/// Problems as they are found.
#[derive(Default)]
struct Found(Vec<Problem>);

impl Found {
    fn error(&mut self, place: impl Into<String>, what: impl Into<String>, remedy: impl Into<String>) {
        self.add(Severity::Error, place.into(), what.into(), remedy.into());
    }

    fn warning(&mut self, place: impl Into<String>, what: impl Into<String>, remedy: impl Into<String>) {
        self.add(Severity::Warning, place.into(), what.into(), remedy.into());
    }

    fn add(&mut self, severity: Severity, place: String, what: String, remedy: String) {
        self.0.push(Problem { severity, place, what, remedy });
    }
}

/// Everything wrong with a context, in the order of the file. Without an [`Severity::Error`] among it
/// the context can be built and checked against.
pub fn validate(context: &Context) -> Vec<Problem> {
    let mut found = Found::default();
    if context.schema != CONTEXT_VERSION {
        found.error(
            "schema",
            format!("is {}, this iobound reads {CONTEXT_VERSION}", context.schema),
            format!("write schema = {CONTEXT_VERSION}, or use the iobound that wrote the file"),
        );
    }
    words::check_name(&mut found, "name", &context.name);
    volumes::instance(&mut found, &context.instance);
    volumes::volumes(&mut found, context);
    names::unique(&mut found, context);
    arrays::arrays(&mut found, context);
    filesystems::filesystems(&mut found, context);
    os::settings(&mut found, &context.os);
    found.0
}

/// Whether a context can be used: no error among its problems.
pub fn is_usable(problems: &[Problem]) -> bool {
    problems.iter().all(|problem| problem.severity != Severity::Error)
}

#[cfg(test)]
mod detect_tests;
#[cfg(test)]
mod tests;
