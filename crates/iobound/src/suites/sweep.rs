//! `[sweep]`: axes that expand into scenarios, every combination of them one.

use iobound_record::{Metric, units};
use serde::Deserialize;
use toml::{Table, Value};

use crate::exit::Failure;

/// Most scenarios that axes may make: at 5 s each, half an hour.
pub const CELLS_MAX: usize = 400;

/// A `[sweep]` table as written: an option of a job by the name that a job has for it, with its values.
#[derive(Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Axes {
    /// Ways to read and write, each with the options that make it.
    pattern: Vec<Pattern>,
    bs: Vec<Value>,
    #[serde(default)]
    numjobs: Option<Vec<Value>>,
    #[serde(default)]
    iodepth: Option<Vec<Value>>,
    #[serde(default)]
    dedup_ratio: Option<Vec<Value>>,
    #[serde(default)]
    compress_ratio: Option<Vec<Value>>,
}

#[derive(Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
struct Pattern {
    name: String,
    title: String,
    #[serde(default)]
    what: String,
    /// Without it the block size decides.
    metric: Option<Metric>,
    /// Without it each pattern is a phase.
    phase: Option<u32>,
    #[serde(default)]
    volume: Option<String>,
    job: Table,
}

/// Axes of the command line, each in place of the suite's own; empty ones change nothing.
#[derive(Clone, Debug, Default)]
pub struct AskedAxes {
    /// `--depth`.
    pub depth: Vec<u32>,
    /// `--dedup`.
    pub dedup: Vec<f64>,
    /// `--compress`.
    pub compress: Vec<f64>,
}

impl AskedAxes {
    /// Whether any is asked for.
    pub fn any(&self) -> bool {
        !(self.depth.is_empty() && self.dedup.is_empty() && self.compress.is_empty())
    }
}

/// One combination.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cell {
    pub name: String,
    pub title: String,
    pub what: String,
    /// The sweep that it is a point of.
    pub sweep: String,
    pub metric: Option<Metric>,
    pub phase: u32,
    pub volume: Option<String>,
    /// The options of its pattern and of its place on the axes.
    pub job: Table,
}

