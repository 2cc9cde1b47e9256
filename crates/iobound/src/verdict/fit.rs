//! What the storage is fit for: figures that public documents name, held against what was measured.
//!
//! The figures are data, `catalog/fit.toml`, each with its document.

use std::sync::LazyLock;

use iobound_record::{
    Bandwidth, Bytes, Duration, EngineChoice, Fit, FitAnswer, Measurement, Run, Scenario, units,
};
use serde::Deserialize;

use super::observed::{every_write_is_synced, mean_wait, one_at_a_time, standing, tail};

/// Nearer to the figure than this share, on either side, is `close`: repeats on shared storage range over
/// about as much, so another run may come out on the other side.
const CLOSE: f64 = 0.20;
/// A job stands for a document's operation when its block is at most this many times larger or smaller:
/// within it, small operations cost a volume the same.
const BLOCK_FACTOR: f64 = 8.0;
/// Large blocks, of which documents that name bandwidths speak.
const LARGE_FROM: u64 = 128 * units::KIB;

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    // A test reads it, so a program that was built has a table that parses.
    toml::from_str(include_str!("../../../../catalog/fit.toml")).expect("catalog/fit.toml is TOML")
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalog {
    row: Vec<Row>,
}

/// A figure of a document.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    system: String,
    /// What it asks, without the figure: `p99 of the sync of a small write`.
    asks: String,
    quantity: Quantity,
    /// Block size that the document speaks of.
    #[serde(default)]
    block: Option<Bytes>,
    #[serde(default)]
    at_most: Option<Duration>,
    #[serde(default)]
    at_least_iops: Option<f64>,
    #[serde(default)]
    at_least_bandwidth: Option<Bandwidth>,
    /// The figure is for each processor.
    #[serde(default)]
    per_cpu: bool,
    source: String,
    url: String,
    /// When the document was read.
    #[allow(dead_code)] // For who keeps the table: a test holds that each row has one.
    checked: String,
}

/// What a document speaks of, and how it is taken from a run.
#[derive(Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Quantity {
    /// 99th percentile of a sync, one write at a time.
    SyncP99,
    /// Mean time of a write with its sync, one at a time.
    DurableWrite,
    /// Durable writes a second, one at a time.
    SyncIops,
    /// Mean time of a random read, one at a time.
    ReadLatency,
    /// Random reads a second, at depth.
    RandomReadIops,
    /// Random writes a second, at depth.
    RandomWriteIops,
    /// Large reads in order.
    ReadBandwidth,
    /// Large writes in order.
    WriteBandwidth,
}

/// The figure of a row.
#[derive(Clone, Copy)]
enum Figure {
    TimeNs(f64),
    Iops(f64),
    Bandwidth(f64),
}

/// Every row that the run has a measurement for.
pub(super) fn answers(run: &Run) -> Vec<Fit> {
    CATALOG.row.iter().filter_map(|row| row.answer(run)).collect()
}

impl Row {
    fn figure(&self, cpus: u32) -> Option<Figure> {
        let each = if self.per_cpu { f64::from(cpus.max(1)) } else { 1.0 };
        match (self.at_most, self.at_least_iops, self.at_least_bandwidth) {
            (Some(time), None, None) => Some(Figure::TimeNs(time.0 as f64)),
            (None, Some(iops), None) => Some(Figure::Iops(iops * each)),
            (None, None, Some(bandwidth)) => Some(Figure::Bandwidth(bandwidth.0 as f64 * each)),
            _ => None,
        }
    }

    fn answer(&self, run: &Run) -> Option<Fit> {
        let figure = self.figure(run.host.cpus)?;
        let (scenario, measured) = self.scenario(run)?;
        let got = self.quantity.of(measured)?;
        let (share, got, asked) = match figure {
            // How many times better than asked.
            Figure::TimeNs(ns) => (ns / got, units::duration(got as u64), units::duration(ns as u64)),
            Figure::Iops(iops) => {
                (got / iops, format!("{}/s", units::count(got)), format!("{}/s", units::count(iops)))
            }
            Figure::Bandwidth(asked) => (got / asked, units::bandwidth(got), units::bandwidth(asked)),
        };
        let bound = if matches!(figure, Figure::TimeNs(_)) { "at most" } else { "at least" };
        let cpus = match self.per_cpu {
            true => format!(" for {} processors", run.host.cpus.max(1)),
            false => String::new(),
        };
        Some(Fit {
            id: self.id.clone(),
            system: self.system.clone(),
            asks: format!("{}: {bound} {asked}{cpus}", self.asks),
            answer: answer_of(share),
            evidence: format!("{got} in {}{}", scenario.name, self.other_block(scenario)),
            scenario: scenario.id,
            source: self.source.clone(),
            url: self.url.clone(),
        })
    }

