//! Any job, written and read again, is the same job; and the real fio reads what is written.

mod arbitrary;
mod real_fio;

use arbitrary::any_job;
use iobound_jobfile::{Options, parse_fio, print_fio, print_fio_lines, to_job_file};
use iobound_record::Job;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use real_fio::{fio, run_fio};
use std::process::{Command, Output};

fn read(text: &str) -> Vec<Job> {
    parse_fio(text, "again.fio", &Options::default()).unwrap_or_else(|e| panic!("{e}\n{text}")).jobs
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn a_job_file_says_the_same_jobs(jobs in prop::collection::vec(any_job(), 1..4)) {
        let printed = to_job_file(&jobs);
        prop_assert_eq!(read(&printed.text), jobs, "{}", printed.text);
    }

    #[test]
    fn a_command_line_is_one_line_and_its_long_form_the_same(job in any_job()) {
        let line = print_fio(&job);
        prop_assert!(line.text.starts_with("fio ") && !line.text.contains('\n'));
        prop_assert_eq!(print_fio_lines(&job).text.replace(" \\\n    ", " "), line.text);
    }
}

#[test]
fn the_default_jobs_come_back() {
    let jobs = [Job::default(), Job::fio_default()];
    assert_eq!(read(&to_job_file(&jobs).text), jobs);
}

/// What remains of a job when only fio's own lines are read: what the real fio is told.
#[test]
fn what_fio_has_no_word_for_is_noted() {
    let job = Job { compress_ratio: 1.7, dedup_unit: 8 << 10, ..Job::default() };
    let printed = print_fio(&job);
    let notes: Vec<String> = printed.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "job 'job': fio cannot say ioengine=auto; ioengine=io_uring is nearest",
            "job 'job': fio has no word for compress_ratio=1.7",
            "job 'job': fio has no word for dedup_unit=8k",
        ]
    );
    assert!(printed.text.contains("--buffer_compress_percentage=41"), "{printed}");
}

#[test]
fn texts_that_fio_cannot_carry_are_left_out_and_noted() {
    let job = Job {
        name: "a#b".into(),
        description: Some("50% ; more".into()),
        filename: vec!["x#y".into()],
        ..Job::fio_default()
    };
    let printed = to_job_file(std::slice::from_ref(&job));
    let options: Vec<&str> = printed.notes.iter().map(|note| note.option).collect();
    assert_eq!(options, ["description", "filename", "name"]);
    assert_eq!(read(&printed.text)[0].name, "a_b");
    assert!(print_fio(&job).text.starts_with("fio --name=a_b "));
}

#[test]
fn the_real_fio_reads_both() {
    if fio().is_none() {
        return;
    }
    let mut runner = TestRunner::deterministic();
    let mut jobs: Vec<Job> =
        (0..150).map(|_| any_job().new_tree(&mut runner).expect("jobs are made").current()).collect();
    for job in &mut jobs {
        // fio asks the host for these at once.
        job.cpus_allowed = job.cpus_allowed.as_ref().map(|_| vec![0]);
    }
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("jobs.fio"), to_job_file(&jobs).text).unwrap();
    accepted(&run_fio(directory.path(), &["--parse-only", "jobs.fio"]));
    let lines: Vec<String> = jobs.iter().map(|job| print_fio(job).text.replacen("fio ", "", 1)).collect();
    let line = format!("exec fio --parse-only {}", lines.join(" "));
    accepted(&Command::new("sh").arg("-c").arg(&line).output().unwrap());
}

/// fio took every option, and without a word.
fn accepted(told: &Output) {
    let words = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success() && words.is_empty(), "{words}\n{}", String::from_utf8_lossy(&told.stdout));
}
