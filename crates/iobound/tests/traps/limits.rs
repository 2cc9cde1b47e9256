//! What holds a rate down, or up for a while: depth, the generator, bursts, caps.

use std::path::Path;
use std::process::Command;

use iobound_lab::{ThrottledVolume, require, skip};
use iobound_record::{Severity, Status};

use crate::fixtures::{Volume, context, suite};
use crate::support::{Case, IOBOUND, Outcome, alone};
use crate::{has, in_three_tries, is_bad, named, not_named, told};

const MIB: u64 = 1 << 20;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn too_few_in_flight_for_what_is_promised() {
    let _turn = alone();
    // 3,000 IOPS are promised, and each operation takes 8 ms: four in flight come to 500 at best.
    let Some(volume) = Volume::up("depth", "256MiB,3000iops,latency=8ms") else { return };
    let case = Case::new();
    let promises = context(&case, volume.dir(), "", "iops = 3000", "");
    let run = |depth: u32| {
        let job =
            format!("rw = \"randread\", bs = \"4k\", iodepth = {depth}, size = \"32MiB\", runtime = \"2s\"");
        let suite = suite(&case, "shallow", &job);
        case.run(&[&suite, "--data", text(volume.dir()), "--context", &promises]).expect(&[0])
    };
    let outcome = run(4);
    let found = named(&outcome, "depth-too-low");
    assert_eq!(found.severity, Severity::Warning);
    has(&found, &["4 in flight", "3,000"]);
    let short = named(&outcome, "short-of-ceiling");
    assert!(short.what.contains("too few operations are in flight"), "{short:?}");
    // The advice is good: at the depth that it names the ceiling is reached.
    let depth = found.remedy.strip_prefix("raise iodepth to ").and_then(|rest| rest.split(';').next());
    let depth: u32 = depth.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{found:?}"));
    assert!((24..=36).contains(&depth), "8 ms x 3,000 = 24 and a little: {depth}");
    let outcome = run(depth + 8);
    not_named(&outcome, "depth-too-low");
    let percent = outcome.record().scenarios[0].verdict.percent_of_ceiling.unwrap();
    assert!(percent > 80.0, "{percent}% at depth {}\n{outcome}", depth + 8);
}

#[test]
fn the_generator_is_the_limit() {
    let _turn = alone();
    // Four threads on one processor, on a file in memory: nothing ever waits for a device.
    let case = Case::new();
    crate::support::make_file(&case.target().join("f"), 32 << 20);
    let job = case.job(
        "[a]\nioengine=io_uring\nfilename=f\nrw=randread\nbs=512\niodepth=16\nnumjobs=4\ndirect=0\nsize=32m\ntime_based\nruntime=2\n",
    );
    if Command::new("taskset").arg("--version").output().is_err() {
        skip("taskset is not installed");
        return;
    }
    let (found, outcome) = in_three_tries("generator-bound", || {
        let mut command = Command::new("taskset");
        command.args(["-c", "0", IOBOUND]);
        // Before the others: what they take is missing from the share that this program has.
        case.run_as(command, &[&job]).expect(&[0])
    });
    assert_eq!(found.severity, Severity::Warning);
    has(&found, &["each thread", "an operation"]);
    let says = &outcome.record().scenarios[0].verdict.says;
    assert!(says.contains("bound by the processor"), "{says}");
}

#[test]
fn a_burst_that_ends() {
    let _turn = alone();
    let Some(volume) = require(ThrottledVolume::builder().size(64 * MIB).iops(2000).build()) else { return };
    let case = Case::new();
    let job = case.job(&format!(
        "[a]\nioengine=io_uring\nfilename={}\nrw=randread\nbs=4k\niodepth=8\ndirect=1\ntime_based\nruntime=8\n",
        volume.device().display()
    ));
    let (found, outcome) = in_three_tries("burst-ended", || {
        volume.set_limits(Some(2000), None).unwrap();
        let mut running = case.start_as(volume.command(IOBOUND), &[&job, "--interval", "250ms"]);
        running.let_measure(1, 4.0);
        volume.set_limits(Some(600), None).unwrap();
        running.finish().expect(&[0])
    });
    assert_eq!(found.severity, Severity::Warning);
    has(&found, &["IOPS fell to", "after"]);
    // From X to Y after Z, and X, Y and Z are right.
    let numbers: Vec<f64> = found
        .evidence
        .split(|c: char| !c.is_ascii_digit() && c != '.' && c != ',')
        .filter_map(|word| word.replace(',', "").parse().ok())
        .collect();
    let [from, to, _, after] = numbers[..] else { panic!("{numbers:?} in {}", found.evidence) };
    let near = |seen: f64, meant: f64| (seen / meant - 1.0).abs() < 0.15;
    assert!(near(from, 2000.0) && near(to, 600.0), "{}\n{outcome}", found.evidence);
    assert!((3.0..=5.5).contains(&after), "{}\n{outcome}", found.evidence);
}

