//! What the firmware's tables (SMBIOS) tell of the cloud.

use iobound_record::Cloud;

use crate::probe::firmware as entry;
use crate::system::System;

/// Azure's mark in the chassis' asset tag: "Azure Instance Metadata Service", and cloud-init's
/// DataSourceAzure. Hyper-V on somebody's own machine has the same vendor and not this.
const AZURE_ASSET_TAG: &str = "7783-7084-3265-9085-8269-3286-77";

/// None when they name no cloud that we know.
pub(super) fn cloud(system: &System) -> Option<Cloud> {
    let vendor = entry(system, "sys_vendor");
    let product = entry(system, "product_name");
    let provider = if vendor == "Amazon EC2" || entry(system, "bios_version").contains("amazon") {
        "aws"
    } else if entry(system, "chassis_asset_tag") == AZURE_ASSET_TAG {
        "azure"
    } else if vendor == "Google" && product == "Google Compute Engine" {
        "gcp"
    } else {
        return None;
    };
    let mut cloud = Cloud { provider: provider.into(), source: "firmware tables".into(), ..Cloud::default() };
    // Nitro machines carry their type as product and their id as asset tag; Xen ones have neither.
    if vendor == "Amazon EC2" {
        cloud.instance_type = product;
        let tag = entry(system, "board_asset_tag");
        cloud.instance_id = if tag.starts_with("i-") { tag } else { String::new() };
    }
    Some(cloud)
}
