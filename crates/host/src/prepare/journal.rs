//! What was done, so that it can be undone: `journal.jsonl`, one JSON object a line, only ever added to.
//!
//! A step's undo data is written and synced before the step begins, so a machine that dies at any moment
//! knows what it was at. A line counts once its line end is there: a half-written last one is dropped.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use iobound_record::{Step, Undo};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Version of the lines.
const SCHEMA: u32 = 1;
/// Name in the state directory.
const NAME: &str = "journal.jsonl";

/// Why a journal cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The file system says no.
    #[error("{}: {error}", path.display())]
    Io {
        /// The journal or its directory.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Another iobound is at it.
    #[error("{}: another iobound prepare is at work with it: wait for it to end", path.display())]
    Locked {
        /// The journal.
        path: PathBuf,
    },
    /// A line is no line of a journal.
    #[error(
        "{}, line {line}: it is no line of a journal ({why}): the file was changed or damaged, and undoing \
         by it could destroy the wrong thing. Put back a copy of it, or move it away and undo by hand",
        path.display()
    )]
    Garbage {
        /// The journal.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// It was written on another machine.
    #[error(
        "{}: it was written on machine {theirs}, and this is {ours}: undo there, or move the file away",
        path.display()
    )]
    OtherMachine {
        /// The journal.
        path: PathBuf,
        /// Its machine-id.
        theirs: String,
        /// Ours.
        ours: String,
    },
    /// Something else is applied.
    #[error("{}: context '{applied}' is applied here: undo that first, then apply '{asked}'", path.display())]
    OtherContext {
        /// The journal.
        path: PathBuf,
        /// Name of what is applied.
        applied: String,
        /// Name of what was asked for.
        asked: String,
    },
}

/// A line.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Line {
    schema: u32,
    machine_id: String,
    context: String,
    context_hash: String,
    #[serde(flatten)]
    event: Event,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Event {
    /// A step is about to be done.
    Begun { seq: u64, step: String, title: String, needs: Vec<String>, undo: Vec<Undo> },
    /// It was done and verified.
    Done { seq: u64 },
    /// It is about to be undone.
    Undoing { seq: u64 },
    /// It was not undone after all.
    Kept { seq: u64 },
    /// It was undone.
    Undone { seq: u64 },
}

/// How far an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryState {
    /// Begun, and never seen to be done.
    Begun,
    /// Done and verified.
    Done,
    /// Being undone.
    Undoing,
}

/// A step that was begun and has not been undone.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Number in the journal.
    pub seq: u64,
    /// Id of the step.
    pub step: String,
    /// Its title.
    pub title: String,
    /// Ids of the steps that it stands on.
    pub needs: Vec<String>,
    /// How to go back, in the order of its operations.
    pub undo: Vec<Undo>,
    /// How far it is.
    pub state: EntryState,
    /// Name of its context.
    pub context: String,
    /// Hash of its context.
    pub context_hash: String,
}

/// A journal, locked for as long as it is open.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Option<File>,
    machine_id: String,
    entries: Vec<Entry>,
    next: u64,
    valid_bytes: u64,
}

impl Drop for Journal {
    /// Gives the lock back now: a program that was started meanwhile may hold a copy of the descriptor
    /// until it has begun.
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            let _ = rustix::fs::flock(file, rustix::fs::FlockOperation::Unlock);
        }
    }
}

