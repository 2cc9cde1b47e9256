//! Sizes, rates and times as people read and write them.
//!
//! In iobound's own text (`4k`, `1MiB`, `10GB`): a bare letter is a power of two, as in fio, `KiB`
//! is a power of two and `KB` a power of ten. fio's own, different reading lives with its parser.

use thiserror::Error;

/// 1,024 bytes.
pub const KIB: u64 = 1 << 10;
/// 1,048,576 bytes.
pub const MIB: u64 = 1 << 20;
/// 1,073,741,824 bytes.
pub const GIB: u64 = 1 << 30;

/// Text that is no size, time or count.
#[derive(Debug, Error, PartialEq, Eq, Clone)]
pub enum UnitError {
    /// No number at its start.
    #[error("'{0}' does not start with a number; write for example 4k, 1m or 2g")]
    NoNumber(String),
    /// Below zero.
    #[error("'{0}' is negative; sizes, times and counts start at 0")]
    Negative(String),
    /// The letters after the number mean nothing here.
    #[error("'{unit}' in '{text}' is no unit; known ones: {known}")]
    UnknownUnit {
        /// The whole text.
        text: String,
        /// The part that is not known.
        unit: String,
        /// What would be.
        known: &'static str,
    },
    /// Does not fit in 64 bits.
    #[error("'{0}' is too large: more than 2^64")]
    Overflow(String),
    /// A fraction of a byte or nanosecond.
    #[error("'{0}' is not a whole number of {1}")]
    Fraction(String, &'static str),
}

const SIZE_UNITS: &str = "b, k, m, g, t, p (powers of 1024), KiB.. (1024), KB.. (1000)";
const TIME_UNITS: &str = "ns, us, ms, s, m, h, d";

/// Splits `text` into its decimal number and its unit.
fn split_number(text: &str) -> Result<(&str, &str), UnitError> {
    let text = text.trim();
    if text.starts_with('-') {
        return Err(UnitError::Negative(text.into()));
    }
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    if !number.starts_with(|c: char| c.is_ascii_digit()) || number.matches('.').count() > 1 {
        return Err(UnitError::NoNumber(text.into()));
    }
    Ok((number, unit.trim()))
}

/// `number` (decimal digits, at most one point) times `scale`, exactly.
fn scaled(text: &str, number: &str, scale: u64, what: &'static str) -> Result<u64, UnitError> {
    let overflow = || UnitError::Overflow(text.into());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u128 = whole.parse().map_err(|_| overflow())?;
    let mut value = whole.checked_mul(u128::from(scale)).ok_or_else(overflow)?;
    let fraction = fraction.trim_end_matches('0');
    if !fraction.is_empty() {
        if fraction.len() > 18 {
            return Err(UnitError::Fraction(text.into(), what));
        }
        let digits: u128 = fraction.parse().map_err(|_| overflow())?;
        let parts = digits * u128::from(scale);
        let power = 10u128.pow(fraction.len() as u32);
        // A fraction of a large unit may fall between two bytes (0.3g): rounded down, never up.
        if scale == 1 {
            return Err(UnitError::Fraction(text.into(), what));
        }
        value += parts / power;
    }
    u64::try_from(value).map_err(|_| overflow())
}

/// Reads a size in bytes: `4096`, `4k`, `1.5MiB`, `10GB`.
///
/// # Errors
/// Text without a number, negative, with an unknown unit, or above 64 bits.
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    let (number, unit) = split_number(text)?;
    let lower = unit.to_ascii_lowercase();
    let (prefix, base) = match lower.strip_suffix("ib") {
        Some(prefix) if !prefix.is_empty() => (prefix, 1024u64),
        _ => match lower.strip_suffix('b') {
            Some(prefix) if !prefix.is_empty() => (prefix, 1000),
            Some(_) => ("", 1),
            None => (lower.as_str(), 1024),
        },
    };
    let power = match prefix {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => {
            return Err(UnitError::UnknownUnit {
                text: text.trim().into(),
                unit: unit.into(),
                known: SIZE_UNITS,
            });
        }
    };
    scaled(text.trim(), number, base.pow(power), "bytes")
}

