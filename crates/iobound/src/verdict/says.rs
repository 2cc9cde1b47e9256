//! Sentences: what binds each scenario, and what the run comes to.

use iobound_record::{Job, Measurement, Run, Scenario, Status, units};

use super::ceilings;
use super::cold;
use super::curves;
use super::empirical::Peaks;
use super::factors;
use super::observed;
use super::roofline::{Bound, Roofline};
use super::rules;
use super::stream;
use super::targets;
use crate::settling;

/// At depth, a mean latency below this many times the one of single operations means that operations
/// hardly wait for each other: more in flight would give more.
const UNQUEUED: f64 = 1.5;
/// Single operations that reach this share of the rate at depth are held by the same limit: without one,
/// 64 in flight give several times more on anything that is not a single spindle.
const AT_LIMIT: f64 = 0.90;

/// Names on every scenario the findings that touch it.
pub(super) fn name_findings(run: &mut Run) {
    let ids: Vec<Vec<String>> = run.scenarios.iter().map(|scenario| rules::ids_of(run, scenario)).collect();
    for (scenario, ids) in run.scenarios.iter_mut().zip(ids) {
        scenario.verdict.findings = ids;
    }
}

/// Puts a verdict on every scenario.
pub(super) fn verdicts(run: &mut Run, roofline: Option<&Roofline>) {
    let peaks = Peaks::of(run);
    let said: Vec<String> = run
        .scenarios
        .iter()
        .map(|scenario| {
            let says = scenario.measurement.as_ref().map_or(String::new(), |measurement| {
                let own = says(run, scenario, measurement, roofline, &peaks) + &verified(measurement);
                match ceilings::says(scenario) {
                    // At its ceiling a scenario is bound by what sets it; what it looks like alone adds
                    // nothing.
                    Some(held) if scenario.verdict.status == Status::Ok => held + &verified(measurement),
                    Some(held) => format!("{held}; {own}"),
                    None => own + ceilings::no_time_promised(run, scenario).unwrap_or_default(),
                }
            });
            match targets::says(scenario) {
                Some(target) if says.is_empty() => target,
                Some(target) => format!("{says}; {target}"),
                None => says,
            }
        })
        .collect();
    for (scenario, mut says) in run.scenarios.iter_mut().zip(said) {
        if let Some(ended) = scenario.measurement.as_ref().and_then(|measured| measured.ended_steady) {
            says += &format!("; {}", settling::words(&ended));
        }
        scenario.verdict.says = says;
    }
}

fn says(
    run: &Run,
    scenario: &Scenario,
    measurement: &Measurement,
    roofline: Option<&Roofline>,
    peaks: &Peaks,
) -> String {
    let job = &scenario.job;
    if let Some(stream) = &scenario.stream {
        return stream::says(scenario, stream);
    }
    if measurement.iops() == 0.0 {
        return "nothing completed".into();
    }
    if job.is_paced() {
        return paced(scenario, measurement);
    }
    if let Some(processor) = rules::processor_binds(job, measurement) {
        return format!("bound by the processor: {}", processor.says());
    }
    if scenario.verdict.findings.iter().any(|id| id == "generator-bound") {
        return "bound by this tool, not by the device".into();
    }
    if rules::in_flight(job, measurement) == 1 {
        if depth_adds_nothing(run, scenario, measurement) {
            return "bound by operations: at depth there are no more, so a limit binds and not latency"
                .into();
        }
        return one_at_a_time(scenario, measurement);
    }
    if let Some(more) = depth_has_room(run, scenario, measurement) {
        return more;
    }
    let mean = rules::mean_latency(measurement);
    let in_flight = rules::in_flight(job, measurement);
    let plain = format!("{in_flight} in flight, {} each on average", units::duration(mean as u64));
    let plain = if scenario.name.starts_with("sweep-") { String::new() } else { format!("; {plain}") };
    match roofline.filter(|_| run.suite == "quick" && !job.rw.writes()) {
        // Without a promise the run's own peaks are what there is to compare with.
        None => {
            match peaks.says(scenario, measurement).filter(|_| run.suite != "quick" && run.context.is_none())
            {
                Some(says) => format!("{says}{plain}"),
                None => plain.trim_start_matches("; ").into(),
            }
        }
        Some(roofline) => match roofline.binds(measurement.iops(), measurement.bandwidth_bytes_per_s()) {
            Bound::Operations => format!("bound by operations{plain}"),
            Bound::Bandwidth => format!("bound by bandwidth{plain}"),
            Bound::Between => format!("between the bounds{plain}"),
        },
    }
}

