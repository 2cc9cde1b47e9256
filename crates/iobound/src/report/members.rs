//! The disks that share a scenario's work, each with its rate.

use iobound_record::{DeviceSummary, Scenario, units};

/// Faster than the slowest by this factor the busiest disk carries more than its share: of a stripe all
/// carry alike within a few percent.
const UNEVEN: f64 = 1.25;

/// The members under a scenario's target.
#[derive(Clone, Debug, PartialEq)]
pub struct Members<'a> {
    /// Each disk as the kernel saw it.
    pub disks: Vec<&'a DeviceSummary>,
}

/// The disks below the target that share its work, from the top as far down as there do not get fewer;
/// None when there is but one.
pub fn members(scenario: &Scenario) -> Option<Members<'_>> {
    let all = &scenario.samples.as_ref()?.devices;
    let names = &scenario.measurement.as_ref()?.device.as_ref()?.names;
    let mut level: Vec<&DeviceSummary> = all.iter().filter(|device| names.contains(&device.device)).collect();
    // No way down is longer than there are devices.
    for _ in all {
        let below = |device: &&DeviceSummary| {
            let above = |parent: &String| level.iter().any(|upper| upper.device == *parent);
            device.parents.iter().any(above) && device.layer != iobound_record::Layer::Path
        };
        let next: Vec<&DeviceSummary> = all.iter().filter(below).collect();
        if next.is_empty() || next.len() < level.len() {
            break;
        }
        level = next;
    }
    (level.len() > 1).then_some(Members { disks: level })
}

/// Bytes a second of one disk, read and written.
pub fn rate(disk: &DeviceSummary) -> f64 {
    disk.read_bytes_per_s.mean + disk.write_bytes_per_s.mean
}

/// For a table: MiB a second.
pub fn mib(bytes_per_s: f64) -> String {
    units::significant(bytes_per_s / units::MIB as f64)
}

impl Members<'_> {
    /// Of all disks together, bytes a second: what is mirrored counts on each.
    pub fn total(&self) -> f64 {
        self.disks.iter().map(|disk| rate(disk)).sum()
    }

    /// `594 MiB/s (623 MB/s) over 4 disks: sdc 149, sdd 148, sde 149, sdf 148 MiB/s`, and whether they
    /// share it evenly.
    pub fn in_words(&self) -> String {
        let each: Vec<String> =
            self.disks.iter().map(|disk| format!("{} {}", disk.device, mib(rate(disk)))).collect();
        let uneven = self.uneven().map_or(String::new(), |words| format!("; {words}"));
        format!(
            "{} over {} disks: {} MiB/s{uneven}",
            units::bandwidth(self.total()),
            self.disks.len(),
            each.join(", ")
        )
    }

    /// Which disk carries more than its share, if one does.
    pub fn uneven(&self) -> Option<String> {
        let most = self.disks.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)))?;
        let least = self.disks.iter().min_by(|a, b| rate(a).total_cmp(&rate(b)))?;
        (rate(most) > UNEVEN * rate(least)).then(|| match rate(least) > 0.0 {
            true => {
                format!("unevenly: {} has x{:.2} of {}", most.device, rate(most) / rate(least), least.device)
            }
            false => format!("unevenly: {} did nothing", least.device),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use iobound_record::{DeviceTraffic, Layer, Measurement, SampleSummary, Spread};

    /// A device with what is above it and what it read, MiB a second.
    pub(crate) fn device(name: &str, layer: Layer, parents: &[&str], mib: f64) -> DeviceSummary {
        let mean = mib * units::MIB as f64;
        DeviceSummary {
            device: name.into(),
            layer,
            parents: parents.iter().map(|parent| (*parent).to_owned()).collect(),
            read_bytes_per_s: Spread { mean, max: mean },
            ..DeviceSummary::default()
        }
    }

    pub(crate) fn scenario(target: &str, devices: Vec<DeviceSummary>) -> Scenario {
        let traffic = DeviceTraffic { names: vec![target.into()], ..DeviceTraffic::default() };
        Scenario {
            samples: Some(SampleSummary { devices, ..SampleSummary::default() }),
            measurement: Some(Measurement { device: Some(traffic), ..Measurement::default() }),
            ..Scenario::default()
        }
    }

    fn names(scenario: &Scenario) -> Vec<String> {
        members(scenario).map_or(Vec::new(), |m| m.disks.iter().map(|disk| disk.device.clone()).collect())
    }

    #[test]
    fn a_volume_on_an_array_has_the_arrays_disks() {
        let devices = vec![
            device("dm-0", Layer::Upper, &[], 400.0),
            device("md0", Layer::Upper, &["dm-0"], 400.0),
            device("nvme0n1", Layer::Disk, &["md0"], 200.0),
            device("nvme0c0n1", Layer::Path, &["nvme0n1"], 200.0),
            device("nvme0c1n1", Layer::Path, &["nvme0n1"], 0.0),
            device("nvme1n1", Layer::Disk, &["md0"], 200.0),
        ];
        let scenario = scenario("dm-0", devices);
        assert_eq!(names(&scenario), ["nvme0n1", "nvme1n1"]);
        let words = members(&scenario).unwrap().in_words();
        assert_eq!(words, "400 MiB/s (419 MB/s) over 2 disks: nvme0n1 200, nvme1n1 200 MiB/s");
    }

    #[test]
    fn loop_devices_on_one_disk_are_the_members() {
        let devices = vec![
            device("dm-0", Layer::Upper, &[], 4.0),
            device("loop0", Layer::Upper, &["dm-0"], 3.0),
            device("loop1", Layer::Upper, &["dm-0"], 1.0),
            device("sda", Layer::Disk, &["loop0", "loop1"], 4.0),
        ];
        let scenario = scenario("dm-0", devices);
        assert_eq!(names(&scenario), ["loop0", "loop1"]);
        assert!(members(&scenario).unwrap().in_words().ends_with("unevenly: loop0 has x3.00 of loop1"));
    }

    #[test]
    fn one_disk_has_no_members() {
        assert_eq!(members(&scenario("sda", vec![device("sda", Layer::Disk, &[], 4.0)])), None);
        assert_eq!(members(&Scenario::default()), None);
    }
}
