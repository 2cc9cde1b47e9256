//! The machine, as far as a run needs it.

use iobound_record::HostFacts;

use crate::memory::memory_bytes;
use crate::processor::cpu_model;
use crate::system::System;

/// Facts about the machine. What cannot be found is empty or 0; targets are left to the caller
/// ([`Stack::target_facts`](crate::Stack::target_facts)).
pub fn host_facts(system: &System) -> HostFacts {
    HostFacts {
        kernel: system.attribute("/proc/sys/kernel/osrelease").unwrap_or_default(),
        cpu_model: cpu_model(&system.attribute("/proc/cpuinfo").unwrap_or_default()),
        cpus: cpus(system),
        memory_bytes: memory_bytes(system),
        clocksource: system
            .attribute("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .unwrap_or_default(),
        targets: Vec::new(),
    }
}

/// Processors that this process may run on: its affinity, which cpusets and taskset narrow. A
/// captured machine's are counted.
fn cpus(system: &System) -> u32 {
    if system.is_live()
        && let Ok(set) = rustix::thread::sched_getaffinity(None)
    {
        return set.count();
    }
    let text = system.attribute("/proc/cpuinfo").unwrap_or_default();
    text.lines().filter(|line| line.starts_with("processor")).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine() {
        let facts = host_facts(&System::live());
        assert!(facts.cpus > 0 && facts.memory_bytes > 0, "{facts:?}");
        assert!(!facts.kernel.is_empty() && !facts.cpu_model.is_empty(), "{facts:?}");
    }

    #[test]
    fn a_machine_that_tells_nothing() {
        let nothing = tempfile::tempdir().unwrap();
        assert_eq!(host_facts(&System::captured(nothing.path())), HostFacts::default());
    }
}
