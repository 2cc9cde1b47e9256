//! The lines of the storage roofline: operations per second that a volume could do at each block size.

use iobound_model::ceiling::{Demand, Topology, ceilings};
use iobound_record::{Context, Measurement, Run, Scenario};

/// More volumes than machines take come from an edited record, and would take its memory as well.
const VOLUMES_MAX: u64 = 1024;
/// The same for arrays within arrays.
const NESTING_MAX: usize = 8;
/// Two lines closer than this share look like one.
const ALIKE: f64 = 0.02;
/// In flight enough that time per operation is not the bound.
const DEEP: u64 = u32::MAX as u64;

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Roof {
    /// What it is of: `reads`, `writes`, `70/30`.
    pub label: String,
    /// Share of reads, 0 to 1.
    pub read_share: f64,
    /// Block size in bytes, and operations per second.
    pub points: Vec<(f64, f64)>,
    /// Taken from the best that the run itself reached, for nothing was promised.
    pub empirical: bool,
}

/// The lines for what the run's scenarios ask, from `low` to `high` bytes a block: what the context
/// promises, or without one what the run reached at best.
pub fn roofs(run: &Run, low: f64, high: f64) -> Vec<Roof> {
    let mut roofs: Vec<Roof> = Vec::new();
    for scenario in &run.scenarios {
        let share = scenario.job.read_share();
        let promised = run.context.as_ref().and_then(|context| promised(context, scenario, low, high));
        if let Some(points) = promised {
            let roof = Roof { label: label(share), read_share: share, points, empirical: false };
            // Two volumes built alike have one line; two built differently need their names.
            if let Some(other) = roofs.iter().find(|other| other.label == roof.label) {
                if alike(other, &roof) {
                    continue;
                }
                let label = format!("{} ({})", roof.label, scenario.volume);
                if roofs.iter().all(|known| known.label != label) {
                    roofs.push(Roof { label, ..roof });
                }
            } else {
                roofs.push(roof);
            }
        }
    }
    if roofs.is_empty() {
        roofs.extend([1.0, 0.0].into_iter().filter_map(|share| reached(run, share, low, high)));
    }
    roofs
}

fn alike(one: &Roof, other: &Roof) -> bool {
    let mut pairs = one.points.iter().zip(&other.points);
    one.points.len() == other.points.len() && pairs.all(|(a, b)| (a.1 / b.1 - 1.0).abs() < ALIKE)
}

fn label(read_share: f64) -> String {
    match (read_share * 100.0).round() {
        100.0 => "reads".into(),
        0.0 => "writes".into(),
        percent => format!("{percent}/{}", 100.0 - percent),
    }
}

/// Powers of two, so that blocks divide chunks and stripes as those of jobs do, with both ends.
fn block_sizes(low: f64, high: f64) -> Vec<f64> {
    let powers = (0..64).map(|power| f64::from(power).exp2()).filter(|bytes| low < *bytes && *bytes < high);
    std::iter::once(low).chain(powers).chain([high]).collect()
}

/// The line through rates at some block sizes, with the knee between two of them: the larger block has
/// at most the left one's operations and at most the right one's bytes.
fn with_knees(rates: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for (index, (bytes, iops)) in rates.iter().enumerate() {
        points.push((*bytes, *iops));
        let Some((next_bytes, next_iops)) = rates.get(index + 1) else { break };
        let knee = next_bytes * next_iops / iops;
        if knee > bytes * 1.01 && knee < next_bytes * 0.99 {
            points.push((knee, *iops));
        }
    }
    points
}

fn promised(context: &Context, scenario: &Scenario, low: f64, high: f64) -> Option<Vec<(f64, f64)>> {
    if !is_sane(context, &scenario.volume) {
        return None;
    }
    let topology = Topology::of(context, &scenario.volume).ok()?;
    let rates = block_sizes(low, high).into_iter().map(|bytes| {
        let demand = Demand {
            read_share: scenario.job.read_share(),
            bytes: bytes as u64,
            depth: DEEP,
            // Sequential operations may be merged below, which is the scenario's own ceiling to say.
            sequential: false,
            writes_per_sync: 0,
        };
        let ceiling = ceilings(&topology, &demand, None).ceiling()?;
        let holds = ceiling.bound != "latency" && ceiling.iops.is_finite() && ceiling.iops > 0.0;
        holds.then_some((bytes, ceiling.iops))
    });
    Some(with_knees(&rates.collect::<Option<Vec<_>>>()?))
}

