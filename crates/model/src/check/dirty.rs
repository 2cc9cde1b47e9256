//! How much may wait in memory before a writer waits: how long a sync can take.

use std::str::FromStr;

use iobound_record::{Check, Job, OsSettings, Outcome, Rw, units};

use super::row::Row;
use super::scope::Scope;
use crate::ceiling::{Demand, Topology, ceilings};

/// Longest time for which the dirty pages that are allowed may keep the volume busy. The seed aims at
/// one second and takes 1.3 (4% of 16 GiB at 509 MiB/s); the kernel's defaults give 6 on the same host.
const STALL_S: f64 = 3.0;
/// Without a context the bandwidth is not known: this much is seconds even on a fast drive (1 GiB/s).
const DIRTY_MAX: u64 = 16 << 30;

pub(super) fn rules(scope: &Scope<'_>) -> Vec<Check> {
    let os = scope.context.map(|context| &context.os);
    let mut checks = vec![limit(scope, os)];
    if let Some(os) = os {
        checks.extend(background(scope, os));
    }
    checks
}

fn number<T: FromStr>(scope: &Scope<'_>, name: &str) -> Option<T> {
    scope.probe.sysctl.get(name)?.trim().parse().ok()
}

/// The limit in force, bytes, and how it is written.
fn in_force(scope: &Scope<'_>, name: &str) -> Option<(u64, String)> {
    let bytes = number::<u64>(scope, &format!("vm.{name}_bytes")).filter(|bytes| *bytes > 0);
    if let Some(bytes) = bytes {
        return Some((bytes, format!("{name}_bytes {}", units::bytes(bytes))));
    }
    let percent = number::<u64>(scope, &format!("vm.{name}_ratio"))?;
    let memory = &scope.probe.memory;
    // The kernel takes a share of free and cached memory; what is available comes nearest.
    let of = if memory.available_bytes > 0 { memory.available_bytes } else { memory.total_bytes };
    let bytes = (u128::from(of) * u128::from(percent) / 100) as u64;
    Some((bytes, format!("{name}_ratio {percent}, {} of {}", about(bytes), about(of))))
}

fn about(bytes: u64) -> String {
    let gib = bytes as f64 / units::GIB as f64;
    if gib >= 1.0 { format!("{gib:.1} GiB") } else { units::bytes(bytes / units::MIB * units::MIB) }
}

/// What the slowest file system of the context can write, bytes a second, and its name.
fn write_rate(scope: &Scope<'_>) -> Option<(f64, String)> {
    let context = scope.context?;
    let job = Job { rw: Rw::Write, bs: units::MIB, iodepth: 256, ..Job::default() };
    let rate = |mount: &str| {
        let topology = Topology::of(context, mount).ok()?;
        Some(ceilings(&topology, &Demand::of(&job), None).ceiling()?.bandwidth_bytes_per_s)
    };
    let rates = context.filesystems.iter().filter_map(|spec| Some((rate(&spec.mount)?, spec.mount.clone())));
    rates.filter(|(rate, _)| *rate > 0.0).min_by(|a, b| a.0.total_cmp(&b.0))
}

fn limit(scope: &Scope<'_>, os: Option<&OsSettings>) -> Check {
    let row = Row::new("dirty-limit", "host");
    let Some((bytes, words)) = in_force(scope, "dirty") else {
        return row.unknown("vm.dirty_bytes and vm.dirty_ratio could not be read");
    };
    let row = row.value(words);
    let mend =
        |bytes: u64| format!("sudo sysctl -w vm.dirty_bytes={bytes} vm.dirty_background_bytes={}", bytes / 4);
    let wanted_ratio = os.and_then(|os| os.dirty_ratio);
    if let Some(wanted) = os.and_then(|os| os.dirty_bytes) {
        let good = number::<u64>(scope, "vm.dirty_bytes") == Some(wanted.0);
        return row
            .expected(format!("dirty_bytes {}", units::bytes(wanted.0)))
            .why(arithmetic(scope, bytes))
            .mend(format!("sudo sysctl -w vm.dirty_bytes={}", wanted.0))
            .passes_if(good, Outcome::Warn);
    }
    if let Some(wanted) = wanted_ratio {
        let is_ratio = number::<u64>(scope, "vm.dirty_bytes").unwrap_or(0) == 0;
        return row
            .expected(format!("dirty_ratio {wanted}"))
            .why(arithmetic(scope, bytes))
            .mend(format!("sudo sysctl -w vm.dirty_ratio={wanted}"))
            .passes_if(is_ratio && number(scope, "vm.dirty_ratio") == Some(wanted), Outcome::Warn);
    }
    match write_rate(scope) {
        Some((rate, _)) => row
            .expected(format!("at most {STALL_S:.0} s of writing, as dirty_bytes"))
            .why(arithmetic(scope, bytes))
            .mend(mend((rate as u64 / units::MIB).max(8) * units::MIB))
            .passes_if(bytes as f64 <= STALL_S * rate, Outcome::Warn),
        None => row
            .expected(format!("at most {}, as dirty_bytes", units::bytes(DIRTY_MAX)))
            .why(arithmetic(scope, bytes))
            .mend(mend(units::GIB))
            .passes_if(bytes <= DIRTY_MAX, Outcome::Warn),
    }
}

/// The stall that a limit allows, computed.
fn arithmetic(scope: &Scope<'_>, bytes: u64) -> String {
    let mib = bytes as f64 / units::MIB as f64;
    let (rate, of) = write_rate(scope).unwrap_or(((units::GIB) as f64, "a drive".into()));
    let per_s = rate / units::MIB as f64;
    let stall = units::significant(mib / per_s);
    format!("a sync may wait for {mib:.0} MiB / {per_s:.0} MiB/s of {of} = {stall} s of other writes")
}

fn background(scope: &Scope<'_>, os: &OsSettings) -> Option<Check> {
    let (name, wanted, shown) = match (os.dirty_background_bytes, os.dirty_background_ratio) {
        (Some(bytes), _) => ("vm.dirty_background_bytes", bytes.0, units::bytes(bytes.0)),
        (None, Some(percent)) => ("vm.dirty_background_ratio", percent.into(), percent.to_string()),
        (None, None) => return None,
    };
    let row = Row::new("dirty-background", "host").expected(format!("{} {shown}", &name[3..]));
    let Some((_, words)) = in_force(scope, "dirty_background") else {
        return Some(row.unknown(format!("{name} could not be read")));
    };
    Some(
        row.value(words)
            .why("writing out that begins late comes all at once")
            .mend(format!("sudo sysctl -w {name}={wanted}"))
            .passes_if(number(scope, name) == Some(wanted), Outcome::Warn),
    )
}
