//! Software RAID: complete, quiet, and as meant.

use iobound_record::{ArrayManager, Check, Level, MdArray, Outcome, units};

use super::row::{Row, node};
use super::scope::Scope;
use crate::context::members;

pub(super) fn rules(scope: &Scope<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for md in scope.md_arrays() {
        checks.push(state(md));
        checks.push(sync(md));
    }
    let arrays = scope.context.into_iter().flat_map(|context| context.arrays.iter());
    for array in arrays.filter(|array| array.manager == ArrayManager::Mdadm) {
        match scope.md_of(array) {
            Some(md) => checks.push(layout(scope, array, md)),
            None => checks.push(absent(array)),
        }
    }
    checks
}

/// `[UUUUUUUU]`: seed 000, section 8.1.
fn state(md: &MdArray) -> Check {
    let row = Row::new("array-state", &md.name);
    let working = md.raid_disks.saturating_sub(md.degraded);
    let full = format!("[{}], every member working", "U".repeat(md.raid_disks.min(64) as usize));
    let has_gap = md.slots.contains('_');
    if md.degraded > 0 || has_gap {
        let missing = md.slots.chars().filter(|slot| *slot == '_').count() as u32;
        let working = if md.degraded > 0 { working } else { md.raid_disks.saturating_sub(missing) };
        let faulty: Vec<&str> = md
            .members
            .iter()
            .filter(|member| member.state.contains("faulty"))
            .map(|member| member.device.as_str())
            .collect();
        let mend = match faulty.first() {
            Some(failed) => format!(
                "sudo mdadm {0} --remove {1} && sudo mdadm {0} --add NEW_DISK",
                node(&md.name),
                node(failed)
            ),
            None => format!("sudo mdadm {} --add NEW_DISK", node(&md.name)),
        };
        return row
            .value(format!("degraded ({working} of {}) {}", md.raid_disks, md.slots).trim_end())
            .expected(full)
            .why(
                "a missing member takes its share of operations with it, and parity is computed on each read",
            )
            .mend(mend)
            .is(Outcome::Fail);
    }
    match md.state.as_str() {
        "inactive" | "clear" => row
            .value(md.state.clone())
            .expected(full)
            .why("the array does not run")
            .mend(format!("sudo mdadm --run {}", node(&md.name)))
            .is(Outcome::Fail),
        "readonly" => row
            .value("read-only")
            .expected("writable")
            .why("no write will succeed")
            .mend(format!("sudo mdadm --readwrite {}", node(&md.name)))
            .is(Outcome::Fail),
        _ => row.value(format!("{} {}", md.slots, md.state).trim()).expected(full).is(Outcome::Pass),
    }
}

/// Rebuilding and scrubbing take bandwidth of every member (`/proc/mdstat` shows the same).
fn sync(md: &MdArray) -> Check {
    let row = Row::new("array-sync", &md.name).expected("idle");
    let outcome = match md.sync_action.as_str() {
        "" | "idle" => return row.value("idle").is(Outcome::Pass),
        "frozen" => Outcome::Warn,
        // These change what is read and written to each member; a scrub only takes bandwidth, but as much.
        _ => Outcome::Fail,
    };
    let done = md.sync_done.map(|done| format!(" {:.1}% done", 100.0 * done.clamp(0.0, 1.0)));
    let rate = md.sync_bytes_per_s.filter(|rate| *rate > 0);
    let rate = rate.map(|rate| format!(" at {}", units::bandwidth(rate as f64)));
    let value = format!("{}{}{}", md.sync_action, done.unwrap_or_default(), rate.unwrap_or_default());
    let mend = match md.sync_action.as_str() {
        "check" | "repair" => format!("echo idle | sudo tee /sys/block/{}/md/sync_action", md.name),
        _ => format!("sudo mdadm --wait {}   # or wait and look at /proc/mdstat", node(&md.name)),
    };
    row.value(value).why("it reads and writes every member beside the jobs").mend(mend).is(outcome)
}

fn absent(array: &iobound_record::Array) -> Check {
    Row::new("array-present", &array.name)
        .value("not found")
        .expected(format!("{} at {}", array.level.name(), device_of(array)))
        .why("the context's array is not assembled on this host")
        .mend("sudo mdadm --assemble --scan   # or build it: iobound prepare plan")
        .is(Outcome::Fail)
}

fn device_of(array: &iobound_record::Array) -> String {
    if array.device.is_empty() { format!("/dev/md/{}", array.name) } else { array.device.clone() }
}

/// Level, members and chunk against the context.
fn layout(scope: &Scope<'_>, array: &iobound_record::Array, md: &MdArray) -> Check {
    let count = scope.context.map_or(0, |context| members(context, array).len());
    let chunk = array.chunk.map_or(0, |chunk| chunk.0);
    let words = |level: &str, count: usize, chunk: u64| {
        let chunk = if chunk == 0 { String::new() } else { format!(", chunk {}", units::bytes(chunk)) };
        format!("{level} of {count}{chunk}")
    };
    let row = Row::new("array-layout", &md.name)
        .value(words(&md.level, md.raid_disks as usize, md.chunk_bytes))
        .expected(words(array.level.name(), count, chunk))
        .mend("build it anew from the context (iobound prepare plan), or correct the context");
    if md.level != array.level.name() || md.raid_disks as usize != count {
        row.why("the ceilings are computed for another array").is(Outcome::Fail)
    } else if chunk != 0 && md.chunk_bytes != chunk && !matches!(array.level, Level::Raid1 | Level::Linear) {
        row.why("the chunk decides how many members one request keeps busy").is(Outcome::Warn)
    } else {
        row.is(Outcome::Pass)
    }
}
