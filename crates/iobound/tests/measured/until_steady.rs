//! `--until-steady`, and the runs that it made compared.

use std::path::Path;
use std::process::{Command, Output};

use iobound_lab::{ThrottledVolume, assert_known_rate, require};
use iobound_record::{Measurement, Run};

use crate::support::{BOUND_FAILED, Case, IOBOUND, Outcome, USAGE, alone};

/// What `--until-steady` claims without a number.
const TOLERANCE_PERCENT: f64 = 2.0;

fn compare(arguments: &[&str]) -> Output {
    Command::new(IOBOUND).arg("compare").args(arguments).output().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn ended(outcome: &Outcome) -> Measurement {
    let measurement = outcome.measurement();
    let steady = measurement.ended_steady.unwrap_or_else(|| panic!("ran its whole time\n{outcome}"));
    assert!(!measurement.interrupted && steady.within <= steady.asked, "{steady:?}\n{outcome}");
    // What the rule saw is what was measured, but for the last look and what was in flight.
    assert!(measurement.runtime_ns.abs_diff(steady.after_ns) < 1_000_000_000, "{steady:?}\n{outcome}");
    measurement
}

#[test]
fn a_steady_device_takes_a_third_of_its_time_and_two_of_them_compare() {
    let _turn = alone();
    let Some(volume) = require(ThrottledVolume::builder().iops(2000).build()) else { return };
    let case = Case::new();
    let job = case.job(&format!(
        "[a]\nfilename={}\nioengine=io_uring\nrw=randread\nbs=4k\niodepth=16\ndirect=1\ntime_based\n\
         ramp_time=1\nruntime=30\n",
        volume.device().display()
    ));
    let mut last = None;
    assert_known_rate("until steady", 2000.0, TOLERANCE_PERCENT, || {
        let outcome = case.run_as(volume.command(IOBOUND), &[&job, "--until-steady"]).expect_done();
        let measurement = ended(&outcome);
        assert!(measurement.runtime_ns < 10_000_000_000, "a third of 30 s\n{outcome}");
        assert!(outcome.stdout.contains("known to"), "{outcome}");
        last = Some(outcome);
        measurement.iops()
    });
    let same = last.unwrap();

    volume.set_limits(Some(1800), None).unwrap();
    let slower = case.run_as(volume.command(IOBOUND), &[&job, "--until-steady"]).expect_done();
    let pair = [text(&same.out), text(&slower.out)];
    let json = compare(&[pair[0], pair[1], "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let row = &json["against_first"][0]["scenarios"][0];
    assert_eq!(row["verdict"], "slower", "{row}");
    assert!((row["judged"]["speed_ratio"].as_f64().unwrap() - 0.9).abs() < 0.02, "{row}");
    let failed = compare(&[pair[0], pair[1], "--fail-on", "-5%"]);
    assert_eq!(failed.status.code(), Some(BOUND_FAILED), "{failed:?}");
    assert_eq!(compare(&[pair[0], pair[1], "--fail-on", "-20%"]).status.code(), Some(0));
}

#[test]
fn a_file_is_known_before_its_time_and_compares_only_with_its_like() {
    let _turn = alone();
    let case = Case::new();
    let job = |depth: u32| {
        case.job(&format!(
            "[a]\nioengine=io_uring\nrw=randread\nbs=4k\niodepth={depth}\ndirect=1\nsize=16m\noverwrite=1\n\
             time_based\nruntime=60\n"
        ))
    };
    // Whatever else this machine does meanwhile, half of the rate is soon known.
    let run = |depth| case.run(&[&job(depth), "--until-steady=50%"]).expect_done();
    let (one, four) = (run(1), run(4));
    assert!(ended(&one).runtime_ns < 40_000_000_000 && ended(&four).runtime_ns < 40_000_000_000);
    let refused = compare(&[text(&one.out), text(&four.out)]);
    assert_eq!(refused.status.code(), Some(USAGE));
    let said = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert!(said.contains("iodepth is 1 in one and 4 in the other"), "{said}");

    // Repeats: a directory of runs.
    let repeats = case.beside("repeats");
    for (name, factor) in [("1", 1.0), ("2", 1.01), ("3", 0.99)] {
        let mut record: Run = one.record();
        record.id = format!("run-{name}");
        let measured = record.scenarios[0].measurement.as_mut().unwrap();
        measured.read.iops *= factor;
        std::fs::create_dir_all(repeats.join(name)).unwrap();
        std::fs::write(repeats.join(name).join("run.json"), serde_json::to_string(&record).unwrap()).unwrap();
    }
    let several = compare(&[text(&repeats), text(&one.out), "--markdown"]);
    let said = String::from_utf8_lossy(&several.stdout).into_owned();
    assert!(said.contains("run-1, run-2, run-3") && said.contains("| cannot tell |"), "{said}");
}
