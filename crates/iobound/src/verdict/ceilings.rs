//! Each scenario held against what its context promises.

use iobound_model::ceiling::{Demand, Topology, ceilings};
use iobound_record::{Ceiling, Context, Measurement, Run, Scenario, Status};

/// From this share of its ceiling on a scenario is at it. Volumes with known limits read 97% to 101%
/// of theirs here; two percent below that are left for what short runs vary.
const AT_CEILING_PERCENT: f64 = 95.0;
/// Above this share either the ceiling or the measurement is wrong.
const ABOVE_PERCENT: f64 = 105.0;

/// Puts a ceiling, a share of it and a status on every scenario that the run's context speaks of.
pub(super) fn hold(run: &mut Run) {
    let generator = run.calibration.as_ref().map(|calibration| calibration.null_iops_all_cores);
    for scenario in &mut run.scenarios {
        scenario.ceiling = run.context.as_ref().and_then(|context| ceiling_of(context, scenario, generator));
        let reached = scenario.measurement.as_ref().map(Measurement::iops);
        let percent = scenario.ceiling.as_ref().zip(reached).map(|(c, iops)| iops / c.iops * 100.0);
        scenario.verdict.percent_of_ceiling = percent;
        scenario.verdict.status = percent.map_or(Status::Unknown, status_of);
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
fn ceiling_of(context: &Context, scenario: &Scenario, generator: Option<f64>) -> Option<Ceiling> {
    if scenario.job.is_paced() || scenario.volume.is_empty() {
        return None;
    }
    let topology = Topology::of(context, &scenario.volume).ok()?;
    ceilings(&topology, &Demand::of(&scenario.job), generator).ceiling()
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

    #[test]
    fn without_a_context_there_is_no_ceiling() {
        let mut run = run_at(100.0);
        run.context = None;
        hold(&mut run);
        assert_eq!((run.scenarios[0].ceiling.clone(), says(&run.scenarios[0])), (None, None));
    }
}
