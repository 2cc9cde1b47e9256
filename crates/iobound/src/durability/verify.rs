//! `iobound durability verify`: the log, the medium, the verdict.

use std::path::{Path, PathBuf};

use iobound_host::System;
use iobound_host::guard::{self, Intent, Policy, Wants};
use serde::Serialize;

use super::ack::Hello;
use super::promises::read_log;
use super::read_back::ReadBack;
use super::says::says;
use super::verdict::{Cut, Status, Verdict, judge};
use super::write::boot_id;
use crate::exit::{self, Failure};
use crate::store::write_whole;

/// What is asked.
pub struct Wish {
    /// What was written to.
    pub target: PathBuf,
    /// The acknowledgement log.
    pub acks: PathBuf,
    /// Which run of the log; None: the last.
    pub run: Option<u64>,
    /// The power was cut, though this machine saw nothing of it.
    pub power_was_cut: bool,
    /// Where to write the verdict as JSON.
    pub json: Option<PathBuf>,
}

/// Version of the JSON.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    says: &'a str,
    run: &'a Hello,
    verdict: &'a Verdict,
}

/// Verifies, and returns the verdict's words and exit code.
///
/// # Errors
/// The log or the target cannot be used.
pub fn verify(wish: &Wish) -> Result<(String, u8), Failure> {
    let promises = read_log(&wish.acks, wish.run).map_err(Failure::usage)?;
    let geometry = promises.hello.geometry;
    let policy = Policy { wants: Wants::File, ..Policy::default() };
    let target = guard::check(&System::live(), &wish.target, Intent::Read, &policy).map_err(|refusal| {
        let mut failure = Failure::from(refusal);
        if !wish.target.exists() {
            // Not judged: a slip of the pen must not accuse a storage.
            failure.words += &format!(
                "\n  the run wrote to {}; if that is this path, the storage has lost the whole file, whose name was \
                 synced before the first of {} acknowledged writes",
                promises.hello.target, promises.acks
            );
        }
        failure
    })?;
    // A writer that is still at it holds the lock.
    let _alone = guard::lock(&target.path)?;
    let mut medium =
        ReadBack::open(&target.path, geometry).map_err(|error| unreadable(&wish.target, &error))?;
    let cut = Cut { boot: boot_id(), asserted: wish.power_was_cut };
    let verdict = judge(&promises, &cut, &mut medium);
    let mut words = says(&promises, &verdict);
    if !medium.direct {
        words += "note: O_DIRECT is refused here; what is read may be the page cache's.\n";
    }
    if let Some(path) = &wish.json {
        let headline = words.lines().next().unwrap_or_default();
        let report = Report { schema: SCHEMA, says: headline, run: &promises.hello, verdict: &verdict };
        let text = serde_json::to_string_pretty(&report).map_err(Failure::broke)?;
        write_whole(path, &(text + "\n"))?;
    }
    Ok((words, exit_code(verdict.status)))
}

/// A verdict of nothing is no success, and no failure of the storage either: like a run that broke.
fn exit_code(status: Status) -> u8 {
    match status {
        Status::Honest | Status::Control => exit::DONE,
        Status::Lies => exit::FAILED,
        Status::Unknown => exit::BROKE,
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{}: cannot be read: {error}; name what was written to", path.display()))
}
