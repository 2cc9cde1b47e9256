//! Writing files so that they are whole or not there.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use iobound_record::Run;

use crate::exit::Failure;

/// Name of the record in its directory.
pub const RECORD: &str = "run.json";

/// Writes a file through a temporary one beside it, so that a reader never sees half of it.
///
/// # Errors
/// The system's, named with the path.
pub fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    let temporary = path.with_extension("partial");
    let written = (|| -> io::Result<()> {
        let mut file = File::create(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    written.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        Failure::broke(format!(
            "{} cannot be written: {error}; choose another place with --out DIR",
            path.display()
        ))
    })
}

/// A directory that takes the record of one run.
pub struct Store {
    directory: PathBuf,
}

impl Store {
    /// Makes the directory.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(directory: &Path) -> Result<Store, Failure> {
        fs::create_dir_all(directory).map_err(|error| {
            Failure::usage(format!(
                "{}: cannot be made: {error}; choose another place with --out DIR",
                directory.display()
            ))
        })?;
        Ok(Store { directory: directory.into() })
    }

    /// The directory itself.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where the record lies.
    pub fn record(&self) -> PathBuf {
        self.directory.join(RECORD)
    }

    /// Writes the record as it is now.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&self, run: &Run) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(run).map_err(Failure::broke)?;
        write_whole(&self.record(), &(text + "\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_partial_stays() {
        let directory = tempfile::tempdir().unwrap();
        write_whole(&directory.path().join("a.json"), "{}").unwrap();
        assert!(write_whole(&directory.path().join("no/a.json"), "{}").is_err());
        let names: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["a.json"]);
    }
}
