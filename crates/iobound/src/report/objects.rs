//! What a workload of whole objects has to say beside any job.

use iobound_record::{Measurement, ObjectKind, ObjectWorkload, units};

use super::stream::{Section, Table, asked, fact};
use crate::report::figure::time;

/// The sections of a workload.
pub(super) fn sections(objects: &ObjectWorkload, measured: &Measurement) -> Vec<Section> {
    vec![configuration(objects, measured), operations(objects), failures(objects, measured)]
}

fn configuration(objects: &ObjectWorkload, measured: &Measurement) -> Section {
    let shares: Vec<String> =
        objects.kinds.iter().map(|kind| format!("{} {:.0}%", kind.kind, 100.0 * kind.share)).collect();
    let prepared = measured.layout.map_or(String::new(), |layout| {
        format!(", {} in {}", units::bytes(layout.bytes), units::duration(layout.runtime_ns))
    });
    let facts = vec![
        fact("objects", format!("{} each, under {}", units::bytes(objects.object_bytes), objects.prefix)),
        fact("mix", shares.join(", ")),
        fact("in flight", format!("{} requests at most", objects.concurrency)),
        fact("put before", format!("{} objects{prepared}", objects.prepared)),
        fact("measured time", units::duration(measured.runtime_ns)),
        fact("seed", objects.seed.to_string()),
    ];
    Section { title: "Configuration", facts, ..Section::default() }
}

fn operations(objects: &ObjectWorkload) -> Section {
    let head =
        vec!["operation", ">ops", ">ops/s", ">rate", ">p50", ">p90", ">p99", ">p99.9", ">most", ">failed"];
    let rows = objects.kinds.iter().map(row).collect();
    let mut says =
        vec!["A latency is from just before the request to the last byte of the answer.".to_string()];
    if objects.put_instead > 0 {
        says.push(format!(
            "{} times no object was free to be got or deleted, and one was put instead.",
            objects.put_instead
        ));
    }
    Section { title: "Operations", table: Some(Table { head, rows }), says, ..Section::default() }
}

fn row(kind: &ObjectKind) -> Vec<String> {
    let latency = &kind.latency_ns;
    let at = |ns: u64| if kind.ops == 0 { "-".into() } else { time(ns) };
    let rate = match kind.bytes {
        0 => "-".into(),
        _ => units::bandwidth(kind.bandwidth_bytes_per_s),
    };
    vec![
        kind.kind.clone(),
        kind.ops.to_string(),
        units::count(kind.ops_per_s),
        rate,
        at(latency.p50),
        at(latency.p90),
        at(latency.p99),
        at(latency.p99_9),
        at(latency.max),
        kind.errors.iter().map(|(_, count)| count).sum::<u64>().to_string(),
    ]
}

fn failures(objects: &ObjectWorkload, measured: &Measurement) -> Section {
    let mut facts = vec![fact("requests", asked(&objects.requests))];
    for kind in &objects.kinds {
        for (why, count) in &kind.errors {
            facts.push(fact(&format!("{} failed", kind.kind), format!("{count} x {why}")));
        }
    }
    if let Some(verify) = measured.verify.as_ref().filter(|verify| verify.checked > 0) {
        let checked = units::count(verify.checked as f64);
        facts.push(fact(
            "verified",
            match verify.bad() {
                0 => format!("{checked} blocks that came back, each as it was put"),
                bad => format!("{bad} of {checked} blocks are NOT as they were put"),
            },
        ));
    }
    facts.push(fact("afterwards", objects.left.clone()));
    Section { title: "Requests and data", facts, ..Section::default() }
}
