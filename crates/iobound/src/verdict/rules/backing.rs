//! What is under the range of a job: nothing, memory, or data of another size than it seems.

use iobound_record::{Backing, Finding, Scenario, Severity, TargetFacts, units};

use super::{Case, finding};

/// A read job whose range is this share or more without data is not a measurement of the device.
/// Below it, the share of too-fast answers moves a rate by less than repeats do.
const UNBACKED_MAX: f64 = 0.01;
/// The same for data that is kept compressed.
const ENCODED_MAX: f64 = 0.01;
/// File systems that can compress; others that tell of encoded data encrypt it, which leaves its size.
const COMPRESSING: [&str; 6] = ["btrfs", "bcachefs", "f2fs", "zfs", "erofs", "squashfs"];

pub(super) fn memory_file_system(target: &TargetFacts) -> Option<Finding> {
    matches!(target.filesystem.as_str(), "tmpfs" | "ramfs" | "devtmpfs").then(|| {
        finding(
            "memory-file-system",
            Severity::Error,
            "The target lies in memory: this measures no storage.",
            format!("{} is on {}", target.path, target.filesystem),
            "name a directory on the storage to be measured: --data DIR",
        )
    })
}

pub(super) fn unbacked(scenario: &Scenario) -> Option<Finding> {
    // Its suite may ask for a file that grows, and says why.
    let backing = scenario.backing.filter(|_| !scenario.fresh)?;
    let unbacked = backing.hole_bytes + backing.unwritten_bytes;
    if unbacked == 0 || (unbacked as f64) < UNBACKED_MAX * backing.range_bytes as f64 {
        return None;
    }
    let evidence = format!(
        "{}: of {} there are {} never allocated and {} allocated but never written",
        scenario.name,
        units::bytes(backing.range_bytes),
        units::bytes(backing.hole_bytes),
        units::bytes(backing.unwritten_bytes)
    );
    if !scenario.job.rw.reads() {
        return Some(finding(
            "fresh-file",
            Severity::Note,
            "Writes went to space never written before: each first write also updates the file system's map, which a database that recycles its files does not pay.",
            evidence,
            "add overwrite=1 to lay the file out first",
        ));
    }
    let (id, what) = if backing.hole_bytes >= backing.unwritten_bytes {
        (
            "sparse-file",
            "Reads were answered by the file system, not by the device: the file has no data there.",
        )
    } else {
        (
            "fallocated-file",
            "Reads were answered by the file system, not by the device: space was reserved there (fallocate) and never written.",
        )
    };
    let remedy = "write the file first (a file that iobound makes is laid out with data), or name another";
    Some(finding(id, Severity::Error, what, evidence, remedy))
}

/// The file system keeps the data smaller than it is.
pub(super) fn compressing(case: &Case<'_>) -> Option<Finding> {
    let target = case.target();
    let compresses = |target: &TargetFacts| COMPRESSING.contains(&target.filesystem.as_str());
    if !target.is_some_and(compresses) {
        return None;
    }
    let before = case.scenario.backing.filter(|_| case.job.rw.reads());
    let after = case.scenario.backing_after.filter(|_| case.job.rw.writes());
    let encoded = |backing: &Backing| {
        backing.encoded_bytes > 0 && backing.encoded_bytes as f64 >= ENCODED_MAX * backing.range_bytes as f64
    };
    let backing = [before, after].into_iter().flatten().find(encoded)?;
    let option = target.and_then(|target| {
        let options = target.mount_options.split(',');
        let named = options.into_iter().find(|option| option.starts_with("compress"))?;
        Some(format!(", mounted with {named}"))
    });
    let moved = case.measured.device.as_ref().map(|device| {
        format!(
            "; the job moved {}, the device {}",
            units::bytes(case.measured.read.bytes + case.measured.write.bytes),
            units::bytes(device.total.read_bytes + device.total.write_bytes)
        )
    });
    Some(finding(
        "compressing-storage",
        Severity::Error,
        "The file system keeps this data compressed: fewer bytes move than the job counts, and the processor does the rest.",
        format!(
            "{}: {} of {} are compressed on {}{}{}",
            case.name(),
            units::bytes(backing.encoded_bytes),
            units::bytes(backing.range_bytes),
            target.map_or("", |target| &target.filesystem),
            option.unwrap_or_default(),
            moved.unwrap_or_default()
        ),
        "use incompressible data (buffer_compress_percentage=0, and let iobound lay the file out), or measure where compression is off (chattr +m, or mount without compress); keep it if your own data compresses so",
    ))
}
