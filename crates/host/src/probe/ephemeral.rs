//! Disks whose data goes with the instance: a benchmark may use them, a database must not.

use super::identity::place;
use crate::system::System;

/// Models of local disks. EC2: "SSD instance store volumes" in the user guide. Azure: "Temporary NVMe
/// disks" of the newer sizes. GCP: "About Local SSD disks"; its durable disks are `nvme_card-pd` and
/// `PersistentDisk`.
const MODELS: [&str; 3] = ["Amazon EC2 NVMe Instance Storage", "Microsoft NVMe Direct Disk", "EphemeralDisk"];
const MODELS_EXACT: [&str; 1] = ["nvme_card"];

/// Azure's temporary disk has no name of its own. It is the one on the second IDE channel (first
/// generation), or LUN 1 of the SCSI adapter that also has the system's disk (second generation):
/// the agent's udev rules, WALinuxAgent config/66-azure-storage.rules.
const AZURE_IDE: &str = "00000000-0001-";
const AZURE_SYSTEM_ADAPTER: &str = "f8b3781a-1e82-4818-a1c3-63d806ec15bb";

pub(super) fn is_ephemeral(system: &System, disk: &str, model: &str) -> bool {
    if MODELS.iter().any(|known| model.contains(known)) || MODELS_EXACT.contains(&model) {
        return true;
    }
    // Only Hyper-V's disks have such an adapter above them.
    model.contains("Virtual Disk") && is_azure_temporary(system, disk)
}

fn is_azure_temporary(system: &System, disk: &str) -> bool {
    let Some(place) = place(system, disk) else { return false };
    let Some(adapter) = place.ancestors().find_map(|at| std::fs::read_to_string(at.join("device_id")).ok())
    else {
        return false;
    };
    let adapter = adapter.trim().trim_start_matches('{');
    adapter.starts_with(AZURE_IDE) || (adapter.starts_with(AZURE_SYSTEM_ADAPTER) && lun(&place) == Some(1))
}

/// The last number of the SCSI address `host:channel:target:lun` on the way to the disk.
fn lun(place: &std::path::Path) -> Option<u64> {
    place.iter().rev().filter_map(|part| part.to_str()).find_map(|part| {
        let numbers: Vec<&str> = part.split(':').collect();
        let all_numbers = numbers.iter().all(|n| !n.is_empty() && n.bytes().all(|c| c.is_ascii_digit()));
        (numbers.len() == 4 && all_numbers).then(|| numbers[3].parse().ok())?
    })
}
