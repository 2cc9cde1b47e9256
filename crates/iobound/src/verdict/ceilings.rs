//! Each scenario held against what its context promises.

use iobound_model::ceiling::{Ceilings, Demand, Topology, ceilings};
use iobound_record::{Ceiling, Context, Measurement, Run, Scenario, Status};

use super::merging;
use super::observed::{self, every_write_is_synced, one_at_a_time, standing};

/// From this share of its ceiling on a scenario is at it. Volumes with known limits read 97% to 101%
/// of theirs here; two percent below that are left for what short runs vary.
const AT_CEILING_PERCENT: f64 = 95.0;
/// Above this share either the ceiling or the measurement is wrong.
const ABOVE_PERCENT: f64 = 105.0;

/// Puts a ceiling, a share of it and a status on every scenario that the run's context speaks of.
pub(super) fn hold(run: &mut Run) {
    let generator = run.calibration.as_ref().map(|calibration| calibration.null_iops_all_cores);
    let held: Vec<Option<Ceiling>> = run
        .scenarios
        .iter()
        .map(|scenario| ceiling_of(run.context.as_ref()?, scenario, generator, &Times::before(run, scenario)))
        .collect();
    for (scenario, ceiling) in run.scenarios.iter_mut().zip(held) {
        scenario.ceiling = ceiling;
        let reached = scenario.measurement.as_ref().map(Measurement::iops);
        let percent = scenario.ceiling.as_ref().zip(reached).map(|(c, iops)| iops / c.iops * 100.0);
        scenario.verdict.percent_of_ceiling = percent;
        scenario.verdict.status = percent.map_or(Status::Unknown, status_of);
    }
}

/// What earlier phases measured of single operations on the same volume: nothing that comes later waits
/// for less, so each place in flight gives at most one operation in that time.
#[derive(Default)]
struct Times {
    read_ns: Option<u64>,
    sync_ns: Option<u64>,
    /// The scenarios that say so.
    from: Vec<String>,
}

impl Times {
    fn before(run: &Run, scenario: &Scenario) -> Times {
        let mut times = Times::default();
        let earlier = |other: &&Scenario| other.phase < scenario.phase && other.volume == scenario.volume;
        for other in run.scenarios.iter().filter(earlier).filter(|other| one_at_a_time(other)) {
            let Some(measured) = standing(run, other) else { continue };
            let each = Some((1e9 / measured.iops()) as u64);
            let reads = other.job.rw.is_random() && measured.write.ios == 0;
            match reads {
                true => times.read_ns = each,
                false if every_write_is_synced(other) && measured.read.ios == 0 => times.sync_ns = each,
                false => continue,
            }
            times.from.push(other.id.to_string());
        }
        times
    }
}

fn status_of(percent: f64) -> Status {
    match percent {
        _ if percent > ABOVE_PERCENT => Status::Above,
        _ if percent >= AT_CEILING_PERCENT => Status::Ok,
        _ => Status::Short,
    }
}

/// What the volume of a scenario can do for its job. A job with a rate asks for less than it could have,
/// so it has none.
fn ceiling_of(
    context: &Context,
    scenario: &Scenario,
    generator: Option<f64>,
    times: &Times,
) -> Option<Ceiling> {
    if scenario.job.is_paced() || scenario.volume.is_empty() {
        return None;
    }
    let topology = Topology::of(context, &scenario.volume).ok()?;
    let demand = Demand::of(&scenario.job);
    let mut promised = ceilings(&topology, &demand, generator);
    merging::allow_for(&mut promised, &topology, scenario);
    if only_latency_can_bind(&demand, &promised, scenario) {
        return None;
    }
    let promised = promised.ceiling();
    let timed = topology.with_times(times.read_ns, times.sync_ns);
    let mut expected = ceilings(&timed, &demand, generator);
    merging::allow_for(&mut expected, &timed, scenario);
    let expected = expected.ceiling();
    let reached = scenario.measurement.as_ref().map_or(0.0, Measurement::iops);
    // A time that was measured is no promise: what goes faster shows that it did not hold, and nothing
    // more.
    match (promised, expected) {
        (Some(promised), Some(expected))
            if expected.iops < promised.iops && reached <= expected.iops * ABOVE_PERCENT / 100.0 =>
        {
            let why = format!("{} (as measured in scenario {})", expected.why, times.from.join(" and "));
            Some(Ceiling { why, ..expected })
        }
        (promised, _) => promised,
    }
}

