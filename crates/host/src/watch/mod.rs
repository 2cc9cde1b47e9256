//! What else goes on on a machine, over a while: traffic of its disks, busy processes, and what the
//! kernel's log says in the meantime. Only reads.

mod disks;
mod kernel_log;
mod processes;

use std::time::{Duration, Instant};

use iobound_record::Watched;

use crate::system::System;

/// How often `stop` is asked.
const STEP: Duration = Duration::from_millis(50);

/// Watches for `seconds`, or until `stop` says so. A captured machine does not move: it is looked at
/// once and at once.
pub fn watch(system: &System, seconds: f64, stop: impl Fn() -> bool) -> Watched {
    let disks = disks::Sample::take(system);
    let processes = processes::Sample::take(system);
    let began = Instant::now();
    if system.is_live() {
        wait(began, seconds, stop);
    }
    let elapsed = began.elapsed().as_secs_f64();
    Watched {
        seconds: elapsed,
        traffic: disks.traffic_since(system, elapsed),
        processes: processes.busy_since(system, elapsed),
        kernel_log: kernel_log::complaints(system),
    }
}

fn wait(began: Instant, seconds: f64, stop: impl Fn() -> bool) {
    // A time that is no number of seconds is none.
    let wanted = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    while let Some(left) = wanted.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
        if stop() {
            return;
        }
        std::thread::sleep(left.min(STEP));
    }
}
