//! What kind of device a few measured figures look like.
//!
//! A guess with its reasons, for whoever has no context: the thresholds are the orders of magnitude that
//! separate the kinds, not limits of any product.

use iobound_record::{DeviceClass, units};

/// A random read of 4 to 8 KiB, alone. A disk turns: half a turn at 7,200 a minute is 4.2 ms before any
/// seek, and even with its cache and short strokes a mean below 2 ms is none of a disk's.
const ROTATIONAL_FROM_NS: f64 = 2_000_000.0;
/// Volumes behind a network take some hundred microseconds at least (gp3 in the seeds: 589 us), a local
/// drive's flash some 60 to 120 us with its protocol.
const NETWORK_FROM_NS: f64 = 250_000.0;
/// NVMe flash reads take 60 us and more; SATA and virtual disks add their controller's share.
const SSD_FROM_NS: f64 = 120_000.0;
/// No flash answers random reads faster than this over a set larger than its cache.
const FLASH_FROM_NS: f64 = 25_000.0;
/// Depth that multiplies what one at a time gives by less than this, while operations at depth wait, means
/// that a limit holds both.
const DEPTH_GAIN_MIN: f64 = 1.5;

/// What a run knows. Rates in operations per second, times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Figures {
    /// Median of a small random read, one at a time.
    pub read_alone_ns: Option<f64>,
    /// Small random reads, one at a time.
    pub read_alone_iops: Option<f64>,
    /// Small random reads at depth, the most.
    pub read_deep_iops: Option<f64>,
    /// Mean of a sync, one write at a time.
    pub sync_ns: Option<f64>,
}

/// The class; None without the time of a single read.
pub fn device_class(figures: &Figures) -> Option<DeviceClass> {
    let read = figures.read_alone_ns.filter(|ns| *ns > 0.0)?;
    let (id, says) = match read {
        _ if read >= ROTATIONAL_FROM_NS => {
            ("rotational", "behaves like a disk that turns, or a slow network")
        }
        _ if read >= NETWORK_FROM_NS => {
            ("network-volume", "behaves like a volume behind a network, as clouds have")
        }
        _ if read >= SSD_FROM_NS => {
            ("ssd", "behaves like a solid-state drive behind a controller or a hypervisor")
        }
        _ if read >= FLASH_FROM_NS => ("nvme", "behaves like a local NVMe drive"),
        _ => ("memory", "answers faster than flash can: memory, or a cache in front of the device"),
    };
    let mut evidence =
        vec![format!("a random read alone takes {} at the median", units::duration(read as u64))];
    let mut says = says.to_owned();
    if let (Some(alone), Some(deep)) = (figures.read_alone_iops, figures.read_deep_iops)
        && alone > 0.0
    {
        let gain = deep / alone;
        evidence.push(format!("depth gives {} times as many", units::significant(gain)));
        if gain < DEPTH_GAIN_MIN {
            says += ", held by a limit on operations";
        }
    }
    if let Some(sync) = figures.sync_ns.filter(|ns| *ns > 0.0) {
        evidence.push(format!("a sync takes {} on average", units::duration(sync as u64)));
    }
    Some(DeviceClass { id: id.into(), says, evidence: evidence.join("; ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(read_us: f64) -> String {
        let figures = Figures { read_alone_ns: Some(read_us * 1e3), ..Figures::default() };
        device_class(&figures).unwrap().id
    }

    #[test]
    fn kinds_are_orders_of_magnitude_apart() {
        // A 7,200 rpm disk; the seeds' gp3; a SATA drive; an NVMe drive; zram.
        let seen = [8_000.0, 589.0, 150.0, 80.0, 3.0].map(class);
        assert_eq!(seen, ["rotational", "network-volume", "ssd", "nvme", "memory"]);
    }

    #[test]
    fn a_limit_shows_where_depth_gives_nothing() {
        let figures = Figures {
            read_alone_ns: Some(300_000.0),
            read_alone_iops: Some(2_900.0),
            read_deep_iops: Some(3_000.0),
            sync_ns: Some(1_858_000.0),
        };
        let class = device_class(&figures).unwrap();
        assert!(class.says.contains("held by a limit"), "{class:?}");
        assert!(class.evidence.contains("1.86 ms"), "{class:?}");
        assert_eq!(device_class(&Figures::default()), None);
    }
}
