//! The files that fio-plot draws from, under the names that its own bench-fio gives them.
//!
//! fio-plot looks at the first job of each `*.json` of a directory, picks files by `rw`, `iodepth`
//! and `numjobs`, and adds up all jobs of a file. So each scenario is a file of its own, and
//! scenarios that differ in anything else (volume, block size, sync) go to directories of their own.
//! Line graphs (`-g`) come from logs, `RW-iodepth-D-numjobs-N_bw.1.log`, which fio-plot finds by
//! that name.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use iobound_record::{DirectionStats, Interval, Run, Scenario, units};

/// One log: its name, and what an interval's line holds.
type Log = (&'static str, fn(&DirectionStats) -> f64);

/// fio's units: KiB/s, operations per second, nanoseconds.
const LOGS: [Log; 3] = [
    ("bw", |stats| stats.bandwidth_bytes_per_s / 1024.0),
    ("iops", |stats| stats.iops),
    ("lat", |stats| stats.latency_ns.mean),
];

/// Relative paths and contents: for each scenario that measured something its JSON, and the logs
/// of its series. Then for example `fio-plot -i OUT/8k -l -r randread -d 1 8 64 -n 1 -T title`.
pub fn fio_plot_files(run: &Run) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    let mut taken = BTreeSet::new();
    for scenario in run.scenarios.iter().filter(|scenario| scenario.measurement.is_some()) {
        let job = &scenario.job;
        let (rw, depth, jobs) = (job.rw, job.iodepth, job.numjobs);
        let stem = format!("{rw}-{depth}-{jobs}");
        let directory = directory(scenario);
        // The same point measured twice: a directory of its own, or fio-plot would mix them.
        let directory = (1..)
            .map(|n| {
                if n == 1 { directory.clone() } else { PathBuf::from(format!("{}_{n}", directory.display())) }
            })
            .find(|directory| taken.insert(directory.join(&stem)))
            .unwrap_or_default();
        let json = super::output(run, &[(0, scenario)]);
        files.push((directory.join(format!("{stem}.json")), format!("{json:#}\n")));
        files.extend(logs(scenario, &directory.join(format!("{rw}-iodepth-{depth}-numjobs-{jobs}"))));
    }
    files
}

/// Volume, block size, share of reads of a mixed job, and sync policy.
fn directory(scenario: &Scenario) -> PathBuf {
    let job = &scenario.job;
    let mut name = units::bytes_fio(job.bs);
    if job.rw.is_mixed() {
        let _ = write!(name, "-rwmix{}", job.rwmixread);
    }
    for (option, value) in [("fsync", job.fsync), ("fdatasync", job.fdatasync)] {
        if value > 0 {
            let _ = write!(name, "-{option}{value}");
        }
    }
    // A volume is one word; anything else must not lead out of the directory.
    let word = scenario.volume.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if word { Path::new(&scenario.volume).join(name) } else { PathBuf::from(name) }
}

fn logs(scenario: &Scenario, stem: &Path) -> Vec<(PathBuf, String)> {
    let series = scenario.measurement.as_ref().map(|measured| measured.series.as_slice()).unwrap_or_default();
    if series.is_empty() {
        return Vec::new();
    }
    let bs = scenario.job.bs;
    LOGS.iter()
        .map(|(kind, value)| {
            let mut text = String::new();
            for interval in series {
                let end_ms = (interval.start_ns + interval.length_ns) / 1_000_000;
                for (direction, stats) in sides(interval) {
                    let _ = writeln!(text, "{end_ms}, {:.0}, {direction}, {bs}, 0", value(stats));
                }
            }
            (PathBuf::from(format!("{}_{kind}.1.log", stem.display())), text)
        })
        .collect()
}

/// fio's number of each direction that had operations in the interval.
fn sides(interval: &Interval) -> impl Iterator<Item = (u32, &DirectionStats)> {
    [(0, &interval.read), (1, &interval.write)].into_iter().filter_map(|(n, side)| Some((n, side.as_ref()?)))
}