/// One operation after another is held by its time alone, unless it reaches what else is promised. Where the
/// context promises no time, there is nothing to hold it against: calling it short would be a guess.
fn only_latency_can_bind(demand: &Demand, promised: &Ceilings, scenario: &Scenario) -> bool {
    let reached = scenario.measurement.as_ref().map(Measurement::iops);
    let short = promised
        .ceiling()
        .zip(reached)
        .is_some_and(|(ceiling, iops)| iops < ceiling.iops * AT_CEILING_PERCENT / 100.0);
    waits_for_each(scenario)
        && demand.depth == 1
        && short
        && promised.bounds.iter().all(|bound| bound.id != "latency")
}

/// Whether the device is waited for each time: the page cache works ahead of reads and behind writes.
fn waits_for_each(scenario: &Scenario) -> bool {
    scenario.job.direct || scenario.job.syncs_each_write()
}

/// What [`only_latency_can_bind`] leaves to say.
pub(super) fn no_time_promised(run: &Run, scenario: &Scenario) -> Option<&'static str> {
    let held = run.context.is_some() && scenario.ceiling.is_none() && !scenario.volume.is_empty();
    (held && !scenario.job.is_paced() && waits_for_each(scenario) && observed::one_at_a_time(scenario))
        .then_some("; the context promises no latency to hold it against")
}

/// `99% of the ceiling; bound by volume IOPS: 8 x 3,000 ...`, or what was reached instead.
pub(super) fn says(scenario: &Scenario) -> Option<String> {
    let ceiling = scenario.ceiling.as_ref()?;
    let percent = scenario.verdict.percent_of_ceiling?;
    let bound = bound_in_words(&ceiling.bound);
    Some(match scenario.verdict.status {
        Status::Ok => format!("{percent:.0}% of the ceiling, bound by {bound}: {}", ceiling.why),
        Status::Above => format!(
            "{percent:.0}% of the ceiling ({bound}: {}): more than was promised; the context is wrong, or \
             something else answers",
            ceiling.why
        ),
        _ => format!("{percent:.0}% of the ceiling, which {bound} sets: {}", ceiling.why),
    })
}

