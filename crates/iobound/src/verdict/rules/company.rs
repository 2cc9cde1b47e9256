//! Others on the device, and a device that goes away.

use iobound_record::{DeviceBytes, DirectionStats, EngineChoice, Finding, ProcessSample, Severity, units};

use super::{Case, finding};

/// Above this share, and by more than [`SLACK_BYTES`], somebody else used the device.
const OTHER_IO_SHARE: f64 = 1.10;
/// The same where each write brings others along: a sync commits the journal, and a file system that never
/// overwrites writes its tree anew. Seen here: 5 times the bytes for 4 KiB and a sync on ext4.
const OTHER_IO_SHARE_AMPLIFIED: f64 = 8.0;
/// File system journals and this program's own record come to a few MiB in a run; operations in flight
/// at either end of it are below this too.
pub(super) const SLACK_BYTES: u64 = 16 << 20;
/// The counters must have been looked at for this share of the measured time: on a machine without a
/// processor to spare the look at its beginning comes late, and the job's first bytes are missing.
const COVERED_MIN: f64 = 0.90;
/// File systems that write to new places, and their trees with them.
const COPY_ON_WRITE: [&str; 3] = ["btrfs", "bcachefs", "zfs"];
/// Operations of others that count when they are too small to show in bytes: a journal and its metadata
/// come to tens in a run.
const OTHER_OPERATIONS: u64 = 1000;
/// Up to this size, a database's pages, a direct read is one operation at the device: no queue takes less at a
/// time, and hardly any falls across two extents of its file.
const UNSPLIT_BYTES: u64 = 16 << 10;
/// Processes whose names begin so work for others: the bytes are those of whoever asked.
const WORKERS: [&str; 4] = ["kworker", "loop", "jbd2", "md"];
/// Names that are shown.
const NAMED: usize = 3;

/// One direction of a job against the device.
pub(super) struct Side {
    what: &'static str,
    past: &'static str,
    /// Bytes of this job and of those beside it on the same devices.
    pub(super) done: u64,
    done_ios: u64,
    pub(super) moved: u64,
    moved_ios: u64,
    names: Vec<String>,
    /// Share of the measured time that the device's counters cover.
    pub(super) covered: f64,
}

impl Side {
    pub(super) fn evidence(&self, case: &Case<'_>) -> String {
        let who = if case.scenario.beside.is_empty() { "the job" } else { "the jobs" };
        format!(
            "{}: {who} {past} {}, {} {past} {}",
            case.name(),
            units::bytes(self.done),
            self.names.join("+"),
            units::bytes(self.moved),
            past = self.past
        )
    }
}

/// The program's bytes against the kernel's counters; None where they cannot be compared.
pub(super) fn both_sides(case: &Case<'_>) -> Option<[Side; 2]> {
    // A buffered write that is synced before the next must reach the device as a direct one does. fio lays
    // its files out within the time that its counters cover.
    let reaches = case.job.direct || (case.job.syncs_each_write() && !case.job.rw.reads());
    let comparable = reaches && !case.ran_on(EngineChoice::Fio) && device_gone(case).is_none();
    let device = case.measured.device.as_ref().filter(|_| comparable)?;
    let covered = covered(case);
    if covered < COVERED_MIN {
        return None;
    }
    let shares = |other: &iobound_record::Measurement| {
        other.device.as_ref().is_some_and(|other| other.names.iter().any(|name| device.names.contains(name)))
    };
    let beside = case.beside();
    let side = |what, past, of: fn(&iobound_record::Measurement) -> &DirectionStats, moved: (u64, u64)| {
        let others = beside.iter().filter(|(_, other)| shares(other)).map(|(_, other)| of(other));
        let all: Vec<&DirectionStats> = others.chain([of(case.measured)]).collect();
        Side {
            what,
            past,
            done: all.iter().map(|side| side.bytes).sum(),
            done_ios: all.iter().map(|side| side.ios).sum(),
            moved: moved.0,
            moved_ios: moved.1,
            names: device.names.clone(),
            covered,
        }
    };
    let DeviceBytes { read_bytes, write_bytes, read_ios, write_ios, .. } = device.total;
    Some([
        side("read", "read", |m| &m.read, (read_bytes, read_ios)),
        side("write", "wrote", |m| &m.write, (write_bytes, write_ios)),
    ])
}

