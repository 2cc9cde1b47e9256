//! Suites as data: `suites/*.toml`, and files that a user made from them.

use std::path::Path;

use iobound_jobfile::{Options, parse_toml};
use iobound_record::{Duration, Extent, Job, Metric, Target};
use serde::Deserialize;

use super::{About, Group, Step};
use crate::exit::Failure;
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
    /// Its scenarios, in the order in which they run.
    #[serde(rename = "scenario")]
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
    job: toml::Table,
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
}

/// The suites that come with the program.
const SHIPPED: [(&str, &str); 1] = [("database", include_str!("../../../../suites/database.toml"))];

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
        if suite.entries.is_empty() {
            return Err(Failure::usage(format!("{name}: there is no [[scenario]] in it")));
        }
        Ok(suite)
    }

    /// The text of a file that means to be a suite, and not a job file; None for any other.
    pub fn text_of(path: &Path) -> Option<String> {
        let small = std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= FILE_BYTES_MAX);
        let text = small.then(|| std::fs::read_to_string(path).ok()).flatten()?;
        let is_suite = text.lines().any(|line| line.trim_start().starts_with("[[scenario]]"));
        is_suite.then_some(text)
    }

    /// Its scenarios, those of `only` when that is not empty.
    ///
    /// # Errors
    /// An option that a job does not know; a number of `only` that is not there.
    pub fn scenarios(&self, only: &[u32]) -> Result<Vec<SuiteScenario>, Failure> {
        if let Some(unknown) = only.iter().find(|id| self.entries.iter().all(|entry| entry.id != **id)) {
            let known: Vec<String> = self.entries.iter().map(|entry| entry.id.to_string()).collect();
            return Err(Failure::usage(format!(
                "suite '{}' has no scenario {unknown}; it has {}",
                self.name,
                known.join(", ")
            )));
        }
        let wanted = self.entries.iter().filter(|entry| only.is_empty() || only.contains(&entry.id));
        wanted.map(|entry| self.scenario(entry)).collect()
    }

    fn scenario(&self, entry: &Entry) -> Result<SuiteScenario, Failure> {
        let mut options = self.every_job.clone();
        options.extend(entry.job.clone());
        options.insert("name".into(), toml::Value::String(entry.name.clone()));
        let mut file = toml::Table::new();
        file.insert("job".into(), toml::Value::Array(vec![toml::Value::Table(options)]));
        let place = format!("suite '{}', scenario {} ({})", self.name, entry.id, entry.name);
        let parsed = parse_toml(&file.to_string(), &place, &Options::default()).map_err(Failure::usage)?;
        let Some(mut job) = parsed.jobs.into_iter().next() else {
            return Err(Failure::usage(format!("{place}: its job is empty")));
        };
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
        if !matches!(job.size, Some(Extent::Bytes(bytes)) if bytes > 0) {
            return Err(Failure::usage(format!("{place}: give its job a size in bytes, size = \"1GiB\"")));
        }
        if !job.filename.is_empty() || job.directory.is_some() {
            return Err(Failure::usage(format!(
                "{place}: the file comes from --data or --wal; take filename and directory out"
            )));
        }
        Ok(SuiteScenario {
            id: entry.id,
            name: entry.name.clone(),
            about: About {
                title: entry.title.clone(),
                metric: entry.metric,
                report: entry.report.clone(),
                target: entry.target,
            },
            volume: entry.volume.clone(),
            phase: entry.phase,
            job,
        })
    }
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
        match self.job.size {
            Some(Extent::Bytes(bytes)) => bytes,
            _ => 0,
        }
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
