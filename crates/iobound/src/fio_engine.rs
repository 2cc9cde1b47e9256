//! `--engine fio`: the same job, run by the real fio, back as the same record.

use std::io::Write;

use iobound_jobfile::{JobFile, Kept};
use iobound_record::{EngineChoice, Job, Measurement};
use tempfile::NamedTempFile;

use crate::exit::Failure;
use crate::stop::Stop;
use crate::tools::fio::{Fio, RunOptions, find};

/// What the real fio needs to know of a job besides the job.
#[derive(Clone, Debug, PartialEq)]
pub struct ForFio {
    /// fio's own engine for it.
    pub engine: EngineChoice,
    /// Options of its job file that only fio understands.
    pub kept: Vec<Kept>,
}

/// The job file that fio is given.
pub fn job_file(job: &Job, for_fio: &ForFio) -> String {
    let job = Job { ioengine: for_fio.engine, ..job.clone() };
    JobFile { jobs: vec![job], kept: vec![for_fio.kept.clone()] }.to_fio().text
}

/// A job ready for fio.
pub struct Command {
    fio: Fio,
    file: NamedTempFile,
}

/// Finds fio and puts the job in its words.
///
/// # Errors
/// No usable fio.
pub fn prepare(job: &Job, for_fio: &ForFio) -> Result<Command, Failure> {
    let fio = find().map_err(Failure::usage)?;
    let broke = |error| {
        Failure::broke(format!(
            "a temporary job file for fio: {error}; free space in the temporary directory"
        ))
    };
    let mut file = tempfile::Builder::new().prefix("iobound-").suffix(".fio").tempfile().map_err(broke)?;
    file.write_all(job_file(job, for_fio).as_bytes()).and_then(|()| file.flush()).map_err(broke)?;
    Ok(Command { fio, file })
}

impl Command {
    /// Runs fio.
    ///
    /// # Errors
    /// fio gave no result.
    pub fn run(&self, job: &Job, stop: &Stop) -> Result<Measurement, Failure> {
        let args = [self.file.path().display().to_string()];
        let options = RunOptions { series: false };
        let report = self.fio.run(&args, options, stop.flag(), &mut |_| {}).map_err(Failure::broke)?;
        let mut found = report.jobs.into_iter().map(|(_, measurement)| measurement);
        let Some(mut measurement) = found.next() else {
            let said = report.messages.trim();
            return Err(Failure::broke(format!("fio gave no result for '{}'; it said: {said}", job.name)));
        };
        measurement.interrupted |= report.interrupted;
        measurement.engine_facts.reason = format!("asked for: fio {}", self.fio.version);
        Ok(measurement)
    }
}
