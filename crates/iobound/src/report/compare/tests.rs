use iobound_model::comparison::{SAME_WITHIN, compare};
use iobound_record::{DirectionStats, Interval, Job, LatencySummary, Measurement, Metric, Run, Rw, Scenario};

use super::*;
use crate::report::terminal::Look;

fn run_of(scenarios: Vec<Scenario>) -> Run {
    let text = r#"{"schema":1,"iobound":"0.1.0","id":"r1","started":"2026-01-01T00:00:00Z","suite":"quick",
        "host":{"kernel":"6.1"}}"#;
    let empty: Run = serde_json::from_str(text).unwrap();
    Run { scenarios, ..empty }
}

fn scenario(name: &str, metric: Metric, iops: f64) -> Scenario {
    let side = |iops: f64| DirectionStats {
        ios: iops as u64,
        iops,
        bandwidth_bytes_per_s: iops * 8192.0,
        latency_ns: LatencySummary { mean: 1e9 / iops, p99: (2e9 / iops) as u64, ..Default::default() },
        ..DirectionStats::default()
    };
    let series = (0..30u32).map(|second| Interval {
        start_ns: u64::from(second) * 1_000_000_000,
        length_ns: 1_000_000_000,
        read: Some(side(iops * (1.0 + 0.01 * f64::from(second * 7 % 11).sin()))),
        ..Interval::default()
    });
    let measurement = Measurement {
        runtime_ns: 30_000_000_000,
        read: side(iops),
        series: series.collect(),
        ..Measurement::default()
    };
    let job = Job { rw: Rw::RandRead, ..Job::default() };
    Scenario { name: name.into(), metric, job, measurement: Some(measurement), ..Scenario::default() }
}

fn two() -> (Run, Run) {
    let old = run_of(vec![
        scenario("read-latency", Metric::Latency, 2000.0),
        scenario("seq-read", Metric::Bandwidth, 5000.0),
        scenario("rand-read", Metric::Iops, 12_000.0),
        scenario("gone", Metric::Iops, 100.0),
    ]);
    let mut new = run_of(vec![
        scenario("read-latency", Metric::Latency, 2100.0),
        scenario("seq-read", Metric::Bandwidth, 4500.0),
        scenario("rand-read", Metric::Iops, 12_010.0),
    ]);
    new.host.kernel = "6.12".into();
    (old, new)
}

fn with<T>(threshold: Option<f64>, show: impl FnOnce(&Sides) -> T) -> T {
    let (old, new) = two();
    let sides =
        [Side { name: "before".into(), runs: vec![&old] }, Side { name: "after".into(), runs: vec![&new] }];
    let parts = [Part { name: "after".into(), against: compare(&sides[0], &sides[1], SAME_WITHIN) }];
    show(&Sides {
        sides: &sides,
        parts: &parts,
        same_within: SAME_WITHIN,
        threshold: threshold.map(|share| Threshold { share }),
    })
}

#[test]
fn a_terminal_shows_it() {
    let look = Look { width: 100, colour: false, unicode: false };
    let text = with(Some(-0.05), |all| to_text(all, &look));
    insta::assert_snapshot!(text);
    assert!(text.is_ascii());
}

#[test]
fn markdown_shows_it() {
    insta::assert_snapshot!(with(None, to_markdown));
}

#[test]
fn programs_read_it() {
    let json = with(Some(-0.05), to_json);
    let part = &json["against_first"][0];
    assert_eq!(part["scenarios"][0]["verdict"], "faster");
    assert_eq!(part["scenarios"][1]["verdict"], "slower");
    assert!(part["scenarios"][1]["judged"]["interval"]["high"].as_f64().unwrap() < 0.95);
    assert_eq!(part["left_out"][0]["scenario"], "gone");
    assert_eq!(json["failures"].as_array().unwrap().len(), 2);
}

#[test]
fn a_loss_below_the_threshold_passes() {
    // The scenario that is missing fails either way.
    assert_eq!(with(Some(-0.2), |all| all.failures()).len(), 1);
    assert!(!with(None, |all| all.failed()));
}
