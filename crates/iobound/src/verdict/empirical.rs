//! What a run says by itself, where no context promises anything: its own peaks, and what kind of device
//! it looks like.

use iobound_model::device_class::{Figures, device_class};
use iobound_record::{DeviceClass, DirectionStats, Measurement, Run, Scenario, units};

use super::observed::{every_write_is_synced, one_at_a_time, standing};

/// A rate this near to the most that any scenario reached is at that peak; repeats of one point differ by
/// a few percent.
const AT_PEAK: f64 = 0.90;
/// Blocks up to this are small: what operations bind on common volumes (gp3 turns at 42 KiB).
const SMALL_TO: u64 = 16 * units::KIB;

/// The most that a run reached in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Peak {
    iops: f64,
    bandwidth_bytes_per_s: f64,
    /// How many scenarios it is the most of: of one alone it says nothing.
    of: usize,
}

/// The most reads and the most writes.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(super) struct Peaks {
    reads: Option<Peak>,
    writes: Option<Peak>,
}

impl Peaks {
    /// Of all scenarios whose numbers stand and that go one way only.
    pub(super) fn of(run: &Run) -> Peaks {
        let mut peaks = Peaks::default();
        for scenario in &run.scenarios {
            let Some(measured) = standing(run, scenario) else { continue };
            let Some((reads, side)) = only_side(scenario, measured) else { continue };
            let peak = if reads { &mut peaks.reads } else { &mut peaks.writes };
            let known = peak.get_or_insert(Peak { iops: 0.0, bandwidth_bytes_per_s: 0.0, of: 0 });
            known.iops = known.iops.max(side.iops);
            known.bandwidth_bytes_per_s = known.bandwidth_bytes_per_s.max(side.bandwidth_bytes_per_s);
            known.of += 1;
        }
        peaks
    }

    /// How a scenario stands to the run's own peaks: `at the most operations this run reached`.
    pub(super) fn says(&self, scenario: &Scenario, measured: &Measurement) -> Option<String> {
        let (reads, side) = only_side(scenario, measured)?;
        let peak = if reads { self.reads } else { self.writes }.filter(|peak| peak.of > 1)?;
        let word = if reads { "reads" } else { "writes" };
        let (iops, bytes) = (side.iops / peak.iops, side.bandwidth_bytes_per_s / peak.bandwidth_bytes_per_s);
        Some(match (iops >= AT_PEAK, bytes >= AT_PEAK) {
            (true, true) => format!("at this run's most {word}, in operations and in bytes"),
            (true, false) => format!("at this run's most {word} a second"),
            (false, true) => format!("at this run's most bytes of {word} a second"),
            (false, false) => format!(
                "{:.0}% of this run's most {word} a second, {:.0}% of its most bytes",
                iops * 100.0,
                bytes * 100.0
            ),
        })
    }

    /// The run's own roofline in sentences.
    pub(super) fn conclusions(&self) -> Vec<String> {
        let line = |word: &str, peak: Option<Peak>| {
            let peak = peak.filter(|peak| peak.of > 1 && peak.iops > 0.0)?;
            let knee = (peak.bandwidth_bytes_per_s / peak.iops).round() as u64;
            Some(format!(
                "Most {word}: {}/s and {}; blocks smaller than {} cannot reach that bandwidth, larger ones not \
                 that many operations.",
                units::count(peak.iops),
                units::bandwidth(peak.bandwidth_bytes_per_s),
                units::bytes(knee)
            ))
        };
        [line("reads", self.reads), line("writes", self.writes)].into_iter().flatten().collect()
    }
}

/// The direction of a job that has only one, with its figures. A rate asked for says nothing of a peak.
fn only_side<'a>(scenario: &Scenario, measured: &'a Measurement) -> Option<(bool, &'a DirectionStats)> {
    if scenario.job.is_paced() {
        return None;
    }
    match (measured.read.ios > 0, measured.write.ios > 0) {
        (true, false) => Some((true, &measured.read)),
        (false, true) => Some((false, &measured.write)),
        _ => None,
    }
}

/// The kind of device in a sentence, for a run without a context: with one, what it is is known.
pub(super) fn in_words(run: &Run) -> Option<String> {
    let class = run.device_class.as_ref().filter(|_| run.context.is_none())?;
    Some(format!("It {}: {}.", class.says, class.evidence))
}

/// What kind of device the run's figures look like.
pub(super) fn class(run: &Run) -> Option<DeviceClass> {
    let mut figures = Figures::default();
    for scenario in &run.scenarios {
        let (job, Some(measured)) = (&scenario.job, standing(run, scenario)) else { continue };
        let small = job.bs <= SMALL_TO && job.direct && !job.is_paced();
        let reads = job.rw.is_random() && job.rw.reads() && !job.rw.writes();
        if small && reads && one_at_a_time(scenario) {
            figures.read_alone_ns = Some(measured.read.latency_ns.p50 as f64);
            figures.read_alone_iops = Some(measured.iops());
        } else if small && reads {
            figures.read_deep_iops = Some(figures.read_deep_iops.unwrap_or(0.0).max(measured.iops()));
        } else if every_write_is_synced(scenario) && one_at_a_time(scenario) && measured.sync.ios > 0 {
            figures.sync_ns = Some(measured.sync.latency_ns.mean);
        }
    }
    device_class(&figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::{EngineChoice, Job, LatencySummary, Rw};

    fn reads(bs: u64, iodepth: u32, iops: f64) -> Scenario {
        let read = DirectionStats {
            ios: 1000,
            iops,
            bandwidth_bytes_per_s: iops * bs as f64,
            latency_ns: LatencySummary {
                p50: (f64::from(iodepth) / iops * 1e9) as u64,
                ..LatencySummary::default()
            },
            ..DirectionStats::default()
        };
        Scenario {
            job: Job { rw: Rw::RandRead, bs, iodepth, ..Job::default() },
            measurement: Some(Measurement { engine: EngineChoice::IoUring, read, ..Measurement::default() }),
            ..Scenario::default()
        }
    }

    /// A gp3 volume: 3,000 operations, 125 MiB/s.
    fn gp3() -> Run {
        let scenarios =
            vec![reads(8 << 10, 1, 1_690.0), reads(8 << 10, 64, 3_000.0), reads(1 << 20, 16, 125.0)];
        Run { scenarios, ..Run::default() }
    }

    #[test]
    fn a_run_has_its_own_roofline() {
        let run = gp3();
        let peaks = Peaks::of(&run);
        let says = |index: usize| {
            let scenario = &run.scenarios[index];
            peaks.says(scenario, scenario.measurement.as_ref().unwrap()).unwrap()
        };
        assert_eq!(says(0), "56% of this run's most reads a second, 11% of its most bytes");
        assert_eq!(says(1), "at this run's most reads a second");
        assert_eq!(says(2), "at this run's most bytes of reads a second");
        assert!(peaks.conclusions()[0].contains("blocks smaller than 42.7 KiB"), "{:?}", peaks.conclusions());
    }

    #[test]
    fn one_scenario_is_no_peak() {
        let run = Run { scenarios: vec![reads(8 << 10, 1, 1_690.0)], ..Run::default() };
        let peaks = Peaks::of(&run);
        assert_eq!(peaks.says(&run.scenarios[0], run.scenarios[0].measurement.as_ref().unwrap()), None);
        assert_eq!(peaks.conclusions(), Vec::<String>::new());
    }

    #[test]
    fn a_volume_behind_a_network_is_known_as_one() {
        assert_eq!(class(&gp3()).unwrap().id, "network-volume");
        assert_eq!(class(&Run::default()), None);
    }
}
