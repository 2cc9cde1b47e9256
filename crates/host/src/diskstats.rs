//! `/proc/diskstats`: what each block device has done since it appeared.
//!
//! Fields: Documentation/admin-guide/iostats.rst in the kernel tree.

use std::borrow::Cow;
use std::collections::HashMap;

/// A device's counters since it appeared. Sectors are always 512 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Reads completed.
    pub read_ios: u64,
    /// Reads merged into others before they were issued.
    pub read_merges: u64,
    /// Sectors read, 512 bytes each.
    pub read_sectors: u64,
    /// Time of all reads, milliseconds.
    pub read_ms: u64,
    /// Writes completed.
    pub write_ios: u64,
    /// Writes merged into others.
    pub write_merges: u64,
    /// Sectors written, 512 bytes each.
    pub write_sectors: u64,
    /// Time of all writes, milliseconds.
    pub write_ms: u64,
    /// Operations in flight: a figure of the moment, not a counter.
    pub in_flight: u64,
    /// Time with I/O in flight, milliseconds.
    pub busy_ms: u64,
    /// That time multiplied by the operations in flight, milliseconds.
    pub weighted_ms: u64,
    /// Discards completed; 0 before kernel 4.18, which does not count them.
    pub discard_ios: u64,
    /// Sectors discarded.
    pub discard_sectors: u64,
    /// Flush requests completed; 0 before kernel 5.5, which does not count them.
    pub flush_ios: u64,
    /// What the kernel counts at all.
    pub kept: Kept,
}

/// Which counters the kernel keeps, by the number of fields that it prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kept {
    /// Operations and sectors: partitions before 2.6.25.
    #[default]
    Amounts,
    /// Also merges and times.
    Times,
    /// Also discards.
    Discards,
    /// Also flushes.
    Flushes,
}

/// Fields after the name, by kernel: 4 (partitions before 2.6.25), 11, 15 (with discards, 4.18) or
/// 17 (with flushes, 5.5). More may join at the end.
const FIELDS_OLD_PARTITION: usize = 4;
const FIELDS_BASIC: usize = 11;
const FIELDS_DISCARDS: usize = 15;
const FIELDS_FLUSHES: usize = 17;

/// Reads the table, by kernel name as `/sys` writes it (`cciss!c0d0`). Lines that do not fit the
/// format are left out, and so are devices whose numbers do not fit in 64 bits.
///
/// By name and not by number: the path devices of a multipath NVMe drive all have the number 0:0.
pub fn parse_diskstats(text: &str) -> HashMap<String, Counters> {
    rows(text).map(|(name, counters)| (sys_name(name).into_owned(), counters)).collect()
}

/// The rows of the table, with the names as the table writes them (`cciss/c0d0`). Allocates nothing.
pub(crate) fn rows(text: &str) -> impl Iterator<Item = (&str, Counters)> {
    text.lines().filter_map(parse_line)
}

/// A name as `/sys` writes it.
pub(crate) fn sys_name(name: &str) -> Cow<'_, str> {
    if name.contains('/') { Cow::Owned(name.replace('/', "!")) } else { Cow::Borrowed(name) }
}

fn parse_line(line: &str) -> Option<(&str, Counters)> {
    let mut words = line.split_ascii_whitespace();
    words.next()?.parse::<u32>().ok()?;
    words.next()?.parse::<u32>().ok()?;
    let name = words.next()?;
    let mut fields = [0u64; FIELDS_FLUSHES];
    let mut count = 0;
    for word in words {
        let value = word.parse().ok()?;
        if let Some(field) = fields.get_mut(count) {
            *field = value;
        }
        count += 1;
    }
    let counters = match count {
        FIELDS_OLD_PARTITION => Counters {
            read_ios: fields[0],
            read_sectors: fields[1],
            write_ios: fields[2],
            write_sectors: fields[3],
            ..Counters::default()
        },
        FIELDS_BASIC.. => Counters {
            read_ios: fields[0],
            read_merges: fields[1],
            read_sectors: fields[2],
            read_ms: fields[3],
            write_ios: fields[4],
            write_merges: fields[5],
            write_sectors: fields[6],
            write_ms: fields[7],
            in_flight: fields[8],
            busy_ms: fields[9],
            weighted_ms: fields[10],
            discard_ios: fields[11],
            discard_sectors: fields[13],
            flush_ios: fields[15],
            kept: match count {
                FIELDS_FLUSHES.. => Kept::Flushes,
                FIELDS_DISCARDS.. => Kept::Discards,
                _ => Kept::Times,
            },
        },
        _ => return None,
    };
    Some((name, counters))
}

