//! What may be compared: the same question, asked and answered whole.

use iobound_record::{EngineChoice, Job, Measurement, Run, Scenario, Severity, units};

/// A runtime this many times another is worth a note.
const RUNTIME_FACTOR: f64 = 1.1;

/// The measurement of a scenario, or why it is none to compare with.
pub(super) fn usable<'a>(
    run: &Run,
    scenario: &'a Scenario,
) -> Result<(&'a Scenario, &'a Measurement), String> {
    let Some(measurement) = &scenario.measurement else {
        return Err(scenario.error.clone().unwrap_or_else(|| "it has no measurement".into()));
    };
    if measurement.interrupted {
        return Err("it was interrupted".into());
    }
    if measurement.errors > 0 {
        return Err(format!("{} of its operations failed", measurement.errors));
    }
    let void = run
        .findings
        .iter()
        .find(|f| f.severity == Severity::Error && scenario.verdict.findings.contains(&f.id));
    match void {
        Some(finding) => Err(format!("its numbers do not stand: {} ({})", finding.what, finding.id)),
        None => Ok((scenario, measurement)),
    }
}

/// Why two scenarios ask different questions.
pub(super) fn refusals(a: &Scenario, b: &Scenario) -> Vec<String> {
    let asked = asked(&a.job).into_iter().zip(asked(&b.job));
    let mut refusals: Vec<String> = asked
        .filter(|((_, a), (_, b))| a != b)
        .map(|((option, a), (_, b))| {
            let remedy = if option == "size" { " (give both runs the same --size)" } else { "" };
            format!("{option} is {a} in one and {b} in the other{remedy}")
        })
        .collect();
    if is_null(a) != is_null(b) {
        refusals.push("one ran on the null engine, which has no device".into());
    }
    if a.metric != b.metric {
        refusals.push("they are run for different figures".into());
    }
    refusals
}

fn is_null(scenario: &Scenario) -> bool {
    scenario.measurement.as_ref().is_some_and(|measurement| measurement.engine == EngineChoice::Null)
}

/// What a job asks of storage, in fio's words. Not in it: names and places, which are what is compared; how
/// long it is asked; how a series is recorded.
fn asked(job: &Job) -> Vec<(&'static str, String)> {
    let extent = |extent: Option<iobound_record::Extent>| extent.map_or("all".into(), |e| e.to_string());
    let mut asked = vec![
        ("rw", job.rw.to_string()),
        ("bs", blocks(job)),
        ("iodepth", job.iodepth.to_string()),
        ("numjobs", job.numjobs.to_string()),
        ("size", extent(job.size)),
        ("offset", extent(job.offset)),
        ("direct", u8::from(job.direct).to_string()),
        ("pre_read", u8::from(job.pre_read).to_string()),
        ("sync", format!("{:?}", job.sync).to_lowercase()),
        ("fsync", job.fsync.to_string()),
        ("fdatasync", job.fdatasync.to_string()),
        ("end_fsync", u8::from(job.end_fsync).to_string()),
        ("overwrite", u8::from(job.overwrite).to_string()),
        ("rate", format!("{:?}", (job.rate.read, job.rate.write))),
        ("rate_iops", format!("{:?}", (job.rate_iops.read, job.rate_iops.write))),
        ("thinktime", units::duration(job.thinktime_ns)),
        ("random_distribution", format!("{:?}", job.random_distribution)),
        ("buffer_compress_ratio", job.compress_ratio.to_string()),
        ("dedup_ratio", job.dedup_ratio.to_string()),
        ("zero_buffers", u8::from(job.zero_buffers).to_string()),
        ("verify", format!("{:?}", job.verify).to_lowercase()),
    ];
    if job.rw.is_mixed() {
        asked.push(("rwmixread", job.rwmixread.to_string()));
    }
    if !job.rw.writes() {
        // What is written, and how durably, is nothing to a job that only reads.
        let of_writes =
            ["sync", "fsync", "fdatasync", "end_fsync", "overwrite", "buffer_compress_ratio", "dedup_ratio"];
        asked.retain(|(option, _)| !of_writes.contains(option));
    }
    asked
}

fn blocks(job: &Job) -> String {
    match (&job.bssplit, job.bsrange) {
        (Some(split), _) => {
            let parts = split.iter().map(|share| format!("{}/{}", units::bytes_fio(share.bs), share.percent));
            parts.collect::<Vec<_>>().join(":")
        }
        (None, Some((from, to))) => format!("{}-{}", units::bytes_fio(from), units::bytes_fio(to)),
        (None, None) => units::bytes_fio(job.bs),
    }
}

/// What differs without making it another question.
pub(super) fn notes(a: &Scenario, b: &Scenario) -> Vec<String> {
    let (Some(old), Some(new)) = (&a.measurement, &b.measurement) else { return Vec::new() };
    let mut notes = Vec::new();
    if old.engine != new.engine {
        notes.push(format!("engine {} against {}", old.engine, new.engine));
    }
    let (old_ns, new_ns) = (old.runtime_ns.max(1) as f64, new.runtime_ns.max(1) as f64);
    if old_ns.max(new_ns) > RUNTIME_FACTOR * old_ns.min(new_ns) {
        let words = [old.runtime_ns, new.runtime_ns].map(units::duration);
        notes.push(format!("measured for {} against {}", words[0], words[1]));
    }
    notes
}
