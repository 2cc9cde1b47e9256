//! How a job ran, as names and values: fio's names, so that a person who knows fio knows them.

use iobound_record::{Job, PerDirection, Scenario, SyncMode, Verify, units};

/// What shapes the figures of a scenario.
pub fn parameters(scenario: &Scenario) -> Vec<(&'static str, String)> {
    let job = &scenario.job;
    let mut rows = Vec::new();
    if !scenario.phase_name.is_empty() {
        rows.push(("phase", format!("{}: {}", scenario.phase, scenario.phase_name)));
    }
    rows.push(("rw", job.rw.to_string()));
    if job.rw.is_mixed() {
        rows.push(("rwmixread", format!("{}%", job.rwmixread)));
    }
    rows.push(("bs", block_sizes(job)));
    rows.push(("iodepth", job.iodepth.to_string()));
    rows.push(("numjobs", job.numjobs.to_string()));
    for (name, every) in [("fsync", job.fsync), ("fdatasync", job.fdatasync)] {
        if every > 0 {
            rows.push((
                name,
                format!(
                    "after every {}",
                    if every == 1 { "write".into() } else { format!("{every} writes") }
                ),
            ));
        }
    }
    match job.sync {
        SyncMode::None => {}
        SyncMode::Sync => rows.push(("sync", "O_SYNC".into())),
        SyncMode::Dsync => rows.push(("sync", "O_DSYNC".into())),
    }
    rows.push((
        "direct",
        match (job.direct, job.pre_read) {
            (true, _) => "1 (past the page cache)",
            (false, true) => "0 (through the page cache, filled first)",
            (false, false) => "0 (through the page cache)",
        }
        .into(),
    ));
    if job.end_fsync {
        rows.push(("end_fsync", "one at the end, counted".into()));
    }
    rows.extend(job.size.map(|size| ("size", size.to_string())));
    let limited = job.runtime_ns.map(|ns| ("runtime", units::duration(ns)));
    rows.extend(limited);
    if job.ramp_time_ns > 0 {
        rows.push(("ramp_time", units::duration(job.ramp_time_ns)));
    }
    rows.extend(rate("rate_iops", job.rate_iops, |rate| units::count(rate as f64)));
    rows.extend(rate("rate", job.rate, |rate| units::bandwidth(rate as f64)));
    if job.compress_ratio != 1.0 || job.dedup_ratio != 1.0 {
        rows.push(("data", format!("compress {} : 1, dedup {} : 1", job.compress_ratio, job.dedup_ratio)));
    }
    if job.verify != Verify::None {
        rows.push(("verify", "crc32c".into()));
    }
    let files: Vec<String> = job.filename.iter().map(|path| path.display().to_string()).collect();
    if !files.is_empty() {
        rows.push(("filename", files.join(", ")));
    }
    if let Some(measured) = &scenario.measurement {
        let facts = &measured.engine_facts;
        let reason = if facts.reason.is_empty() { String::new() } else { format!(" ({})", facts.reason) };
        rows.push(("ioengine", format!("{}{reason}", measured.engine)));
        rows.push(("measured for", units::duration(measured.runtime_ns)));
        let cpu = measured.cpu.user_ns as f64 + measured.cpu.system_ns as f64;
        if cpu > 0.0 {
            let cores = cpu / measured.runtime_ns.max(1) as f64;
            rows.push(("processor", format!("{cores:.2} cores in use by this program")));
        }
    }
    rows
}

fn block_sizes(job: &Job) -> String {
    match job.block_sizes() {
        (min, max) if min == max => units::bytes(min),
        (min, max) => format!("{} to {}", units::bytes(min), units::bytes(max)),
    }
}

fn rate(
    name: &'static str,
    rates: PerDirection<Option<u64>>,
    words: impl Fn(u64) -> String,
) -> Option<(&'static str, String)> {
    let both = [("read", rates.read), ("write", rates.write)];
    let set: Vec<String> =
        both.iter().filter_map(|(way, rate)| Some(format!("{way} {}", words((*rate)?)))).collect();
    (!set.is_empty()).then(|| (name, format!("{} a thread", set.join(", "))))
}
