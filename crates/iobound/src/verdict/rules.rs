//! What a run shows by itself: each rule has a name, a threshold with its reason, evidence and a
//! remedy.

use iobound_record::{
    EngineChoice, Finding, Measurement, Run, Scenario, Severity, SyncMode, TargetFacts, Verify, units,
};

/// A read job whose range is this share or more without data is not a measurement of the device.
/// Below it, the share of too-fast answers moves a rate by less than repeats do.
const UNBACKED_MAX: f64 = 0.01;
/// A result at this share of what the tool itself can do here is the tool's (the figure).
pub(super) const GENERATOR_SHARE: f64 = 0.80;
/// Below this share of the program's bytes the device did not do the work: metadata and alignment
/// only ever add.
const DEVICE_SHARE_MIN: f64 = 0.90;
/// Above this share, and by more than [`OTHER_IO_BYTES`], somebody else used the device.
const OTHER_IO_SHARE: f64 = 1.10;
/// File system journals and this program's own record come to a few MiB in a run.
const OTHER_IO_BYTES: u64 = 16 << 20;
/// Shorter runs say little: one interval of the series.
const SHORT_NS: u64 = 1_000_000_000;

/// Everything noticed, worst first, each once a scenario.
pub(super) fn findings(run: &Run) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    findings.extend(run.checks.iter().filter_map(super::checks::finding_of));
    findings.extend(run.host.targets.iter().filter_map(memory_file_system));
    for scenario in &run.scenarios {
        findings.extend(unbacked(scenario));
        let Some(measurement) = &scenario.measurement else { continue };
        findings.extend(errors(scenario, measurement));
        findings.extend(verification(scenario, measurement));
        findings.extend(page_cache(scenario, measurement));
        findings.extend(device_bytes(scenario, measurement));
        findings.extend(generator(run, scenario, measurement));
        findings.extend(volatile_cache(run, scenario, measurement));
        findings.extend(short(scenario, measurement));
        findings.extend(same_offset(scenario));
        findings.extend(refused_features(scenario, measurement));
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    merge_alike(findings)
}

/// Ids of the findings that touch one scenario.
pub(super) fn ids_of(run: &Run, scenario: &Scenario) -> Vec<String> {
    let mut alone = run.clone();
    alone.scenarios = vec![scenario.clone()];
    findings(&alone).into_iter().map(|finding| finding.id).collect()
}

fn finding(
    id: &str,
    severity: Severity,
    what: impl Into<String>,
    evidence: impl Into<String>,
    remedy: &str,
) -> Finding {
    Finding { id: id.into(), severity, what: what.into(), evidence: evidence.into(), remedy: remedy.into() }
}

/// One finding of a kind, with the evidence of all: fifteen jobs on one sparse file are one fact.
fn merge_alike(findings: Vec<Finding>) -> Vec<Finding> {
    /// More lines of evidence than this say nothing more.
    const EVIDENCE_MAX: usize = 4;
    let mut merged: Vec<(Finding, usize)> = Vec::new();
    for one in findings {
        match merged.iter_mut().find(|(known, _)| known.id == one.id && known.severity == one.severity) {
            None => merged.push((one, 1)),
            Some((known, count)) => {
                *count += 1;
                if *count <= EVIDENCE_MAX {
                    known.evidence = format!("{}; {}", known.evidence, one.evidence);
                }
            }
        }
    }
    let more = |(mut one, count): (Finding, usize)| {
        if count > EVIDENCE_MAX {
            one.evidence = format!("{}; and {} more", one.evidence, count - EVIDENCE_MAX);
        }
        one
    };
    merged.into_iter().map(more).collect()
}

fn memory_file_system(target: &TargetFacts) -> Option<Finding> {
    matches!(target.filesystem.as_str(), "tmpfs" | "ramfs" | "devtmpfs").then(|| {
        finding(
            "memory-file-system",
            Severity::Error,
            "The target lies in memory: this measures no storage.",
            format!("{} is on {}", target.path, target.filesystem),
            "name a directory on the storage to be measured: --data DIR",
        )
    })
}

