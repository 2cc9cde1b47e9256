//! The value of one option, and the common ways to read it.

use std::path::PathBuf;

use iobound_record::{Extent, PerDirection};

use crate::limits::FILES_MAX;
use crate::number::{self, BareTime, Dialect};

/// Why a value cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// There is none; with one that would do.
    Missing(&'static str),
    /// It is no value of this option.
    Bad(String),
    /// It means something that iobound does not do.
    Cannot(String),
}

/// A value as written, and by whose rules it is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<'a> {
    /// None for a bare flag.
    pub text: Option<&'a str>,
    pub dialect: Dialect,
}

impl<'a> Value<'a> {
    /// The text, which must not be empty; `example` is a value that would do.
    pub(crate) fn text(&self, example: &'static str) -> Result<&'a str, Fault> {
        self.text.filter(|text| !text.is_empty()).ok_or(Fault::Missing(example))
    }

    /// Whether the value is one of `words`; a bare flag counts as "1".
    pub(crate) fn is_one_of(&self, words: &[&str]) -> bool {
        let text = self.text.unwrap_or("1");
        words.iter().any(|word| word.eq_ignore_ascii_case(text))
    }

    /// On or off: a bare option is on. fio wants a value for some of these; that is forgiven.
    pub(crate) fn flag(&self) -> Result<bool, Fault> {
        match self.text {
            None | Some("1" | "true") => Ok(true),
            Some("0" | "false") => Ok(false),
            Some("") => Err(Fault::Missing("1")),
            Some(_) => Err(Fault::Bad("write 1 or 0".into())),
        }
    }

    pub(crate) fn bytes(&self, example: &'static str) -> Result<u64, Fault> {
        number::bytes(self.text(example)?, self.dialect).map_err(Fault::Bad)
    }

    pub(crate) fn extent(&self, example: &'static str) -> Result<Extent, Fault> {
        number::extent(self.text(example)?, self.dialect).map_err(Fault::Bad)
    }

    /// A count that fits 32 bits.
    pub(crate) fn count(&self, example: &'static str) -> Result<u32, Fault> {
        let count = self.bytes(example)?;
        u32::try_from(count).map_err(|_| Fault::Bad("more than 2^32".into()))
    }

    /// A whole percentage, with or without its sign.
    pub(crate) fn percent(&self, example: &'static str) -> Result<u8, Fault> {
        let text = self.text(example)?;
        match text.strip_suffix('%').unwrap_or(text).parse::<u8>() {
            Ok(percent) if percent <= 100 => Ok(percent),
            _ => Err(Fault::Bad("write a whole percentage from 0 to 100".into())),
        }
    }

    pub(crate) fn time_ns(&self, bare: BareTime, example: &'static str) -> Result<u64, Fault> {
        number::time_ns(self.text(example)?, bare, self.dialect).map_err(Fault::Bad)
    }

    pub(crate) fn float(&self, example: &'static str) -> Result<f64, Fault> {
        number::float(self.text(example)?).map_err(Fault::Bad)
    }

    /// `both`, `read,write`, `read,` or `,write`; fio's third, for trims, changes nothing here. Each
    /// part given is read by `read`.
    pub(crate) fn pair<T: Clone>(
        &self,
        example: &'static str,
        read: impl Fn(&str) -> Result<T, Fault>,
    ) -> Result<PerDirection<Option<T>>, Fault> {
        let mut parts = self.text(example)?.split(',').map(str::trim);
        let mut next =
            || parts.next().map(|part| (!part.is_empty()).then(|| read(part)).transpose()).transpose();
        let (first, second, _trim) = (next()?, next()?, next()?);
        if parts.next().is_some() {
            return Err(Fault::Bad("write one value, or READ,WRITE".into()));
        }
        let pair = match (first, second) {
            (Some(both), None) => PerDirection { read: both.clone(), write: both },
            (first, second) => PerDirection { read: first.flatten(), write: second.flatten() },
        };
        if pair.read.is_none() && pair.write.is_none() {
            return Err(Fault::Missing(example));
        }
        Ok(pair)
    }

    /// A list of paths between colons; `\:` is a colon of a path.
    pub(crate) fn paths(&self, example: &'static str) -> Result<Vec<PathBuf>, Fault> {
        let mut paths = vec![String::new()];
        let mut rest = self.text(example)?.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '\\' if rest.peek() == Some(&':') => {
                    paths.last_mut().expect("one at least").extend(rest.next())
                }
                ':' => paths.push(String::new()),
                c => paths.last_mut().expect("one at least").push(c),
            }
        }
        // fio passes over leading colons and ends at an empty name.
        paths.retain(|path| !path.is_empty());
        if paths.is_empty() {
            return Err(Fault::Missing(example));
        }
        if paths.len() > FILES_MAX {
            return Err(Fault::Bad(format!("more than {FILES_MAX} files")));
        }
        Ok(paths.into_iter().map(PathBuf::from).collect())
    }
}

/// Merges a pair over an earlier one: a direction that is not given keeps its value.
pub(crate) fn merge<T>(old: &mut PerDirection<Option<T>>, new: PerDirection<Option<T>>) {
    if new.read.is_some() {
        old.read = new.read;
    }
    if new.write.is_some() {
        old.write = new.write;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value<'_> {
        Value { text: Some(text), dialect: Dialect::Fio { kb_base: 1024 } }
    }

    #[test]
    fn pairs_as_fio_writes_them() {
        let read = |text: &str| text.parse::<u32>().map_err(|_| Fault::Bad(text.into()));
        for (text, expected) in [
            ("1", (Some(1), Some(1))),
            ("1,2", (Some(1), Some(2))),
            ("1,", (Some(1), None)),
            (",2", (None, Some(2))),
            ("1,2,3", (Some(1), Some(2))),
        ] {
            let pair = value(text).pair("1", read).unwrap();
            assert_eq!((pair.read, pair.write), expected, "{text}");
        }
        for text in ["", ",", "x", "1,2,3,4", "1,x"] {
            assert!(value(text).pair("1", read).is_err(), "{text}");
        }
    }

    #[test]
    fn paths_split_at_colons_but_escaped_ones() {
        let paths = |text| {
            value(text).paths("x").map(|p| p.iter().map(|p| p.display().to_string()).collect::<Vec<_>>())
        };
        assert_eq!(paths("a:b").unwrap(), ["a", "b"]);
        assert_eq!(paths("/dev/by-path/pci-0000\\:00:b\\c").unwrap(), ["/dev/by-path/pci-0000:00", "b\\c"]);
        assert_eq!(paths(":a:").unwrap(), ["a"]);
        assert!(paths("::").is_err());
    }
}
