//! A job while its options are read: what cannot be settled before the last of them.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use iobound_record::{BlockShare, Extent, Job, JobError, PerDirection, Verify};

use crate::errors::{Cause, Errors, Place};
use crate::input::{Kept, Options, Strictness};
use crate::limits::KEPT_MAX;
use crate::number::Dialect;
use crate::options::{Action, Fault, Origin, Value, lookup, nearest};

/// An option as it stood in the file.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub option: Arc<str>,
    pub value: Option<Arc<str>>,
    pub place: Place,
    pub dialect: Dialect,
}

/// A job being read. Cheap to clone: a `[global]` section is cloned into each job after it.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub job: Job,
    /// A fio job file, with fio's rules between options; else the TOML form.
    pub fio_rules: bool,
    pub bs: PerDirection<Option<u64>>,
    pub bsrange: PerDirection<Option<(u64, u64)>>,
    pub bssplit: PerDirection<Option<Vec<BlockShare>>>,
    pub filesize: Option<u64>,
    /// `refill_buffers` as it was said; else other options decide.
    pub refill: Option<bool>,
    /// `buffer_compress_percentage` was said, which makes fio refill.
    pub compress_said: bool,
    /// `dedupe_percentage` was said: what repeats in fio is a whole block.
    pub dedupe_said: bool,
    pub dedup_unit_said: bool,
    /// `directory` came from a fio line: fio puts every name below it, absolute ones too.
    pub directory_from_fio: bool,
    pub randrepeat: bool,
    pub allrandrepeat: bool,
    pub randseed_said: bool,
    pub kb_base: u64,
    /// The last place of each option, by its name in the table.
    said: BTreeMap<&'static str, Said>,
    pub kept: Vec<Kept>,
}

impl Draft {
    pub(crate) fn new(job: Job, fio_rules: bool) -> Draft {
        Draft {
            job,
            fio_rules,
            bs: PerDirection::default(),
            bsrange: PerDirection::default(),
            bssplit: PerDirection::default(),
            filesize: None,
            refill: None,
            compress_said: false,
            dedupe_said: false,
            dedup_unit_said: false,
            directory_from_fio: false,
            randrepeat: true,
            allrandrepeat: false,
            randseed_said: false,
            kb_base: 1024,
            said: BTreeMap::new(),
            kept: Vec::new(),
        }
    }

    /// Reads one option into the job, or reports why not.
    pub(crate) fn apply(&mut self, said: Said, options: &Options<'_>, errors: &mut Errors) {
        let dialect = said.dialect;
        let value = Value { text: said.value.as_deref(), dialect };
        let fault = match lookup(&said.option) {
            None => {
                if options.strictness == Strictness::PassThrough && dialect.is_fio() {
                    return self.keep(said, errors);
                }
                let nearest = nearest(&said.option, dialect);
                return errors.push(&said.place, unknown(&said, nearest));
            }
            Some(spec) if spec.origin == Origin::Iobound && dialect.is_fio() => Err(Fault::Cannot(format!(
                "it is iobound's own and fio would refuse the file; write it as the comment '#iobound: {}={}'",
                spec.name,
                said.value.as_deref().unwrap_or("...")
            ))),
            Some(spec) => {
                let outcome = match &spec.action {
                    Action::Honoured { set, .. } => set(self, &value),
                    Action::Ignored => Ok(()),
                    Action::Refused { unless } | Action::NeedsDirect { unless } => {
                        // Whether a job is direct is known at its end only.
                        let later = matches!(spec.action, Action::NeedsDirect { .. });
                        if later || value.is_one_of(unless) {
                            Ok(())
                        } else {
                            Err(Fault::Cannot(spec.why.into()))
                        }
                    }
                };
                if outcome.is_ok() {
                    self.said.insert(spec.name, said.clone());
                }
                outcome
            }
        };
        if let Err(fault) = fault {
            self.report(said, fault, options, errors);
        }
    }

    fn report(&mut self, said: Said, fault: Fault, options: &Options<'_>, errors: &mut Errors) {
        if options.strictness == Strictness::PassThrough && said.dialect.is_fio() {
            return self.keep(said, errors);
        }
        let place = said.place.clone();
        errors.push(&place, cause(&said, fault));
    }

