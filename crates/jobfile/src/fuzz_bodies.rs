//! What the fuzz targets do with a text: one function a target, also run by `cargo test` on stable
//! over a corpus and over arbitrary bytes. Each panics where a reader is wrong.

use std::io;
use std::path::Path;

use iobound_record::units;

use crate::input::{Machine, Options, Strictness};
use crate::{JobFile, parse_fio, parse_toml, to_job_file};

/// A fuzz target: panics where a reader is wrong about the bytes.
pub type Body = fn(&[u8]);

/// The targets by name; each is a directory of the corpus too.
pub const TARGETS: [(&str, Body); 3] =
    [("jobfile_fio", jobfile_fio), ("jobfile_toml", jobfile_toml), ("units", sizes_and_times)];

/// Reads the bytes as a fio job file that may include itself under many names, strictly and not.
pub fn jobfile_fio(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let env = |name: &str| (name.len() < 8).then(|| name.repeat(100));
    let read = |path: &Path| match path.to_string_lossy().len() % 3 {
        0 => Ok(data.to_vec()),
        1 => Ok(b"bs=8k\ninclude again.inc\n".to_vec()),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    };
    let machine = Some(Machine { page_bytes: 4096, memory_mib: 1024, cpus: 4 });
    let strict = Options { env: &env, read: &read, machine, ..Options::default() };
    match parse_fio(text, "fuzz.fio", &strict) {
        Ok(file) => reads_back(&file),
        Err(errors) => assert!(!errors.to_string().is_empty()),
    }
    let loose = Options { strictness: Strictness::PassThrough, ..strict };
    if let Ok(file) = parse_fio(text, "fuzz.fio", &loose) {
        assert_eq!(file.jobs.len(), file.kept.len());
        let _ = (file.to_fio(), file.fio_commands());
    }
}

/// Reads the bytes as the TOML form.
pub fn jobfile_toml(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match parse_toml(text, "fuzz.toml", &Options::default()) {
        Ok(file) => reads_back(&file),
        Err(errors) => assert!(!errors.to_string().is_empty()),
    }
}

/// Reads the bytes as a size and as a time, and prints what came of it.
pub fn sizes_and_times(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(bytes) = units::parse_bytes(text) {
        assert_eq!(units::parse_bytes(&units::bytes_fio(bytes)), Ok(bytes));
        let _ = units::bytes(bytes);
    }
    if let Ok(ns) = units::parse_duration_ns(text) {
        let _ = units::duration(ns);
    }
}

/// Jobs that were read are valid, and writing them gives text that reads as the same jobs, unless
/// the writer says what it left out.
fn reads_back(file: &JobFile) {
    for job in &file.jobs {
        assert_eq!(job.validate(), Ok(()));
    }
    let printed = to_job_file(&file.jobs);
    let lost = printed.notes.iter().any(|note| note.text.contains("left out") || note.option == "name");
    if !lost {
        let again = parse_fio(&printed.text, "again.fio", &Options::default());
        let again = again.unwrap_or_else(|errors| panic!("{errors}\n{}", printed.text));
        assert_eq!(again.jobs, file.jobs, "{}", printed.text);
    }
}
