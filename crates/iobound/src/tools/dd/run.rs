//! One run of dd: started, watched, ended in time, never left behind.

use std::io::{Read, Seek};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

use super::find::Dd;
use super::parse::{Copied, ParseError, parse};
use crate::tools::running::Running;

/// How often the child and the stop flag are looked after.
const TICK: Duration = Duration::from_millis(10);
/// How long dd may take to end once interrupted: one write, and its sync.
const GRACE: Duration = Duration::from_secs(10);
/// How much of what dd said is read.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;

/// What a run of dd gave.
#[derive(Clone, Debug, PartialEq)]
pub struct DdReport {
    /// What it copied.
    pub copied: Copied,
    /// The stop flag ended it.
    pub interrupted: bool,
}

/// Why a run of dd gave nothing.
#[derive(Debug, Error)]
pub enum RunError {
    /// The temporary directory cannot be used.
    #[error("a temporary file for dd's output: {0}; free space in the temporary directory or set TMPDIR")]
    Temporary(#[source] std::io::Error),
    /// dd cannot be started.
    #[error("cannot start {}: {source}; check that it runs by hand", path.display())]
    Start {
        /// The program.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The child cannot be watched.
    #[error("lost sight of the running dd: {0}; it was killed, run it again")]
    Watch(#[source] std::io::Error),
    /// dd ended with an error.
    #[error("dd failed ({status}): {messages}")]
    Failed {
        /// How it ended.
        status: ExitStatus,
        /// What it said.
        messages: String,
    },
    /// dd ended well and its output cannot be read.
    #[error("{source}; it said: {messages}")]
    Output {
        /// Why.
        source: ParseError,
        /// What it said.
        messages: String,
    },
}

impl Dd {
    /// Runs dd with `args` and waits for its end, or ends it after `longest` or when `stop` is set: by
    /// SIGINT, on which dd says what it copied.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn run(
        &self,
        args: &[String],
        longest: Option<Duration>,
        stop: &AtomicBool,
    ) -> Result<DdReport, RunError> {
        let mut output = tempfile::tempfile().map_err(RunError::Temporary)?;
        let errors = output.try_clone().map_err(RunError::Temporary)?;
        let mut command = Command::new(&self.path);
        // Its words and numbers are those of the locale.
        command.args(args).env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        let started = Instant::now();
        let mut running = Running::start(&mut command)
            .map_err(|source| RunError::Start { path: self.path.clone(), source })?;
        let mut asked: Option<Instant> = None;
        while !running.has_ended().map_err(RunError::Watch)? {
            let over = longest.is_some_and(|longest| started.elapsed() >= longest);
            match asked {
                None if over || stop.load(Ordering::Relaxed) => {
                    running.interrupt();
                    asked = Some(Instant::now());
                }
                Some(since) if since.elapsed() > GRACE => break,
                _ => {}
            }
            thread::sleep(TICK);
        }
        let status = running.end().map_err(RunError::Watch)?;
        let mut bytes = Vec::new();
        output
            .rewind()
            .and_then(|()| output.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes))
            .map_err(RunError::Temporary)?;
        let (copied, messages) = parse(&String::from_utf8_lossy(&bytes));
        let messages = if messages.is_empty() { "nothing".into() } else { messages.join("; ") };
        if !status.success() && asked.is_none() {
            return Err(RunError::Failed { status, messages });
        }
        let copied = copied.map_err(|source| RunError::Output { source, messages })?;
        Ok(DdReport { copied, interrupted: stop.load(Ordering::Relaxed) })
    }
}
