//! Which scenarios a sweep's own table says enough of.

use iobound_record::{Run, Scenario, units};

use super::mark::{Mark, Tone};

/// Whether a scenario is a point of a sweep and nothing is wrong with it; one in trouble stands in the
/// other tables too.
pub fn is_told(run: &Run, scenario: &Scenario) -> bool {
    !scenario.sweep.is_empty() && trouble(run, scenario).is_none()
}

/// The scenarios that need a row of their own, with their positions.
pub fn others(run: &Run) -> Vec<(usize, &Scenario)> {
    run.scenarios.iter().enumerate().filter(|(_, scenario)| !is_told(run, scenario)).collect()
}

/// The word for what is wrong with a scenario, if something is.
pub fn trouble(run: &Run, scenario: &Scenario) -> Option<&'static str> {
    let mark = Mark::of(scenario, run);
    matches!(mark.tone(), Tone::Caution | Tone::Alarm).then(|| mark.word())
}

/// The two figures of a cell, operations and MiB a second; None without a measurement.
pub fn figures(scenario: &Scenario) -> Option<(String, String)> {
    let measured = scenario.measurement.as_ref()?;
    let mib = units::significant(measured.bandwidth_bytes_per_s() / units::MIB as f64);
    Some((units::count(measured.iops()), mib))
}
