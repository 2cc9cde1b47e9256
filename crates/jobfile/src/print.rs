//! Writes jobs in fio's words: a command line, or a job file.

use std::fmt;
use std::path::Path;

use iobound_record::Job;

use crate::input::{JobFile, Kept};
use crate::limits::LINE_BYTES_MAX;
use crate::lines::OURS_PREFIX;
use crate::options::{Action, Shown, all, lookup};

/// Something that fio's words do not say, or not exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Name of the job.
    pub job: String,
    /// The option in question.
    pub option: &'static str,
    /// What is lost, in a sentence.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job '{}': {}", crate::errors::quoted(&self.job), self.text)
    }
}

/// A command line or job file, and what it does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The text.
    pub text: String,
    /// What fio has no word for. A job file carries the options among it in `#iobound:` comments.
    pub notes: Vec<Note>,
}

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The fio command line of a job, on one line, quoted for a shell.
///
/// Defaults of iobound's that are not fio's are written out (`--direct=1`, `--overwrite=1`), so that
/// the real fio measures the same.
pub fn print_fio(job: &Job) -> Printed {
    command(job, &[], " ")
}

/// The same, one option a line with ` \` between them, for people to read and edit.
pub fn print_fio_lines(job: &Job) -> Printed {
    command(job, &[], " \\\n    ")
}

/// A fio job file of the jobs.
///
/// The real fio reads it. What it has no word for stands in comments that [`parse_fio`](crate::parse_fio)
/// understands, so that reading the text gives the same jobs again.
pub fn to_job_file(jobs: &[Job]) -> Printed {
    file(jobs.iter().map(|job| (job, [].as_slice())))
}

impl JobFile {
    /// The jobs as a fio job file, with the options that were kept for the real fio.
    pub fn to_fio(&self) -> Printed {
        file(self.pairs())
    }

    /// The fio command line of each job, on one line, with the options that were kept for it.
    pub fn fio_commands(&self) -> Vec<Printed> {
        self.pairs().map(|(job, kept)| command(job, kept, " ")).collect()
    }

    fn pairs(&self) -> impl Iterator<Item = (&Job, &[Kept])> {
        self.jobs.iter().enumerate().map(|(i, job)| (job, self.kept.get(i).map_or(&[][..], Vec::as_slice)))
    }
}

/// A job in fio's words.
struct Words {
    /// For fio.
    fio: Vec<(String, Shown)>,
    /// For iobound alone.
    ours: Vec<(&'static str, String)>,
    notes: Vec<Note>,
}

fn words(job: &Job, kept: &[Kept]) -> Words {
    let mut words = Words { fio: Vec::new(), ours: Vec::new(), notes: Vec::new() };
    let mut note = |option, text| words.notes.push(Note { job: job.name.clone(), option, text });
    for spec in all() {
        let Action::Honoured { show, exact, .. } = &spec.action else { continue };
        // What was kept for fio replaces what the job says of the same option.
        if kept.iter().any(|kept| lookup(&kept.option).is_some_and(|other| other.name == spec.name)) {
            continue;
        }
        let mut shown = show(job);
        if let Some(why) = unwritable_option(job, spec.name) {
            note(spec.name, format!("{} is left out: {why}", spec.name));
            continue;
        }
        if let Some(exact) = exact(job) {
            let text = match &shown {
                Some(Shown::Value(value)) => {
                    format!("fio cannot say {}={exact}; {}={value} is nearest", spec.name, spec.name)
                }
                _ => format!("fio has no word for {}={exact}", spec.name),
            };
            note(spec.name, text);
            words.ours.push((spec.name, exact));
        }
        if let Some(shown) = shown.take() {
            words.fio.push((spec.name.to_owned(), shown));
        }
    }
    for kept in kept {
        let shown = kept.value.as_deref().map_or(Shown::Bare, |value| Shown::Value(value.to_owned()));
        words.fio.push((kept.option.to_string(), shown));
    }
    words
}

/// Why fio would not read an option's text as it stands, where the text is free.
fn unwritable_option(job: &Job, option: &str) -> Option<&'static str> {
    match option {
        "description" => unwritable(job.description.as_deref()?),
        "directory" => unwritable_path(job.directory.as_deref()?),
        "filename" => job.filename.iter().find_map(|path| unwritable_path(path)).or_else(|| {
            let length: usize = job.filename.iter().map(|path| path.as_os_str().len() + 2).sum();
            (length > LINE_BYTES_MAX / 2).then_some("the list is longer than a line of fio's may be")
        }),
        _ => None,
    }
}

