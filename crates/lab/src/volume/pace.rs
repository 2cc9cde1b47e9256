//! When an operation may be answered: one budget of operations and one of bytes, for reads and writes
//! together, as cloud volumes have.

/// An operation counts once for each of these that it begins, as Amazon EBS counts for SSD volumes
/// ("I/O characteristics and monitoring", EBS User Guide).
const UNIT_BYTES: u64 = 256 << 10;
const NS_PER_S: u128 = 1_000_000_000;

/// What limits a volume. 0 = no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Operations per second.
    pub iops: u64,
    /// Bytes per second.
    pub bytes_per_s: u64,
    /// Added to each operation.
    pub latency_ns: u64,
}

/// What an idle budget saves, so that a server that had to wait for a processor catches up. Cloud volumes
/// save seconds to minutes; this is no burst that a measurement would see.
const SAVED_MAX_NS: u64 = 20_000_000;

/// The state of both budgets: each is the time until which it is spent.
#[derive(Debug, Default)]
pub struct Pace {
    limits: Limits,
    /// In units of 1/iops nanoseconds, so that no fraction is lost.
    operations_until: u128,
    bytes_until: u128,
}

impl Pace {
    /// A budget with nothing spent.
    pub fn new(limits: Limits) -> Self {
        Pace { limits, ..Self::default() }
    }

    /// When an operation of `bytes` that came at `now_ns` is due.
    pub fn due_ns(&mut self, now_ns: u64, bytes: u64) -> u64 {
        let units = u128::from(bytes.div_ceil(UNIT_BYTES).max(1));
        let Limits { iops, bytes_per_s, latency_ns } = self.limits;
        let operations = spend(&mut self.operations_until, now_ns, iops, units);
        let bandwidth = spend(&mut self.bytes_until, now_ns, bytes_per_s, u128::from(bytes));
        operations.max(bandwidth).max(now_ns) + latency_ns
    }
}

/// Takes `amount` from a budget of `rate` a second, and says when what was taken before is earned:
/// an operation that finds the budget free does not wait, the next one waits for it.
fn spend(until: &mut u128, now_ns: u64, rate: u64, amount: u128) -> u64 {
    if rate == 0 {
        return now_ns;
    }
    let rate = u128::from(rate);
    let free = (*until).max(u128::from(now_ns.saturating_sub(SAVED_MAX_NS)) * rate);
    *until = free + amount * NS_PER_S;
    u64::try_from(free / rate).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_second_of_operations_takes_a_second() {
        let mut pace = Pace::new(Limits { iops: 3000, ..Limits::default() });
        let last = (0..=3000).map(|_| pace.due_ns(5 * MS, 4096)).last();
        assert_eq!(last, Some(1000 * MS));
    }

    #[test]
    fn large_operations_count_by_their_units_and_bytes() {
        let mut pace = Pace::new(Limits { iops: 1000, bytes_per_s: 0, latency_ns: 0 });
        assert_eq!((pace.due_ns(0, 1 << 20), pace.due_ns(0, 1)), (0, 4 * MS));
        let mut pace = Pace::new(Limits { iops: 1000, bytes_per_s: 1 << 20, latency_ns: MS });
        assert_eq!((pace.due_ns(0, 1 << 20), pace.due_ns(0, 1)), (MS, 1001 * MS));
    }

    #[test]
    fn idle_time_saves_hundredths_of_a_second() {
        let mut pace = Pace::new(Limits { iops: 1000, ..Limits::default() });
        let late = (0..=20).map(|_| pace.due_ns(500 * MS, 1)).last();
        assert_eq!(late, Some(500 * MS));
    }

    #[test]
    fn no_limit_is_no_delay() {
        assert_eq!(Pace::new(Limits::default()).due_ns(7, 1 << 30), 7);
    }
}
