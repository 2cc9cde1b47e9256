//! `--engine dd`: the same job, run by the real dd, back as the same record.

use std::fs::File;
use std::io::Read;
use std::time::Duration;

use iobound_engine::paths_of;
use iobound_record::{DirectionStats, EngineChoice, EngineFacts, Job, LatencySummary, Measurement};
use rustix::fs::Advice;

use crate::exit::Failure;
use crate::stop::Stop;
use crate::tools::dd::{Copied, Dd, cannot, command, find};

/// A job ready for dd.
pub struct Program {
    dd: Dd,
    args: Vec<String>,
}

/// Finds dd and puts the job in its words. The job's file is there, guarded and laid out.
///
/// # Errors
/// No usable dd; a job that it cannot do, with everything that stands in the way.
pub fn prepare(job: &Job) -> Result<Program, Failure> {
    let why = cannot(job);
    let path = paths_of(job).into_iter().next().filter(|_| why.is_empty());
    let Some(path) = path else {
        return Err(Failure::usage(format!("dd cannot do job '{}': {}", job.name, why.join("; "))));
    };
    Ok(Program { dd: find().map_err(Failure::usage)?, args: command(job, &path) })
}

impl Program {
    /// The command, to be repeated by hand.
    pub fn words(&self) -> String {
        let quoted = |word: &String| match word.contains(|c: char| c.is_whitespace() || "'\"$\\".contains(c))
        {
            true => format!("'{}'", word.replace('\'', "'\\''")),
            false => word.clone(),
        };
        let words: Vec<String> = self.args.iter().map(quoted).collect();
        format!("LC_ALL=C dd {}", words.join(" "))
    }

    /// Runs dd.
    ///
    /// # Errors
    /// dd gave no result; its own message.
    pub fn run(&self, job: &Job, stop: &Stop) -> Result<Measurement, Failure> {
        if !job.direct {
            set_cache(job).map_err(Failure::broke)?;
        }
        let longest = job.runtime_ns.map(Duration::from_nanos);
        let report = self.dd.run(&self.args, longest, stop.flag()).map_err(Failure::broke)?;
        let mut measurement = measured(job, &report.copied);
        measurement.interrupted = report.interrupted;
        measurement.engine_facts =
            EngineFacts { reason: format!("asked for: {}", self.dd.version), ..EngineFacts::default() };
        Ok(measurement)
    }
}

/// Empties the page cache of the job's file, or fills it, as our own engines do.
fn set_cache(job: &Job) -> std::io::Result<()> {
    for path in paths_of(job) {
        let mut file = File::open(path)?;
        if job.pre_read {
            let mut piece = vec![0; 1 << 20];
            while file.read(&mut piece)? > 0 {}
        } else {
            let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
        }
    }
    Ok(())
}

/// dd's bytes and time as a measurement. It does one operation after another, so their mean time is that
/// of the copy over their number; how they spread it does not say.
fn measured(job: &Job, copied: &Copied) -> Measurement {
    let ios = copied.whole_out + copied.part_out;
    let per_second = |amount: u64| if copied.seconds > 0.0 { amount as f64 / copied.seconds } else { 0.0 };
    let mean = if ios > 0 { copied.seconds * 1e9 / ios as f64 } else { 0.0 };
    let side = DirectionStats {
        ios,
        bytes: copied.bytes,
        iops: per_second(ios),
        bandwidth_bytes_per_s: per_second(copied.bytes),
        latency_ns: LatencySummary { mean, ..LatencySummary::default() },
        short_ios: copied.part_out,
        ..DirectionStats::default()
    };
    let mut measurement = Measurement {
        engine: EngineChoice::Dd,
        runtime_ns: (copied.seconds * 1e9) as u64,
        ..Measurement::default()
    };
    if job.rw.writes() {
        measurement.write = side;
    } else {
        measurement.read = side;
    }
    measurement
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::Rw;

    #[test]
    fn bytes_and_time_become_rates() {
        let copied = Copied { whole_out: 100, bytes: 409_600, seconds: 0.5, ..Copied::default() };
        let write = measured(&Job { rw: Rw::Write, ..Job::default() }, &copied);
        assert_eq!((write.write.iops, write.write.bandwidth_bytes_per_s), (200.0, 819_200.0));
        assert_eq!((write.write.latency_ns.mean, write.read.ios, write.runtime_ns), (5e6, 0, 500_000_000));
        let none = measured(&Job::default(), &Copied::default());
        assert_eq!((none.read.iops, none.read.latency_ns.mean), (0.0, 0.0));
    }
}
