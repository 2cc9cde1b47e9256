//! What a run shows by itself: each rule has a name, a threshold with its reason, evidence and a
//! remedy. `docs/TRAPS.md` has them in a table.
//!
//! A rule is a pure function of the record. It looks at one scenario ([`Case`]), and may look at the
//! others for comparison.

mod backing;
mod burst;
mod cache;
mod clock;
mod company;
mod depth;
mod errors;
mod generator;
mod latency;
mod members;
mod shortfall;
#[cfg(test)]
pub(in crate::verdict) mod tests;

use iobound_record::{
    DeviceSummary, EngineChoice, Finding, Job, Layer, Measurement, Run, SampleSummary, Scenario, Severity,
    Status, SyncMode, TargetFacts,
};

pub(super) use generator::processor_binds;

/// One scenario that measured something.
#[derive(Clone, Copy)]
struct Case<'a> {
    run: &'a Run,
    scenario: &'a Scenario,
    job: &'a Job,
    measured: &'a Measurement,
}

/// A finding, and the scenario that it is about; None is about all.
#[derive(Clone, Debug)]
struct Noticed {
    scenario: Option<usize>,
    finding: Finding,
}

/// A rule about one scenario.
type Rule = fn(&Case<'_>) -> Option<Finding>;

/// The rules, theme by theme: what does not stand first.
const RULES: [Rule; 27] = [
    errors::failed_operations,
    |case| super::consistency::broken(case.scenario, case.measured),
    |case| super::targets::missed(case.scenario),
    errors::verification,
    backing::compressing,
    |case| super::page_cache::finding_of(case.run, case.scenario, case.measured),
    cache::answered,
    cache::sync_not_flushed,
    cache::volatile,
    company::other_io,
    company::device_gone,
    members::slow_member,
    members::uneven_members,
    generator::generator_bound,
    generator::same_offset,
    generator::unregistered,
    generator::short_run,
    depth::too_low,
    depth::ignored,
    burst::burst_ended,
    burst::instance_burst,
    burst::above_ceiling,
    burst::instance_cap,
    latency::closed_loop,
    clock::stepped,
    clock::samples_late,
    shortfall::short_of_ceiling,
];

/// Everything noticed, worst first, alike ones put together.
pub(super) fn findings(run: &Run) -> Vec<Finding> {
    let mut findings: Vec<Finding> = noticed(run).into_iter().map(|noticed| noticed.finding).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    merge_alike(findings)
}

/// Ids of the findings that touch one scenario of the run, worst first.
pub(super) fn ids_of(run: &Run, scenario: &Scenario) -> Vec<String> {
    let at = run.scenarios.iter().position(|other| std::ptr::eq(other, scenario));
    let mut own: Vec<Finding> = noticed(run)
        .into_iter()
        .filter(|noticed| noticed.scenario.is_none() || noticed.scenario == at)
        .map(|noticed| noticed.finding)
        .collect();
    own.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let mut ids: Vec<String> = Vec::new();
    for finding in own {
        if !ids.contains(&finding.id) {
            ids.push(finding.id);
        }
    }
    ids
}

fn noticed(run: &Run) -> Vec<Noticed> {
    let of_all = |finding| Noticed { scenario: None, finding };
    let mut all: Vec<Noticed> =
        run.checks.iter().filter_map(|check| super::checks::finding_of(run, check)).map(of_all).collect();
    all.extend(run.host.targets.iter().filter_map(backing::memory_file_system).map(of_all));
    for (at, scenario) in run.scenarios.iter().enumerate() {
        let of_this = |finding| Noticed { scenario: Some(at), finding };
        all.extend(backing::unbacked(scenario).map(of_this));
        let Some(measured) = &scenario.measurement else { continue };
        let case = Case { run, scenario, job: &scenario.job, measured };
        all.extend(RULES.iter().filter_map(|rule| rule(&case)).map(of_this));
    }
    all
}

fn finding(
    id: &str,
    severity: Severity,
    what: impl Into<String>,
    evidence: impl Into<String>,
    remedy: impl Into<String>,
) -> Finding {
    Finding { id: id.into(), severity, what: what.into(), evidence: evidence.into(), remedy: remedy.into() }
}

/// One finding of a kind, with the evidence of all: fifteen jobs on one sparse file are one fact. The same
/// kind with another cause is another fact.
fn merge_alike(findings: Vec<Finding>) -> Vec<Finding> {
    /// More lines of evidence than this say nothing more.
    const EVIDENCE_MAX: usize = 4;
    let mut merged: Vec<(Finding, usize)> = Vec::new();
    for one in findings {
        let alike =
            |known: &Finding| known.id == one.id && known.severity == one.severity && known.what == one.what;
        match merged.iter_mut().find(|(known, _)| alike(known)) {
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

impl<'a> Case<'a> {
    fn name(&self) -> &'a str {
        &self.scenario.name
    }

    /// Operations in flight together.
    fn in_flight(&self) -> u64 {
        in_flight(self.job, self.measured)
    }

    fn is_short(&self) -> bool {
        self.scenario.ceiling.is_some() && self.scenario.verdict.status == Status::Short
    }

    /// Writes are made durable one by one or in groups, by a sync or by how the file is open.
    fn syncs(&self) -> bool {
        self.measured.sync.ios > 0 || self.job.sync != SyncMode::None
    }

    fn ran_on(&self, engine: EngineChoice) -> bool {
        self.measured.engine == engine
    }

    fn samples(&self) -> Option<&'a SampleSummary> {
        self.scenario.samples.as_ref()
    }

    /// What is under the job, by the device that its bytes went to.
    fn target(&self) -> Option<&'a TargetFacts> {
        let names = &self.measured.device.as_ref()?.names;
        let of =
            |target: &&TargetFacts| target.device.split(',').any(|device| names.iter().any(|n| n == device));
        self.run.host.targets.iter().find(of)
    }

    /// The devices of one array, group by group: those with the same device right above them.
    fn member_groups(&self) -> Vec<Vec<&'a DeviceSummary>> {
        let Some(samples) = self.samples() else { return Vec::new() };
        let mut groups: Vec<Vec<&DeviceSummary>> = Vec::new();
        for device in samples.devices.iter().filter(|device| device.layer != Layer::Path) {
            let Some(parent) = device.parents.first() else { continue };
            match groups.iter_mut().find(|group| group[0].parents.first() == Some(parent)) {
                Some(group) => group.push(device),
                None => groups.push(vec![device]),
            }
        }
        groups.retain(|group| group.len() > 1);
        groups
    }

    /// Scenarios that ran at the same time.
    fn beside(&self) -> Vec<(&'a Scenario, &'a Measurement)> {
        let with = |other: &&Scenario| self.scenario.beside.contains(&other.id);
        let others = self.run.scenarios.iter().filter(with);
        others.filter_map(|other| Some((other, other.measurement.as_ref()?))).collect()
    }
}

/// Operations in flight together.
pub(super) fn in_flight(job: &Job, measured: &Measurement) -> u64 {
    let one = job.ioengine == EngineChoice::Psync || measured.engine == EngineChoice::Psync;
    u64::from(if one { 1 } else { job.iodepth }) * u64::from(job.numjobs)
}

/// Mean time of an operation, nanoseconds, without syncs.
pub(super) fn mean_latency(measured: &Measurement) -> f64 {
    let (read, write) = (&measured.read, &measured.write);
    let ios = (read.ios + write.ios) as f64;
    (read.latency_ns.mean * read.ios as f64 + write.latency_ns.mean * write.ios as f64) / ios.max(1.0)
}

/// The same of a device that was sampled; None when nothing completed.
fn mean_await(device: &DeviceSummary) -> Option<f64> {
    let (reads, writes) = (device.read_iops.mean, device.write_iops.mean);
    let sum = device.read_await_ns.mean * reads + device.write_await_ns.mean * writes;
    (reads + writes > 0.0).then(|| sum / (reads + writes))
}
