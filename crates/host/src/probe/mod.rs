//! Everything about a machine that bears on its storage.
//!
//! One file a part of [`Probe`]. What could not be read is left empty, and a note says why; nothing
//! here fails, and nothing writes.

mod array;
mod content;
mod device;
mod dm_table;
mod ephemeral;
mod filesystem;
mod geometry;
mod identity;
mod limits;
mod lvm;
mod lvm_text;
mod machine;
mod mdstat;
mod processors;
mod sysctl;
mod tables;
mod udev;

use std::time::Duration;

use iobound_record::{PROBE_VERSION, Probe};

use crate::cloud::{self, MetadataEndpoint};
use crate::system::System;

pub(crate) use identity::numa_node as numa_node_of_disk;
pub(crate) use lvm_text::parse as parse_lvm_text;
pub(crate) use machine::firmware;
pub(crate) use mdstat::parse as parse_mdstat;
pub(crate) use processors::nodes as numa_nodes;

/// What a probe may do beyond reading `/proc` and `/sys`.
#[derive(Clone, Debug)]
pub struct ProbeOptions {
    /// Open no socket: of the cloud only what the firmware's tables tell.
    pub offline: bool,
    /// Read the first and last blocks of each device to see what it holds (as root, on this machine).
    pub read_signatures: bool,
    /// How long all questions to a cloud's metadata service may take together.
    pub cloud_timeout: Duration,
    /// Where that service is; a test puts its own here.
    pub metadata: MetadataEndpoint,
}

impl Default for ProbeOptions {
    fn default() -> Self {
        ProbeOptions {
            offline: false,
            read_signatures: true,
            cloud_timeout: Duration::from_secs(1),
            metadata: MetadataEndpoint::default(),
        }
    }
}

/// What could not be read: each reason once, in the order it came up.
#[derive(Default)]
pub(crate) struct Notes(Vec<String>);

impl Notes {
    pub(crate) fn add(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }

    #[cfg(test)]
    pub(crate) fn into_text(self) -> String {
        self.0.join("\n")
    }
}

/// Looks at everything. `taken` is left to the caller: this room has no calendar.
pub fn probe(system: &System, options: &ProbeOptions) -> Probe {
    let mut notes = Notes::default();
    let tables = tables::Tables::read(system, &mut notes);
    let mut probe = Probe {
        schema: PROBE_VERSION,
        machine: machine::machine(system),
        processor: processors::processor(system),
        memory: processors::memory(system),
        sysctl: sysctl::settings(system),
        transparent_hugepage: sysctl::transparent_hugepage(system),
        limits: limits::limits(system),
        cloud: cloud::identify(system, options, &mut notes),
        devices: device::devices(system, &tables, &mut notes),
        ..Probe::default()
    };
    if probe.machine.kernel.is_empty() {
        notes.add("/proc/sys/kernel cannot be read: this is no Linux machine, or /proc is not mounted");
    }
    probe.arrays = array::arrays(system, &tables, &probe.devices, &mut notes);
    probe.logical_volumes = lvm::logical_volumes(system, &probe.devices, probe.limits.root, &mut notes);
    probe.filesystems = filesystem::filesystems(system, &tables, &mut notes);
    if options.read_signatures {
        content::look(system, &mut probe.devices, probe.limits.root, &mut notes);
    }
    probe.notes = notes.0;
    probe
}
