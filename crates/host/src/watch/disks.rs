//! Traffic of every disk.

use std::collections::HashMap;

use iobound_record::WatchedDevice;

use crate::block::{self, SECTOR_BYTES};
use crate::diskstats::{Counters, parse_diskstats};
use crate::system::System;

/// The counters at one moment, by kernel name.
pub(super) struct Sample(HashMap<String, Counters>);

impl Sample {
    pub fn take(system: &System) -> Sample {
        Sample(parse_diskstats(&system.attribute("/proc/diskstats").unwrap_or_default()))
    }

    /// What every whole device did since; partitions only repeat their disk's.
    pub fn traffic_since(&self, system: &System, seconds: f64) -> Vec<WatchedDevice> {
        let now = Sample::take(system);
        let mut found: Vec<WatchedDevice> = now
            .0
            .iter()
            .filter(|(name, _)| !block::exists(system, name, "partition"))
            // A device that is new has moved nothing that we saw.
            .filter_map(|(name, counters)| Some((name, counters.since(self.0.get(name)?))))
            .filter(|(name, _)| block::attribute(system, name, "size").is_none_or(|size| size != "0"))
            .map(|(name, moved)| traffic(name, &moved, seconds))
            .collect();
        found.sort_by(|a, b| b.busy.total_cmp(&a.busy).then_with(|| a.device.cmp(&b.device)));
        found
    }
}

fn traffic(name: &str, moved: &Counters, seconds: f64) -> WatchedDevice {
    let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let sectors = moved.read_sectors.saturating_add(moved.write_sectors);
    WatchedDevice {
        device: name.to_owned(),
        iops: rate(moved.read_ios.saturating_add(moved.write_ios)),
        bytes_per_s: rate(sectors.saturating_mul(SECTOR_BYTES)),
        // The kernel counts in ticks, so a short watch may come out above 1.
        busy: (rate(moved.busy_ms) / 1000.0).min(1.0),
    }
}
