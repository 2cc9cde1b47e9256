//! The database suite, a user's own copy of it, and its ceilings.

use std::process::Command;

use crate::support::{Case, IOBOUND};

/// The suite that comes with the program, without its pauses, as a user would change it.
fn own_suite(case: &Case) -> String {
    let text = include_str!("../../../../suites/database.toml").replace("pause = \"5s\"", "pause = \"0s\"");
    let path = case.beside("mine.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A context in which one volume carries both roles; nobody promises a device of this machine anything
/// near these figures.
const CONTEXT: &str = "schema = 1\nname = \"fast\"\n[[volume]]\nname = \"disk\"\nkind = \"nvme\"\n\
    size = \"1TiB\"\niops = 100000000\nbandwidth = \"1000GiB/s\"\n[[volume]]\nname = \"log\"\n\
    kind = \"nvme\"\nsize = \"1TiB\"\niops = 100000000\nbandwidth = \"1000GiB/s\"\n\
    [[filesystem]]\non = \"disk\"\nkind = \"ext4\"\nmount = \"/data\"\nrole = \"data\"\n\
    [[filesystem]]\non = \"log\"\nkind = \"ext4\"\nmount = \"/wal\"\nrole = \"wal\"\n";

#[test]
fn both_halves_run_in_the_seeds_order_and_leave_nothing() {
    let case = Case::new();
    let (suite, data, wal) = (own_suite(&case), case.target().join("d"), case.target().join("w"));
    std::fs::create_dir(&data).unwrap();
    std::fs::create_dir(&wal).unwrap();
    let context = case.beside("fast.toml");
    std::fs::write(&context, CONTEXT).unwrap();
    let before = case.files();
    let arguments =
        ["--data", "d", "--wal", "w", "--size", "64m", "--runtime", "200ms", "--context"].map(String::from);
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    arguments.insert(0, &suite);
    arguments.push(context.to_str().unwrap());
    let outcome = case.run(&arguments).expect_done();
    let run = outcome.record();
    let order: Vec<u32> = run.scenarios.iter().map(|scenario| scenario.id).collect();
    assert_eq!(order, [1, 3, 4, 5, 7, 10, 2, 8, 6, 9], "{outcome}");
    for scenario in &run.scenarios {
        assert!(
            scenario.measurement.as_ref().is_some_and(|m| m.iops() > 0.0),
            "{}: {outcome}",
            scenario.name
        );
        let inside = if scenario.volume == "wal" { &wal } else { &data };
        assert!(scenario.job.filename[0].starts_with(inside.canonicalize().unwrap()), "{outcome}");
        if [1, 3].contains(&scenario.id) {
            // One after another, and the context promises no time.
            assert_eq!(scenario.ceiling, None, "{}", scenario.name);
            assert!(scenario.verdict.says.contains("promises no latency"), "{}", scenario.verdict.says);
            continue;
        }
        let share = scenario.verdict.percent_of_ceiling.expect("the context promises something");
        assert!(share > 0.0 && share < 100.0, "{}: {share}", scenario.name);
    }
    assert_eq!(case.files(), before, "files were left\n{outcome}");
}

#[test]
fn one_volume_runs_its_half_and_none_is_an_error() {
    let case = Case::new();
    let suite = own_suite(&case);
    let half = ["--wal", ".", "--size", "64m", "--runtime", "100ms", "--scenario", "1,6"];
    let run = case.run(&[&[suite.as_str()], &half[..]].concat()).expect_done().record();
    assert_eq!(run.scenarios.iter().map(|scenario| scenario.id).collect::<Vec<_>>(), [1, 6]);
    case.run(&["database"]).expect(&[2]).expect_says(&["--data", "--wal"]);
    case.run(&["database", "--data", ".", "--scenario", "1"]).expect(&[2]).expect_says(&["--wal"]);
    case.run(&["database", "--data", ".", "--scenario", "12"]).expect(&[2]).expect_says(&["no scenario 12"]);
    case.run(&["database", "--data", "nowhere"]).expect(&[2]).expect_says(&["nowhere"]);
}

/// Targets, the fit table, and both as exit codes, from the run and from its record.
#[test]
fn a_verdict_becomes_an_exit_code() {
    let case = Case::new();
    let suite = own_suite(&case);
    let asked = |target: &str, fail_on: &str| {
        let run = [&suite, "--wal", ".", "--size", "16m", "--runtime", "300ms", "--scenario", "1"];
        case.run(&[&run[..], &["--target", target, "--fail-on", fail_on]].concat())
    };
    let modest = asked("1:iops=1,latency=1000s", "target,unfit:nothing").expect(&[1]);
    let modest = modest.expect_says(&["nothing in this run answers whether it is fit for nothing"]);
    let run = modest.record();
    assert_eq!(run.scenarios[0].verdict.targets.iter().map(|t| t.met).collect::<Vec<_>>(), [true, true]);
    assert!(run.fit.iter().any(|fit| fit.id == "etcd"), "{:?}", run.fit);
    assert!(run.conclusions.iter().any(|line| line.contains("commits")), "{:?}", run.conclusions);
    asked("1:p99=1ns", "target").expect(&[1]).expect_says(&["target missed: sync-latency"]);
    asked("1:iops=1", "target").expect_done();
    asked("1:iops=1", "unknown").expect(&[1]).expect_says(&["not judged"]);
    asked("7:iops=1", "target").expect(&[2]).expect_says(&["--target 7"]);
    asked("1:iops=x", "target").expect(&[2]).expect_says(&["iops = 'x'"]);
    asked("1:iops=1", "sometimes").expect(&[2]).expect_says(&["unfit:NAME"]);
}

/// Standard output and exit code of `iobound ceilings`.
fn ceilings(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(IOBOUND).arg("ceilings").args(arguments).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[test]
fn ceilings_of_a_place_on_this_host() {
    for (arguments, code, words) in [
        (&["--on", "/nowhere/at/all", "--iops", "3000"][..], 2, "/nowhere/at/all: No such file"),
        (&["--on", "/proc", "--iops", "3000"], 2, "no disk of this host under it"),
        (&["--on", "/"], 2, "what each of its disks promises"),
        (&["--on", "/", "--iops", "0"], 2, "promises nothing"),
        (&["--on", "/", "--iops", "3000", "--raid", "0"], 2, "cannot be used with"),
    ] {
        let (ended, said) = ceilings(arguments);
        assert!(ended == Some(code) && said.contains(words), "{arguments:?}\n{said}");
    }
}

#[test]
fn ceilings_of_flags_and_of_a_context_say_the_same() {
    let flags = ["--volumes", "8", "--iops", "3000", "--mibps", "125", "--raid", "10", "--kind", "gp3"];
    for arguments in [&flags[..], &["--context", "c8gb.2xlarge.33.25.8disk.raid10"]] {
        let (code, said) = ceilings(arguments);
        assert_eq!(code, Some(0), "{said}");
        for words in ["8 x 3,000 operations/s / (0.7 + 2 x 0.3) = 18,462", "8 x 125 MiB/s = 1000 MiB/s"] {
            assert!(said.contains(words), "{said}");
        }
    }
}

#[test]
fn layouts_that_cannot_be_are_refused() {
    for (arguments, word) in [
        (&["--volumes", "0", "--iops", "1"][..], "--volumes"),
        (&["--volumes", "2", "--iops", "1", "--raid", "5"], "at least 3"),
        (&["--volumes", "4", "--iops", "1"], "--raid"),
        (&["--volumes", "8", "--raid", "10"], "--iops"),
        (&["--iops", "0"], "0"),
        (&["--iops", "5", "--mibps=-1"], "mibps"),
        (&["--context", "no-such"], "no-such"),
    ] {
        let (code, said) = ceilings(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {said}");
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
}
