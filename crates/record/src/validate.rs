//! What makes a job mean something, as far as that can be told without its target.

use thiserror::Error;

use crate::job::{Distribution, Extent, Job, Verify};
use crate::units::{self, KIB};

/// A job that cannot mean anything, with what to change.
#[derive(Debug, Error, PartialEq, Eq, Clone)]
#[error("job '{job}': {option}: {cause}; {remedy}")]
pub struct JobError {
    /// Name of the job.
    pub job: String,
    /// The option at fault.
    pub option: &'static str,
    /// Why it cannot be.
    pub cause: String,
    /// What to do.
    pub remedy: String,
}

/// Largest queue depth of one thread: the ring's own limit.
const IODEPTH_MAX: u32 = 32_768;
/// Largest number of threads of one job.
const NUMJOBS_MAX: u32 = 1_024;
/// Largest block: what one read(2) or write(2) moves at most, rounded down to a power of two.
const BS_MAX: u64 = 1 << 30;

impl Job {
    /// Checks everything that can be checked without the target.
    ///
    /// # Errors
    /// The first option that is out of range or contradicts another, with its remedy.
    pub fn validate(&self) -> Result<(), JobError> {
        self.check_block_sizes()?;
        self.check_counts()?;
        self.check_extents()?;
        self.check_times()?;
        self.check_data()?;
        self.check_distribution()?;
        self.check_verify()
    }

    fn fault(&self, option: &'static str, cause: String, remedy: &str) -> Result<(), JobError> {
        Err(JobError { job: self.name.clone(), option, cause, remedy: remedy.into() })
    }

    /// Whether two threads work on one block.
    fn threads_overlap(&self) -> bool {
        let apart = match (self.offset_increment, self.size) {
            (Some(Extent::Bytes(step)), Some(Extent::Bytes(size))) => step >= size,
            (Some(Extent::Percent(step)), Some(Extent::Percent(size))) => step >= size,
            _ => false,
        };
        self.numjobs > 1 && !self.filename.is_empty() && !apart
    }

    /// Block sizes and their shares.
    fn check_block_sizes(&self) -> Result<(), JobError> {
        let fail = |option, cause: String, remedy: &str| self.fault(option, cause, remedy);
        let (bs_min, bs_max) = self.block_sizes();
        if bs_min == 0 {
            return fail("bs", "a block of 0 bytes moves nothing".into(), "use 512 or more");
        }
        if bs_max > BS_MAX {
            return fail("bs", format!("{} is above 1 GiB", units::bytes(bs_max)), "use at most 1g");
        }
        if bs_min > bs_max {
            let cause = format!("{} is above {}", units::bytes(bs_min), units::bytes(bs_max));
            return fail("bsrange", cause, "write the smaller size first");
        }
        if let Some(split) = &self.bssplit {
            let sum: u32 = split.iter().map(|share| u32::from(share.percent)).sum();
            if sum != 100 {
                return fail("bssplit", format!("shares sum to {sum}%"), "make them sum to 100");
            }
        }
        Ok(())
    }

    /// Depth, threads, files and amounts.
    fn check_counts(&self) -> Result<(), JobError> {
        let fail = |option, cause: String, remedy: &str| self.fault(option, cause, remedy);
        if self.iodepth == 0 || self.iodepth > IODEPTH_MAX {
            return fail("iodepth", format!("{} is out of range", self.iodepth), "use 1 to 32768");
        }
        if self.iodepth_batch > self.iodepth {
            let cause = format!("{} is above iodepth {}", self.iodepth_batch, self.iodepth);
            return fail("iodepth_batch", cause, "use at most iodepth");
        }
        if self.numjobs == 0 || self.numjobs > NUMJOBS_MAX {
            return fail("numjobs", format!("{} is out of range", self.numjobs), "use 1 to 1024");
        }
        if self.rwmixread > 100 {
            return fail("rwmixread", format!("{}% of reads", self.rwmixread), "use 0 to 100");
        }
        if self.nrfiles == 0 {
            return fail("nrfiles", "no file to use".into(), "use 1 or more");
        }
        if self.loops == 0 {
            return fail("loops", "0 loops do nothing".into(), "use 1 or more");
        }
        if self.number_ios == Some(0) {
            return fail("number_ios", "0 operations do nothing".into(), "use 1 or more");
        }
        if self.io_size == Some(0) {
            return fail("io_size", "0 bytes do nothing".into(), "use a block size or more");
        }
        Ok(())
    }

    /// Working set and offset.
    fn check_extents(&self) -> Result<(), JobError> {
        let fail = |option, cause: String, remedy: &str| self.fault(option, cause, remedy);
        let (_, bs_max) = self.block_sizes();
        if let Some(Extent::Bytes(size)) = self.size
            && size < bs_max
        {
            let cause = format!("{} is below bs {}", units::bytes(size), units::bytes(bs_max));
            return fail("size", cause, "use a size of at least one block");
        }
        for (option, extent) in [("size", self.size), ("offset", self.offset)] {
            if matches!(extent, Some(Extent::Percent(p)) if p > 100) {
                return fail(option, format!("{} is above 100%", extent.unwrap()), "use at most 100%");
            }
        }
        if self.size == Some(Extent::Percent(0)) {
            return fail("size", "0% of the target is nothing".into(), "use 1% to 100%");
        }
        Ok(())
    }