/// A volume of 2,000 IOPS behind a machine that is said to allow `instance`.
fn behind_a_machine(case: &Case, volume: &ThrottledVolume, instance: &str) -> Outcome {
    let promises = context(case, volume.dir(), instance, "iops = 2000", "");
    let job = "rw = \"randread\", bs = \"4k\", iodepth = 16, size = \"24MiB\", runtime = \"2s\", ramp_time = \"500ms\"";
    let suite = suite(case, "reads", job);
    let arguments = [&suite, "--data", text(volume.dir()), "--context", &promises];
    case.run_as(volume.command(IOBOUND), &arguments).expect(&[0])
}

#[test]
fn a_machine_in_its_burst_and_one_that_caps_its_volumes() {
    let _turn = alone();
    let volume = ThrottledVolume::builder().size(64 * MIB).iops(2000).filesystem("ext4").build();
    let Some(volume) = require(volume) else { return };
    let case = Case::new();
    let burst = "sustained = { iops = 1000 }\nburst = { iops = 4000 }\nburst_per_day = \"1800s\"";
    let (found, outcome) = in_three_tries("instance-burst", || behind_a_machine(&case, &volume, burst));
    assert_eq!(found.severity, Severity::Warning);
    has(&found, &["sustained 1,000", "burst 2,000", "time to throttle: 30.0 min"]);
    not_named(&outcome, "above-ceiling");

    // The device itself is the machine's cap now.
    volume.set_limits(Some(800), None).unwrap();
    let (found, outcome) =
        in_three_tries("instance-cap", || behind_a_machine(&case, &volume, "sustained = { iops = 800 }"));
    assert_eq!(found.severity, Severity::Warning);
    has(&found, &["the machine's sustained 800", "the volumes alone: 2,000"]);
    assert_eq!(outcome.record().scenarios[0].verdict.status, Status::Ok, "{outcome}");

    // More than anybody promised.
    volume.set_limits(Some(2000), None).unwrap();
    let (found, _) =
        in_three_tries("above-ceiling", || behind_a_machine(&case, &volume, "sustained = { iops = 800 }"));
    has(&found, &["IOPS, ", "% of 800"]);
}

#[test]
fn short_of_the_ceiling_with_a_cause() {
    let _turn = alone();
    // 2,000 are promised, 1,000 are let through, second after second.
    let Some(volume) = Volume::up("held", "128MiB,1000iops") else { return };
    let case = Case::new();
    let promises = context(&case, volume.dir(), "", "iops = 2000", "");
    let job = "rw = \"randread\", bs = \"4k\", iodepth = 64, size = \"24MiB\", runtime = \"5s\"";
    let suite = suite(&case, "held", job);
    let arguments = [&suite, "--data", text(volume.dir()), "--context", &promises];
    let run = || case.run(&arguments).expect(&[0]);
    let fits = |outcome: &Outcome| {
        named(outcome, "short-of-ceiling").what.contains("a limit lower than the context's holds it")
    };
    let outcome = (0..3).map(|_| run()).find(fits).expect("the cause in one of three tries");
    has(&named(&outcome, "short-of-ceiling"), &["% of the ceiling", "the rate stands still at"]);
    let bad: Vec<_> = outcome.record().findings.into_iter().filter(is_bad).collect();
    assert_eq!(bad.len(), 1, "{}", told(&outcome));
}

#[test]
fn a_job_file_is_held_against_what_its_place_is_promised() {
    let _turn = alone();
    let Some(volume) = Volume::up("place", "128MiB,1000iops") else { return };
    let case = Case::on(volume.dir());
    let promises = context(&case, volume.dir(), "", "iops = 1000", "");
    let job = case.job(
        "[a]\nrw=randread\nbs=4k\niodepth=16\nsize=24m\ndirect=1\nioengine=io_uring\ntime_based\nruntime=2\n",
    );
    let fits = |outcome: &Outcome| outcome.record().scenarios[0].verdict.status == Status::Ok;
    let outcome = (0..3).map(|_| case.run(&[&job, "--context", &promises]).expect(&[0])).find(fits);
    let scenario = outcome.expect("at its ceiling in one of three tries").record().scenarios.remove(0);
    assert_eq!((scenario.volume.as_str(), scenario.ceiling.unwrap().bound.as_str()), ("data", "volume-iops"));
}

#[test]
fn a_depth_that_the_engine_does_not_have() {
    let _turn = alone();
    let case = Case::new();
    // fio's default engine.
    let job = case
        .job("[a]\nrw=randread\nbs=4k\niodepth=32\nsize=16m\ndirect=1\noverwrite=1\ntime_based\nruntime=1\n");
    let found = named(&case.run(&[&job]).expect(&[0]), "depth-ignored");
    has(&found, &["iodepth=32", "1 in flight"]);
}
