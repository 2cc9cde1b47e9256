//! Free space.

use iobound_record::{Check, Outcome, units};

use super::row::{Row, shell};
use super::scope::Scope;

/// Fuller than this, file systems search for space and scatter new files. (ext4 keeps 5% for root because
/// of it, mke2fs(8); this leaves as much again.)
const FULL: f64 = 0.90;
/// The smallest working set of the quick suite, four times over: its free-space rule takes a quarter.
const LEAST_BYTES: u64 = 256 << 20;

pub(super) fn rules(scope: &Scope<'_>) -> Vec<Check> {
    let mut checks: Vec<Check> = Vec::new();
    for place in &scope.places {
        let Some(fs) = place.fs.filter(|fs| checks.iter().all(|check| check.subject != fs.mount)) else {
            continue;
        };
        let needs = if place.needs_bytes > 0 { place.needs_bytes } else { LEAST_BYTES };
        let row = Row::new("free-space", &fs.mount).expected(format!(
            "{} free, and at most {:.0}% used",
            units::bytes(needs),
            100.0 * FULL
        ));
        if fs.size_bytes == 0 {
            checks.push(row.unknown("the file system did not tell its size"));
            continue;
        }
        let used = 1.0 - fs.free_bytes as f64 / fs.size_bytes as f64;
        let row = row
            .value(format!("{} free of {}", units::bytes(fs.free_bytes), units::bytes(fs.size_bytes)))
            .mend(format!(
                "sudo du -xh --max-depth=2 {} | sort -h | tail   # see what fills it",
                shell(&fs.mount)
            ));
        checks.push(if fs.free_bytes < needs {
            row.why("the suite's files do not fit").is(Outcome::Fail)
        } else if used > FULL {
            row.why("a nearly full file system scatters new files; what is measured is the search")
                .is(Outcome::Warn)
        } else {
            row.is(Outcome::Pass)
        });
    }
    checks
}
