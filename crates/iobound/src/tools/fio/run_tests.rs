//! The real fio on a small file, and stand-ins for a fio that misbehaves.

use super::*;
use crate::tools::fio::stand_in::directory_with_fio;
use crate::tools::fio::{Version, find};

/// The installed fio, or None with the reason printed. In CI it has to be there.
fn installed() -> Option<Fio> {
    match find() {
        Ok(fio) => Some(fio),
        Err(error) if std::env::var("CI").is_ok_and(|ci| ci == "true") => panic!("CI must not skip: {error}"),
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            None
        }
    }
}

fn strings(args: &[&str]) -> Vec<String> {
    args.iter().map(|arg| (*arg).to_owned()).collect()
}

fn quietly(_: Duration) {}

/// A shell script in the place of fio; `$out` is the file it has to write its output to.
fn stand_in(script: &str) -> (tempfile::TempDir, Fio) {
    let head = "for a in \"$@\"; do case $a in --output=*) out=${a#--output=};; esac; done";
    let directory = directory_with_fio(&format!("{head}\n{script}"));
    let path = directory.path().join("fio");
    (directory, Fio { path, version: Version { major: 3, minor: 33 } })
}

#[test]
fn the_real_fio_measures_a_file_with_its_series() {
    let Some(fio) = installed() else { return };
    let directory = tempfile::tempdir().unwrap();
    let data = format!("--directory={}", directory.path().display());
    let args = strings(&[
        "--name=live",
        &data,
        "--rw=randrw",
        "--bs=4k",
        "--size=4m",
        "--ioengine=psync",
        "--fdatasync=16",
        "--numjobs=2",
        "--group_reporting",
        "--time_based",
        "--runtime=2",
    ]);
    let mut ticks = 0;
    let report =
        fio.run(&args, RunOptions { series: true }, &AtomicBool::new(false), &mut |_| ticks += 1).unwrap();
    assert_eq!((report.exit_code, report.interrupted, report.jobs.len()), (Some(0), false, 1));
    let (name, measured) = &report.jobs[0];
    assert_eq!(name, "live");
    assert!(measured.read.ios > 0 && measured.write.ios > 0 && measured.sync.ios > 0);
    assert_eq!(measured.read.short_ios, 0);
    assert!(measured.read.latency_ns.p99_99 >= measured.read.latency_ns.p50);
    assert!(measured.read.latency_ns.p50 > 0, "lat_percentiles must have been asked for");
    assert!(ticks > 10, "{ticks}");
    assert!(!measured.series.is_empty());
    let seconds: Vec<f64> = measured.series.iter().map(|i| i.read.unwrap().iops).collect();
    let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
    assert!((mean / measured.read.iops - 1.0).abs() < 0.5, "{seconds:?} against {}", measured.read.iops);
}

#[test]
fn a_stop_ends_the_real_fio_and_keeps_what_it_had() {
    let Some(fio) = installed() else { return };
    let directory = tempfile::tempdir().unwrap();
    let data = format!("--directory={}", directory.path().display());
    let args = strings(&["--name=cut", &data, "--rw=randread", "--size=4m", "--time_based", "--runtime=60"]);
    let stop = AtomicBool::new(false);
    let started = Instant::now();
    let report = fio
        .run(&args, RunOptions::default(), &stop, &mut |elapsed| {
            stop.store(elapsed > Duration::from_millis(1500), Ordering::Relaxed);
        })
        .unwrap();
    assert!(started.elapsed() < Duration::from_secs(20));
    assert!(report.interrupted);
    assert!(report.jobs[0].1.interrupted && report.jobs[0].1.read.ios > 0);
}

#[test]
fn an_option_that_fio_does_not_know_comes_back_in_its_words() {
    let Some(fio) = installed() else { return };
    let args = strings(&["--name=x", "--no_such_option=1"]);
    let error = fio.run(&args, RunOptions::default(), &AtomicBool::new(false), &mut quietly).unwrap_err();
    assert!(matches!(error, RunError::Failed { .. }), "{error}");
    assert!(error.to_string().contains("no_such_option"), "{error}");
}

#[test]
fn what_fio_prints_around_its_json_does_not_matter_and_its_code_comes_back() {
    let json = r#"{"fio version":"fio-3.33","jobs":[{"jobname":"a","error":5}]}"#;
    let (_directory, fio) =
        stand_in(&format!("echo 'fio: warning' >&2; echo 'x' > $out; echo '{json}' >> $out; exit 1"));
    let report = fio.run(&[], RunOptions::default(), &AtomicBool::new(false), &mut quietly).unwrap();
    assert_eq!((report.exit_code, report.jobs[0].1.errors), (Some(1), 1));
    assert_eq!(report.messages, "fio: warning\n");
}

