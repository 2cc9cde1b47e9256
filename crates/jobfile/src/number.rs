//! Numbers as fio reads them, and as iobound does, told apart by [`Dialect`].
//!
//! fio takes the digits at the start of a value and forgives whatever follows: `1.5m` is 1 byte,
//! `60sec` is 60 microseconds, `4x` and `4 k` are 4 bytes, `0x10k` is 16. Those are errors here; what fio reads as its author
//! meant it is read alike. Source: `parse.c` of fio 3.33, `str_to_decimal` and below it.

use iobound_record::{Extent, units};

/// Whose rules a value is read by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// A line of a fio job file, with the section's `kb_base`.
    Fio {
        /// 1024: `k` and `kb` are 1,024 and `kib` is 1,000. 1000: `k` and `kb` are 1,000, `kib` 1,024.
        kb_base: u64,
    },
    /// The TOML form, and `#iobound:` lines: `k` and `KiB` are 1,024, `KB` is 1,000.
    Iobound,
}

impl Dialect {
    /// Whether fio's rules hold.
    pub(crate) fn is_fio(self) -> bool {
        matches!(self, Dialect::Fio { .. })
    }
}

/// What a bare number of a time means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BareTime {
    Seconds,
    Milliseconds,
    Microseconds,
}

impl BareTime {
    fn ns(self) -> u64 {
        match self {
            BareTime::Seconds => 1_000_000_000,
            BareTime::Milliseconds => 1_000_000,
            BareTime::Microseconds => 1_000,
        }
    }
}

/// A size, or a count (fio lets counts carry a suffix too: `number_ios=1k`).
pub(crate) fn bytes(text: &str, dialect: Dialect) -> Result<u64, String> {
    match dialect {
        Dialect::Fio { kb_base } => fio_bytes(text, kb_base),
        Dialect::Iobound => units::parse_bytes(text).map_err(|e| e.to_string()),
    }
}

/// A size or a percentage.
pub(crate) fn extent(text: &str, dialect: Dialect) -> Result<Extent, String> {
    let Some(number) = text.strip_suffix('%') else {
        if dialect.is_fio() && text.ends_with('z') {
            return Err("iobound has no zoned devices; give bytes or a percentage".into());
        }
        return bytes(text, dialect).map(Extent::Bytes);
    };
    match number.parse::<u8>() {
        Ok(percent) if percent <= 100 => Ok(Extent::Percent(percent)),
        _ => Err("a percentage is a whole number from 0% to 100%".into()),
    }
}

/// A time in nanoseconds.
pub(crate) fn time_ns(text: &str, bare: BareTime, dialect: Dialect) -> Result<u64, String> {
    if let Some(number) = digits_only(text) {
        let number: u64 = number.parse().map_err(|_| too_large())?;
        return number.checked_mul(bare.ns()).ok_or_else(too_large);
    }
    match dialect {
        Dialect::Fio { .. } => fio_time(text),
        Dialect::Iobound => units::parse_duration_ns(text).map_err(|e| e.to_string()),
    }
}

/// A number with a point, finite.
pub(crate) fn float(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err("write a number, for example 1.2".into()),
    }
}

fn too_large() -> String {
    "more than 2^64".into()
}

fn digits_only(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then_some(text)
}

