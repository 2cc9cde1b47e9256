//! The machine itself: page cache, processors, pressure.

use std::time::Duration;

use iobound_record::HostSample;

use super::proc_file::ProcFile;
use crate::system::System;

/// Reads them all, and keeps what the next look is held against.
#[derive(Debug)]
pub(super) struct HostFigures {
    meminfo: ProcFile,
    stat: ProcFile,
    pressure: [Pressure; 3],
    processors: Option<Ticks>,
}

/// One file of `/proc/pressure`: its stalls in microseconds, at the last look.
#[derive(Debug)]
struct Pressure {
    file: ProcFile,
    some_us: Option<u64>,
    full_us: Option<u64>,
}

/// Time of all processors together, in clock ticks (proc_stat(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    user: u64,
    system: u64,
    idle: u64,
    iowait: u64,
    steal: u64,
}

impl HostFigures {
    pub(super) fn new(system: &System) -> HostFigures {
        let pressure = |path| Pressure { file: ProcFile::new(system, path), some_us: None, full_us: None };
        HostFigures {
            meminfo: ProcFile::new(system, "/proc/meminfo"),
            stat: ProcFile::new(system, "/proc/stat"),
            pressure: ["/proc/pressure/io", "/proc/pressure/cpu", "/proc/pressure/memory"].map(pressure),
            processors: None,
        }
    }

    /// The figures since the last look; what the machine does not tell is None.
    pub(super) fn look(&mut self, interval: Duration) -> HostSample {
        let mut sample = HostSample::default();
        if let Ok(text) = self.meminfo.read() {
            sample.dirty_bytes = meminfo_bytes(&text, "Dirty:");
            sample.writeback_bytes = meminfo_bytes(&text, "Writeback:");
        }
        let now = self.stat.read().ok().and_then(|text| ticks(&text));
        if let (Some(before), Some(now)) = (self.processors, now) {
            shares(&before, &now, &mut sample);
        }
        self.processors = now;
        let [io, cpu, memory] = &mut self.pressure;
        (sample.psi_io_some, sample.psi_io_full) = io.shares(interval);
        (sample.psi_cpu_some, _) = cpu.shares(interval);
        (sample.psi_memory_some, sample.psi_memory_full) = memory.shares(interval);
        sample
    }
}

fn meminfo_bytes(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The first line: `cpu user nice system idle iowait irq softirq steal ..`; guests are within user.
fn ticks(stat: &str) -> Option<Ticks> {
    let mut values = [0u64; 8];
    let words = stat.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace();
    for (value, word) in values.iter_mut().zip(words) {
        *value = word.parse().ok()?;
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = values;
    Some(Ticks {
        user: user.saturating_add(nice),
        system: system.saturating_add(irq).saturating_add(softirq),
        idle,
        iowait,
        steal,
    })
}

/// Idle and iowait may fall by a tick (proc_stat(5)); that counts as none.
fn shares(before: &Ticks, now: &Ticks, sample: &mut HostSample) {
    let user = now.user.saturating_sub(before.user);
    let system = now.system.saturating_sub(before.system);
    let idle = now.idle.saturating_sub(before.idle);
    let iowait = now.iowait.saturating_sub(before.iowait);
    let steal = now.steal.saturating_sub(before.steal);
    let all: f64 = [user, system, idle, iowait, steal].iter().map(|&part| part as f64).sum();
    if all > 0.0 {
        let share = |part: u64| Some(part as f64 / all);
        sample.cpu_user = share(user);
        sample.cpu_system = share(system);
        sample.cpu_iowait = share(iowait);
        sample.cpu_steal = share(steal);
    }
}

impl Pressure {
    fn shares(&mut self, interval: Duration) -> (Option<f64>, Option<f64>) {
        let (some, full) = match self.file.read() {
            Ok(text) => (stall_us(&text, "some "), stall_us(&text, "full ")),
            // No such file, or a kernel booted with psi=0.
            Err(_) => (None, None),
        };
        let share = |before: Option<u64>, now: Option<u64>| {
            let stalled = now?.saturating_sub(before?) as f64;
            let all = interval.as_secs_f64() * 1e6;
            (all > 0.0).then(|| (stalled / all).min(1.0))
        };
        let shares = (share(self.some_us, some), share(self.full_us, full));
        (self.some_us, self.full_us) = (some, full);
        shares
    }
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`: the total is exact where averages trail.
fn stall_us(text: &str, kind: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
    line.split_ascii_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;
    use std::path::Path;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn shares_of_a_known_interval() {
        let root = tempfile::tempdir().unwrap();
        put(
            root.path(),
            "proc/meminfo",
            "MemTotal: 9 kB\nDirty:    12 kB\nWriteback:  3 kB\nWritebackTmp: 9 kB\n",
        );
        put(root.path(), "proc/stat", "cpu  100 0 50 800 40 5 5 0 0 0\ncpu0 1 2 3\n");
        put(root.path(), "proc/pressure/io", "some avg10=1 total=1000000\nfull avg10=0 total=500000\n");
        put(root.path(), "proc/pressure/cpu", "some avg10=1 avg60=0 total=7\n");
        let mut figures = HostFigures::new(&System::captured(root.path()));
        let first = figures.look(Duration::from_secs(1));
        assert_eq!((first.dirty_bytes, first.writeback_bytes), (Some(12 << 10), Some(3 << 10)));
        assert_eq!((first.cpu_user, first.psi_io_some), (None, None));
        put(root.path(), "proc/stat", "cpu  120 10 60 830 70 10 5 20 0 0\n");
        put(root.path(), "proc/pressure/io", "some avg10=1 total=1500000\nfull avg10=0 total=700000\n");
        let second = figures.look(Duration::from_secs(2));
        let near = |seen: Option<f64>, expected: f64| (seen.unwrap() - expected).abs() < 1e-9;
        assert!(near(second.cpu_user, 30.0 / 125.0) && near(second.cpu_system, 15.0 / 125.0), "{second:?}");
        assert!(near(second.cpu_iowait, 30.0 / 125.0) && near(second.cpu_steal, 20.0 / 125.0), "{second:?}");
        assert!(near(second.psi_io_some, 0.25) && near(second.psi_io_full, 0.1), "{second:?}");
        assert!(near(second.psi_cpu_some, 0.0), "{second:?}");
        assert_eq!(second.psi_memory_some, None);
    }

    #[test]
    fn a_machine_that_tells_nothing() {
        let nothing = tempfile::tempdir().unwrap();
        let mut figures = HostFigures::new(&System::captured(nothing.path()));
        figures.look(Duration::ZERO);
        assert_eq!(figures.look(Duration::ZERO), HostSample::default());
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(cpu |some |full |total=|Dirty:|[0-9 ])*") {
            ticks(&text);
            stall_us(&text, "some ");
            meminfo_bytes(&text, "Dirty:");
        }

        #[test]
        fn shares_are_shares(a in prop::array::uniform5(any::<u64>()), b in prop::array::uniform5(any::<u64>())) {
            let of = |n: [u64; 5]| Ticks { user: n[0], system: n[1], idle: n[2], iowait: n[3], steal: n[4] };
            let mut sample = HostSample::default();
            shares(&of(a), &of(b), &mut sample);
            for share in [sample.cpu_user, sample.cpu_system, sample.cpu_iowait, sample.cpu_steal].into_iter().flatten() {
                prop_assert!((0.0..=1.0).contains(&share));
            }
        }
    }
}
