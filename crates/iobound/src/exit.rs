//! Exit codes, all in one place.

use std::fmt;

use iobound_engine::EngineError;
use iobound_host::guard::Refusal;

/// Done.
pub const DONE: u8 = 0;
/// Done, and a bound or verdict failed.
pub const FAILED: u8 = 1;
/// Bad usage: nothing was started.
pub const USAGE: u8 = 2;
/// Refused to protect data: nothing was touched.
pub const REFUSED: u8 = 3;
/// The run broke, or was interrupted: what was measured before is kept.
pub const BROKE: u8 = 4;

/// An error with the exit code it ends the program with.
#[derive(Debug)]
pub struct Failure {
    /// One of this file's codes.
    pub code: u8,
    /// Cause and remedy, for people.
    pub words: String,
}

impl Failure {
    /// Nothing was started.
    pub fn usage(words: impl fmt::Display) -> Self {
        Failure { code: USAGE, words: words.to_string() }
    }

    /// The run broke.
    pub fn broke(words: impl fmt::Display) -> Self {
        Failure { code: BROKE, words: words.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl std::error::Error for Failure {}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let code = match &error {
            EngineError::Job(_)
            | EngineError::Target { .. }
            | EngineError::Backend { .. }
            | EngineError::Memory { .. }
            | EngineError::Pool { .. } => USAGE,
            EngineError::Broke { .. } => BROKE,
        };
        Failure { code, words: error.to_string() }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Failure { code: refusal.exit_code(), words: refusal.to_string() }
    }
}
