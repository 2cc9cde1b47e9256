//! From a job and the sizes of its files to the part of each file that each thread works on.

use std::path::{Path, PathBuf};

use iobound_record::{Extent, Job, JobError, units};

use crate::workload::Region;

/// Name of a job's own file, as fio forms it.
fn own_file(job: &Job, thread: u32, number: u32) -> PathBuf {
    let directory = job.directory.as_deref().unwrap_or(Path::new("."));
    // A name with a slash would leave the directory.
    directory.join(format!("{}.{thread}.{number}", job.name.replace('/', "_")))
}

/// Every file that a job will open, each once, in the order that regions refer to.
pub fn paths_of(job: &Job) -> Vec<PathBuf> {
    if job.filename.is_empty() {
        return (0..job.numjobs)
            .flat_map(|thread| (0..job.nrfiles).map(move |number| (thread, number)))
            .map(|(thread, number)| own_file(job, thread, number))
            .collect();
    }
    let mut paths: Vec<PathBuf> = Vec::new();
    for name in &job.filename {
        let path = match &job.directory {
            Some(directory) if name.is_relative() => directory.join(name),
            _ => name.clone(),
        };
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// What is known of a file before the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Existing {
    /// Length; None when the file does not exist or its length is the job's to choose.
    pub(crate) len: Option<u64>,
}

/// The regions of every thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) threads: Vec<Vec<Region>>,
    /// Bytes moved by one loop of one thread.
    pub(crate) loop_bytes: u64,
}

impl Plan {
    /// Bytes that file `file` must have.
    pub(crate) fn needed(&self, file: u32) -> u64 {
        let regions = self.threads.iter().flatten().filter(|region| region.file == file);
        regions.map(|region| region.start + region.len).max().unwrap_or(0)
    }
}

fn fail(job: &Job, option: &'static str, cause: String, remedy: &str) -> JobError {
    JobError { job: job.name.clone(), option, cause, remedy: remedy.into() }
}

/// Lays the job over its files; `existing` follows [`paths_of`].
///
/// # Errors
/// A size that is missing, does not fit, or overflows.
pub(crate) fn plan(job: &Job, existing: &[Existing]) -> Result<Plan, JobError> {
    let own = job.filename.is_empty();
    let per_thread = if own { job.nrfiles as usize } else { existing.len() };
    let (unit, largest) = job.block_sizes();
    let mut threads = Vec::with_capacity(job.numjobs as usize);
    for thread in 0..job.numjobs {
        let first = if own { thread as usize * per_thread } else { 0 };
        let mut regions = Vec::with_capacity(per_thread);
        for (file, &known) in existing.iter().enumerate().skip(first).take(per_thread) {
            let (start, len) = extent_of(job, thread, known, per_thread as u64)?;
            let len = len / unit * unit;
            if len < largest {
                let cause = format!("{} a file is below bs {}", units::bytes(len), units::bytes(largest));
                return Err(fail(job, "size", cause, "raise size, or lower bs, nrfiles or offset"));
            }
            regions.push(Region { file: file as u32, start, len });
        }
        threads.push(regions);
    }
    // Files of different lengths: the shortest part of each, so that blocks can go around them.
    let shortest = threads.iter().flatten().map(|region| region.len).min().unwrap_or(0);
    threads.iter_mut().flatten().for_each(|region| region.len = shortest);
    let loop_bytes = job.io_size.unwrap_or(shortest.saturating_mul(per_thread as u64));
    Ok(Plan { threads, loop_bytes })
}

