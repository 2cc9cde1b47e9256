//! Google's metadata server: "About VM metadata" in the Compute Engine documentation. One value a
//! question, types and zones as paths: `projects/123/machineTypes/n2-standard-8`.

use iobound_record::Cloud;

use super::ask::{Asker, word};

pub(super) fn ask(asker: &Asker) -> Result<Cloud, String> {
    let get = |name: &str| {
        asker.get(&format!("/computeMetadata/v1/instance/{name}"), &[("Metadata-Flavor", "Google")])
    };
    let instance_type = read_type(&get("machine-type")?)?;
    // The type is what matters; the rest may fail.
    let (zone, region) = get("zone").and_then(|text| read_zone(&text)).unwrap_or_default();
    let instance_id = get("id").and_then(|text| word(&text)).unwrap_or_default();
    Ok(Cloud { instance_type, instance_id, region, zone, ..Cloud::default() })
}

pub(super) fn read_type(text: &str) -> Result<String, String> {
    match word(text)?.rsplit_once("/machineTypes/") {
        Some((_, name)) if !name.is_empty() => Ok(name.to_owned()),
        _ => Err("its answer names no machine type".into()),
    }
}

/// Zone and region: a zone is its region with a letter after the last dash.
pub(super) fn read_zone(text: &str) -> Result<(String, String), String> {
    let text = word(text)?;
    let zone = text.rsplit_once("/zones/").map(|(_, zone)| zone).ok_or("its answer names no zone")?;
    let region = zone.rsplit_once('-').map(|(region, _)| region).unwrap_or_default();
    Ok((zone.to_owned(), region.to_owned()))
}
