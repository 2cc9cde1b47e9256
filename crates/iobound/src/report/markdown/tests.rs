use super::*;
use crate::report::sample;

/// A run small enough that a person reads all of its report.
fn short(mut run: Run) -> Run {
    for measured in run.scenarios.iter_mut().filter_map(|scenario| scenario.measurement.as_mut()) {
        measured.series.truncate(4);
    }
    run
}

#[test]
fn the_summary_of_a_run_that_is_fine() {
    insta::assert_snapshot!(summary(&sample::gp3()));
}

#[test]
fn the_summary_of_a_run_in_trouble() {
    insta::assert_snapshot!(summary(&sample::troubled()));
}

#[test]
fn the_summary_of_a_sweep() {
    insta::assert_snapshot!(summary(&sample::swept()));
}

#[test]
fn the_report_of_a_scenario() {
    let run = short(sample::troubled());
    let named = |name: &str| run.scenarios.iter().find(|scenario| scenario.name == name).unwrap();
    insta::assert_snapshot!("heartbeat", scenario(&run, named("sync-latency")));
    insta::assert_snapshot!("short", scenario(&run, named("mixed")));
    insta::assert_snapshot!("failed", scenario(&run, named("mixed-sync")));
}

#[test]
fn nothing_in_a_record_becomes_markup() {
    let mut run = sample::troubled();
    let nasty = "<script>alert(1)</script> | `x` *b* [a](b)\n# c";
    run.scenarios[0].title = nasty.into();
    run.scenarios[0].fio = "fio ````` \n```\n# not a heading".into();
    run.findings[0].what = nasty.into();
    let text = whole(&run);
    assert!(!text.contains("<script"), "{text}");
    assert!(!text.contains("[a](b)") && !text.contains("\n# c"), "{text}");
    assert!(text.contains("``````text\nfio `````"), "{text}");
}
