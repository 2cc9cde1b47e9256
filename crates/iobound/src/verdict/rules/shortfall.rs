//! Why a scenario is short of its ceiling: the likely causes, from what the record has, the most telling
//! first. (Seed 000's troubleshooting: array state, throttling in the kernel's log, burst; nr_requests,
//! iowait, dirty pages; read-ahead, alignment.)
//!
//! The order is that of how surely a cause explains a loss: what is broken, what took a share that was
//! counted, what this job lacks, what is set wrong, and last what is only seen by its shape.

use iobound_model::statistics::{Figure, mean};
use iobound_record::{Check, Finding, Metric, Outcome, Severity, units};

use super::{Case, burst, company, depth, finding, generator, members};

/// Share of the time in which the job's own threads waited for a processor: from a quarter on they start
/// operations late often enough to lose what the ceiling's 5% are.
const WAITED: f64 = 0.25;
/// The same of any task of the machine, which tells of the device's own workers too: only where nothing
/// else fits.
const CPU_PRESSURE: f64 = 0.25;
/// Share that the hypervisor gave to others; cloud guests with processors of their own show under 1%.
const STEAL: f64 = 0.05;
/// Pages under write-back beside a direct job: a tenth of a second of a 300 MiB/s volume.
const WRITEBACK_BYTES: f64 = 32.0 * units::MIB as f64;
/// A queue at the device below this share of what is in flight: the rest waits above it.
const QUEUE_SHARE: f64 = 0.50;
/// So few in flight do not fill any queue.
const IN_FLIGHT_MIN: u64 = 8;
/// The device has something to do all the time, give or take the kernel's ticks.
const BUSY: f64 = 0.90;
/// A rate whose seconds differ by less than this (standard deviation over mean) is held, not won: a
/// throttled volume shows under 1% here, devices at their own limit several.
const HELD: f64 = 0.03;
/// Fewer seconds do not show that a rate is held.
const HELD_INTERVALS: usize = 3;
/// What helps where processors are missing.
const LESS_WORK: &str = "let what else runs end (top), or give the machine more processors";
/// Names that are given when nothing fits.
const LOOKED_AT: &str = "failed operations, array state and layout, the kernel's log, the control group's limits, I/O of others, members, burst, depth, processors, write-back, the device's queue, alignment, scheduler, mount options, read-ahead, a rate that is held";

/// A cause that fits.
struct Cause {
    /// Without figures: scenarios with the same cause are told together.
    words: &'static str,
    evidence: String,
    remedy: String,
}

impl Cause {
    fn new(words: &'static str, evidence: impl Into<String>, remedy: impl Into<String>) -> Cause {
        Cause { words, evidence: evidence.into(), remedy: remedy.into() }
    }
}

