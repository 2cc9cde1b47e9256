//! What can be wrong with a job file, where it stands, and how it reads at 3 a.m.

use std::fmt;
use std::sync::Arc;

use iobound_record::JobError;
use thiserror::Error as ThisError;

use crate::limits::{ERRORS_MAX, QUOTED_MAX};

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as the caller or the `include` line named it.
    pub file: Arc<str>,
    /// Line, from 1; 0 where the whole file is meant.
    pub line: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        Ok(())
    }
}

/// What is wrong.
#[derive(ThisError, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// No program of this family knows the option.
    #[error("unknown option '{}'{}{}", quoted(option), in_line(option, value.as_deref()), did_you_mean(nearest))]
    UnknownOption {
        /// The name as written.
        option: String,
        /// The value as written; None for a bare flag.
        value: Option<String>,
        /// The known option nearest to it.
        nearest: Option<&'static str>,
    },
    /// fio knows the option, or this value of it, and iobound would measure something else.
    #[error("cannot honour '{}': {why}", assignment(option, value.as_deref()))]
    CannotHonour {
        /// The option as written.
        option: String,
        /// The value as written.
        value: Option<String>,
        /// Why not, and what to write instead.
        why: String,
    },
    /// The value is no value for this option.
    #[error("bad value '{}': {why}", assignment(option, value.as_deref()))]
    BadValue {
        /// The option as written.
        option: String,
        /// The value as written.
        value: Option<String>,
        /// Why, and what to write instead.
        why: String,
    },
    /// The option needs a value and has none.
    #[error("option '{option}' needs a value; write {option}={example}")]
    MissingValue {
        /// The option.
        option: String,
        /// A value that would do.
        example: &'static str,
    },
    /// An option before the first `[section]`.
    #[error("'{}' stands before the first [section]; put it under [global] or a job's [name]", quoted(text))]
    OutsideSection {
        /// The line.
        text: String,
    },
    /// A section header that is none.
    #[error("'{}' is no section header: {why}", quoted(text))]
    BadSection {
        /// The line.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A section in an included file.
    #[error("section '{}' in an included file; fio allows options only there", quoted(text))]
    SectionInInclude {
        /// The line.
        text: String,
    },
    /// An included file that cannot be read.
    #[error("cannot include '{}': {why}", quoted(path))]
    Include {
        /// The path as written.
        path: String,
        /// The reason.
        why: String,
    },
    /// `${NAME}` of a variable that is not set.
    #[error(
        "environment variable '{}' is not set; set it, for example {}=... iobound run FILE",
        quoted(name),
        quoted(name)
    )]
    UnsetVariable {
        /// Its name.
        name: String,
    },
    /// The options together make no job.
    #[error(transparent)]
    Invalid(#[from] JobError),
    /// Nothing to run.
    #[error("no job: add a section, for example [randread]")]
    NoJobs,
    /// A job without a name in the TOML form.
    #[error("this [[job]] has no name; add name = \"...\"")]
    NoName,
    /// A table or key of the TOML form that stands in the wrong place.
    #[error(
        "unexpected '{}': the TOML form has one [global] table and [[job]] tables{}",
        quoted(key),
        did_you_mean(nearest)
    )]
    UnexpectedKey {
        /// The key.
        key: String,
        /// The table that may have been meant.
        nearest: Option<&'static str>,
    },
    /// The text is no TOML.
    #[error("no valid TOML: {why}")]
    TomlSyntax {
        /// The parser's words.
        why: String,
    },
    /// More than the reader takes.
    #[error("{what}: the limit is {limit}")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// How much is allowed, with its unit.
        limit: String,
    },
    /// The file cannot be read.
    #[error("cannot be read: {why}")]
    Unreadable {
        /// The system's words.
        why: String,
    },
}

/// One error and its place.
#[derive(ThisError, Clone, Debug, PartialEq, Eq)]
#[error("{place}: {cause}")]
pub struct Error {
    /// Where.
    pub place: Place,
    /// What.
    pub cause: Cause,
}

/// Every error of a job file, in the order of its lines, those of included files last; never empty
/// when returned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    list: Vec<Error>,
    untold: usize,
}

impl Errors {
    /// The errors, in that order.
    pub fn iter(&self) -> impl Iterator<Item = &Error> {
        self.list.iter()
    }

    /// How many errors there are, those past the reporting limit included.
    pub fn len(&self) -> usize {
        self.list.len() + self.untold
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn push(&mut self, place: &Place, cause: Cause) {
        let error = Error { place: place.clone(), cause };
        if self.list.contains(&error) {
            return;
        }
        if self.list.len() < ERRORS_MAX {
            self.list.push(error);
        } else {
            self.untold += 1;
        }
    }

    /// In the order in which people meet them: the lines of the file itself, then those of what it
    /// includes.
    pub(crate) fn in_order(mut self, main: &Place) -> Errors {
        self.list
            .sort_by_key(|error| (error.place.file != main.file, error.place.file.clone(), error.place.line));
        self
    }

    /// One error alone.
    pub(crate) fn one(place: &Place, cause: Cause) -> Errors {
        let mut errors = Errors::default();
        errors.push(place, cause);
        errors
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.list.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        if self.untold > 0 {
            write!(f, "\n... and {} more", self.untold)?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}

/// `text` fit for one line of a terminal: no control characters, and not endless.
pub(crate) fn quoted(text: &str) -> String {
    let mut out: String =
        text.chars().take(QUOTED_MAX).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(QUOTED_MAX).is_some() {
        out.push_str("...");
    }
    out
}

/// `option=value`, or the bare option.
fn assignment(option: &str, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("{}={}", quoted(option), quoted(value)),
        None => quoted(option),
    }
}

/// The whole assignment, where there is more of it than the name that was told already.
fn in_line(option: &str, value: Option<&str>) -> String {
    value.map(|_| format!(" in '{}'", assignment(option, value))).unwrap_or_default()
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest.map(|name| format!("; did you mean '{name}'?")).unwrap_or_default()
}