    /// The scenario that comes nearest to what the document speaks of.
    fn scenario<'a>(&self, run: &'a Run) -> Option<(&'a Scenario, &'a Measurement)> {
        let fitting = run.scenarios.iter().filter(|scenario| self.quantity.is_asked_by(scenario));
        let near = fitting.filter(|scenario| self.distance(scenario) <= BLOCK_FACTOR.ln());
        let standing = near.filter_map(|scenario| Some((scenario, standing(run, scenario)?)));
        let better = |a: &(&Scenario, &Measurement), b: &(&Scenario, &Measurement)| {
            let nearer = self.distance(a.0).total_cmp(&self.distance(b.0));
            // Of two alike the better: a document asks what storage can do.
            nearer.then(b.1.iops().total_cmp(&a.1.iops()))
        };
        standing.min_by(better)
    }

    /// How far a job's block is from the document's, as a logarithm. One that names none means small
    /// operations (of 8 KiB, a database's), or for a bandwidth any large ones.
    fn distance(&self, scenario: &Scenario) -> f64 {
        let bs = scenario.job.bs.max(1) as f64;
        match self.block {
            Some(block) => (bs / block.0.max(1) as f64).ln().abs(),
            None if self.quantity.is_bandwidth() => 0.0,
            None => (bs / (8 * units::KIB) as f64).ln().abs(),
        }
    }

    /// Says so where the measured block is not the document's.
    fn other_block(&self, scenario: &Scenario) -> String {
        match self.block {
            Some(block) if block.0 != scenario.job.bs => {
                format!(
                    " (blocks of {}; the document's are {})",
                    units::bytes(scenario.job.bs),
                    units::bytes(block.0)
                )
            }
            _ => String::new(),
        }
    }
}

impl Quantity {
    fn is_bandwidth(self) -> bool {
        matches!(self, Quantity::ReadBandwidth | Quantity::WriteBandwidth)
    }

    fn is_asked_by(self, scenario: &Scenario) -> bool {
        let (job, rw) = (&scenario.job, scenario.job.rw);
        // What the documents ask for is asked of a file system.
        if job.is_paced() || job.ioengine == EngineChoice::Object {
            return false;
        }
        let only_reads = rw.reads() && !rw.writes();
        let only_writes = rw.writes() && !rw.reads();
        let synced = every_write_is_synced(scenario);
        match self {
            Quantity::SyncP99 | Quantity::DurableWrite | Quantity::SyncIops => {
                only_writes && synced && one_at_a_time(scenario)
            }
            Quantity::ReadLatency => only_reads && rw.is_random() && one_at_a_time(scenario),
            Quantity::RandomReadIops => only_reads && rw.is_random() && !one_at_a_time(scenario),
            Quantity::RandomWriteIops => only_writes && rw.is_random() && !one_at_a_time(scenario),
            Quantity::ReadBandwidth => only_reads && !rw.is_random() && job.bs >= LARGE_FROM,
            Quantity::WriteBandwidth => only_writes && !rw.is_random() && job.bs >= LARGE_FROM,
        }
    }

    /// Its figure, in nanoseconds, operations or bytes a second.
    fn of(self, measured: &Measurement) -> Option<f64> {
        match self {
            Quantity::SyncP99 => tail(measured, |latency| latency.p99).map(|ns| ns as f64),
            // One at a time the rate holds the write and its sync together.
            Quantity::DurableWrite => Some(1e9 / measured.iops()),
            Quantity::ReadLatency => mean_wait(measured),
            Quantity::SyncIops | Quantity::RandomReadIops | Quantity::RandomWriteIops => {
                Some(measured.iops())
            }
            Quantity::ReadBandwidth | Quantity::WriteBandwidth => Some(measured.bandwidth_bytes_per_s()),
        }
    }
}

