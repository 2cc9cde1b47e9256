//! The points of each sweep of a run, by block size and by what else its axes turn.

use iobound_record::{Measurement, Run, Scenario, units};

use super::roofline::Roofline;

/// Points from the smallest block: block size, operations and bytes per second.
pub type Curve = Vec<(u64, f64, f64)>;

/// What a column of a sweep has in common besides its pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// Jobs.
    pub numjobs: u32,
    /// Depth of each.
    pub iodepth: u32,
    /// Dedup ratio of the data.
    pub dedup_ratio: f64,
    /// Compress ratio of the data.
    pub compress_ratio: f64,
}

impl Column {
    fn of(scenario: &Scenario) -> Column {
        let job = &scenario.job;
        Column {
            numjobs: job.numjobs,
            iodepth: job.iodepth,
            dedup_ratio: job.dedup_ratio,
            compress_ratio: job.compress_ratio,
        }
    }

    fn in_flight(&self) -> u64 {
        u64::from(self.numjobs) * u64::from(self.iodepth)
    }
}

/// A sweep: one way to read and write, over block sizes and columns.
#[derive(Clone, Debug)]
pub struct Sweep<'a> {
    /// As people call it.
    pub title: &'a str,
    /// Block sizes, from the smallest.
    pub sizes: Vec<u64>,
    /// Columns, in the order of the suite.
    pub columns: Vec<Column>,
    /// Its scenarios with their positions in the run.
    pub points: Vec<(usize, &'a Scenario)>,
}

/// The sweeps of a run, in its order.
pub fn sweeps(run: &Run) -> Vec<Sweep<'_>> {
    let mut sweeps: Vec<Sweep> = Vec::new();
    for (index, scenario) in run.scenarios.iter().enumerate().filter(|(_, s)| !s.sweep.is_empty()) {
        let at = sweeps.iter().position(|sweep| sweep.title == scenario.sweep).unwrap_or_else(|| {
            let title = &scenario.sweep;
            sweeps.push(Sweep { title, sizes: Vec::new(), columns: Vec::new(), points: Vec::new() });
            sweeps.len() - 1
        });
        let sweep = &mut sweeps[at];
        let column = Column::of(scenario);
        if !sweep.columns.contains(&column) {
            sweep.columns.push(column);
        }
        if !sweep.sizes.contains(&scenario.job.bs) {
            sweep.sizes.push(scenario.job.bs);
        }
        sweep.points.push((index, scenario));
    }
    sweeps.iter_mut().for_each(|sweep| sweep.sizes.sort_unstable());
    sweeps
}

impl<'a> Sweep<'a> {
    /// The scenario of a cell, with its position in the run.
    pub fn at(&self, size: u64, column: &Column) -> Option<(usize, &'a Scenario)> {
        let here =
            |(_, scenario): &&(usize, &Scenario)| scenario.job.bs == size && Column::of(scenario) == *column;
        self.points.iter().find(here).copied()
    }

    /// A column for people: what differs among the columns, and always the jobs.
    pub fn label(&self, column: &Column) -> String {
        let differ = |of: fn(&Column) -> f64| self.columns.iter().any(|other| of(other) != of(column));
        let mut words = vec![format!("{} job{}", column.numjobs, if column.numjobs == 1 { "" } else { "s" })];
        if differ(|column| f64::from(column.iodepth)) {
            words.push(format!("depth {}", column.iodepth));
        }
        if differ(|column| column.dedup_ratio) {
            words.push(format!("dedup {}:1", column.dedup_ratio));
        }
        if differ(|column| column.compress_ratio) {
            words.push(format!("compress {}:1", column.compress_ratio));
        }
        words.join(", ")
    }

    /// What was measured along a column. Failed and interrupted points are left out.
    pub fn curve(&self, column: &Column) -> Curve {
        let point = |&size: &u64| {
            let measured = usable(self.at(size, column)?.1)?;
            Some((size, measured.iops(), measured.bandwidth_bytes_per_s()))
        };
        self.sizes.iter().filter_map(point).collect()
    }

    /// Where operations hand over to bandwidth along a column.
    pub fn handover(&self, column: &Column) -> Option<Roofline> {
        Roofline::of_points(self.curve(column))
    }

    /// The handover of the column with the most in flight, where both bounds were seen.
    pub fn knee(&self) -> Option<Roofline> {
        let roofline = self.handover(self.deepest()?)?;
        (roofline.operations_to_bs.is_some() && roofline.bandwidth_from_bs.is_some()).then_some(roofline)
    }

