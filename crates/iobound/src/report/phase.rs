//! The phases of a suite, by number and name.

use iobound_record::Scenario;

/// `Phase 2: Bandwidth`; None where the suite has no name for it.
pub fn heading(scenario: &Scenario) -> Option<String> {
    (!scenario.phase_name.is_empty()).then(|| format!("Phase {}: {}", scenario.phase, scenario.phase_name))
}

/// The heading that goes before each scenario where another phase begins.
pub fn begun<'a>(scenarios: impl Iterator<Item = &'a Scenario>) -> Vec<Option<String>> {
    let mut last = None;
    scenarios
        .map(|scenario| {
            let now = heading(scenario);
            let begins = now.clone().filter(|_| now != last);
            last = now;
            begins
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_named_where_it_begins() {
        let of = |phase, name: &str| Scenario { phase, phase_name: name.into(), ..Scenario::default() };
        let scenarios = [of(1, "Latency"), of(1, "Latency"), of(2, "Bandwidth"), of(3, "")];
        let named = begun(scenarios.iter());
        assert_eq!(named, [Some("Phase 1: Latency".into()), None, Some("Phase 2: Bandwidth".into()), None]);
    }
}
