//! Sizes, bandwidths and times as values that a file may give in words.
//!
//! Each is read from text (`"50GiB"`, `"125MiB/s"`, `"600us"`) or from a whole number of its base unit
//! (bytes, bytes per second, nanoseconds), and written as exact text, so a context reads back as it was.

use std::fmt;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::units::{self, UnitError};

/// A size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

/// Bytes per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bandwidth(pub u64);

/// A time in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(pub u64);

/// Reads a bandwidth in bytes per second: `125MiB/s`, `500 MB/s`, `125MiBps`; a bare number is bytes.
///
/// # Errors
/// As [`units::parse_bytes`]; a bit rate (`10Gbit/s`) is an unknown unit, since a factor of eight must
/// not pass unseen.
pub fn parse_bandwidth(text: &str) -> Result<u64, UnitError> {
    let text = text.trim();
    let size = text.strip_suffix("/s").or_else(|| text.strip_suffix("ps")).unwrap_or(text);
    units::parse_bytes(size)
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&exact_bytes(self.0))
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", exact_bytes(self.0))
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        for (scale, unit) in [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")] {
            if ns != 0 && ns.is_multiple_of(scale) {
                return write!(f, "{}{unit}", ns / scale);
            }
        }
        write!(f, "{ns}ns")
    }
}

/// Text that reads back to the same number: whole units where one divides it, else bytes.
fn exact_bytes(value: u64) -> String {
    const UNITS: [(u64, &str); 7] = [
        (1 << 40, "TiB"),
        (1 << 30, "GiB"),
        (1_000_000_000, "GB"),
        (1 << 20, "MiB"),
        (1_000_000, "MB"),
        (1 << 10, "KiB"),
        (1_000, "KB"),
    ];
    match UNITS.iter().find(|(scale, _)| value != 0 && value.is_multiple_of(*scale)) {
        Some((scale, unit)) => format!("{}{unit}", value / scale),
        None => format!("{value}B"),
    }
}

/// Serde for a newtype over `u64` that is text in files.
macro_rules! as_text {
    ($name:ident, $parse:path, $expecting:literal) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Reads;
                impl Visitor<'_> for Reads {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        $parse(text).map($name).map_err(E::custom)
                    }
                    fn visit_u64<E: de::Error>(self, value: u64) -> Result<$name, E> {
                        Ok($name(value))
                    }
                    fn visit_i64<E: de::Error>(self, value: i64) -> Result<$name, E> {
                        u64::try_from(value).map($name).map_err(|_| E::custom("is negative"))
                    }
                }
                deserializer.deserialize_any(Reads)
            }
        }
    };
}

as_text!(Bytes, units::parse_bytes, "a size such as \"50GiB\", or a whole number of bytes");
as_text!(
    Bandwidth,
    parse_bandwidth,
    "a bandwidth such as \"125MiB/s\", or a whole number of bytes per second"
);
as_text!(
    Duration,
    units::parse_duration_ns,
    "a time such as \"600us\" or \"1.8ms\", or a whole number of nanoseconds"
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn they_print_as_people_write_them() {
        assert_eq!(Bytes(50 << 30).to_string(), "50GiB");
        assert_eq!(Bytes(10_000_000_000).to_string(), "10GB");
        assert_eq!(Bandwidth(125 << 20).to_string(), "125MiB/s");
        assert_eq!(Bandwidth(312_500_000).to_string(), "312500KB/s");
        assert_eq!(Bandwidth(25 << 19).to_string(), "12800KiB/s");
        assert_eq!(Duration(600_000).to_string(), "600us");
    }

    #[test]
    fn a_bit_rate_is_refused() {
        assert!(parse_bandwidth("10Gbit/s").is_err());
        assert_eq!(parse_bandwidth("12.5MiB/s"), Ok(25 << 19));
        assert_eq!(parse_bandwidth("500MBps"), Ok(500_000_000));
    }

    proptest! {
        #[test]
        fn text_reads_back_to_the_same_number(value: u64) {
            let json = serde_json::to_string(&Bytes(value)).unwrap();
            prop_assert_eq!(serde_json::from_str::<Bytes>(&json).unwrap(), Bytes(value));
            let json = serde_json::to_string(&Bandwidth(value)).unwrap();
            prop_assert_eq!(serde_json::from_str::<Bandwidth>(&json).unwrap(), Bandwidth(value));
            let json = serde_json::to_string(&Duration(value)).unwrap();
            prop_assert_eq!(serde_json::from_str::<Duration>(&json).unwrap(), Duration(value));
        }
    }
}
