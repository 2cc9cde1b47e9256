//! What dd says of a copy, on its standard error with `LC_ALL=C`:
//!
//! ```text
//! 102400+0 records in
//! 102400+0 records out
//! 6710886400 bytes (6.7 GB, 6.2 GiB) copied, 29.9376 s, 224 MB/s
//! ```

use thiserror::Error;

/// What dd copied.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Copied {
    /// Whole blocks read.
    pub whole_in: u64,
    /// Shorter blocks read.
    pub part_in: u64,
    /// Whole blocks written.
    pub whole_out: u64,
    /// Shorter blocks written.
    pub part_out: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Time by dd's own clock, seconds.
    pub seconds: f64,
}

/// Why dd's words are no result.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ParseError {
    /// A line that must be there is not.
    #[error("dd's output has no line '{0}'")]
    Missing(&'static str),
    /// A line that is there says nothing that can be.
    #[error("dd's output has a line that cannot be read: '{0}'")]
    Unreadable(String),
}

/// Reads the last statistics in dd's output, and gives the lines that are none: its messages.
///
/// # Errors
/// [`ParseError`].
pub fn parse(text: &str) -> (Result<Copied, ParseError>, Vec<String>) {
    let (mut read, mut written, mut copied) = (None, None, None);
    let mut messages = Vec::new();
    // Progress is overwritten in place, with carriage returns.
    for line in text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(counts) = line.strip_suffix(" records in") {
            read = Some(records(counts).ok_or(line));
        } else if let Some(counts) = line.strip_suffix(" records out") {
            written = Some(records(counts).ok_or(line));
        } else if let Some(found) = summary(line) {
            copied = Some(found.ok_or(line));
        } else if !line.ends_with(" truncated record") && !line.ends_with(" truncated records") {
            messages.push(line.to_owned());
        }
    }
    (together(read, written, copied), messages)
}

/// A line that was found, or the line that could not be read.
type Found<'a, T> = Option<Result<T, &'a str>>;

fn together(
    read: Found<(u64, u64)>,
    written: Found<(u64, u64)>,
    copied: Found<(u64, f64)>,
) -> Result<Copied, ParseError> {
    fn need<T>(found: Found<T>, name: &'static str) -> Result<T, ParseError> {
        found.ok_or(ParseError::Missing(name))?.map_err(|line| ParseError::Unreadable(line.to_owned()))
    }
    let (whole_in, part_in) = need(read, "records in")?;
    let (whole_out, part_out) = need(written, "records out")?;
    let (bytes, seconds) = need(copied, "bytes copied")?;
    Ok(Copied { whole_in, part_in, whole_out, part_out, bytes, seconds })
}

/// `12+1`.
fn records(text: &str) -> Option<(u64, u64)> {
    let (whole, part) = text.split_once('+')?;
    Some((number(whole)?, number(part)?))
}

/// `6710886400 bytes (6.7 GB, 6.2 GiB) copied, 29.9376 s, 224 MB/s`: None when it is another line, and
/// nothing inside when it is this one but makes no sense.
fn summary(line: &str) -> Option<Option<(u64, f64)>> {
    let (amount, rest) = line.split_once(" copied, ")?;
    let (bytes, unit) = amount.split_once(' ')?;
    if !unit.starts_with("byte") {
        return None;
    }
    let seconds = || {
        let time = rest.split(',').next()?.trim();
        // Older ones say "seconds".
        let time = time.strip_suffix(" s").or_else(|| time.strip_suffix(" seconds"))?;
        let seconds: f64 = time.parse().ok()?;
        (seconds.is_finite() && seconds >= 0.0).then_some(seconds)
    };
    Some(number(bytes).zip(seconds()))
}

/// Digits alone: `parse` would take a sign.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ok(text: &str) -> Copied {
        parse(text).0.unwrap()
    }

    #[test]
    fn each_dds_own_words() {
        let seed = "102400+0 records in\n102400+0 records out\n6710886400 bytes (6.7 GB, 6.2 GiB) copied, 29.9376 s, 224 MB/s\n";
        let expected = Copied {
            whole_in: 102_400,
            whole_out: 102_400,
            bytes: 6_710_886_400,
            seconds: 29.9376,
            ..Copied::default()
        };
        assert_eq!(ok(seed), expected);
        let old = "1+0 records in\n1+0 records out\n4096 bytes (4.1 kB) copied, 4.5e-05 seconds, 91 MB/s\n";
        assert_eq!((ok(old).bytes, ok(old).seconds), (4096, 4.5e-5));
        let nothing = "0+0 records in\n0+0 records out\n0 bytes copied, 0.000123 s, 0.0 kB/s\n";
        assert_eq!(ok(nothing).bytes, 0);
        let part = "0+1 records in\n0+1 records out\n1 byte copied, 0.5 s, 0.0 kB/s\n";
        assert_eq!((ok(part).part_out, ok(part).bytes), (1, 1));
    }

    #[test]
    fn messages_are_kept_and_the_last_statistics_count() {
        let text = "1+0 records in\n1+0 records out\n512 bytes copied, 1 s, 0.5 kB/s\n\
                    dd: error writing '/x': No space left on device\n\
                    9+0 records in\n8+0 records out\n4096 bytes (4.1 kB, 4.0 KiB) copied, 2 s, 2.0 kB/s\n";
        let (copied, messages) = parse(text);
        assert_eq!((copied.as_ref().unwrap().whole_out, copied.unwrap().bytes), (8, 4096));
        assert_eq!(messages, ["dd: error writing '/x': No space left on device"]);
    }

    #[test]
    fn what_is_no_result_is_named() {
        let (copied, messages) = parse("dd: failed to open '/x': Permission denied\n");
        assert_eq!(copied, Err(ParseError::Missing("records in")));
        assert_eq!(messages.len(), 1);
        let text = "1+0 records in\n1+0 records out\n-5 bytes copied, 1 s, 1 kB/s";
        assert!(matches!(parse(text).0, Err(ParseError::Unreadable(_))));
        let text = "1+0 records in\n1+0 records out\n5 bytes copied, inf s, 1 kB/s";
        assert!(matches!(parse(text).0, Err(ParseError::Unreadable(_))));
    }

    proptest! {
        #[test]
        fn what_dd_prints_is_what_is_read(
            whole_in: u64, part_in: u64, whole_out: u64, part_out: u64, bytes: u64,
            micros in 0u64..1u64 << 52, human in "( \\([0-9.]{1,4} [kMGTPE]?i?B(, [0-9.]{1,4} [KMGTPE]iB)?\\))?",
        ) {
            let seconds = micros as f64 / 1e6;
            let text = format!(
                "{whole_in}+{part_in} records in\n{whole_out}+{part_out} records out\n\
                 {bytes} byte{}{human} copied, {seconds} s, 1.0 MB/s\n",
                if bytes == 1 { "" } else { "s" },
            );
            let (copied, messages) = parse(&text);
            prop_assert_eq!(copied, Ok(Copied { whole_in, part_in, whole_out, part_out, bytes, seconds }));
            prop_assert!(messages.is_empty());
        }
    }
}