/// Reads a time in nanoseconds; a bare number is seconds, as in fio's `runtime`.
///
/// # Errors
/// Text without a number, negative, with an unknown unit, or above 64 bits.
pub fn parse_duration_ns(text: &str) -> Result<u64, UnitError> {
    let (number, unit) = split_number(text)?;
    let scale = match unit.to_ascii_lowercase().as_str() {
        "ns" | "nsec" => 1,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "" | "s" | "sec" => 1_000_000_000,
        "m" | "min" => 60 * 1_000_000_000,
        "h" => 3_600 * 1_000_000_000,
        "d" => 86_400 * 1_000_000_000,
        _ => {
            return Err(UnitError::UnknownUnit {
                text: text.trim().into(),
                unit: unit.into(),
                known: TIME_UNITS,
            });
        }
    };
    scaled(text.trim(), number, scale, "nanoseconds")
}

/// A size as people read it: exact where a unit divides it (`4 KiB`), else with one decimal.
pub fn bytes(value: u64) -> String {
    const NAMES: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut unit = 0;
    while unit + 1 < NAMES.len() && value >= 1 << (10 * (unit + 1)) {
        unit += 1;
    }
    let scale = 1u64 << (10 * unit);
    if value.is_multiple_of(scale) {
        format!("{} {}", value / scale, NAMES[unit])
    } else {
        format!("{:.1} {}", value as f64 / scale as f64, NAMES[unit])
    }
}

/// A size as fio reads it back to the same number: `4k`, `1m`, `4097`.
pub fn bytes_fio(value: u64) -> String {
    for (shift, letter) in [(40, "t"), (30, "g"), (20, "m"), (10, "k")] {
        if value != 0 && value.is_multiple_of(1 << shift) {
            return format!("{}{letter}", value >> shift);
        }
    }
    value.to_string()
}

/// A bandwidth in both families of units: `500 MiB/s (524 MB/s)`.
pub fn bandwidth(bytes_per_s: f64) -> String {
    let mib = bytes_per_s / MIB as f64;
    let mb = bytes_per_s / 1e6;
    format!("{} MiB/s ({} MB/s)", significant(mib), significant(mb))
}

/// A time as people read it, three significant digits: `1.86 ms`, `371 us`.
pub fn duration(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{} us", significant(ns as f64 / 1e3)),
        1_000_000..1_000_000_000 => format!("{} ms", significant(ns as f64 / 1e6)),
        _ if ns < 120_000_000_000 => format!("{} s", significant(ns as f64 / 1e9)),
        _ => format!("{} min", significant(ns as f64 / 60e9)),
    }
}

/// A count with separators: `12,200`.
pub fn count(value: f64) -> String {
    let digits = format!("{:.0}", value.max(0.0));
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Three significant digits below 1,000, whole numbers with separators above.
pub fn significant(value: f64) -> String {
    let magnitude = value.abs();
    // Limits at which rounding to fewer decimals would carry into the next digit.
    if magnitude >= 99.95 {
        count(value)
    } else if magnitude >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_read_as_written() {
        for (text, bytes) in [
            ("0", 0),
            ("512", 512),
            ("4k", 4096),
            ("4K", 4096),
            ("1MiB", MIB),
            ("1.5m", 3 * MIB / 2),
            ("10GB", 10_000_000_000),
            ("2 g", 2 * GIB),
            ("1b", 1),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn nonsense_is_an_error() {
        for text in
            ["", "k", "-4k", "4x", "1e99", "99999999999999999999", "20000p", "1.2.3", "0.5", "٣k", ".5k"]
        {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_read_as_written() {
        assert_eq!(parse_duration_ns("60"), Ok(60_000_000_000));
        assert_eq!(parse_duration_ns("60s"), Ok(60_000_000_000));
        assert_eq!(parse_duration_ns("1.5ms"), Ok(1_500_000));
        assert_eq!(parse_duration_ns("2m"), Ok(120_000_000_000));
        assert!(parse_duration_ns("5 fortnights").is_err());
    }

    #[test]
    fn numbers_print_for_people() {
        assert_eq!(bytes(4096), "4 KiB");
        assert_eq!(bytes(5000), "4.9 KiB");
        assert_eq!(count(12_200.4), "12,200");
        assert_eq!(count(999.0), "999");
        assert_eq!(duration(1_858_000), "1.86 ms");
        assert_eq!(bandwidth(524_288_000.0), "500 MiB/s (524 MB/s)");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,24}") {
            let _ = parse_bytes(&text);
            let _ = parse_duration_ns(&text);
        }

        #[test]
        fn fio_form_reads_back(value: u64) {
            prop_assert_eq!(parse_bytes(&bytes_fio(value)), Ok(value));
        }
    }
}