/// Whether a topology can be made of it; see [`VOLUMES_MAX`].
fn is_sane(context: &Context, volume: &str) -> bool {
    let volumes: u64 = context.volumes.iter().map(|group| u64::from(group.count.0)).sum();
    let role = |fs: &&iobound_record::FileSystemSpec| {
        fs.mount == volume || fs.role.is_some_and(|role| role.name() == volume)
    };
    let root = context.filesystems.iter().find(role).map_or(volume, |fs| fs.on.as_str());
    volumes <= VOLUMES_MAX && parts(context, root, 0) <= VOLUMES_MAX
}

/// Volumes and arrays under a name, or more than allowed.
fn parts(context: &Context, name: &str, depth: usize) -> u64 {
    if depth > NESTING_MAX {
        return VOLUMES_MAX + 1;
    }
    let Some(array) = context.arrays.iter().find(|array| array.name == name) else {
        return context.volumes.iter().find(|group| group.name == name).map_or(1, |g| u64::from(g.count.0));
    };
    let mut sum = 1;
    for member in &array.members {
        sum += parts(context, member, depth + 1);
        if sum > VOLUMES_MAX {
            break;
        }
    }
    sum
}

/// The best rate and the best bandwidth among the scenarios with that share of reads.
fn reached(run: &Run, share: f64, low: f64, high: f64) -> Option<Roof> {
    let alike = run.scenarios.iter().filter(|scenario| scenario.job.read_share() == share);
    let measured: Vec<_> = alike
        .filter_map(|scenario| Some((scenario.job.block_sizes(), scenario.measurement.as_ref()?)))
        .collect();
    let best = |of: fn(&Measurement) -> f64| measured.iter().map(|(_, m)| of(m)).fold(0.0, f64::max);
    let (iops, bandwidth) = (best(Measurement::iops), best(Measurement::bandwidth_bytes_per_s));
    // One block size shows where one bound is, not where it hands over to the other.
    let one_size = measured.windows(2).all(|pair| pair[0].0 == pair[1].0);
    if one_size || iops <= 0.0 || bandwidth <= 0.0 {
        return None;
    }
    let rates: Vec<_> = block_sizes(low, high).into_iter().map(|b| (b, iops.min(bandwidth / b))).collect();
    let points = with_knees(&rates);
    Some(Roof { label: label(share), read_share: share, points, empirical: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn each_share_of_reads_has_its_line_and_equal_volumes_share_it() {
        let roofs = roofs(&sample::gp3(), 4096.0, 1_048_576.0);
        let ends: Vec<(String, i64, i64)> = roofs
            .iter()
            .map(|roof| (roof.label.clone(), roof.points[0].1 as i64, roof.points.last().unwrap().1 as i64))
            .collect();
        let expected = [("writes", 12_000, 500), ("reads", 24_000, 1000), ("70/30", 18_461, 769)];
        assert_eq!(ends, expected.map(|(label, left, right)| (label.to_owned(), left, right)));
    }

    #[test]
    fn without_a_context_the_best_reached_is_the_roof() {
        let roofs = roofs(&sample::unjudged(), 4096.0, 1_048_576.0);
        assert!(roofs.iter().all(|roof| roof.empirical) && roofs.len() == 2, "{roofs:?}");
    }

    #[test]
    fn a_context_of_countless_volumes_is_not_built() {
        let mut run = sample::gp3();
        run.context.as_mut().unwrap().volumes[0].count.0 = u32::MAX;
        assert!(roofs(&run, 4096.0, 8192.0).iter().all(|roof| roof.empirical));
        let mut run = sample::gp3();
        let context = run.context.as_mut().unwrap();
        context.arrays[0].members = vec!["md0".into(); 2000];
        assert!(!is_sane(context, "data") && is_sane(context, "wal"));
    }
}
