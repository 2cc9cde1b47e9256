//! The figure that a scenario is run for, in words, and the few figures that stand for a run.

use iobound_record::{Job, Measurement, Metric, Run, Scenario, units};

/// From this block size on a job without a metric of its own is looked at for its bandwidth: the
/// smallest at which common volumes are held by bytes rather than operations.
pub(crate) const BANDWIDTH_FROM_BS: u64 = 128 * units::KIB;

/// A measured figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// With its unit.
    pub value: String,
    /// The same in the other family of units, where there are two.
    pub also: Option<String>,
    /// What belongs beside it; may be empty.
    pub detail: String,
}

impl Figure {
    /// In both families of units.
    pub fn in_full(&self) -> String {
        self.also.as_ref().map_or_else(|| self.value.clone(), |also| format!("{} ({also})", self.value))
    }
}

/// Operations of the job that are in flight together.
pub fn in_flight(job: &Job) -> u64 {
    u64::from(job.iodepth).saturating_mul(u64::from(job.numjobs))
}

/// The metric of a scenario: its suite's word, or for a job without one what its shape asks.
pub fn metric_of(scenario: &Scenario) -> Metric {
    let job = &scenario.job;
    match scenario.metric {
        Metric::Iops if scenario.title.is_empty() && in_flight(job) <= 1 => Metric::Latency,
        Metric::Iops if scenario.title.is_empty() && job.block_sizes().1 >= BANDWIDTH_FROM_BS => {
            Metric::Bandwidth
        }
        metric => metric,
    }
}

/// The name of a scenario for people.
pub fn title_of(scenario: &Scenario) -> &str {
    [&scenario.title, &scenario.name, &scenario.job.name]
        .into_iter()
        .find(|name| !name.is_empty())
        .map_or("unnamed", String::as_str)
}

/// Its figure; None without a measurement or with nothing completed.
pub fn figure_of(scenario: &Scenario) -> Option<Figure> {
    let measured = scenario.measurement.as_ref().filter(|measured| measured.iops() > 0.0)?;
    Some(match metric_of(scenario) {
        Metric::Latency => latency(&scenario.job, measured),
        Metric::SyncP99 => sync_tail(measured),
        Metric::Bandwidth => Figure {
            value: mib(measured.bandwidth_bytes_per_s()),
            also: Some(format!("{} MB/s", units::significant(measured.bandwidth_bytes_per_s() / 1e6))),
            detail: format!("{} IOPS", units::count(measured.iops())),
        },
        Metric::Iops => Figure {
            value: format!("{} IOPS", units::count(measured.iops())),
            also: None,
            detail: match (measured.read.ios, measured.write.ios) {
                (0, _) | (_, 0) => units::bandwidth(measured.bandwidth_bytes_per_s()),
                _ => format!(
                    "{} read + {} write",
                    units::count(measured.read.iops),
                    units::count(measured.write.iops)
                ),
            },
        },
    })
}

/// One after another, a synced write takes its write and its sync, which only the rate holds together.
fn latency(job: &Job, measured: &Measurement) -> Figure {
    let side = if measured.read.ios >= measured.write.ios { &measured.read } else { &measured.write };
    let synced = measured.sync.ios > 0 && measured.write.ios > 0;
    let (mean, tail) = match synced && in_flight(job) == 1 {
        true => (1e9 / measured.iops(), format!("sync p99 {}", time(measured.sync.latency_ns.p99))),
        false => (side.latency_ns.mean, format!("p99 {}", time(side.latency_ns.p99))),
    };
    let alone = match in_flight(job) {
        1 => format!(", {}/s one after another", units::count(measured.iops())),
        _ => String::new(),
    };
    Figure { value: units::duration(mean as u64), also: None, detail: format!("{tail}{alone}") }
}

/// The tail of the syncs, with what they take on average.
fn sync_tail(measured: &Measurement) -> Figure {
    let sync = &measured.sync.latency_ns;
    Figure {
        value: time(sync.p99),
        also: None,
        detail: format!(
            "p99 of the sync; mean {}, p99.9 {}, {} synced writes/s",
            time(sync.mean as u64),
            time(sync.p99_9),
            units::count(measured.iops())
        ),
    }
}

fn mib(bytes_per_s: f64) -> String {
    format!("{} MiB/s", units::significant(bytes_per_s / units::MIB as f64))
}

/// A time; what is 0 was not recorded, for no operation takes none.
pub fn time(ns: u64) -> String {
    if ns == 0 { "-".into() } else { units::duration(ns) }
}

/// One of the few figures that stand for the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyNumber {
    /// What it is of.
    pub label: String,
    /// The figure.
    pub figure: Figure,
    /// Position of its scenario in the run.
    pub index: usize,
}

/// The best figure of each kind of job, in the order of latency, bandwidth, operations.
pub fn key_numbers(run: &Run) -> Vec<KeyNumber> {
    let mut best: Vec<((u8, u8), f64, KeyNumber)> = Vec::new();
    for (index, scenario) in run.scenarios.iter().enumerate() {
        let (Some(figure), Some(measured)) = (figure_of(scenario), &scenario.measurement) else { continue };
        let (kind, label) = kind_of(scenario);
        let key = KeyNumber { label, figure, index };
        let bandwidth = metric_of(scenario) == Metric::Bandwidth;
        let reached = if bandwidth { measured.bandwidth_bytes_per_s() } else { measured.iops() };
        match best.iter_mut().find(|(known, ..)| *known == kind) {
            Some(known) if known.1 < reached => *known = (kind, reached, key),
            Some(_) => {}
            None => best.push((kind, reached, key)),
        }
    }
    best.sort_by_key(|(kind, ..)| *kind);
    best.into_iter().map(|(_, _, key)| key).collect()
}

/// What jobs are alike, as an order, and their name.
fn kind_of(scenario: &Scenario) -> ((u8, u8), String) {
    let job = &scenario.job;
    let synced = scenario.measurement.as_ref().is_some_and(|measured| measured.sync.ios > 0);
    let way = match (job.rw.reads(), job.rw.writes()) {
        (true, true) => 2,
        (false, true) if synced => 0,
        (false, true) => 3,
        _ => 1,
    };
    let pattern = if job.rw.is_random() { "Random" } else { "Sequential" };
    let mix = format!("{}/{}", job.rwmixread, 100_u8.saturating_sub(job.rwmixread));
    match metric_of(scenario) {
        Metric::Latency => {
            let what = ["A durable write", "A read", "A mixed operation", "A write"][way];
            ((0, way as u8), format!("{what} takes"))
        }
        Metric::SyncP99 => ((0, 4), "99 of 100 syncs take at most".into()),
        Metric::Bandwidth => {
            let what = ["durable writes", "reads", "reads and writes", "writes"][way];
            ((1, way as u8), format!("{pattern} {what}"))
        }
        Metric::Iops => {
            let label = match way {
                0 => "Durable writes, many at once".into(),
                2 => format!("{pattern} mix {mix}"),
                _ => format!("{pattern} {}", ["", "reads", "", "writes"][way]),
            };
            ((2, way as u8), label)
        }
    }
}
