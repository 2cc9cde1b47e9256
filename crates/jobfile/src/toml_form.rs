//! Reads the TOML form: `[global]` and `[[job]]` tables with fio's option names.

use std::sync::Arc;

use iobound_record::Job;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use crate::draft::{Draft, Said};
use crate::errors::{Cause, Errors, Place};
use crate::input::{JobFile, Options, Strictness, too_large};
use crate::limits::{FILE_BYTES_MAX, JOBS_MAX, LINE_BYTES_MAX};
use crate::number::Dialect;

/// Reads the TOML form from text. `name` is what errors call the file.
///
/// ```toml
/// [global]
/// size = "1GiB"
///
/// [[job]]
/// name = "reads"
/// rw = "randread"
/// iodepth = 32
/// ```
///
/// Jobs start from [`Job::default`]; sizes are iobound's (`k`, `KiB` are 1,024, `KB` is 1,000).
/// There are no variables, and nothing is kept for the real fio: [`Strictness`](crate::Strictness)
/// changes nothing here.
///
/// # Errors
/// Every error of the text.
pub fn parse_toml(text: &str, name: &str, options: &Options<'_>) -> Result<JobFile, Errors> {
    let whole = Place { file: name.into(), line: 0 };
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(Errors::one(&whole, too_large()));
    }
    let options = Options { strictness: Strictness::Strict, ..*options };
    let mut reader = Reader {
        file: whole.file.clone(),
        lines: Lines::of(text),
        options: &options,
        errors: Errors::default(),
    };
    let (root, syntax) = DeTable::parse_recoverable(text);
    for error in &syntax {
        let place = reader.place(error.span().map_or(0, |span| span.start));
        reader.errors.push(&place, Cause::TomlSyntax { why: error.message().to_owned() });
    }
    // What is left of a text that is no TOML would give errors of its own.
    let jobs = if syntax.is_empty() { reader.jobs(root.get_ref()) } else { Vec::new() };
    if jobs.is_empty() && reader.errors.is_empty() {
        reader.errors.push(&whole, Cause::NoJobs);
    }
    if !reader.errors.is_empty() {
        return Err(reader.errors.in_order(&whole));
    }
    let kept = vec![Vec::new(); jobs.len()];
    Ok(JobFile { jobs, kept })
}

/// Where each line starts, to turn a byte offset into a line.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Lines {
        Lines(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    fn number(&self, offset: usize) -> u32 {
        self.0.partition_point(|&start| start <= offset) as u32
    }
}

struct Reader<'a, 'b> {
    file: Arc<str>,
    lines: Lines,
    options: &'a Options<'b>,
    errors: Errors,
}

impl Reader<'_, '_> {
    fn place(&self, offset: usize) -> Place {
        Place { file: self.file.clone(), line: self.lines.number(offset) }
    }

    fn jobs(&mut self, root: &DeTable<'_>) -> Vec<Job> {
        let mut global = Draft::new(Job::default(), false);
        let mut tables: Vec<(usize, &DeTable<'_>)> = Vec::new();
        for (key, value) in root {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("global", DeValue::Table(table)) => self.options_of(table, &mut global),
                ("job", DeValue::Array(array)) if array.iter().all(|item| item.get_ref().is_table()) => {
                    tables.extend(
                        array.iter().filter_map(|item| Some((item.span().start, item.get_ref().as_table()?))),
                    );
                }
                (other, _) => {
                    let place = self.place(key.span().start);
                    self.errors.push(
                        &place,
                        Cause::UnexpectedKey { key: other.to_owned(), nearest: table_like(other) },
                    );
                }
            }
        }
        if tables.len() > JOBS_MAX {
            let place = self.place(tables[JOBS_MAX].0);
            self.errors
                .push(&place, Cause::Limit { what: "too many jobs", limit: format!("{JOBS_MAX} tables") });
            tables.truncate(JOBS_MAX);
        }
        tables.into_iter().map(|(at, table)| self.job(at, table, global.clone())).collect()
    }

    fn job(&mut self, at: usize, table: &DeTable<'_>, mut draft: Draft) -> Job {
        let place = self.place(at);
        if !table.iter().any(|(key, _)| key.get_ref() == "name") {
            self.errors.push(&place, Cause::NoName);
        }
        self.options_of(table, &mut draft);
        draft.finish(&place, self.options, &mut self.errors).0
    }

    fn options_of(&mut self, table: &DeTable<'_>, draft: &mut Draft) {
        // The table is sorted by key; people expect errors and effects in the order of lines.
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in entries {
            let option = key.get_ref().as_ref();
            let place = self.place(key.span().start);
            match text_of(option, value) {
                Ok(text) if option.len() + text.len() > LINE_BYTES_MAX => {
                    let limit = format!("{LINE_BYTES_MAX} bytes");
                    self.errors.push(&place, Cause::Limit { what: "the value is too long", limit });
                }
                Ok(text) => {
                    let value = Some(Arc::from(text.as_str()));
                    let said = Said { option: Arc::from(option), value, place, dialect: Dialect::Iobound };
                    draft.apply(said, self.options, &mut self.errors);
                }
                Err(why) => {
                    let cause =
                        Cause::BadValue { option: option.to_owned(), value: None, why: why.to_owned() };
                    self.errors.push(&place, cause);
                }
            }
        }
    }
}

/// The table that a key at the top may have been meant for.
fn table_like(key: &str) -> Option<&'static str> {
    if key.starts_with("glob") {
        return Some("[global]");
    }
    (key == "job" || key.starts_with("job")).then_some("[[job]]")
}

/// A value as the text that a fio job file would have. Lists join as fio's lists do.
fn text_of(option: &str, value: &Spanned<DeValue<'_>>) -> Result<String, &'static str> {
    let DeValue::Array(array) = value.get_ref() else {
        return scalar(value.get_ref());
    };
    let paths = matches!(option, "filename" | "directory");
    let join = if paths || option == "bssplit" { ":" } else { "," };
    let mut parts = Vec::with_capacity(array.len());
    for item in array.iter() {
        let text = scalar(item.get_ref())?;
        parts.push(if paths { text.replace(':', "\\:") } else { text });
    }
    Ok(parts.join(join))
}

fn scalar(value: &DeValue<'_>) -> Result<String, &'static str> {
    match value {
        DeValue::String(text) => Ok(text.trim().to_owned()),
        DeValue::Boolean(on) => Ok(u8::from(*on).to_string()),
        DeValue::Integer(number) => integer(number),
        DeValue::Float(number) => Ok(number.as_str().to_owned()),
        DeValue::Datetime(_) => Err("a date is no value of an option; write a text or a number"),
        DeValue::Array(_) => Err("a list within a list is no value of an option"),
        DeValue::Table(_) => Err("a table is no value of an option; write a text or a number"),
    }
}

fn integer(number: &DeInteger<'_>) -> Result<String, &'static str> {
    if number.radix() == 10 {
        return Ok(number.as_str().trim_start_matches('+').to_owned());
    }
    match u64::from_str_radix(number.as_str(), number.radix()) {
        Ok(number) => Ok(number.to_string()),
        Err(_) => Err("the number does not fit in 64 bits"),
    }
}
