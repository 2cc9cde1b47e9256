//! `iobound check` and `iobound context`, and what a run does with both.

use std::process::{Command, Output};

use iobound_record::{Check, Outcome};
use serde_json::Value;

use crate::support::{BOUND_FAILED, Case, IOBOUND, USAGE};

fn iobound(case: &Case, arguments: &[&str]) -> Output {
    Command::new(IOBOUND).args(arguments).current_dir(case.target()).output().unwrap()
}

/// Exit code, standard output, standard error.
fn ended(case: &Case, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = iobound(case, arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn context_file(case: &Case, text: &str) -> String {
    let path = case.beside("context.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_check_ends_with_its_verdict() {
    let case = Case::new();
    let (code, stdout, stderr) = ended(&case, &["check", "--offline", "--watch", "100ms"]);
    assert!(matches!(code, Some(0 | 1)), "{code:?}\n{stdout}\n{stderr}");
    assert!(stdout.lines().last().unwrap().contains(" pass"), "{stdout}");
    let (_, stdout, _) = ended(&case, &["check", "--offline", "--watch", "0", "--json"]);
    let json: Value = serde_json::from_str(&stdout).unwrap();
    let checks: Vec<Check> = serde_json::from_value(json["checks"].clone()).unwrap();
    let count = |outcome| checks.iter().filter(|check| check.outcome == outcome).count();
    assert_eq!(json["pass"], count(Outcome::Pass));
    assert_eq!(json["unknown"], count(Outcome::Unknown));
    assert!(checks.iter().any(|check| check.id == "clock"), "{stdout}");
    assert!(case.files().is_empty(), "a check leaves nothing behind");
}

#[test]
fn a_context_of_other_hardware_names_the_disks_that_are_missing() {
    let case = Case::new();
    let arguments = ["check", "--offline", "--watch", "0", "--context", "lab.16disk.raid10"];
    let (code, stdout, stderr) = ended(&case, &arguments);
    assert_eq!(code, Some(BOUND_FAILED), "{stdout}\n{stderr}");
    for words in ["disks of data", "data1", "nothing is mounted there", "lsblk"] {
        assert!(stdout.contains(words), "{words}\n{stdout}");
    }
}

#[test]
fn what_no_check_can_be_made_of() {
    let case = Case::new();
    for (arguments, says) in [
        (&["check", "--data", "not-there/x"][..], "not-there"),
        (&["check", "--context", "nvm"], "did you mean 'nvme'?"),
        (&["check", "--watch", "9h"], "hour"),
        (&["context", "show", "not-there.toml"], "known: "),
        (&["context", "validate", "/dev/zero"], "no regular file"),
        (&["context", "new", "../x", "--from", "nvme"], "is no name"),
    ] {
        let (code, stdout, stderr) = ended(&case, arguments);
        assert_eq!(code, Some(USAGE), "{arguments:?}\n{stdout}\n{stderr}");
        assert!(stderr.contains(says), "{says}\n{stderr}");
    }
    assert!(case.files().is_empty());
}

#[test]
fn a_file_is_validated_line_by_line() {
    let case = Case::new();
    let text = "schema = 1\nname = \"a;b\"\n[[volume]]\nname = \"d\"\nkind = \"nvme\"\nsize = \"1GiB\"\n\
                [[filesystem]]\non = \"e\"\nmount = \"/etc\"\n";
    let path = context_file(&case, text);
    let (code, _, stderr) = ended(&case, &["context", "validate", &path]);
    assert_eq!(code, Some(USAGE));
    for words in [":2: name: 'a;b'", ":8: filesystem./etc.on", ":9: filesystem./etc.mount"] {
        assert!(stderr.contains(words), "{words}\n{stderr}");
    }
    let (code, stdout, _) = ended(&case, &["context", "validate", "nvme"]);
    assert_eq!((code, stdout.contains("sound")), (Some(0), true), "{stdout}");
}

#[test]
fn contexts_are_listed_shown_and_copied() {
    let case = Case::new();
    let (_, stdout, _) = ended(&case, &["context", "list"]);
    assert_eq!(stdout.lines().count(), 7, "{stdout}");
    let (_, stdout, _) = ended(&case, &["context", "show", "lab.4disk.lvm", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&stdout).unwrap()["name"], "lab.4disk.lvm");
    let (code, stdout, stderr) = ended(&case, &["context", "new", "mine", "--from", "nvme"]);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    let (code, stdout, _) = ended(&case, &["context", "show", "mine.toml"]);
    assert!(code == Some(0) && stdout.starts_with("mine\n"), "{stdout}");
    let (code, _, stderr) = ended(&case, &["context", "new", "mine", "--from", "nvme"]);
    assert!(code == Some(USAGE) && stderr.contains("exists"), "{stderr}");
}

#[test]
fn what_is_detected_validates() {
    let case = Case::new();
    let (code, _, stderr) = ended(&case, &["context", "detect", "--offline", "--out", "host.toml"]);
    if code == Some(USAGE) && stderr.contains("no disk can be seen") {
        iobound_lab::skip("no disk can be seen from here");
        return;
    }
    assert_eq!(code, Some(0), "{stderr}");
    let (code, stdout, stderr) = ended(&case, &["context", "validate", "host.toml"]);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
}

#[test]
fn a_run_keeps_its_context_and_its_checks() {
    let case = Case::new();
    let job = case.job("[a]\nfilename=f\nrw=write\nsize=1m\n");
    let outcome = case.run(&[&job, "--context", "nvme"]).expect_done();
    let run = outcome.record();
    assert_eq!(run.context.as_ref().map(|context| context.name.as_str()), Some("nvme"));
    assert!(run.checks.iter().any(|check| check.id == "clock"), "{outcome}");
    let outcome = case.run(&[&job, "--context", "nvm"]).expect(&[USAGE]).expect_says(&["did you mean"]);
    assert!(outcome.try_record().is_none());
}

#[test]
fn a_run_that_requires_a_check_does_not_start_without() {
    let case = Case::new();
    let job = case.job("[a]\nfilename=f\nrw=write\nsize=1m\n");
    let arguments = [job.as_str(), "--context", "lab.16disk.raid10", "--require-check"];
    let outcome = case.run(&arguments).expect(&[BOUND_FAILED]).expect_says(&["not started", "data1"]);
    assert!(outcome.try_record().is_none() && case.files().is_empty(), "{outcome}");
    // Without it the run goes on, and says so.
    let outcome = case.run(&arguments[..3]).expect_done().expect_says(&["before the run", "disks of data"]);
    let finding = outcome.record().findings.into_iter().find(|finding| finding.id == "check-disks");
    assert!(finding.is_some_and(|finding| finding.evidence.contains("data1")), "{outcome}");
}
