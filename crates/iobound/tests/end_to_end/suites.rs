//! The suites besides the database's: each from the command to its reports, small and short.

use std::process::Command;

use iobound_record::{EngineChoice, Rw, Severity};

use crate::support::{BROKE, Case, IOBOUND, Outcome, REFUSED, USAGE};

/// A report of a run, as text.
fn report(outcome: &Outcome, format: &str) -> String {
    let output =
        Command::new(IOBOUND).arg("report").arg(&outcome.out).args(["--format", format]).output().unwrap();
    assert!(output.status.success(), "{output:?}\n{outcome}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn has(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "no '{word}' in\n{text}");
    }
}

#[test]
fn etcds_log_is_measured_at_its_syncs() {
    let case = Case::new();
    let outcome = case.run(&["etcd", "--size", "1m"]).expect_done();
    let run = outcome.record();
    let scenario = &run.scenarios[0];
    let measured = scenario.measurement.as_ref().unwrap();
    assert_eq!((scenario.job.bs, scenario.job.direct, scenario.job.fdatasync), (2300, false, 1), "{outcome}");
    // Each write has its sync, and the tail of those is what the suite is run for.
    assert_eq!((measured.write.ios, measured.sync.ios), ((1 << 20) / 2300, (1 << 20) / 2300), "{outcome}");
    assert!(measured.sync.latency_ns.p99 > 0, "{outcome}");
    for finding in &run.findings {
        assert!(!["page-cache", "fresh-file"].contains(&finding.id.as_str()), "{finding:?}\n{outcome}");
    }
    has(&report(&outcome, "terminal"), &["sync p99", "Phase 1: Write-ahead log"]);
    has(&report(&outcome, "markdown"), &["p99 of the sync"]);
    has(&report(&outcome, "html"), &["99 of 100 syncs take at most"]);
    assert!(case.files().is_empty(), "{:?}", case.files());
}

#[test]
fn a_sweep_becomes_a_matrix_a_heat_map_and_conclusions() {
    let case = Case::new();
    // As shipped, but without the half second before each point.
    let own = case.beside("sweep.toml");
    let text = include_str!("../../../../suites/sweep.toml").replace("ramp_time = \"500ms\"", "");
    std::fs::write(&own, text).unwrap();
    let outcome = case.run(&[own.to_str().unwrap(), "--size", "16m", "--runtime", "30ms"]).expect_done();
    let run = outcome.record();
    assert_eq!(run.scenarios.len(), 40, "{outcome}");
    assert!(run.scenarios.iter().all(|scenario| scenario.measurement.is_some()), "{outcome}");
    has(&outcome.stdout, &["Random 75/25", "1 job", "4 jobs", "128 KiB", "Sequential write, 4 jobs:"]);
    has(&report(&outcome, "markdown"), &["## Random read", "4 jobs: MiB/s", "1: Random read"]);
    let page = report(&outcome, "html");
    has(&page, &["table class=\"heat\"", "Random read, MiB/s by block size", "--warmth:"]);
    assert!(!page.contains("<script"));
    assert!(page.len() < 2_000_000, "{}", page.len());
    assert!(case.files().is_empty(), "{:?}", case.files());
}