fn unbacked(scenario: &Scenario) -> Option<Finding> {
    let backing = scenario.backing?;
    let unbacked = backing.hole_bytes + backing.unwritten_bytes;
    if backing.range_bytes == 0
        || (unbacked as f64) < UNBACKED_MAX * backing.range_bytes as f64
        || unbacked == 0
    {
        return None;
    }
    let evidence = format!(
        "{}: of {} there are {} never allocated and {} allocated but never written",
        scenario.name,
        units::bytes(backing.range_bytes),
        units::bytes(backing.hole_bytes),
        units::bytes(backing.unwritten_bytes)
    );
    Some(if scenario.job.rw.reads() {
        finding(
            "sparse-file",
            Severity::Error,
            "Reads were answered by the file system, not by the device: the file has no data there.",
            evidence,
            "write the file first (a file that iobound makes is laid out with data), or name another",
        )
    } else {
        finding(
            "fresh-file",
            Severity::Note,
            "Writes went to space never written before: each first write also updates the file system's map, which a database that recycles its files does not pay.",
            evidence,
            "add overwrite=1 to lay the file out first",
        )
    })
}

fn errors(scenario: &Scenario, measurement: &Measurement) -> Option<Finding> {
    (measurement.errors > 0).then(|| {
        let kinds: Vec<String> =
            measurement.error_kinds.iter().map(|(words, count)| format!("{count} x {words}")).collect();
        finding(
            "io-errors",
            Severity::Error,
            "Operations failed: rates are those of the operations that did not.",
            format!("{}: {}", scenario.name, kinds.join(", ")),
            "mend the cause and run again",
        )
    })
}

fn verification(scenario: &Scenario, measurement: &Measurement) -> Option<Finding> {
    let outcome = measurement.verify.as_ref();
    let outcome = outcome.filter(|_| scenario.job.verify != Verify::None || scenario.stream.is_some())?;
    (outcome.bad() > 0).then(|| {
        finding(
            "verify-failed",
            Severity::Error,
            "Data read back is not what was written: do not trust this storage.",
            format!(
                "{}: of {} blocks {} torn, {} lost, {} misplaced, {} corrupt; {}",
                scenario.name,
                outcome.checked,
                outcome.torn,
                outcome.lost,
                outcome.misplaced,
                outcome.corrupt,
                outcome.examples.join("; ")
            ),
            "look at the kernel log (dmesg) and the device's health; check that nothing else writes there",
        )
    })
}

fn page_cache(scenario: &Scenario, measurement: &Measurement) -> Option<Finding> {
    // A pipe has no page cache in front of it.
    let pipe = scenario.stream.as_ref().is_some_and(|stream| {
        stream.outputs.iter().all(|output| !["file", "device"].contains(&output.kind.as_str()))
    });
    (!scenario.job.direct && measurement.engine != EngineChoice::Null && !pipe).then(|| {
        let device = measurement.device.as_ref().map_or("no device counters".into(), |device| {
            format!(
                "the device read {} and wrote {}",
                units::bytes(device.total.read_bytes),
                units::bytes(device.total.write_bytes)
            )
        });
        finding(
            "page-cache",
            Severity::Warning,
            "The job was buffered: this measures memory and the page cache as much as the device.",
            format!(
                "{}: direct=0; the job read {} and wrote {}, {device}",
                scenario.name,
                units::bytes(measurement.read.bytes),
                units::bytes(measurement.write.bytes)
            ),
            if scenario.stream.is_some() { "leave --no-direct out" } else { "set direct=1" },
        )
    })
}

/// The program's bytes against the kernel's counters, while the job ran alone.
fn device_bytes(scenario: &Scenario, measurement: &Measurement) -> Vec<Finding> {
    // fio lays its files out within the time that its counters cover.
    let comparable = scenario.job.direct && measurement.engine != EngineChoice::Fio;
    let Some(device) = measurement.device.as_ref().filter(|_| comparable) else { return Vec::new() };
    // Operations recorded began after the ramp; those in flight at either end are within this slack.
    let slack = OTHER_IO_BYTES;
    let mut findings = Vec::new();
    let syncs = measurement.sync.ios > 0 || scenario.job.sync != SyncMode::None;
    for (what, done, moved) in [
        ("read", measurement.read.bytes, device.total.read_bytes),
        ("written", measurement.write.bytes, device.total.write_bytes),
    ] {
        let evidence = format!(
            "{}: the job {what} {}, {} {what} {}",
            scenario.name,
            units::bytes(done),
            device.names.join("+"),
            units::bytes(moved)
        )
        .replace("job written", "job wrote")
        .replace(" written ", " wrote ");
        if (moved as f64) < DEVICE_SHARE_MIN * done as f64 && done - moved > slack {
            findings.push(finding(
                "cache-answered",
                Severity::Error,
                "The device moved less than the job: something in between answered (a cache, a hole, compression).",
                evidence,
                "use a working set larger than the caches, incompressible data, and direct=1",
            ));
        } else if !syncs && (moved as f64) > OTHER_IO_SHARE * done as f64 && moved - done > slack {
            findings.push(finding(
                "other-io",
                Severity::Warning,
                "The device moved more than the job: somebody else used it meanwhile, or the layers below add I/O.",
                evidence,
                "stop other work on the device (iostat and iotop show it) and run again",
            ));
        }
    }
    findings
}