    fn keep(&mut self, said: Said, errors: &mut Errors) {
        if self.kept.len() == KEPT_MAX {
            let limit = format!("{KEPT_MAX} of one job");
            return errors
                .push(&said.place, Cause::Limit { what: "too many options for the real fio", limit });
        }
        // What is written for fio says k for 1024, which a value of this section would not survive.
        if said.dialect == (Dialect::Fio { kb_base: 1000 })
            && said.value.as_deref().is_some_and(has_size_suffix)
        {
            let fault =
                Fault::Cannot("kb_base=1000 is not kept for fio; write this size as a plain number".into());
            return errors.push(&said.place.clone(), cause(&said, fault));
        }
        self.kept.push(Kept { option: said.option, value: said.value, place: said.place });
    }

    /// Settles what depends on several options, and checks the job.
    pub(crate) fn finish(
        mut self,
        header: &Place,
        options: &Options<'_>,
        errors: &mut Errors,
    ) -> (Job, Vec<Kept>) {
        let faults = self.settle(options);
        let settled = faults.is_empty();
        for (name, fault) in faults {
            if let Some(said) = self.said.get(name).cloned() {
                self.report(said, fault, options, errors);
            }
        }
        // A job with a fault already told would be told again in other words.
        if options.strictness == Strictness::Strict
            && settled
            && let Err(error) = self.job.validate()
        {
            errors.push(self.place_of(&error).unwrap_or(header), Cause::Invalid(error.clone()));
        }
        (self.job, self.kept)
    }

    /// The line of the option that a validation error is about.
    fn place_of(&self, error: &JobError) -> Option<&Place> {
        let names: &[&str] = match error.option {
            "bs" => &["bssplit", "bsrange", "bs"],
            "compress_ratio" => &["compress_ratio", "buffer_compress_percentage"],
            "dedup_ratio" => &["dedup_ratio", "dedupe_percentage"],
            "log_interval" => &["log_avg_msec"],
            "rwmixread" => &["rwmixread", "rwmixwrite"],
            "size" => &["size", "filesize"],
            other => return self.said.get(other).map(|said| &said.place),
        };
        names.iter().find_map(|name| self.said.get(name)).map(|said| &said.place)
    }

    fn settle(&mut self, options: &Options<'_>) -> Vec<(&'static str, Fault)> {
        let mut faults = Vec::new();
        self.settle_block_sizes(&mut faults);
        self.settle_size(&mut faults);
        if !self.randseed_said && !self.randrepeat && !self.allrandrepeat {
            self.job.randseed = options.fresh_seed;
        }
        let compresses = self.compress_said && self.job.compress_ratio > 1.0;
        let verifies = self.fio_rules && self.job.verify != Verify::None;
        self.job.refill_buffers = self.refill.unwrap_or(compresses || self.dedupe_said || verifies);
        if self.dedupe_said && !self.dedup_unit_said {
            self.job.dedup_unit = fio_dedup_unit(&self.job);
        }
        if self.fio_rules {
            self.fio_only(&mut faults);
        }
        self.needs_direct(&mut faults);
        faults
    }

