//! Disks that the user gives up by name: `--destroy-data DISK`.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use iobound_model::matching::normalised;
use iobound_record::{Device, DeviceSort, Probe};

/// A disk or array that was named, kept by what it is: names may change while we work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedDisk {
    /// As given.
    pub given: String,
    device: Device,
    array: String,
}

impl NamedDisk {
    /// Its kernel name now; None when it is gone.
    pub fn device(&self, probe: &Probe) -> Option<String> {
        let now = probe.devices.iter().find(|device| self.is(device, probe))?;
        Some(now.name.clone())
    }

    fn is(&self, other: &Device, probe: &Probe) -> bool {
        let mine = &self.device;
        if mine.sort != other.sort {
            return false;
        }
        if !self.array.is_empty() {
            return array_id(other, probe) == self.array;
        }
        match (mine.serial.is_empty(), mine.wwn.is_empty()) {
            (false, _) => mine.serial == other.serial,
            (_, false) => mine.wwn == other.wwn,
            _ => mine.name == other.name && mine.size_bytes == other.size_bytes,
        }
    }

    /// Which disk the name stood for.
    pub fn told(&self) -> String {
        let device = &self.device;
        let gib = device.size_bytes as f64 / f64::from(1 << 30);
        let mut told = format!("{} is /dev/{}, {gib:.1} GiB", self.given, device.name);
        if !device.serial.is_empty() {
            told += &format!(", serial {}", device.serial);
        }
        told
    }
}

fn array_id(device: &Device, probe: &Probe) -> String {
    match device.sort {
        DeviceSort::Md => {
            let found = probe.arrays.iter().find(|md| md.name == device.name);
            found.map(|md| md.uuid.clone()).unwrap_or_default()
        }
        DeviceSort::Lvm => {
            let found = probe.logical_volumes.iter().find(|lv| lv.device == device.name);
            found.map(|lv| format!("{}/{}", lv.group, lv.name)).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// The disks that these names stand for: `/dev` paths (links are followed) or serial numbers.
///
/// # Errors
/// A name stands for nothing, for a partition, or for more than one disk.
pub fn named(names: &[String], probe: &Probe) -> Result<Vec<NamedDisk>, String> {
    names.iter().map(|name| one(name, probe)).collect()
}

fn one(name: &str, probe: &Probe) -> Result<NamedDisk, String> {
    let fit: Vec<&Device> = match name.starts_with('/') {
        true => at_path(name, probe)?,
        false => by_serial(name, probe),
    };
    match fit.as_slice() {
        [device] if device.sort == DeviceSort::Partition => Err(format!(
            "--destroy-data {name}: it is a partition of {}: name the disk to lose everything on it",
            device.disk
        )),
        [device] => {
            let array = array_id(device, probe);
            Ok(NamedDisk { given: name.to_owned(), device: (*device).clone(), array })
        }
        [] => {
            Err(format!("--destroy-data {name}: this host has no such disk (a /dev path or a serial number)"))
        }
        many => {
            let names: Vec<&str> = many.iter().map(|device| device.name.as_str()).collect();
            Err(format!("--destroy-data {name}: {} have that serial", names.join(" and ")))
        }
    }
}

fn by_serial<'a>(name: &str, probe: &'a Probe) -> Vec<&'a Device> {
    let wanted = normalised(name);
    let has = |text: &str| !text.is_empty() && normalised(text) == wanted;
    let disks = probe.devices.iter().filter(|device| device.sort == DeviceSort::Disk);
    disks.filter(|disk| has(&disk.serial) || has(&disk.wwn) || has(&disk.ebs_volume_id)).collect()
}

fn at_path<'a>(path: &str, probe: &'a Probe) -> Result<Vec<&'a Device>, String> {
    let meta = fs::metadata(path).map_err(|error| format!("--destroy-data {path}: {error}"))?;
    if !meta.file_type().is_block_device() {
        return Err(format!("--destroy-data {path}: it is no block device"));
    }
    let number = iobound_host::DeviceNumber::from_raw(meta.rdev()).to_string();
    Ok(probe.devices.iter().filter(|device| device.number == number).collect())
}
