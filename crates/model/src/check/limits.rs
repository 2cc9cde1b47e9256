//! What the control group of this process allows.

use iobound_record::{Check, Outcome, units};

use super::row::Row;
use super::scope::Scope;

/// Buffers of the deepest suite job and the program itself.
const MEMORY_MIN: u64 = 512 << 20;
/// Less than one processor and the generator is stopped within each period of 100 ms.
const CPUS_MIN: f64 = 1.0;

pub(super) fn rules(scope: &Scope<'_>) -> Vec<Check> {
    let limits = &scope.probe.limits;
    let mut checks = Vec::new();
    let devices = scope.devices();
    let ours = |line: &&String| {
        let number = line.split_whitespace().next().unwrap_or_default();
        devices.iter().any(|device| !device.number.is_empty() && device.number == number)
    };
    let io: Vec<&str> = limits.io.iter().filter(ours).map(String::as_str).collect();
    if !io.is_empty() {
        let row = Row::new("io-limit", "control group").value(io.join("; ")).expected("none");
        let row = row.why("the control group's limit is measured, not the device's");
        checks.push(row.mend("run it outside the group, or raise io.max").is(Outcome::Warn));
    }
    if let Some(cpus) = limits.cpus {
        checks.push(
            Row::new("cpu-limit", "control group")
                .value(format!("{} processors", units::significant(cpus)))
                .expected(format!("{CPUS_MIN:.0} or more"))
                .why("the generator is stopped in the middle of each 100 ms: latencies are the scheduler's")
                .mend("raise the container's CPU limit (cpu.max)")
                .passes_if(cpus >= CPUS_MIN, Outcome::Warn),
        );
    }
    if let Some(memory) = limits.memory_bytes {
        checks.push(
            Row::new("memory-limit", "control group")
                .value(units::bytes(memory))
                .expected(format!("{} or more", units::bytes(MEMORY_MIN)))
                .why("deep jobs with large blocks do not get their buffers, and the page cache is small")
                .mend("raise the container's memory limit (memory.max)")
                .passes_if(memory >= MEMORY_MIN, Outcome::Warn),
        );
    }
    if let Some(wanted) = scope.context.and_then(|context| context.os.nofile)
        && let Some(now) = limits.nofile
    {
        checks.push(
            Row::new("open-files", "host")
                .value(now.to_string())
                .expected(format!("{wanted} or more"))
                .why("a database with many tables and connections runs out of them")
                .mend("set nofile in /etc/security/limits.d, or LimitNOFILE= of the service; log in again")
                .passes_if(now >= wanted, Outcome::Warn),
        );
    }
    checks
}
