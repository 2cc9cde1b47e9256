//! Reading records back.

use std::path::{Path, PathBuf};

use iobound_record::{Run, SCHEMA_VERSION};
use serde::Deserialize;

use crate::exit::Failure;
use crate::store::RECORD;

/// Longest record that is read: an hour of a hundred scenarios in seconds is a tenth of it.
const BYTES_MAX: u64 = 1 << 30;

/// Reads the record of a run: its directory, or the file itself.
///
/// # Errors
/// None there, unreadable, cut short, of another schema, or something else: what and what to do.
pub fn load(path: &Path) -> Result<Run, Failure> {
    let file = if path.is_dir() { path.join(RECORD) } else { path.to_owned() };
    let failed = |words: String| Failure::usage(format!("{}: {words}", file.display()));
    let metadata = std::fs::metadata(&file).map_err(|error| {
        failed(format!("{error}; give the directory that a run wrote (--out), or its run.json"))
    })?;
    if !metadata.is_file() || metadata.len() > BYTES_MAX {
        return Err(failed("is no record of a run".into()));
    }
    let text = std::fs::read_to_string(&file).map_err(|error| failed(error.to_string()))?;
    parse(&text).map_err(failed)
}

#[derive(Deserialize)]
struct Version {
    schema: Option<u32>,
}

fn parse(text: &str) -> Result<Run, String> {
    let version: Version = serde_json::from_str(text).map_err(|error| match error.is_eof() {
        true => format!("is cut short ({error}); take another copy of it"),
        false => format!("is no record of a run ({error})"),
    })?;
    match version.schema {
        Some(SCHEMA_VERSION) => {}
        Some(newer) if newer > SCHEMA_VERSION => {
            return Err(format!(
                "has schema {newer}, and this iobound reads {SCHEMA_VERSION}; use the iobound that wrote it, or a newer one"
            ));
        }
        Some(older) => {
            return Err(format!("has schema {older}, which never was; this iobound reads {SCHEMA_VERSION}"));
        }
        None => return Err("is no record of a run: it has no schema".into()),
    }
    serde_json::from_str(text).map_err(|error| format!("is no whole record ({error})"))
}

/// The records in a directory that is no run itself but has runs in it; by name. Empty for any other.
pub fn runs_in(directory: &Path) -> Vec<PathBuf> {
    if directory.join(RECORD).exists() {
        return Vec::new();
    }
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.join(RECORD).is_file()).collect();
    runs.sort();
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_record_is_named() {
        for (text, word) in [
            (r#"{"schema":1,"iobo"#, "cut short"),
            ("hello", "no record"),
            ("{}", "no schema"),
            (r#"{"schema":2}"#, "a newer one"),
            (r#"{"schema":0}"#, "never was"),
            (r#"{"schema":1,"id":7}"#, "no whole record"),
            ("[1]", "no whole record"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
        assert!(load(Path::new("/nonexistent")).unwrap_err().words.contains("--out"));
    }
}
