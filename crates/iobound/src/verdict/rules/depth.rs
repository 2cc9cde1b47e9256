//! Too few operations in flight to reach what was promised (Little's law).

use iobound_record::{EngineChoice, Finding, Metric, Scenario, Severity, units};

use super::{Case, finding, in_flight, mean_latency};

/// Below this many times the mean latency of single operations, operations hardly wait for each other:
/// more in flight would give more.
const UNQUEUED: f64 = 1.5;
/// Without single operations to compare with: the fastest operation of a run waited for none. If even
/// that one took this share of the mean, hardly any did.
const FASTEST_SHARE: f64 = 0.50;
/// A deeper scenario that got no more than this times the rate shows that depth is not what binds.
const NO_MORE: f64 = 1.10;

/// Whether more in flight would give more.
pub(super) fn has_room(case: &Case<'_>) -> bool {
    if !case.is_short() || case.job.is_paced() || case.measured.iops() <= 0.0 {
        return false;
    }
    let bound_by_time = case.scenario.ceiling.as_ref().is_some_and(|ceiling| ceiling.bound == "latency");
    !bound_by_time && !deeper_gave_no_more(case) && hardly_waits(case)
}

pub(super) fn too_low(case: &Case<'_>) -> Option<Finding> {
    if !has_room(case) {
        return None;
    }
    let ceiling = case.scenario.ceiling.as_ref()?;
    let now = case.in_flight();
    // Little's law, both ways: what is in flight over the rate is the time of each, and that time times
    // the ceiling is what must be in flight.
    let each_ns = now as f64 * 1e9 / case.measured.iops();
    let needed = (ceiling.iops * each_ns / 1e9).ceil();
    let threads = f64::from(case.job.numjobs);
    let depth = (needed / threads).ceil();
    let of_threads =
        if case.job.numjobs > 1 { format!(" in each of {threads} threads") } else { String::new() };
    let evidence = format!(
        "{}: {now} in flight / {} each = {} IOPS; the ceiling of {} ({}) needs {} in flight at this latency",
        case.name(),
        units::duration(each_ns.round() as u64),
        units::count(case.measured.iops()),
        units::count(ceiling.iops),
        crate::verdict::bound_in_words(&ceiling.bound),
        units::count(needed)
    );
    // What is run to see the time of single operations is not meant to reach a rate.
    let is_latency_run = case.scenario.metric == Metric::Latency;
    let (severity, what) = if is_latency_run {
        (
            Severity::Note,
            "One after another: this is the device's latency, and says nothing of the rates it can reach.",
        )
    } else {
        (
            Severity::Warning,
            "Too few operations in flight to reach the ceiling: the latency of each binds, not what the storage is promised to do.",
        )
    };
    Some(finding(
        "depth-too-low",
        severity,
        what,
        evidence,
        format!(
            "raise iodepth to {}{of_threads}; if that brings no more, a lower limit than the context's holds",
            units::count(depth)
        ),
    ))
}

/// A depth that the engine does not have: fio's default engine is psync, and its depth is one, whatever
/// iodepth says.
pub(super) fn ignored(case: &Case<'_>) -> Option<Finding> {
    let one_each = case.in_flight() == u64::from(case.job.numjobs);
    (case.job.iodepth > 1 && one_each && case.ran_on(EngineChoice::Psync)).then(|| {
        let remedy = match case.job.ioengine {
            EngineChoice::Auto => {
                "allow io_uring or libaio on this host (see why neither was taken), or raise numjobs"
            }
            _ => "set ioengine=io_uring or libaio; fio's default is psync",
        };
        finding(
            "depth-ignored",
            Severity::Warning,
            "iodepth does nothing here: psync has one operation in flight in each thread.",
            format!(
                "{}: iodepth={} and ioengine=psync, {} in flight",
                case.name(),
                case.job.iodepth,
                case.in_flight()
            ),
            remedy,
        )
    })
}

/// Another scenario of the run that asks the same with more, or less, in flight.
fn others<'a>(case: &Case<'a>) -> impl Iterator<Item = (&'a Scenario, u64, f64, f64)> {
    let own = case.scenario;
    let alike = move |other: &&Scenario| {
        let same_place = other.volume == own.volume && other.job.filename == own.job.filename;
        !std::ptr::eq(*other, own)
            && same_place
            && other.job.rw == own.job.rw
            && other.job.direct == own.job.direct
            && (other.job.fdatasync, other.job.fsync) == (own.job.fdatasync, own.job.fsync)
            && !other.job.is_paced()
    };
    case.run.scenarios.iter().filter(alike).filter_map(|other| {
        let measured = other.measurement.as_ref().filter(|measured| measured.iops() > 0.0)?;
        Some((other, in_flight(&other.job, measured), measured.iops(), mean_latency(measured)))
    })
}

fn deeper_gave_no_more(case: &Case<'_>) -> bool {
    others(case).any(|(other, depth, iops, _)| {
        other.job.bs == case.job.bs && depth > case.in_flight() && iops < NO_MORE * case.measured.iops()
    })
}

fn hardly_waits(case: &Case<'_>) -> bool {
    if case.in_flight() <= 1 {
        return true;
    }
    let mean = mean_latency(case.measured);
    let alone = others(case)
        .filter(|(other, depth, _, _)| *depth == 1 && other.job.bs >= case.job.bs)
        .map(|(_, _, _, latency)| latency)
        .reduce(f64::min);
    if let Some(alone) = alone {
        return mean < UNQUEUED * alone;
    }
    let sides = [&case.measured.read, &case.measured.write];
    let fastest = sides.into_iter().filter(|side| side.ios > 0).map(|side| side.latency_ns.min).min();
    fastest.is_some_and(|fastest| fastest as f64 >= FASTEST_SHARE * mean)
}
