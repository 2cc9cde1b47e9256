//! Queues of the disks: scheduler, requests, write cache.

use iobound_record::{Check, Device, FileSystemSpec, Outcome};

use super::row::{Row, set_queue};
use super::scope::Scope;

/// Fewer requests than this bind before a cloud volume does (depth = IOPS x latency, 3,000 x 10 ms).
const REQUESTS_MIN: u32 = 32;

pub(super) fn rules(scope: &Scope<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for (disk, spec) in scope.disks() {
        checks.extend(scheduler(disk, spec, is_virtual(scope, disk)));
        checks.extend(requests(disk, spec));
        checks.extend(write_cache(disk));
    }
    checks
}

/// Disks behind a hypervisor say that they spin, and do not.
fn is_virtual(scope: &Scope<'_>, disk: &Device) -> bool {
    !scope.probe.machine.hypervisor.is_empty() || ["virtio", "xen", "nvme"].contains(&disk.transport.as_str())
}

/// The kernel's block/ documentation: none for drives that order by themselves, mq-deadline or bfq for
/// those with heads.
fn scheduler(disk: &Device, spec: Option<&FileSystemSpec>, is_virtual: bool) -> Option<Check> {
    if disk.scheduler.is_empty() {
        return None;
    }
    let row = Row::new("scheduler", &disk.name).value(&*disk.scheduler);
    // What a kernel before 5.0 called none and mq-deadline.
    let plain = match disk.scheduler.as_str() {
        "noop" => "none",
        "deadline" => "mq-deadline",
        other => other,
    };
    if let Some(wanted) = spec.and_then(|spec| spec.scheduler.as_deref()) {
        return Some(
            row.expected(wanted)
                .why("the scheduler orders and holds back requests; the context was measured with another")
                .mend(set_queue(&disk.name, "scheduler", wanted))
                .passes_if(disk.scheduler == wanted || plain == wanted, Outcome::Warn),
        );
    }
    let spins = disk.rotational == Some(true) && !is_virtual;
    let (good, expected, set): (&[&str], _, _) = if spins {
        (&["mq-deadline", "bfq", "kyber"], "mq-deadline or bfq, it spins", "mq-deadline")
    } else {
        (&["none", "mq-deadline", "kyber"], "none or mq-deadline", "none")
    };
    let why = if spins {
        "heads travel in the order that requests come in"
    } else {
        "it spends processor time on ordering what the drive orders itself, and lets the disk idle"
    };
    Some(
        row.expected(expected)
            .why(why)
            .mend(set_queue(&disk.name, "scheduler", set))
            .passes_if(good.contains(&plain), Outcome::Warn),
    )
}

fn requests(disk: &Device, spec: Option<&FileSystemSpec>) -> Option<Check> {
    if disk.nr_requests == 0 {
        return None;
    }
    let row = Row::new("nr-requests", &disk.name).value(disk.nr_requests.to_string());
    let (wanted, good) = match spec.and_then(|spec| spec.nr_requests) {
        Some(wanted) => (wanted, disk.nr_requests == wanted),
        None => (REQUESTS_MIN, disk.nr_requests >= REQUESTS_MIN),
    };
    let least = if spec.is_some_and(|spec| spec.nr_requests.is_some()) { "" } else { " or more" };
    Some(
        row.expected(format!("{wanted}{least}"))
            .why("more than this many requests wait outside the queue, where nothing orders them")
            .mend(set_queue(&disk.name, "nr_requests", wanted))
            .passes_if(good, Outcome::Warn),
    )
}

/// For the record: what a sync costs depends on it, and neither is wrong.
fn write_cache(disk: &Device) -> Option<Check> {
    if disk.write_cache.is_empty() {
        return None;
    }
    let expected = match disk.write_cache.as_str() {
        "write back" => "either; a sync flushes the drive's volatile cache",
        _ => "either; what is written is durable",
    };
    Some(Row::new("write-cache", &disk.name).value(&*disk.write_cache).expected(expected).is(Outcome::Pass))
}
