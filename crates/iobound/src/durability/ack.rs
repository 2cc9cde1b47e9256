//! The lines of the acknowledgement log, which are also what goes over the wire.
//!
//! Text, one thing a line, each with the CRC-32C of what stands before it in hexadecimal:
//!
//! ```text
//! hello {"version":1,"run":"8f2a61c04d15b7e3",...} 1c9d20aa
//! ack 8f2a61c04d15b7e3 0 1 0 1 5d0c8e11        run, thread, sequence, slot, generation
//! fail 8f2a61c04d15b7e3 0 2 sync 5 77aa01c2    run, thread, sequence, write or sync, errno
//! end 8f2a61c04d15b7e3 stopped 1 90b1f3de      run, why, acknowledged writes
//! ```
//!
//! A line comes after the sync of its write returned success, never before. A line that is lost on the
//! way, or cut, therefore only makes the test weaker: the write counts as not promised.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::geometry::{Geometry, GeometryError};
use super::options::{Preallocate, Sync};

/// Version of the lines and of the records.
pub const VERSION: u32 = 1;
/// Longest line: a hello with the longest path, escaped.
pub const LINE_MAX: usize = 64 << 10;

/// What a run is, as its first line says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`VERSION`].
    pub version: u32,
    /// Names the run.
    #[serde(with = "hex_number")]
    pub run: u64,
    /// Version of the program.
    pub iobound: String,
    /// When it started, RFC 3339.
    pub started: String,
    /// The kernel's name for the time between two boots of the writing machine; empty where unknown.
    pub boot: String,
    /// What was written to, for people.
    pub target: String,
    /// Sizes and places.
    pub geometry: Geometry,
    /// How each write was made durable.
    pub sync: Sync,
    /// Past the page cache.
    pub direct: bool,
    /// What was done to the file before.
    pub preallocate: Preallocate,
}

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// The write.
    Write,
    /// The sync.
    Sync,
}

/// Why a run ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// Its time was over.
    Runtime,
    /// Ctrl-C or SIGTERM.
    Stopped,
    /// Every slot was written, and the pattern does not overwrite.
    Full,
    /// An operation failed.
    Failed,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A run begins.
    Hello(Box<Hello>),
    /// A write is durable, as the storage says.
    Ack {
        /// Whose.
        run: u64,
        /// Which thread.
        thread: u32,
        /// Which record of it.
        seq: u64,
        /// Where.
        slot: u64,
        /// Which record of that place.
        generation: u64,
    },
    /// A write or its sync failed: this write is never acknowledged.
    Fail {
        /// Whose.
        run: u64,
        /// Which thread.
        thread: u32,
        /// Which record of it.
        seq: u64,
        /// What failed.
        step: Step,
        /// With which error.
        errno: i32,
    },
    /// The run ended, with power.
    End {
        /// Whose.
        run: u64,
        /// Why.
        why: Why,
        /// How many writes were acknowledged.
        acknowledged: u64,
    },
}

/// Bytes that are no line.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum LineError {
    /// Cut, or altered, or never one.
    #[error("it is damaged, or no line of an acknowledgement log: its checksum does not hold")]
    Checksum,
    /// Whole, and from another version.
    #[error(
        "it is of version {0}, and this iobound reads version {VERSION}; use the same iobound on both sides"
    )]
    Version(u32),
    /// Whole, and impossible.
    #[error("it says what cannot be: {0}")]
    Impossible(String),
}

impl From<GeometryError> for LineError {
    fn from(error: GeometryError) -> Self {
        LineError::Impossible(error.to_string())
    }
}

impl Line {
    /// The run that it is about.
    pub fn run(&self) -> u64 {
        match self {
            Line::Hello(hello) => hello.run,
            Line::Ack { run, .. } | Line::Fail { run, .. } | Line::End { run, .. } => *run,
        }
    }

