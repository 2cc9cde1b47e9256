//! Read-ahead: 64 KiB on DATA and 4,096 KiB on WAL in seed 000; the context says it.

use iobound_record::{Check, Device, DeviceSort, Outcome, Role, units};

use super::row::{Row, set_queue};
use super::scope::{Place, Scope};

/// Without a context: more than this under random I/O fetches what nobody reads. (md sets two stripes by
/// itself, which is fine for what is read in order.)
const DATA_MAX: u64 = 4 << 20;

pub(super) fn rules(scope: &Scope<'_>) -> Vec<Check> {
    scope.places.iter().filter_map(|place| place.top.first().map(|top| one(place, top))).collect()
}

fn one(place: &Place<'_>, device: &Device) -> Check {
    let row = Row::new("read-ahead", &place.name);
    let queue = if device.sort == DeviceSort::Partition { &device.disk } else { &device.name };
    let has = device.read_ahead_bytes;
    let shown = format!("{} on {}", units::bytes(has), device.name);
    if let Some(wanted) = place.spec.and_then(|spec| spec.read_ahead) {
        return row
            .value(shown)
            .expected(units::bytes(wanted.0))
            .why(match place.role {
                Some(Role::Wal) => {
                    "replay and buffered reads in order go one small request at a time without it"
                }
                _ => "buffered random reads fetch what nobody asked for; direct I/O does not mind",
            })
            .mend(format!("{}   # to last: a udev rule", set_queue(queue, "read_ahead_kb", wanted.0 / 1024)))
            .passes_if(has == wanted.0, Outcome::Warn);
    }
    // The probe does not tell a queue without read-ahead from one that it could not read.
    if has == 0 {
        row.unknown("read-ahead is off, or could not be read; buffered reads in order need it")
    } else {
        row.value(shown)
            .expected("64 KiB to 4 MiB under random I/O")
            .why("buffered random reads fetch what nobody asked for; direct I/O does not mind")
            .mend(set_queue(queue, "read_ahead_kb", 64))
            .passes_if(place.role != Some(Role::Data) || has <= DATA_MAX, Outcome::Warn)
    }
}
