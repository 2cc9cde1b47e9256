//! Cuts a fio job file into sections and options, following its includes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::errors::{Cause, Errors, Place};
use crate::expand::{expand, line_too_long};
use crate::input::{Options, too_large};
use crate::limits::{FILE_BYTES_MAX, INCLUDE_DEPTH_MAX, LINE_BYTES_MAX};

/// Starts a line that fio takes for a comment and iobound for an option fio has no word for.
pub(crate) const OURS_PREFIX: &str = "#iobound:";

/// One line that says something.
#[derive(Debug, PartialEq)]
pub(crate) struct Line {
    pub place: Place,
    pub content: Content,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Content {
    /// `[name]`.
    Section(String),
    /// `option=value` or a bare `option`.
    Option { option: String, value: Option<String> },
    /// The same after `#iobound:`.
    Ours { option: String, value: Option<String> },
}

/// Every line of the text and of the files it includes, in order.
pub(crate) fn read_lines(text: &str, name: &str, options: &Options<'_>, errors: &mut Errors) -> Vec<Line> {
    let mut reader =
        Reader { options, errors, lines: Vec::new(), open: Vec::new(), bytes_left: FILE_BYTES_MAX };
    reader.file(text, PathBuf::from(name), name.into());
    reader.lines
}

struct Reader<'a, 'b> {
    options: &'a Options<'b>,
    errors: &'a mut Errors,
    lines: Vec<Line>,
    /// The files being read, the main one first: an include of one of them would never end.
    open: Vec<PathBuf>,
    bytes_left: u64,
}

impl Reader<'_, '_> {
    fn file(&mut self, text: &str, path: PathBuf, name: Arc<str>) {
        let Some(left) = self.bytes_left.checked_sub(text.len() as u64) else {
            self.errors.push(&Place { file: name, line: 0 }, too_large());
            return;
        };
        self.bytes_left = left;
        self.open.push(path);
        // A byte order mark is no part of the first line.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (i, line) in text.split('\n').enumerate() {
            self.line(line, Place { file: name.clone(), line: i as u32 + 1 });
        }
        self.open.pop();
    }

    fn line(&mut self, line: &str, place: Place) {
        if line.len() > LINE_BYTES_MAX {
            self.errors.push(&place, line_too_long());
            return;
        }
        let blank = |c: char| c.is_whitespace() || c.is_control();
        let line = line.trim_matches(blank);
        let (line, ours) = match line.strip_prefix(OURS_PREFIX) {
            Some(rest) => (rest, true),
            None => (line, false),
        };
        // fio cuts a line at the first of its two comment signs, wherever it stands.
        let line = line.split([';', '#']).next().unwrap_or_default().trim_matches(blank);
        if line.is_empty() {
            return;
        }
        if ours {
            self.option(line, place, true);
        } else if line.starts_with('[') {
            self.section(line, place);
        } else if let Some(path) = include_path(line) {
            self.include(path, place);
        } else {
            self.option(line, place, false);
        }
    }

    fn section(&mut self, line: &str, place: Place) {
        if self.open.len() > 1 {
            return self.errors.push(&place, Cause::SectionInInclude { text: line.to_owned() });
        }
        let name = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let wrong = match name {
            None => Some("it does not end with ']'"),
            Some("") => Some("it has no name"),
            // fio cuts a longer name short.
            Some(name) if name.len() > 254 => Some("its name is longer than fio's 254 bytes"),
            Some(_) => None,
        };
        if let Some(why) = wrong {
            self.errors.push(&place, Cause::BadSection { text: line.to_owned(), why });
        }
        // After a bad header too: what follows it belongs to it, not to the section before.
        let name = name.unwrap_or(line).to_owned();
        self.lines.push(Line { place, content: Content::Section(name) });
    }

    fn option(&mut self, line: &str, place: Place, ours: bool) {
        let line = match if ours { Ok(line.to_owned()) } else { expand(line, self.options) } {
            Ok(line) => line,
            Err(cause) => return self.errors.push(&place, cause),
        };
        let (option, value) = match line.split_once('=') {
            Some((option, value)) => (option.trim().to_owned(), Some(value.trim().to_owned())),
            None => (line, None),
        };
        let content = match ours {
            true => Content::Ours { option, value },
            false => Content::Option { option, value },
        };
        self.lines.push(Line { place, content });
    }

