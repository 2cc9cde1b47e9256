//! The real fio, asked what it makes of a text, against what this crate makes of it.

mod real_fio;

use std::collections::BTreeSet;
use std::path::Path;

use iobound_jobfile::{Options, option_names, parse_fio};
use real_fio::{fio, run_fio};

#[test]
fn every_option_that_fio_knows_is_in_the_table() {
    if fio().is_none() {
        return;
    }
    let known: BTreeSet<&str> = option_names().collect();
    for arguments in [["--cmdhelp=all"], ["--enghelp=io_uring"], ["--enghelp=libaio"], ["--enghelp=pvsync2"]]
    {
        let told = run_fio(Path::new("."), &arguments);
        let text = String::from_utf8_lossy(&told.stdout);
        let names: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once(':')?.0.trim())).collect();
        assert!(names.len() >= 4, "{arguments:?}: {text}");
        for name in names {
            assert!(known.contains(name), "{arguments:?}: {name}");
        }
    }
}

/// One operation of each block size on fio's null engine: the bytes it counts are the bytes it read
/// out of the text.
#[test]
fn sizes_are_what_fio_takes_them_for() {
    if fio().is_none() {
        return;
    }
    let sizes =
        ["512", "4k", "4K", "4kb", "4KB", "4ki", "4KiB", "1m", "1M", "1mb", "1mib", "0x1000", "5000b", "7kB"];
    for base in [1024, 1000] {
        let mut text = format!("[global]\nioengine=null\nnumber_ios=1\nsize=64m\nkb_base={base}\n");
        for (i, size) in sizes.iter().enumerate() {
            text.push_str(&format!("[j{i}]\nbs={size}\n"));
        }
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("t.fio"), &text).unwrap();
        let told = run_fio(directory.path(), &["--output-format=json", "t.fio"]);
        let told = String::from_utf8_lossy(&told.stdout);
        let counted: Vec<u64> = told
            .split("\"read\" : {")
            .skip(1)
            .map(|part| {
                part.split("\"io_bytes\" : ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap()
            })
            .collect();
        // "4ki" has no B: fio reads it as 4k, this crate refuses to guess.
        let ours: Vec<u64> = match parse_fio(&text.replace("=4ki\n", "=4k\n"), "t.fio", &Options::default()) {
            Ok(file) => file.jobs.iter().map(|job| job.bs).collect(),
            Err(errors) => panic!("{errors}"),
        };
        assert_eq!(ours, counted, "kb_base={base}: {sizes:?}");
    }
}

/// Which files a job writes: names add up over [global] and the job, below the directory.
#[test]
fn files_are_those_that_fio_makes() {
    if fio().is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().display();
    for (number, lines) in [
        "filename=a:b\n[j]\nfilename=c:a\n",
        "directory=ROOT\n[j]\nfilename=/x:y:sub/z\n",
        "filename=with\\:colon\n[j]\n",
        "[j]\nfilename=first\nfilename=second\n",
    ]
    .iter()
    .enumerate()
    {
        let home = directory.path().join(number.to_string());
        std::fs::create_dir_all(home.join("sub")).unwrap();
        let lines = lines.replace("ROOT", &format!("{root}/{number}"));
        let text = format!("[global]\nioengine=psync\nrw=write\nbs=4k\nsize=64k\n{lines}");
        std::fs::write(home.join("t.fio"), &text).unwrap();
        let told = run_fio(&home, &["t.fio"]);
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        let job = parse_fio(&text, "t.fio", &Options::default()).unwrap().jobs.remove(0);
        for file in &job.filename {
            assert!(
                home.join(file).metadata().is_ok_and(|meta| meta.len() > 0),
                "{lines}: {}",
                file.display()
            );
        }
        let made = count_files(&home) - 1;
        assert_eq!(made, job.filename.len(), "{lines}");
    }
}

fn count_files(directory: &Path) -> usize {
    std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| if path.is_dir() { count_files(&path) } else { 1 })
        .sum()
}

/// What fio refuses, this crate refuses: it reads nothing that is no job file.
#[test]
fn what_fio_refuses_is_refused() {
    if fio().is_none() {
        return;
    }
    for text in [
        "rw=read\n",
        "[a]\nrw=randomread\n",
        "[a]\niodepht=1\n",
        "[a]\nbssplit=4k/60:8k/60:16k/:32k/\n",
        "[a]\nrandom_distribution=zipf:1\n",
        "[a]\nrandom_distribution=pareto:2\n",
        "[a]\nrwmixread=101\n",
        "[a]\nsync=2\n",
        "[a]\nfallocate=maybe\n",
        "[a]\ndedupe_percentage=101\n",
        "[a]\nverify=crc33\n",
        "[a]\nbs=k\n",
        "[a]\nfilename=\n",
        "[a]\nkb_base=10\n",
        "[a]\nrandseed=18446744073709551616\n",
    ] {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("t.fio"), text).unwrap();
        let told = run_fio(directory.path(), &["--parse-only", "t.fio"]);
        assert!(!told.status.success(), "fio takes {text}");
        assert!(parse_fio(text, "t.fio", &Options::default()).is_err(), "{text}");
    }
}
