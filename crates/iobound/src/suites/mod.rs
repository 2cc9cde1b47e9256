//! Suites: which jobs, in which order.

mod place;
mod quick;
mod sweep;
mod table;

use iobound_record::{Job, Metric, Target};

use crate::fio_engine::ForFio;

pub use place::{Placed, Places, files_of};
pub use quick::{QUICK_FILE, WORKING_SET, quick};
pub use sweep::{AskedAxes, CELLS_MAX};
pub use table::{Suite, SuiteScenario, names, shipped};

/// One job of a suite.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Number within the suite.
    pub id: u32,
    /// Name.
    pub name: String,
    /// `data`, `wal` or empty.
    pub volume: String,
    /// Phase.
    pub phase: u32,
    /// What its reports say of it.
    pub about: About,
    /// What to run.
    pub job: Job,
    /// For a job whose engine is fio: what only fio needs to know.
    pub for_fio: Option<ForFio>,
}

/// What the reports of a scenario say of it.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct About {
    /// Name for people.
    pub title: String,
    /// The figure it is run for.
    pub metric: Metric,
    /// File name of its report, without time and ending.
    pub report: String,
    /// What somebody asks of it.
    pub target: Option<Target>,
    /// What its suite calls its phase; may be empty.
    pub phase_name: String,
    /// The sweep that it is a point of; empty when it is none.
    pub sweep: String,
    /// Whether it has an empty file of its own, which grows as it is written.
    pub fresh: bool,
}

/// Steps that run at the same time; groups follow each other.
pub type Group = Vec<Step>;

/// The jobs of a job file: one with `stonewall` waits for those before it.
pub fn from_jobs(jobs: Vec<Job>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (index, job) in jobs.into_iter().enumerate() {
        let starts_anew = job.stonewall || groups.is_empty();
        let phase = groups.len() as u32 + u32::from(starts_anew);
        let step = Step {
            id: index as u32 + 1,
            name: job.name.clone(),
            volume: String::new(),
            phase,
            about: About::default(),
            job,
            for_fio: None,
        };
        match groups.last_mut() {
            Some(group) if !starts_anew => group.push(step),
            _ => groups.push(vec![step]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stonewall_starts_a_group() {
        let job = |name: &str, stonewall| Job { name: name.into(), stonewall, ..Job::default() };
        let groups = from_jobs(vec![job("a", false), job("b", false), job("c", true), job("d", false)]);
        let names: Vec<Vec<&str>> =
            groups.iter().map(|group| group.iter().map(|step| step.name.as_str()).collect()).collect();
        assert_eq!(names, [vec!["a", "b"], vec!["c", "d"]]);
        assert_eq!(groups[1][1].id, 4);
    }
}