const CAUSES: [fn(&Case<'_>) -> Option<Cause>; 18] = [
    |case| of_checks(case, &["array-state"], "the array is degraded"),
    |case| of_checks(case, &["array-sync"], "the array is rebuilding or being checked"),
    failing,
    |case| {
        of_checks(
            case,
            &["array-layout", "lvm-layout", "disks", "mount"],
            "it is not the storage of the context",
        )
    },
    others,
    slow_member,
    burst_ended,
    depth_too_low,
    processor,
    |case| of_checks(case, &["io-limit", "cpu-limit"], "the control group limits it"),
    write_back,
    |case| {
        let ids = ["partition-alignment", "filesystem-alignment"];
        of_checks(case, &ids, "blocks of one layer lie across those of another")
    },
    settings,
    waiting_above,
    held,
    stolen,
    |case| of_checks(case, &["kernel-log"], "the kernel's log tells of throttling, time-outs or errors"),
    pressure,
];

pub(super) fn short_of_ceiling(case: &Case<'_>) -> Option<Finding> {
    if !case.is_short() {
        return None;
    }
    // It is run for the time of single operations; that note says all there is.
    if case.scenario.metric == Metric::Latency && depth::has_room(case) {
        return None;
    }
    let ceiling = case.scenario.ceiling.as_ref()?;
    let percent = case.scenario.verdict.percent_of_ceiling?;
    let head = format!("{}: {percent:.0}% of the ceiling ({})", case.name(), ceiling.why);
    let causes: Vec<Cause> = CAUSES.iter().filter_map(|cause| cause(case)).collect();
    let Some(first) = causes.first() else {
        return Some(finding(
            "short-of-ceiling",
            Severity::Warning,
            "Short of its ceiling, cause not found.",
            format!("{head}; looked at: {LOOKED_AT}; {}", seen(case)),
            "run it again, and for longer; compare the context with what the volumes and the instance are set to, and on a cloud look at their own metrics (throttled, burst balance)",
        ));
    };
    let told: Vec<String> = match causes.as_slice() {
        [only] => vec![only.evidence.clone()],
        several => several
            .iter()
            .enumerate()
            .map(|(place, cause)| format!("{}. {}: {}", place + 1, cause.words, cause.evidence))
            .collect(),
    };
    Some(finding(
        "short-of-ceiling",
        Severity::Warning,
        format!("Short of its ceiling, most likely because {}.", first.words),
        format!("{head}; {}", told.join("; ")),
        first.remedy.clone(),
    ))
}

/// What the kernel and the processor showed, in a line.
fn seen(case: &Case<'_>) -> String {
    let mut parts = vec![format!("{} in flight", case.in_flight())];
    if let Some(samples) = case.samples() {
        let top = case.measured.device.iter().flat_map(|device| &device.names);
        let tops = top.filter_map(|name| samples.devices.iter().find(|device| &device.device == name));
        parts.extend(tops.map(|device| {
            format!(
                "{} busy {:.0}% with {:.1} in its queue",
                device.device,
                100.0 * device.utilisation.mean,
                device.queue.mean
            )
        }));
        parts.push(format!(
            "processors {:.0}% user, {:.0}% system, {:.0}% iowait",
            100.0 * samples.cpu_user.mean,
            100.0 * samples.cpu_system.mean,
            100.0 * samples.cpu_iowait.mean
        ));
        let pressure = samples.psi_io_some.map(|io| format!("I/O pressure {:.0}%", 100.0 * io.mean));
        parts.extend(pressure);
        parts.push(format!("dirty pages {}", units::bytes(samples.dirty_bytes.mean as u64)));
    }
    format!("seen: {}", parts.join(", "))
}

/// A check that did not pass, of what is under this job.
fn of_checks(case: &Case<'_>, ids: &[&str], words: &'static str) -> Option<Cause> {
    let check = bad_check(case, ids)?;
    Some(Cause::new(
        words,
        format!("{} {}, expected {}", check.subject, check.value, check.expected),
        check.mend.clone(),
    ))
}

fn bad_check<'a>(case: &Case<'a>, ids: &[&str]) -> Option<&'a Check> {
    let devices_of = |measured: &'a iobound_record::Measurement| {
        let device = measured.device.iter();
        device.flat_map(|device| device.names.iter().chain(device.members.iter().map(|(name, _)| name)))
    };
    let ours = |subject: &str| devices_of(case.measured).any(|name| name == subject);
    let others = |subject: &str| {
        case.run
            .scenarios
            .iter()
            .filter_map(|s| s.measurement.as_ref())
            .any(|m| devices_of(m).any(|n| n == subject))
    };
    // A device that only other scenarios use is no cause of this one; a host or mount point may be.
    let concerns = |check: &&Check| ours(&check.subject) || !others(&check.subject);
    let bad = |check: &&Check| matches!(check.outcome, Outcome::Warn | Outcome::Fail);
    let mut found: Vec<&Check> = case
        .run
        .checks
        .iter()
        .filter(|check| ids.contains(&check.id.as_str()))
        .filter(bad)
        .filter(concerns)
        .collect();
    found.sort_by_key(|check| std::cmp::Reverse(check.outcome));
    found.first().copied()
}

fn failing(case: &Case<'_>) -> Option<Cause> {
    (case.measured.errors > 0).then(|| {
        let kinds = &case.measured.error_kinds;
        let words = kinds.iter().map(|(words, count)| format!("{count} x {words}")).collect::<Vec<_>>();
        let remedy = "look at the kernel's log (dmesg --ctime) and the device's health";
        Cause::new("operations failed", words.join(", "), remedy)
    })
}

fn others(case: &Case<'_>) -> Option<Cause> {
    if let Some(found) = company::other_io(case) {
        return Some(Cause::new("others used the device", found.evidence, found.remedy));
    }
    let check = bad_check(case, &["other-io"])?;
    // The second before the run says less than the run: only where the run could not be compared.
    company::both_sides(case).is_none().then(|| {
        let evidence = format!("{} before the run: {}", check.subject, check.value);
        Cause::new("others used the device", evidence, check.mend.clone())
    })
}

fn slow_member(case: &Case<'_>) -> Option<Cause> {
    let found = members::slow_member(case)?;
    Some(Cause::new("one member is slower than the others", found.evidence, found.remedy))
}

fn burst_ended(case: &Case<'_>) -> Option<Cause> {
    let fall = burst::fall(&case.measured.series)?;
    let evidence = format!(
        "{} IOPS fell to {} after {}",
        units::count(fall.from),
        units::count(fall.to),
        units::duration(fall.after_ns)
    );
    let remedy = "look at the burst balance of the volume and of the instance; count on the lower rate";
    Some(Cause::new("a burst ended in mid-run", evidence, remedy))
}

