//! Reads fio's job-file format.

use std::sync::Arc;

use iobound_record::Job;

use crate::draft::{Draft, Said};
use crate::errors::{Cause, Errors, Place};
use crate::input::{JobFile, Options, Strictness};
use crate::limits::JOBS_MAX;
use crate::lines::{Content, Line, read_lines};
use crate::number::Dialect;
use crate::options::kb_base;

/// Reads a fio job file from text. `name` is what errors call the file, and includes are looked up
/// beside it.
///
/// # Errors
/// Every error of the text and of what it includes.
pub fn parse_fio(text: &str, name: &str, options: &Options<'_>) -> Result<JobFile, Errors> {
    let mut errors = Errors::default();
    let lines = read_lines(text, name, options, &mut errors);
    let whole = Place { file: name.into(), line: 0 };
    let file = sections(lines, &whole, options, &mut errors);
    if file.jobs.is_empty() && errors.is_empty() {
        errors.push(&whole, Cause::NoJobs);
    }
    if errors.is_empty() { Ok(file) } else { Err(errors.in_order(&whole)) }
}

fn sections(lines: Vec<Line>, whole: &Place, options: &Options<'_>, errors: &mut Errors) -> JobFile {
    let mut file = JobFile::default();
    let mut global = Draft::new(Job::fio_default(), true);
    let mut rest = lines.as_slice();
    while let [first, ..] = rest {
        let Content::Section(name) = &first.content else {
            let text = match &first.content {
                Content::Option { option, value } | Content::Ours { option, value } => match value {
                    Some(value) => format!("{option}={value}"),
                    None => option.clone(),
                },
                Content::Section(name) => name.clone(),
            };
            errors.push(&first.place, Cause::OutsideSection { text });
            rest = &rest[1..];
            continue;
        };
        let length = rest[1..].iter().take_while(|line| !matches!(line.content, Content::Section(_))).count();
        let (body, after) = rest[1..].split_at(length);
        rest = after;
        // fio compares the first six letters only: [global2] is global too.
        if name.starts_with("global") {
            read_options(&mut global, body, options, errors);
            continue;
        }
        if file.jobs.len() == JOBS_MAX {
            errors.push(whole, Cause::Limit { what: "too many jobs", limit: format!("{JOBS_MAX} sections") });
            break;
        }
        let mut draft = global.clone();
        draft.job.name = name.clone();
        read_options(&mut draft, body, options, errors);
        // A section named after a device is a job on that device.
        if draft.job.filename.is_empty() && name.starts_with("/dev/") {
            draft.job.filename.push(name.into());
        }
        let (job, kept) = draft.finish(&first.place, options, errors);
        file.jobs.push(job);
        file.kept.push(kept);
    }
    if options.strictness == Strictness::Strict {
        debug_assert!(file.kept.iter().all(Vec::is_empty));
    }
    file
}

fn read_options(draft: &mut Draft, body: &[Line], options: &Options<'_>, errors: &mut Errors) {
    // fio reads kb_base before the rest of its section, wherever it stands.
    for line in body {
        if let Content::Option { option, value: Some(value) } = &line.content
            && option == "kb_base"
            && let Ok(base) = kb_base(value)
        {
            draft.kb_base = base;
        }
    }
    for line in body {
        let (option, value, dialect) = match &line.content {
            Content::Option { option, value } => (option, value, Dialect::Fio { kb_base: draft.kb_base }),
            Content::Ours { option, value } => (option, value, Dialect::Iobound),
            Content::Section(_) => continue,
        };
        let said = Said {
            option: Arc::from(option.as_str()),
            value: value.as_deref().map(Arc::from),
            place: line.place.clone(),
            dialect,
        };
        draft.apply(said, options, errors);
    }
}
