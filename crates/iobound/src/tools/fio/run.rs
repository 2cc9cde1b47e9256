//! One run of fio: started, watched, stopped when asked, never left behind.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use iobound_record::Measurement;
use thiserror::Error;

use super::find::Fio;
use super::parse::{ParseError, parse};
use super::series;
use crate::tools::running::Running;

/// How often the child, the stop flag and the caller's progress are looked after.
const TICK: Duration = Duration::from_millis(50);
/// How long fio may take to end by itself once interrupted.
const GRACE: Duration = Duration::from_secs(5);
/// How much of what fio said an error repeats, in characters from its end.
const MESSAGES_CHARS: usize = 2_000;

/// Options that would take fio's output or its life out of our hands.
const RESERVED: [&str; 13] = [
    "output",
    "output-format",
    "append-terse",
    "minimal",
    "daemonize",
    "client",
    "server",
    "remote-config",
    "parse-only",
    "showcmd",
    "crctest",
    "cmdhelp",
    "enghelp",
];

/// What to do besides running fio.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions {
    /// Have fio log each second, and read the logs into `series`. It costs fio a little time per
    /// operation: leave it off when fio's own speed is the question.
    pub series: bool,
}

/// What a run of fio gave.
#[derive(Clone, Debug, Default)]
pub struct FioReport {
    /// Name and measurement of each entry of fio's output, in its order.
    pub jobs: Vec<(String, Measurement)>,
    /// The stop flag ended it; `jobs` holds what fio had until then, or nothing.
    pub interrupted: bool,
    /// fio's exit code; None when a signal ended it. Not 0 when a job had an error.
    pub exit_code: Option<i32>,
    /// What fio said on its standard output and error.
    pub messages: String,
    /// fio's own output, JSON with whatever it put around it.
    pub output: String,
}

