//! Suites as data: `suites/*.toml`, and files that a user made from them.

use std::path::Path;

use iobound_jobfile::{Options, parse_toml};
use iobound_record::{Duration, Extent, Job, Metric, Target, units};
use serde::Deserialize;

use super::sweep::{AskedAxes, Axes};
use super::{About, Group, Step};
use crate::exit::Failure;
use crate::report::figure::BANDWIDTH_FROM_BS;
use crate::verdict;

/// Longest file that may be a suite: far above what a person writes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A suite.
#[derive(Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Name.
    pub name: String,
    /// What it is, in a line.
    #[serde(default)]
    pub title: String,
    /// Pause between two scenarios.
    #[serde(default)]
    pub pause: Duration,
    /// Names of its phases, from 1.
    #[serde(default)]
    pub phases: Vec<String>,
    /// Options of every job.
    #[serde(default, rename = "job")]
    every_job: toml::Table,
    /// Axes that make scenarios, which run before those that are written out.
    #[serde(default)]
    sweep: Option<Axes>,
    /// Its scenarios, in the order in which they run.
    #[serde(default, rename = "scenario")]
    entries: Vec<Entry>,
}

/// A scenario as written.
#[derive(Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: u32,
    name: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    what: String,
    #[serde(default = "data")]
    volume: String,
    #[serde(default = "first")]
    phase: u32,
    #[serde(default)]
    metric: Metric,
    #[serde(default)]
    report: String,
    /// What somebody asks of it: `{ iops = 540, p99 = "3ms" }`.
    #[serde(default)]
    target: Option<Target>,
    #[serde(default)]
    file: FileUse,
    job: toml::Table,
}

/// Which file a scenario works on.
#[derive(Deserialize, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
enum FileUse {
    /// The volume's, which all share.
    #[default]
    Shared,
    /// An empty one of its own, which grows as it is written.
    Fresh,
}

fn data() -> String {
    "data".into()
}

fn first() -> u32 {
    1
}

/// A scenario that is ready but for its file.
#[derive(Clone, Debug, PartialEq)]
pub struct SuiteScenario {
    /// Number.
    pub id: u32,
    /// Name.
    pub name: String,
    /// What its reports say of it.
    pub about: About,
    /// `data` or `wal`.
    pub volume: String,
    /// Phase, from 1.
    pub phase: u32,
    /// Its job, without a file.
    pub job: Job,
    /// Whether its size is that of all its jobs together, each on a part of its own.
    pub spread: bool,
}

/// The suites that come with the program.
const SHIPPED: [(&str, &str); 5] = [
    ("database", include_str!("../../../../suites/database.toml")),
    ("sweep", include_str!("../../../../suites/sweep.toml")),
    ("dd", include_str!("../../../../suites/dd.toml")),
    ("sequential", include_str!("../../../../suites/sequential.toml")),
    ("etcd", include_str!("../../../../suites/etcd.toml")),
];

/// Every suite that can be named, for messages.
pub fn names() -> String {
    let shipped: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
    format!("quick, {}", shipped.join(", "))
}

