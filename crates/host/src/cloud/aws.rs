//! EC2's instance metadata service, version 2: "Use the Instance Metadata Service to access instance
//! metadata" in the EC2 user guide. A token first; version 1 without one is not tried.

use iobound_record::Cloud;
use serde_json::Value;

use super::ask::{Asker, word};

/// Seconds: the token is used at once.
const TOKEN_LIFE: &str = "60";

pub(super) fn ask(asker: &Asker) -> Result<Cloud, String> {
    let lives = ("X-aws-ec2-metadata-token-ttl-seconds", TOKEN_LIFE);
    let token = word(&asker.put("/latest/api/token", &[lives])?)?;
    // Type, id and place in one document.
    let document =
        asker.get("/latest/dynamic/instance-identity/document", &[("X-aws-ec2-metadata-token", &token)])?;
    read(&document)
}

/// Reads the instance identity document.
pub(super) fn read(text: &str) -> Result<Cloud, String> {
    let document: Value = serde_json::from_str(text).map_err(|_| "its answer is no JSON")?;
    let field = |name: &str| word(document[name].as_str().unwrap_or_default());
    let cloud = Cloud {
        instance_type: field("instanceType")?,
        instance_id: field("instanceId")?,
        region: field("region")?,
        zone: field("availabilityZone")?,
        ..Cloud::default()
    };
    if cloud.instance_type.is_empty() { Err("its answer names no instance type".into()) } else { Ok(cloud) }
}
