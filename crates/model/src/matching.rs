//! Which disks of a host are a context's volumes.
//!
//! By serial number or world-wide name, never by kernel name: `nvme1n1` may be another disk after the
//! next boot.

use std::collections::BTreeMap;

use iobound_record::{Context, Device, DeviceSort, Probe, VolumeGroup};
use thiserror::Error;

/// By how much a disk may differ from the size that its context gives, parts of a thousand: drives are
/// sold by rounded sizes ("1.9 TB" has 1,900,000,000,000 bytes, and up to 1% more).
const SIZE_TOLERANCE_PERMILLE: u64 = 20;

/// Kinds of volume that are EBS (docs.aws.amazon.com, "Amazon EBS volume types").
const EBS_KINDS: [&str; 7] = ["gp2", "gp3", "io1", "io2", "st1", "sc1", "standard"];

/// Why a volume of a context is no disk of the host.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Mismatch {
    /// The context does not say which disk it is.
    #[error(
        "volume '{volume}' has no serial number or WWN in the context, and disks are never chosen by name: \
         add its serial (lsblk -d -o NAME,SERIAL,WWN,SIZE)"
    )]
    Unnamed {
        /// The volume.
        volume: String,
    },
    /// A disk's kernel name or path stands where its serial should.
    #[error(
        "volume '{volume}' gives '{given}', which is a name and not a serial number: names change between \
         boots; give the serial (lsblk -d -o NAME,SERIAL,WWN,SIZE)"
    )]
    IsName {
        /// The volume.
        volume: String,
        /// What it gives.
        given: String,
    },
    /// Too few or too many serials.
    #[error("volume group '{group}' has {volumes} volumes and {names} serial numbers or WWNs")]
    Count {
        /// The group.
        group: String,
        /// Its volumes.
        volumes: u32,
        /// What it names.
        names: usize,
    },
    /// No such disk.
    #[error("volume '{volume}' ({given}) is not attached to this host")]
    Missing {
        /// The volume.
        volume: String,
        /// Its serial or WWN.
        given: String,
    },
    /// More than one disk has it.
    #[error("volume '{volume}': {} disks have the serial '{given}': {}", devices.len(), devices.join(", "))]
    Ambiguous {
        /// The volume.
        volume: String,
        /// Its serial or WWN.
        given: String,
        /// Kernel names.
        devices: Vec<String>,
    },
    /// Two volumes are the same disk.
    #[error("volumes '{volume}' and '{other}' are the same disk, {device}")]
    Same {
        /// One.
        volume: String,
        /// The other.
        other: String,
        /// Kernel name.
        device: String,
    },
    /// Another size.
    #[error("volume '{volume}': {device} has {is} bytes, and the context says {wanted}")]
    Size {
        /// The volume.
        volume: String,
        /// Kernel name.
        device: String,
        /// By the context.
        wanted: u64,
        /// By the host.
        is: u64,
    },
    /// Another kind.
    #[error("volume '{volume}': {device} is {is}, and the context says it is {wanted}")]
    Kind {
        /// The volume.
        volume: String,
        /// Kernel name.
        device: String,
        /// By the context.
        wanted: String,
        /// By the host.
        is: String,
    },
    /// The machine is another one.
    #[error("the context is for {what} {wanted}, and this host is {is}")]
    Machine {
        /// `instance type` or `cloud`.
        what: &'static str,
        /// By the context.
        wanted: String,
        /// By the host.
        is: String,
    },
}

/// A serial or WWN in one form: what udev puts before (`nvme-Model_`, `wwn-0x`, `/dev/disk/by-id/`) and
/// the namespace behind (`_1`) taken off, EBS volume ids without their dash, in small letters.
pub fn normalised(given: &str) -> String {
    let text = given.trim();
    let by_id = text.strip_prefix("/dev/disk/by-id/");
    let mut text = by_id.unwrap_or(text);
    for prefix in ["wwn-", "scsi-", "nvme-", "ata-", "virtio-", "google-"] {
        if let Some(rest) = text.strip_prefix(prefix) {
            text = rest;
            // Only udev's names have the model before the serial; a serial may contain `_` itself.
            let last = text.trim_end_matches("_1").rsplit('_').next().unwrap_or(text);
            text = last;
            break;
        }
    }
    let text = text.to_ascii_lowercase();
    let text =
        ["naa.", "eui.", "uuid.", "0x"].iter().fold(text.as_str(), |t, p| t.strip_prefix(p).unwrap_or(t));
    match text.strip_prefix("vol-") {
        Some(id) if !id.is_empty() => format!("vol{id}"),
        _ => text.to_owned(),
    }
}