/// What verification came to, if it was asked.
fn verified(measurement: &Measurement) -> String {
    match &measurement.verify {
        None => String::new(),
        Some(outcome) if outcome.bad() == 0 => {
            format!("; {} blocks read back, all as written", units::count(outcome.checked as f64))
        }
        Some(outcome) => format!(
            "; OF {} BLOCKS READ BACK {} ARE NOT AS WRITTEN",
            units::count(outcome.checked as f64),
            units::count(outcome.bad() as f64)
        ),
    }
}

/// A job with a rate: whether the storage kept up, and what waiting for it cost.
fn paced(scenario: &Scenario, measurement: &Measurement) -> String {
    let job = &scenario.job;
    let threads = f64::from(job.numjobs);
    let kept = |asked: Option<u64>, got: f64| asked.is_none_or(|rate| got >= 0.99 * rate as f64 * threads);
    let all_kept = kept(job.rate_iops.read, measurement.read.iops)
        && kept(job.rate_iops.write, measurement.write.iops)
        && kept(job.rate.read, measurement.read.bandwidth_bytes_per_s)
        && kept(job.rate.write, measurement.write.bandwidth_bytes_per_s);
    let scheduled = [&measurement.read, &measurement.write]
        .into_iter()
        .filter_map(|d| d.scheduled_latency_ns)
        .map(|l| l.p99)
        .max();
    let tail = scheduled
        .map_or(String::new(), |p99| format!("; p99 from the scheduled start {}", units::duration(p99)));
    if all_kept {
        format!("held the asked rate{tail}")
    } else {
        format!("could not hold the asked rate{tail}")
    }
}

fn one_at_a_time(scenario: &Scenario, measurement: &Measurement) -> String {
    let side = if scenario.job.rw.writes() { &measurement.write } else { &measurement.read };
    let job = &scenario.job;
    if !job.direct && !job.syncs_each_write() {
        return through_the_cache(job, measurement);
    }
    if measurement.sync.ios > 0 && job.syncs_each_write() {
        let whole = 1e9 / measurement.iops();
        let sync = units::duration(measurement.sync.latency_ns.mean as u64);
        return format!(
            "bound by latency: {} a durable write, {sync} of it the sync",
            units::duration(whole as u64)
        );
    }
    format!("bound by latency: {} each, one at a time", units::duration(side.latency_ns.mean as u64))
}

/// A job of the page cache, whose operations are memory's or wait for what the kernel does ahead of them.
fn through_the_cache(job: &Job, measurement: &Measurement) -> String {
    let rate = units::bandwidth(measurement.bandwidth_bytes_per_s());
    let sync = &measurement.sync.latency_ns;
    match (job.rw.writes(), job.pre_read) {
        (true, _) if job.end_fsync && measurement.sync.ios > 0 => format!(
            "{rate} through the page cache, with the fsync at the end, which took {} of {}",
            units::duration(sync.max),
            units::duration(measurement.runtime_ns)
        ),
        (true, _) => format!("{rate} into the page cache: memory took it, the disk gets it later"),
        (false, true) => format!("{rate} from the page cache: the disk was not asked"),
        (false, false) => format!("{rate} through the page cache, which the kernel fills ahead of the reads"),
    }
}

/// One at a time reaches what many at once reach: a rate limit holds both, and the mean latency is its
/// doing.
fn depth_adds_nothing(run: &Run, scenario: &Scenario, measurement: &Measurement) -> bool {
    let deep = match scenario.name.as_str() {
        "read-latency" => "rand-read",
        "sync-write" => "rand-write",
        _ => return false,
    };
    let deep = run.scenarios.iter().find(|other| other.name == deep && run.suite == "quick");
    deep.and_then(|deep| deep.measurement.as_ref())
        .is_some_and(|deep| deep.iops() > 0.0 && measurement.iops() >= AT_LIMIT * deep.iops())
}

