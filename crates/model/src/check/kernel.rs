//! Other settings of the kernel, and whether io_uring may be used.

use iobound_record::{Check, Outcome};

use super::row::Row;
use super::scope::Scope;

/// The kernel's default.
const SWAPPINESS_MAX: u32 = 60;

pub(super) fn rules(scope: &Scope<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    if let Some(os) = scope.context.map(|context| &context.os) {
        let wanted = [
            (
                "writeback-interval",
                "vm.dirty_writeback_centisecs",
                os.dirty_writeback_centisecs,
                "dirty pages lie that much longer and come in larger waves",
            ),
            (
                "dirty-expire",
                "vm.dirty_expire_centisecs",
                os.dirty_expire_centisecs,
                "dirty pages lie that much longer and come in larger waves",
            ),
            (
                "overcommit",
                "vm.overcommit_memory",
                os.overcommit_memory,
                "under strain the kernel kills, where it could have refused",
            ),
            (
                "swappiness",
                "vm.swappiness",
                os.swappiness,
                "swapped-out buffers come back by the disks that are measured",
            ),
        ];
        for (id, name, value, why) in wanted {
            checks.extend(value.map(|value| setting(scope, id, name, value, why)));
        }
    }
    checks.extend(swappiness(scope));
    checks.extend(huge_pages(scope));
    checks.push(io_uring(scope));
    checks
}

fn setting(scope: &Scope<'_>, id: &str, name: &str, wanted: u32, why: &str) -> Check {
    let row = Row::new(id, "host").expected(format!("{name} {wanted}"));
    let Some(value) = scope.probe.sysctl.get(name) else {
        return row.unknown(format!("{name} could not be read"));
    };
    row.value(value.trim())
        .why(why)
        .mend(format!("sudo sysctl -w {name}={wanted}"))
        .passes_if(value.trim() == wanted.to_string(), Outcome::Warn)
}

/// Without a context only more than the default, where there is swap at all.
fn swappiness(scope: &Scope<'_>) -> Option<Check> {
    let is_said = scope.context.is_some_and(|context| context.os.swappiness.is_some());
    if is_said || scope.probe.memory.swap_bytes == 0 {
        return None;
    }
    let value: u32 = scope.probe.sysctl.get("vm.swappiness")?.trim().parse().ok()?;
    Some(
        Row::new("swappiness", "host")
            .value(value.to_string())
            .expected(format!("at most {SWAPPINESS_MAX}"))
            .why("swapped-out buffers come back by the disks that are measured")
            .mend("sudo sysctl -w vm.swappiness=10")
            .passes_if(value <= SWAPPINESS_MAX, Outcome::Warn),
    )
}

/// PostgreSQL's manual on huge_pages: transparent ones may degrade it. Storage figures do not depend on
/// them, so without a context any will do.
fn huge_pages(scope: &Scope<'_>) -> Option<Check> {
    let now = scope.probe.transparent_hugepage.as_str();
    if now.is_empty() {
        return None;
    }
    let row = Row::new("huge-pages", "host").value(now);
    let Some(wanted) = scope.context.and_then(|context| context.os.transparent_hugepage.as_deref()) else {
        return Some(row.expected("any; madvise or never under a database").is(Outcome::Pass));
    };
    Some(
        row.expected(wanted)
            .why("the kernel stops a database for compaction while it makes huge pages")
            .mend(format!("echo {wanted} | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"))
            .passes_if(now == wanted, Outcome::Warn),
    )
}

fn io_uring(scope: &Scope<'_>) -> Check {
    let limits = &scope.probe.limits;
    let row = Row::new("io-uring", "host").expected("allowed");
    let sysctl = scope.probe.sysctl.get("kernel.io_uring_disabled").map(|value| value.trim());
    let refused = match (limits.io_uring, sysctl) {
        (Some(allowed), _) => !allowed,
        (None, Some("2")) => true,
        (None, Some("1")) => !limits.root,
        (None, Some("0")) => false,
        (None, _) => return row.unknown("it was not tried, and kernel.io_uring_disabled could not be read"),
    };
    let why = match limits.io_uring_refusal.as_str() {
        "" => "another engine costs more processor time for each operation",
        refusal => refusal,
    };
    // A sysctl is one way of three; in containers it is a seccomp profile.
    let mend = match sysctl {
        Some("1" | "2") => "sudo sysctl -w kernel.io_uring_disabled=0".to_owned(),
        _ if !scope.probe.machine.container.is_empty() => {
            "allow io_uring_setup, io_uring_enter and io_uring_register in the container's seccomp profile"
                .into()
        }
        _ => "needs Linux 5.6 and CONFIG_IO_URING, or a seccomp profile that allows it".into(),
    };
    row.value(if refused { "refused" } else { "allowed" })
        .why(why)
        .mend(mend)
        .passes_if(!refused, Outcome::Warn)
}