/// A bound as people say it.
pub(crate) fn bound_in_words(bound: &str) -> &str {
    match bound {
        "volume-iops" => "the volumes' IOPS",
        "volume-bandwidth" => "the volumes' bandwidth",
        "instance-iops" => "the instance's IOPS",
        "instance-bandwidth" => "the instance's bandwidth",
        "generator" => "this tool",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::{DirectionStats, Job, Rw};

    fn context() -> Context {
        toml::from_str(
            "schema = 1\nname = 'x'\n[[volume]]\nname = 'disk'\ncount = 8\nkind = 'gp3'\nsize = '50GiB'\n\
             iops = 3000\nbandwidth = '125MiB/s'\n[[array]]\nname = 'fast'\nlevel = 'raid10'\n\
             chunk = '64KiB'\nmembers = ['disk']\n[[filesystem]]\non = 'fast'\nmount = '/data'\nrole = 'data'\n",
        )
        .unwrap()
    }

    fn run_at(iops: f64) -> Run {
        let job = Job { rw: Rw::RandWrite, bs: 8192, iodepth: 64, numjobs: 4, ..Job::default() };
        let write = DirectionStats {
            ios: 1,
            iops,
            bandwidth_bytes_per_s: iops * 8192.0,
            ..DirectionStats::default()
        };
        let measurement = Some(Measurement { write, ..Measurement::default() });
        let scenario = Scenario { volume: "data".into(), job, measurement, ..Scenario::default() };
        let mut run = crate::verdict::rules::tests::run_of(vec![scenario]);
        run.calibration = None;
        run.context = Some(context());
        run
    }

    #[test]
    fn a_scenario_is_held_against_its_context() {
        for (iops, status, words) in [
            (11_950.0, Status::Ok, "100% of the ceiling, bound by the volumes' IOPS: 8 x 3,000"),
            (5_000.0, Status::Short, "42% of the ceiling, which the volumes' IOPS sets"),
            (20_000.0, Status::Above, "more than was promised"),
        ] {
            let mut run = run_at(iops);
            hold(&mut run);
            assert_eq!(run.scenarios[0].verdict.status, status, "{iops}");
            let said = says(&run.scenarios[0]).unwrap();
            assert!(said.contains(words), "{said}");
        }
    }

    /// Scenario 1 measured 10 ms for a durable write: 4 x 32 in flight then commit 12,800 times a second.
    #[test]
    fn what_phase_one_measured_bounds_what_comes_later() {
        let durable = |id, phase, iodepth, numjobs, iops| {
            let job = Job { rw: Rw::Write, bs: 8192, fdatasync: 1, iodepth, numjobs, ..Job::default() };
            let write = DirectionStats {
                ios: 1,
                iops,
                bandwidth_bytes_per_s: iops * 8192.0,
                ..DirectionStats::default()
            };
            let measurement =
                Measurement { engine: iobound_record::EngineChoice::Psync, write, ..Measurement::default() };
            let volume = "data".into();
            Scenario { id, phase, volume, job, measurement: Some(measurement), ..Scenario::default() }
        };
        let mut run = run_at(1.0);
        run.scenarios = vec![durable(1, 1, 1, 1, 100.0), durable(6, 3, 4, 4, 1_500.0)];
        hold(&mut run);
        let ceiling = run.scenarios[1].ceiling.clone().unwrap();
        assert_eq!((ceiling.bound.as_str(), ceiling.iops.round()), ("latency", 1_600.0));
        assert!(ceiling.why.ends_with("(as measured in scenario 1)"), "{}", ceiling.why);
        // Scenario 1 itself is not held against itself.
        assert_eq!(run.scenarios[0].ceiling, None);
        // Faster than phase 1 let expect: only what was promised counts.
        run.scenarios[1] = durable(6, 3, 4, 4, 11_000.0);
        hold(&mut run);
        assert_eq!(run.scenarios[1].ceiling.as_ref().unwrap().bound, "volume-bandwidth");
    }

    #[test]
    fn one_at_a_time_is_not_held_against_a_time_that_nobody_promised() {
        let mut run = run_at(2_000.0);
        (run.scenarios[0].job.iodepth, run.scenarios[0].job.numjobs) = (1, 1);
        hold(&mut run);
        assert_eq!((&run.scenarios[0].ceiling, run.scenarios[0].verdict.status), (&None, Status::Unknown));
        assert!(no_time_promised(&run, &run.scenarios[0]).is_some());
        // What reaches the other bounds is held by them.
        let mut run = run_at(12_000.0);
        (run.scenarios[0].job.iodepth, run.scenarios[0].job.numjobs) = (1, 1);
        hold(&mut run);
        assert_eq!(run.scenarios[0].verdict.status, Status::Ok);
        run.context.as_mut().unwrap().volumes[0].sync_latency = Some(iobound_record::Duration(1_000_000));
        run.context.as_mut().unwrap().volumes[0].latency = Some(iobound_record::Duration(1_000_000));
        run.scenarios[0].measurement.as_mut().unwrap().write.iops = 500.0;
        hold(&mut run);
        assert_eq!(run.scenarios[0].ceiling.as_ref().unwrap().bound, "latency");
        assert_eq!(run.scenarios[0].verdict.status, Status::Short);
    }

    #[test]
    fn without_a_context_there_is_no_ceiling() {
        let mut run = run_at(100.0);
        run.context = None;
        hold(&mut run);
        assert_eq!((run.scenarios[0].ceiling.clone(), says(&run.scenarios[0])), (None, None));
    }
}