/// At depth and still hardly slower than alone: the depth binds.
fn depth_has_room(run: &Run, scenario: &Scenario, measurement: &Measurement) -> Option<String> {
    let alone = run.scenarios.iter().find(|other| other.name == "read-latency" && run.suite == "quick")?;
    let alone_ns = alone.measurement.as_ref()?.read.latency_ns.mean;
    let same_kind =
        scenario.job.bs <= alone.job.bs && !scenario.job.rw.writes() && scenario.job.rw.is_random();
    let mean = rules::mean_latency(measurement);
    (same_kind && alone_ns > 0.0 && mean < UNQUEUED * alone_ns).then(|| {
        format!(
            "bound by depth: {} each, hardly more than alone; more in flight would give more",
            units::duration(mean as u64)
        )
    })
}

/// The run's own roofline, where nothing was promised.
fn of_peaks(run: &Run) -> Vec<String> {
    if run.context.is_some() { Vec::new() } else { Peaks::of(run).conclusions() }
}

/// Commits a second that an example of group commit is made with.
const BUSY_COMMITS_PER_S: f64 = 10_000.0;

/// What single operations mean for a database: its commits, and its reads by an index.
fn alone(run: &Run) -> Vec<String> {
    let mut lines = Vec::new();
    for scenario in run.scenarios.iter().filter(|scenario| observed::one_at_a_time(scenario)) {
        let Some(measured) = observed::standing(run, scenario) else { continue };
        let (each, rate) = (units::duration((1e9 / measured.iops()) as u64), units::count(measured.iops()));
        let block = units::bytes(scenario.job.bs);
        let on = if scenario.volume.is_empty() { String::new() } else { format!(" on {}", scenario.volume) };
        if observed::every_write_is_synced(scenario) && measured.read.ios == 0 {
            let shared = match BUSY_COMMITS_PER_S / measured.iops() {
                share if share > 1.0 => format!(
                    "; {} a second need {} to share each sync (group commit)",
                    units::count(BUSY_COMMITS_PER_S),
                    units::count(share.ceil())
                ),
                _ => String::new(),
            };
            lines.push(format!(
                "A durable {block} write{on} takes {each}: one connection commits {rate} times a second at most{shared}."
            ));
        } else if scenario.job.rw.is_random() && measured.write.ios == 0 {
            lines
                .push(format!("A random {block} read{on} takes {each}: one after another, {rate} a second."));
        }
    }
    lines
}

