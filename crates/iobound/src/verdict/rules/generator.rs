//! This tool as the limit, and jobs that ask for less than they seem to.

use iobound_record::{Calibration, EngineChoice, Finding, Job, Measurement, Severity, units};

use super::{Case, finding};

/// A result at this share of what the tool itself can do here is the tool's (the figure).
const GENERATOR_SHARE: f64 = 0.80;
/// Share of a thread's time on a processor, or ready and without one, above which the processor is the
/// bound: a thread that never waits for a device shows a few percent less, for start and end.
const PROCESSOR_SHARE: f64 = 0.90;
/// Shorter runs say little: one interval of the series.
const SHORT_NS: u64 = 1_000_000_000;

/// What a job's threads did with their time, in shares of it.
#[derive(Clone, Copy, Debug)]
pub(in crate::verdict) struct Processor {
    /// On a processor.
    pub(in crate::verdict) used: f64,
    /// Ready, and without one.
    pub(in crate::verdict) waited: f64,
}

impl Processor {
    pub(super) fn of(job: &Job, measured: &Measurement) -> Processor {
        let threads = f64::from(job.numjobs.max(1));
        let runtime = measured.runtime_ns.max(1) as f64;
        // Their waits are known from the ramp on.
        let with_ramp = runtime + job.ramp_time_ns as f64;
        Processor {
            used: (measured.cpu.user_ns + measured.cpu.system_ns) as f64 / (runtime * threads),
            waited: measured.cpu.wait_ns as f64 / (with_ramp * threads),
        }
    }

    /// In words: what each thread did.
    pub(in crate::verdict) fn says(&self) -> String {
        let used = (self.used * 100.0).min(100.0);
        if self.waited < 1.0 - PROCESSOR_SHARE {
            return format!("{used:.0}% of each thread's core is in use");
        }
        format!(
            "each thread ran for {used:.0}% of the time and waited for a processor for {:.0}%",
            self.waited * 100.0
        )
    }
}

/// The processor, where that is what binds: no thread ever waits for the device.
pub(in crate::verdict) fn processor_binds(job: &Job, measured: &Measurement) -> Option<Processor> {
    let processor = Processor::of(job, measured);
    (processor.used + processor.waited >= PROCESSOR_SHARE).then_some(processor)
}

pub(super) fn generator_bound(case: &Case<'_>) -> Option<Finding> {
    // Of what did nothing nothing can be said.
    if case.ran_on(EngineChoice::Null) || case.measured.iops() == 0.0 {
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
    // 0: a machine so busy that it could not be measured.
    if limit > 0.0 && measured.iops() >= GENERATOR_SHARE * limit {
        return Some(format!(
            "{} IOPS; with no device at all this tool reaches {} here",
            units::count(measured.iops()),
            units::count(limit)
        ));
    }
    let refills = job.refill_buffers || job.compress_ratio != 1.0 || job.dedup_ratio != 1.0;
    let fill = calibration.fill_bytes_per_s_per_core * cores;
    (refills && fill > 0.0 && measured.write.bandwidth_bytes_per_s >= GENERATOR_SHARE * fill).then(|| {
        format!(
            "{}; data is made at {} here",
            units::bandwidth(measured.write.bandwidth_bytes_per_s),
            units::bandwidth(fill)
        )
    })
}

/// Its threads never wait for the device.
fn by_processor(case: &Case<'_>) -> Option<String> {
    let processor = processor_binds(case.job, case.measured)?;
    // fio's own processor time is not in the record's.
    if case.ran_on(EngineChoice::Fio) {
        return None;
    }
    let measured = case.measured;
    let each = (measured.cpu.user_ns + measured.cpu.system_ns) as f64
        / (measured.read.ios + measured.write.ios).max(1) as f64;
    Some(format!(
        "{} ({} an operation, {} IOPS)",
        processor.says(),
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
    // Writers of a stream take its pieces in turn.
    let alone = case.scenario.stream.is_some();
    let shared = job.numjobs > 1 && !job.filename.is_empty() && job.offset_increment.is_none() && !alone;
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
