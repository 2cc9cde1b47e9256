//! From two readings of a device's counters to its rates.
//!
//! Fields and their traps: Documentation/admin-guide/iostats.rst in the kernel tree. Formulas as
//! `iostat -x` documents them (iostat(1)).

use std::time::Duration;

use iobound_record::Rates;

use crate::block::SECTOR_BYTES;
use crate::diskstats::{Counters, Kept};

/// No device does half of what 32 bits hold between two looks; a counter that seems to have, did not
/// wrap but belongs to another device.
const WRAP_MOST: u64 = 1 << 31;
/// A device cannot be busy for longer than the interval; the kernel rounds to its ticks and may fold
/// time in later.
const BUSY_SLACK_MS: u64 = 2_000;
/// Kernels with a race in this gauge print a few below zero as almost 2^32 (or 2^64).
const IN_FLIGHT_MOST: u64 = 1 << 31;

/// What was added between two readings; None when the second is of another device.
///
/// `replaced` is asked only when a counter fell, since the answer costs a look into `/sys`.
pub(super) fn added(
    before: &Counters,
    now: &Counters,
    interval: Duration,
    replaced: impl FnOnce() -> bool,
) -> Option<Counters> {
    let delta = now.since(before);
    if now.fell_since(before) && (replaced() || !could_be_a_wrap(&delta, interval)) {
        return None;
    }
    Some(delta)
}

fn could_be_a_wrap(delta: &Counters, interval: Duration) -> bool {
    let amounts = [delta.read_ios, delta.write_ios, delta.read_sectors, delta.write_sectors];
    let longest = (interval.as_millis() as u64).saturating_mul(2).saturating_add(BUSY_SLACK_MS);
    amounts.iter().all(|&amount| amount < WRAP_MOST) && delta.busy_ms <= longest
}

/// Rates over an interval, which must not be zero.
pub(super) fn rates(delta: &Counters, interval: Duration) -> Rates {
    let seconds = interval.as_secs_f64();
    let interval_ms = seconds * 1e3;
    let per_s = |count: u64| count as f64 / seconds;
    let bytes = |sectors: u64| sectors as f64 * SECTOR_BYTES as f64 / seconds;
    let discards = delta.kept >= Kept::Discards;
    Rates {
        read_iops: per_s(delta.read_ios),
        write_iops: per_s(delta.write_ios),
        read_bytes_per_s: bytes(delta.read_sectors),
        write_bytes_per_s: bytes(delta.write_sectors),
        read_merges_per_s: per_s(delta.read_merges),
        write_merges_per_s: per_s(delta.write_merges),
        in_flight: if delta.in_flight < IN_FLIGHT_MOST { delta.in_flight } else { 0 },
        queue: delta.weighted_ms as f64 / interval_ms,
        read_await_ns: mean_ns(delta, delta.read_ms, delta.read_ios),
        write_await_ns: mean_ns(delta, delta.write_ms, delta.write_ios),
        utilisation: (delta.busy_ms as f64 / interval_ms).min(1.0),
        discard_iops: discards.then(|| per_s(delta.discard_ios)),
        discard_bytes_per_s: discards.then(|| bytes(delta.discard_sectors)),
        flush_iops: (delta.kept >= Kept::Flushes).then(|| per_s(delta.flush_ios)),
    }
}

/// Mean time of operations; the kernel adds an operation's time when it completes.
fn mean_ns(delta: &Counters, ms: u64, ios: u64) -> Option<u64> {
    (ios > 0 && delta.kept >= Kept::Times).then(|| (ms as f64 * 1e6 / ios as f64) as u64)
}

