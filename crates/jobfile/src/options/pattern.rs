//! What I/O is issued: direction, block sizes, offsets, how random.

use iobound_record::{BlockShare, Distribution, EngineChoice, Job, Rw, units};

use super::value::{Fault, Value, merge};
use super::{Action, OptionSpec, Origin, bare_if, no_word, nothing, shown, shown_if};
use crate::limits::BSSPLIT_MAX;
use crate::number;

pub(super) static OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "ioengine",
        aliases: &[],
        origin: Origin::Fio,
        why: "how I/O is issued: io_uring, libaio, psync (also sync, pvsync, pvsync2), null",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.ioengine = engine(value)?;
                Ok(())
            },
            show: |job| shown(fio_engine(job.ioengine)),
            exact: |job| match job.ioengine {
                EngineChoice::Auto | EngineChoice::Fio | EngineChoice::Dd => Some(job.ioengine.to_string()),
                _ => None,
            },
        },
    },
    OptionSpec {
        name: "rw",
        aliases: &["readwrite"],
        origin: Origin::Fio,
        why: "direction and order: read, write, randread, randwrite, rw (readwrite), randrw",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.rw = direction(value.text("randread")?)?;
                Ok(())
            },
            show: |job| shown(job.rw),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "rwmixread",
        aliases: &[],
        origin: Origin::Fio,
        why: "share of reads of a mixed job, percent",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.rwmixread = value.percent("70")?;
                Ok(())
            },
            show: |job| shown_if(job.rw.is_mixed() || job.rwmixread != 50, job.rwmixread),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "rwmixwrite",
        aliases: &[],
        origin: Origin::Fio,
        why: "share of writes of a mixed job, percent: the rest of rwmixread",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.rwmixread = 100 - value.percent("30")?;
                Ok(())
            },
            show: no_word,
            exact: nothing,
        },
    },
    OptionSpec {
        name: "bs",
        aliases: &["blocksize"],
        origin: Origin::Fio,
        why: "block size; READ,WRITE where the job has one direction or both are equal",
        action: Action::Honoured {
            set: |draft, value| {
                let pair = value
                    .pair("4k", |text| at_least_1(number::bytes(text, value.dialect).map_err(Fault::Bad)?))?;
                merge(&mut draft.bs, pair);
                Ok(())
            },
            show: |job| shown_if(job.bsrange.is_none() && job.bssplit.is_none(), units::bytes_fio(job.bs)),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "bsrange",
        aliases: &["blocksize_range"],
        origin: Origin::Fio,
        why: "smallest and largest block size, MIN-MAX",
        action: Action::Honoured {
            set: |draft, value| {
                let pair = value.pair("1k-4k", |text| range(text, value))?;
                merge(&mut draft.bsrange, pair);
                Ok(())
            },
            show: |job| {
                let (min, max) = job.bsrange?;
                shown(format!("{}-{}", units::bytes_fio(min), units::bytes_fio(max)))
            },
            exact: nothing,
        },
    },
    OptionSpec {
        name: "bssplit",
        aliases: &[],
        origin: Origin::Fio,
        why: "block sizes with their shares, SIZE/PERCENT:...; blank shares divide the rest",
        action: Action::Honoured {
            set: |draft, value| {
                let pair = value.pair("4k/50:64k/50", |text| split(text, value))?;
                merge(&mut draft.bssplit, pair);
                Ok(())
            },
            show: |job| {
                let shares = job.bssplit.as_ref()?.iter().filter(|share| share.percent > 0);
                let shares: Vec<String> =
                    shares.map(|share| format!("{}/{}", units::bytes_fio(share.bs), share.percent)).collect();
                shown(shares.join(":"))
            },
            exact: nothing,
        },
    },
    OptionSpec {
        name: "random_distribution",
        aliases: &[],
        origin: Origin::Fio,
        why: "how random offsets are spread: random, zipf:THETA, pareto:H, normal:DEVIATION",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.random_distribution = distribution(value.text("zipf:1.2")?)?;
                Ok(())
            },
            show: |job| match job.random_distribution {
                Distribution::Random => None,
                Distribution::Zipf { theta } => shown(format!("zipf:{theta}")),
                Distribution::Pareto { h } => shown(format!("pareto:{h}")),
                Distribution::Normal { deviation } => shown(format!("normal:{deviation}")),
            },
            exact: nothing,
        },
    },
    OptionSpec {
        name: "norandommap",
        aliases: &[],
        origin: Origin::Fio,
        why: "a block may be hit again before all were hit once",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.norandommap = value.flag()?;
                Ok(())
            },
            show: |job| bare_if(job.norandommap),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "randseed",
        aliases: &[],
        origin: Origin::Fio,
        why: "seed of the random choices; the sequence itself is iobound's own",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.randseed = value.bytes("42")?;
                draft.randseed_said = true;
                Ok(())
            },
            show: |job| shown_if(job.randseed != Job::fio_default().randseed, fio_seed(job.randseed)),
            exact: |job| (fio_seed(job.randseed) != job.randseed).then(|| job.randseed.to_string()),
        },
    },
    OptionSpec {
        name: "randrepeat",
        aliases: &[],
        origin: Origin::Fio,
        why: "the same random choices at each run; 0 takes another seed each time",
        action: Action::Honoured {
            set: |draft, value| {
                draft.randrepeat = value.flag()?;
                Ok(())
            },
            show: no_word,
            exact: nothing,
        },
    },
    OptionSpec {
        name: "allrandrepeat",
        aliases: &[],
        origin: Origin::Fio,
        why: "the same random choices at each run, in all that is random",
        action: Action::Honoured {
            set: |draft, value| {
                draft.allrandrepeat = value.flag()?;
                Ok(())
            },
            show: no_word,
            exact: nothing,
        },
    },
];

