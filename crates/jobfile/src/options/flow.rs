//! How much at once, for how long, how fast, in what order of jobs.

use iobound_record::{Job, PerDirection, units};

use super::value::{Fault, Value, merge};
use super::{Action, OptionSpec, Origin, Shown, bare_if, nothing, shown, shown_if};
use crate::number::{self, BareTime};

pub(super) static OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "iodepth",
        aliases: &[],
        origin: Origin::Fio,
        why: "operations in flight per thread",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.iodepth = value.count("32")?;
                Ok(())
            },
            show: |job| shown(job.iodepth),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "iodepth_batch",
        aliases: &["iodepth_batch_submit"],
        origin: Origin::Fio,
        why: "operations submitted at once at most; 0 means as many as are free",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.iodepth_batch = value.count("8")?;
                Ok(())
            },
            show: |job| shown_if(job.iodepth_batch != Job::fio_default().iodepth_batch, job.iodepth_batch),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "numjobs",
        aliases: &[],
        origin: Origin::Fio,
        why: "threads that run the job",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.numjobs = value.count("4")?;
                Ok(())
            },
            show: |job| shown(job.numjobs),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "runtime",
        aliases: &["timeout"],
        origin: Origin::Fio,
        why: "stop after this long, seconds unless a unit follows",
        action: Action::Honoured {
            set: |draft, value| {
                let ns = value.time_ns(BareTime::Seconds, "60")?;
                draft.job.runtime_ns = Some(ns).filter(|&ns| ns > 0);
                Ok(())
            },
            show: |job| shown(number::time_fio(job.runtime_ns?, BareTime::Seconds)),
            exact: |job| number::time_exact(job.runtime_ns?),
        },
    },
    OptionSpec {
        name: "time_based",
        aliases: &[],
        origin: Origin::Fio,
        why: "run for the whole runtime, even when the working set was covered",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.time_based = value.flag()?;
                Ok(())
            },
            show: |job| bare_if(job.time_based),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "ramp_time",
        aliases: &[],
        origin: Origin::Fio,
        why: "run this long before anything is recorded, seconds unless a unit follows",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.ramp_time_ns = value.time_ns(BareTime::Seconds, "10")?;
                Ok(())
            },
            show: |job| shown_if(job.ramp_time_ns > 0, number::time_fio(job.ramp_time_ns, BareTime::Seconds)),
            exact: |job| number::time_exact(job.ramp_time_ns),
        },
    },
    OptionSpec {
        name: "startdelay",
        aliases: &[],
        origin: Origin::Fio,
        why: "wait this long before starting, seconds unless a unit follows",
        action: Action::Honoured {
            set: |draft, value| {
                if value.text("10")?.contains(['-', ':', ',']) {
                    return Err(Fault::Cannot("a random delay is not drawn; give one time".into()));
                }
                draft.job.startdelay_ns = value.time_ns(BareTime::Seconds, "10")?;
                Ok(())
            },
            show: |job| {
                shown_if(job.startdelay_ns > 0, number::time_fio(job.startdelay_ns, BareTime::Seconds))
            },
            exact: |job| number::time_exact(job.startdelay_ns),
        },
    },
    OptionSpec {
        name: "loops",
        aliases: &[],
        origin: Origin::Fio,
        why: "repeat the job this often",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.loops = value.count("2")?;
                Ok(())
            },
            show: |job| shown_if(job.loops != 1, job.loops),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "number_ios",
        aliases: &[],
        origin: Origin::Fio,
        why: "stop after this many operations",
        action: Action::Honoured {
            set: |draft, value| {
                let count = value.bytes("1000")?;
                draft.job.number_ios = Some(count).filter(|&count| count > 0 || !value.dialect.is_fio());
                Ok(())
            },
            show: |job| shown(job.number_ios?),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "rate",
        aliases: &[],
        origin: Origin::Fio,
        why: "bytes per second and thread, READ,WRITE",
        action: Action::Honoured {
            set: |draft, value| {
                set_rate(&mut draft.job.rate, value, "100m")?;
                Ok(())
            },
            show: |job| show_pair(job.rate, units::bytes_fio),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "rate_iops",
        aliases: &[],
        origin: Origin::Fio,
        why: "operations per second and thread, READ,WRITE",
        action: Action::Honoured {
            set: |draft, value| {
                set_rate(&mut draft.job.rate_iops, value, "1000")?;
                Ok(())
            },
            show: |job| {
                // fio refuses both rates together.
                if has_rate(job.rate) { None } else { show_pair(job.rate_iops, |rate| rate.to_string()) }
            },
            exact: |job| {
                if !has_rate(job.rate) {
                    return None;
                }
                match show_pair(job.rate_iops, |rate| rate.to_string()) {
                    Some(Shown::Value(text)) => Some(text),
                    _ => None,
                }
            },
        },
    },
    OptionSpec {
        name: "thinktime",
        aliases: &[],
        origin: Origin::Fio,
        why: "pause between operations, microseconds unless a unit follows",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.thinktime_ns = value.time_ns(BareTime::Microseconds, "100")?;
                Ok(())
            },
            show: |job| {
                shown_if(job.thinktime_ns > 0, number::time_fio(job.thinktime_ns, BareTime::Microseconds))
            },
            exact: |job| number::time_exact(job.thinktime_ns),
        },
    },
    OptionSpec {
        name: "thinktime_blocks",
        aliases: &[],
        origin: Origin::Fio,
        why: "operations between pauses",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.thinktime_blocks = value.count("8")?;
                Ok(())
            },
            show: |job| shown_if(job.thinktime_blocks != 1, job.thinktime_blocks),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "fsync",
        aliases: &[],
        origin: Origin::Fio,
        why: "fsync after every this many writes; 0 means never",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.fsync = value.count("1")?;
                Ok(())
            },
            show: |job| shown_if(job.fsync > 0, job.fsync),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "fdatasync",
        aliases: &[],
        origin: Origin::Fio,
        why: "fdatasync after every this many writes; 0 means never",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.fdatasync = value.count("1")?;
                Ok(())
            },
            show: |job| shown_if(job.fdatasync > 0, job.fdatasync),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "end_fsync",
        aliases: &[],
        origin: Origin::Fio,
        why: "one fsync at the end, counted in the runtime",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.end_fsync = value.flag()?;
                Ok(())
            },
            show: |job| shown_if(job.end_fsync, 1),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "stonewall",
        aliases: &["wait_for_previous"],
        origin: Origin::Fio,
        why: "wait for all jobs before this one to end",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.stonewall = value.flag()?;
                Ok(())
            },
            show: |job| bare_if(job.stonewall),
            exact: nothing,
        },
    },
];

type Rates = PerDirection<Option<u64>>;

fn has_rate(rate: Rates) -> bool {
    rate.read.is_some() || rate.write.is_some()
}

/// Reads a rate over the one that [global] gave. fio's rate of 0 is no rate; in the TOML form it is
/// an error, told when the job is checked.
fn set_rate(old: &mut Rates, value: &Value<'_>, example: &'static str) -> Result<(), Fault> {
    let pair = value.pair(example, |text| number::bytes(text, value.dialect).map_err(Fault::Bad))?;
    merge(old, pair);
    if value.dialect.is_fio() {
        old.read = old.read.filter(|&rate| rate > 0);
        old.write = old.write.filter(|&rate| rate > 0);
    }
    Ok(())
}

/// `READ,WRITE`, with an empty part where there is no rate.
fn show_pair(pair: Rates, text: fn(u64) -> String) -> Option<Shown> {
    match (pair.read.map(text), pair.write.map(text)) {
        (None, None) => None,
        (Some(read), Some(write)) => shown(format!("{read},{write}")),
        (Some(read), None) => shown(format!("{read},")),
        (None, Some(write)) => shown(format!(",{write}")),
    }
}
