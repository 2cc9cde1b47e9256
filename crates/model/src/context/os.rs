//! Settings of the operating system.

use iobound_record::OsSettings;

use super::Found;
use super::words::quoted;

/// The kernel takes no less: two pages (`dirty_bytes_min`, mm/page-writeback.c).
const DIRTY_BYTES_MIN: u64 = 8192;
/// `vm.swappiness` goes to 200 since Linux 5.8.
const SWAPPINESS_MAX: u32 = 200;

pub(super) fn settings(found: &mut Found, os: &OsSettings) {
    let both = [
        ("os.dirty_ratio", os.dirty_bytes.is_some() && os.dirty_ratio.is_some(), "dirty_bytes"),
        (
            "os.dirty_background_ratio",
            os.dirty_background_bytes.is_some() && os.dirty_background_ratio.is_some(),
            "dirty_background_bytes",
        ),
    ];
    for (place, _, bytes) in both.into_iter().filter(|(_, both, _)| *both) {
        let what = format!("stands beside {bytes}; the kernel keeps one of the two and zeroes the other");
        found.error(place, what, format!("leave one out; {bytes} says what is meant"));
    }
    dirty_bytes(found, os);
    let in_order = |low: Option<u64>, high: Option<u64>| low.zip(high).is_none_or(|(low, high)| low < high);
    let wide = |percent: Option<u32>| percent.map(u64::from);
    if !in_order(os.dirty_background_bytes.map(|b| b.0), os.dirty_bytes.map(|b| b.0))
        || !in_order(wide(os.dirty_background_ratio), wide(os.dirty_ratio))
    {
        found.error(
            "os.dirty_background_bytes",
            "writing out would begin where writers already wait",
            "keep the background limit below the other, a quarter of it say",
        );
    }
    let ranges = [
        ("os.dirty_ratio", os.dirty_ratio, 1, 100),
        ("os.dirty_background_ratio", os.dirty_background_ratio, 0, 100),
        ("os.swappiness", os.swappiness, 0, SWAPPINESS_MAX),
        ("os.overcommit_memory", os.overcommit_memory, 0, 2),
    ];
    for (place, value, least, most) in ranges {
        if value.is_some_and(|value| !(least..=most).contains(&value)) {
            found.error(place, "is out of range", format!("use {least} to {most}"));
        }
    }
    if let Some(word) = &os.transparent_hugepage
        && !["always", "madvise", "never"].contains(&word.as_str())
    {
        let what = format!("{} is no setting of transparent huge pages", quoted(word));
        found.error("os.transparent_hugepage", what, "use always, madvise or never");
    }
    if os.nofile == Some(0) {
        found.error("os.nofile", "is 0: nothing could be opened", "leave it out, or use 65536");
    }
}

fn dirty_bytes(found: &mut Found, os: &OsSettings) {
    let limits =
        [("os.dirty_bytes", os.dirty_bytes), ("os.dirty_background_bytes", os.dirty_background_bytes)];
    for (place, value) in limits {
        if value.is_some_and(|value| value.0 < DIRTY_BYTES_MIN) {
            found.error(place, "is less than the kernel takes", "use 8 KiB or more, 640MiB say");
        }
    }
}
