//! The quick suite: what a directory's storage can do, in about a minute.

use std::path::Path;

use iobound_record::{Extent, Job, Metric, Rw, units::KIB, units::MIB};

use super::{About, Group, Step};

/// Name of the suite's one file, the same in every run so that what a killed run left is found again.
pub const QUICK_FILE: &str = ".iobound-quick.dat";
/// Smallest and largest working set. The smallest is below which caches of drives would answer; the
/// largest is what lays out in seconds on a fast drive.
pub const WORKING_SET: (u64, u64) = (64 * MIB, 1024 * MIB);

const SECOND: u64 = 1_000_000_000;
/// How long each of the six jobs measures, after a ramp in which a throttle's saved-up credit is used.
const RUNTIME: u64 = 4 * SECOND;
const RAMP: u64 = SECOND / 2;
/// The same for each point of the sweep.
const POINT_RUNTIME: u64 = SECOND * 3 / 2;
const POINT_RAMP: u64 = SECOND / 4;
/// Block sizes of the sweep: the range in which cloud volumes and drives turn from one bound to the
/// other (gp3: 42 KiB).
const SWEEP: [u64; 9] =
    [4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB, 256 * KIB, 512 * KIB, MIB];

/// The steps, on a file of `size` bytes that is laid out; `runtime_ns` replaces each job's own.
pub fn quick(file: &Path, size: u64, runtime_ns: Option<u64>) -> Vec<Group> {
    let base = Job {
        filename: vec![file.into()],
        size: Some(Extent::Bytes(size)),
        time_based: true,
        runtime_ns: Some(runtime_ns.unwrap_or(RUNTIME)),
        ramp_time_ns: RAMP,
        ..Job::default()
    };
    let small = Job { bs: 4 * KIB, iodepth: 64, ..base.clone() };
    let large = Job { bs: MIB, iodepth: 16, ..base.clone() };
    let single = Job { bs: 8 * KIB, iodepth: 1, ..base.clone() };
    let six = [
        (
            "sync-write",
            "one durable write after another, as a commit log does",
            Job { rw: Rw::Write, fdatasync: 1, ..single.clone() },
        ),
        (
            "read-latency",
            "one random read after another, as an index look-up does",
            Job { rw: Rw::RandRead, ..single },
        ),
        ("rand-read", "random reads at depth", Job { rw: Rw::RandRead, ..small.clone() }),
        ("rand-write", "random writes at depth", Job { rw: Rw::RandWrite, ..small.clone() }),
        ("seq-read", "large reads in order", Job { rw: Rw::Read, ..large.clone() }),
        ("seq-write", "large writes in order", Job { rw: Rw::Write, ..large }),
    ];
    let sweep = SWEEP.into_iter().filter(|&bs| bs * 16 <= size).map(|bs| {
        let job = Job {
            rw: Rw::RandRead,
            bs,
            iodepth: 32,
            runtime_ns: Some(runtime_ns.map_or(POINT_RUNTIME, |ns| ns.min(POINT_RUNTIME))),
            ramp_time_ns: POINT_RAMP,
            ..base.clone()
        };
        (format!("sweep-{}", iobound_record::units::bytes_fio(bs)), "one point of the block-size sweep", job)
    });
    let six = six.into_iter().map(|(name, what, job)| (name.to_string(), what, job));
    six.chain(sweep)
        .zip(1..)
        .map(|((name, what, job), id)| {
            let job = Job { name: name.clone(), description: Some(what.into()), ..job };
            vec![Step {
                id,
                phase: if id <= 6 { 1 } else { 2 },
                name,
                volume: String::new(),
                about: About { metric: metric_of(&job), ..About::default() },
                job,
                for_fio: None,
            }]
        })
        .collect()
}

/// One at a time it is time that counts, in large blocks bytes, else operations.
fn metric_of(job: &Job) -> Metric {
    match job {
        job if job.iodepth == 1 => Metric::Latency,
        job if job.bs >= MIB => Metric::Bandwidth,
        _ => Metric::Iops,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_valid_and_it_takes_about_a_minute() {
        let groups = quick(Path::new("/x/f"), WORKING_SET.1, None);
        let jobs: Vec<&Job> = groups.iter().flatten().map(|step| &step.job).collect();
        jobs.iter().for_each(|job| assert_eq!(job.validate(), Ok(())));
        let seconds: u64 =
            jobs.iter().map(|job| job.runtime_ns.unwrap() + job.ramp_time_ns).sum::<u64>() / SECOND;
        assert!((35..60).contains(&seconds), "{seconds} s");
    }

    #[test]
    fn a_small_working_set_drops_points_it_cannot_hold() {
        let groups = quick(Path::new("/x/f"), 8 * MIB, None);
        assert!(groups.iter().flatten().all(|step| step.job.bs * 8 <= 16 * MIB));
    }
}
