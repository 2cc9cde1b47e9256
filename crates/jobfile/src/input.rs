//! What the readers are given and what they give back.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use iobound_record::Job;

use crate::errors::{Cause, Errors, Place};
use crate::limits::FILE_BYTES_MAX;
use crate::{parse_fio, parse_toml};

/// What happens to an option that iobound does not know or cannot honour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Strictness {
    /// It is an error: what runs is what was asked, or nothing runs.
    #[default]
    Strict,
    /// It is kept verbatim beside the job ([`Kept`]), for the real fio to judge. Jobs are then not
    /// validated either: fio takes some that iobound does not.
    PassThrough,
}

/// Facts of the machine that fio's keywords stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// `$pagesize`, bytes.
    pub page_bytes: u64,
    /// `$mb_memory`: memory, MiB.
    pub memory_mib: u64,
    /// `$ncpus`: processors online.
    pub cpus: u64,
}

/// Looks up an environment variable.
pub type EnvLookup<'a> = &'a dyn Fn(&str) -> Option<String>;
/// Reads a whole file, at most [`FILE_BYTES_MAX`] + 1 bytes of it.
pub type FileRead<'a> = &'a dyn Fn(&Path) -> io::Result<Vec<u8>>;

/// How to read a job file.
///
/// The default knows no environment variable and no machine, reads files from the file system, and
/// is strict; a program passes its own lookup:
///
/// ```
/// let env = |name: &str| std::env::var(name).ok();
/// let options = iobound_jobfile::Options { env: &env, ..Default::default() };
/// let file = iobound_jobfile::parse_fio("[reads]\nrw=randread\nsize=1g\n", "a.fio", &options).unwrap();
/// assert_eq!(file.jobs[0].name, "reads");
/// ```
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// What to do with options that cannot be honoured.
    pub strictness: Strictness,
    /// Where `${NAME}` comes from.
    pub env: EnvLookup<'a>,
    /// Where files and includes come from.
    pub read: FileRead<'a>,
    /// What `$pagesize`, `$mb_memory` and `$ncpus` stand for; None makes them errors.
    pub machine: Option<Machine>,
    /// Seed of jobs that ask for another one at each run (`randrepeat=0`): pass a random number.
    pub fresh_seed: u64,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            strictness: Strictness::Strict,
            env: &|_| None,
            read: &read_bounded,
            machine: None,
            fresh_seed: 0x5eed_10b0,
        }
    }
}

/// An option kept verbatim under [`Strictness::PassThrough`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The option as written.
    pub option: Arc<str>,
    /// Its value as written, variables replaced; None for a bare flag.
    pub value: Option<Arc<str>>,
    /// Where it stands.
    pub place: Place,
}

/// A job file, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobFile {
    /// The jobs in the order of the file, every one valid ([`Job::validate`]) when read strictly.
    pub jobs: Vec<Job>,
    /// For each job, what only the real fio understands. All empty when read strictly.
    pub kept: Vec<Vec<Kept>>,
}

impl JobFile {
    /// Whether the real fio must run this file, because options were kept for it.
    pub fn needs_fio(&self) -> bool {
        self.kept.iter().any(|kept| !kept.is_empty())
    }
}

/// Reads a job file: the TOML form if its name ends in `.toml` or it has a `[[job]]` table, else
/// fio's format. Includes are relative to the file that includes them.
///
/// # Errors
/// Every error of the file and of what it includes.
pub fn read_file(path: &Path, options: &Options<'_>) -> Result<JobFile, Errors> {
    let name = path.to_string_lossy();
    let place = Place { file: name.as_ref().into(), line: 0 };
    let data =
        (options.read)(path).map_err(|e| Errors::one(&place, Cause::Unreadable { why: e.to_string() }))?;
    let text = text_of(data, &place)?;
    if path.extension().is_some_and(|ext| ext.eq_ignore_ascii_case("toml")) || has_job_table(&text) {
        parse_toml(&text, &name, options)
    } else {
        parse_fio(&text, &name, options)
    }
}

/// A file of ours says `[[job]]`; fio's sections have one bracket (a job named `[job]` would be odd).
fn has_job_table(text: &str) -> bool {
    text.lines().any(|line| line.trim().strip_prefix("[[").is_some_and(|rest| rest.trim().starts_with("job")))
}

/// The bytes of a job file as text.
pub(crate) fn text_of(data: Vec<u8>, place: &Place) -> Result<String, Errors> {
    if data.len() as u64 > FILE_BYTES_MAX {
        return Err(Errors::one(place, too_large()));
    }
    String::from_utf8(data).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let line = e.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count() as u32 + 1;
        let place = Place { file: place.file.clone(), line };
        Errors::one(&place, Cause::Unreadable { why: "this line is not UTF-8 text".into() })
    })
}

pub(crate) fn too_large() -> Cause {
    Cause::Limit { what: "the job file and its includes are too large", limit: "1 MiB".into() }
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut data = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut data)?;
    Ok(data)
}
