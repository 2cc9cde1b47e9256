//! What was promised: the acknowledgement log, read.

use std::io::{self, Read};
use std::path::PathBuf;

use thiserror::Error;

use super::ack::{Hello, Line, LineError, Lines, Step, Why};

/// An operation that failed during the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Failed {
    /// Which thread.
    pub thread: u32,
    /// Which record of it.
    pub seq: u64,
    /// What failed.
    pub step: Step,
    /// With which error.
    pub errno: i32,
}

/// What the log says of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promises {
    /// The run.
    pub hello: Hello,
    /// Acknowledgements that arrived.
    pub acks: u64,
    /// The last acknowledged record of each thread, 0 for none. All before it were acknowledged too:
    /// a thread writes the next only when it has sent the last one's acknowledgement.
    pub last: Vec<u64>,
    /// Operations that failed.
    pub failed: Vec<Failed>,
    /// Why the run ended, if it ended before the power did.
    pub ended: Option<Why>,
    /// Lines of the log that are none, or that contradict the run's sizes.
    pub damaged_lines: u64,
    /// Other runs in the same log.
    pub other_runs: Vec<u64>,
}

/// A log that says nothing.
#[derive(Debug, Error)]
pub enum LogError {
    /// It cannot be read.
    #[error("{}: cannot be read: {error}", path.display())]
    Unreadable {
        /// The log.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// No run in it.
    #[error("{}: no run begins in it ({lines} lines, {damaged} of them damaged); name the log that --acks or 'serve --log' made", path.display())]
    NoRun {
        /// The log.
        path: PathBuf,
        /// Lines in it.
        lines: u64,
        /// Lines that are none.
        damaged: u64,
    },
    /// Not the wanted one.
    #[error("{}: run {run:016x} is not in it; it has {}", path.display(), names(others))]
    NotThisRun {
        /// The log.
        path: PathBuf,
        /// The one that was asked for.
        run: u64,
        /// Those that are there.
        others: Vec<u64>,
    },
    /// A run of another version.
    #[error("{}: a line of it cannot be used: {error}", path.display())]
    Version {
        /// The log.
        path: PathBuf,
        /// Which.
        error: LineError,
    },
}

fn names(runs: &[u64]) -> String {
    runs.iter().map(|run| format!("{run:016x}")).collect::<Vec<_>>().join(", ")
}

/// Reads a log; of several runs the one asked for, or the last.
///
/// # Errors
/// There is no such run in it.
pub fn read_log(path: &std::path::Path, wanted: Option<u64>) -> Result<Promises, LogError> {
    let unreadable = |error| LogError::Unreadable { path: path.into(), error };
    let mut file = std::fs::File::open(path).map_err(unreadable)?;
    let mut reader = Reader::default();
    let mut lines = Lines::default();
    let mut piece = vec![0; 1 << 16];
    loop {
        match file.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => lines.take(&piece[..length], |line| reader.line(line)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(error)),
        }
    }
    // What has no end was cut by whatever ended the run: not acknowledged.
    reader.damaged += u64::from(!lines.rest().is_empty());
    let (count, damaged) = (reader.lines, reader.damaged);
    if let (Some(version), None) = (reader.other_version.take(), wanted) {
        return Err(LogError::Version { path: path.into(), error: version });
    }
    let others: Vec<u64> = reader.runs.iter().map(|run| run.hello.run).collect();
    match (reader.finish(wanted), wanted) {
        (Some(promises), _) => Ok(promises),
        (None, Some(run)) if !others.is_empty() => {
            Err(LogError::NotThisRun { path: path.into(), run, others })
        }
        (None, _) => Err(LogError::NoRun { path: path.into(), lines: count, damaged }),
    }
}

/// Takes lines in, from any log whatever.
#[derive(Debug, Default)]
pub struct Reader {
    runs: Vec<Promises>,
    lines: u64,
    damaged: u64,
    other_version: Option<LineError>,
}

impl Reader {
    /// One line, without its end.
    pub fn line(&mut self, bytes: &[u8]) {
        self.lines += 1;
        match Line::parse(bytes) {
            Ok(Line::Hello(hello)) => self.begin(*hello),
            Ok(line) => {
                let run = self.runs.iter_mut().rev().find(|known| known.hello.run == line.run());
                let fits = run.is_some_and(|run| run.take(&line));
                self.damaged += u64::from(!fits);
            }
            Err(error @ LineError::Version(_)) => {
                self.other_version = Some(error);
                self.damaged += 1;
            }
            Err(_) => self.damaged += 1,
        }
    }

