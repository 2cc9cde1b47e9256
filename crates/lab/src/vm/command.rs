//! Commands for the guest, and what came of them.

use std::fmt;
use std::time::{Duration, Instant};

use super::channel::{Event, Running};
use crate::LabError;

/// Enough for an mkfs under translation; a measurement says its own.
const LIMIT_DEFAULT: Duration = Duration::from_secs(120);

/// A command to run in the guest, as root, in `/root`.
#[derive(Clone, Debug)]
pub struct GuestCommand {
    pub(super) words: Vec<String>,
    pub(super) stdin: Option<Vec<u8>>,
    pub(super) limit: Duration,
}

impl GuestCommand {
    /// `sh -c script`.
    pub fn shell(script: impl Into<String>) -> Self {
        Self::program(["sh".to_owned(), "-c".to_owned(), script.into()])
    }

    /// A program and its arguments.
    pub fn program(words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let words = words.into_iter().map(Into::into).collect();
        GuestCommand { words, stdin: None, limit: LIMIT_DEFAULT }
    }

    /// Its standard input; empty if not said.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// How long it may take; two minutes if not said.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }
}

impl From<&str> for GuestCommand {
    fn from(script: &str) -> Self {
        Self::shell(script)
    }
}

impl From<String> for GuestCommand {
    fn from(script: String) -> Self {
        Self::shell(script)
    }
}

impl fmt::Display for GuestCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.words[..] {
            [sh, dash_c, script] if sh == "sh" && dash_c == "-c" => f.write_str(script),
            words => f.write_str(&words.join(" ")),
        }
    }
}

/// What a command of the guest came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Its exit code; 128 + n when signal n ended it.
    pub code: i32,
    /// Its standard output; bytes that are not UTF-8 are replaced.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Output {
    /// Its standard output if its exit code is 0.
    ///
    /// # Errors
    /// Failed with all that is known.
    pub fn expect_success(self, what: &str) -> Result<String, LabError> {
        if self.code == 0 {
            return Ok(self.stdout);
        }
        Err(LabError::Failed(format!(
            "in the guest: {what}: code {}\n{}{}",
            self.code, self.stdout, self.stderr
        )))
    }
}

/// Follows a command to its end.
pub(super) fn collect(running: &Running, deadline: Option<Instant>, what: &str) -> Result<Output, LabError> {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    loop {
        match running.next_event(deadline)? {
            Some(Event::Stdout(bytes)) => stdout.extend(bytes),
            Some(Event::Stderr(bytes)) => stderr.extend(bytes),
            Some(Event::Ended(code)) => {
                return Ok(Output { code, stdout: text(&stdout), stderr: text(&stderr) });
            }
            None => {
                let said = text(&stdout) + &text(&stderr);
                return Err(LabError::TimedOut(format!("in the guest: {what}: its time is over\n{said}")));
            }
        }
    }
}