    /// The line with its checksum and its end.
    pub fn text(&self) -> String {
        let mut text = match self {
            Line::Hello(hello) => {
                format!("hello {}", serde_json::to_string(hello).unwrap_or_default())
            }
            Line::Ack { run, thread, seq, slot, generation } => {
                format!("ack {run:016x} {thread} {seq} {slot} {generation}")
            }
            Line::Fail { run, thread, seq, step, errno } => {
                let step = if *step == Step::Write { "write" } else { "sync" };
                format!("fail {run:016x} {thread} {seq} {step} {errno}")
            }
            Line::End { run, why, acknowledged } => format!("end {run:016x} {} {acknowledged}", why.word()),
        };
        let checksum = crc32c::crc32c(text.as_bytes());
        let _ = writeln!(text, " {checksum:08x}");
        text
    }

    /// Reads a line without its end.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Line, LineError> {
        let text = std::str::from_utf8(bytes).map_err(|_| LineError::Checksum)?;
        let (body, checksum) = text.rsplit_once(' ').ok_or(LineError::Checksum)?;
        if checksum != format!("{:08x}", crc32c::crc32c(body.as_bytes())) {
            return Err(LineError::Checksum);
        }
        let impossible = || LineError::Impossible(body.chars().take(80).collect());
        if let Some(json) = body.strip_prefix("hello ") {
            return hello(json);
        }
        let words: Vec<&str> = body.split(' ').collect();
        let parsed = match words.as_slice() {
            ["ack", run, thread, seq, slot, generation] => (|| {
                Some(Line::Ack {
                    run: run_of(run)?,
                    thread: thread.parse().ok()?,
                    seq: seq.parse().ok().filter(|&seq| seq > 0)?,
                    slot: slot.parse().ok()?,
                    generation: generation.parse().ok()?,
                })
            })(),
            ["fail", run, thread, seq, step, errno] => (|| {
                let step = match *step {
                    "write" => Step::Write,
                    "sync" => Step::Sync,
                    _ => return None,
                };
                let (run, thread) = (run_of(run)?, thread.parse().ok()?);
                Some(Line::Fail { run, thread, seq: seq.parse().ok()?, step, errno: errno.parse().ok()? })
            })(),
            ["end", run, why, acknowledged] => (|| {
                let why = Why::of(why)?;
                Some(Line::End { run: run_of(run)?, why, acknowledged: acknowledged.parse().ok()? })
            })(),
            _ => None,
        };
        parsed.ok_or_else(impossible)
    }
}

fn hello(json: &str) -> Result<Line, LineError> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let impossible = |error: serde_json::Error| LineError::Impossible(error.to_string());
    // The version first: what else another version says need not be understood.
    let Versioned { version } = serde_json::from_str(json).map_err(impossible)?;
    if version != VERSION {
        return Err(LineError::Version(version));
    }
    let hello: Hello = serde_json::from_str(json).map_err(impossible)?;
    hello.geometry.check()?;
    Ok(Line::Hello(Box::new(hello)))
}

/// Reads a run's name.
pub fn run_of(text: &str) -> Option<u64> {
    let is_name = text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    u64::from_str_radix(text, 16).ok().filter(|_| is_name)
}

impl Why {
    const ALL: [(Why, &'static str); 4] =
        [(Why::Runtime, "runtime"), (Why::Stopped, "stopped"), (Why::Full, "full"), (Why::Failed, "failed")];

    fn of(word: &str) -> Option<Why> {
        Why::ALL.iter().find(|(_, known)| *known == word).map(|(why, _)| *why)
    }

    /// As it stands in the log.
    pub fn word(self) -> &'static str {
        Why::ALL.iter().find(|(why, _)| *why == self).map_or("", |(_, word)| word)
    }
}

mod hex_number {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{number:016x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        super::run_of(&text).ok_or_else(|| D::Error::custom("a run's name has 16 hexadecimal digits"))
    }
}

/// Cuts a stream of bytes into lines. A line that is too long is cut where its patience ends, so that
/// garbage without line ends cannot fill the memory.
#[derive(Debug, Default)]
pub struct Lines {
    pending: Vec<u8>,
}

impl Lines {
    /// Takes bytes in and gives each line that they complete to `each`.
    pub fn take(&mut self, mut bytes: &[u8], mut each: impl FnMut(&[u8])) {
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
            self.pending.extend_from_slice(&bytes[..end]);
            each(&self.pending);
            self.pending.clear();
            bytes = &bytes[end + 1..];
        }
        self.pending.extend_from_slice(bytes);
        if self.pending.len() > LINE_MAX {
            each(&self.pending);
            self.pending.clear();
        }
    }