fn unwritable_path(path: &Path) -> Option<&'static str> {
    match path.to_str() {
        None => Some("a path is not UTF-8 text"),
        Some("") => Some("a path is empty"),
        Some(text) if text.contains("\\:") || text.ends_with('\\') => {
            Some("a path has '\\' before ':', which fio takes for its own escape")
        }
        Some(text) => unwritable(text),
    }
}

/// Why fio would not read a text as it stands.
fn unwritable(text: &str) -> Option<&'static str> {
    const KEYWORDS: [&str; 4] = ["${", "$pagesize", "$mb_memory", "$ncpus"];
    if text.is_empty() {
        Some("it is empty")
    } else if text.contains(['#', ';']) {
        Some("fio takes what follows '#' or ';' for a comment")
    } else if text.chars().any(char::is_control) {
        Some("it has a control character")
    } else if text.trim() != text {
        Some("fio drops blanks at its ends")
    } else if KEYWORDS.iter().any(|word| text.contains(word)) {
        Some("fio replaces words that start with '$'")
    } else if text.len() > LINE_BYTES_MAX / 2 {
        Some("it is longer than a line of fio's may be")
    } else {
        None
    }
}

/// A name that fio takes for one, made from any.
fn plain_name(name: &str) -> String {
    let plain: String = name
        .trim()
        .chars()
        .take(200)
        .map(|c| if c.is_control() || "#;".contains(c) { '_' } else { c })
        .collect();
    // fio takes every name that starts like this for the global section.
    if plain.is_empty() || plain.starts_with("global") { format!("job_{plain}") } else { plain }
}

fn name_note(job: &Job, plain: &str) -> Note {
    let text = format!("fio does not take this name for a job; it is written as '{plain}'");
    Note { job: job.name.clone(), option: "name", text }
}

fn command(job: &Job, kept: &[Kept], between: &str) -> Printed {
    let Words { fio, mut notes, .. } = words(job, kept);
    let name = plain_name(&job.name);
    if name != job.name {
        notes.push(name_note(job, &name));
    }
    let mut text =
        format!("fio{}{}", if between == " " { " " } else { between }, quote(&format!("--name={name}")));
    for (option, shown) in fio {
        text.push_str(between);
        text.push_str(&quote(&match shown {
            Shown::Bare => format!("--{option}"),
            Shown::Value(value) => format!("--{option}={value}"),
        }));
    }
    Printed { text, notes }
}

/// Quotes a word for a POSIX shell, if it needs it.
fn quote(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if word.chars().all(safe) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

fn file<'a>(jobs: impl Iterator<Item = (&'a Job, &'a [Kept])>) -> Printed {
    let mut printed = Printed::default();
    for (job, kept) in jobs {
        if !printed.text.is_empty() {
            printed.text.push('\n');
        }
        section(job, kept, &mut printed);
    }
    printed
}

fn section(job: &Job, kept: &[Kept], printed: &mut Printed) {
    let Words { fio, ours, notes } = words(job, kept);
    let mut line = |text: &str| {
        printed.text.push_str(text);
        printed.text.push('\n');
    };
    let plain = plain_name(&job.name);
    let mut name_lost = false;
    if is_section_name(&job.name) {
        line(&format!("[{}]", job.name));
    } else if unwritable(&job.name).is_none() {
        line("[job]");
        line(&format!("name={}", job.name));
    } else {
        line(&format!("[{plain}]"));
        name_lost = true;
    }
    for (option, shown) in fio {
        match shown {
            Shown::Bare => line(&option),
            Shown::Value(value) => line(&format!("{option}={value}")),
        }
    }
    for (option, value) in &ours {
        line(&format!("{OURS_PREFIX} {option}={value}"));
    }
    // What no line above says; the rest is not lost to iobound.
    for note in notes.iter().filter(|note| !ours.iter().any(|(option, _)| *option == note.option)) {
        line(&format!("# {}", note.text));
    }
    printed.notes.extend(notes);
    if name_lost {
        printed.notes.push(name_note(job, &plain));
    }
}

/// Whether fio takes `[name]` for a job of that name, and for nothing else: a name that is a path may
/// be a device to it.
fn is_section_name(name: &str) -> bool {
    let odd = |c: char| c.is_control() || c == '#' || c == ';';
    !name.is_empty()
        && name.len() <= 250
        && !name.contains(odd)
        && !name.starts_with("global")
        && !name.starts_with('/')
}
