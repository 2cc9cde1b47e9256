//! A run rendered again: every format from the record of a real run, and what is refused.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::{Case, IOBOUND, REFUSED, USAGE};

/// Runs `iobound report ARGUMENTS` in `directory`; its exit code and its output.
fn report(directory: &Path, arguments: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } =
        Command::new(IOBOUND).arg("report").args(arguments).current_dir(directory).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// The directory of a short run without a device.
fn a_run() -> tempfile::TempDir {
    let case = Case::new();
    let job = case.job("[quick-read]\nrw=randread\nbs=4k\nsize=1m\nnumber_ios=1000\n");
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let run = Command::new(IOBOUND)
        .args(["run", &job, "--engine", "null", "--quiet", "--out"])
        .arg(&out)
        .output()
        .unwrap();
    assert!(out.join("run.json").is_file(), "{run:?}");
    directory
}

#[test]
fn a_run_becomes_every_format() {
    let directory = a_run();
    let (code, text, words) = report(directory.path(), &["out"]);
    assert!(code == 0 && text.contains("quick-read"), "{code}\n{text}\n{words}");
    let (code, listed, words) = report(directory.path(), &["out/run.json", "--out", "all"]);
    assert_eq!(code, 0, "{words}");
    for name in ["report.html", "summary.csv", "series.csv", "fio.json", "metrics.prom", "quick-read_"] {
        assert!(listed.contains(&format!("all/{name}")), "{name} in\n{listed}");
    }
    assert!(listed.lines().all(|path| directory.path().join(path).is_file()), "{listed}");
    for (format, has) in [
        ("terminal", "quick-read"),
        ("markdown", "# quick-read"),
        ("html", "<!DOCTYPE html>"),
        ("csv", "run_id,started"),
        ("series-csv", "run_id,scenario_id"),
        ("fio-json", "\"fio version\""),
        ("openmetrics", "# EOF"),
    ] {
        let (code, text, words) = report(directory.path(), &["out", "--format", format]);
        assert!(code == 0 && text.contains(has), "{format}: {words}\n{text}");
    }
    let (code, _, words) = report(directory.path(), &["out", "--format", "html", "--out", "page.html"]);
    assert!(code == 0 && directory.path().join("page.html").is_file(), "{words}");
}

#[test]
fn neither_the_record_nor_a_device_is_replaced() {
    let directory = a_run();
    let before = std::fs::read(directory.path().join("out/run.json")).unwrap();
    for out in ["out/run.json", "/dev/null"] {
        let (code, _, words) = report(directory.path(), &["out", "--format", "html", "--out", out]);
        assert!(code == REFUSED && words.contains(out) && words.contains("--out"), "{code} {words}");
    }
    assert_eq!(std::fs::read(directory.path().join("out/run.json")).unwrap(), before);
}

#[test]
fn what_is_no_record_is_bad_usage() {
    let directory = a_run();
    std::fs::write(directory.path().join("cut.json"), "{\"schema\": 1, \"scen").unwrap();
    let several = ["out", "--out", "cut.json"];
    for (arguments, says) in [
        (&["nothing"][..], "iobound run"),
        (&["."], "no run.json in it"),
        (&["cut.json"], "cut short at line 1"),
        (&several, "give a directory"),
    ] {
        let (code, _, words) = report(directory.path(), arguments);
        assert!(code == USAGE && words.contains(says), "{arguments:?}: {code} {words}");
    }
}
