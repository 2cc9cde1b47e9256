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
    /// Block size that reached the most operations.
    pub fastest_bs: u64,
    /// Largest block size that still reached the most operations; None when only one did, so that
    /// operations may not have been the bound even there.
    pub operations_to_bs: Option<u64>,
    /// Smallest block size that already reached the most bytes; None when only one did.
    pub bandwidth_from_bs: Option<u64>,
}

impl Roofline {
    /// From the sweep of random reads; None with fewer than three points.
    pub fn of_reads(run: &Run) -> Option<Roofline> {
        let points = sweep(run)
            .filter_map(|scenario| Some((scenario.job.bs, scenario.measurement.as_ref()?)))
            .filter(|(_, measurement)| measurement.errors == 0 && measurement.read.ios > 0)
            .map(|(bs, measurement)| (bs, measurement.read.iops, measurement.read.bandwidth_bytes_per_s));
        Roofline::of_points(points.collect())
    }

    /// From points of block size, operations and bytes per second; None with fewer than three.
    pub fn of_points(mut points: Vec<(u64, f64, f64)>) -> Option<Roofline> {
        if points.len() < 3 {
            return None;
        }
        points.sort_unstable_by_key(|point| point.0);
        let iops = points.iter().map(|point| point.1).fold(0.0, f64::max);
        let bandwidth = points.iter().map(|point| point.2).fold(0.0, f64::max);
        let operations: Vec<u64> = points.iter().filter(|p| p.1 >= AT_BOUND * iops).map(|p| p.0).collect();
        let bytes: Vec<u64> = points.iter().filter(|p| p.2 >= AT_BOUND * bandwidth).map(|p| p.0).collect();
        Some(Roofline {
            iops,
            bandwidth_bytes_per_s: bandwidth,
            fastest_bs: points.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(points[0].0, |point| point.0),
            operations_to_bs: operations.last().copied().filter(|_| operations.len() >= 2),
            bandwidth_from_bs: bytes.first().copied().filter(|_| bytes.len() >= 2),
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

    /// Of random reads, in a sentence.
    pub fn in_words(&self) -> String {
        self.says("Random reads")
    }

    /// Of what people call `what`, in a sentence.
    pub fn says(&self, what: &str) -> String {
        let (iops, bandwidth) = (units::count(self.iops), units::bandwidth(self.bandwidth_bytes_per_s));
        let fastest = units::bytes(self.fastest_bs);
        match (self.operations_to_bs.map(units::bytes), self.bandwidth_from_bs.map(units::bytes)) {
            (Some(to), Some(from)) => format!(
                "{what}: operations bind up to {to} blocks ({iops}/s), bandwidth from {from} on ({bandwidth}); the knee is at {}.",
                units::bytes(self.knee_bytes().round() as u64)
            ),
            (Some(to), None) => format!(
                "{what}: operations bind up to {to} blocks at least ({iops}/s); bandwidth reached {bandwidth} and was still rising."
            ),
            (None, Some(from)) => format!(
                "{what}: bandwidth binds from {from} blocks on ({bandwidth}); below, each operation takes longer the larger it is: {iops}/s at {fastest}."
            ),
            (None, None) => format!(
                "{what}: no bound shows as a plateau; {iops} operations/s at best, {bandwidth} at best."
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
    use iobound_record::{DirectionStats, Job, Measurement};

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
                job: Job { bs: bs as u64, ..Job::default() },
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
        assert_eq!((roofline.operations_to_bs, roofline.bandwidth_from_bs), (Some(32_768), Some(65_536)));
        assert_eq!(roofline.binds(2990.0, 2990.0 * 4096.0), Bound::Operations);
        assert_eq!(roofline.binds(124.0, 124.0 * 1_048_576.0), Bound::Bandwidth);
        assert_eq!(
            roofline.in_words(),
            "Random reads: operations bind up to 32 KiB blocks (3,000/s), bandwidth from 64 KiB on (125 MiB/s (131 MB/s)); the knee is at 42.7 KiB."
        );
    }

    #[test]
    fn a_device_without_a_plateau_is_not_given_one() {
        let mut run = gp3();
        for (index, scenario) in run.scenarios.iter_mut().enumerate() {
            let read = &mut scenario.measurement.as_mut().unwrap().read;
            read.iops = 60_000.0 * 0.8f64.powi(index as i32);
            read.bandwidth_bytes_per_s = read.iops * scenario.job.bs as f64;
        }
        let roofline = Roofline::of_reads(&run).unwrap();
        assert_eq!((roofline.operations_to_bs, roofline.bandwidth_from_bs), (None, None));
    }

    #[test]
    fn two_points_are_no_sweep() {
        let mut run = gp3();
        run.scenarios.truncate(2);
        assert_eq!(Roofline::of_reads(&run), None);
    }
}
