//! Which disk it is: model, serial number, world-wide name, and how it is attached.

use std::path::PathBuf;

use iobound_record::{Device, DeviceSort};

use super::ephemeral;
use super::udev::Properties;
use crate::block;
use crate::system::System;

/// Fills in what tells a device from another: `disk` is the device or, for a partition, the whole disk. The
/// kernel's own attributes first: udev may not run, and escapes what it keeps.
pub(super) fn fill(system: &System, disk: &str, udev: Option<&Properties>, device: &mut Device) {
    let attribute = |names: &[&str]| {
        let mut texts = names.iter().filter_map(|name| block::attribute(system, disk, name));
        texts.find(|text| !text.is_empty()).map(|text| plain(&text))
    };
    let from_udev = |names: &[&str]| udev.and_then(|p| p.first(names)).map(str::to_owned);
    let model = match (attribute(&["device/vendor"]), attribute(&["device/model", "device/name"])) {
        // SCSI parts them; PCI drivers show a number as vendor.
        (Some(vendor), Some(model)) if !vendor.starts_with("0x") && vendor != "ATA" => {
            format!("{vendor} {model}")
        }
        (_, model) => model.or_else(|| from_udev(&["ID_MODEL"])).unwrap_or_default(),
    };
    let serial = attribute(&["serial", "device/serial"])
        .or_else(|| scsi_serial(system, disk))
        .or_else(|| from_udev(&["ID_SCSI_SERIAL", "ID_SERIAL_SHORT"]))
        .unwrap_or_default();
    let wwn = attribute(&["wwid", "device/wwid"])
        .or_else(|| from_udev(&["ID_WWN_WITH_EXTENSION", "ID_WWN"]))
        .unwrap_or_default();
    device.transport = transport(system, disk);
    device.ebs_volume_id = ebs_volume_id(&model, &serial);
    device.ephemeral = ephemeral::is_ephemeral(system, disk, &model);
    // A partition is told by its disk's serial; repeating it would make two devices look like one.
    if device.sort != DeviceSort::Partition {
        (device.model, device.serial, device.wwn) = (model, serial, wwn);
    }
}

/// Without padding: SCSI and NVMe fill names up with spaces, some firmware with zeros.
fn plain(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c == '\0').filter(|w| !w.is_empty()).collect();
    words.join(" ")
}

/// The unit serial number page: SPC-4 7.8.15. Four bytes of header, the length in its last two.
fn scsi_serial(system: &System, disk: &str) -> Option<String> {
    let page = std::fs::read(system.place(format!("{}/device/vpd_pg80", block::dir(disk)))).ok()?;
    let length = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
    let text = page.get(4..)?.get(..length)?;
    Some(plain(&String::from_utf8_lossy(text))).filter(|serial| !serial.is_empty())
}

/// "Identify EBS volumes" in the EC2 user guide: the serial is the volume's id without its dash.
fn ebs_volume_id(model: &str, serial: &str) -> String {
    let hex = serial.strip_prefix("vol").map(|rest| rest.trim_start_matches('-'));
    match hex {
        Some(hex)
            if model.contains("Amazon Elastic Block Store")
                && !hex.is_empty()
                && hex.bytes().all(|c| c.is_ascii_hexdigit()) =>
        {
            format!("vol-{hex}")
        }
        _ => String::new(),
    }
}

/// The directory of a device in the tree of `/sys/devices`, links resolved.
pub(super) fn place(system: &System, disk: &str) -> Option<PathBuf> {
    std::fs::canonicalize(system.place(block::dir(disk))).ok()
}

/// By the kernel's names for its drivers' devices, and for SCSI by what the host adapter hangs on.
fn transport(system: &System, disk: &str) -> String {
    const BY_NAME: [(&str, &str); 9] = [
        ("nvme", "nvme"),
        ("vd", "virtio"),
        ("xvd", "xen"),
        ("mmcblk", "mmc"),
        ("pmem", "pmem"),
        ("nbd", "nbd"),
        ("rbd", "rbd"),
        ("dasd", "ccw"),
        ("cciss", "scsi"),
    ];
    if let Some((_, transport)) = BY_NAME.iter().find(|(prefix, _)| disk.starts_with(prefix)) {
        return (*transport).into();
    }
    if !(disk.starts_with("sd") || disk.starts_with("sr")) {
        return String::new();
    }
    let place = place(system, disk).unwrap_or_default();
    let hangs_on = |prefix: &str| {
        place.iter().any(|part| {
            let rest = part.to_str().and_then(|part| part.strip_prefix(prefix));
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        })
    };
    if hangs_on("usb") {
        "usb".into()
    } else if hangs_on("ata") {
        "ata".into()
    } else {
        "scsi".into()
    }
}

/// The NUMA node of the nearest device above that tells one; -1 is none.
pub(crate) fn numa_node(system: &System, disk: &str) -> Option<u32> {
    let place = place(system, disk)?;
    let top = std::fs::canonicalize(system.place("/sys/devices")).ok()?;
    // A malformed tree may link out of itself.
    let above = place.ancestors().take_while(|at| at.starts_with(&top));
    let mut told = above.filter_map(|at| std::fs::read_to_string(at.join("numa_node")).ok());
    told.next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volume_ids() {
        let model = "Amazon Elastic Block Store";
        assert_eq!(ebs_volume_id(model, "vol0123456789abcdef0"), "vol-0123456789abcdef0");
        assert_eq!(ebs_volume_id(model, "vol-0123456789abcdef0"), "vol-0123456789abcdef0");
        for serial in ["", "vol", "volume", "AWS123", "0123"] {
            assert_eq!(ebs_volume_id(model, serial), "", "{serial}");
        }
        assert_eq!(ebs_volume_id("Samsung SSD", "vol0123"), "");
    }

    #[test]
    fn padding_goes() {
        assert_eq!(plain("  Samsung  SSD 980\0\0 "), "Samsung SSD 980");
    }
}
