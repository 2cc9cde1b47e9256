//! Which directory each scenario of a suite runs in, and on what file.

use std::path::{Path, PathBuf};

use iobound_record::units;

use super::SuiteScenario;
use crate::exit::Failure;

/// Below so many blocks a working set is no set.
const BLOCKS_LEAST: u64 = 4;

/// A scenario with its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The scenario.
    pub scenario: SuiteScenario,
    /// Its file: one for all scenarios of a volume.
    pub file: PathBuf,
}

/// Where a suite may work, and what the command line changes of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places<'a> {
    /// Directory of the data volume.
    pub data: Option<&'a Path>,
    /// Directory of the WAL volume.
    pub wal: Option<&'a Path>,
    /// Working set of every scenario, in place of its own.
    pub size: Option<u64>,
    /// Time of every scenario, in place of its own.
    pub runtime_ns: Option<u64>,
}

impl Places<'_> {
    /// Puts scenarios on their volumes; those of a volume that is not given are left out.
    ///
    /// # Errors
    /// Neither volume is given; none of the scenarios has its volume; a directory is none; a size too
    /// small for a block.
    pub fn place(&self, scenarios: Vec<SuiteScenario>) -> Result<Vec<Placed>, Failure> {
        if self.data.is_none() && self.wal.is_none() {
            return Err(Failure::usage(
                "this suite works on a data and a WAL volume; name their directories with --data DIR and \
                 --wal DIR (either alone runs its half)",
            ));
        }
        let mut placed = Vec::new();
        let mut left_out = Vec::new();
        for mut scenario in scenarios {
            let directory = if scenario.volume == "wal" { self.wal } else { self.data };
            let Some(directory) = directory else {
                left_out.push(format!("{} (--{})", scenario.id, scenario.volume));
                continue;
            };
            let file = file_in(directory, &scenario)?;
            self.change(&mut scenario)?;
            placed.push(Placed { scenario, file });
        }
        if placed.is_empty() {
            return Err(Failure::usage(format!(
                "no scenario is left to run; not given: {}",
                left_out.join(", ")
            )));
        }
        Ok(placed)
    }

    fn change(&self, scenario: &mut SuiteScenario) -> Result<(), Failure> {
        if let Some(size) = self.size {
            let block = scenario.job.block_sizes().1;
            if size < BLOCKS_LEAST * block {
                return Err(Failure::usage(format!(
                    "--size is below four blocks of scenario {} ({}); use more",
                    scenario.id,
                    units::bytes(block)
                )));
            }
            scenario.resize(size).map_err(|words| Failure::usage(format!("--size: {words}")))?;
        }
        // One that ends with its working set still does.
        if let Some(runtime) = self.runtime_ns {
            scenario.job.runtime_ns = Some(runtime);
        }
        Ok(())
    }
}

/// The one file of a volume, or a scenario's own; the same in every run, so that what a killed run left is
/// found again.
fn file_in(directory: &Path, scenario: &SuiteScenario) -> Result<PathBuf, Failure> {
    let volume = &scenario.volume;
    let whole = directory.canonicalize().map_err(|error| {
        Failure::usage(format!("--{volume} {}: {error}; name an existing directory", directory.display()))
    })?;
    if !whole.is_dir() {
        return Err(Failure::usage(format!(
            "--{volume} {}: is not a directory; a suite makes its own files in one",
            directory.display()
        )));
    }
    let own = if scenario.about.fresh { format!("-{}", scenario.id) } else { String::new() };
    Ok(whole.join(format!(".iobound-{volume}{own}.dat")))
}

/// The files of a placed suite that scenarios share, each with the longest size that one asks of it.
pub fn files_of(placed: &[Placed]) -> Vec<(&Path, u64)> {
    let mut files: Vec<(&Path, u64)> = Vec::new();
    for Placed { scenario, file } in placed.iter().filter(|placed| !placed.scenario.about.fresh) {
        let size = scenario.size().next_multiple_of(units::MIB);
        match files.iter_mut().find(|(known, _)| known == file) {
            Some((_, longest)) => *longest = size.max(*longest),
            None => files.push((file, size)),
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suites::{Suite, shipped};

    fn all() -> Vec<SuiteScenario> {
        Suite::parse(shipped("database").unwrap(), "database").unwrap().scenarios(&[]).unwrap()
    }

    #[test]
    fn either_volume_alone_runs_its_half() {
        let here = Path::new(".");
        let ids = |places: Places| -> Vec<u32> {
            places.place(all()).unwrap().iter().map(|placed| placed.scenario.id).collect()
        };
        assert_eq!(ids(Places { data: Some(here), ..Places::default() }), [3, 4, 7, 2, 8, 9]);
        assert_eq!(ids(Places { wal: Some(here), ..Places::default() }), [1, 5, 10, 6]);
        assert!(Places::default().place(all()).unwrap_err().words.contains("--wal"));
    }

    #[test]
    fn a_volume_has_one_file_as_long_as_the_longest_asks() {
        let here = Path::new(".");
        let placed = Places { wal: Some(here), ..Places::default() }.place(all()).unwrap();
        let files = files_of(&placed);
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].1, 5 * units::GIB);
    }

    #[test]
    fn sizes_are_whole_blocks() {
        let here = Path::new(".");
        let places = |size| Places { data: Some(here), size: Some(size), ..Places::default() };
        let placed = places(100 * units::MIB + 1).place(all()).unwrap();
        assert!(placed.iter().all(|placed| placed.scenario.size() % placed.scenario.job.bs == 0));
        assert!(places(units::MIB).place(all()).unwrap_err().words.contains("--size"));
    }
}