impl Journal {
    /// Reads the journal in `dir` without changing anything; an absent one is empty.
    ///
    /// # Errors
    /// As [`JournalError`] says.
    pub fn read(dir: &Path, machine_id: &str) -> Result<Self, JournalError> {
        let path = dir.join(NAME);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(JournalError::Io { path, error }),
        };
        Self::parse(path, &text, machine_id)
    }

    /// Opens it for going on, makes it if need be, and locks it.
    ///
    /// # Errors
    /// As [`JournalError`] says.
    pub fn open(dir: &Path, machine_id: &str) -> Result<Self, JournalError> {
        let path = dir.join(NAME);
        let failed = |error| JournalError::Io { path: path.clone(), error };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(failed)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        let lock = rustix::fs::FlockOperation::NonBlockingLockExclusive;
        rustix::fs::flock(&file, lock).map_err(|error| match error {
            rustix::io::Errno::WOULDBLOCK => JournalError::Locked { path: path.clone() },
            error => failed(error.into()),
        })?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        let mut journal = Self::parse(path.clone(), &text, machine_id)?;
        if journal.valid_bytes < text.len() as u64 {
            file.set_len(journal.valid_bytes).map_err(failed)?;
        }
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        // The name must be as durable as the lines.
        File::open(dir).and_then(|dir| dir.sync_all()).map_err(failed)?;
        journal.file = Some(file);
        Ok(journal)
    }

    fn parse(path: PathBuf, text: &[u8], machine_id: &str) -> Result<Self, JournalError> {
        let valid = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let mut journal = Journal {
            path,
            file: None,
            machine_id: machine_id.to_owned(),
            entries: Vec::new(),
            next: 1,
            valid_bytes: valid as u64,
        };
        let lines = text[..valid].split(|byte| *byte == b'\n');
        for (at, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
            let garbage =
                |why: String| JournalError::Garbage { path: journal.path.clone(), line: at + 1, why };
            let line: Line = serde_json::from_slice(line).map_err(|error| garbage(error.to_string()))?;
            if line.schema != SCHEMA {
                return Err(garbage(format!("version {}, not {SCHEMA}", line.schema)));
            }
            if line.machine_id != machine_id {
                let (theirs, ours) = (line.machine_id, machine_id.to_owned());
                return Err(JournalError::OtherMachine { path: journal.path.clone(), theirs, ours });
            }
            journal.take(&line).map_err(|why| JournalError::Garbage {
                path: journal.path.clone(),
                line: at + 1,
                why,
            })?;
        }
        Ok(journal)
    }

    /// Brings the entries up to a line.
    fn take(&mut self, line: &Line) -> Result<(), String> {
        let (seq, state) = match &line.event {
            Event::Begun { seq, step, title, needs, undo } => {
                if *seq < self.next {
                    return Err(format!("entry {seq} begins twice"));
                }
                self.next = seq + 1;
                self.entries.push(Entry {
                    seq: *seq,
                    step: step.clone(),
                    title: title.clone(),
                    needs: needs.clone(),
                    undo: undo.clone(),
                    state: EntryState::Begun,
                    context: line.context.clone(),
                    context_hash: line.context_hash.clone(),
                });
                return Ok(());
            }
            Event::Done { seq } | Event::Kept { seq } => (seq, Some(EntryState::Done)),
            Event::Undoing { seq } => (seq, Some(EntryState::Undoing)),
            Event::Undone { seq } => (seq, None),
        };
        let at = self.entries.iter().position(|entry| entry.seq == *seq);
        let at = at.ok_or_else(|| format!("entry {seq} never began"))?;
        match state {
            Some(state) => self.entries[at].state = state,
            None => drop(self.entries.remove(at)),
        }
        Ok(())
    }

    /// What stands, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes sure that nothing else is applied: one context at a time.
    ///
    /// # Errors
    /// [`JournalError::OtherContext`].
    pub fn is_for(&self, context: &str) -> Result<(), JournalError> {
        match self.entries.iter().find(|entry| entry.context != context) {
            None => Ok(()),
            Some(other) => Err(JournalError::OtherContext {
                path: self.path.clone(),
                applied: other.context.clone(),
                asked: context.to_owned(),
            }),
        }
    }

    pub(super) fn begin(
        &mut self,
        context: (&str, &str),
        step: &Step,
        undo: Vec<Undo>,
    ) -> Result<u64, JournalError> {
        let seq = self.next;
        let (step, title, needs) = (step.id.clone(), step.title.clone(), step.needs.clone());
        self.write(context, Event::Begun { seq, step, title, needs, undo })?;
        Ok(seq)
    }

    pub(super) fn done(&mut self, seq: u64) -> Result<(), JournalError> {
        self.note(seq, Event::Done { seq })
    }

    pub(super) fn undoing(&mut self, seq: u64) -> Result<(), JournalError> {
        self.note(seq, Event::Undoing { seq })
    }

    pub(super) fn kept(&mut self, seq: u64) -> Result<(), JournalError> {
        self.note(seq, Event::Kept { seq })
    }

    pub(super) fn undone(&mut self, seq: u64) -> Result<(), JournalError> {
        self.note(seq, Event::Undone { seq })
    }

    fn note(&mut self, seq: u64, event: Event) -> Result<(), JournalError> {
        let entry = self.entries.iter().find(|entry| entry.seq == seq).cloned();
        let (name, hash) = entry.map(|entry| (entry.context, entry.context_hash)).unwrap_or_default();
        self.write((&name, &hash), event)
    }

    fn write(&mut self, (name, hash): (&str, &str), event: Event) -> Result<(), JournalError> {
        let line = Line {
            schema: SCHEMA,
            machine_id: self.machine_id.clone(),
            context: name.to_owned(),
            context_hash: hash.to_owned(),
            event,
        };
        let path = self.path.clone();
        let failed = |error| JournalError::Io { path: path.clone(), error };
        let file =
            self.file.as_mut().ok_or_else(|| failed(io::Error::other("it was opened for reading only")))?;
        let mut text = serde_json::to_vec(&line).map_err(|error| failed(io::Error::other(error)))?;
        text.push(b'\n');
        file.write_all(&text).and_then(|()| file.sync_data()).map_err(failed)?;
        self.take(&line).map_err(|why| failed(io::Error::other(why)))
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