/// Share of the measured time between the looks at the counters, which the samples share; 1 where there are
/// none.
fn covered(case: &Case<'_>) -> f64 {
    let share = |covered: u64| covered as f64 / case.measured.runtime_ns.max(1) as f64;
    case.samples().map_or(1.0, |samples| share(samples.covered_ns).min(1.0))
}

/// The device did more than the program asked of it.
pub(super) fn other_io(case: &Case<'_>) -> Option<Finding> {
    // The device counts what failed; the job does not. In which direction is not known.
    let failed_ios = case.measured.errors;
    let failed = failed_ios.saturating_mul(case.job.block_sizes().1);
    let sides = both_sides(case)?;
    let grows = case.syncs()
        || case.beside().iter().any(|(other, _)| other.job.fdatasync + other.job.fsync > 0)
        || case.target().is_some_and(|target| COPY_ON_WRITE.contains(&target.filesystem.as_str()));
    let side = sides.into_iter().find(|side| {
        let is_write = side.what == "write";
        let share = if is_write && grows { OTHER_IO_SHARE_AMPLIFIED } else { OTHER_IO_SHARE };
        let by_bytes = side.moved as f64 > share * side.done.saturating_add(failed) as f64
            && side.moved.saturating_sub(side.done).saturating_sub(failed) > SLACK_BYTES;
        let whole = !is_write && case.job.block_sizes().1 <= UNSPLIT_BYTES && case.scenario.beside.is_empty();
        let by_operations = whole
            && side.moved_ios as f64 > OTHER_IO_SHARE * side.done_ios.saturating_add(failed_ios) as f64
            && side.moved_ios.saturating_sub(side.done_ios).saturating_sub(failed_ios) > OTHER_OPERATIONS;
        by_bytes || by_operations
    })?;
    let operations = format!(
        " ({} operations of the job, {} of the device)",
        units::count(side.done_ios as f64),
        units::count(side.moved_ios as f64)
    );
    Some(finding(
        "other-io",
        Severity::Warning,
        "The device moved more than the job: somebody else used it meanwhile, or the layers below add I/O.",
        format!("{}{operations}{}", side.evidence(case), suspects(case)),
        "stop other work on the device (iostat and iotop show it) and run again",
    ))
}

/// Who moved bytes meanwhile, as far as may be known.
pub(super) fn suspects(case: &Case<'_>) -> String {
    let Some(processes) = case.samples().and_then(|samples| samples.processes.as_ref()) else {
        return "; who it was may only be seen as root".into();
    };
    let is_somebody = |process: &&ProcessSample| !WORKERS.iter().any(|name| process.name.starts_with(name));
    // Whoever has the device open; where nobody has, whoever moved bytes anywhere.
    let surely = processes.iter().any(|process| process.has_target_open);
    let named: Vec<String> = processes
        .iter()
        .filter(is_somebody)
        .filter(|process| process.has_target_open || !surely)
        .take(NAMED)
        .map(|process| {
            let name: String = process.name.chars().filter(|c| !c.is_control()).collect();
            let rates = [("reads", process.read_bytes_per_s), ("writes", process.write_bytes_per_s)];
            let rates = rates.into_iter().filter(|(_, rate)| *rate > 0.0);
            let rates: Vec<String> =
                rates.map(|(word, rate)| format!("{word} {}", units::bandwidth(rate))).collect();
            let open = if process.has_target_open { ", and has a file open there" } else { "" };
            format!("{name} ({}) {}{open}", process.pid, rates.join(" and "))
        })
        .collect();
    if named.is_empty() {
        "; no process was seen at it".into()
    } else {
        format!("; meanwhile {}", named.join(", "))
    }
}

/// A device left the kernel's table while it was measured.
pub(super) fn device_gone(case: &Case<'_>) -> Option<Finding> {
    let samples = case.samples()?;
    let gone: Vec<String> = samples
        .devices
        .iter()
        .filter(|device| device.intervals_gone > 0)
        .map(|device| {
            format!("{} in {} of {} intervals", device.device, device.intervals_gone, samples.intervals)
        })
        .collect();
    (!gone.is_empty()).then(|| {
        finding(
            "device-gone",
            Severity::Warning,
            "A device was missing from the kernel's counters in mid-run (pulled, reset, or another came in its place): what its devices moved is not known, and was not held against the job.",
            format!("{}: not in /proc/diskstats: {}", case.name(), gone.join(", ")),
            "look at the kernel's log (dmesg --ctime) for resets and removals, and run again",
        )
    })
}
