//! This tool as the limit, and jobs that ask for less than they seem to.

use iobound_record::{Calibration, EngineChoice, Finding, Severity, units};

use super::{Case, finding};

/// A result at this share of what the tool itself can do here is the tool's (the figure).
const GENERATOR_SHARE: f64 = 0.80;
/// Processor time per thread and time above which the processor is the bound: a thread that never
/// waits shows a few percent less, which the kernel's sampling and other processes take.
const PROCESSOR_SHARE: f64 = 0.90;
/// Shorter runs say little: one interval of the series.
const SHORT_NS: u64 = 1_000_000_000;

/// Processor time over that of the cores that the job's threads can have, where that is what binds.
pub(in crate::verdict) fn processor_share(
    run: &iobound_record::Run,
    scenario: &iobound_record::Scenario,
    measured: &iobound_record::Measurement,
) -> Option<f64> {
    let used = (measured.cpu.user_ns + measured.cpu.system_ns) as f64;
    let cores = match run.host.cpus {
        0 => scenario.job.numjobs,
        cpus => scenario.job.numjobs.min(cpus),
    };
    let share = used / (measured.runtime_ns.max(1) as f64 * f64::from(cores.max(1)));
    (share >= PROCESSOR_SHARE).then_some(share.min(1.0))
}

pub(super) fn generator_bound(case: &Case<'_>) -> Option<Finding> {
    if case.ran_on(EngineChoice::Null) {
        return None;
    }
    let evidence = case.run.calibration.as_ref().and_then(|calibration| by_calibration(case, calibration));
    let evidence = evidence.or_else(|| by_processor(case))?;
    Some(finding(
        "generator-bound",
        Severity::Warning,
        "This is what the tool and the processor can generate here, not what the device can take.",
        format!("{}: {evidence}", case.name()),
        "raise numjobs while there are idle processors, use larger blocks, or a machine with more processors",
    ))
}

/// Near what was measured without a device.
fn by_calibration(case: &Case<'_>, calibration: &Calibration) -> Option<String> {
    let (job, measured) = (case.job, case.measured);
    let cores = f64::from(job.numjobs.min(calibration.cores.max(1)));
    let limit = (calibration.null_iops_per_core * cores).min(calibration.null_iops_all_cores.max(1.0));
    if measured.iops() >= GENERATOR_SHARE * limit {
        return Some(format!(
            "{} IOPS; with no device at all this tool reaches {} here",
            units::count(measured.iops()),
            units::count(limit)
        ));
    }
    let refills = job.refill_buffers || job.compress_ratio != 1.0 || job.dedup_ratio != 1.0;
    let fill = calibration.fill_bytes_per_s_per_core * cores;
    (refills && measured.write.bandwidth_bytes_per_s >= GENERATOR_SHARE * fill).then(|| {
        format!(
            "{}; data is made at {} here",
            units::bandwidth(measured.write.bandwidth_bytes_per_s),
            units::bandwidth(fill)
        )
    })
}

/// Its threads never wait for the device.
fn by_processor(case: &Case<'_>) -> Option<String> {
    let share = processor_share(case.run, case.scenario, case.measured)?;
    // fio's own processor time is not in the record's.
    if case.ran_on(EngineChoice::Fio) {
        return None;
    }
    let measured = case.measured;
    let each = (measured.cpu.user_ns + measured.cpu.system_ns) as f64
        / (measured.read.ios + measured.write.ios).max(1) as f64;
    Some(format!(
        "its threads used {:.0}% of the processors that they can have ({} an operation, {} IOPS)",
        share * 100.0,
        units::duration(each as u64),
        units::count(measured.iops())
    ))
}

pub(super) fn short_run(case: &Case<'_>) -> Option<Finding> {
    (case.measured.runtime_ns < SHORT_NS && !case.ran_on(EngineChoice::Null)).then(|| {
        finding(
            "short-run",
            Severity::Note,
            "The job ended within a second: its rates say little.",
            format!("{}: {}", case.name(), units::duration(case.measured.runtime_ns)),
            "raise size, or set runtime and time_based",
        )
    })
}

pub(super) fn same_offset(case: &Case<'_>) -> Option<Finding> {
    let job = case.job;
    let shared = job.numjobs > 1 && !job.filename.is_empty() && job.offset_increment.is_none();
    (shared && !job.rw.is_random()).then(|| {
        finding(
            "same-offset",
            Severity::Note,
            "Sequential threads all start at the same offset of the same file: they follow each other through the same blocks.",
            format!("{}: numjobs={} on one file", case.name(), job.numjobs),
            "add offset_increment for a part each, or leave filename out for a file each",
        )
    })
}

pub(super) fn unregistered(case: &Case<'_>) -> Option<Finding> {
    let refused: Vec<&str> = case
        .measured
        .engine_facts
        .refused
        .iter()
        .map(String::as_str)
        .filter(|refused| refused.starts_with("registered_"))
        .collect();
    (!refused.is_empty()).then(|| {
        finding(
            "unregistered-io",
            Severity::Note,
            "The kernel refused to register memory or files: each operation costs more processor time.",
            format!("{}: {}", case.name(), refused.join(", ")),
            "raise 'ulimit -l', or lower iodepth or bs",
        )
    })
}
