//! Runs the real binary as a person would, and shows everything when it does not do as expected.

// Each test binary uses the part of this that it needs.
#![allow(dead_code)]

pub mod fio;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use iobound_record::{Measurement, Run};
use rustix::process::{Pid, Signal, kill_process};

/// The program under test.
pub const IOBOUND: &str = env!("CARGO_BIN_EXE_iobound");

/// Exit codes: 0 done, and these.
pub const BOUND_FAILED: i32 = 1;
/// Bad usage.
pub const USAGE: i32 = 2;
/// Refused to protect data.
pub const REFUSED: i32 = 3;
/// The run broke.
pub const BROKE: i32 = 4;

/// Longer than any run of a test takes; a run that hangs is killed and fails.
const TIMEOUT: Duration = Duration::from_secs(180);

/// Tests that measure time take turns: they share one disk and a few processors.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place for one test: `target/` is the directory under test and the working directory; job
/// files, outputs and streams stand beside it.
pub struct Case {
    dir: tempfile::TempDir,
    target: PathBuf,
    number: AtomicU32,
}

impl Case {
    /// A case whose target is an empty directory beside the rest.
    pub fn new() -> Self {
        let mut case = Self::on(Path::new(""));
        case.target = case.dir.path().join("target");
        fs::create_dir(&case.target).unwrap();
        fs::set_permissions(&case.target, fs::Permissions::from_mode(0o777)).unwrap();
        case
    }

    /// A case whose target is `target`, for example the root of a mounted volume.
    pub fn on(target: &Path) -> Self {
        // Named after its process, so that what is left behind can be told from what is in use.
        let prefix = format!("iobound-test-{}-", std::process::id());
        let dir = tempfile::Builder::new().prefix(&prefix).tempdir().unwrap();
        // Others must reach the target too, when the program runs as somebody else.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        Case { dir, target: target.into(), number: AtomicU32::new(0) }
    }

    /// The directory under test.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// A path beside the target.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn next(&self, prefix: &str, suffix: &str) -> PathBuf {
        let n = self.number.fetch_add(1, Ordering::Relaxed);
        self.beside(&format!("{prefix}-{n}{suffix}"))
    }

    /// Writes a fio job file; its path, as an argument.
    pub fn job(&self, text: &str) -> String {
        let path = self.next("job", ".fio");
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Every file below the target, so that two moments can be compared.
    pub fn files(&self) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        let mut left = vec![self.target.clone()];
        while let Some(dir) = left.pop() {
            for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    left.push(entry.path());
                }
                found.insert(entry.path());
            }
        }
        found
    }

    /// Runs `iobound run ARGUMENTS --out DIR` in the target directory, to its end.
    pub fn run(&self, arguments: &[&str]) -> Outcome {
        self.run_as(Command::new(IOBOUND), arguments)
    }

    /// The same with a command of the caller's that ends in the program: a volume's, or `setpriv`.
    pub fn run_as(&self, command: Command, arguments: &[&str]) -> Outcome {
        self.start_as(command, arguments).finish()
    }

    /// Starts the program and returns while it runs.
    pub fn start(&self, arguments: &[&str]) -> Running {
        self.start_as(Command::new(IOBOUND), arguments)
    }

    /// The same with a command of the caller's that ends in the program.
    pub fn start_as(&self, command: Command, arguments: &[&str]) -> Running {
        self.start_subcommand(command, "run", arguments)
    }

    /// Runs `iobound stream ARGUMENTS --out DIR` in the target directory, to its end.
    pub fn stream(&self, arguments: &[&str]) -> Outcome {
        self.start_stream(arguments).finish()
    }

    /// Starts a stream and returns while it runs.
    pub fn start_stream(&self, arguments: &[&str]) -> Running {
        self.start_subcommand(Command::new(IOBOUND), "stream", arguments)
    }

    /// Starts a subcommand by a command of the caller's that ends in the program.
    pub fn start_subcommand(&self, mut command: Command, subcommand: &str, arguments: &[&str]) -> Running {
        let out = self.next("out", "");
        let (stdout, stderr) = (self.next("stdout", ""), self.next("stderr", ""));
        command.arg(subcommand).args(arguments).arg("--out").arg(&out).current_dir(&self.target);
        // Files, not pipes: a full pipe would stall the program, and a stalled one is a slow device.
        command.stdin(Stdio::null());
        command.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let line = format!("{command:?}");
        Running { child, line, dir: self.target.clone(), stdout, stderr, out, started: Instant::now() }
    }
}

/// A run that has not ended.
pub struct Running {
    child: Child,
    line: String,
    dir: PathBuf,
    stdout: PathBuf,
    stderr: PathBuf,
    out: PathBuf,
    started: Instant,
}

impl Running {
    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        // Gone already is fine: the test looks at how it ended.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Waits until `seconds` after the start.
    pub fn let_run(&self, seconds: f64) {
        let end = self.started + Duration::from_secs_f64(seconds);
        std::thread::sleep(end.saturating_duration_since(Instant::now()));
    }

