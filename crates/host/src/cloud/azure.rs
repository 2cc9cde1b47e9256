//! Azure's instance metadata service: "Azure Instance Metadata Service for virtual machines".

use iobound_record::Cloud;
use serde_json::Value;

use super::ask::{Asker, word};

/// The oldest version that has the zone.
const PATH: &str = "/metadata/instance/compute?api-version=2021-02-01&format=json";

pub(super) fn ask(asker: &Asker) -> Result<Cloud, String> {
    read(&asker.get(PATH, &[("Metadata", "true")])?)
}

/// Reads the compute part of the instance document.
pub(super) fn read(text: &str) -> Result<Cloud, String> {
    let document: Value = serde_json::from_str(text).map_err(|_| "its answer is no JSON")?;
    let field = |name: &str| word(document[name].as_str().unwrap_or_default());
    let cloud = Cloud {
        instance_type: field("vmSize")?,
        instance_id: field("vmId")?,
        region: field("location")?,
        zone: field("zone")?,
        ..Cloud::default()
    };
    if cloud.instance_type.is_empty() { Err("its answer names no size of machine".into()) } else { Ok(cloud) }
}