/// The disk of each volume, by name; or everything that does not fit.
///
/// # Errors
/// Every [`Mismatch`] there is.
pub fn match_volumes(context: &Context, probe: &Probe) -> Result<BTreeMap<String, String>, Vec<Mismatch>> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut misses = machine(context, probe);
    for group in &context.volumes {
        let named = group.serials.len().max(group.wwns.len());
        if named != 0 && named != group.count.0 as usize {
            misses.push(Mismatch::Count { group: group.name.clone(), volumes: group.count.0, names: named });
            continue;
        }
        for (at, volume) in group.volume_names().into_iter().enumerate() {
            match disk_of(group, at, &volume, probe) {
                Ok(device) => {
                    let other = found.iter().find(|(_, taken)| **taken == device.name);
                    if let Some((other, _)) = other {
                        let (other, device) = (other.clone(), device.name.clone());
                        misses.push(Mismatch::Same { volume, other, device });
                        continue;
                    }
                    misses.extend(differences(group, &volume, device));
                    found.insert(volume, device.name.clone());
                }
                Err(miss) => misses.push(miss),
            }
        }
    }
    if misses.is_empty() { Ok(found) } else { Err(misses) }
}

fn machine(context: &Context, probe: &Probe) -> Vec<Mismatch> {
    let Some(cloud) = &probe.cloud else { return Vec::new() };
    let differs =
        |wanted: &str, is: &str| !wanted.is_empty() && !is.is_empty() && !wanted.eq_ignore_ascii_case(is);
    let mut found = Vec::new();
    let pairs = [
        ("cloud", &context.instance.cloud, &cloud.provider),
        ("instance type", &context.instance.name, &cloud.instance_type),
    ];
    for (what, wanted, is) in pairs {
        if differs(wanted, is) {
            found.push(Mismatch::Machine { what, wanted: wanted.clone(), is: is.clone() });
        }
    }
    found
}

fn disk_of<'a>(
    group: &VolumeGroup,
    at: usize,
    volume: &str,
    probe: &'a Probe,
) -> Result<&'a Device, Mismatch> {
    let given = group.serials.get(at).or_else(|| group.wwns.get(at));
    let given = given.ok_or_else(|| Mismatch::Unnamed { volume: volume.to_owned() })?.clone();
    let volume = volume.to_owned();
    let wanted = normalised(&given);
    let is_path = given.starts_with("/dev/") && !given.starts_with("/dev/disk/by-id/");
    if wanted.is_empty() {
        return Err(Mismatch::Unnamed { volume });
    }
    if is_path || probe.device(&given).is_some() {
        return Err(Mismatch::IsName { volume, given });
    }
    let has = |text: &str| !text.is_empty() && normalised(text) == wanted;
    // Partitions, arrays and path devices repeat the serial of what they lie on; only whole disks count.
    let disks = probe.devices.iter().filter(|device| device.sort == DeviceSort::Disk);
    let fit: Vec<&Device> =
        disks.filter(|d| has(&d.serial) || has(&d.wwn) || has(&d.ebs_volume_id)).collect();
    match fit.as_slice() {
        [one] => Ok(one),
        [] => Err(Mismatch::Missing { volume, given }),
        many => {
            Err(Mismatch::Ambiguous { volume, given, devices: many.iter().map(|d| d.name.clone()).collect() })
        }
    }
}

fn differences(group: &VolumeGroup, volume: &str, device: &Device) -> Vec<Mismatch> {
    let mut found = Vec::new();
    let (wanted, is) = (group.size.0, device.size_bytes);
    if wanted > 0 && wanted.abs_diff(is) > wanted / 1000 * SIZE_TOLERANCE_PERMILLE {
        found.push(Mismatch::Size { volume: volume.into(), device: device.name.clone(), wanted, is });
    }
    if let Some(is) = other_kind(&group.kind.to_ascii_lowercase(), device) {
        let wanted = group.kind.clone();
        found.push(Mismatch::Kind { volume: volume.into(), device: device.name.clone(), wanted, is });
    }
    found
}

/// What a device is, when it cannot be of this kind.
fn other_kind(kind: &str, device: &Device) -> Option<String> {
    let is_ebs = !device.ebs_volume_id.is_empty() || device.model.contains("Elastic Block Store");
    if EBS_KINDS.contains(&kind) {
        if device.ephemeral {
            return Some("a disk that is lost with the instance".into());
        }
        return (!is_ebs).then(|| format!("'{}', no EBS volume", device.model));
    }
    match kind {
        "nvme" if is_ebs => Some("an EBS volume".into()),
        "nvme" if !device.transport.is_empty() && device.transport != "nvme" => {
            Some(format!("attached by {}", device.transport))
        }
        "hdd" if device.rotational == Some(false) => Some("a disk that does not spin".into()),
        _ => None,
    }
}

#[cfg(test)]
#[path = "matching_tests.rs"]
mod tests;
