//! How results are told.

use super::value::Fault;
use super::{Action, OptionSpec, Origin, bare_if, no_word, nothing, shown_if};
use crate::number::BareTime;

pub(super) static OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "group_reporting",
        aliases: &[],
        origin: Origin::Fio,
        why: "report the threads of a job as one",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.group_reporting = value.flag()?;
                Ok(())
            },
            show: |job| bare_if(job.group_reporting),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "log_avg_msec",
        aliases: &[],
        origin: Origin::Fio,
        why: "length of one interval of the series, milliseconds; 0 leaves it at 1 s",
        action: Action::Honoured {
            set: |draft, value| {
                let ns = value.time_ns(BareTime::Milliseconds, "1000")?;
                draft.job.log_interval_ns = if ns == 0 { INTERVAL_DEFAULT_NS } else { ns };
                Ok(())
            },
            show: |job| {
                shown_if(job.log_interval_ns != INTERVAL_DEFAULT_NS, job.log_interval_ns.div_ceil(NS_PER_MS))
            },
            exact: |job| {
                (!job.log_interval_ns.is_multiple_of(NS_PER_MS)).then(|| format!("{}ns", job.log_interval_ns))
            },
        },
    },
    OptionSpec {
        name: "kb_base",
        aliases: &[],
        origin: Origin::Fio,
        why: "what k means in a fio job file: 1024 or 1000",
        action: Action::Honoured {
            set: |_, value| {
                if !value.dialect.is_fio() {
                    let why = "sizes here say what they are: k and KiB are 1024, KB is 1000";
                    return Err(Fault::Cannot(why.into()));
                }
                // Read before the other options of its section; here it is only checked.
                kb_base(value.text("1024")?)?;
                Ok(())
            },
            show: no_word,
            exact: nothing,
        },
    },
];

const NS_PER_MS: u64 = 1_000_000;
const INTERVAL_DEFAULT_NS: u64 = 1_000_000_000;

/// The two values of `kb_base`.
pub(crate) fn kb_base(text: &str) -> Result<u64, Fault> {
    match text {
        "1024" => Ok(1024),
        "1000" => Ok(1000),
        _ => Err(Fault::Bad("use 1024 or 1000".into())),
    }
}