impl Counters {
    /// What was added since `earlier`, counters that wrapped round included; the operations in flight
    /// as they are now.
    pub(crate) fn since(&self, earlier: &Counters) -> Counters {
        Counters {
            read_ios: added(earlier.read_ios, self.read_ios),
            read_merges: added(earlier.read_merges, self.read_merges),
            read_sectors: added(earlier.read_sectors, self.read_sectors),
            read_ms: added(earlier.read_ms, self.read_ms),
            write_ios: added(earlier.write_ios, self.write_ios),
            write_merges: added(earlier.write_merges, self.write_merges),
            write_sectors: added(earlier.write_sectors, self.write_sectors),
            write_ms: added(earlier.write_ms, self.write_ms),
            in_flight: self.in_flight,
            busy_ms: added(earlier.busy_ms, self.busy_ms),
            weighted_ms: added(earlier.weighted_ms, self.weighted_ms),
            discard_ios: added(earlier.discard_ios, self.discard_ios),
            discard_sectors: added(earlier.discard_sectors, self.discard_sectors),
            flush_ios: added(earlier.flush_ios, self.flush_ios),
            kept: self.kept,
        }
    }

    /// Whether a counter stands lower than it did: it wrapped, or this is another device.
    pub(crate) fn fell_since(&self, earlier: &Counters) -> bool {
        [
            (earlier.read_ios, self.read_ios),
            (earlier.read_sectors, self.read_sectors),
            (earlier.read_ms, self.read_ms),
            (earlier.write_ios, self.write_ios),
            (earlier.write_sectors, self.write_sectors),
            (earlier.write_ms, self.write_ms),
            (earlier.busy_ms, self.busy_ms),
            (earlier.weighted_ms, self.weighted_ms),
            (earlier.discard_ios, self.discard_ios),
            (earlier.flush_ios, self.flush_ios),
        ]
        .iter()
        .any(|(before, now)| now < before)
    }
}

/// The times are 32 bits wide on every kernel, the others on 32-bit kernels; a counter that went
/// down from within 32 bits therefore wrapped at 32, any other at 64.
fn added(before: u64, now: u64) -> u64 {
    if now < before && before <= u64::from(u32::MAX) {
        now + (1 << 32) - before
    } else {
        now.wrapping_sub(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_kernels_lines() {
        let table = parse_diskstats(
            "   8       0 sda 10 1 80 5 20 2 160 9 0 14 14\n\
             \x20  8       1 sda1 3 24 4 32\n\
             \x20259       0 nvme0n1 10 1 80 5 20 2 160 9 0 14 14 7 0 7 7\n\
             \x20254       0 vda 10 1 80 5 20 2 160 9 0 14 14 7 0 7 7 33 4\n\
             \x20  0       0 nvme3c33n1 682 0 16148 59 67891 258573 17174264 58210 0 584 36052 0 0 0 0\n\
             \x20105       0 cciss/c0d0 1 1 1 1 1 1 1 1 1 1 1\n\
             \x20  8      16 sdb 1 2 3\n\
             \x20  8      32 sdc 1 1 1 1 1 1 1 1 1 1 -1\n\
             \x20  8      48\n\n",
        );
        assert_eq!(table.len(), 6);
        let basic = Counters {
            read_ios: 10,
            read_merges: 1,
            read_sectors: 80,
            read_ms: 5,
            write_ios: 20,
            write_merges: 2,
            write_sectors: 160,
            write_ms: 9,
            busy_ms: 14,
            weighted_ms: 14,
            kept: Kept::Times,
            ..Counters::default()
        };
        assert_eq!(table["sda"], basic);
        let discards = Counters { discard_ios: 7, discard_sectors: 7, kept: Kept::Discards, ..basic };
        assert_eq!(table["nvme0n1"], discards);
        assert_eq!(table["vda"], Counters { flush_ios: 33, kept: Kept::Flushes, ..discards });
        assert_eq!(table["sda1"].write_sectors, 32);
        assert_eq!(table["nvme3c33n1"].write_ios, 67891);
        assert!(table.contains_key("cciss!c0d0"));
    }

    #[test]
    fn counters_wrap_at_their_width() {
        assert_eq!(added(100, 150), 50);
        assert_eq!(added(u64::from(u32::MAX) - 9, 10), 20);
        assert_eq!(added(u64::MAX - 9, 10), 20);
        assert_eq!(added(1 << 33, (1 << 33) + 5), 5);
    }

    proptest! {
        #[test]
        fn any_text_parses(text in "\\PC*") {
            parse_diskstats(&text);
        }

        #[test]
        fn any_numbers_parse(count in 0usize..24, seed in any::<u64>()) {
            let numbers: Vec<String> = (0..count as u64).map(|n| seed.wrapping_mul(n).to_string()).collect();
            let table = parse_diskstats(&format!("8 0 sda {}", numbers.join(" ")));
            prop_assert_eq!(table.len() == 1, count == 4 || count >= 11);
        }

        #[test]
        fn no_difference_panics(before: u64, now: u64) {
            let (a, b) = (Counters { busy_ms: before, ..Counters::default() }, Counters { busy_ms: now, ..Counters::default() });
            b.since(&a);
        }
    }
}
