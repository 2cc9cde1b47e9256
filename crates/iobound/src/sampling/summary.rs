//! The intervals of a scenario put together.

use iobound_record::{DeviceSample, DeviceSummary, Rates, Sample, SampleSummary, Spread};

use super::over_time::OverTime;

/// Shorter intervals, as at the ends of a scenario, say little about a peak.
const PEAK_INTERVAL_NS: u64 = 250_000_000;
/// The sampler gives no rates for intervals of a few milliseconds; a device without them is not gone.
const GONE_INTERVAL_NS: u64 = 10_000_000;

/// A mean by weight and a peak.
#[derive(Clone, Copy, Debug, Default)]
struct Track {
    weighted: f64,
    weight: f64,
    peak: f64,
}

impl Track {
    fn add(&mut self, value: f64, weight: f64, peak: bool) {
        self.weighted += value * weight;
        self.weight += weight;
        if peak {
            self.peak = self.peak.max(value);
        }
    }

    fn add_known(&mut self, value: Option<f64>, weight: f64, peak: bool) {
        if let Some(value) = value {
            self.add(value, weight, peak);
        }
    }

    fn known(&self) -> Option<Spread> {
        let mean = self.weighted / self.weight;
        (self.weight > 0.0).then(|| Spread { mean, max: self.peak.max(mean) })
    }

    fn spread(&self) -> Spread {
        self.known().unwrap_or_default()
    }
}

#[derive(Clone, Debug, Default)]
struct DeviceTracks {
    about: DeviceSample,
    read_iops: Track,
    write_iops: Track,
    read_bytes: Track,
    write_bytes: Track,
    merges: Track,
    queue: Track,
    read_await: Track,
    write_await: Track,
    utilisation: Track,
    flushes: Track,
    gone: u32,
}

/// What has been seen of a scenario so far; its size does not grow with time.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathering {
    intervals: u32,
    covered_ns: u64,
    longest_ns: u64,
    devices: Vec<DeviceTracks>,
    over_time: OverTime,
    dirty: Track,
    writeback: Track,
    user: Track,
    system: Track,
    iowait: Track,
    steal: Track,
    io_some: Track,
    io_full: Track,
    cpu_some: Track,
    memory_some: Track,
}

impl Gathering {
    /// Adds an interval that lies within the scenario.
    pub(super) fn add(&mut self, sample: &Sample) {
        if sample.interval_ns == 0 {
            return;
        }
        self.intervals += 1;
        self.covered_ns += sample.interval_ns;
        self.longest_ns = self.longest_ns.max(sample.interval_ns);
        let seconds = sample.interval_ns as f64 / 1e9;
        let peak = sample.interval_ns >= PEAK_INTERVAL_NS;
        let mut places = Vec::with_capacity(sample.devices.len());
        for (place, device) in sample.devices.iter().enumerate() {
            let found = self.place_of(place, device);
            places.push(found);
            let tracks = &mut self.devices[found];
            match &device.rates {
                Some(rates) => tracks.add(rates, seconds, peak),
                None => tracks.gone += u32::from(sample.interval_ns >= GONE_INTERVAL_NS),
            }
        }
        self.over_time.add(sample, &places);
        let host = &sample.host;
        self.dirty.add_known(host.dirty_bytes.map(|bytes| bytes as f64), seconds, true);
        self.writeback.add_known(host.writeback_bytes.map(|bytes| bytes as f64), seconds, true);
        for (track, share) in [
            (&mut self.user, host.cpu_user),
            (&mut self.system, host.cpu_system),
            (&mut self.iowait, host.cpu_iowait),
            (&mut self.steal, host.cpu_steal),
            (&mut self.io_some, host.psi_io_some),
            (&mut self.io_full, host.psi_io_full),
            (&mut self.cpu_some, host.psi_cpu_some),
            (&mut self.memory_some, host.psi_memory_some),
        ] {
            track.add_known(share, seconds, peak);
        }
    }

    /// Devices keep their places, so the first look nearly always finds it.
    fn place_of(&mut self, place: usize, device: &DeviceSample) -> usize {
        let same = |tracks: &DeviceTracks| tracks.about.device == device.device;
        if self.devices.get(place).is_some_and(same) {
            place
        } else if let Some(found) = self.devices.iter().position(same) {
            found
        } else {
            self.devices.push(DeviceTracks { about: device.clone(), ..DeviceTracks::default() });
            self.devices.len() - 1
        }
    }

