//! I/O of other processes, by `/proc/PID/io` (proc_pid_io(5)).

use std::collections::HashMap;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::time::Duration;

use iobound_record::ProcessSample;

use crate::block::DeviceNumber;
use crate::system::System;

/// Processes with the most I/O that are kept.
const KEPT: usize = 5;

/// What every process but this one has moved so far, as far as we may look.
#[derive(Clone, Debug, Default)]
pub struct ProcessIo {
    moved: HashMap<u32, Moved>,
    /// Processes that we may not look into.
    hidden: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Moved {
    read_bytes: u64,
    write_bytes: u64,
}

impl ProcessIo {
    /// Looks at all processes: a few microseconds each.
    pub fn take(system: &System) -> ProcessIo {
        let own = std::process::id();
        let mut all = ProcessIo::default();
        let mut text = String::new();
        for pid in pids(system).filter(|&pid| !(pid == own && system.is_live())) {
            text.clear();
            let read = std::fs::File::open(system.place(format!("/proc/{pid}/io")))
                .and_then(|mut file| file.read_to_string(&mut text));
            match read.ok().and_then(|_| parse(&text)) {
                Some(moved) => drop(all.moved.insert(pid, moved)),
                None => all.hidden += 1,
            }
        }
        all
    }

    /// The processes that moved most since `earlier`; None when none may be looked into.
    pub fn since(
        &self,
        earlier: &ProcessIo,
        interval: Duration,
        system: &System,
    ) -> Option<Vec<ProcessSample>> {
        self.since_on(earlier, interval, system, &[])
    }

    /// The same, those first that have one of `devices` open, or a file on it.
    pub fn since_on(
        &self,
        earlier: &ProcessIo,
        interval: Duration,
        system: &System,
        devices: &[DeviceNumber],
    ) -> Option<Vec<ProcessSample>> {
        if self.moved.is_empty() && self.hidden > 0 || interval.is_zero() {
            return None;
        }
        let mut busy: Vec<(u32, Moved, bool)> = self
            .moved
            .iter()
            .filter_map(|(&pid, now)| {
                // Lower than before: another process of the same number, which began at 0.
                let before = earlier.moved.get(&pid).copied().unwrap_or_default();
                let added = |now: u64, before: u64| now.checked_sub(before).unwrap_or(now);
                let moved = Moved {
                    read_bytes: added(now.read_bytes, before.read_bytes),
                    write_bytes: added(now.write_bytes, before.write_bytes),
                };
                (moved != Moved::default()).then(|| (pid, moved, has_open(system, pid, devices)))
            })
            .collect();
        let most = |moved: &Moved| std::cmp::Reverse(moved.read_bytes.saturating_add(moved.write_bytes));
        busy.sort_by_key(|(pid, moved, open)| (!open, most(moved), *pid));
        busy.truncate(KEPT);
        let seconds = interval.as_secs_f64();
        let named = busy.into_iter().map(|(pid, moved, has_target_open)| ProcessSample {
            pid,
            name: system.attribute(format!("/proc/{pid}/comm")).unwrap_or_default(),
            read_bytes_per_s: moved.read_bytes as f64 / seconds,
            write_bytes_per_s: moved.write_bytes as f64 / seconds,
            has_target_open,
        });
        Some(named.collect())
    }
}

/// Whether a process has one of the devices open, or a file on a file system there.
fn has_open(system: &System, pid: u32, devices: &[DeviceNumber]) -> bool {
    if devices.is_empty() {
        return false;
    }
    let open = std::fs::read_dir(system.place(format!("/proc/{pid}/fd"))).into_iter().flatten().flatten();
    open.filter_map(|entry| std::fs::metadata(entry.path()).ok()).any(|file| {
        let is_device = file.file_type().is_block_device();
        devices.contains(&DeviceNumber::from_raw(if is_device { file.rdev() } else { file.dev() }))
    })
}

fn pids(system: &System) -> impl Iterator<Item = u32> {
    std::fs::read_dir(system.place("/proc"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn parse(text: &str) -> Option<Moved> {
    let field = |name: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
    };
    Some(Moved { read_bytes: field("read_bytes:")?, write_bytes: field("write_bytes:")? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    fn process(root: &TempDir, pid: u32, name: &str, read: u64, write: u64) {
        let place = root.path().join(format!("proc/{pid}"));
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("comm"), format!("{name}\n")).unwrap();
        let io = format!("rchar: 9\nwchar: 9\nread_bytes: {read}\nwrite_bytes: {write}\n");
        fs::write(place.join("io"), io).unwrap();
    }

    #[test]
    fn the_busiest_come_first_and_the_idle_not_at_all() {
        let root = tempfile::tempdir().unwrap();
        let system = System::captured(root.path());
        process(&root, 10, "postgres", 1000, 0);
        process(&root, 11, "idle", 500, 500);
        process(&root, 12, "reused", 900, 900);
        let before = ProcessIo::take(&system);
        process(&root, 10, "postgres", 5000, 2000);
        process(&root, 12, "new", 100, 0);
        let busy = ProcessIo::take(&system).since(&before, Duration::from_secs(2), &system).unwrap();
        let seen: Vec<_> =
            busy.iter().map(|p| (p.pid, p.name.as_str(), p.read_bytes_per_s, p.write_bytes_per_s)).collect();
        assert_eq!(seen, [(10, "postgres", 2000.0, 1000.0), (12, "new", 50.0, 0.0)]);
    }

    #[test]
    fn who_has_the_device_open_comes_first() {
        let root = tempfile::tempdir().unwrap();
        let system = System::captured(root.path());
        let before = ProcessIo::take(&system);
        process(&root, 10, "elsewhere", 9_000_000, 0);
        process(&root, 11, "here", 100, 0);
        let fds = root.path().join("proc/11/fd");
        fs::create_dir_all(&fds).unwrap();
        let file = fs::File::create(root.path().join("file")).unwrap();
        std::os::unix::fs::symlink(root.path().join("file"), fds.join("3")).unwrap();
        let device = DeviceNumber::from_raw(file.metadata().unwrap().dev());
        let busy = ProcessIo::take(&system).since_on(&before, Duration::from_secs(1), &system, &[device]);
        let seen: Vec<_> = busy.unwrap().into_iter().map(|p| (p.name, p.has_target_open)).collect();
        assert_eq!(seen, [("here".into(), true), ("elsewhere".into(), false)]);
    }

    #[test]
    fn without_rights_nothing_is_known() {
        let root = tempfile::tempdir().unwrap();
        let system = System::captured(root.path());
        fs::create_dir_all(root.path().join("proc/1")).unwrap();
        let look = ProcessIo::take(&system);
        assert_eq!(look.since(&look, Duration::from_secs(1), &system), None);
    }
}