    fn begin(&mut self, hello: Hello) {
        self.other_version = None;
        if self.runs.iter().any(|known| known.hello.run == hello.run) {
            self.damaged += 1;
            return;
        }
        self.runs.push(Promises::of(hello));
    }

    /// The run asked for, or the last.
    pub fn finish(mut self, wanted: Option<u64>) -> Option<Promises> {
        let at = match wanted {
            Some(run) => self.runs.iter().position(|known| known.hello.run == run)?,
            None => self.runs.len().checked_sub(1)?,
        };
        let mut promises = self.runs.remove(at);
        promises.damaged_lines = self.damaged;
        promises.other_runs = self.runs.iter().map(|run| run.hello.run).collect();
        Some(promises)
    }
}

impl Promises {
    /// Of a run that has promised nothing yet.
    pub fn of(hello: Hello) -> Self {
        let last = vec![0; hello.geometry.threads as usize];
        Promises { hello, acks: 0, last, failed: vec![], ended: None, damaged_lines: 0, other_runs: vec![] }
    }

    /// Takes a line of this run; whether it fits the run.
    pub fn take(&mut self, line: &Line) -> bool {
        let geometry = self.hello.geometry;
        match *line {
            Line::Hello(_) => false,
            Line::Ack { thread, seq, slot, generation, .. } => {
                let fits = thread < geometry.threads
                    && seq <= geometry.last()
                    && geometry.slot(thread, seq) == slot
                    && geometry.generation(seq) == generation;
                if fits {
                    self.acks += 1;
                    let last = &mut self.last[thread as usize];
                    *last = seq.max(*last);
                }
                fits
            }
            Line::Fail { thread, seq, step, errno, .. } => {
                self.failed.push(Failed { thread, seq, step, errno });
                thread < geometry.threads
            }
            Line::End { why, .. } => {
                self.ended = Some(why);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durability::ack::tests::a_hello;
    use crate::durability::geometry::{Geometry, Pattern};
    use std::io::Write;

    fn hello(run: u64) -> Hello {
        let geometry = Geometry { bs: 512, threads: 2, slots_per_thread: 4, pattern: Pattern::Overwrite };
        Hello { run, ..a_hello(geometry) }
    }

    fn ack(run: u64, thread: u32, seq: u64) -> Line {
        let geometry = hello(run).geometry;
        let (slot, generation) = (geometry.slot(thread, seq), geometry.generation(seq));
        Line::Ack { run, thread, seq, slot, generation }
    }

    fn log(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn the_last_run_of_a_log_with_odd_lines() {
        let text: String = [
            Line::Hello(Box::new(hello(1))).text(),
            ack(1, 0, 1).text(),
            "\u{0}garbage\n".into(),
            Line::Hello(Box::new(hello(2))).text(),
            ack(2, 0, 1).text(),
            ack(2, 1, 1).text(),
            // Of a run that never began here, and of a slot that is not this record's.
            ack(3, 1, 1).text(),
            Line::Ack { run: 2, thread: 0, seq: 2, slot: 0, generation: 1 }.text(),
            ack(2, 0, 2).text(),
            // Cut in the middle.
            ack(2, 0, 3).text()[..20].into(),
        ]
        .concat();
        let file = log(&text);
        let promises = read_log(file.path(), None).unwrap();
        assert_eq!((promises.hello.run, promises.acks, promises.damaged_lines), (2, 3, 4));
        assert_eq!((promises.last, promises.ended, promises.other_runs), (vec![2, 1], None, vec![1]));
        assert_eq!(read_log(file.path(), Some(1)).unwrap().acks, 1);
        assert!(matches!(read_log(file.path(), Some(9)), Err(LogError::NotThisRun { .. })));
    }

    #[test]
    fn logs_without_a_run() {
        assert!(matches!(read_log(log("").path(), None), Err(LogError::NoRun { lines: 0, .. })));
        assert!(matches!(read_log(log("x\ny\n").path(), None), Err(LogError::NoRun { damaged: 2, .. })));
        assert!(matches!(read_log(log(&ack(1, 0, 1).text()).path(), None), Err(LogError::NoRun { .. })));
        let body = "hello {\"version\":9}";
        let newer = format!("{body} {:08x}\n", crc32c::crc32c(body.as_bytes()));
        let error = read_log(log(&newer).path(), None).unwrap_err();
        assert!(error.to_string().contains("version 9"), "{error}");
    }
}
