//! The program, started and heard.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// `iobound durability ARGUMENTS`.
pub fn durability(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iobound"));
    command.arg("durability").args(arguments).stdin(Stdio::null());
    command
}

/// A directory of one test.
pub fn directory() -> tempfile::TempDir {
    tempfile::Builder::new().prefix(&format!("iobound-test-{}-", std::process::id())).tempdir().unwrap()
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// What it printed, and how it ended.
pub fn told(output: &Output) -> String {
    let streams = [&output.stdout, &output.stderr].map(|stream| String::from_utf8_lossy(stream).into_owned());
    format!("{}\n{}\n{}", output.status, streams[0], streams[1])
}

/// Runs it to its end, which must have this code; what it printed.
#[track_caller]
pub fn run(arguments: &[&str], code: i32) -> String {
    let output = durability(arguments).output().unwrap();
    let told = told(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
    assert!(!told.contains("panicked"), "{told}");
    told
}

/// A program in the background. Dropped, it is killed.
pub struct Background {
    child: Child,
    streams: PathBuf,
}

impl Background {
    /// Starts it; its streams go to a file named `name` in `directory`.
    pub fn start(directory: &Path, name: &str, arguments: &[&str]) -> Self {
        let streams = directory.join(name);
        let file = File::create(&streams).unwrap();
        let child = durability(arguments).stdout(file.try_clone().unwrap()).stderr(file).spawn().unwrap();
        Background { child, streams }
    }

    /// What it printed so far.
    pub fn told(&self) -> String {
        std::fs::read_to_string(&self.streams).unwrap_or_default()
    }

    /// Waits until it prints something.
    #[track_caller]
    pub fn wait_for(&self, words: &str) -> String {
        until(&format!("'{words}'"), || self.told(), |told| told.contains(words))
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Waits for its end; its exit code and what it printed.
    #[track_caller]
    pub fn finish(mut self) -> (Option<i32>, String) {
        let status = until("the end", || self.child.try_wait().unwrap(), Option::is_some).unwrap();
        let told = self.told();
        assert!(!told.contains("panicked"), "{told}");
        (status.code(), told)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until the log has so many acknowledgements.
#[track_caller]
pub fn wait_for_acks(log: &Path, count: usize) {
    let acks = || std::fs::read_to_string(log).unwrap_or_default().matches("\nack ").count();
    until(&format!("{count} acknowledgements"), acks, |&now| now >= count);
}

#[track_caller]
fn until<T: std::fmt::Debug>(what: &str, mut look: impl FnMut() -> T, done: impl Fn(&T) -> bool) -> T {
    let started = Instant::now();
    loop {
        let now = look();
        if done(&now) {
            return now;
        }
        assert!(started.elapsed() < PATIENCE, "waited in vain for {what}: {now:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
