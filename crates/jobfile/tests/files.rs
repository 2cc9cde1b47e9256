//! The example job files, read whole; each says what its comment says.

use std::path::{Path, PathBuf};

use iobound_jobfile::{Errors, JobFile, Options, option_table, read_file, to_job_file};
use iobound_record::{EngineChoice, Extent, Job, Rw, SyncMode};

fn read(name: &str) -> Result<JobFile, Errors> {
    let env = |name: &str| match name {
        "WAL" => Some("/wal".to_owned()),
        "DATA" => Some("/data".to_owned()),
        _ => None,
    };
    // Relative, so that errors name the same path on every machine.
    std::env::set_current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files")).unwrap();
    read_file(Path::new(name), &Options { env: &env, ..Options::default() })
}

fn jobs(name: &str) -> Vec<Job> {
    read(name).unwrap_or_else(|errors| panic!("{errors}")).jobs
}

#[test]
fn the_ten_database_scenarios() {
    let jobs = jobs("database.fio");
    let told: Vec<_> = jobs
        .iter()
        .map(|j| (j.filename[0].to_str().unwrap(), j.rw, j.bs, j.fdatasync, j.iodepth, j.numjobs))
        .collect();
    assert_eq!(
        told,
        [
            ("/wal/bench_sync", Rw::Write, 8 << 10, 1, 1, 1),
            ("/wal/bench_seqw", Rw::Write, 1 << 20, 0, 16, 1),
            ("/wal/bench_conc", Rw::Write, 32 << 10, 1, 32, 4),
            ("/wal/bench_seqr", Rw::Read, 1 << 20, 0, 8, 1),
            ("/data/bench_stress", Rw::RandRw, 8 << 10, 0, 64, 4),
            ("/data/bench_lat", Rw::RandRead, 8 << 10, 0, 1, 1),
            ("/data/bench_seqr", Rw::Read, 1 << 20, 0, 16, 1),
            ("/data/bench_seqw", Rw::Write, 1 << 20, 0, 16, 1),
            ("/data/bench_randw", Rw::RandWrite, 8 << 10, 0, 64, 4),
            ("/data/bench_sync", Rw::RandRw, 8 << 10, 1, 32, 4),
        ]
    );
    for job in &jobs {
        assert!(job.direct && job.time_based && job.group_reporting && job.stonewall, "{}", job.name);
        assert_eq!(job.ioengine, EngineChoice::Libaio);
        assert_eq!(job.runtime_ns, Some(60_000_000_000));
        assert_eq!(job.rwmixread, if job.rw == Rw::RandRw { 70 } else { 50 });
        let size = if job.name == "sync-latency" { 2 << 30 } else { 5 << 30 };
        assert_eq!(job.size, Some(Extent::Bytes(size)));
    }
}

#[test]
fn the_toml_form_says_the_same() {
    assert_eq!(jobs("database.toml"), jobs("database.fio"));
}

#[test]
fn the_matrix_runs_on_fios_default_engine() {
    let jobs = jobs("matrix.fio");
    assert_eq!(jobs.len(), 7);
    for job in &jobs {
        assert_eq!(job.ioengine, EngineChoice::Psync, "{}", job.name);
        let Some(Extent::Bytes(size)) = job.size else { panic!("{}: no size", job.name) };
        assert_eq!(size * u64::from(job.numjobs), 4 << 30, "{}", job.name);
        assert!(job.direct && !job.time_based && !job.overwrite);
        assert_eq!(job.runtime_ns, Some(120_000_000_000));
    }
    assert_eq!(jobs[4].rwmixread, 75);
}

#[test]
fn the_cost_of_a_flush() {
    let jobs = jobs("sync-cost.fio");
    let told: Vec<_> = jobs.iter().map(|j| (j.fsync, j.sync, j.direct)).collect();
    assert_eq!(told[0], (0, SyncMode::None, true));
    assert_eq!(told[1], (1, SyncMode::None, true));
    assert_eq!(told[2], (0, SyncMode::Sync, false));
    assert_eq!(told[5], (0, SyncMode::Dsync, false));
}

#[test]
fn includes_beside_the_file() {
    let jobs = jobs("included.fio");
    let files = [PathBuf::from("/dev/nvme1n1"), PathBuf::from("/dev/disk/by-path/pci-0000:00:04.0")];
    for job in &jobs {
        assert_eq!(job.filename, files);
        assert_eq!(job.ioengine, EngineChoice::IoUring);
        assert!(job.direct);
    }
    assert_eq!((jobs[0].bs, jobs[0].iodepth), (4 << 10, 32));
    assert_eq!((jobs[1].bs, jobs[1].iodepth), (1 << 20, 8));
}

#[test]
fn global_sections_build_on_each_other() {
    let told: Vec<_> = jobs("globals.fio").iter().map(|j| (j.name.clone(), j.rw, j.bs, j.size)).collect();
    let size = Some(Extent::Bytes(1 << 30));
    assert_eq!(
        told,
        [
            ("first".to_owned(), Rw::Read, 4 << 10, size),
            ("second".to_owned(), Rw::RandRead, 64 << 10, size),
            ("third".to_owned(), Rw::RandRead, 1 << 20, size),
        ]
    );
}

#[test]
fn every_good_file_reads_back_from_what_it_prints() {
    for name in
        ["database.fio", "database.toml", "matrix.fio", "sync-cost.fio", "included.fio", "globals.fio"]
    {
        let jobs = jobs(name);
        let printed = to_job_file(&jobs);
        let again = iobound_jobfile::parse_fio(&printed.text, name, &Options::default()).unwrap();
        assert_eq!(again.jobs, jobs, "{name}");
    }
}

#[test]
fn errors_as_people_read_them() {
    for name in ["bad.fio", "bad.toml", "broken.toml", "none.fio"] {
        let errors = read(name).unwrap_err();
        insta::assert_snapshot!(name, errors.to_string());
    }
}

#[test]
fn the_table_as_documentation_reads_it() {
    let rows: Vec<String> = option_table()
        .filter(|row| row.support == iobound_jobfile::Support::Honoured)
        .map(|row| format!("{}: {}", row.name, row.text))
        .collect();
    insta::assert_snapshot!("honoured", rows.join("\n"));
}
