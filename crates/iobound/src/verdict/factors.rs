//! What a sync, the page cache and a fresh file are worth: two scenarios that differ in that alone.

use iobound_record::{Job, Run, Scenario, SyncMode, units};

use super::curves::usable;

/// Nearer to each other than this share two rates are called alike: repeats differ by as much.
const ALIKE: f64 = 0.05;

/// A sentence for each pair of scenarios that differ in one thing, with the factor.
pub(super) fn conclusions(run: &Run) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, one) in run.scenarios.iter().enumerate() {
        for other in &run.scenarios[index + 1..] {
            lines.extend(between(one, other).or_else(|| between(other, one)));
        }
    }
    lines
}

/// Whether the run asks the same of the disk itself, so that going through the page cache is the question.
pub(super) fn has_direct_twin(run: &Run, cached: &Scenario) -> bool {
    let twin = |other: &&Scenario| {
        other.job.direct
            && other.volume == cached.volume
            && policy(&other.job) == policy(&cached.job)
            && asked(&other.job) == asked(&cached.job)
    };
    !cached.job.direct && run.scenarios.iter().any(|other| twin(&other))
}

/// What `plain` and `changed` differ in, if that is one thing, and by what factor.
fn between(plain: &Scenario, changed: &Scenario) -> Option<String> {
    if plain.volume != changed.volume {
        return None;
    }
    let (a, b) = (&plain.job, &changed.job);
    let same = asked(a) == asked(b);
    let [sync, cache, fresh] = [policy(a) != policy(b), a.direct != b.direct, plain.fresh != changed.fresh];
    let rate = |scenario: &Scenario| usable(scenario).map(|m| m.bandwidth_bytes_per_s());
    let (was, is) = (rate(plain)?, rate(changed)?);
    let blocks = format!("{} {}", units::bytes(a.bs), if a.rw.writes() { "writes" } else { "reads" });
    let rates = |first: &str, second: &str| {
        format!("{} {first}, {} {second}", units::bandwidth(was), units::bandwidth(is))
    };
    match (same, sync, cache, fresh) {
        (true, true, false, false) if policy(a) == Policy::Never && a.rw.writes() => {
            let how = policy(b).word()?;
            let rates = rates("without", "with it");
            Some(match factor(was / is) {
                Some(factor) => format!("{how} costs {factor} on {blocks}: {rates}."),
                None => format!("{how} costs nothing that shows on {blocks}: {rates}."),
            })
        }
        // Of writes that are each synced, and of cold reads, the cache keeps nothing back.
        (true, false, true, false)
            if a.direct && (b.pre_read || policy(b) == Policy::Never && b.rw.writes()) =>
        {
            let rates = rates("past it", "through it");
            Some(match (factor(is / was), factor(was / is)) {
                (Some(factor), _) => {
                    format!("The page cache makes {blocks} look {factor} faster than the disk: {rates}.")
                }
                (_, Some(factor)) => {
                    format!("The page cache makes {blocks} {factor} slower than the disk: {rates}.")
                }
                _ => format!("The page cache changes nothing that shows in {blocks}: {rates}."),
            })
        }
        (true, false, false, true) if changed.fresh => {
            let rates = rates("overwriting", "to the fresh file");
            Some(match factor(was / is) {
                Some(factor) => format!("A fresh file makes {blocks} cost {factor}: {rates}."),
                None => format!("A fresh file costs {blocks} nothing that shows: {rates}."),
            })
        }
        _ => None,
    }
}

/// What makes writes durable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Policy {
    Never,
    Fsync,
    Fdatasync,
    Sync,
    Dsync,
    Sometimes,
}

fn policy(job: &Job) -> Policy {
    match (job.sync, job.fsync, job.fdatasync) {
        (SyncMode::None, 0, 0) if !job.end_fsync => Policy::Never,
        (SyncMode::None, 1, 0) => Policy::Fsync,
        (SyncMode::None, 0, 1) => Policy::Fdatasync,
        (SyncMode::Sync, 0, 0) => Policy::Sync,
        (SyncMode::Dsync, 0, 0) => Policy::Dsync,
        _ => Policy::Sometimes,
    }
}

impl Policy {
    fn word(self) -> Option<&'static str> {
        Some(match self {
            Policy::Fsync => "fsync after each write",
            Policy::Fdatasync => "fdatasync after each write",
            Policy::Sync => "O_SYNC",
            Policy::Dsync => "O_DSYNC",
            Policy::Never | Policy::Sometimes => return None,
        })
    }
}

