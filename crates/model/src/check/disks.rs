//! The disks: whether the context's are here, and whether they are fit for a database.

use iobound_record::{Check, Context, Device, DeviceSort, Outcome, Probe, VolumeGroup, units};

use super::row::{Row, node};
use super::scope::Scope;
use crate::context::same_serial;

pub(super) fn rules(scope: &Scope<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    if let Some(context) = scope.context {
        checks.extend(context.volumes.iter().filter_map(|group| present(context, scope.probe, group)));
    }
    for device in scope.devices() {
        checks.extend(writable(device));
        checks.extend(ephemeral(scope, device));
    }
    checks
}

/// Whether a disk has that serial, volume id or world-wide name.
fn is_it(disk: &Device, wanted: &str) -> bool {
    let own = [&disk.serial, &disk.ebs_volume_id, &disk.wwn];
    own.into_iter().any(|own| !own.is_empty() && same_serial(own) == same_serial(wanted))
}

/// A group of the context whose disks are told by number.
fn present(context: &Context, probe: &Probe, group: &VolumeGroup) -> Option<Check> {
    let wanted = if group.serials.is_empty() { &group.wwns } else { &group.serials };
    if wanted.is_empty() {
        return None;
    }
    let disks = || {
        probe.devices.iter().filter(|device| {
            matches!(device.sort, DeviceSort::Disk | DeviceSort::DeviceMapper | DeviceSort::Loop)
        })
    };
    let missing: Vec<&str> =
        wanted.iter().map(String::as_str).filter(|wanted| !disks().any(|disk| is_it(disk, wanted))).collect();
    let row = Row::new("disks", &group.name)
        .expected(format!("{} x {}", group.count.0, units::bytes(group.size.0)))
        .mend(format!(
            "attach them, or take the context of this host (context is {}): lsblk -o NAME,SIZE,SERIAL,WWN",
            context.name
        ));
    if !missing.is_empty() {
        return Some(
            row.value(format!("{} of {} missing: {}", missing.len(), wanted.len(), missing.join(" ")))
                .why("what is not attached takes its share of operations with it")
                .is(Outcome::Fail),
        );
    }
    let small = disks().find(|disk| wanted.iter().any(|w| is_it(disk, w)) && disk.size_bytes < group.size.0);
    Some(match small {
        Some(disk) => row
            .value(format!("{} holds {}", disk.name, units::bytes(disk.size_bytes)))
            .why("cloud volumes are promised operations by their size")
            .is(Outcome::Warn),
        None => row.value(format!("all {} are here", wanted.len())).is(Outcome::Pass),
    })
}

fn writable(device: &Device) -> Option<Check> {
    device.read_only.then(|| {
        Row::new("device-writable", &device.name)
            .value("read-only")
            .expected("writable")
            .why("the kernel refuses every write")
            .mend(format!("sudo blockdev --setrw {}", node(&device.name)))
            .is(Outcome::Fail)
    })
}

fn ephemeral(scope: &Scope<'_>, device: &Device) -> Option<Check> {
    if !device.ephemeral || !scope.for_database() {
        return None;
    }
    let roles = scope.places.iter().filter(|place| place.role.is_some());
    let holds = roles.into_iter().any(|place| place.stack.iter().any(|below| below.name == device.name));
    let row =
        Row::new("ephemeral", &device.name).value("goes with the instance").expected("a volume that stays");
    let row = row.why("a stop, a failed host or a resize loses the database; good for scratch and replicas");
    holds.then(|| row.mend("put the database on a volume that outlives the instance").is(Outcome::Warn))
}
