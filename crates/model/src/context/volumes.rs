//! The machine and its volumes.

use std::collections::BTreeMap;

use iobound_record::{Cap, Context, Instance, VolumeGroup};

use super::Found;
use super::names::COUNT_MAX;
use super::words::{check_name, is_name, is_plain, is_serial, quoted};

/// Larger than any volume on sale by far: a slip of the unit.
const SIZE_MAX: u64 = 1 << 60;
const DAY_NS: u64 = 86_400 * 1_000_000_000;
const CLOUDS: [&str; 3] = ["aws", "azure", "gcp"];

pub(super) fn instance(found: &mut Found, instance: &Instance) {
    if !instance.name.is_empty() && !is_name(&instance.name) {
        check_name(found, "instance.name", &instance.name);
    }
    if !instance.cloud.is_empty() && !CLOUDS.contains(&instance.cloud.as_str()) {
        let what = format!("{} is no cloud that iobound knows", quoted(&instance.cloud));
        found.warning("instance.cloud", what, format!("use {}, or leave it out", CLOUDS.join(", ")));
    }
    let zero = [
        ("instance.vcpus", instance.vcpus == Some(0)),
        ("instance.memory", instance.memory.is_some_and(|memory| memory.0 == 0)),
    ];
    for (place, _) in zero.into_iter().filter(|(_, zero)| *zero) {
        found.error(place, "is 0", "leave it out when it is not known");
    }
    for (place, cap) in [("instance.sustained", instance.sustained), ("instance.burst", instance.burst)] {
        if let Some(cap) = cap {
            cap_is_positive(found, place, cap);
        }
    }
    if let (Some(sustained), Some(burst)) = (instance.sustained, instance.burst) {
        burst_is_above(found, sustained, burst);
    }
    if instance.burst_per_day.is_some_and(|time| time.0 > DAY_NS) {
        found.error("instance.burst_per_day", "is more than a day", "give the time in 24 hours, as \"30m\"");
    }
}

fn cap_is_positive(found: &mut Found, place: &str, cap: Cap) {
    positive(found, place, "iops", cap.iops);
    positive(found, place, "bandwidth", cap.bandwidth.map(|bandwidth| bandwidth.0));
}

fn positive(found: &mut Found, place: &str, field: &str, value: Option<u64>) {
    if value == Some(0) {
        found.error(format!("{place}.{field}"), "is 0", "leave it out when nobody promises any");
    }
}

fn burst_is_above(found: &mut Found, sustained: Cap, burst: Cap) {
    let below = [
        ("iops", sustained.iops > burst.iops && burst.iops.is_some()),
        ("bandwidth", sustained.bandwidth > burst.bandwidth && burst.bandwidth.is_some()),
    ];
    for (field, _) in below.into_iter().filter(|(_, below)| *below) {
        found.error(
            format!("instance.burst.{field}"),
            "is below what is sustained",
            "exchange the two, or leave out [instance.burst]",
        );
    }
}

pub(super) fn volumes(found: &mut Found, context: &Context) {
    if context.volumes.is_empty() {
        found.error("volume", "there is none", "add a [[volume]] with name, kind and size");
    }
    let mut identities: BTreeMap<String, String> = BTreeMap::new();
    for group in &context.volumes {
        let place = format!("volume.{}", group.name);
        volume(found, &place, group);
        let numbers = [("serials", &group.serials), ("wwns", &group.wwns)];
        for (field, list) in numbers.into_iter().filter(|(_, list)| !list.is_empty()) {
            identities_of(found, &format!("{place}.{field}"), group, list, &mut identities);
        }
    }
}

fn volume(found: &mut Found, place: &str, group: &VolumeGroup) {
    check_name(found, &format!("{place}.name"), &group.name);
    if group.count.0 == 0 || group.count.0 > COUNT_MAX {
        let what = format!("{} volumes", group.count.0);
        found.error(format!("{place}.count"), what, format!("use 1 to {COUNT_MAX}"));
    }
    if !is_plain(&group.kind) {
        found.error(
            format!("{place}.kind"),
            if group.kind.is_empty() {
                "is missing".into()
            } else {
                format!("{} is no word", quoted(&group.kind))
            },
            "say what it is in one word: gp3, io2, premium-ssd, nvme, hdd, virtual",
        );
    }
    match group.size.0 {
        0 => {
            found.error(format!("{place}.size"), "is missing or 0", "give the size of one volume: \"50GiB\"")
        }
        size if size > SIZE_MAX => {
            let what = format!("{} is more than any volume holds", group.size);
            found.error(format!("{place}.size"), what, "check its unit");
        }
        _ => {}
    }
    positive(found, place, "iops", group.iops);
    positive(found, place, "bandwidth", group.bandwidth.map(|bandwidth| bandwidth.0));
    positive(found, place, "latency", group.latency.map(|time| time.0));
    positive(found, place, "sync_latency", group.sync_latency.map(|time| time.0));
}

/// Serials or world-wide names: one a volume, each once.
fn identities_of(
    found: &mut Found,
    place: &str,
    group: &VolumeGroup,
    list: &[String],
    taken: &mut BTreeMap<String, String>,
) {
    if list.len() != group.count.0 as usize {
        found.error(
            place,
            format!("{} for {} volumes", list.len(), group.count.0),
            "give one for each volume, in their order, or none at all",
        );
    }
    for serial in list {
        if !is_serial(serial) {
            let what = format!("{} is no serial number", quoted(serial));
            found.error(place, what, "use what 'lsblk -o NAME,SERIAL,WWN' prints");
        } else if let Some(first) = taken.insert(same_serial(serial), place.to_owned()) {
            let what = format!("{} is already in {first}", quoted(serial));
            found.error(place, what, "each disk has a serial number of its own");
        }
    }
}

/// A serial number so that two ways of writing it are one: the kernel shows EBS volume ids without
/// their dash.
pub fn same_serial(serial: &str) -> String {
    let serial = serial.trim().to_ascii_lowercase();
    match serial.strip_prefix("vol-") {
        Some(rest) => format!("vol{rest}"),
        None => serial,
    }
}