fn answer_of(share: f64) -> FitAnswer {
    match share {
        _ if share >= 1.0 + CLOSE => FitAnswer::Yes,
        _ if share > 1.0 - CLOSE => FitAnswer::Close,
        _ => FitAnswer::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::{DirectionStats, EngineChoice, HostFacts, Job, LatencySummary, Rw};

    fn scenario(job: Job, measurement: Measurement) -> Scenario {
        let measurement = Measurement { engine: EngineChoice::IoUring, ..measurement };
        Scenario { id: 1, name: "it".into(), job, measurement: Some(measurement), ..Scenario::default() }
    }

    fn heartbeat(p99: u64, bs: u64) -> Run {
        let latency_ns = LatencySummary { mean: p99 as f64 / 2.0, p99, ..LatencySummary::default() };
        let side = DirectionStats { ios: 100, iops: 500.0, latency_ns, ..DirectionStats::default() };
        let job = Job { rw: Rw::Write, bs, iodepth: 1, fdatasync: 1, ..Job::default() };
        let measured = Measurement { write: side, sync: side, ..Measurement::default() };
        Run { scenarios: vec![scenario(job, measured)], ..Run::default() }
    }

    fn etcd(run: &Run) -> Fit {
        answers(run).into_iter().find(|fit| fit.id == "etcd").unwrap()
    }

    #[test]
    fn every_row_has_one_figure_and_a_document() {
        for row in &CATALOG.row {
            assert!(row.figure(2).is_some(), "{}", row.id);
            assert!(row.url.starts_with("https://") && !row.source.is_empty(), "{}", row.id);
            assert!(!row.checked.is_empty(), "{}", row.id);
            let is_time = matches!(row.figure(1), Some(Figure::TimeNs(_)));
            let of_time =
                matches!(row.quantity, Quantity::SyncP99 | Quantity::DurableWrite | Quantity::ReadLatency);
            assert_eq!(is_time, of_time, "{}", row.id);
            let is_bandwidth = matches!(row.figure(1), Some(Figure::Bandwidth(_)));
            assert_eq!(is_bandwidth, row.quantity.is_bandwidth(), "{}", row.id);
        }
        let mut ids: Vec<&str> = CATALOG.row.iter().map(|row| row.id.as_str()).collect();
        ids.sort_unstable();
        assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "{ids:?}");
    }

    #[test]
    fn etcd_asks_ten_milliseconds() {
        for (p99, answer) in [
            (2_000_000, FitAnswer::Yes),
            (9_000_000, FitAnswer::Close),
            (11_000_000, FitAnswer::Close),
            (30_000_000, FitAnswer::No),
        ] {
            assert_eq!(etcd(&heartbeat(p99, 2300)).answer, answer, "{p99}");
        }
        let evidence = etcd(&heartbeat(2_000_000, 8192)).evidence;
        assert_eq!(evidence, "2.00 ms in it (blocks of 8 KiB; the document's are 2.2 KiB)");
    }

    #[test]
    fn only_what_was_measured_is_answered() {
        let mut run = heartbeat(2_000_000, 8192);
        run.scenarios[0].job.iodepth = 4;
        assert_eq!(answers(&run), []);
        let mut void = heartbeat(2_000_000, 8192);
        void.scenarios[0].measurement.as_mut().unwrap().errors = 1;
        assert_eq!(answers(&void), []);
    }

    #[test]
    fn a_figure_for_each_processor_grows_with_them() {
        let job = Job { rw: Rw::RandRead, bs: 4096, iodepth: 64, ..Job::default() };
        let read = DirectionStats { ios: 1, iops: 4_000.0, ..DirectionStats::default() };
        let scenarios = vec![scenario(job, Measurement { read, ..Measurement::default() })];
        let with = |cpus| {
            let host = HostFacts { cpus, ..HostFacts::default() };
            let run = Run { host, scenarios: scenarios.clone(), ..Run::default() };
            answers(&run).into_iter().find(|fit| fit.id == "cockroachdb-read-iops").unwrap().answer
        };
        assert_eq!((with(2), with(8), with(16)), (FitAnswer::Yes, FitAnswer::Close, FitAnswer::No));
    }
}
