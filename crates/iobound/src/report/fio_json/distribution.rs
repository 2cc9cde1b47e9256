//! fio's `latency_ns`, `latency_us` and `latency_ms`: the share of operations in each of 32
//! brackets, in percent, reads and writes together.
//!
//! The record keeps percentiles, not the histogram, so the shares are derived: between two known
//! percentiles operations are taken to be spread evenly.

use iobound_record::{DirectionStats, LatencySummary};
use serde_json::{Map, Value};

use super::real;

/// Upper ends of the brackets below 1 us and below 1 ms, in that unit; each begins at the one before.
const ENDS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
/// Those in milliseconds, which go on above a second. The last bracket, `>=2000`, has no end.
const ENDS_MS: [u64; 11] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000];

/// The three objects, from the smallest unit up.
pub(super) fn of(sides: &[&DirectionStats]) -> [Value; 3] {
    let mut below = 0.0;
    let mut bracket = |end_ns: f64| {
        let share = share_below(sides, end_ns);
        let within = (share - below).max(0.0) * 100.0;
        below = share;
        real(within)
    };
    let mut brackets = |ends: &[u64], unit_ns: u64| -> Map<String, Value> {
        ends.iter().map(|end| (end.to_string(), bracket((end * unit_ns) as f64))).collect()
    };
    let (ns, us) = (brackets(&ENDS, 1), brackets(&ENDS, 1_000));
    let mut ms = brackets(&ENDS_MS, 1_000_000);
    ms.insert(">=2000".into(), bracket(f64::INFINITY));
    [ns, us, ms].map(Value::Object)
}

/// Share of all operations, 0.0 to 1.0, that took less than `ns`.
fn share_below(sides: &[&DirectionStats], ns: f64) -> f64 {
    // As floats: an edited record may hold counts whose sum is none.
    let ios: f64 = sides.iter().map(|side| side.ios as f64).sum();
    if ios == 0.0 {
        return 0.0;
    }
    let below = |side: &&DirectionStats| side.ios as f64 * share_of_one(&side.latency_ns, ns);
    sides.iter().filter(|side| side.ios > 0).map(below).sum::<f64>() / ios
}

fn share_of_one(latency: &LatencySummary, ns: f64) -> f64 {
    if ns > latency.max as f64 {
        return 1.0;
    }
    let (mut from_ns, mut from) = (latency.min as f64, 0.0);
    if ns <= from_ns {
        return 0.0;
    }
    for (rank, value) in latency.percentiles().into_iter().chain([(100.0, latency.max)]) {
        let (to_ns, to) = (value as f64, rank / 100.0);
        if ns <= to_ns {
            // A rank below the minimum is rounding of the histogram: then there is nothing between.
            let width = to_ns - from_ns;
            return if width > 0.0 { from + (to - from) * (ns - from_ns) / width } else { from };
        }
        (from_ns, from) = (to_ns.max(from_ns), to);
    }
    1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn operations_fall_into_the_brackets_of_their_latency() {
        let latency = LatencySummary {
            min: 3_000,
            p50: 3_500,
            p99: 3_900,
            p99_99: 3_950,
            max: 150_000_000,
            ..flat(3_400)
        };
        let [ns, us, ms] = of(&[&DirectionStats { ios: 10_000, latency_ns: latency, ..Default::default() }]);
        assert_eq!(ns["1000"], 0.0);
        assert!(us["4"].as_f64().unwrap() > 99.98, "{us}");
        assert!(ms["250"].as_f64().unwrap() < 0.01, "{ms}");
    }

    fn flat(ns: u64) -> LatencySummary {
        LatencySummary {
            min: ns,
            mean: ns as f64,
            stddev: 0.0,
            max: ns,
            p1: ns,
            p5: ns,
            p10: ns,
            p20: ns,
            p30: ns,
            p40: ns,
            p50: ns,
            p60: ns,
            p70: ns,
            p80: ns,
            p90: ns,
            p95: ns,
            p99: ns,
            p99_5: ns,
            p99_9: ns,
            p99_95: ns,
            p99_99: ns,
        }
    }

    proptest! {
        #[test]
        fn shares_are_a_whole(read in 1u64..10_000_000_000, write in 1u64..10_000_000_000, spread in 1u64..50) {
            let side = |ns: u64| DirectionStats {
                ios: 100,
                latency_ns: LatencySummary { max: ns.saturating_mul(spread), ..flat(ns) },
                ..Default::default()
            };
            let all = of(&[&side(read), &side(write)]);
            let shares = all.iter().flat_map(|one| one.as_object().unwrap().values());
            let shares: Vec<f64> = shares.map(|share| share.as_f64().unwrap()).collect();
            prop_assert!(shares.iter().all(|share| (0.0..=100.0 + 1e-9).contains(share)));
            prop_assert!((shares.iter().sum::<f64>() - 100.0).abs() < 1e-6, "{:?}", shares);
        }
    }
}
