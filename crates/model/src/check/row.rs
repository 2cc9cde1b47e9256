//! A row of the checklist in the making.

use iobound_record::{Check, Outcome};

/// Builds a [`Check`]; the last call says how it came out.
pub(super) struct Row(Check);

impl Row {
    pub(super) fn new(id: &str, subject: &str) -> Row {
        Row(Check {
            id: id.into(),
            subject: subject.into(),
            outcome: Outcome::Unknown,
            value: String::new(),
            expected: String::new(),
            why: String::new(),
            mend: String::new(),
        })
    }

    pub(super) fn value(mut self, value: impl Into<String>) -> Row {
        self.0.value = value.into();
        self
    }

    pub(super) fn expected(mut self, expected: impl Into<String>) -> Row {
        self.0.expected = expected.into();
        self
    }

    pub(super) fn why(mut self, why: impl Into<String>) -> Row {
        self.0.why = why.into();
        self
    }

    pub(super) fn mend(mut self, mend: impl Into<String>) -> Row {
        self.0.mend = mend.into();
        self
    }

    /// The row, with that outcome; one that passed has nothing to mend.
    pub(super) fn is(mut self, outcome: Outcome) -> Check {
        if outcome == Outcome::Pass {
            self.0.mend.clear();
        }
        self.0.outcome = outcome;
        self.0
    }

    /// Passes, or comes out as `otherwise`.
    pub(super) fn passes_if(self, good: bool, otherwise: Outcome) -> Check {
        self.is(if good { Outcome::Pass } else { otherwise })
    }

    /// Could not be looked at, and why.
    pub(super) fn unknown(self, why: impl Into<String>) -> Check {
        self.value("not known").why(why).is(Outcome::Unknown)
    }
}

/// A path as a shell takes it: commands that mend are copied and run by root.
pub(super) fn shell(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:=@!,".contains(c);
    if !path.is_empty() && path.chars().all(plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}

/// The node of a kernel name.
pub(super) fn node(name: &str) -> String {
    shell(&format!("/dev/{}", name.replace('!', "/")))
}

/// The command that sets an attribute of a device's queue.
pub(super) fn set_queue(device: &str, attribute: &str, value: impl std::fmt::Display) -> String {
    let file = shell(&format!("/sys/block/{device}/queue/{attribute}"));
    format!("echo {value} | sudo tee {file}")
}
