//! Whether this is the machine that the context speaks of.

use iobound_record::{Check, Outcome, units};

use super::row::Row;
use super::scope::Scope;

/// Firmware and the kernel keep a little of what is sold.
const MEMORY_SHARE: f64 = 0.85;

pub(super) fn rules(scope: &Scope<'_>) -> Vec<Check> {
    let Some(instance) = scope.context.map(|context| &context.instance) else { return Vec::new() };
    let mut checks = Vec::new();
    let why = "the machine's limits are part of every ceiling";
    let mend = "take the context of this machine: iobound context detect";
    if !instance.name.is_empty() {
        let row = Row::new("instance", "host").expected(&*instance.name);
        checks.push(match scope.probe.cloud.as_ref().filter(|cloud| !cloud.instance_type.is_empty()) {
            None => row.unknown("the cloud was not asked, or did not answer"),
            Some(cloud) => row
                .value(&*cloud.instance_type)
                .why(why)
                .mend(mend)
                .passes_if(cloud.instance_type == instance.name, Outcome::Warn),
        });
    }
    let cpus = scope.probe.processor.cpus_online;
    if let Some(wanted) = instance.vcpus.filter(|_| cpus > 0) {
        let row = Row::new("vcpus", "host").value(cpus.to_string()).expected(wanted.to_string());
        checks.push(row.why(why).mend(mend).passes_if(cpus == wanted, Outcome::Warn));
    }
    let memory = scope.probe.memory.total_bytes;
    if let Some(wanted) = instance.memory.filter(|_| memory > 0) {
        let share = memory as f64 / wanted.0.max(1) as f64;
        let row = Row::new("memory", "host").value(units::bytes(memory)).expected(units::bytes(wanted.0));
        checks.push(row.why(why).mend(mend).passes_if((MEMORY_SHARE..1.1).contains(&share), Outcome::Warn));
    }
    checks
}
