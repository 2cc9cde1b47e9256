//! Processes that take processor time or move bytes.

use std::collections::HashMap;

use iobound_record::WatchedProcess;

use crate::system::System;

/// What counts as much: a fifth of a processor, or a MiB a second to and from storage. Both are a
/// hundredth of what a small machine has, and stand out from what an idle one does.
const CPUS_MIN: f64 = 0.2;
const BYTES_PER_S_MIN: f64 = (1 << 20) as f64;
/// The busiest are enough.
const SHOWN_MAX: usize = 10;

/// Kernel threads whose work is a finding by itself: memory reclaim, write-back of an array's rebuild.
const TELLING_THREADS: [&str; 2] = ["kswapd", "md"];

/// PF_KTHREAD, include/linux/sched.h.
const PF_KTHREAD: u64 = 0x0020_0000;

/// One process at one moment.
#[derive(Clone, Debug, PartialEq)]
struct Process {
    name: String,
    kernel: bool,
    /// In clock ticks.
    cpu_ticks: u64,
    /// When it started, in clock ticks after boot: a process id may come back.
    started: u64,
    /// To and from storage; None without the right to know.
    io_bytes: Option<u64>,
}

/// Every process at one moment, by id.
pub(super) struct Sample(HashMap<u32, Process>);

impl Sample {
    pub fn take(system: &System) -> Sample {
        let ids = system.names("/proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
        Sample(ids.filter_map(|pid| Some((pid, process(system, pid)?))).collect())
    }

    /// Those that did much since, the busiest first; without ourselves.
    pub fn busy_since(&self, system: &System, seconds: f64) -> Vec<WatchedProcess> {
        if seconds <= 0.0 {
            return Vec::new();
        }
        let ticks_per_s = rustix::param::clock_ticks_per_second().max(1) as f64;
        let ourselves = std::process::id();
        let mut found: Vec<WatchedProcess> = Sample::take(system)
            .0
            .into_iter()
            .filter(|(pid, now)| *pid != ourselves && (!now.kernel || is_telling(&now.name)))
            .map(|(pid, now)| {
                // One that began meanwhile began with nothing.
                let before = self.0.get(&pid).filter(|before| before.started == now.started);
                let ticks = now.cpu_ticks.saturating_sub(before.map_or(0, |before| before.cpu_ticks));
                let io_before = before.and_then(|before| before.io_bytes).unwrap_or(0);
                WatchedProcess {
                    pid,
                    name: now.name,
                    cpus: ticks as f64 / ticks_per_s / seconds,
                    io_bytes_per_s: now.io_bytes.map(|io| io.saturating_sub(io_before) as f64 / seconds),
                }
            })
            .filter(|p| p.cpus >= CPUS_MIN || p.io_bytes_per_s.unwrap_or(0.0) >= BYTES_PER_S_MIN)
            .collect();
        found.sort_by(|a, b| {
            let io = |p: &WatchedProcess| p.io_bytes_per_s.unwrap_or(0.0);
            b.cpus.total_cmp(&a.cpus).then(io(b).total_cmp(&io(a))).then(a.pid.cmp(&b.pid))
        });
        found.truncate(SHOWN_MAX);
        found
    }
}

/// `kswapd0`, `md0_raid10`, `md127_resync`.
fn is_telling(name: &str) -> bool {
    TELLING_THREADS.iter().any(|prefix| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

fn process(system: &System, pid: u32) -> Option<Process> {
    let mut process = parse_stat(&system.attribute(format!("/proc/{pid}/stat"))?)?;
    process.io_bytes = system.attribute(format!("/proc/{pid}/io")).as_deref().and_then(parse_io);
    Some(process)
}

/// `/proc/PID/stat`: proc_pid_stat(5). The name is in parentheses and may hold any character, so it ends
/// at the last one.
fn parse_stat(text: &str) -> Option<Process> {
    let (_, rest) = text.split_once('(')?;
    let (name, fields) = rest.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    // By the manual's numbers, of which the state, after the name, is the third.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Process {
        name: name.to_owned(),
        kernel: field(9)? & PF_KTHREAD != 0,
        cpu_ticks: field(14)?.saturating_add(field(15)?),
        started: field(22)?,
        io_bytes: None,
    })
}

/// `/proc/PID/io`: proc_pid_io(5). What the process caused at the storage, write-back included.
fn parse_io(text: &str) -> Option<u64> {
    let field = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        value.trim().parse::<u64>().ok()
    };
    // What was dirtied and then thrown away never got there.
    let cancelled = field("cancelled_write_bytes").unwrap_or(0);
    Some(field("read_bytes")?.saturating_add(field("write_bytes")?.saturating_sub(cancelled)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_with_parentheses() {
        let text = "77 (a) R (b) S 1 77 77 0 -1 4194560 0 0 0 0 250 50 0 0 20 0 1 0 12345 0 0";
        let process = parse_stat(text).unwrap();
        assert_eq!((process.name.as_str(), process.cpu_ticks, process.started), ("a) R (b", 300, 12345));
        assert!(!process.kernel);
        let thread = parse_stat("9 (kswapd0) S 2 0 0 0 -1 2097216 0 0 0 0 0 9 0 0 20 0 1 0 1 0 0").unwrap();
        assert!(thread.kernel && is_telling(&thread.name));
    }

    #[test]
    fn telling_threads() {
        for (name, telling) in [
            ("md0_raid10", true),
            ("md127_resync", true),
            ("mdadm", false),
            ("kswapd", false),
            ("jbd2/md0", false),
        ] {
            assert_eq!(is_telling(name), telling, "{name}");
        }
    }

    #[test]
    fn bytes_that_reached_storage() {
        let text = "rchar: 9\nread_bytes: 100\nwrite_bytes: 50\ncancelled_write_bytes: 20\n";
        assert_eq!(parse_io(text), Some(130));
        assert_eq!(parse_io("rchar: 9"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC*", fields in proptest::collection::vec(any::<i64>(), 0..30)) {
            parse_stat(&text);
            parse_io(&text);
            let fields: Vec<String> = fields.iter().map(i64::to_string).collect();
            parse_stat(&format!("1 (x) S {}", fields.join(" ")));
        }
    }
}