/// Start and length of one thread's part of one file.
fn extent_of(job: &Job, thread: u32, existing: Existing, files: u64) -> Result<(u64, u64), JobError> {
    let overflow =
        |option| fail(job, option, "offset and size add up to more than 2^63 bytes".into(), "lower them");
    let resolve = |option, extent: Extent| match (extent, existing.len) {
        (Extent::Bytes(bytes), _) => Ok(bytes),
        (Extent::Percent(_), Some(len)) => Ok(extent.resolve(len)),
        (Extent::Percent(percent), None) => {
            let cause = format!("{percent}% of a file that does not exist yet");
            Err(fail(job, option, cause, "give a size in bytes, or name an existing file"))
        }
    };
    let offset = job.offset.map_or(Ok(0), |extent| resolve("offset", extent))?;
    let step = job.offset_increment.map_or(Ok(0), |extent| resolve("offset_increment", extent))?;
    let start = step.checked_mul(u64::from(thread)).and_then(|step| offset.checked_add(step));
    let start = start.filter(|&start| start < 1 << 63).ok_or_else(|| overflow("offset"))?;
    let len = match (job.size, existing.len) {
        (Some(extent @ Extent::Percent(_)), _) => resolve("size", extent)?,
        (Some(Extent::Bytes(bytes)), _) => bytes / files,
        (None, Some(len)) if len > start => len - start,
        (None, Some(len)) => {
            let cause = format!("offset {start} lies at or behind the end, {len}");
            return Err(fail(job, "offset", cause, "lower offset"));
        }
        (None, None) => {
            let cause = "the target does not exist, so its size must be given".into();
            return Err(fail(job, "size", cause, "add size=1g, for example"));
        }
    };
    // A percentage counts from the offset to the end at most.
    let len = match (job.size, existing.len) {
        (Some(Extent::Percent(_)), Some(whole)) => len.min(whole.saturating_sub(start)),
        _ => len,
    };
    start.checked_add(len).filter(|&end| end < 1 << 63).ok_or_else(|| overflow("size"))?;
    Ok((start, len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NEW: Existing = Existing { len: None };

    #[test]
    fn jobs_on_one_file_share_it() {
        let job = Job {
            filename: vec!["x".into()],
            numjobs: 4,
            size: Some(Extent::Bytes(1 << 20)),
            ..Job::default()
        };
        let plan = plan(&job, &[NEW]).unwrap();
        assert!(plan.threads.iter().all(|regions| regions[0] == Region { file: 0, start: 0, len: 1 << 20 }));
        assert_eq!(plan.needed(0), 1 << 20);
    }

    #[test]
    fn offset_increment_gives_each_thread_its_own() {
        let job = Job {
            filename: vec!["x".into()],
            numjobs: 2,
            size: Some(Extent::Bytes(1 << 20)),
            offset: Some(Extent::Bytes(4096)),
            offset_increment: Some(Extent::Bytes(1 << 20)),
            ..Job::default()
        };
        let plan = plan(&job, &[NEW]).unwrap();
        assert_eq!(plan.threads[1][0].start, 4096 + (1 << 20));
        assert_eq!(plan.needed(0), 4096 + (2 << 20));
    }

    #[test]
    fn own_files_are_named_as_fio_names_them() {
        let job = Job {
            name: "test".into(),
            numjobs: 2,
            nrfiles: 2,
            size: Some(Extent::Bytes(1 << 20)),
            ..Job::default()
        };
        let names: Vec<String> = paths_of(&job).iter().map(|path| path.display().to_string()).collect();
        assert_eq!(names, ["./test.0.0", "./test.0.1", "./test.1.0", "./test.1.1"]);
        let plan = plan(&job, &[NEW; 4]).unwrap();
        assert_eq!(plan.threads[1][1], Region { file: 3, start: 0, len: 1 << 19 });
        assert_eq!(plan.loop_bytes, 1 << 20);
    }

    #[test]
    fn a_missing_size_says_so() {
        let job = Job { filename: vec!["x".into()], ..Job::default() };
        assert_eq!(plan(&job, &[NEW]).unwrap_err().option, "size");
        let half = Job { size: Some(Extent::Percent(50)), ..job.clone() };
        assert_eq!(plan(&half, &[NEW]).unwrap_err().option, "size");
        let whole = plan(&half, &[Existing { len: Some(1 << 20) }]).unwrap();
        assert_eq!(whole.threads[0][0].len, 1 << 19);
    }

    proptest! {
        #[test]
        fn no_numbers_panic(
            size: Option<u64>, percent in 1u8..=100, offset: u64, step: u64,
            len: Option<u64>, numjobs in 1u32..8, files in 1usize..4,
        ) {
            let job = Job {
                filename: (0..files).map(|n| format!("f{n}").into()).collect(),
                size: size.map_or(Some(Extent::Percent(percent)), |bytes| Some(Extent::Bytes(bytes))),
                offset: Some(Extent::Bytes(offset)),
                offset_increment: Some(Extent::Bytes(step)),
                numjobs,
                ..Job::default()
            };
            if let Ok(plan) = plan(&job, &vec![Existing { len }; files]) {
                for region in plan.threads.iter().flatten() {
                    prop_assert!(region.len >= job.bs);
                    prop_assert!(region.start.checked_add(region.len).is_some());
                }
            }
        }
    }
}