    fn settle_block_sizes(&mut self, faults: &mut Vec<(&'static str, Fault)>) {
        let default = self.job.bs;
        let bs = PerDirection {
            read: Some(self.bs.read.unwrap_or(default)),
            write: Some(self.bs.write.unwrap_or(default)),
        };
        let mut pick = |name, differ| {
            if differ {
                faults.push((name, Fault::Cannot(ONE_BLOCK_SIZE.into())));
            }
        };
        let (bs, differ) = self.one_direction(bs);
        let (range, range_differs) = self.one_direction(self.bsrange);
        let (split, split_differs) = self.one_direction(self.bssplit.clone());
        pick("bssplit", split_differs);
        pick("bsrange", range_differs && split.is_none());
        pick("bs", differ && split.is_none() && range.is_none());
        self.job.bs = bs.unwrap_or(default);
        self.job.bsrange = range;
        self.job.bssplit = split;
        if self.job.bsrange.is_some() || self.job.bssplit.is_some() {
            self.job.bs = self.job.block_sizes().1;
        }
    }

    /// The value of the one direction that the job has, or of both, and whether they differ.
    fn one_direction<T: PartialEq>(&self, pair: PerDirection<Option<T>>) -> (Option<T>, bool) {
        match (self.job.rw.reads(), self.job.rw.writes()) {
            (true, false) => (pair.read, false),
            (false, true) => (pair.write, false),
            _ => {
                let differ = pair.read != pair.write;
                (pair.read.or(pair.write), differ)
            }
        }
    }

    fn settle_size(&mut self, faults: &mut Vec<(&'static str, Fault)>) {
        let Some(filesize) = self.filesize else { return };
        if self.job.size.is_some() {
            let why = "size is set too; give the total as size=, shared by the files evenly";
            return faults.push(("filesize", Fault::Cannot(why.into())));
        }
        let files = match self.job.filename.len() {
            0 => u64::from(self.job.nrfiles),
            given => given as u64,
        };
        match filesize.checked_mul(files) {
            Some(size) => self.job.size = Some(Extent::Bytes(size)),
            None => faults.push(("filesize", Fault::Bad("more than 2^64 in all files".into()))),
        }
    }

    /// What fio makes of options together (`fixup_options` of its `init.c`).
    fn fio_only(&mut self, faults: &mut Vec<(&'static str, Fault)>) {
        self.job.iodepth_batch = self.job.iodepth_batch.min(self.job.iodepth);
        let job = &self.job;
        let paced = |rate: PerDirection<Option<u64>>| rate.read.or(rate.write).is_some();
        if paced(job.rate)
            && paced(job.rate_iops)
            && self.said_in_fio("rate")
            && self.said_in_fio("rate_iops")
        {
            faults.push(("rate_iops", Fault::Bad("fio takes rate or rate_iops, not both; drop one".into())));
        }
        if self.directory_from_fio
            && let Some(directory) = self.job.directory.clone()
        {
            for file in &mut self.job.filename {
                if has_path(file) {
                    *file = below(&directory, file);
                }
            }
        }
    }

    /// Whether the option was last said in fio's words; an `#iobound:` line may say what fio cannot.
    fn said_in_fio(&self, name: &str) -> bool {
        self.said.get(name).is_some_and(|said| said.dialect.is_fio())
    }

    fn needs_direct(&mut self, faults: &mut Vec<(&'static str, Fault)>) {
        if self.job.direct {
            return;
        }
        for (name, said) in &self.said {
            if let Some(spec) = lookup(name)
                && let Action::NeedsDirect { unless } = spec.action
                && !(Value { text: said.value.as_deref(), dialect: said.dialect }).is_one_of(unless)
            {
                faults.push((spec.name, Fault::Cannot(spec.why.into())));
            }
        }
    }
}

const ONE_BLOCK_SIZE: &str =
    "reads and writes of one job share their block sizes; give one size, or make two jobs of it";

fn unknown(said: &Said, nearest: Option<&'static str>) -> Cause {
    Cause::UnknownOption {
        option: said.option.to_string(),
        value: said.value.as_deref().map(str::to_owned),
        nearest,
    }
}

fn cause(said: &Said, fault: Fault) -> Cause {
    let option = said.option.to_string();
    let value = said.value.as_deref().map(str::to_owned);
    match fault {
        Fault::Missing(example) => Cause::MissingValue { option, example },
        Fault::Bad(why) => Cause::BadValue { option, value, why },
        Fault::Cannot(why) => Cause::CannotHonour { option, value, why },
    }
}

/// Whether a digit is followed by a letter of a size, as in `4k`.
fn has_size_suffix(value: &str) -> bool {
    value.as_bytes().windows(2).any(|pair| pair[0].is_ascii_digit() && b"kmgtpKMGTP".contains(&pair[1]))
}

/// The unit at which data repeats in fio: whole blocks, as far as iobound has such a unit.
pub(crate) fn fio_dedup_unit(job: &Job) -> u64 {
    let unit = job.block_sizes().0;
    if unit.is_power_of_two() { unit.clamp(4 << 10, 1 << 20) } else { 4 << 10 }
}

/// Whether a file name says where the file is, so that `directory` is not asked.
pub(crate) fn has_path(file: &Path) -> bool {
    file.as_os_str().as_encoded_bytes().contains(&b'/')
}

/// Where fio looks for `file` when `directory` is set: below it, even if `file` is absolute.
fn below(directory: &Path, file: &Path) -> PathBuf {
    directory.join(file.components().filter(|c| !matches!(c, Component::RootDir)).collect::<PathBuf>())
}