    /// The column with the most in flight, of the first data that the suite writes.
    fn deepest(&self) -> Option<&Column> {
        let first = self.columns.first()?;
        let same_data = |column: &&Column| {
            (column.dedup_ratio, column.compress_ratio) == (first.dedup_ratio, first.compress_ratio)
        };
        self.columns.iter().filter(same_data).max_by_key(|column| column.in_flight())
    }

    /// In a sentence, for the column with the most in flight.
    fn says(&self) -> Option<String> {
        let column = self.deepest()?;
        let what = match self.columns.len() {
            1 => self.title.to_owned(),
            _ => format!("{}, {}", self.title, self.label(column)),
        };
        let says = self.handover(column)?.says(&what);
        let curve = self.curve(column);
        let best = curve.iter().max_by(|a, b| a.2.total_cmp(&b.2))?;
        let last = curve.last()?;
        let falls = last.2 < SLOWER * best.2;
        let fall = || {
            format!(
                " Larger is not faster: {} blocks reach {}, {} only {}.",
                units::bytes(best.0),
                units::bandwidth(best.2),
                units::bytes(last.0),
                units::bandwidth(last.2)
            )
        };
        Some(if falls { says + &fall() } else { says })
    }
}

/// Below this share of the best the largest block is slower by more than repeats differ.
const SLOWER: f64 = 0.90;

/// A measurement that stands for what it was asked.
pub(super) fn usable(scenario: &Scenario) -> Option<&Measurement> {
    let stands = |m: &&Measurement| m.errors == 0 && !m.interrupted && m.iops() > 0.0;
    scenario.measurement.as_ref().filter(stands)
}

/// Where operations hand over to bandwidth, a sentence for each sweep.
pub(super) fn conclusions(run: &Run) -> Vec<String> {
    sweeps(run).iter().filter_map(Sweep::says).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::{DirectionStats, Job, Rw};

    /// A device of `iops` operations and `mib` MiB a second, swept with one and four jobs.
    fn swept(iops: f64, mib: f64) -> Run {
        let mut scenarios = Vec::new();
        for (title, rw) in [("Random read", Rw::RandRead), ("Random write", Rw::RandWrite)] {
            for bs in [4096u64, 16_384, 131_072, 1 << 20] {
                for numjobs in [1, 4] {
                    let reached = iops.min(mib * 1_048_576.0 / bs as f64) * f64::from(numjobs) / 4.0;
                    let side = DirectionStats {
                        ios: 1,
                        iops: reached,
                        bandwidth_bytes_per_s: reached * bs as f64,
                        ..DirectionStats::default()
                    };
                    let mut measurement = Measurement { runtime_ns: 5_000_000_000, ..Measurement::default() };
                    if rw.writes() {
                        measurement.write = side
                    } else {
                        measurement.read = side
                    }
                    scenarios.push(Scenario {
                        sweep: title.into(),
                        job: Job { rw, bs, numjobs, ..Job::default() },
                        measurement: Some(measurement),
                        ..Scenario::default()
                    });
                }
            }
        }
        crate::verdict::rules::tests::run_of(scenarios)
    }

    #[test]
    fn each_pattern_says_where_it_hands_over() {
        let run = swept(3000.0, 125.0);
        let sweeps = sweeps(&run);
        assert_eq!(sweeps.len(), 2);
        assert_eq!((sweeps[0].sizes.len(), sweeps[0].columns.len()), (4, 2));
        assert_eq!(
            conclusions(&run),
            ["Random read, 4 jobs", "Random write, 4 jobs"].map(|what| format!(
                "{what}: operations bind up to 16 KiB blocks (3,000/s), bandwidth from 128 KiB on \
                 (125 MiB/s (131 MB/s)); the knee is at 42.7 KiB."
            ))
        );
    }

    #[test]
    fn larger_blocks_that_are_slower_are_said() {
        let mut run = swept(3000.0, 125.0);
        run.scenarios[7].measurement.as_mut().unwrap().read.bandwidth_bytes_per_s = 60.0 * 1_048_576.0;
        let said = conclusions(&run).remove(0);
        assert!(said.contains("128 KiB blocks reach 125 MiB/s (131 MB/s), 1 MiB only 60.0 MiB/s"), "{said}");
    }

    #[test]
    fn a_broken_point_is_left_out_of_its_curve() {
        let mut run = swept(3000.0, 125.0);
        run.scenarios[1].measurement = None;
        let sweeps = sweeps(&run);
        assert_eq!(sweeps[0].curve(&sweeps[0].columns[1]).len(), 3);
    }
}