/// Why a run of fio gave nothing.
#[derive(Debug, Error)]
pub enum RunError {
    /// An option that this module has to set itself.
    #[error("fio option '{0}' cannot be passed on: iobound needs fio's output itself; leave it out")]
    Reserved(String),
    /// The temporary directory cannot be used.
    #[error("{what} in the temporary directory: {source}; free space there or set TMPDIR")]
    Temporary {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// fio cannot be started.
    #[error("cannot start {}: {source}; check that it runs by hand", path.display())]
    Start {
        /// The program.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The child cannot be watched.
    #[error("lost sight of the running fio: {0}; it was killed, run it again")]
    Watch(#[source] io::Error),
    /// fio ended with an error and no result.
    #[error("fio gave no result ({status}); it said: {messages}")]
    Failed {
        /// How it ended.
        status: ExitStatus,
        /// What it said, its end.
        messages: String,
    },
    /// fio ended well and its output cannot be read.
    #[error("cannot read fio's output: {source}; it said: {messages}")]
    Output {
        /// Why.
        source: ParseError,
        /// What it said, its end.
        messages: String,
    },
}

impl Fio {
    /// Runs fio with `args` (options as on its command line, or job files) in the current
    /// directory and waits for its end. `progress` is called with the time since the start, about
    /// every 50 ms.
    ///
    /// When `stop` becomes true (the caller's handler of Ctrl-C and SIGTERM sets it), fio is sent
    /// SIGINT, ends its jobs and reports what it has; after 5 s it is killed. fio runs in a process
    /// group of its own, so the terminal's Ctrl-C reaches it once, through the flag. However this
    /// call ends, by a panic too, neither fio nor the processes of its jobs are left running.
    ///
    /// Files that fio makes for its jobs stay, as fio leaves them (`unlink=1` removes them).
    ///
    /// # Errors
    /// [`RunError`]. A job that fio reports as failed is no error: its measurement says so.
    pub fn run(
        &self,
        args: &[String],
        options: RunOptions,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Duration),
    ) -> Result<FioReport, RunError> {
        if let Some(arg) = args.iter().find(|arg| is_reserved(arg)) {
            return Err(RunError::Reserved(arg.clone()));
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(FioReport { interrupted: true, ..FioReport::default() });
        }
        let room = Room::new()?;
        let prefix = options.series.then(|| room.path("series"));
        let command = self.command(args, &room, prefix.as_deref())?;
        let (status, interrupted) = self.watch(command, stop, progress)?;
        room.report(status, interrupted, prefix.as_deref())
    }

    fn command(&self, args: &[String], room: &Room, logs: Option<&Path>) -> Result<Command, RunError> {
        let messages = room.create("messages")?;
        let also = messages
            .try_clone()
            .map_err(|source| RunError::Temporary { what: "cannot share a file", source })?;
        let mut command = Command::new(&self.path);
        command
            .args(["--output-format=json", "--eta=never", "--lat_percentiles=1", "--clat_percentiles=0"])
            .arg(format!("--output={}", room.path("output").display()));
        if !args.iter().any(|arg| arg.trim_start_matches('-').starts_with("aux-path")) {
            // A verify job that is cut short saves its state; not into the person's directory.
            command.arg(format!("--aux-path={}", room.directory.path().display()));
        }
        command
            .args(logs.map(series::options).unwrap_or_default())
            .args(args)
            .stdin(Stdio::null())
            .stdout(messages)
            .stderr(also);
        Ok(command)
    }

    fn watch(
        &self,
        mut command: Command,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Duration),
    ) -> Result<(ExitStatus, bool), RunError> {
        let started = Instant::now();
        let start = Running::start(&mut command);
        let mut running = start.map_err(|source| RunError::Start { path: self.path.clone(), source })?;
        let mut asked: Option<Instant> = None;
        while !running.has_ended().map_err(RunError::Watch)? {
            match asked {
                None if stop.load(Ordering::Relaxed) => {
                    running.interrupt();
                    asked = Some(Instant::now());
                }
                Some(since) if since.elapsed() > GRACE => break,
                _ => {}
            }
            progress(started.elapsed());
            thread::sleep(TICK);
        }
        let status = running.end().map_err(RunError::Watch)?;
        Ok((status, asked.is_some()))
    }
}

/// Whether `arg` names a reserved option, in full or shortened as getopt allows.
fn is_reserved(arg: &str) -> bool {
    let Some(option) = arg.strip_prefix('-') else { return false };
    let option = option.strip_prefix('-').unwrap_or(option);
    let name = option.split('=').next().unwrap_or_default();
    // Shorter beginnings are ambiguous to fio, which then refuses them by itself.
    name.len() >= 4 && RESERVED.iter().any(|reserved| reserved.starts_with(name))
}

/// The temporary directory of one run; it goes when this goes.
struct Room {
    directory: tempfile::TempDir,
}

impl Room {
    fn new() -> Result<Room, RunError> {
        let directory = tempfile::Builder::new().prefix("iobound-fio-").tempdir();
        directory
            .map(|directory| Room { directory })
            .map_err(|source| RunError::Temporary { what: "cannot make a directory", source })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn create(&self, name: &str) -> Result<File, RunError> {
        File::create(self.path(name))
            .map_err(|source| RunError::Temporary { what: "cannot write a file", source })
    }

    /// A file that fio wrote; empty where it did not.
    fn text(&self, name: &str) -> String {
        fs::read(self.path(name))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    fn report(
        &self,
        status: ExitStatus,
        interrupted: bool,
        logs: Option<&Path>,
    ) -> Result<FioReport, RunError> {
        let (output, messages) = (self.text("output"), self.text("messages"));
        let jobs = match parse(&output) {
            Ok(jobs) => jobs,
            // Interrupted before it had anything to say, or killed.
            Err(_) if interrupted => Vec::new(),
            Err(source) => {
                let messages = end_of(if messages.trim().is_empty() { &output } else { &messages });
                return Err(if status.success() {
                    RunError::Output { source, messages }
                } else {
                    RunError::Failed { status, messages }
                });
            }
        };
        let mut report = FioReport { jobs, interrupted, exit_code: status.code(), messages, output };
        let series = logs.map(|prefix| series::read(prefix, report.jobs.len())).unwrap_or_default();
        for (i, (_, measurement)) in report.jobs.iter_mut().enumerate() {
            measurement.interrupted = interrupted;
            measurement.series = series.get(i).cloned().unwrap_or_default();
        }
        Ok(report)
    }
}

fn end_of(messages: &str) -> String {
    let messages = messages.trim();
    let skip = messages.chars().count().saturating_sub(MESSAGES_CHARS);
    if messages.is_empty() { "nothing".into() } else { messages.chars().skip(skip).collect() }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