/// What the run comes to, in a few sentences.
pub(super) fn conclusions(run: &Run, roofline: Option<&Roofline>) -> Vec<String> {
    if run.suite != "quick" {
        let own = [curves::conclusions(run), factors::conclusions(run), cold::conclusions(run)].concat();
        // A suite that says what its points come to needs no peaks of them all.
        let peaks = if own.is_empty() { of_peaks(run) } else { Vec::new() };
        return [alone(run), own, peaks].concat();
    }
    let measured = |name: &str| {
        let scenario = run.scenarios.iter().find(|scenario| scenario.name == name)?;
        scenario.measurement.as_ref().filter(|m| m.errors == 0 && m.iops() > 0.0)
    };
    let mut lines = Vec::new();
    let limited = |name: &str| {
        let scenario = run.scenarios.iter().find(|scenario| scenario.name == name)?;
        depth_adds_nothing(run, scenario, scenario.measurement.as_ref()?).then_some(())
    };
    if let Some(m) = measured("sync-write") {
        let (rate, p99) = (units::count(m.iops()), units::duration(m.sync.latency_ns.p99));
        lines.push(match limited("sync-write") {
            Some(()) => format!(
                "A durable 8 KiB write takes {} at the median (write and sync), but only {rate} a second are let through, alone or at depth: a limit on operations binds, not latency.",
                units::duration(m.write.latency_ns.p50 + m.sync.latency_ns.p50)
            ),
            None => format!(
                "A durable 8 KiB write takes {}: one connection commits {rate} times a second at most (p99 of its sync {p99}).",
                units::duration((1e9 / m.iops()) as u64)
            ),
        });
    }
    if let Some(m) = measured("read-latency") {
        let rate = units::count(m.iops());
        lines.push(match limited("read-latency") {
            Some(()) => format!(
                "A random 8 KiB read takes {} at the median, but only {rate} a second are let through, alone or at depth: a limit on operations binds, not latency.",
                units::duration(m.read.latency_ns.p50)
            ),
            None => format!(
                "A random 8 KiB read takes {} alone (p99 {}): {rate} a second, one after another.",
                units::duration(m.read.latency_ns.mean as u64),
                units::duration(m.read.latency_ns.p99)
            ),
        });
    }
    if let Some(roofline) = roofline {
        lines.push(roofline.in_words());
    }
    if let (Some(read), Some(write)) = (measured("rand-read"), measured("rand-write")) {
        lines.push(format!(
            "Random 4 KiB at depth 64: {} reads/s, {} writes/s.",
            units::count(read.iops()),
            units::count(write.iops())
        ));
    }
    if let (Some(read), Some(write)) = (measured("seq-read"), measured("seq-write")) {
        lines.push(format!(
            "In order, 1 MiB blocks: reads {}, writes {}.",
            units::bandwidth(read.bandwidth_bytes_per_s()),
            units::bandwidth(write.bandwidth_bytes_per_s())
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::rules::tests::run_of;
    use super::*;
    use iobound_record::{CpuTime, DirectionStats, LatencySummary, Rw};

    fn scenario(name: &str, job: Job, iops: f64, mean: f64) -> Scenario {
        let latency_ns = LatencySummary { mean, ..LatencySummary::default() };
        let read = DirectionStats {
            ios: 1000,
            iops,
            bandwidth_bytes_per_s: iops * job.bs as f64,
            latency_ns,
            ..DirectionStats::default()
        };
        let measurement = Measurement { read, runtime_ns: 5_000_000_000, ..Measurement::default() };
        Scenario { name: name.into(), job, measurement: Some(measurement), ..Scenario::default() }
    }

    fn said(mut run: Run, index: usize) -> String {
        super::super::judge(&mut run);
        run.scenarios[index].verdict.says.clone()
    }

    #[test]
    fn one_at_a_time_is_bound_by_latency() {
        let job = Job { rw: Rw::RandRead, ..Job::default() };
        let run = run_of(vec![scenario("x", job, 1698.0, 589_000.0)]);
        assert_eq!(said(run, 0), "bound by latency: 589 us each, one at a time");
    }

    #[test]
    fn depth_that_costs_nothing_is_the_bound() {
        let alone = Job { rw: Rw::RandRead, bs: 8192, ..Job::default() };
        let deep = Job { rw: Rw::RandRead, iodepth: 4, ..Job::default() };
        let run =
            run_of(vec![scenario("read-latency", alone, 1000.0, 1e6), scenario("x", deep, 4000.0, 1.01e6)]);
        assert!(said(run, 1).starts_with("bound by depth: 1.01 ms each"));
    }

    #[test]
    fn a_limit_that_one_at_a_time_reaches_is_not_called_latency() {
        let alone = Job { rw: Rw::RandRead, bs: 8192, ..Job::default() };
        let deep = Job { rw: Rw::RandRead, iodepth: 64, ..Job::default() };
        let mut run = run_of(vec![
            scenario("read-latency", alone, 2997.0, 339_000.0),
            scenario("rand-read", deep, 2955.0, 21e6),
        ]);
        super::super::judge(&mut run);
        assert!(
            run.scenarios[0].verdict.says.starts_with("bound by operations"),
            "{}",
            run.scenarios[0].verdict.says
        );
        assert!(run.conclusions[0].contains("a limit on operations binds"), "{:?}", run.conclusions);
    }

    #[test]
    fn a_busy_thread_is_bound_by_the_processor() {
        let job = Job { rw: Rw::RandRead, iodepth: 64, ..Job::default() };
        let mut run = run_of(vec![scenario("x", job, 100_000.0, 640_000.0)]);
        let cpu = CpuTime { user_ns: 500_000_000, system_ns: 4_400_000_000, ..CpuTime::default() };
        run.scenarios[0].measurement.as_mut().unwrap().cpu = cpu;
        assert_eq!(said(run, 0), "bound by the processor: 98% of each thread's core is in use");
    }
}