/// The job without its names, its times and what is compared here.
fn asked(job: &Job) -> Job {
    let plain = Job::default();
    Job {
        name: String::new(),
        description: None,
        filename: Vec::new(),
        directory: None,
        runtime_ns: None,
        time_based: false,
        ramp_time_ns: 0,
        log_interval_ns: 0,
        stonewall: false,
        direct: plain.direct,
        pre_read: false,
        sync: plain.sync,
        fsync: 0,
        fdatasync: 0,
        end_fsync: false,
        overwrite: plain.overwrite,
        fallocate: plain.fallocate,
        ..job.clone()
    }
}

/// `x12.3`; None when it is too near 1, or below.
fn factor(ratio: f64) -> Option<String> {
    (ratio >= 1.0 + ALIKE && ratio.is_finite()).then(|| match ratio {
        ratio if ratio >= 99.95 => format!("x{}", units::count(ratio)),
        ratio if ratio >= 9.95 => format!("x{ratio:.1}"),
        ratio => format!("x{ratio:.2}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::{DirectionStats, Measurement, Rw};

    fn measured(job: Job, mib: f64) -> Scenario {
        let side = DirectionStats {
            ios: 1,
            iops: mib * 1_048_576.0 / job.bs as f64,
            bandwidth_bytes_per_s: mib * 1_048_576.0,
            ..DirectionStats::default()
        };
        let mut measurement = Measurement::default();
        if job.rw.writes() {
            measurement.write = side
        } else {
            measurement.read = side
        }
        Scenario { job, measurement: Some(measurement), ..Scenario::default() }
    }

    fn said(scenarios: Vec<Scenario>) -> Vec<String> {
        conclusions(&crate::verdict::rules::tests::run_of(scenarios))
    }

    #[test]
    fn each_factor_is_computed_from_its_pair() {
        let write = Job { rw: Rw::Write, ..Job::default() };
        let read = Job { bs: 65_536, ..Job::default() };
        let lines = said(vec![
            measured(Job { fsync: 1, ..write.clone() }, 5.0),
            measured(write.clone(), 61.5),
            measured(read.clone(), 100.0),
            measured(Job { direct: false, pre_read: true, ..read }, 810.0),
        ]);
        assert_eq!(
            lines,
            [
                "fsync after each write costs x12.3 on 4 KiB writes: 61.5 MiB/s (64.5 MB/s) without, 5.00 MiB/s (5.24 MB/s) with it.",
                "The page cache makes 64 KiB reads look x8.10 faster than the disk: 100 MiB/s (105 MB/s) past it, 810 MiB/s (849 MB/s) through it.",
            ]
        );
    }

    #[test]
    fn a_fresh_file_is_held_against_the_overwritten_one() {
        let sync = Job { rw: Rw::Write, sync: SyncMode::Sync, direct: false, ..Job::default() };
        let mut fresh = measured(Job { overwrite: false, ..sync.clone() }, 10.0);
        fresh.fresh = true;
        let lines = said(vec![measured(sync, 17.0), fresh]);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("A fresh file makes 4 KiB writes cost x1.70"), "{lines:?}");
    }

    #[test]
    fn pairs_that_differ_in_more_say_nothing() {
        let write = Job { rw: Rw::Write, ..Job::default() };
        let deep = Job { fsync: 1, iodepth: 8, ..write.clone() };
        let other_bs = Job { fsync: 1, bs: 8192, ..write.clone() };
        let cold = Job { direct: false, ..Job::default() };
        assert!(
            said(vec![measured(write.clone(), 50.0), measured(deep, 5.0), measured(other_bs, 5.0)])
                .is_empty()
        );
        assert!(said(vec![measured(Job::default(), 50.0), measured(cold, 45.0)]).is_empty(), "a cold read");
        let mut failed = measured(Job { fsync: 1, ..write.clone() }, 5.0);
        failed.measurement.as_mut().unwrap().errors = 1;
        assert!(said(vec![measured(write, 50.0), failed]).is_empty(), "it does not stand");
    }

    #[test]
    fn alike_is_not_a_factor() {
        let write = Job { rw: Rw::Write, bs: 1 << 20, ..Job::default() };
        let lines = said(vec![measured(write.clone(), 100.0), measured(Job { fsync: 1, ..write }, 99.0)]);
        assert!(lines[0].contains("costs nothing that shows"), "{lines:?}");
        assert_eq!([factor(1.0), factor(f64::INFINITY), factor(f64::NAN)], [None, None, None]);
        assert_eq!(factor(1234.0).unwrap(), "x1,234");
    }
}