    /// Runtime, syncs, rates and intervals.
    fn check_times(&self) -> Result<(), JobError> {
        let fail = |option, cause: String, remedy: &str| self.fault(option, cause, remedy);
        if self.time_based && self.runtime_ns.is_none_or(|ns| ns == 0) {
            return fail("time_based", "no runtime is set".into(), "add runtime=SECONDS");
        }
        if self.fsync > 0 && self.fdatasync > 0 {
            return fail("fsync", "fdatasync is set too".into(), "keep one of the two");
        }
        for (option, rate) in [("rate", self.rate), ("rate_iops", self.rate_iops)] {
            if rate.read == Some(0) || rate.write == Some(0) {
                return fail(option, "a rate of 0 never starts".into(), "leave it out for no limit");
            }
        }
        if !(1_000_000..=3_600_000_000_000).contains(&self.log_interval_ns) {
            return fail("log_interval", units::duration(self.log_interval_ns), "use 1 ms to 1 h");
        }
        Ok(())
    }

    /// Ratios and unit of the data.
    fn check_data(&self) -> Result<(), JobError> {
        let fail = |option, cause: String, remedy: &str| self.fault(option, cause, remedy);
        for (option, ratio) in [("compress_ratio", self.compress_ratio), ("dedup_ratio", self.dedup_ratio)] {
            if !(1.0..=1000.0).contains(&ratio) {
                return fail(option, format!("{ratio} is out of range"), "use 1.0 (none) to 1000");
            }
        }
        if !self.dedup_unit.is_power_of_two() || !(4 * KIB..=1024 * KIB).contains(&self.dedup_unit) {
            let cause = format!("{} is not a power of two in range", units::bytes(self.dedup_unit));
            return fail("dedup_unit", cause, "use 4k to 1m");
        }
        Ok(())
    }

    /// Parameters of the distribution.
    fn check_distribution(&self) -> Result<(), JobError> {
        let fail = |option, cause: String, remedy: &str| self.fault(option, cause, remedy);
        match self.random_distribution {
            Distribution::Zipf { theta } if !(theta > 0.0 && theta <= 10.0) || theta == 1.0 => {
                return fail(
                    "random_distribution",
                    format!("zipf theta {theta}"),
                    "use a theta above 0, at most 10, not 1",
                );
            }
            Distribution::Pareto { h } if !(h > 0.0 && h < 1.0) => {
                return fail("random_distribution", format!("pareto h {h}"), "use an h between 0 and 1");
            }
            Distribution::Normal { deviation } if !(deviation > 0.0 && deviation <= 100.0) => {
                return fail(
                    "random_distribution",
                    format!("normal deviation {deviation}%"),
                    "use a deviation above 0, at most 100",
                );
            }
            _ => {}
        }
        Ok(())
    }

    /// What verification cannot be combined with.
    fn check_verify(&self) -> Result<(), JobError> {
        let fail = |option, cause: String, remedy: &str| self.fault(option, cause, remedy);
        let (bs_min, bs_max) = self.block_sizes();
        if self.verify != Verify::None {
            if bs_min != bs_max {
                return fail("verify", "block sizes vary".into(), "use one bs with verify");
            }
            if bs_min % 512 != 0 {
                return fail("verify", format!("bs {bs_min} is no multiple of 512"), "use a multiple of 512");
            }
            if self.rw.writes() && self.threads_overlap() {
                let cause = format!("{} threads write the same blocks", self.numjobs);
                return fail(
                    "verify",
                    cause,
                    "give each its own: offset_increment of at least size, or no filename",
                );
            }
            if self.rw.writes() && self.zero_buffers {
                return fail(
                    "verify",
                    "zero_buffers leaves no room for a seal".into(),
                    "drop one of the two",
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{BlockShare, EngineChoice, Rw};

    #[test]
    fn default_job_is_valid() {
        assert_eq!(Job::default().validate(), Ok(()));
    }

    #[test]
    fn fio_default_job_is_valid_and_buffered() {
        let job = Job::fio_default();
        assert_eq!(job.validate(), Ok(()));
        assert!(!job.direct && !job.overwrite && !job.group_reporting);
        assert_eq!(job.ioengine, EngineChoice::Psync);
    }

    #[test]
    fn each_bad_option_is_named() {
        type Spoil = fn(&mut Job);
        let cases: [(&str, Spoil); 17] = [
            ("bs", |j| j.bs = 0),
            ("bs", |j| j.bs = 2 << 30),
            ("bsrange", |j| j.bsrange = Some((8192, 4096))),
            ("bssplit", |j| j.bssplit = Some(vec![BlockShare { bs: 4096, percent: 60 }])),
            ("iodepth", |j| j.iodepth = 0),
            ("iodepth", |j| j.iodepth = 40_000),
            ("iodepth_batch", |j| j.iodepth_batch = 2),
            ("numjobs", |j| j.numjobs = 0),
            ("rwmixread", |j| j.rwmixread = 101),
            ("size", |j| j.size = Some(Extent::Bytes(100))),
            ("size", |j| j.size = Some(Extent::Percent(101))),
            ("time_based", |j| j.time_based = true),
            ("compress_ratio", |j| j.compress_ratio = f64::NAN),
            ("dedup_unit", |j| j.dedup_unit = 5000),
            ("random_distribution", |j| j.random_distribution = Distribution::Zipf { theta: 1.0 }),
            ("rate_iops", |j| j.rate_iops.read = Some(0)),
            ("verify", |j| {
                (j.verify, j.rw, j.numjobs, j.filename) = (Verify::Crc32c, Rw::Write, 2, vec!["f".into()]);
            }),
        ];
        for (option, spoil) in cases {
            let mut job = Job::default();
            spoil(&mut job);
            assert_eq!(job.validate().unwrap_err().option, option);
        }
    }
}