/// An axis with more than its block size or jobs: its option, and how a name and a title say its value.
type Spoken = (&'static str, fn(&str) -> String, fn(&str) -> String);

const SPOKEN: [Spoken; 5] = [
    ("bs", |bs| format!("-{bs}"), |bs| format!(", {}", in_words(bs))),
    ("numjobs", |n| format!("-x{n}"), |n| format!(", {n} job{}", if n == "1" { "" } else { "s" })),
    ("iodepth", |n| format!("-qd{n}"), |n| format!(", depth {n}")),
    ("dedup_ratio", |r| format!("-dedup{r}"), |r| format!(", dedup {r}:1")),
    ("compress_ratio", |r| format!("-compress{r}"), |r| format!(", compress {r}:1")),
];

impl Axes {
    /// Puts the axes of the command line in.
    pub(super) fn ask(&mut self, asked: &AskedAxes) {
        let floats = |values: &[f64]| values.iter().copied().map(Value::Float).collect();
        if !asked.depth.is_empty() {
            let depths = asked.depth.iter().map(|&depth| Value::Integer(depth.into()));
            self.iodepth = Some(depths.collect());
        }
        if !asked.dedup.is_empty() {
            self.dedup_ratio = Some(floats(&asked.dedup));
        }
        if !asked.compress.is_empty() {
            self.compress_ratio = Some(floats(&asked.compress));
        }
    }

    /// Every axis with its values, in the order in which they turn: the last the fastest.
    fn axes(&self) -> Vec<(Spoken, &[Value])> {
        let [bs, numjobs, iodepth, dedup, compress] = SPOKEN;
        let mut axes = vec![(bs, self.bs.as_slice())];
        for (spoken, values) in [
            (numjobs, &self.numjobs),
            (iodepth, &self.iodepth),
            (dedup, &self.dedup_ratio),
            (compress, &self.compress_ratio),
        ] {
            axes.extend(values.as_ref().map(|values| (spoken, values.as_slice())));
        }
        axes
    }

    /// The combinations, pattern by pattern; `place` is what errors call the suite.
    ///
    /// # Errors
    /// An axis without a value or with one twice; more combinations than [`CELLS_MAX`].
    pub(super) fn cells(&self, place: &str) -> Result<Vec<Cell>, Failure> {
        let fail = |words: String| Err(Failure::usage(format!("{place}: [sweep]: {words}")));
        if self.pattern.is_empty() {
            return fail("there is no pattern in it; add [[sweep.pattern]] with name, title and job".into());
        }
        let axes = self.axes();
        for ((option, ..), values) in &axes {
            if values.is_empty() {
                return fail(format!("axis {option} is empty; give it values, or take it out"));
            }
            let twice = values.iter().enumerate().find(|(index, value)| values[..*index].contains(value));
            if let Some((_, value)) = twice {
                return fail(format!("axis {option} has {} twice", said(value)));
            }
        }
        let each: Vec<usize> =
            std::iter::once(self.pattern.len()).chain(axes.iter().map(|(_, values)| values.len())).collect();
        let count = each.iter().try_fold(1usize, |product, &len| product.checked_mul(len));
        if count.is_none_or(|count| count > CELLS_MAX) {
            let factors: Vec<String> = each.iter().map(usize::to_string).collect();
            let count = count.map_or("more than can be counted".into(), |count| count.to_string());
            return fail(format!(
                "its axes make {} = {count} scenarios; at most {CELLS_MAX} are run: take values out",
                factors.join(" x ")
            ));
        }
        let patterns = self.pattern.iter().zip(1..);
        Ok(patterns.flat_map(|(pattern, number)| pattern.cells(number, &axes)).collect())
    }
}

impl Pattern {
    fn cells(&self, number: u32, axes: &[(Spoken, &[Value])]) -> Vec<Cell> {
        let mut cells = vec![Cell {
            name: self.name.clone(),
            title: self.title.clone(),
            what: self.what.clone(),
            sweep: self.title.clone(),
            metric: self.metric,
            phase: self.phase.unwrap_or(number),
            volume: self.volume.clone(),
            job: self.job.clone(),
        }];
        for ((option, in_name, in_title), values) in axes {
            cells = cells
                .iter()
                .flat_map(|cell| {
                    values.iter().map(|value| {
                        let mut cell = cell.clone();
                        cell.name += &in_name(&said(value));
                        cell.title += &in_title(&said(value));
                        cell.job.insert((*option).into(), value.clone());
                        cell
                    })
                })
                .collect();
        }
        cells
    }
}

/// A block size for people; what is none is left to the job's own check.
fn in_words(bs: &str) -> String {
    units::parse_bytes(bs).map_or_else(|_| bs.to_owned(), units::bytes)
}

/// A value as a person would write it.
fn said(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string().trim_end_matches(".0").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suites::{Suite, SuiteScenario, shipped};
    use iobound_record::units::{GIB, KIB, MIB};
    use iobound_record::{Extent, Job, Rw};

    fn suite(name: &str) -> Suite {
        Suite::parse(shipped(name).unwrap(), name).unwrap()
    }

    fn scenarios(name: &str) -> Vec<SuiteScenario> {
        suite(name).scenarios(&[]).unwrap()
    }

    /// Pattern, share of reads, block sizes and jobs of seed 003, each combination once and no other.
    #[test]
    fn the_sweep_is_the_seeds_matrix() {
        let seen: Vec<(Rw, u8, u64, u32)> = scenarios("sweep")
            .iter()
            .map(|scenario| (scenario.job.rw, scenario.job.rwmixread, scenario.job.bs, scenario.job.numjobs))
            .collect();
        let mut expected = Vec::new();
        for (rw, mix) in
            [(Rw::RandRead, 50), (Rw::RandWrite, 50), (Rw::RandRw, 75), (Rw::Read, 50), (Rw::Write, 50)]
        {
            for bs in [4 * KIB, 16 * KIB, 128 * KIB, MIB] {
                expected.extend([1, 4].map(|jobs| (rw, mix, bs, jobs)));
            }
        }
        assert_eq!(seen, expected);
        let ids: Vec<u32> = scenarios("sweep").iter().map(|scenario| scenario.id).collect();
        assert_eq!(ids, (1..=40).collect::<Vec<u32>>());
    }

    /// The seed gives 4 GiB to one job and 1 GiB to each of four.
    #[test]
    fn jobs_share_the_size_each_on_a_part_of_its_own() {
        for scenario in scenarios("sweep") {
            let Job { size, offset_increment, numjobs, direct, iodepth, .. } = scenario.job;
            let each = Extent::Bytes(4 * GIB / u64::from(numjobs));
            assert_eq!((size, direct, iodepth), (Some(each), true, 1), "{}", scenario.name);
            assert_eq!(offset_increment, (numjobs > 1).then_some(each), "{}", scenario.name);
            assert_eq!(scenario.size(), 4 * GIB);
        }
    }

    #[test]
    fn dd_has_the_seeds_nine_block_sizes_and_its_comparisons_keep_their_numbers() {
        let all = scenarios("dd");
        let sweep: Vec<&SuiteScenario> = all.iter().filter(|s| !s.about.sweep.is_empty()).collect();
        let sizes: Vec<u64> = sweep.iter().map(|scenario| scenario.job.bs / KIB).collect();
        assert_eq!(sizes, [1, 4, 16, 64, 128, 512, 1024, 2048, 4096]);
        assert!(sweep.iter().all(|s| s.job.syncs_each_write() && !s.job.direct && s.job.rw == Rw::Write));
        let ids: Vec<u32> = all.iter().map(|scenario| scenario.id).collect();
        assert_eq!(ids, (1..=18).collect::<Vec<u32>>());
        assert!(all.iter().all(|scenario| scenario.job.validate() == Ok(())));
    }

    #[test]
    fn axes_of_the_command_line_multiply() {
        let mut suite = suite("sweep");
        let asked = AskedAxes { depth: vec![1, 8, 32], dedup: vec![1.0, 2.0], compress: vec![] };
        suite.ask(&asked).unwrap();
        let all = suite.scenarios(&[]).unwrap();
        assert_eq!(all.len(), 240);
        let last = all.last().unwrap();
        assert_eq!(last.name, "seq-write-1m-x4-qd32-dedup2");
        assert_eq!(last.about.title, "Sequential write, 1 MiB, 4 jobs, depth 32, dedup 2:1");
        assert_eq!((last.job.iodepth, last.job.dedup_ratio), (32, 2.0));
        let asked = AskedAxes { depth: vec![1], ..AskedAxes::default() };
        assert!(
            super::super::Suite::parse(shipped("database").unwrap(), "database")
                .unwrap()
                .ask(&asked)
                .unwrap_err()
                .words
                .contains("--depth")
        );
    }

    /// A suite with these lines in its `[sweep]`.
    fn refused(sweep: &str) -> String {
        let pattern =
            "[[sweep.pattern]]\nname = \"r\"\ntitle = \"R\"\njob = { rw = \"read\", size = \"1m\" }\n";
        let text = format!("name = \"x\"\n[sweep]\n{sweep}\n{pattern}");
        Suite::parse(&text, "mine.toml").and_then(|suite| suite.scenarios(&[])).unwrap_err().words
    }

    #[test]
    fn axes_that_cannot_be_are_named() {
        assert!(refused("bs = []").contains("axis bs is empty"));
        assert!(refused("bs = [\"4k\", \"4k\"]").contains("4k twice"));
        assert!(refused("bs = [\"4k\"]\nnumjob = [1]").contains("numjob"));
        assert!(refused("bs = [\"4q\"]").contains("bs"));
        assert!(refused("bs = [\"2m\"]").contains("1 MiB is below bs 2 MiB"));
        let words = refused("bs = [\"512k\"]\nnumjobs = [4]");
        assert!(words.contains("a size of 1 MiB for 4 jobs is below its bs of 512 KiB"), "{words}");
        assert!(refused("numjobs = [1]").contains("bs"));
        let many: Vec<String> = (1..=30).map(|n| n.to_string()).collect();
        let words = refused(&format!("bs = [\"4k\"]\nnumjobs = [{0}]\niodepth = [{0}]", many.join(",")));
        assert!(words.contains("1 x 1 x 30 x 30 = 900 scenarios"), "{words}");
    }
}
