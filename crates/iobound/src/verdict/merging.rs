//! Neighbours that the kernel merged on their way: a volume counts them as one.

use iobound_model::ceiling::{Ceilings, Node, Topology};
use iobound_record::Scenario;

/// Fewer would read as 0.0%, and change nothing.
const TOLD_FROM: f64 = 0.001;

/// Lets the bound of the volume's operations be as many more of the job's as were merged to one of the
/// volume's.
///
/// Only where the counter of merges speaks of this job's own operations: on one device that is one volume.
/// Members of an array see parts of operations, and a volume that merges by itself counts by bytes already.
pub(super) fn allow_for(promised: &mut Ceilings, topology: &Topology, scenario: &Scenario) {
    let Node::Volume(volume) = &topology.root else { return };
    if volume.operation_bytes.is_some() && !scenario.job.rw.is_random() {
        return;
    }
    let Some(share) = merged_share(scenario) else { return };
    for bound in promised.bounds.iter_mut().filter(|bound| bound.id == "volume-iops") {
        bound.iops /= 1.0 - share;
        bound.why = format!(
            "{}, and the kernel merged {:.1}% of the job's into neighbours",
            bound.why,
            100.0 * share
        );
    }
    promised.bounds.sort_by(|a, b| a.iops.total_cmp(&b.iops));
}

/// The share of the job's operations that went to the device within another one; None when there is none.
fn merged_share(scenario: &Scenario) -> Option<f64> {
    // The page cache's write-back merges pages of its own, and a job beside this one its own operations.
    if !scenario.job.direct || !scenario.beside.is_empty() {
        return None;
    }
    let measured = scenario.measurement.as_ref()?;
    let device = measured.device.as_ref()?;
    if device.names.len() != 1 {
        return None;
    }
    let sides = [(&measured.read, device.total.read_merges), (&measured.write, device.total.write_merges)];
    // Of a direction that the job does not have, merges are somebody else's.
    let ours = sides.into_iter().filter(|(side, _)| side.ios > 0);
    let (operations, merges) = ours
        .fold((0.0, 0.0), |(all, merged), (side, merges)| (all + side.ios as f64, merged + merges as f64));
    // More than half are not merged by chance: a block layer that splits and merges again counts otherwise.
    let share = merges / operations;
    (TOLD_FROM..=0.5).contains(&share).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_model::ceiling::{Bound, Limits};
    use iobound_record::{DeviceTraffic, Job, Measurement, Rw};

    fn promised(rw: Rw, limits: Limits, merges: u64) -> Ceilings {
        of_job(Job { rw, direct: true, ..Job::default() }, vec![], limits, merges)
    }

    fn of_job(job: Job, beside: Vec<u32>, limits: Limits, merges: u64) -> Ceilings {
        let mut measurement = Measurement::default();
        measurement.write.ios = 1000;
        let mut device = DeviceTraffic { names: vec!["loop0".into()], ..DeviceTraffic::default() };
        (device.total.write_merges, device.total.read_merges) = (merges, 400);
        measurement.device = Some(device);
        let scenario = Scenario { job, beside, measurement: Some(measurement), ..Scenario::default() };
        let bound = |id, iops| Bound { id, iops, why: "as promised".into() };
        let mut ceilings = Ceilings {
            bounds: vec![bound("volume-iops", 3000.0), bound("volume-bandwidth", 4000.0)],
            bytes: 4096,
            burst: None,
            burst_ns_per_day: None,
        };
        allow_for(&mut ceilings, &Topology::uniform(None, 0, 1, &limits), &scenario);
        ceilings
    }

    #[test]
    fn merged_operations_count_once() {
        let with = |merges| promised(Rw::Write, Limits::default(), merges);
        assert_eq!(with(0).bounds[0].iops, 3000.0);
        assert_eq!(with(200).bounds[0].iops, 3750.0);
        assert_eq!(
            with(200).bounds[0].why,
            "as promised, and the kernel merged 20.0% of the job's into neighbours"
        );
        // Bytes are not made fewer by it.
        assert_eq!((with(400).bounds[0].id, with(400).bounds[0].iops), ("volume-bandwidth", 4000.0));
        // Not by chance, or not this job's.
        assert_eq!(with(900).bounds[0].iops, 3000.0);
        let job = |direct| Job { rw: Rw::Write, direct, ..Job::default() };
        let other = |direct, beside| of_job(job(direct), beside, Limits::default(), 200).bounds[0].iops;
        assert_eq!(
            (other(true, vec![]), other(false, vec![]), other(true, vec![2])),
            (3750.0, 3000.0, 3000.0)
        );
        let ebs = Limits { operation_bytes: Some(256 << 10), ..Limits::default() };
        assert_eq!(promised(Rw::Write, ebs.clone(), 200).bounds[0].iops, 3000.0);
        assert_eq!(promised(Rw::RandWrite, ebs, 200).bounds[0].iops, 3750.0);
    }
}
