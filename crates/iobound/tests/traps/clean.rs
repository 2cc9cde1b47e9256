//! Runs in which nothing is wrong, and nothing is found.

use iobound_lab::{ThrottledVolume, require};
use iobound_record::Finding;

use crate::fixtures::{Volume, context, suite};
use crate::is_bad;
use crate::support::{Case, Outcome, alone};

const RUNS: usize = 20;

fn bad(outcome: &Outcome) -> Vec<Finding> {
    outcome.record().findings.into_iter().filter(is_bad).collect()
}

/// What the runs ask in turn; the volume holds each to its limit of operations or of bytes.
const JOBS: [(&str, &str); 4] = [
    ("reads", "rw = \"randread\", bs = \"4k\", iodepth = 16"),
    ("writes", "rw = \"randwrite\", bs = \"8k\", iodepth = 16, numjobs = 2"),
    ("mixed", "rw = \"randrw\", rwmixread = 70, bs = \"8k\", iodepth = 32"),
    ("in-order", "rw = \"read\", bs = \"256k\", iodepth = 8"),
];

#[test]
fn nothing_is_found_in_twenty_runs_on_a_volume_that_keeps_its_promise() {
    let _turn = alone();
    // So modest that a busy machine can hold it.
    let Some(volume) = Volume::up("clean", "256MiB,1000iops,60MiBps") else { return };
    let case = Case::new();
    let promises = context(&case, volume.dir(), "", "iops = 1000\nbandwidth = \"60MiB/s\"", "");
    let mut alarms = Vec::new();
    for number in 0..RUNS {
        let (name, job) = JOBS[number % JOBS.len()];
        let job = format!("{job}, size = \"24MiB\", runtime = \"1s\", ramp_time = \"200ms\"");
        let suite = suite(&case, name, &job);
        let arguments = [&suite, "--data", volume.dir().to_str().unwrap(), "--context", &promises];
        // A machine that has no processor for the volume is said so, and is no clean one: such a run is tried
        // again. A wrong rule fails all three.
        let starved = |finding: &Finding| finding.evidence.contains("processors were missing");
        let mut outcome = case.run(&arguments).expect(&[0]);
        for _ in 0..2 {
            if !bad(&outcome).iter().any(starved) {
                break;
            }
            println!("run {number}, {name}: no processor: {:#?}", bad(&outcome));
            outcome = case.run(&arguments).expect(&[0]);
        }
        let scenario = &outcome.record().scenarios[0];
        println!("run {number}, {name}: {}", scenario.verdict.says);
        alarms.extend(bad(&outcome).into_iter().map(|finding| (number, name, finding)));
    }
    assert!(alarms.is_empty(), "{} findings in {RUNS} clean runs: {alarms:#?}", alarms.len());
}

#[test]
fn nothing_is_found_in_the_quick_suite_on_a_device_of_our_own() {
    let _turn = alone();
    let volume = ThrottledVolume::builder().size(160 << 20).filesystem("ext4").build();
    let Some(volume) = require(volume) else { return };
    let case = Case::on(volume.dir());
    let outcome = case.run(&["quick", "--runtime", "1", "--size", "64m"]).expect(&[0]);
    let bad = bad(&outcome);
    assert!(bad.is_empty(), "{bad:#?}\n{outcome}");
}

#[test]
fn nothing_is_found_in_the_quick_suite_on_this_machine() {
    let _turn = alone();
    let case = Case::new();
    // Whoever else uses this machine's disk or its processors is found, and rightly so: no false alarm, as
    // long as somebody is named or the threads were ready and had no processor.
    let outcome = case.run(&["quick", "--runtime", "1", "--size", "64m"]).expect(&[0]);
    let of_others = |finding: &Finding| match finding.id.as_str() {
        "other-io" => finding.evidence.contains("; meanwhile "),
        "generator-bound" => finding.evidence.contains("waited for a processor"),
        _ => false,
    };
    let (company, bad): (Vec<_>, Vec<_>) = bad(&outcome).into_iter().partition(of_others);
    company.iter().for_each(|finding| println!("not alone: {}", finding.evidence));
    assert!(bad.is_empty(), "{bad:#?}\n{outcome}");
}