#[test]
fn a_run_without_a_result_is_explained() {
    let (_directory, fio) = stand_in("echo 'no such device' >&2; exit 3");
    let error = fio.run(&[], RunOptions::default(), &AtomicBool::new(false), &mut quietly).unwrap_err();
    assert!(error.to_string().contains("no such device"), "{error}");
    let (_directory, fio) = stand_in("exit 0");
    let error = fio.run(&[], RunOptions::default(), &AtomicBool::new(false), &mut quietly).unwrap_err();
    assert!(matches!(error, RunError::Output { .. }), "{error}");
    let missing = Fio { path: "/no/such/fio".into(), version: Version { major: 3, minor: 33 } };
    let error = missing.run(&[], RunOptions::default(), &AtomicBool::new(false), &mut quietly).unwrap_err();
    assert!(matches!(error, RunError::Start { .. }), "{error}");
}

#[test]
fn one_that_ignores_the_interrupt_is_killed_with_its_jobs() {
    // The child in the background stands for a job that fio forked.
    let (directory, fio) =
        stand_in("trap '' INT; setsid sleep 300 & echo $! > ${0%/*}/job; wait; wait; sleep 300");
    let stop = AtomicBool::new(false);
    let started = Instant::now();
    let report = fio
        .run(&[], RunOptions::default(), &stop, &mut |elapsed| {
            stop.store(elapsed > Duration::from_millis(300), Ordering::Relaxed);
        })
        .unwrap();
    assert!(report.interrupted && report.jobs.is_empty());
    assert!(started.elapsed() >= GRACE);
    assert_gone(&directory.path().join("job"));
}

#[test]
fn a_panic_of_the_caller_leaves_nothing_running() {
    let (directory, fio) = stand_in("setsid sleep 300 & echo $! > ${0%/*}/job; wait");
    let job = directory.path().join("job");
    let panicked = std::panic::catch_unwind(|| {
        fio.run(&[], RunOptions::default(), &AtomicBool::new(false), &mut |_| {
            assert!(!fs::read_to_string(&job).is_ok_and(|text| text.ends_with('\n')), "as wanted");
        })
    });
    assert!(panicked.is_err());
    assert_gone(&job);
}

/// The process whose number is in `file` has ended (or is a zombie that nobody collects).
fn assert_gone(file: &Path) {
    let pid = fs::read_to_string(file).unwrap();
    for _ in 0..100 {
        let state = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        if state.is_empty() || state.contains(") Z ") {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("process {pid} still runs");
}

/// fio's jobs are processes in sessions of their own: killing fio or its group leaves them running.
#[test]
fn a_panic_of_the_caller_leaves_no_job_of_the_real_fio() {
    let Some(fio) = installed() else { return };
    let directory = tempfile::tempdir().unwrap();
    let data = format!("--directory={}", directory.path().display());
    let args = strings(&[
        "--name=left",
        &data,
        "--rw=randread",
        "--size=1m",
        "--time_based",
        "--runtime=60",
        "--numjobs=2",
    ]);
    let panicked = std::panic::catch_unwind(|| {
        fio.run(&args, RunOptions::default(), &AtomicBool::new(false), &mut |elapsed| {
            assert!(elapsed < Duration::from_millis(1500) || users_of(directory.path()) < 2, "as wanted");
            assert!(elapsed < Duration::from_secs(30), "fio did not start");
        })
    });
    assert!(panicked.is_err());
    let deadline = Instant::now() + Duration::from_secs(10);
    while users_of(directory.path()) > 0 {
        assert!(Instant::now() < deadline, "fio or a job of it still runs");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Processes with `directory` in their command line, as fio and its jobs have.
fn users_of(directory: &Path) -> usize {
    let name = directory.to_str().unwrap();
    let mentions = |entry: fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(name)
    };
    fs::read_dir("/proc").unwrap().flatten().map(mentions).filter(|used| *used).count()
}

#[test]
fn options_that_take_the_output_away_are_refused() {
    for arg in
        ["--output=x", "-output=x", "--outp=x", "--output-format=terse", "--daemonize=/x", "--client=h"]
    {
        let (_directory, fio) = stand_in("exit 9");
        let error = fio
            .run(&strings(&[arg]), RunOptions::default(), &AtomicBool::new(false), &mut quietly)
            .unwrap_err();
        assert!(matches!(error, RunError::Reserved(_)), "{arg}: {error}");
    }
    for arg in ["--name=output", "job.fio", "--rw=read", "--size=4m", "--status-interval=1"] {
        assert!(!is_reserved(arg), "{arg}");
    }
}

#[test]
fn a_stop_before_the_start_starts_nothing() {
    let (_directory, fio) = stand_in("exit 9");
    let report = fio.run(&[], RunOptions::default(), &AtomicBool::new(true), &mut quietly).unwrap();
    assert!(report.interrupted && report.jobs.is_empty());
}