/// fio reads a signed number and refuses the largest of all.
fn fio_seed(seed: u64) -> u64 {
    if seed < i64::MAX as u64 { seed } else { seed & (i64::MAX as u64 >> 1) }
}

/// fio's word for an engine; `auto` takes io_uring wherever the host allows it.
fn fio_engine(engine: EngineChoice) -> &'static str {
    match engine {
        EngineChoice::Auto | EngineChoice::Fio | EngineChoice::IoUring => "io_uring",
        EngineChoice::Libaio => "libaio",
        EngineChoice::Psync | EngineChoice::Dd => "psync",
        EngineChoice::Object => "http",
        EngineChoice::Null => "null",
    }
}

fn engine(value: &Value<'_>) -> Result<EngineChoice, Fault> {
    Ok(match value.text("io_uring")? {
        "io_uring" => EngineChoice::IoUring,
        "libaio" => EngineChoice::Libaio,
        // One operation at a time by a system call: they differ in the call's name.
        "psync" | "sync" | "pvsync" | "pvsync2" => EngineChoice::Psync,
        "null" => EngineChoice::Null,
        "auto" if !value.dialect.is_fio() => EngineChoice::Auto,
        "fio" if !value.dialect.is_fio() => EngineChoice::Fio,
        "dd" if !value.dialect.is_fio() => EngineChoice::Dd,
        _ => {
            return Err(Fault::Cannot(
                "use io_uring, libaio, psync or null, or run it with --engine fio".into(),
            ));
        }
    })
}

fn direction(text: &str) -> Result<Rw, Fault> {
    let (word, modifier) = text.split_once(':').map_or((text, None), |(word, rest)| (word, Some(rest)));
    let rw = match word {
        "readwrite" => Rw::Rw,
        "trim" | "randtrim" | "trimwrite" | "randtrimwrite" => {
            return Err(Fault::Cannot("iobound does not trim".into()));
        }
        word => Rw::ALL
            .into_iter()
            .find(|rw| rw.as_str() == word)
            .ok_or_else(|| Fault::Bad("use read, write, randread, randwrite, rw or randrw".into()))?,
    };
    // `:1` on a random and `:0` on a sequential pattern is what fio does without them.
    match modifier {
        None => Ok(rw),
        Some("1") if rw.is_random() => Ok(rw),
        Some("0") if !rw.is_random() => Ok(rw),
        Some(_) => {
            Err(Fault::Cannot("iobound has no runs or holes within a pattern; drop what follows ':'".into()))
        }
    }
}

fn at_least_1(bytes: u64) -> Result<u64, Fault> {
    if bytes == 0 { Err(Fault::Bad("a block of 0 bytes moves nothing".into())) } else { Ok(bytes) }
}

