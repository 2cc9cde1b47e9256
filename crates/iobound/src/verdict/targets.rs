//! Each scenario held against what somebody asked of it.

use iobound_record::{Finding, Measurement, Run, Scenario, Severity, Target, TargetOutcome, units};

use super::observed::{mean_wait, tail};

/// A rate this share below its target meets it, a time this share above as well: a mean is known to 2%
/// where a run is as long as `--until-steady` asks by default, so a smaller miss is none.
const WITHIN: f64 = 0.02;

/// Puts the outcome of its target on every scenario that has one.
pub(super) fn hold(run: &mut Run) {
    for scenario in &mut run.scenarios {
        scenario.verdict.targets = match scenario.target {
            Some(target) => outcomes(&target, scenario.measurement.as_ref()),
            None => Vec::new(),
        };
    }
}

fn outcomes(target: &Target, measured: Option<&Measurement>) -> Vec<TargetOutcome> {
    let measured = measured.filter(|measured| measured.iops() > 0.0);
    let at_least = |what: &str, asked: Option<f64>, got: Option<f64>, words: fn(f64) -> String| {
        asked.map(|asked| {
            outcome(what, words(asked), got.map(words), got.is_some_and(|got| got >= asked * (1.0 - WITHIN)))
        })
    };
    let at_most = |what: &str, asked: Option<iobound_record::Duration>, got: Option<f64>| {
        let words = |ns: f64| units::duration(ns.round() as u64);
        asked.map(|asked| {
            let met = got.is_some_and(|got| got <= asked.0 as f64 * (1.0 + WITHIN));
            outcome(what, words(asked.0 as f64), got.map(words), met)
        })
    };
    let percentile = |of| measured.and_then(|measured| tail(measured, of)).map(|ns| ns as f64);
    [
        at_least("IOPS", target.iops, measured.map(Measurement::iops), units::count),
        at_least(
            "bandwidth",
            target.bandwidth.map(|bandwidth| bandwidth.0 as f64),
            measured.map(Measurement::bandwidth_bytes_per_s),
            units::bandwidth,
        ),
        at_most("mean latency", target.latency, measured.and_then(mean_wait)),
        at_most("p99", target.p99, percentile(|latency| latency.p99)),
        at_most("p99.9", target.p99_9, percentile(|latency| latency.p99_9)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn outcome(what: &str, asked: String, measured: Option<String>, met: bool) -> TargetOutcome {
    TargetOutcome { what: what.into(), asked, measured: measured.unwrap_or_else(|| "nothing".into()), met }
}

/// `target: IOPS 536 of 540, met; p99 ...`, for the verdict's sentence.
pub(super) fn says(scenario: &Scenario) -> Option<String> {
    let outcomes = &scenario.verdict.targets;
    let (met, missed): (Vec<_>, Vec<_>) = outcomes.iter().partition(|outcome| outcome.met);
    match (met.len(), missed.as_slice()) {
        (0, []) => None,
        (_, []) => Some("meets its target".into()),
        (_, missed) => {
            let words: Vec<String> = missed.iter().map(|missed| words(missed)).collect();
            Some(format!("misses its target: {}", words.join(", ")))
        }
    }
}

fn words(missed: &TargetOutcome) -> String {
    format!("{} is {}, asked {}", missed.what, missed.measured, missed.asked)
}

/// One finding for each scenario that misses its target.
pub(super) fn missed(scenario: &Scenario) -> Option<Finding> {
    let missed: Vec<String> =
        scenario.verdict.targets.iter().filter(|outcome| !outcome.met).map(words).collect();
    (!missed.is_empty()).then(|| Finding {
        id: "target-missed".into(),
        severity: Severity::Warning,
        what: "The storage does not reach what was asked of it.".into(),
        evidence: format!("{}: {}", scenario.name, missed.join(", ")),
        remedy: "the verdict of the scenario says what binds it; more of that, or another target".into(),
    })
}

/// Reads `1:iops=540,latency=2ms`: a scenario's number and its target.
///
/// # Errors
/// What is wrong with it, and what there is.
pub fn parse_target(text: &str) -> Result<(u32, Target), String> {
    const SHAPE: &str = "give SCENARIO:FIGURE=VALUE,..., for example 1:iops=540,p99=3ms; figures are iops, \
                         bandwidth, latency, p99 and p99_9";
    let (number, figures) = text.split_once(':').ok_or(SHAPE)?;
    let number: u32 =
        number.trim().parse().map_err(|_| format!("'{number}' is no scenario's number; {SHAPE}"))?;
    let mut table = toml::Table::new();
    for figure in figures.split(',') {
        let (name, value) =
            figure.split_once('=').ok_or_else(|| format!("'{figure}' has no value; {SHAPE}"))?;
        let value = value.trim();
        let value = match name.trim() {
            "iops" => {
                toml::Value::Float(value.parse().map_err(|_| format!("iops = '{value}' is no number"))?)
            }
            _ => toml::Value::String(value.into()),
        };
        table.insert(name.trim().into(), value);
    }
    let target: Target =
        table.try_into().map_err(|error| format!("{}; {SHAPE}", error.to_string().trim()))?;
    check(&target).map(|()| (number, target))
}

/// Whether a target can be met at all.
///
/// # Errors
/// The figure that cannot.
pub fn check(target: &Target) -> Result<(), String> {
    if target.is_empty() {
        return Err("a target without a figure; give iops, bandwidth, latency, p99 or p99_9".into());
    }
    if target.iops.is_some_and(|iops| !iops.is_finite() || iops <= 0.0) {
        return Err("a target's iops must be above 0".into());
    }
    let times = [target.latency, target.p99, target.p99_9];
    if times.into_iter().flatten().any(|time| time.0 == 0) {
        return Err("a target's time must be above 0".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::{DirectionStats, Duration, LatencySummary};

    /// The seed's first scenario: 536 IOPS, 1.858 ms a sync, p99 2.5 ms.
    fn heartbeat() -> Measurement {
        let latency = |mean: f64, p99| LatencySummary { mean, p99, ..LatencySummary::default() };
        let write = DirectionStats {
            ios: 1000,
            iops: 536.0,
            latency_ns: latency(8e3, 9_000),
            ..DirectionStats::default()
        };
        let sync = DirectionStats {
            ios: 1000,
            iops: 536.0,
            latency_ns: latency(1.858e6, 2_500_000),
            ..DirectionStats::default()
        };
        Measurement { write, sync, ..Measurement::default() }
    }

    fn held(target: &str) -> Scenario {
        let (id, target) = parse_target(target).unwrap();
        let mut run = Run {
            scenarios: vec![Scenario {
                id,
                target: Some(target),
                measurement: Some(heartbeat()),
                ..Scenario::default()
            }],
            ..Run::default()
        };
        hold(&mut run);
        run.scenarios.remove(0)
    }

    #[test]
    fn the_seeds_targets_are_met_by_what_the_seed_measured() {
        let scenario = held("1:iops=540,latency=2ms,p99=3ms");
        assert_eq!(scenario.target.unwrap().latency, Some(Duration(2_000_000)));
        assert!(scenario.verdict.targets.iter().all(|outcome| outcome.met), "{:?}", scenario.verdict);
        assert_eq!(says(&scenario).unwrap(), "meets its target");
        assert_eq!(missed(&scenario), None);
    }

    #[test]
    fn a_miss_names_both_figures() {
        let scenario = held("1:iops=600,p99=2ms,bandwidth=1MiB/s");
        assert_eq!(
            says(&scenario).unwrap(),
            "misses its target: IOPS is 536, asked 600, bandwidth is 0.00 MiB/s (0.00 MB/s), asked 1.00 MiB/s \
             (1.05 MB/s), p99 is 2.50 ms, asked 2.00 ms"
        );
        assert_eq!(missed(&scenario).unwrap().id, "target-missed");
    }

    #[test]
    fn without_a_measurement_nothing_is_met() {
        let target = Target { iops: Some(1.0), ..Target::default() };
        assert_eq!(outcomes(&target, None)[0].measured, "nothing");
        assert!(!outcomes(&target, None)[0].met);
    }

    #[test]
    fn what_is_no_target_is_named() {
        for (text, word) in [
            ("iops=5", "SCENARIO"),
            ("x:iops=5", "'x'"),
            ("1:iops", "no value"),
            ("1:iops=0", "above 0"),
            ("1:iops=NaN", "above 0"),
            ("1:p98=2ms", "p98"),
            ("1:p99=2 parsecs", "parsecs"),
        ] {
            let error = parse_target(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