fn generator(run: &Run, scenario: &Scenario, measurement: &Measurement) -> Option<Finding> {
    let calibration = run.calibration.as_ref().filter(|_| measurement.engine != EngineChoice::Null)?;
    let cores = f64::from(scenario.job.numjobs.min(calibration.cores.max(1)));
    let limit = (calibration.null_iops_per_core * cores).min(calibration.null_iops_all_cores.max(1.0));
    let by_operations = measurement.iops() >= GENERATOR_SHARE * limit;
    let refills =
        scenario.job.refill_buffers || scenario.job.compress_ratio != 1.0 || scenario.job.dedup_ratio != 1.0;
    let fill = calibration.fill_bytes_per_s_per_core * cores;
    let by_fill = refills && measurement.write.bandwidth_bytes_per_s >= GENERATOR_SHARE * fill;
    (by_operations || by_fill).then(|| {
        let evidence = if by_operations {
            format!(
                "{}: {} IOPS; with no device at all this tool reaches {} here",
                scenario.name,
                units::count(measurement.iops()),
                units::count(limit)
            )
        } else {
            format!(
                "{}: {}; data is made at {} here",
                scenario.name,
                units::bandwidth(measurement.write.bandwidth_bytes_per_s),
                units::bandwidth(fill)
            )
        };
        finding(
            "generator-bound",
            Severity::Warning,
            "This is what the tool can generate here, not what the device can take.",
            evidence,
            "raise numjobs, or use a machine with more processors",
        )
    })
}

/// Writes that nothing made durable, to a device that may hold them in memory.
fn volatile_cache(run: &Run, scenario: &Scenario, measurement: &Measurement) -> Option<Finding> {
    let job = &scenario.job;
    let synced = job.fsync > 0 || job.fdatasync > 0 || job.end_fsync || job.sync != SyncMode::None;
    let names = &measurement.device.as_ref()?.names;
    let target = run.host.targets.iter().find(|target| {
        target.write_cache == "write back" && names.iter().any(|name| target.device.ends_with(name.as_str()))
    })?;
    (measurement.write.ios > 0 && job.direct && !synced).then(|| {
        finding(
            "volatile-cache",
            Severity::Note,
            "Writes without a sync may have ended in the device's volatile cache: rates beyond it are lower.",
            format!("{}: {} says that its write cache is write back", scenario.name, target.device),
            "compare with end_fsync=1 and a longer runtime; what a database can rely on is the sync-write row",
        )
    })
}

fn short(scenario: &Scenario, measurement: &Measurement) -> Option<Finding> {
    (measurement.runtime_ns < SHORT_NS && measurement.engine != EngineChoice::Null).then(|| {
        finding(
            "short-run",
            Severity::Note,
            "The job ended within a second: its rates say little.",
            format!("{}: {}", scenario.name, units::duration(measurement.runtime_ns)),
            "raise size, or set runtime and time_based",
        )
    })
}

fn same_offset(scenario: &Scenario) -> Option<Finding> {
    let job = &scenario.job;
    // Writers of a stream take its pieces in turn.
    let shared = job.numjobs > 1 && !job.filename.is_empty() && job.offset_increment.is_none();
    let shared = shared && scenario.stream.is_none();
    (shared && !job.rw.is_random()).then(|| {
        finding(
            "same-offset",
            Severity::Note,
            "Sequential threads all start at the same offset of the same file: they follow each other through the same blocks.",
            format!("{}: numjobs={} on one file", scenario.name, job.numjobs),
            "add offset_increment for a part each, or leave filename out for a file each",
        )
    })
}

fn refused_features(scenario: &Scenario, measurement: &Measurement) -> Option<Finding> {
    let refused: Vec<&str> = measurement
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
            format!("{}: {}", scenario.name, refused.join(", ")),
            "raise 'ulimit -l', or lower iodepth or bs",
        )
    })
}

#[cfg(test)]
pub(in crate::verdict) mod tests {
    use super::*;
    use iobound_record::{
        Backing, Calibration, DeviceBytes, DeviceTraffic, DirectionStats, HostFacts, Job, Rw, SCHEMA_VERSION,
    };

