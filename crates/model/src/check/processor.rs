//! Processors: their frequency, and who else uses them.

use iobound_record::{Check, Outcome, WatchedProcess, units};

use super::row::Row;
use super::scope::Scope;

/// Share of the processors that another process may use: above it, it takes turns with the generator.
const CPU_SHARE: f64 = 0.25;
/// Bytes a second of another process that show in a measurement of any volume on sale (gp3: 1%).
const IO_BYTES: f64 = 2.0 * units::MIB as f64;
/// More names than this say nothing more.
const NAMED: usize = 3;

pub(super) fn rules(scope: &Scope<'_>) -> Vec<Check> {
    let mut checks: Vec<Check> = governors(scope).into_iter().collect();
    checks.push(processes(scope));
    checks
}

/// On x86 `powersave` of intel_pstate and amd_pstate goes up with load like any other; elsewhere it pins
/// the lowest frequency (admin-guide/pm/cpufreq).
fn governors(scope: &Scope<'_>) -> Option<Check> {
    let processor = &scope.probe.processor;
    if processor.governors.is_empty() {
        return None;
    }
    let slow = |governor: &String| match governor.as_str() {
        // A machine that does not say what it is gets the benefit of the doubt.
        "powersave" => !["x86_64", "i686", ""].contains(&scope.probe.machine.architecture.as_str()),
        "conservative" => true,
        _ => false,
    };
    Some(
        Row::new("governor", "host")
            .value(processor.governors.join(", "))
            .expected("performance, schedutil or ondemand")
            .why("the frequency stays low through short bursts of work: latencies are the processor's")
            .mend("sudo cpupower frequency-set -g performance")
            .passes_if(!processor.governors.iter().any(slow), Outcome::Warn),
    )
}

fn processes(scope: &Scope<'_>) -> Check {
    let row = Row::new("processes", "host").expected("none that uses much processor time or I/O");
    let Some(watched) = scope.watched else { return row.unknown("nobody watched; see --watch") };
    let cpus = f64::from(scope.probe.processor.cpus_allowed.max(1));
    let heavy: Vec<&WatchedProcess> = watched
        .processes
        .iter()
        .filter(|process| {
            process.cpus >= CPU_SHARE * cpus || process.io_bytes_per_s.unwrap_or(0.0) >= IO_BYTES
        })
        .collect();
    if heavy.is_empty() {
        return row.value("none").is(Outcome::Pass);
    }
    let words = |process: &&WatchedProcess| {
        let io = process.io_bytes_per_s.filter(|bytes| *bytes >= IO_BYTES);
        let io = io.map(|bytes| format!(", {}", units::bandwidth(bytes)));
        let name: String = process.name.chars().filter(|c| !c.is_control()).take(32).collect();
        format!("{name} ({}): {:.1} cores{}", process.pid, process.cpus, io.unwrap_or_default())
    };
    let mut named: Vec<String> = heavy.iter().take(NAMED).map(words).collect();
    if heavy.len() > NAMED {
        named.push(format!("and {} more", heavy.len() - NAMED));
    }
    row.value(named.join("; "))
        .why("it takes processors or the disk from what is measured, and the result varies with it")
        .mend(format!("let it end, or stop it: ps -fp {}", heavy[0].pid))
        .is(Outcome::Warn)
}