fn depth_too_low(case: &Case<'_>) -> Option<Cause> {
    let found = depth::too_low(case)?;
    Some(Cause::new("too few operations are in flight", found.evidence, found.remedy))
}

fn processor(case: &Case<'_>) -> Option<Cause> {
    if let Some(found) = generator::generator_bound(case) {
        return Some(Cause::new("the generator is the limit", found.evidence, found.remedy));
    }
    let own = generator::Processor::of(case.job, case.measured);
    (own.waited >= WAITED).then(|| Cause::new("processors were missing", own.says(), LESS_WORK))
}

/// What a hypervisor takes comes and goes: a rate that stands still beside it has another cause.
fn stolen(case: &Case<'_>) -> Option<Cause> {
    let steal = case.samples()?.cpu_steal.mean;
    (steal >= STEAL).then(|| {
        let evidence = format!("the hypervisor gave {:.0}% of the time to others", 100.0 * steal);
        Cause::new("processors were missing", evidence, LESS_WORK)
    })
}

/// Somebody on this machine waited for a processor: maybe the kernel's workers for this device.
fn pressure(case: &Case<'_>) -> Option<Cause> {
    let samples = case.samples()?;
    let pressure = samples.psi_cpu_some.map_or(0.0, |spread| spread.mean);
    (pressure >= CPU_PRESSURE).then(|| {
        let evidence = format!(
            "some task waited for one {:.0}% of the time (in use: {:.0}%), maybe the kernel's for this device",
            100.0 * pressure,
            100.0 * (samples.cpu_user.mean + samples.cpu_system.mean)
        );
        Cause::new("processors were missing", evidence, LESS_WORK)
    })
}

fn write_back(case: &Case<'_>) -> Option<Cause> {
    let samples = case.samples()?;
    let written = samples.writeback_bytes.mean;
    (case.job.direct && written >= WRITEBACK_BYTES).then(|| {
        let evidence = format!(
            "{} being written back on average, {} dirty at most",
            units::bytes(written as u64),
            units::bytes(samples.dirty_bytes.max as u64)
        );
        Cause::new(
            "dirty pages were written back beside it",
            evidence,
            "sync before the run, and hold the page cache down (vm.dirty_bytes, vm.dirty_background_bytes)",
        )
    })
}

fn settings(case: &Case<'_>) -> Option<Cause> {
    let words = "a setting is not as it should be";
    let always = ["scheduler", "mount-sync", "mount-journal", "mount-writable", "mount-options", "governor"];
    if let Some(cause) = of_checks(case, &always, words) {
        return Some(cause);
    }
    // Direct I/O does not read ahead, and random I/O should not.
    let reads_ahead = !case.job.direct && case.job.rw.reads() && !case.job.rw.is_random();
    reads_ahead.then(|| of_checks(case, &["read-ahead"], words)).flatten()
}

/// In flight for the job, and not in the device's queue.
fn waiting_above(case: &Case<'_>) -> Option<Cause> {
    let in_flight = case.in_flight();
    let samples = case.samples()?;
    let names = &case.measured.device.as_ref()?.names;
    let device = samples.devices.iter().find(|device| names.contains(&device.device))?;
    let few = device.queue.mean < QUEUE_SHARE * in_flight as f64;
    let busy = device.utilisation.mean >= BUSY;
    (few && busy && in_flight >= IN_FLIGHT_MIN && !case.syncs()).then(|| {
        let requests = case.run.checks.iter().find(|check| check.id == "nr-requests" && check.subject == device.device);
        let requests = requests.map_or(String::new(), |check| format!(" (nr_requests {})", check.value));
        Cause::new(
            "operations wait above the device's queue",
            format!(
                "{in_flight} in flight, {:.1} of them at {}{requests}",
                device.queue.mean, device.device
            ),
            "raise nr_requests of the device, and look for a control group's limit or a lock of the file system (writes that grow a file take turns)",
        )
    })
}

/// A rate that does not move, on a device that always has something to do.
fn held(case: &Case<'_>) -> Option<Cause> {
    let rates = Figure::Iops.series(&case.measured.series);
    let rates = rates.get(..rates.len().saturating_sub(1)).filter(|rates| rates.len() >= HELD_INTERVALS)?;
    let average = mean(rates);
    let deviation =
        (rates.iter().map(|rate| (rate - average).powi(2)).sum::<f64>() / rates.len() as f64).sqrt();
    (average > 0.0 && deviation <= HELD * average).then(|| {
        Cause::new(
            "a limit lower than the context's holds it",
            format!(
                "the rate stands still at {} IOPS, {} (seconds differ by {:.1}%)",
                units::count(case.measured.iops()),
                units::bandwidth(case.measured.bandwidth_bytes_per_s()),
                100.0 * deviation / average
            ),
            "compare the context with what the volumes and the instance are provisioned for, and look for a limit of the hypervisor or the control group",
        )
    })
}
