//! Whether a read through the page cache came from the disk.

use iobound_record::{EngineChoice, Run, Scenario, units};

use super::curves::usable;

/// A sentence for each buffered read that began with an empty cache: how, and what the counters say.
pub(super) fn conclusions(run: &Run) -> Vec<String> {
    run.scenarios.iter().filter_map(says).collect()
}

fn says(scenario: &Scenario) -> Option<String> {
    let job = &scenario.job;
    let measured = usable(scenario)?;
    let cold = !job.direct && !job.pre_read && !job.rw.writes();
    // Of other programs' caches nothing is known here.
    let ours = !matches!(measured.engine, EngineChoice::Fio | EngineChoice::Null);
    let device = measured.device.as_ref().filter(|_| cold && ours)?;
    let share = 100.0 * device.total.read_bytes as f64 / measured.read.bytes.max(1) as f64;
    Some(format!(
        "{} began cold: the file's pages were dropped from the page cache (posix_fadvise, which needs no root); \
         it read {}, and {} read {}, {share:.0}% of that.",
        scenario.name,
        units::bytes(measured.read.bytes),
        device.names.join("+"),
        units::bytes(device.total.read_bytes)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::{DeviceBytes, DeviceTraffic, DirectionStats, Job, Measurement};

    #[test]
    fn a_cold_read_is_proved_by_the_counters() {
        let total = DeviceBytes { read_bytes: 99 << 20, ..DeviceBytes::default() };
        let read = DirectionStats { ios: 1, iops: 1.0, bytes: 100 << 20, ..DirectionStats::default() };
        let device = Some(DeviceTraffic { total, names: vec!["md0".into()], members: vec![] });
        let measurement =
            Some(Measurement { engine: EngineChoice::Psync, read, device, ..Measurement::default() });
        let job = Job { direct: false, ..Job::default() };
        let mut scenario = Scenario { name: "copy-read".into(), job, measurement, ..Scenario::default() };
        let said = says(&scenario).unwrap();
        assert!(said.contains("it read 100 MiB, and md0 read 99 MiB, 99% of that"), "{said}");
        scenario.job.pre_read = true;
        assert_eq!(says(&scenario), None);
    }
}