/// The text of a suite that comes with the program.
pub fn shipped(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

impl Suite {
    /// Reads a suite. `name` is what errors call it.
    ///
    /// # Errors
    /// No suite, an option that is none, numbers used twice: what and where.
    pub fn parse(text: &str, name: &str) -> Result<Suite, Failure> {
        let suite: Suite =
            toml::from_str(text).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
        let mut ids: Vec<u32> = suite.entries.iter().map(|entry| entry.id).collect();
        ids.sort_unstable();
        if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Failure::usage(format!("{name}: two scenarios have id = {}", twice[0])));
        }
        if suite.entries.is_empty() && suite.sweep.is_none() {
            return Err(Failure::usage(format!("{name}: there is neither [[scenario]] nor [sweep] in it")));
        }
        Ok(suite)
    }

    /// Puts axes of the command line in place of the suite's own.
    ///
    /// # Errors
    /// The suite has no axes.
    pub fn ask(&mut self, asked: &AskedAxes) -> Result<(), Failure> {
        if !asked.any() {
            return Ok(());
        }
        let Some(axes) = &mut self.sweep else {
            return Err(Failure::usage(format!(
                "--depth, --dedup and --compress are axes of a sweep, and suite '{}' has none; use the suite \
                 sweep, or change iodepth, dedup_ratio and compress_ratio in a copy of this one",
                self.name
            )));
        };
        axes.ask(asked);
        Ok(())
    }

    /// What the suite calls a phase.
    fn phase_name(&self, phase: u32, otherwise: &str) -> String {
        let named = (phase as usize).checked_sub(1).and_then(|index| self.phases.get(index));
        named.map_or_else(|| otherwise.to_owned(), Clone::clone)
    }

    /// The text of a file that means to be a suite, and not a job file; None for any other.
    pub fn text_of(path: &Path) -> Option<String> {
        let small = std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= FILE_BYTES_MAX);
        let text = small.then(|| std::fs::read_to_string(path).ok()).flatten()?;
        let starts = ["[[scenario]]", "[sweep]", "[[sweep."];
        let is_suite =
            text.lines().any(|line| starts.iter().any(|start| line.trim_start().starts_with(start)));
        is_suite.then_some(text)
    }

    /// Its scenarios, those of `only` when that is not empty.
    ///
    /// # Errors
    /// An option that a job does not know; axes that make none or too many; a number of `only` that is
    /// not there.
    pub fn scenarios(&self, only: &[u32]) -> Result<Vec<SuiteScenario>, Failure> {
        let entries = self.all_entries()?;
        if let Some(unknown) = only.iter().find(|id| entries.iter().all(|written| written.entry.id != **id)) {
            let known: Vec<String> = entries.iter().map(|written| written.entry.id.to_string()).collect();
            return Err(Failure::usage(format!(
                "suite '{}' has no scenario {unknown}; it has {}",
                self.name,
                known.join(", ")
            )));
        }
        let wanted = entries.iter().filter(|written| only.is_empty() || only.contains(&written.entry.id));
        wanted.map(|written| self.scenario(written)).collect()
    }

    /// The cells of the sweep, with the numbers that no written scenario has, and those.
    fn all_entries(&self) -> Result<Vec<Written>, Failure> {
        let mut all = Vec::new();
        if let Some(axes) = &self.sweep {
            let taken: Vec<u32> = self.entries.iter().map(|entry| entry.id).collect();
            let mut free = (1..).filter(|id| !taken.contains(id));
            for cell in axes.cells(&format!("suite '{}'", self.name))? {
                let entry = Entry {
                    id: free.next().unwrap_or(u32::MAX),
                    name: cell.name,
                    title: cell.title,
                    what: cell.what,
                    volume: cell.volume.unwrap_or_else(data),
                    phase: cell.phase,
                    metric: cell.metric.unwrap_or_default(),
                    report: String::new(),
                    target: None,
                    file: FileUse::Shared,
                    job: cell.job,
                };
                all.push(Written { entry, sweep: cell.sweep, by_size: cell.metric.is_none() });
            }
        }
        all.extend(self.entries.iter().map(|entry| Written {
            entry: entry.clone(),
            sweep: String::new(),
            by_size: false,
        }));
        Ok(all)
    }

    fn scenario(&self, written: &Written) -> Result<SuiteScenario, Failure> {
        let Written { entry, sweep, by_size } = written;
        let place = format!("suite '{}', scenario {} ({})", self.name, entry.id, entry.name);
        let mut job = self.job_of(entry, &place)?;
        if !entry.what.is_empty() {
            job.description = Some(entry.what.clone());
        }
        if let Some(target) = &entry.target {
            verdict::check_target(target).map_err(|why| Failure::usage(format!("{place}: {why}")))?;
        }
        // It becomes a file's name.
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !entry.report.chars().all(plain) {
            return Err(Failure::usage(format!(
                "{place}: report = {:?} is no plain name; use letters, digits, _ and -",
                entry.report
            )));
        }
        if !["data", "wal"].contains(&entry.volume.as_str()) {
            return Err(Failure::usage(format!(
                "{place}: volume = \"{}\" is neither \"data\" nor \"wal\"",
                entry.volume
            )));
        }
        let Some(Extent::Bytes(size @ 1..)) = job.size else {
            return Err(Failure::usage(format!("{place}: give its job a size in bytes, size = \"1GiB\"")));
        };
        if !job.filename.is_empty() || job.directory.is_some() {
            return Err(Failure::usage(format!(
                "{place}: the file comes from --data or --wal; take filename and directory out"
            )));
        }
        let metric = match job.block_sizes().1 {
            bs if *by_size && bs >= BANDWIDTH_FROM_BS => Metric::Bandwidth,
            _ => entry.metric,
        };
        let mut scenario = SuiteScenario {
            id: entry.id,
            name: entry.name.clone(),
            about: About {
                title: entry.title.clone(),
                metric,
                report: entry.report.clone(),
                target: entry.target,
                phase_name: self.phase_name(entry.phase, sweep),
                sweep: sweep.clone(),
                fresh: entry.file == FileUse::Fresh,
            },
            volume: entry.volume.clone(),
            phase: entry.phase,
            job,
            spread: !sweep.is_empty(),
        };
        scenario.resize(size).map_err(|words| Failure::usage(format!("{place}: {words}")))?;
        Ok(scenario)
    }

    /// The job of an entry, from the options of every job and its own.
    fn job_of(&self, entry: &Entry, place: &str) -> Result<Job, Failure> {
        let mut options = self.every_job.clone();
        options.extend(entry.job.clone());
        options.insert("name".into(), toml::Value::String(entry.name.clone()));
        let mut file = toml::Table::new();
        file.insert("job".into(), toml::Value::Array(vec![toml::Value::Table(options)]));
        let parsed = parse_toml(&file.to_string(), place, &Options::default()).map_err(Failure::usage)?;
        let job = parsed.jobs.into_iter().next();
        job.ok_or_else(|| Failure::usage(format!("{place}: its job is empty")))
    }
}