    /// The summary, of the devices that `wanted` accepts; None when no interval lay within.
    pub(super) fn summary(&self, wanted: impl Fn(&str) -> bool) -> Option<SampleSummary> {
        let kept: Vec<usize> =
            (0..self.devices.len()).filter(|&place| wanted(&self.devices[place].about.device)).collect();
        (self.intervals > 0).then(|| SampleSummary {
            intervals: self.intervals,
            covered_ns: self.covered_ns,
            longest_ns: self.longest_ns,
            clock_step_ns: None,
            devices: kept.iter().map(|&place| self.devices[place].summary()).collect(),
            series: self.over_time.moments(&kept),
            dirty_bytes: self.dirty.spread(),
            writeback_bytes: self.writeback.spread(),
            cpu_user: self.user.spread(),
            cpu_system: self.system.spread(),
            cpu_iowait: self.iowait.spread(),
            cpu_steal: self.steal.spread(),
            psi_io_some: self.io_some.known(),
            psi_io_full: self.io_full.known(),
            psi_cpu_some: self.cpu_some.known(),
            psi_memory_some: self.memory_some.known(),
            processes: None,
        })
    }
}

impl DeviceTracks {
    fn add(&mut self, rates: &Rates, seconds: f64, peak: bool) {
        self.read_iops.add(rates.read_iops, seconds, peak);
        self.write_iops.add(rates.write_iops, seconds, peak);
        self.read_bytes.add(rates.read_bytes_per_s, seconds, peak);
        self.write_bytes.add(rates.write_bytes_per_s, seconds, peak);
        self.merges.add(rates.read_merges_per_s + rates.write_merges_per_s, seconds, peak);
        self.queue.add(rates.queue, seconds, peak);
        self.utilisation.add(rates.utilisation, seconds, peak);
        self.flushes.add_known(rates.flush_iops, seconds, peak);
        // A mean of means would give a quiet second the weight of a busy one.
        let (reads, writes) = (rates.read_iops * seconds, rates.write_iops * seconds);
        self.read_await.add_known(rates.read_await_ns.map(|ns| ns as f64), reads, peak);
        self.write_await.add_known(rates.write_await_ns.map(|ns| ns as f64), writes, peak);
    }

    fn summary(&self) -> DeviceSummary {
        DeviceSummary {
            device: self.about.device.clone(),
            layer: self.about.layer,
            parents: self.about.parents.clone(),
            read_iops: self.read_iops.spread(),
            write_iops: self.write_iops.spread(),
            read_bytes_per_s: self.read_bytes.spread(),
            write_bytes_per_s: self.write_bytes.spread(),
            merges_per_s: self.merges.spread(),
            queue: self.queue.spread(),
            read_await_ns: self.read_await.spread(),
            write_await_ns: self.write_await.spread(),
            utilisation: self.utilisation.spread(),
            flush_iops: self.flushes.known(),
            intervals_gone: self.gone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::HostSample;

    fn interval(ms: u64, iops: f64, await_ms: u64, dirty: u64) -> Sample {
        let rates = Rates { read_iops: iops, read_await_ns: Some(await_ms * 1_000_000), ..Rates::default() };
        Sample {
            interval_ns: ms * 1_000_000,
            devices: vec![
                DeviceSample { device: "sda".into(), rates: Some(rates), ..DeviceSample::default() },
                DeviceSample { device: "sdb".into(), ..DeviceSample::default() },
            ],
            host: HostSample { dirty_bytes: Some(dirty), ..HostSample::default() },
            ..Sample::default()
        }
    }

    #[test]
    fn means_are_weighted_and_short_intervals_are_no_peak() {
        let mut seen = Gathering::default();
        seen.add(&interval(1000, 100.0, 1, 5));
        seen.add(&interval(2000, 400.0, 4, 9));
        seen.add(&interval(100, 9000.0, 0, 1));
        seen.add(&interval(0, 1e9, 9, 99));
        let summary = seen.summary(|_| true).unwrap();
        assert_eq!((summary.intervals, summary.covered_ns), (3, 3_100_000_000));
        let sda = &summary.devices[0];
        assert!((sda.read_iops.mean - 1800.0 / 3.1).abs() < 1e-9, "{sda:?}");
        assert_eq!(sda.read_iops.max, 1800.0 / 3.1, "the long intervals' 400 is below the mean");
        // 100 reads of 1 ms, 800 of 4 ms, 900 of none.
        assert!((sda.read_await_ns.mean - 3300.0 / 1800.0 * 1e6).abs() < 1.0, "{sda:?}");
        assert_eq!(sda.read_await_ns.max, 4e6);
        assert_eq!(summary.devices[1].intervals_gone, 3);
        assert_eq!(summary.dirty_bytes.max, 9.0);
        assert_eq!(summary.psi_io_some, None);
        assert_eq!(seen.summary(|name| name == "sdb").unwrap().devices.len(), 1);
    }

    #[test]
    fn nothing_seen_nothing_said() {
        assert_eq!(Gathering::default().summary(|_| true), None);
    }
}
