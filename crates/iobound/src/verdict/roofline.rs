//! The roofline seen from a run's own sweep: how many operations, how many bytes, and the block size
//! at which one bound hands over to the other.

use iobound_record::{Run, Scenario, units};

/// A point within this share of the most operations, or bytes, any block size reached is at that
/// bound. Repeats of one point here differ by a few percent; a tenth keeps them apart from the slope
/// between the bounds, where a doubling of the block moves either by far more.
const AT_BOUND: f64 = 0.90;

/// What holds a point down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Operations per second.
    Operations,
    /// Bytes per second.
    Bandwidth,
    /// Neither alone: near the knee.
    Between,
}

/// The two bounds of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roofline {
    /// Most operations per second at any block size.
    pub iops: f64,
    /// Most bytes per second at any block size.
    pub bandwidth_bytes_per_s: f64,
    /// Whether a second block size reached the most operations too. If not, operations may not have
    /// been the bound even at the smallest.
    pub operations_seen: bool,
    /// The same for bytes.
    pub bandwidth_seen: bool,
}

impl Roofline {
    /// From the sweep of random reads; None with fewer than three points.
    pub fn of_reads(run: &Run) -> Option<Roofline> {
        let points: Vec<(f64, f64)> = sweep(run)
            .filter_map(|scenario| scenario.measurement.as_ref())
            .filter(|measurement| measurement.errors == 0 && measurement.read.ios > 0)
            .map(|measurement| (measurement.read.iops, measurement.read.bandwidth_bytes_per_s))
            .collect();
        if points.len() < 3 {
            return None;
        }
        let iops = points.iter().map(|point| point.0).fold(0.0, f64::max);
        let bandwidth = points.iter().map(|point| point.1).fold(0.0, f64::max);
        let near = |part: f64, whole: f64| part >= AT_BOUND * whole;
        Some(Roofline {
            iops,
            bandwidth_bytes_per_s: bandwidth,
            operations_seen: points.iter().filter(|point| near(point.0, iops)).count() >= 2,
            bandwidth_seen: points.iter().filter(|point| near(point.1, bandwidth)).count() >= 2,
        })
    }

    /// Block size at which both bounds meet, bytes.
    pub fn knee_bytes(&self) -> f64 {
        self.bandwidth_bytes_per_s / self.iops
    }

    /// What binds a measured point.
    pub fn binds(&self, iops: f64, bandwidth_bytes_per_s: f64) -> Bound {
        let operations = iops >= AT_BOUND * self.iops;
        let bandwidth = bandwidth_bytes_per_s >= AT_BOUND * self.bandwidth_bytes_per_s;
        match (operations, bandwidth) {
            (true, false) => Bound::Operations,
            (false, true) => Bound::Bandwidth,
            _ => Bound::Between,
        }
    }

    /// In a sentence.
    pub fn in_words(&self) -> String {
        let knee = units::bytes(self.knee_bytes().round() as u64);
        let (iops, bandwidth) = (units::count(self.iops), units::bandwidth(self.bandwidth_bytes_per_s));
        match (self.operations_seen, self.bandwidth_seen) {
            (true, true) => format!(
                "Random reads: operations bind below {knee} blocks ({iops}/s whatever the size), bandwidth above ({bandwidth})."
            ),
            (true, false) => format!(
                "Random reads: operations bind at every block size up to 1 MiB ({iops}/s); bandwidth reached {bandwidth} and was still rising."
            ),
            (false, true) => format!(
                "Random reads: bandwidth binds from small blocks on ({bandwidth}); at the smallest, {iops} operations/s."
            ),
            (false, false) => format!(
                "Random reads: neither bound shows as a plateau; most operations {iops}/s, most bandwidth {bandwidth}."
            ),
        }
    }
}

/// The points of the block-size sweep.
pub(super) fn sweep(run: &Run) -> impl Iterator<Item = &Scenario> {
    run.scenarios.iter().filter(|scenario| run.suite == "quick" && scenario.name.starts_with("sweep-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::{DirectionStats, Measurement};

    /// A device of 3,000 operations and 125 MiB a second.
    fn gp3() -> Run {
        let scenarios = (12..=20).map(|power| {
            let bs = f64::from(1u32 << power);
            let iops = (3000.0f64).min(125.0 * 1_048_576.0 / bs);
            let read = DirectionStats {
                ios: 1,
                iops,
                bandwidth_bytes_per_s: iops * bs,
                ..DirectionStats::default()
            };
            Scenario {
                name: format!("sweep-{bs}"),
                measurement: Some(Measurement { read, ..Measurement::default() }),
                ..Scenario::default()
            }
        });
        crate::verdict::rules::tests::run_of(scenarios.collect())
    }

    #[test]
    fn a_known_device_gives_its_knee() {
        let roofline = Roofline::of_reads(&gp3()).unwrap();
        assert!((roofline.knee_bytes() / 43_690.0 - 1.0).abs() < 0.001);
        assert!(roofline.operations_seen && roofline.bandwidth_seen);
        assert_eq!(roofline.binds(2990.0, 2990.0 * 4096.0), Bound::Operations);
        assert_eq!(roofline.binds(124.0, 124.0 * 1_048_576.0), Bound::Bandwidth);
        assert_eq!(
            roofline.in_words(),
            "Random reads: operations bind below 42.7 KiB blocks (3,000/s whatever the size), bandwidth above (125 MiB/s (131 MB/s))."
        );
    }

    #[test]
    fn two_points_are_no_sweep() {
        let mut run = gp3();
        run.scenarios.truncate(2);
        assert_eq!(Roofline::of_reads(&run), None);
    }
}
