//! A host's kernel settings as a context says them.

use std::str::FromStr;

use iobound_record::{Bytes, OsSettings, Probe};

/// What the kernel is set to now. A limit in bytes that is 0 means that the ratio rules.
pub(super) fn settings(probe: &Probe) -> OsSettings {
    let bytes = |name: &str| number::<u64>(probe, name).filter(|value| *value > 0).map(Bytes);
    let ratio = |name: &str, instead: Option<Bytes>| {
        number::<u32>(probe, name).filter(|_| instead.is_none()).filter(|percent| *percent > 0)
    };
    let dirty_bytes = bytes("vm.dirty_bytes");
    let dirty_background_bytes = bytes("vm.dirty_background_bytes");
    OsSettings {
        dirty_bytes,
        dirty_background_bytes,
        dirty_ratio: ratio("vm.dirty_ratio", dirty_bytes),
        dirty_background_ratio: ratio("vm.dirty_background_ratio", dirty_background_bytes),
        dirty_writeback_centisecs: number(probe, "vm.dirty_writeback_centisecs"),
        dirty_expire_centisecs: number(probe, "vm.dirty_expire_centisecs"),
        swappiness: number(probe, "vm.swappiness"),
        overcommit_memory: number(probe, "vm.overcommit_memory"),
        transparent_hugepage: Some(probe.transparent_hugepage.clone()).filter(|word| !word.is_empty()),
        nofile: None,
    }
}

fn number<T: FromStr>(probe: &Probe, name: &str) -> Option<T> {
    probe.sysctl.get(name)?.trim().parse().ok()
}