/// Adds what devices side by side did. Busy time is the busiest one's.
pub(super) fn sum<'a>(parts: impl Iterator<Item = &'a Counters>) -> Counters {
    parts.fold(Counters::default(), |all, part| Counters {
        read_ios: all.read_ios.saturating_add(part.read_ios),
        read_merges: all.read_merges.saturating_add(part.read_merges),
        read_sectors: all.read_sectors.saturating_add(part.read_sectors),
        read_ms: all.read_ms.saturating_add(part.read_ms),
        write_ios: all.write_ios.saturating_add(part.write_ios),
        write_merges: all.write_merges.saturating_add(part.write_merges),
        write_sectors: all.write_sectors.saturating_add(part.write_sectors),
        write_ms: all.write_ms.saturating_add(part.write_ms),
        in_flight: all.in_flight.saturating_add(part.in_flight),
        busy_ms: all.busy_ms.max(part.busy_ms),
        weighted_ms: all.weighted_ms.saturating_add(part.weighted_ms),
        discard_ios: all.discard_ios.saturating_add(part.discard_ios),
        discard_sectors: all.discard_sectors.saturating_add(part.discard_sectors),
        flush_ios: all.flush_ios.saturating_add(part.flush_ios),
        kept: all.kept.max(part.kept),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn each_rate_by_its_formula() {
        let delta = Counters {
            read_ios: 300,
            read_merges: 10,
            read_sectors: 4800,
            read_ms: 150,
            write_ios: 100,
            write_merges: 40,
            write_sectors: 3200,
            write_ms: 250,
            in_flight: 3,
            busy_ms: 500,
            weighted_ms: 400,
            discard_ios: 2,
            discard_sectors: 2048,
            flush_ios: 8,
            kept: Kept::Flushes,
        };
        let expected = Rates {
            read_iops: 150.0,
            write_iops: 50.0,
            read_bytes_per_s: 1_228_800.0,
            write_bytes_per_s: 819_200.0,
            read_merges_per_s: 5.0,
            write_merges_per_s: 20.0,
            in_flight: 3,
            queue: 0.2,
            read_await_ns: Some(500_000),
            write_await_ns: Some(2_500_000),
            utilisation: 0.25,
            discard_iops: Some(1.0),
            discard_bytes_per_s: Some(524_288.0),
            flush_iops: Some(4.0),
        };
        assert_eq!(rates(&delta, 2 * SECOND), expected);
    }

    #[test]
    fn what_a_kernel_does_not_keep_is_not_zero_but_unknown() {
        let basic = Counters { read_ios: 1, kept: Kept::Times, ..Counters::default() };
        let seen = rates(&basic, SECOND);
        assert_eq!((seen.discard_iops, seen.flush_iops, seen.write_await_ns), (None, None, None));
        assert_eq!(seen.read_await_ns, Some(0));
        let old = rates(&Counters { kept: Kept::Amounts, ..basic }, SECOND);
        assert_eq!(old.read_await_ns, None);
    }

    #[test]
    fn a_wrap_is_told_from_another_device() {
        let never = || -> bool { panic!("asked without need") };
        let grew = Counters { read_ios: 5, ..Counters::default() };
        assert!(added(&Counters::default(), &grew, SECOND, never).is_some());
        let old = Counters { read_ios: u64::from(u32::MAX), busy_ms: u64::from(u32::MAX) - 100, ..grew };
        let wrapped = Counters { read_ios: 99, busy_ms: 399, ..grew };
        let delta = added(&old, &wrapped, SECOND, || false).unwrap();
        assert_eq!((delta.read_ios, delta.busy_ms), (100, 500));
        // The same name with a new incarnation, and one from before incarnations were counted.
        assert_eq!(added(&old, &wrapped, SECOND, || true), None);
        let (used, fresh) = (Counters { write_ios: 1000, ..grew }, Counters { write_ios: 10, ..grew });
        assert_eq!(added(&used, &fresh, SECOND, || false), None);
    }

    #[test]
    fn a_gauge_below_zero_is_none_in_flight() {
        let odd = Counters { in_flight: u64::from(u32::MAX), ..Counters::default() };
        assert_eq!(rates(&odd, SECOND).in_flight, 0);
    }

    proptest! {
        #[test]
        fn rates_are_never_negative(
            a in prop::array::uniform15(any::<u64>()),
            b in prop::array::uniform15(any::<u64>()),
            ms in 1u64..1 << 40,
        ) {
            let counters = |n: &[u64; 15]| Counters {
                read_ios: n[0], read_merges: n[1], read_sectors: n[2], read_ms: n[3],
                write_ios: n[4], write_merges: n[5], write_sectors: n[6], write_ms: n[7],
                in_flight: n[8], busy_ms: n[9], weighted_ms: n[10], discard_ios: n[11],
                discard_sectors: n[12], flush_ios: n[13], kept: Kept::Flushes,
            };
            let interval = Duration::from_millis(ms);
            let (a, b) = (counters(&a), counters(&b));
            if let Some(delta) = added(&a, &b, interval, || false) {
                for delta in [delta, sum([&delta, &delta, &a].into_iter())] {
                    let r = rates(&delta, interval);
                    for rate in [r.iops(), r.bytes_per_s(), r.read_merges_per_s, r.queue, r.flush_iops.unwrap()] {
                        prop_assert!(rate >= 0.0 && rate.is_finite());
                    }
                    prop_assert!((0.0..=1.0).contains(&r.utilisation));
                }
            }
        }
    }
}