/// Splits digits (decimal, or hexadecimal after `0x`) from the suffix after them.
fn fio_number(text: &str) -> Result<(u64, &str), String> {
    if text.starts_with('-') {
        return Err("it is negative; sizes, times and counts start at 0".into());
    }
    if text.starts_with('(') {
        return Err("arithmetic in parentheses is not read; write the result".into());
    }
    let lower = text.as_bytes();
    let (digits, radix) = match lower {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        _ => (text, 10),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (number, suffix) = digits.split_at(end);
    if number.is_empty() {
        return Err("it does not start with a number; write for example 4k, 1m or 60".into());
    }
    let number = u64::from_str_radix(number, radix).map_err(|_| too_large())?;
    if suffix.starts_with('.') {
        return Err("fio drops the fraction and its unit; write a whole number in a smaller unit".into());
    }
    if suffix.starts_with(char::is_whitespace) {
        return Err("fio drops a unit after a blank; write them together".into());
    }
    if radix == 16 && !suffix.is_empty() {
        return Err("fio drops the unit of a hexadecimal number; write a decimal one".into());
    }
    Ok((number, suffix))
}

fn fio_bytes(text: &str, kb_base: u64) -> Result<u64, String> {
    let (number, suffix) = fio_number(text)?;
    let lower = suffix.to_ascii_lowercase();
    // fio's own inversion: with kb_base=1024 the "i" makes a power of ten, so that job files from
    // before the IEC names keep their meaning.
    let inverse = if kb_base == 1000 { 1024 } else { 1000 };
    let (letter, base) = match lower.strip_suffix("ib") {
        Some(letter) => (letter, inverse),
        None => (lower.strip_suffix('b').unwrap_or(&lower), kb_base),
    };
    let power = match letter {
        "" if lower.len() <= 1 => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => {
            return Err(format!("'{}' is no size suffix; fio has k, m, g, t, p, kb.., kib..", clip(suffix)));
        }
    };
    number.checked_mul(base.pow(power)).ok_or_else(too_large)
}

fn fio_time(text: &str) -> Result<u64, String> {
    let (number, suffix) = fio_number(text)?;
    let scale: u64 = match suffix.to_ascii_lowercase().as_str() {
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60 * 1_000_000_000,
        "h" => 3_600 * 1_000_000_000,
        "d" => 86_400 * 1_000_000_000,
        _ => {
            return Err(format!(
                "'{}' is no time suffix (fio takes it for microseconds); use us, ms, s, m, h or d",
                clip(suffix)
            ));
        }
    };
    number.checked_mul(scale).ok_or_else(too_large)
}

fn clip(text: &str) -> String {
    crate::errors::quoted(text)
}

/// A time in fio's words for an option whose bare number is `bare`: exact, or rounded up to the
/// microsecond that fio can say.
pub(crate) fn time_fio(ns: u64, bare: BareTime) -> String {
    if ns.is_multiple_of(bare.ns()) {
        return (ns / bare.ns()).to_string();
    }
    if ns.is_multiple_of(1_000_000) {
        return format!("{}ms", ns / 1_000_000);
    }
    format!("{}us", ns.div_ceil(1_000))
}

/// A time in iobound's words where fio's cannot say it exactly.
pub(crate) fn time_exact(ns: u64) -> Option<String> {
    (!ns.is_multiple_of(1_000)).then(|| format!("{ns}ns"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIO: Dialect = Dialect::Fio { kb_base: 1024 };
    const SI: Dialect = Dialect::Fio { kb_base: 1000 };

    #[test]
    fn fio_sizes_follow_kb_base_and_its_inversion() {
        for (text, binary, decimal) in [
            ("4096", 4096, 4096),
            ("4096b", 4096, 4096),
            ("0x1000", 4096, 4096),
            ("4k", 4096, 4000),
            ("4K", 4096, 4000),
            ("4kb", 4096, 4000),
            ("4KiB", 4000, 4096),
            ("1m", 1 << 20, 1_000_000),
            ("1MiB", 1_000_000, 1 << 20),
            ("2g", 2 << 30, 2_000_000_000),
            ("1t", 1 << 40, 1_000_000_000_000),
            ("1p", 1 << 50, 1_000_000_000_000_000),
        ] {
            assert_eq!(bytes(text, FIO), Ok(binary), "{text}");
            assert_eq!(bytes(text, SI), Ok(decimal), "{text}");
        }
    }

    #[test]
    fn what_fio_would_misread_is_an_error() {
        for text in
            ["1.5m", "4x", "-1", "", "k", "(4)k", "4 k", "0x10k", "ib", "99999999999999999999", "20000p"]
        {
            assert!(bytes(text, FIO).is_err(), "{text}");
        }
        for text in ["60sec", "1.5s", "10ns", "5x", "-3", "", "s"] {
            assert!(time_ns(text, BareTime::Seconds, FIO).is_err(), "{text}");
        }
    }

    #[test]
    fn times_have_fios_units() {
        for (text, ns) in [
            ("60", 60_000_000_000),
            ("60s", 60_000_000_000),
            ("2m", 120_000_000_000),
            ("1h", 3_600_000_000_000),
            ("1D", 86_400_000_000_000),
            ("5ms", 5_000_000),
            ("7us", 7_000),
            ("7usec", 7_000),
        ] {
            assert_eq!(time_ns(text, BareTime::Seconds, FIO), Ok(ns), "{text}");
        }
        assert_eq!(time_ns("100", BareTime::Microseconds, FIO), Ok(100_000));
        assert_eq!(time_ns("100", BareTime::Milliseconds, Dialect::Iobound), Ok(100_000_000));
        assert_eq!(time_ns("1.5ms", BareTime::Seconds, Dialect::Iobound), Ok(1_500_000));
    }

    #[test]
    fn percentages_are_whole_and_at_most_100() {
        assert_eq!(extent("50%", FIO), Ok(Extent::Percent(50)));
        assert_eq!(extent("1g", FIO), Ok(Extent::Bytes(1 << 30)));
        for text in ["101%", "%", "1.5%", "-5%", "5 %", "3z"] {
            assert!(extent(text, FIO).is_err(), "{text}");
        }
    }

    #[test]
    fn times_print_as_fio_reads_them() {
        assert_eq!(time_fio(60_000_000_000, BareTime::Seconds), "60");
        assert_eq!(time_fio(1_500_000_000, BareTime::Seconds), "1500ms");
        assert_eq!(time_fio(1_500, BareTime::Seconds), "2us");
        assert_eq!(time_exact(1_500).as_deref(), Some("1500ns"));
        assert_eq!(time_exact(2_000), None);
    }
}