#[test]
fn axes_come_from_the_command_line_and_from_a_users_file() {
    let case = Case::new();
    let short = ["--size", "8m", "--runtime", "20ms", "--quiet"];
    let own = case.beside("mine.toml");
    std::fs::write(
        &own,
        "name = \"mine\"\n[job]\ntime_based = 1\nruntime = \"1s\"\nsize = \"1g\"\n[sweep]\nbs = [\"4k\", \"64k\"]\n\
         [[sweep.pattern]]\nname = \"r\"\ntitle = \"Reads\"\njob = { rw = \"randread\" }\n",
    )
    .unwrap();
    let file = own.to_str().unwrap();
    let run = case.run(&[&[file, "--depth", "1,8"], &short[..]].concat()).expect_done().record();
    let names: Vec<&str> = run.scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
    assert_eq!(names, ["r-4k-qd1", "r-4k-qd8", "r-64k-qd1", "r-64k-qd8"]);
    for (arguments, words) in [
        (&["database", "--data", ".", "--depth", "8"][..], "axes of a sweep"),
        (&["quick", "--dedup", "2"], "axes of a sweep"),
        (&[file, "--depth", "0"], "iodepth"),
        (&["sweep", "--compress", "0.5"], "compress"),
        (&["sweep", "--depth", "1,2,3,4,5,6,7,8,9,10,11,12"], "5 x 4 x 2 x 12 = 480 scenarios"),
        (&[file, "--size", "64k"], "--size"),
    ] {
        case.run(arguments).expect(&[USAGE]).expect_says(&[words]);
    }
    for (from, to, words) in [
        ("bs = [\"4k\", \"64k\"]", "bs = []", "axis bs is empty"),
        ("[sweep]\n", "[sweep]\nblocks = [1]\n", "blocks"),
        ("rw = \"randread\"", "rw = \"randread\", sizze = 1", "sizze"),
        ("size = \"1g\"", "size = \"32k\"", "below bs"),
    ] {
        let text = std::fs::read_to_string(&own).unwrap();
        let bad = case.beside("bad.toml");
        std::fs::write(&bad, text.replacen(from, to, 1)).unwrap();
        case.run(&[bad.to_str().unwrap()]).expect(&[USAGE]).expect_says(&[words]);
    }
    assert!(case.files().is_empty(), "{:?}", case.files());
}

#[test]
fn a_suite_that_is_none_names_those_that_are() {
    let case = Case::new();
    case.run(&["nosuch"]).expect(&[USAGE]).expect_says(&[
        "quick",
        "database",
        "sweep",
        "dd",
        "sequential",
        "etcd",
    ]);
    let help = Command::new(IOBOUND).args(["run", "--help"]).output().unwrap();
    has(&String::from_utf8(help.stdout).unwrap(), &["sweep", "sequential", "etcd", "--depth", "dd"]);
}

#[test]
fn dd_by_our_engine_says_what_sync_and_cache_are_worth() {
    let case = Case::new();
    let outcome = case.run(&["dd", "--size", "16m", "--runtime", "50ms"]).expect_done();
    let run = outcome.record();
    assert_eq!(run.scenarios.len(), 18, "{outcome}");
    let sizes: Vec<u64> = run.scenarios[..9].iter().map(|scenario| scenario.job.bs >> 10).collect();
    assert_eq!(sizes, [1, 4, 16, 64, 128, 512, 1024, 2048, 4096]);
    let said = run.conclusions.join("\n");
    for words in ["fsync after each write costs", "The page cache", "fresh file"] {
        assert!(said.to_lowercase().contains(&words.to_lowercase()), "{words}: {said}");
    }
    // The cache is what is asked about here, so it is no warning.
    assert!(run.findings.iter().all(|f| f.id != "page-cache" || f.severity == Severity::Note), "{outcome}");
    assert!(case.files().is_empty(), "{:?}", case.files());
}

#[test]
fn the_real_dd_does_what_it_can_and_the_rest_is_said() {
    let case = Case::new();
    let outcome = case.run(&["dd", "--engine", "dd", "--size", "16m", "--runtime", "2s"]).expect_done();
    let run = outcome.record();
    let names: Vec<&str> = run.scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
    assert!(names.contains(&"sync-write-4k") && !names.contains(&"write-4k-fsync"), "{names:?}");
    assert!(outcome.stderr.contains("write-4k-fsync") && outcome.stderr.contains("O_SYNC"), "{outcome}");
    for scenario in &run.scenarios {
        let measured = scenario.measurement.as_ref().unwrap();
        assert_eq!(measured.engine, EngineChoice::Dd);
        assert!(scenario.program.starts_with("LC_ALL=C dd "), "{}", scenario.program);
        // Whole, unless the time was up before: dd's bytes are the blocks that it was told to write.
        let bytes = measured.read.bytes + measured.write.bytes;
        let whole = bytes == 16 << 20 || measured.runtime_ns > 1_900_000_000;
        assert!(whole && bytes > 0 && bytes % scenario.job.bs == 0, "{}: {bytes}", scenario.name);
    }
    assert!(case.files().is_empty(), "{:?}", case.files());
    has(&report(&outcome, "markdown"), &["What ran:", "oflag=nofollow,sync"]);
    has(&report(&outcome, "html"), &["conv=notrunc,nocreat"]);
}

