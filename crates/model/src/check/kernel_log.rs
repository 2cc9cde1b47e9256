//! The kernel's log: throttling, time-outs, resets, I/O errors (`dmesg | grep -i throttl`, seed 000).

use iobound_record::{Check, Outcome};

use super::row::Row;
use super::scope::Scope;

/// Beginnings of block devices' names as the log writes them.
const PREFIXES: [&str; 8] = ["nvme", "sd", "vd", "xvd", "md", "dm-", "loop", "mmcblk"];
/// Longest piece of a line that is shown.
const SHOWN: usize = 120;

pub(super) fn rules(scope: &Scope<'_>) -> Vec<Check> {
    let row = Row::new("kernel-log", "host").expected("no throttling, time-outs, resets or I/O errors");
    let lines = match scope.watched.map(|watched| watched.kernel_log.as_ref()) {
        None => return vec![row.unknown("nobody looked; see --watch")],
        Some(None) => return vec![row.unknown("the kernel's log may not be read; run as root")],
        Some(Some(lines)) => lines,
    };
    let names: Vec<&str> = scope.devices().iter().map(|device| device.name.as_str()).collect();
    let ours: Vec<&String> = lines.iter().filter(|line| concerns(line, &names)).collect();
    let Some(last) = ours.last() else { return vec![row.value("nothing of the kind").is(Outcome::Pass)] };
    let shown: String = last.chars().filter(|c| !c.is_control()).take(SHOWN).collect();
    let count = if ours.len() == 1 { "1 line".to_owned() } else { format!("{} lines, the last", ours.len()) };
    vec![
        row.value(format!("{count}: {shown}"))
            .why("the device or the processor was held back or failed, and may be again")
            .mend("sudo dmesg --ctime | grep -iE 'throttl|timeout|reset|I/O error'")
            .is(Outcome::Warn),
    ]
}

/// A line that names block devices concerns us if it names one of ours; one that names none may.
fn concerns(line: &str, ours: &[&str]) -> bool {
    let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
    let named: Vec<&str> = words.filter(|word| is_device(word)).collect();
    // `nvme1` is the controller of `nvme1n1`.
    let is_ours = |word: &&str| {
        ours.iter().any(|name| {
            name == word || name.strip_prefix(*word).is_some_and(|rest| rest.starts_with(['n', 'p']))
        })
    };
    named.is_empty() || named.iter().any(is_ours)
}

fn is_device(word: &str) -> bool {
    let rest = PREFIXES.iter().find_map(|prefix| word.strip_prefix(prefix));
    rest.is_some_and(|rest| {
        let rest = rest.trim_end_matches(|c: char| c.is_ascii_digit());
        let letters = rest.len() <= 2 && rest.chars().all(|c| c.is_ascii_lowercase());
        let numbered = rest.chars().all(|c| c.is_ascii_digit() || "npc".contains(c));
        word.len() >= 3 && (letters || numbered)
    })
}
