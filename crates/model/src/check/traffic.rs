//! I/O of others (`iostat -x 1 3`, seed 000).

use iobound_record::{Check, Outcome, VolumeGroup, WatchedDevice, units};

use super::row::Row;
use super::scope::Scope;
use crate::context::{leaves, same_serial};

/// Share of a promised limit that shows in a result: repeats differ by as much.
const SHARE_WARN: f64 = 0.02;
/// Share from which on a result is that of two.
const SHARE_FAIL: f64 = 0.20;
/// Without a promise: operations a second above what an idle system's journals and logs do.
const IOPS_WARN: f64 = 50.0;
/// The same in bytes.
const BYTES_WARN: f64 = 2.0 * units::MIB as f64;
/// Share of the time in which the disk was busy; one that is busy half of the time is somebody else's.
const BUSY_WARN: f64 = 0.10;
const BUSY_FAIL: f64 = 0.50;
/// Few operations a second can keep a slow disk busy, but not these few: a sync or two.
const IOPS_IDLE: f64 = 5.0;

pub(super) fn rules(scope: &Scope<'_>) -> Vec<Check> {
    scope
        .disks()
        .into_iter()
        .map(|(disk, spec)| {
            let group = spec.and_then(|spec| promise(scope, &spec.on, disk));
            one(scope, &disk.name, group)
        })
        .collect()
}

/// The volume group that a disk belongs to: by serial number, else the only one there is.
fn promise<'a>(scope: &Scope<'a>, on: &str, disk: &iobound_record::Device) -> Option<&'a VolumeGroup> {
    let leaves = leaves(scope.context?, on);
    let by_serial = leaves.iter().find(|(_, group)| {
        let wanted =
            |known: &String| !disk.serial.is_empty() && same_serial(known) == same_serial(&disk.serial);
        group.serials.iter().any(wanted)
    });
    by_serial.or(leaves.first()).map(|(_, group)| *group)
}

fn one(scope: &Scope<'_>, disk: &str, group: Option<&VolumeGroup>) -> Check {
    let row = Row::new("other-io", disk).expected("hardly any");
    let Some(watched) = scope.watched else { return row.unknown("nobody watched; see --watch") };
    let Some(traffic) = watched.traffic.iter().find(|device| device.device == disk) else {
        return row.unknown("the kernel keeps no counters of it");
    };
    let shares = [
        group.and_then(|group| group.iops).map(|iops| traffic.iops / iops.max(1) as f64),
        group.and_then(|group| group.bandwidth).map(|bytes| traffic.bytes_per_s / bytes.0.max(1) as f64),
    ];
    let share = shares.into_iter().flatten().fold(0.0, f64::max);
    let outcome = judge(traffic, share, shares.iter().all(Option::is_none));
    let of = if share > 0.0 { format!(", {:.0}% of its limit", 100.0 * share) } else { String::new() };
    row.value(format!(
        "{:.0} IOPS, {}, busy {:.0}%{of} over {} s",
        traffic.iops,
        units::bandwidth(traffic.bytes_per_s),
        100.0 * traffic.busy,
        units::significant(watched.seconds)
    ))
    .why("what others move is missing from the result, and their requests stand in the queue")
    .mend("find who it is (sudo iotop -oP, or pidstat -d 1) and let it end")
    .is(outcome)
}

fn judge(traffic: &WatchedDevice, share: f64, promised_nothing: bool) -> Outcome {
    let busy = if traffic.iops >= IOPS_IDLE { traffic.busy } else { 0.0 };
    if share >= SHARE_FAIL || busy >= BUSY_FAIL {
        return Outcome::Fail;
    }
    let much = promised_nothing && (traffic.iops >= IOPS_WARN || traffic.bytes_per_s >= BYTES_WARN);
    // A share of a small limit can be a single journal write.
    let shown = share >= SHARE_WARN && traffic.iops >= IOPS_IDLE;
    if much || shown || busy >= BUSY_WARN { Outcome::Warn } else { Outcome::Pass }
}
