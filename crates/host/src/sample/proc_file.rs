//! A file of `/proc` that is read again and again.

use std::borrow::Cow;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::error::HostError;
use crate::system::System;

/// Room at the start: about 140 devices' counters.
const ROOM: usize = 16 << 10;

/// Keeps the file open and its text's memory, so that a look allocates nothing.
#[derive(Debug)]
pub(super) struct ProcFile {
    /// As errors name it.
    path: &'static str,
    place: PathBuf,
    file: Option<File>,
    text: Vec<u8>,
}

impl ProcFile {
    pub(super) fn new(system: &System, path: &'static str) -> ProcFile {
        ProcFile { path, place: system.place(path), file: None, text: Vec::new() }
    }

    /// The whole text as it is now.
    pub(super) fn read(&mut self) -> Result<Cow<'_, str>, HostError> {
        match self.fill() {
            Ok(length) => Ok(String::from_utf8_lossy(&self.text[..length])),
            Err(error) => {
                self.file = None;
                Err(HostError::unreadable(self.path.as_ref(), error))
            }
        }
    }

    fn fill(&mut self) -> std::io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::open(&self.place)?),
        };
        if self.text.is_empty() {
            self.text.resize(ROOM, 0);
        }
        let mut length = 0;
        loop {
            // The kernel gives a table in pieces of a page or so; nothing more is its end.
            match file.read_at(&mut self.text[length..], length as u64)? {
                0 => return Ok(length),
                read => length += read,
            }
            if length == self.text.len() {
                self.text.resize(2 * length, 0);
            }
        }
    }
}