    /// The beginning of a line whose end has not come.
    pub fn rest(&self) -> &[u8] {
        &self.pending
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::durability::geometry::Pattern;
    use proptest::prelude::*;

    pub fn a_hello(geometry: Geometry) -> Hello {
        Hello {
            version: VERSION,
            run: 0x8f2a_61c0_4d15_b7e3,
            iobound: "0.1.0".into(),
            started: "2026-01-01T00:00:00Z".into(),
            boot: "boot-one".into(),
            target: "/data/with \"odd\"\nname".into(),
            geometry,
            sync: Sync::Fdatasync,
            direct: true,
            preallocate: Preallocate::Write,
        }
    }

    fn geometry() -> Geometry {
        Geometry { bs: 4096, threads: 2, slots_per_thread: 8, pattern: Pattern::Overwrite }
    }

    fn lines() -> Vec<Line> {
        let run = 7;
        vec![
            Line::Hello(Box::new(a_hello(geometry()))),
            Line::Ack { run, thread: 1, seq: 12, slot: 7, generation: 2 },
            Line::Fail { run, thread: 1, seq: 13, step: Step::Sync, errno: 5 },
            Line::End { run, why: Why::Stopped, acknowledged: 12 },
        ]
    }

    #[test]
    fn lines_read_back() {
        for line in lines() {
            let text = line.text();
            assert_eq!(text.matches('\n').count(), 1);
            assert_eq!(Line::parse(text.trim_end().as_bytes()), Ok(line));
        }
        insta::assert_snapshot!(lines().iter().map(Line::text).collect::<String>());
    }

    fn sealed(body: &str) -> String {
        format!("{body} {:08x}", crc32c::crc32c(body.as_bytes()))
    }

    #[test]
    fn another_version_is_told_from_garbage() {
        let newer = sealed("hello {\"version\":2,\"new\":true}");
        assert_eq!(Line::parse(newer.as_bytes()), Err(LineError::Version(2)));
        let whole = lines()[0].text();
        let impossible = sealed(&whole.rsplit_once(' ').unwrap().0.replace("\"bs\":4096", "\"bs\":4000"));
        assert!(matches!(Line::parse(impossible.as_bytes()), Err(LineError::Impossible(_))));
        for body in
            ["ack 0000000000000007 0 0 0 1", "ack 7 0 1 0 1", "end 0000000000000007 bored 1", "hello", ""]
        {
            assert!(matches!(Line::parse(sealed(body).as_bytes()), Err(LineError::Impossible(_))), "{body}");
        }
    }

    proptest! {
        #[test]
        fn a_damaged_line_is_never_taken(which in 0usize..4, at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut bytes = lines()[which].text().trim_end().as_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert!(Line::parse(&bytes).is_err());
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(Line::parse(&bytes[..at]), Err(LineError::Checksum));
        }

        #[test]
        fn any_bytes_in_any_pieces(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20)) {
            let mut lines = Lines::default();
            let mut seen = Vec::new();
            for piece in &pieces {
                lines.take(piece, |line| {
                    let _ = Line::parse(line);
                    seen.extend_from_slice(line);
                    seen.push(b'\n');
                });
            }
            seen.extend_from_slice(lines.rest());
            prop_assert_eq!(seen, pieces.concat());
        }
    }

    #[test]
    fn garbage_without_line_ends_is_cut() {
        let mut lines = Lines::default();
        let mut count = 0;
        for _ in 0..100 {
            lines.take(&[b'x'; 4096], |_| count += 1);
            assert!(lines.rest().len() <= LINE_MAX);
        }
        assert!(count > 0);
    }
}
