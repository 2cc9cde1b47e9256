//! What is written: how compressible, how often repeated, checked or not.

use iobound_record::{Job, Verify, units};

use super::value::{Fault, Value};
use super::{Action, OptionSpec, Origin, bare_if, no_word, nothing, shown_if};
use crate::draft::fio_dedup_unit;

pub(super) static OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "zero_buffers",
        aliases: &[],
        origin: Origin::Fio,
        why: "write zeroes",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.zero_buffers = value.flag()?;
                Ok(())
            },
            show: |job| bare_if(job.zero_buffers),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "buffer_compress_percentage",
        aliases: &[],
        origin: Origin::Fio,
        why: "how much of the data compresses away: a ratio of 1 / (1 - p/100); 100 is zero_buffers",
        action: Action::Honoured {
            set: |draft, value| {
                let percent = value.percent("50")?;
                if percent == 100 {
                    draft.job.zero_buffers = true;
                }
                draft.job.compress_ratio = if percent == 100 { 1.0 } else { ratio(percent) };
                draft.compress_said = true;
                Ok(())
            },
            show: |job| shown_if(percent(job.compress_ratio) > 0, percent(job.compress_ratio)),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "dedupe_percentage",
        aliases: &[],
        origin: Origin::Fio,
        why: "how much of the data repeats: a ratio of 1 / (1 - p/100), in units of a block",
        action: Action::Honoured {
            set: |draft, value| {
                let percent = value.percent("50")?;
                if percent == 100 {
                    return Err(Fault::Cannot(
                        "one block repeated for ever has no ratio; use at most 99".into(),
                    ));
                }
                draft.job.dedup_ratio = ratio(percent);
                // fio refills at every value, and whatever was said of refill_buffers before.
                draft.dedupe_said = true;
                draft.refill = None;
                Ok(())
            },
            show: |job| shown_if(percent(job.dedup_ratio) > 0, percent(job.dedup_ratio)),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "compress_ratio",
        aliases: &[],
        origin: Origin::Iobound,
        why: "compress ratio of the data; 1.0 is incompressible",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.compress_ratio = value.float("2.0")?;
                Ok(())
            },
            show: no_word,
            exact: |job| {
                (job.compress_ratio != ratio(percent(job.compress_ratio)))
                    .then(|| job.compress_ratio.to_string())
            },
        },
    },
    OptionSpec {
        name: "dedup_ratio",
        aliases: &[],
        origin: Origin::Iobound,
        why: "dedup ratio of the data; 1.0 is no duplicate",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.dedup_ratio = value.float("2.0")?;
                Ok(())
            },
            show: no_word,
            exact: |job| {
                (job.dedup_ratio != ratio(percent(job.dedup_ratio))).then(|| job.dedup_ratio.to_string())
            },
        },
    },
    OptionSpec {
        name: "dedup_unit",
        aliases: &[],
        origin: Origin::Iobound,
        why: "unit at which data repeats",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.dedup_unit = value.bytes("4k")?;
                draft.dedup_unit_said = true;
                Ok(())
            },
            show: no_word,
            exact: |job| (job.dedup_unit != implied_unit(job)).then(|| units::bytes_fio(job.dedup_unit)),
        },
    },
    OptionSpec {
        name: "verify",
        aliases: &[],
        origin: Origin::Fio,
        why: "seal written blocks and check them: crc32c (crc32c-intel), 0",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.verify = algorithm(value)?;
                Ok(())
            },
            show: |job| shown_if(job.verify == Verify::Crc32c, "crc32c"),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "do_verify",
        aliases: &[],
        origin: Origin::Fio,
        why: "read back and check after writing, when verify is on",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.do_verify = value.flag()?;
                Ok(())
            },
            show: |job| shown_if(!job.do_verify, 0),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "refill_buffers",
        aliases: &[],
        origin: Origin::Fio,
        why: "fill buffers anew before every write; compressing, deduping and verifying jobs do by default",
        action: Action::Honoured {
            set: |draft, value| {
                draft.refill = Some(value.flag()?);
                Ok(())
            },
            show: |job| {
                if job.refill_buffers { bare_if(true) } else { shown_if(fio_refills(job), 0) }
            },
            exact: nothing,
        },
    },
];

/// The ratio of data of which `percent` (0 to 99) goes away.
fn ratio(percent: u8) -> f64 {
    100.0 / (100.0 - f64::from(percent))
}

/// The whole percentage nearest to a ratio of 1.0 or more.
fn percent(ratio: f64) -> u8 {
    (100.0 * (1.0 - 1.0 / ratio.max(1.0))).round().clamp(0.0, 99.0) as u8
}

/// The dedup unit that a reader of the fio options alone arrives at.
fn implied_unit(job: &Job) -> u64 {
    if percent(job.dedup_ratio) > 0 { fio_dedup_unit(job) } else { Job::fio_default().dedup_unit }
}

/// Whether fio refills the buffers of this job when nothing is said.
fn fio_refills(job: &Job) -> bool {
    percent(job.compress_ratio) > 0 || percent(job.dedup_ratio) > 0 || job.verify != Verify::None
}

fn algorithm(value: &Value<'_>) -> Result<Verify, Fault> {
    match value.text("crc32c")? {
        "0" | "none" => Ok(Verify::None),
        "crc32c" | "crc32c-intel" => Ok(Verify::Crc32c),
        "md5" | "crc64" | "crc32" | "crc16" | "crc7" | "sha1" | "sha256" | "sha512" | "sha3-224"
        | "sha3-256" | "sha3-384" | "sha3-512" | "xxhash" | "meta" | "pattern" | "pattern_hdr" | "null" => {
            Err(Fault::Cannot("iobound seals with crc32c, offset and generation; use verify=crc32c".into()))
        }
        _ => Err(Fault::Bad("use crc32c, or 0 for none".into())),
    }
}
