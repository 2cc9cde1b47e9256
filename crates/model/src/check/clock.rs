//! The kernel's clock source: what stamping an operation costs.

use iobound_record::{Check, Outcome};

use super::row::Row;
use super::scope::Scope;

/// Read in user space, without entering the kernel (vDSO): tens of nanoseconds.
const FAST: [&str; 9] = [
    "tsc",
    "kvm-clock",
    "arch_sys_counter",
    "hyperv_clocksource_tsc_page",
    "timebase",
    "tod",
    "riscv_clocksource",
    "stable_counter",
    "hyperv_clocksource_msr_tsc",
];
/// Read by a device access or hypercall, each a system call besides.
const SLOW: [(&str, &str); 5] = [
    ("hpet", "about 1 us a reading, from a device all processors share"),
    ("acpi_pm", "about 1 us a reading, by port I/O, and more in a virtual machine"),
    ("xen", "about 0.2 us a reading and a system call; EC2 advises tsc"),
    ("hyperv_clocksource", "several us a reading, by a call of the hypervisor"),
    ("hyperv_clocksource_msr", "several us a reading, by a call of the hypervisor"),
];

pub(super) fn rules(scope: &Scope<'_>) -> Vec<Check> {
    let machine = &scope.probe.machine;
    let row = Row::new("clock", "host").expected("tsc, kvm-clock or arch_sys_counter");
    let now = machine.clocksource.as_str();
    if now.is_empty() {
        return vec![row.unknown("the kernel's clock source could not be read")];
    }
    let better = machine.clocksources.iter().find(|source| FAST.contains(&source.as_str()));
    let row = row.value(now).mend(match better {
        Some(source) => {
            format!(
                "echo {source} | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
            )
        }
        None => "look for 'clocksource' in the kernel's log: it says why the better ones were refused".into(),
    });
    if FAST.contains(&now) {
        return vec![row.is(Outcome::Pass)];
    }
    if now.contains("jiffies") {
        return vec![
            row.why("it moves in steps of milliseconds: no latency below that is real").is(Outcome::Fail),
        ];
    }
    match SLOW.iter().find(|(name, _)| *name == now) {
        Some((_, cost)) => {
            vec![
                row.why(format!("{cost}; small latencies grow by it, and a busy core spends its time so"))
                    .is(Outcome::Warn),
            ]
        }
        None => vec![row.why("iobound does not know this clock source").is(Outcome::Unknown)],
    }
}
