//! Caches: the page cache, one in between that answers, one in the device that may forget.

use iobound_record::{DeviceSummary, Finding, Severity, SyncMode, units};

use super::company::{self, SLACK_BYTES};
use super::{Case, backing, finding};

/// Below this share of the program's bytes the device did not do the work: metadata and alignment
/// only ever add.
const DEVICE_SHARE_MIN: f64 = 0.90;
/// Fewer syncs a second than this say nothing about flushes: a second's journal commit is one.
const SYNCS_MIN: f64 = 20.0;
/// Flushes for each sync that might have been its own, below which syncs end without one. Every sync of
/// one thread is a flush; syncs at the same time share theirs, so those in flight together count as one.
const FLUSH_SHARE_MIN: f64 = 0.10;

/// The device moved less than the program: something between them answered.
pub(super) fn answered(case: &Case<'_>) -> Option<Finding> {
    let sides = company::both_sides(case)?;
    // What is compressed is named as that.
    if backing::compressing(case).is_some() {
        return None;
    }
    let side = sides.into_iter().find(|side| {
        let expected = side.covered * side.done as f64;
        (side.moved as f64) < DEVICE_SHARE_MIN * expected && expected - side.moved as f64 > SLACK_BYTES as f64
    })?;
    Some(finding(
        "cache-answered",
        Severity::Error,
        "The device moved less than the job: something in between answered (a cache, a hole, compression).",
        side.evidence(case),
        "use a working set larger than the caches, incompressible data, and direct=1",
    ))
}

/// Writes that nothing made durable, to a device that may hold them in memory.
pub(super) fn volatile(case: &Case<'_>) -> Option<Finding> {
    let job = case.job;
    let synced = job.fsync > 0 || job.fdatasync > 0 || job.end_fsync || job.sync != SyncMode::None;
    let target = case.target().filter(|target| target.write_cache == "write back")?;
    (case.measured.write.ios > 0 && job.direct && !synced).then(|| {
        finding(
            "volatile-cache",
            Severity::Note,
            "Writes without a sync may have ended in the device's volatile cache: rates beyond it are lower.",
            format!("{}: {} says that its write cache is write back", case.name(), target.device),
            "compare with end_fsync=1 and a longer runtime; what a database can rely on is the sync-write row",
        )
    })
}

/// Syncs that reached no device with a volatile cache. What a device does with a flush cannot be seen
/// from here; whether it gets one can.
pub(super) fn sync_not_flushed(case: &Case<'_>) -> Option<Finding> {
    let syncs = case.measured.sync.iops;
    // O_SYNC and O_DSYNC may use FUA writes instead of flushes.
    let by_flush = case.job.sync == SyncMode::None && case.job.direct;
    let target = case.target().filter(|target| by_flush && target.write_cache == "write back")?;
    let samples = case.samples()?;
    let names = &case.measured.device.as_ref()?.names;
    let own = |device: &&DeviceSummary| names.contains(&device.device);
    // Arrays do not count the flushes that they hand down; others' flushes of the disks below are none of
    // ours, but then nothing can be said.
    let counts = |device: &DeviceSummary| !["md", "dm-"].iter().any(|kind| device.device.starts_with(kind));
    let top = samples.devices.iter().find(own).filter(|device| counts(device));
    let below =
        samples.devices.iter().filter(|device| top.map_or(counts(device), |top| top.device == device.device));
    let flushes = below.filter_map(|device| device.flush_iops).map(|flush| flush.mean).reduce(f64::max)?;
    let own = syncs / case.in_flight() as f64;
    (syncs >= SYNCS_MIN && flushes < FLUSH_SHARE_MIN * own).then(|| {
        finding(
            "sync-ignored",
            Severity::Error,
            "Syncs returned without a flush of the device's volatile cache: what they promised a power cut takes.",
            format!(
                "{}: {} syncs/s, and {} flushes/s of {}; write cache {}, mount options {}",
                case.name(),
                units::count(syncs),
                units::count(flushes),
                names.join("+"),
                target.write_cache,
                target.mount_options
            ),
            "mount with barriers (ext4: barrier=1, XFS: no nobarrier), then run again; `iobound durability` proves what survives a power cut",
        )
    })
}