    fn include(&mut self, path: &str, place: Place) {
        let fail = |why: String| Cause::Include { path: path.to_owned(), why };
        if self.lines.is_empty() {
            return self.errors.push(&place, Cause::OutsideSection { text: format!("include {path}") });
        }
        if self.open.len() > INCLUDE_DEPTH_MAX {
            let why = format!("files include files more than {INCLUDE_DEPTH_MAX} deep");
            return self.errors.push(&place, fail(why));
        }
        let including = self.open.last().and_then(|file| file.parent()).unwrap_or(Path::new(""));
        let full = including.join(path);
        if self.open.contains(&full) {
            return self.errors.push(&place, fail("it includes itself, directly or through others".into()));
        }
        let text = match (self.options.read)(&full) {
            Ok(data) if data.len() as u64 > FILE_BYTES_MAX => return self.errors.push(&place, too_large()),
            Ok(data) => String::from_utf8(data).map_err(|_| "it is not UTF-8 text".to_owned()),
            Err(e) => Err(e.to_string()),
        };
        let name: Arc<str> = full.to_string_lossy().as_ref().into();
        match text {
            Ok(text) => self.file(&text, full, name),
            Err(why) => self.errors.push(&place, fail(why)),
        }
    }
}

/// The path of an `include PATH` or `include=PATH` line.
fn include_path(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("include")?;
    let path = rest.strip_prefix(|c: char| c == '=' || c.is_whitespace())?.trim();
    (!path.is_empty()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    fn cut(text: &str) -> (Vec<String>, String) {
        let read = |path: &Path| match path.to_str() {
            Some("dir/common.inc") => Ok(b"bs=8k\ninclude more.inc".to_vec()),
            Some("dir/more.inc") => Ok(b"iodepth=4".to_vec()),
            Some("dir/self.inc") => Ok(b"include self.inc".to_vec()),
            Some("dir/section.inc") => Ok(b"[no]".to_vec()),
            Some("dir/two.inc") => Ok(b"include x/../two.inc\ninclude y/../two.inc".to_vec()),
            Some(other) if other.contains("two.inc") => {
                Ok(b"include x/../two.inc\ninclude y/../two.inc".to_vec())
            }
            _ => Err(io::Error::from(io::ErrorKind::NotFound)),
        };
        let mut errors = Errors::default();
        let options = Options { read: &read, ..Options::default() };
        let lines = read_lines(text, "dir/a.fio", &options, &mut errors);
        let lines = lines
            .iter()
            .map(|line| match &line.content {
                Content::Section(name) => format!("{}[{name}]", line.place.line),
                Content::Option { option, value } => format!("{}{option}={value:?}", line.place.line),
                Content::Ours { option, value } => format!("{}!{option}={value:?}", line.place.line),
            })
            .collect();
        (lines, errors.to_string())
    }

    #[test]
    fn comments_blanks_and_line_ends() {
        let (lines, errors) = cut(
            "\u{feff}; c\r\n[a b] # c\r\n\r\n  bs = 4k ; c\n\tdirect\n#iobound: dedup_unit=8k\n# iobound: no\n",
        );
        assert_eq!(lines, ["2[a b]", "4bs=Some(\"4k\")", "5direct=None", "6!dedup_unit=Some(\"8k\")"]);
        assert_eq!(errors, "");
    }

    #[test]
    fn includes_are_relative_to_their_file() {
        let (lines, errors) = cut("[a]\ninclude common.inc\nrw=read");
        assert_eq!(lines, ["1[a]", "1bs=Some(\"8k\")", "1iodepth=Some(\"4\")", "3rw=Some(\"read\")"]);
        assert_eq!(errors, "");
    }

    #[test]
    fn includes_end() {
        let (_, errors) = cut("[a]\ninclude self.inc\ninclude section.inc\ninclude none.inc");
        assert_eq!(
            errors,
            "dir/self.inc:1: cannot include 'self.inc': it includes itself, directly or through others\n\
             dir/section.inc:1: section '[no]' in an included file; fio allows options only there\n\
             dir/a.fio:4: cannot include 'none.inc': entity not found"
        );
        // The same file under ever longer names, twice each time: depth and size bound it.
        let (_, errors) = cut("[a]\ninclude two.inc");
        assert!(errors.contains("more than 16 deep"), "{errors}");
    }
}
