//! Whether a buffered job measured the page cache or the device.

use iobound_record::{DeviceTraffic, EngineChoice, Finding, Measurement, Run, Scenario, Severity, units};

use super::factors::has_direct_twin;

/// From this share of the job's bytes on, the device is taken to have moved them all: what was already in
/// the page cache, or left it before the counters were read, is within the rest.
const DEVICE_SHARE: f64 = 0.90;

/// A buffered job that was not measured at the device. Not one whose writes are each durable before the
/// next, for it waits for the device each time; nor one that ended with a sync or began with cold reads
/// while the device moved all its bytes; nor one that asked for the cache (`pre_read`), for then the
/// cache is the question.
pub(super) fn finding_of(run: &Run, scenario: &Scenario, measurement: &Measurement) -> Option<Finding> {
    let job = &scenario.job;
    let asked_for = job.pre_read && !job.rw.writes();
    // A pipe has no page cache in front of it.
    let pipe = scenario.stream.as_ref().is_some_and(|stream| {
        stream.outputs.iter().all(|output| !["file", "device"].contains(&output.kind.as_str()))
    });
    if pipe {
        return None;
    }
    // A stream is direct unless somebody asked it not to be, and then its result is marked, whatever the
    // sync at its end made up for.
    let excused = scenario.stream.is_none() && at_device(scenario, measurement);
    if job.direct
        || matches!(measurement.engine, EngineChoice::Null | EngineChoice::Object)
        || asked_for
        || excused
    {
        return None;
    }
    let device = measurement.device.as_ref().map_or("no device counters".into(), |device| {
        format!(
            "the device read {} and wrote {}",
            units::bytes(device.total.read_bytes),
            units::bytes(device.total.write_bytes)
        )
    });
    Some(Finding {
        id: "page-cache".into(),
        // Beside the same job past the cache it is what was asked; alone it is a trap.
        severity: if has_direct_twin(run, scenario) { Severity::Note } else { Severity::Warning },
        what: "The job was buffered: this measures memory and the page cache as much as the device.".into(),
        evidence: format!(
            "{}: direct=0; the job read {} and wrote {}, {device}",
            scenario.name,
            units::bytes(measurement.read.bytes),
            units::bytes(measurement.write.bytes)
        ),
        remedy: match scenario.stream.is_some() {
            true => "leave --no-direct out".into(),
            false => "set direct=1, or sync each write (fdatasync=1)".into(),
        },
    })
}

/// Whether the rates are the device's, though they passed the page cache.
fn at_device(scenario: &Scenario, measurement: &Measurement) -> bool {
    let job = &scenario.job;
    let moved = |bytes: u64, of: fn(&DeviceTraffic) -> u64| {
        let device = measurement.device.as_ref().map_or(0, of);
        bytes == 0 || device as f64 >= DEVICE_SHARE * bytes as f64
    };
    let reads = moved(measurement.read.bytes, |device| device.total.read_bytes);
    let synced_at_end = job.end_fsync || job.fsync > 0 || job.fdatasync > 0;
    let writes = measurement.write.bytes == 0
        || job.syncs_each_write()
        || (synced_at_end && moved(measurement.write.bytes, |device| device.total.write_bytes));
    reads && writes
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::{DeviceBytes, DirectionStats, Job, Rw, SyncMode};

    const MIB: u64 = units::MIB;

    /// A buffered job of 100 MiB, during which the device moved `device` bytes.
    fn found(job: Job, device: u64) -> bool {
        let side = DirectionStats { ios: 1, bytes: 100 * MIB, ..DirectionStats::default() };
        let total = match job.rw.writes() {
            true => DeviceBytes { write_bytes: device, ..DeviceBytes::default() },
            false => DeviceBytes { read_bytes: device, ..DeviceBytes::default() },
        };
        let mut measurement = Measurement {
            engine: EngineChoice::Psync,
            device: Some(DeviceTraffic { total, ..DeviceTraffic::default() }),
            ..Measurement::default()
        };
        if job.rw.writes() {
            measurement.write = side
        } else {
            measurement.read = side
        }
        let scenario = Scenario { job: Job { direct: false, ..job }, ..Scenario::default() };
        let run = crate::verdict::rules::tests::run_of(vec![scenario.clone()]);
        finding_of(&run, &scenario, &measurement).is_some()
    }

    #[test]
    fn writes_that_are_each_synced_are_measured_at_the_sync() {
        let write = Job { rw: Rw::Write, ..Job::default() };
        assert!(found(write.clone(), 100 * MIB), "nothing made them durable");
        assert!(!found(Job { fdatasync: 1, ..write.clone() }, 0));
        assert!(!found(Job { fsync: 1, ..write.clone() }, 0));
        assert!(!found(Job { sync: SyncMode::Dsync, ..write.clone() }, 0));
        assert!(!found(Job { end_fsync: true, ..write.clone() }, 100 * MIB));
        assert!(
            found(Job { end_fsync: true, ..write.clone() }, 50 * MIB),
            "half of it was overwritten in memory"
        );
        assert!(found(Job { fdatasync: 8, ..write }, 50 * MIB));
    }

    #[test]
    fn beside_its_direct_twin_it_is_a_note() {
        let job = Job { rw: Rw::Write, direct: false, ..Job::default() };
        let cached = Scenario { job: job.clone(), ..Scenario::default() };
        let direct = Scenario { job: Job { direct: true, ..job }, ..Scenario::default() };
        let alone = crate::verdict::rules::tests::run_of(vec![cached.clone()]);
        let both = crate::verdict::rules::tests::run_of(vec![cached.clone(), direct]);
        let write = DirectionStats { ios: 1, bytes: MIB, ..DirectionStats::default() };
        let measured = Measurement { write, ..Measurement::default() };
        let severity = |run: &Run| finding_of(run, &cached, &measured).unwrap().severity;
        assert_eq!((severity(&alone), severity(&both)), (Severity::Warning, Severity::Note));
    }

    #[test]
    fn cold_reads_are_the_devices_and_warm_ones_are_not() {
        let read = Job { rw: Rw::Read, ..Job::default() };
        assert!(!found(read.clone(), 98 * MIB));
        assert!(found(read.clone(), 10 * MIB));
        assert!(!found(Job { pre_read: true, ..read }, 0), "the cache is what was asked for");
    }
}