    /// Waits until the program says for the `nth` time (from 1) that it is measuring, then `seconds`
    /// more: how long it takes to get there depends on the machine's mood.
    pub fn let_measure(&mut self, nth: usize, seconds: f64) {
        let says = || fs::read_to_string(&self.stderr).unwrap_or_default().matches(" measuring").count();
        while says() < nth && self.started.elapsed() < TIMEOUT {
            if self.child.try_wait().unwrap().is_some() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_secs_f64(seconds));
    }

    /// Waits for the end.
    pub fn finish(mut self) -> Outcome {
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if self.started.elapsed() > TIMEOUT {
                let _ = self.child.kill();
                let status = self.child.wait().unwrap();
                let outcome = self.outcome(status);
                panic!("still running after {TIMEOUT:?}\n{outcome}");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        self.outcome(status)
    }

    fn outcome(&self, status: ExitStatus) -> Outcome {
        let read = |path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        Outcome {
            line: self.line.clone(),
            dir: self.dir.clone(),
            status,
            stdout: read(&self.stdout),
            stderr: read(&self.stderr),
            out: self.out.clone(),
            seconds: self.started.elapsed().as_secs_f64(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that panicked must not leave its program running.
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// How a run ended. Printed, it is the whole story.
pub struct Outcome {
    line: String,
    dir: PathBuf,
    status: ExitStatus,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The directory of `--out`.
    pub out: PathBuf,
    /// How long it took.
    pub seconds: f64,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "command: {}", self.line)?;
        writeln!(f, "in:      {}", self.dir.display())?;
        writeln!(f, "ended:   {} after {:.2} s", self.status, self.seconds)?;
        writeln!(f, "--- stdout\n{}\n--- stderr\n{}\n---", self.stdout.trim_end(), self.stderr.trim_end())
    }
}

impl Outcome {
    /// Exit code; None when a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The signal that ended it.
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// Fails unless it ended with one of `codes`, and without a panic.
    pub fn expect(self, codes: &[i32]) -> Self {
        assert!(!self.stderr.contains("panicked at"), "the program panicked\n{self}");
        let ended = self.code().is_some_and(|code| codes.contains(&code));
        assert!(ended, "expected exit code {codes:?}\n{self}");
        self
    }

    /// Fails unless it is done: 0, or 1 when a verdict failed.
    pub fn expect_done(self) -> Self {
        self.expect(&[0, BOUND_FAILED])
    }

    /// Fails unless standard error has every one of `words`, in any case. A word may give
    /// alternatives: `space|full`.
    pub fn expect_says(self, words: &[&str]) -> Self {
        if let Some(word) = missing(&self.stderr, words) {
            panic!("standard error does not say '{word}'\n{self}");
        }
        self
    }

    /// The same of both streams: a fault in the middle of a run is part of its results.
    pub fn expect_reports(self, words: &[&str]) -> Self {
        if let Some(word) = missing(&format!("{}{}", self.stdout, self.stderr), words) {
            panic!("no stream says '{word}'\n{self}");
        }
        self
    }

    /// The record that it wrote, if it wrote one.
    pub fn try_record(&self) -> Option<Run> {
        let text = fs::read_to_string(self.out.join("run.json")).ok()?;
        match serde_json::from_str(&text) {
            Ok(run) => Some(run),
            Err(error) => panic!("run.json is not a record: {error}\n{self}"),
        }
    }

    /// The record that it wrote.
    pub fn record(&self) -> Run {
        self.try_record().unwrap_or_else(|| panic!("no run.json\n{self}"))
    }

    /// What its only job measured.
    pub fn measurement(&self) -> Measurement {
        let run = self.record();
        assert_eq!(run.scenarios.len(), 1, "one job was asked for\n{self}");
        run.scenarios[0].measurement.clone().unwrap_or_else(|| panic!("no measurement\n{self}"))
    }
}

/// The first of `words` that `text` has no alternative of.
fn missing<'a>(text: &str, words: &[&'a str]) -> Option<&'a str> {
    let text = text.to_lowercase();
    words.iter().copied().find(|word| !word.split('|').any(|word| text.contains(&word.to_lowercase())))
}

/// Fails unless `seen` is within `percent` of `expected`; says both either way.
pub fn assert_near(what: &str, seen: f64, expected: f64, percent: f64) {
    let off = (seen / expected - 1.0) * 100.0;
    println!("{what}: {seen:.1}, expected {expected:.1} ({off:+.2}%)");
    assert!(off.abs() <= percent, "{what}: {seen:.1} is {off:+.2}% from {expected:.1}; allowed {percent}%");
}

/// A file of `size` bytes with data in every block.
pub fn make_file(path: &Path, size: usize) {
    use std::io::{Read, Write};
    let mut piece = vec![0; 1 << 20];
    File::open("/dev/urandom").unwrap().read_exact(&mut piece).unwrap();
    let mut file = File::create(path).unwrap();
    let mut left = size;
    while left > 0 {
        // One piece over and over is enough: nothing below a test compresses or finds duplicates.
        let length = left.min(piece.len());
        file.write_all(&piece[..length]).unwrap();
        left -= length;
    }
    file.sync_all().unwrap();
}

/// A short number for a file's content, to see whether it changed.
pub fn fingerprint(path: &Path) -> u64 {
    use std::hash::{DefaultHasher, Hasher};
    let mut hasher = DefaultHasher::new();
    hasher.write(&fs::read(path).unwrap());
    hasher.finish()
}
