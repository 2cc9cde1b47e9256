//! Logical volumes against the context: stripes and stripe size (`lvs --segments`, seed 002).

use iobound_record::{Array, ArrayManager, Check, Level, LogicalVolume, Outcome, units};

use super::row::Row;
use super::scope::Scope;
use crate::context::members;

pub(super) fn rules(scope: &Scope<'_>) -> Vec<Check> {
    let arrays = scope.context.into_iter().flat_map(|context| context.arrays.iter());
    arrays.filter(|array| array.manager == ArrayManager::Lvm).map(|array| one(scope, array)).collect()
}

fn one(scope: &Scope<'_>, array: &Array) -> Check {
    let count = scope.context.map_or(0, |context| members(context, array).len());
    let wanted = match array.level {
        Level::Raid0 => {
            let size = array.chunk.map_or(String::new(), |chunk| format!(" of {}", units::bytes(chunk.0)));
            format!("{count} stripes{size}")
        }
        level => level.name().to_owned(),
    };
    let Some(lv) = scope.lv_of(array) else {
        return Row::new("lvm-layout", &array.name)
            .value("not found")
            .expected(wanted)
            .why("the context's logical volume is not active on this host")
            .mend("sudo vgchange --activate y   # or build it: iobound prepare plan")
            .is(Outcome::Fail);
    };
    let subject = format!("{}/{}", lv.group, lv.name);
    let row = Row::new("lvm-layout", &subject).expected(wanted);
    if lv.segments.is_empty() {
        return row.unknown("the volume's segments could not be read; run as root");
    }
    let row = row
        .value(words(lv))
        .mend("build it anew from the context (iobound prepare plan), or correct the context");
    let striped = |stripes: usize, bytes: u64| {
        lv.segments.iter().all(|segment| {
            segment.stripes as usize == stripes && (stripes == 1 || segment.stripe_bytes == bytes)
        })
    };
    if array.level != Level::Raid0 {
        return row.why("linear parts fill one disk after the other").passes_if(striped(1, 0), Outcome::Warn);
    }
    let chunk = array.chunk.map_or(0, |chunk| chunk.0);
    if striped(count, chunk) {
        row.is(Outcome::Pass)
    } else if lv.segments.iter().all(|segment| segment.stripes as usize == count) {
        row.why("the stripe size decides how many disks one request keeps busy").is(Outcome::Warn)
    } else {
        row.why("I/O goes to fewer disks at a time than the ceilings assume").is(Outcome::Fail)
    }
}

fn words(lv: &LogicalVolume) -> String {
    let mut parts: Vec<String> = Vec::new();
    for segment in &lv.segments {
        let part = match segment.stripes {
            0 | 1 => segment.kind.clone(),
            stripes => format!("{stripes} stripes of {}", units::bytes(segment.stripe_bytes)),
        };
        if parts.last() != Some(&part) {
            parts.push(part);
        }
    }
    parts.join(", then ")
}
