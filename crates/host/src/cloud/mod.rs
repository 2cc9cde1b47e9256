//! Whose cloud this machine is in, by its firmware's tables and by the cloud's metadata service.
//!
//! The service is asked only on a machine whose firmware names that cloud, so a laptop never sends a
//! packet; and over plain HTTP on a link-local address, which is how all three clouds serve it.

mod ask;
mod aws;
mod azure;
mod firmware;
mod gcp;

use std::time::Instant;

use iobound_record::Cloud;

use crate::probe::{Notes, ProbeOptions};
use crate::system::System;
use ask::Asker;

/// Where a metadata service listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataEndpoint {
    /// `http://ADDRESS[:PORT]`, without a slash at its end.
    pub base: String,
}

impl Default for MetadataEndpoint {
    /// The address that EC2, Azure and Google share.
    fn default() -> Self {
        MetadataEndpoint { base: "http://169.254.169.254".into() }
    }
}

const METADATA: &str = "metadata service";

/// The cloud that the firmware names: `aws`, `azure` or `gcp`. Asks nobody.
pub fn provider(system: &System) -> Option<String> {
    firmware::cloud(system).map(|known| known.provider)
}

/// The cloud's word on this machine; None when its firmware names none. A captured machine is not
/// asked for: the answer would be of the machine we run on.
pub(crate) fn identify(system: &System, options: &ProbeOptions, notes: &mut Notes) -> Option<Cloud> {
    let known = firmware::cloud(system)?;
    let may_ask = system.is_live() || options.metadata != MetadataEndpoint::default();
    if options.offline || !may_ask {
        return Some(known);
    }
    let asker = Asker::new(&options.metadata, Instant::now() + options.cloud_timeout);
    let answer = match known.provider.as_str() {
        "aws" => aws::ask(&asker),
        "azure" => azure::ask(&asker),
        _ => gcp::ask(&asker),
    };
    match answer {
        Ok(told) => Some(complete(told, known)),
        Err(why) => {
            notes.add(format!("the metadata service of {} does not tell: {why}", known.provider));
            Some(known)
        }
    }
}

/// What the service left out comes from the firmware.
fn complete(told: Cloud, known: Cloud) -> Cloud {
    let either = |told: String, known: String| if told.is_empty() { known } else { told };
    Cloud {
        provider: known.provider,
        instance_type: either(told.instance_type, known.instance_type),
        instance_id: either(told.instance_id, known.instance_id),
        region: either(told.region, known.region),
        zone: either(told.zone, known.zone),
        source: METADATA.into(),
    }
}

/// Reads each service's answer; for fuzzing.
pub(crate) fn read_any(text: &str) {
    let _ = (aws::read(text), azure::read(text), gcp::read_type(text), gcp::read_zone(text));
}

#[cfg(test)]
mod tests;
