//! Rates that do not last, and promises that do not hold: bursts, and caps of the machine.

use iobound_model::ceiling::{Bound, Ceilings, Demand, Topology, ceilings};
use iobound_model::statistics::{Figure, mean};
use iobound_record::{Finding, Interval, Severity, Status, units};

use super::{Case, finding};

/// A fall by less than this share may be a neighbour or the drive's own work; cloud volumes and machines
/// fall to a half or less when their credits are spent (c8g.2xlarge: 1,250 to 312.5 MB/s).
const FALL_MIN: f64 = 0.25;
/// Each side of the fall is level: its intervals' standard deviation is below this share of their mean.
/// A rate that wanders has no level to fall from. (SNIA's steady state allows 20% from end to end.)
const LEVEL: f64 = 0.10;
/// Finer series are put together to this: throttles let through what they allow in slices of a tenth of a
/// second, and shorter intervals show the slices.
const ROUND_NS: u64 = 1_000_000_000;
/// Each side has this many rounds, so that "level" says something, and a throttle's saved-up credit, a
/// pause or the end of a run is none.
const SIDE_MIN: usize = 3;
/// Above this share of what was promised it was something else than the measurement's error; the same
/// figure makes a verdict "above".
const ABOVE: f64 = 1.05;
/// A cap that is lower than the volumes together by less than this binds as often as not.
const CAP_BELOW: f64 = 0.98;

/// A fall of the rate in mid-run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fall {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) after_ns: u64,
}

/// The fall that splits the series best, if each side of it is level. The interval in which it happens
/// belongs to neither side.
pub(super) fn fall(series: &[Interval]) -> Option<Fall> {
    let interval = series.iter().map(|interval| interval.length_ns).max().filter(|length| *length > 0)?;
    let in_round = ROUND_NS.div_ceil(interval).max(1);
    let length = in_round * interval;
    let rates: Vec<f64> = Figure::Iops.series(series).chunks_exact(in_round as usize).map(mean).collect();
    let squares = |values: &[f64]| {
        let mean = mean(values);
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let last = rates.len().checked_sub(SIDE_MIN + 1)?;
    let split = (SIDE_MIN..=last).min_by(|&a, &b| {
        let error = |at: usize| squares(&rates[..at]) + squares(&rates[at + 1..]);
        error(a).total_cmp(&error(b))
    })?;
    let (before, after) = (&rates[..split], &rates[split + 1..]);
    let level = |values: &[f64]| {
        let deviation = (squares(values) / values.len() as f64).sqrt();
        deviation <= LEVEL * mean(values)
    };
    let (from, to) = (mean(before), mean(after));
    let fell = to <= (1.0 - FALL_MIN) * from;
    // After it, the rate may be none at all: that is level too.
    let flat = level(before) && (to <= 0.0 || level(after));
    (fell && flat).then_some(Fall { from, to, after_ns: split as u64 * length })
}

pub(super) fn burst_ended(case: &Case<'_>) -> Option<Finding> {
    let fall = fall(&case.measured.series)?;
    let share = 100.0 * fall.to / fall.from;
    Some(finding(
        "burst-ended",
        Severity::Warning,
        "The rate fell in mid-run and stayed low: a burst ended, and the mean is neither of the two rates.",
        format!(
            "{}: {} IOPS fell to {} ({share:.0}%) after {} s",
            case.name(),
            units::count(fall.from),
            units::count(fall.to),
            units::significant(fall.after_ns as f64 / 1e9)
        ),
        "count on the lower rate: spend the burst before measuring (ramp_time), and run long enough to see it end; on a cloud, look at the volume's and the instance's burst balance",
    ))
}

/// What the context promises this job.
fn promised(case: &Case<'_>) -> Option<Ceilings> {
    // Where there is no ceiling there is nothing to hold it against: a paced job, a volume unknown.
    case.scenario.ceiling.as_ref()?;
    let topology = Topology::of(case.run.context.as_ref()?, &case.scenario.volume).ok()?;
    Some(ceilings(&topology, &Demand::of(case.job), None))
}

/// More than the machine always gives, and no more than its burst.
pub(super) fn instance_burst(case: &Case<'_>) -> Option<Finding> {
    if case.scenario.verdict.status != Status::Above {
        return None;
    }
    let promised = promised(case)?;
    let (sustained, burst) = (promised.ceiling()?, promised.burst.clone()?);
    let reached = case.measured.iops();
    if reached <= ABOVE * sustained.iops || reached > ABOVE * burst.iops {
        return None;
    }
    let lasts = promised.burst_ns_per_day.map_or("for how long is not known".to_owned(), |ns| {
        format!("time to throttle: {} of it a day at least, from full credits", units::duration(ns))
    });
    Some(finding(
        "instance-burst",
        Severity::Warning,
        "This rate is the machine's burst: it does not last.",
        format!(
            "{}: {} IOPS; sustained {} ({}), burst {} ({}); {lasts}",
            case.name(),
            units::count(reached),
            units::count(sustained.iops),
            sustained.why,
            units::count(burst.iops),
            burst.why
        ),
        "count on the sustained rate, or take an instance whose sustained limit is enough (iobound ceilings shows both)",
    ))
}

/// More than was promised, burst included.
pub(super) fn above_ceiling(case: &Case<'_>) -> Option<Finding> {
    if case.scenario.verdict.status != Status::Above || instance_burst(case).is_some() {
        return None;
    }
    let ceiling = case.scenario.ceiling.as_ref()?;
    Some(finding(
        "above-ceiling",
        Severity::Warning,
        "More than the context promises: it is wrong, the volume was in a burst of its own, or something else answered (a cache).",
        format!(
            "{}: {} IOPS, {:.0}% of {} ({})",
            case.name(),
            units::count(case.measured.iops()),
            100.0 * case.measured.iops() / ceiling.iops,
            units::count(ceiling.iops),
            ceiling.why
        ),
        "compare the context with the volumes' settings, and run longer than any burst",
    ))
}

/// The machine lets less through than the volumes could do.
pub(super) fn instance_cap(case: &Case<'_>) -> Option<Finding> {
    let promised = promised(case)?;
    let lowest = |kind: &str| promised.bounds.iter().find(|bound| bound.id.starts_with(kind));
    let (machine, volumes): (&Bound, &Bound) = (lowest("instance-")?, lowest("volume-")?);
    // Where time binds first, neither is felt.
    let time = lowest("latency").map_or(f64::INFINITY, |bound| bound.iops);
    (machine.iops < CAP_BELOW * volumes.iops.min(time)).then(|| {
        finding(
            "instance-cap",
            Severity::Warning,
            "The machine's cap is below what its volumes can do together: part of them is paid for and cannot be used.",
            format!(
                "{}: {}; the volumes alone: {}",
                case.name(),
                machine.why,
                volumes.why
            ),
            "take fewer or smaller volumes, or an instance with a higher limit to its volumes",
        )
    })
}
