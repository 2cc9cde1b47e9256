//! The plan of a context, asked by the machine that carries it out.

use iobound_host::prepare::Planner;
use iobound_model::prepare::{self, Input};
use iobound_record::{Context, Ground, Interests, Plan, Probe};

use super::named::NamedDisk;

/// Plans for one context.
#[derive(Clone, Debug)]
pub struct ContextPlanner {
    /// What is meant.
    pub context: Context,
    /// Disks whose content may be destroyed.
    pub named: Vec<NamedDisk>,
}

impl Planner for ContextPlanner {
    fn interests(&self, probe: &Probe) -> Interests {
        prepare::interests(&self.context, probe)
    }

    fn plan(&self, probe: &Probe, ground: &Ground) -> Plan {
        let destroy = self.destroy(probe);
        prepare::plan(&Input { context: &self.context, probe, ground, destroy: &destroy })
    }

    fn destroy(&self, probe: &Probe) -> Vec<String> {
        self.named.iter().filter_map(|disk| disk.device(probe)).collect()
    }
}

/// Tells one version of a context from another.
pub fn context_hash(context: &Context) -> String {
    // FNV-1a, 64 bits: not against forgery, only to tell that a file was edited.
    let text = serde_json::to_string(context).unwrap_or_default();
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}