    pub(in crate::verdict) fn run_of(scenarios: Vec<Scenario>) -> Run {
        Run {
            schema: SCHEMA_VERSION,
            iobound: "0".into(),
            id: String::new(),
            started: String::new(),
            suite: "quick".into(),
            command: vec![],
            host: HostFacts::default(),
            context: None,
            checks: Vec::new(),
            calibration: Some(Calibration {
                null_iops_per_core: 20e6,
                null_iops_all_cores: 40e6,
                fill_bytes_per_s_per_core: 20e9,
                cores: 2,
                ..Calibration::default()
            }),
            scenarios,
            samples: None,
            findings: vec![],
            conclusions: vec![],
            interrupted: false,
        }
    }

    fn clean() -> Scenario {
        let read = DirectionStats {
            ios: 15_000,
            bytes: 15_000 * 4096,
            iops: 3000.0,
            bandwidth_bytes_per_s: 3000.0 * 4096.0,
            ..DirectionStats::default()
        };
        let total = DeviceBytes { read_bytes: 15_000 * 4096, ..DeviceBytes::default() };
        let device = DeviceTraffic { total, names: vec!["loop0".into()], members: vec![] };
        Scenario {
            name: "rand-read".into(),
            job: Job { rw: Rw::RandRead, iodepth: 64, ..Job::default() },
            backing: Some(Backing { range_bytes: 1 << 30, ..Backing::default() }),
            measurement: Some(Measurement {
                engine: EngineChoice::IoUring,
                runtime_ns: 5_000_000_000,
                read,
                device: Some(device),
                ..Measurement::default()
            }),
            ..Scenario::default()
        }
    }

    fn found(spoil: impl Fn(&mut Scenario, &mut Measurement)) -> Vec<String> {
        let mut scenario = clean();
        let mut measurement = scenario.measurement.take().unwrap();
        spoil(&mut scenario, &mut measurement);
        scenario.measurement = Some(measurement);
        findings(&run_of(vec![scenario])).into_iter().map(|finding| finding.id).collect()
    }

    #[test]
    fn a_clean_run_raises_nothing() {
        assert_eq!(found(|_, _| {}), Vec::<String>::new());
    }

    #[test]
    fn each_trap_is_found_by_name() {
        assert_eq!(found(|s, _| s.backing.as_mut().unwrap().hole_bytes = 1 << 29), ["sparse-file"]);
        assert_eq!(found(|s, _| s.backing.as_mut().unwrap().unwritten_bytes = 1 << 29), ["sparse-file"]);
        assert_eq!(found(|_, m| m.errors = 3), ["io-errors"]);
        assert_eq!(found(|s, _| s.job.direct = false), ["page-cache"]);
        assert_eq!(found(|_, m| m.device.as_mut().unwrap().total.read_bytes = 0), ["cache-answered"]);
        assert_eq!(found(|_, m| m.device.as_mut().unwrap().total.read_bytes *= 2), ["other-io"]);
        assert_eq!(found(|_, m| m.device.as_mut().unwrap().total.write_bytes = 1 << 30), ["other-io"]);
        assert_eq!(found(|_, m| m.read.iops = 17e6), ["generator-bound"]);
        assert_eq!(found(|_, m| m.runtime_ns = 1000), ["short-run"]);
        assert_eq!(
            found(|_, m| m.engine_facts.refused = vec!["registered_buffers: x".into()]),
            ["unregistered-io"]
        );
        let mut cached = run_of(vec![clean()]);
        let target = TargetFacts {
            device: "loop0".into(),
            write_cache: "write back".into(),
            ..TargetFacts::default()
        };
        cached.host.targets.push(target);
        assert_eq!(findings(&cached).len(), 0, "reads are not held in a write cache");
        cached.scenarios[0].measurement.as_mut().unwrap().write.ios = 1;
        assert_eq!(findings(&cached)[0].id, "volatile-cache");
        cached.scenarios[0].job.fdatasync = 1;
        assert_eq!(findings(&cached).len(), 0, "synced");
        let same = found(|s, _| {
            s.job = Job { rw: Rw::Read, numjobs: 4, filename: vec!["f".into()], ..Job::default() };
        });
        assert_eq!(same, ["same-offset"]);
    }

    #[test]
    fn alike_findings_become_one() {
        let mut run = run_of(vec![clean(), clean(), clean(), clean(), clean(), clean()]);
        run.scenarios.iter_mut().for_each(|s| s.job.direct = false);
        let found = findings(&run);
        assert_eq!(found.len(), 1);
        assert!(found[0].evidence.ends_with("and 2 more"), "{}", found[0].evidence);
    }
}