fn range(text: &str, value: &Value<'_>) -> Result<(u64, u64), Fault> {
    let (min, max) =
        text.split_once(['-', ':']).ok_or_else(|| Fault::Bad("write MIN-MAX, for example 1k-4k".into()))?;
    let read = |part: &str| at_least_1(number::bytes(part.trim(), value.dialect).map_err(Fault::Bad)?);
    let (min, max) = (read(min)?, read(max)?);
    // fio takes the two in either order.
    Ok((min.min(max), min.max(max)))
}

fn split(text: &str, value: &Value<'_>) -> Result<Vec<BlockShare>, Fault> {
    let mut shares: Vec<(u64, Option<u32>)> = Vec::new();
    for part in text.split(':').map(str::trim).filter(|part| !part.is_empty()) {
        let (size, percent) = part.split_once('/').unwrap_or((part, ""));
        let size = at_least_1(number::bytes(size.trim(), value.dialect).map_err(Fault::Bad)?)?;
        let percent = match percent.trim().trim_end_matches('%') {
            // fio takes 0 for a blank.
            "" | "0" => None,
            digits => match digits.parse::<u32>() {
                Ok(percent) if percent <= 100 => Some(percent),
                _ => {
                    return Err(Fault::Bad(format!(
                        "'{}' is no whole percentage",
                        crate::errors::quoted(digits)
                    )));
                }
            },
        };
        shares.push((size, percent));
    }
    if shares.is_empty() || shares.len() > BSSPLIT_MAX {
        return Err(Fault::Bad(format!("give 1 to {BSSPLIT_MAX} block sizes, for example 4k/50:64k/50")));
    }
    whole(&shares)
}

/// Divides what is left of 100% among the blank shares, as fio does: evenly, rounded down, and what
/// rounding leaves falls to the share that fio's search tries last, the largest.
fn whole(shares: &[(u64, Option<u32>)]) -> Result<Vec<BlockShare>, Fault> {
    let given: u32 = shares.iter().filter_map(|(_, percent)| *percent).sum();
    let blanks = shares.iter().filter(|(_, percent)| percent.is_none()).count() as u32;
    if given > 100 || (blanks == 0 && given < 100) {
        return Err(Fault::Bad(format!("the shares sum to {given}%; make them 100%, or leave one blank")));
    }
    let each = (100 - given).checked_div(blanks).unwrap_or(0);
    let mut whole: Vec<BlockShare> = shares
        .iter()
        .map(|&(bs, percent)| BlockShare { bs, percent: percent.unwrap_or(each) as u8 })
        .collect();
    let rest = 100 - given - each * blanks;
    if let Some(largest) = whole.iter_mut().max_by_key(|share| share.percent) {
        largest.percent += rest as u8;
    }
    whole.retain(|share| share.percent > 0);
    Ok(whole)
}

fn distribution(text: &str) -> Result<Distribution, Fault> {
    // fio's own values where none is given (FIO_DEF_ZIPF, FIO_DEF_PARETO).
    const ZIPF_DEFAULT: f64 = 1.1;
    const PARETO_DEFAULT: f64 = 0.2;
    let (word, number) =
        text.split_once(':').map_or((text, None), |(word, number)| (word, Some(number.trim())));
    let parameter = |default: Option<f64>| match (number, default) {
        (Some(number), _) => number::float(number).map_err(Fault::Bad),
        (None, Some(default)) => Ok(default),
        (None, None) => Err(Fault::Missing("normal:10")),
    };
    if matches!(word, "zoned" | "zoned_abs") {
        return Err(Fault::Cannot("use random, zipf, pareto or normal".into()));
    }
    if number.is_some_and(|number| number.contains('/')) {
        return Err(Fault::Cannot("iobound has no centre of a distribution; drop '/CENTRE'".into()));
    }
    match word {
        "random" => Ok(Distribution::Random),
        "zipf" => Ok(Distribution::Zipf { theta: parameter(Some(ZIPF_DEFAULT))? }),
        "pareto" => Ok(Distribution::Pareto { h: parameter(Some(PARETO_DEFAULT))? }),
        "normal" => Ok(Distribution::Normal { deviation: parameter(None)? }),
        _ => Err(Fault::Bad("use random, zipf:THETA, pareto:H or normal:DEVIATION".into())),
    }
}
