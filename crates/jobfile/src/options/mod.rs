//! The one table of options: what the readers accept, what the printers write, what the
//! documentation lists.
//!
//! The names are those of `fio --cmdhelp=all` of fio 3.33 with the options of its engines that
//! iobound stands in for, those that fio 3.42 added, and iobound's own few.

mod data;
mod flow;
mod ignored;
mod pattern;
mod refused;
mod report;
mod target;
mod value;

use iobound_record::Job;

use crate::draft::Draft;
use crate::limits::NEAREST_NAME_MAX;
use crate::number::Dialect;

pub(crate) use report::kb_base;
pub(crate) use value::{Fault, Value};

/// Who has the option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// fio.
    Fio,
    /// One of fio's engines, which takes it only when it is chosen.
    FioEngine,
    /// iobound alone: in the TOML form, or after `#iobound:` in a fio job file.
    Iobound,
}

/// How an option appears in a fio command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// `--time_based`.
    Bare,
    /// `--bs=4k`.
    Value(String),
}

/// What a reader and a printer do with an option.
pub(crate) enum Action {
    /// It changes the job.
    Honoured {
        /// Reads it.
        set: fn(&mut Draft, &Value<'_>) -> Result<(), Fault>,
        /// Writes it in fio's words; None where the fio default says the same.
        show: fn(&Job) -> Option<Shown>,
        /// Writes it in iobound's words, where fio's cannot say it or not exactly.
        exact: fn(&Job) -> Option<String>,
    },
    /// It is accepted and changes nothing, for the reason given.
    Ignored,
    /// It is accepted with a value that asks for nothing, and refused with others.
    Refused {
        /// The values that ask for nothing; a bare flag counts as "1".
        unless: &'static [&'static str],
    },
    /// Like `Refused`, except that it changes nothing either for a job with `direct=1`.
    NeedsDirect {
        /// The values that ask for nothing.
        unless: &'static [&'static str],
    },
}

/// A row of the table.
pub(crate) struct OptionSpec {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub origin: Origin,
    pub action: Action,
    /// For honoured options what it does; else why it changes nothing or cannot be honoured, and
    /// what to write instead.
    pub why: &'static str,
}

/// What iobound does with an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// It does what fio's manual says.
    Honoured,
    /// It is accepted and changes nothing that is measured or reported.
    Ignored,
    /// It is an error, but for these values, which ask for nothing.
    Refused {
        /// Values accepted all the same.
        unless: &'static [&'static str],
        /// Any value is accepted with `direct=1`, where it changes nothing.
        accepted_with_direct: bool,
    },
}

/// A row of the table, for documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// Its name.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// Who has it.
    pub origin: Origin,
    /// What iobound does with it.
    pub support: Support,
    /// What it does, or why it is ignored or refused.
    pub text: &'static str,
}

/// The tables, in the order in which printers write them.
const TABLES: [&[OptionSpec]; 7] = [
    pattern::OPTIONS,
    target::OPTIONS,
    flow::OPTIONS,
    data::OPTIONS,
    report::OPTIONS,
    ignored::OPTIONS,
    refused::OPTIONS,
];

pub(crate) fn all() -> impl Iterator<Item = &'static OptionSpec> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// Every option, honoured ones first.
pub fn option_table() -> impl Iterator<Item = OptionInfo> {
    all().map(|spec| OptionInfo {
        name: spec.name,
        aliases: spec.aliases,
        origin: spec.origin,
        support: match spec.action {
            Action::Honoured { .. } => Support::Honoured,
            Action::Ignored => Support::Ignored,
            Action::Refused { unless } => Support::Refused { unless, accepted_with_direct: false },
            Action::NeedsDirect { unless } => Support::Refused { unless, accepted_with_direct: true },
        },
        text: spec.why,
    })
}

/// Every name and alias that is known, honoured or not.
pub fn option_names() -> impl Iterator<Item = &'static str> {
    all().flat_map(|spec| std::iter::once(spec.name).chain(spec.aliases.iter().copied()))
}

/// The row of an option, by its name or an alias.
pub(crate) fn lookup(name: &str) -> Option<&'static OptionSpec> {
    all().find(|spec| spec.name == name || spec.aliases.contains(&name))
}

/// The known name that is most like `name`, if any is like it; among equals an honoured one.
pub(crate) fn nearest(name: &str, dialect: Dialect) -> Option<&'static str> {
    if name.len() > NEAREST_NAME_MAX {
        return None;
    }
    let lower = name.to_ascii_lowercase().replace('-', "_");
    // A third of the letters may be wrong: enough for a slip, too little to meet another word.
    let limit = (lower.chars().count() / 3).max(1);
    all()
        .filter(|spec| spec.origin != Origin::Iobound || !dialect.is_fio())
        .flat_map(|spec| {
            let honoured = matches!(spec.action, Action::Honoured { .. });
            std::iter::once(spec.name).chain(spec.aliases.iter().copied()).map(move |name| (name, honoured))
        })
        .map(|(known, honoured)| (strsim::osa_distance(&lower, known), !honoured, known))
        .filter(|(distance, _, _)| *distance <= limit)
        .min()
        .map(|(_, _, known)| known)
}

/// Nothing beyond what fio's words say.
pub(crate) fn nothing(_: &Job) -> Option<String> {
    None
}

/// No word of fio's.
pub(crate) fn no_word(_: &Job) -> Option<Shown> {
    None
}

pub(crate) fn shown(value: impl ToString) -> Option<Shown> {
    Some(Shown::Value(value.to_string()))
}

pub(crate) fn shown_if(condition: bool, value: impl ToString) -> Option<Shown> {
    condition.then(|| Shown::Value(value.to_string()))
}

pub(crate) fn bare_if(condition: bool) -> Option<Shown> {
    condition.then_some(Shown::Bare)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_name_stands_twice() {
        let mut seen = BTreeSet::new();
        for name in option_names() {
            assert!(seen.insert(name), "{name}");
        }
    }

    #[test]
    fn every_row_says_why() {
        for spec in all() {
            assert!(spec.why.len() > 10 && !spec.why.ends_with('.'), "{}: '{}'", spec.name, spec.why);
        }
    }

    #[test]
    fn slips_find_their_option_and_nonsense_none() {
        let fio = Dialect::Fio { kb_base: 1024 };
        for (slip, option) in [
            ("iodepht", "iodepth"),
            ("io-depth", "iodepth"),
            ("rwmixreads", "rwmixread"),
            ("BS", "bs"),
            ("fdata_sync", "fdatasync"),
            ("blocksise", "blocksize"),
            ("group_report", "group_reporting"),
        ] {
            assert_eq!(nearest(slip, fio), Some(option), "{slip}");
        }
        assert_eq!(nearest("dedup_ration", Dialect::Iobound), Some("dedup_ratio"));
        assert_eq!(nearest("xyzzyplugh", fio), None);
        assert_eq!(nearest(&"x".repeat(4000), fio), None);
    }

    #[test]
    fn aliases_reach_their_row() {
        for (alias, name) in
            [("readwrite", "rw"), ("blocksize", "bs"), ("io_limit", "io_size"), ("timeout", "runtime")]
        {
            assert_eq!(lookup(alias).unwrap().name, name);
        }
    }
}