/// An entry with the sweep that it is a cell of, if it is one.
struct Written {
    entry: Entry,
    sweep: String,
    /// Its metric follows from its block size.
    by_size: bool,
}

impl SuiteScenario {
    /// The step of this scenario on `file`.
    pub fn step(&self, file: &Path) -> Group {
        let job = Job { filename: vec![file.into()], ..self.job.clone() };
        vec![Step {
            id: self.id,
            name: self.name.clone(),
            volume: self.volume.clone(),
            phase: self.phase,
            about: self.about.clone(),
            job,
            for_fio: None,
        }]
    }

    /// Bytes of its file.
    pub fn size(&self) -> u64 {
        let bytes = |extent| if let Some(Extent::Bytes(bytes)) = extent { bytes } else { 0 };
        let apart = bytes(self.job.offset_increment).saturating_mul(u64::from(self.job.numjobs) - 1);
        apart.saturating_add(bytes(self.job.size))
    }

    /// Gives it a working set of `size` bytes, in whole blocks: each job's, or all jobs' together.
    ///
    /// # Errors
    /// It is below one block a job.
    pub fn resize(&mut self, size: u64) -> Result<(), String> {
        let block = self.job.block_sizes().1.max(1);
        let jobs = if self.spread { u64::from(self.job.numjobs.max(1)) } else { 1 };
        let each = size / jobs / block * block;
        if each == 0 {
            let jobs = if jobs == 1 { String::new() } else { format!(" for {jobs} jobs") };
            return Err(format!(
                "a size of {}{jobs} is below its bs of {}; raise size or lower bs",
                units::bytes(size),
                units::bytes(block)
            ));
        }
        self.job.size = Some(Extent::Bytes(each));
        if self.spread && jobs > 1 {
            // On one part, they would all follow the first through the same blocks.
            self.job.offset_increment = Some(Extent::Bytes(each));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::Rw;
    use iobound_record::units::{GIB, KIB, MIB};

    fn database() -> Suite {
        Suite::parse(shipped("database").unwrap(), "database").unwrap()
    }

    /// id, phase, volume, rw, bs, iodepth, numjobs, size, fdatasync.
    type Row = (u32, u32, &'static str, Rw, u64, u32, u32, u64, u32);

    /// The parameters of seed 000, one by one.
    #[test]
    fn the_database_suite_is_the_seeds() {
        let rows: [Row; 10] = [
            (1, 1, "wal", Rw::Write, 8 * KIB, 1, 1, 2 * GIB, 1),
            (3, 1, "data", Rw::RandRead, 8 * KIB, 1, 1, 5 * GIB, 0),
            (4, 2, "data", Rw::Read, MIB, 16, 1, 5 * GIB, 0),
            (5, 2, "wal", Rw::Write, MIB, 16, 1, 5 * GIB, 0),
            (7, 2, "data", Rw::Write, MIB, 16, 1, 5 * GIB, 0),
            (10, 2, "wal", Rw::Read, MIB, 8, 1, 5 * GIB, 0),
            (2, 3, "data", Rw::RandRw, 8 * KIB, 64, 4, 5 * GIB, 0),
            (8, 3, "data", Rw::RandWrite, 8 * KIB, 64, 4, 5 * GIB, 0),
            (6, 3, "wal", Rw::Write, 32 * KIB, 32, 4, 5 * GIB, 1),
            (9, 4, "data", Rw::RandRw, 8 * KIB, 32, 4, 5 * GIB, 1),
        ];
        let scenarios = database().scenarios(&[]).unwrap();
        assert_eq!(scenarios.len(), rows.len());
        for (scenario, (id, phase, volume, rw, bs, iodepth, numjobs, size, fdatasync)) in
            scenarios.iter().zip(rows)
        {
            let job = &scenario.job;
            assert_eq!((scenario.id, scenario.phase, scenario.volume.as_str()), (id, phase, volume));
            assert_eq!((job.rw, job.bs, job.iodepth, job.numjobs), (rw, bs, iodepth, numjobs), "{id}");
            assert_eq!((scenario.size(), job.fdatasync), (size, fdatasync), "{id}");
            assert_eq!((job.direct, job.time_based, job.runtime_ns), (true, true, Some(60_000_000_000)));
            assert!(!job.rw.is_mixed() || job.rwmixread == 70, "{id}");
            assert_eq!(job.validate(), Ok(()), "{id}");
        }
    }

    #[test]
    fn scenarios_are_picked_by_number() {
        let picked = database().scenarios(&[8, 1]).unwrap();
        assert_eq!(picked.iter().map(|scenario| scenario.id).collect::<Vec<_>>(), [1, 8]);
        assert!(database().scenarios(&[11]).unwrap_err().words.contains("no scenario 11"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let with = |entry: &str| {
            let text = format!("name = \"x\"\n[[scenario]]\nid = 1\nname = \"a\"\n{entry}\n");
            Suite::parse(&text, "mine.toml").and_then(|suite| suite.scenarios(&[])).unwrap_err().words
        };
        assert!(with("job = { rw = \"read\", sizze = \"1g\" }").contains("sizze"));
        assert!(with("job = { rw = \"read\" }").contains("size"));
        assert!(with("volume = \"c\"\njob = { rw = \"read\", size = \"1g\" }").contains("volume"));
        assert!(with("job = { rw = \"read\", size = \"1g\", filename = \"/x\" }").contains("--data"));
        assert!(with("report = \"../a\"\njob = { rw = \"read\", size = \"1g\" }").contains("plain name"));
        assert!(with("jobs = 1\njob = {}").contains("mine.toml"));
        assert!(with("target = { iops = 0 }\njob = { rw = \"read\", size = \"1g\" }").contains("above 0"));
        assert!(with("target = { p98 = \"1ms\" }\njob = { rw = \"read\", size = \"1g\" }").contains("p98"));
    }
}
