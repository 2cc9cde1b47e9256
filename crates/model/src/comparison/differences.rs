//! What differs between two sides besides what they measured: maybe the very thing that is compared, so it
//! is said and never refused.

use iobound_record::{Run, TargetFacts, units};

use super::Side;

/// `kernel: 6.1 in before, 6.12 in after`, one a fact.
pub(super) fn between(first: &Side, other: &Side) -> Vec<String> {
    let old = facts(first);
    let new = facts(other);
    let differ = old.iter().zip(&new).filter(|((_, a), (_, b))| a != b);
    differ
        .map(|((what, a), (_, b))| format!("{what}: {a} in {}, {b} in {}", first.name, other.name))
        .collect()
}

/// Each fact with all values that the runs of a side have for it.
fn facts(side: &Side) -> Vec<(&'static str, String)> {
    type Of = fn(&Run) -> String;
    let host: [(&'static str, Of); 7] = [
        ("suite", |run| run.suite.clone()),
        ("iobound", |run| run.iobound.clone()),
        ("kernel", |run| run.host.kernel.clone()),
        ("processor", |run| run.host.cpu_model.clone()),
        ("processors", |run| run.host.cpus.to_string()),
        // To a GiB: what the kernel keeps for itself differs from boot to boot.
        ("memory", |run| format!("{} GiB", run.host.memory_bytes / units::GIB)),
        ("context", |run| run.context.as_ref().map_or(String::new(), |context| context.name.clone())),
    ];
    type OfTarget = fn(&TargetFacts) -> String;
    let target: [(&'static str, OfTarget); 6] = [
        ("device", |target| target.device.clone()),
        ("members", |target| target.members.join(" ")),
        ("file system", |target| target.filesystem.clone()),
        ("mount options", |target| target.mount_options.clone()),
        ("scheduler", |target| target.scheduler.clone()),
        ("write cache", |target| target.write_cache.clone()),
    ];
    let of_host = host.into_iter().map(|(what, of)| (what, joined(side.runs.iter().map(|run| of(run)))));
    let of_target = target.into_iter().map(|(what, of)| {
        let targets = side.runs.iter().flat_map(|run| &run.host.targets);
        (what, joined(targets.map(of)))
    });
    of_host.chain(of_target).collect()
}

fn joined(values: impl Iterator<Item = String>) -> String {
    let mut values: Vec<String> = values.filter(|value| !value.is_empty()).collect();
    values.sort();
    values.dedup();
    if values.is_empty() { "none".into() } else { values.join(" and ") }
}