#[test]
fn dd_never_writes_where_our_engines_would_not() {
    let case = Case::new();
    let mine = case.target().join("mine.dat");
    std::fs::write(&mine, b"precious").unwrap();
    let job = case.job("[a]\nrw=write\nbs=4k\nsize=1m\nzero_buffers\nfilename=mine.dat\n");
    case.run(&[&job, "--engine", "dd"]).expect(&[REFUSED]).expect_says(&["--overwrite"]);
    assert_eq!(std::fs::read(&mine).unwrap(), b"precious");
    let link = case.target().join("link.dat");
    std::os::unix::fs::symlink(&mine, &link).unwrap();
    let job = case.job("[a]\nrw=write\nbs=4k\nsize=1m\nzero_buffers\nfilename=link.dat\n");
    case.run(&[&job, "--engine", "dd"]).expect(&[REFUSED]);
    assert_eq!(std::fs::read(&mine).unwrap(), b"precious");
    for (job, words) in [
        ("[a]\nrw=randwrite\nsize=1m\nzero_buffers\n", "rw=randwrite"),
        ("[a]\nrw=write\nsize=1m\n", "zeroes"),
        ("[a]\nrw=write\nsize=1m\nzero_buffers\nfdatasync=1\n", "fdatasync"),
        ("[a]\nrw=read\nsize=1m\niodepth=4\n", "iodepth=4"),
    ] {
        let job = case.job(job);
        case.run(&[&job, "--engine", "dd"]).expect(&[USAGE]).expect_says(&["dd cannot do job 'a'", words]);
    }
    case.run(&["dd", "--engine", "dd", "--scenario", "11"])
        .expect(&[USAGE])
        .expect_says(&["write-4k-fsync", "fsync"]);
    case.run(&["quick", "--engine", "dd"]).expect(&[USAGE]).expect_says(&["dd cannot do the quick suite"]);
}

#[test]
fn a_missing_or_failing_dd_is_told_with_its_own_words() {
    let case = Case::new();
    let with_path = |path: &std::path::Path| {
        let mut command = Command::new(IOBOUND);
        command.env("PATH", path);
        command
    };
    let dd = ["dd", "--engine", "dd", "--scenario", "2", "--size", "1m"];
    case.run_as(with_path(case.target()), &dd).expect(&[USAGE]).expect_says(&["dd is not in PATH"]);
    let tools = case.beside("tools");
    std::fs::create_dir(&tools).unwrap();
    let program = tools.join("dd");
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && echo 'dd (coreutils) 9.1' && exit 0\n\
                  echo \"dd: error writing 'x': No space left on device\" >&2\nexit 1\n";
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    case.run_as(with_path(&tools), &dd).expect(&[BROKE]).expect_says(&["No space left on device"]);
    assert!(case.files().is_empty(), "{:?}", case.files());
}

#[test]
fn sequential_reads_begin_cold_and_layouts_become_a_matrix() {
    let case = Case::new();
    let outcome = case.run(&["sequential", "--size", "64m", "--runtime", "2s"]).expect_done();
    let run = outcome.record();
    let order: Vec<(Rw, bool)> =
        run.scenarios.iter().map(|scenario| (scenario.job.rw, scenario.job.direct)).collect();
    assert_eq!(order, [(Rw::Write, false), (Rw::Read, false), (Rw::Write, true), (Rw::Read, true)]);
    let cold = run.conclusions.iter().any(|line| line.contains("posix_fadvise"));
    assert!(cold || run.scenarios[1].measurement.as_ref().unwrap().device.is_none(), "{outcome}");
    has(&outcome.stdout, &["Phase 2: As the disks can"]);
    let compare = |arguments: &[&str]| {
        let output = Command::new(IOBOUND).arg("compare").args(arguments).arg(&outcome.out).output().unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    // What the disks are comes from the context, or from the kernel where there is a device.
    let (code, said) = compare(&["--layouts"]);
    let known = run.host.targets.iter().any(|target| !target.disks.is_empty());
    assert_eq!(code, Some(if known { 0 } else { USAGE }), "{said}");
    has(&said, if known { &["disk size", "1 disk", "write: disk-write"] } else { &["--context"] });
    let (code, said) = compare(&[]);
    assert!(code == Some(USAGE) && said.contains("two or more"), "{said}");
    assert!(case.files().is_empty(), "{:?}", case.files());
}
