//! No text makes the readers run away or say more than people read.

use std::path::Path;

use iobound_jobfile::{FILE_BYTES_MAX, JOBS_MAX, Options, parse_fio, parse_toml, read_file};

fn error(text: &str) -> String {
    parse_fio(text, "t.fio", &Options::default()).unwrap_err().to_string()
}

#[test]
fn too_much_is_refused_by_name() {
    let large = format!("[a]\n{}", "# x\n".repeat(FILE_BYTES_MAX as usize / 4));
    assert_eq!(error(&large), "t.fio: the job file and its includes are too large: the limit is 1 MiB");
    let toml = parse_toml(&large, "t.toml", &Options::default()).unwrap_err().to_string();
    assert_eq!(toml, "t.toml: the job file and its includes are too large: the limit is 1 MiB");

    let jobs = "[a]\n".repeat(JOBS_MAX + 1);
    assert_eq!(error(&jobs), "t.fio: too many jobs: the limit is 1024 sections");
    let jobs = (0..=JOBS_MAX).map(|i| format!("[[job]]\nname = \"{i}\"\n")).collect::<String>();
    let toml = parse_toml(&jobs, "t.toml", &Options::default()).unwrap_err().to_string();
    assert_eq!(toml, "t.toml:2049: too many jobs: the limit is 1024 tables");

    let line = format!("[a]\ndescription={}", "x".repeat(5000));
    assert_eq!(error(&line), "t.fio:2: the line is too long: the limit is 4096 bytes, as in fio");
    let files = format!("[a]\n{}", (0..1100).map(|i| format!("filename=f{i}\n")).collect::<String>());
    assert!(error(&files).contains("more than 1024 files"));
}

#[test]
fn errors_end_after_a_hundred() {
    let text = format!("[a]\n{}", (0..250).map(|i| format!("wrong{i}\n")).collect::<String>());
    let errors = parse_fio(&text, "t.fio", &Options::default()).unwrap_err();
    assert_eq!(errors.len(), 250);
    assert_eq!(errors.iter().count(), 100);
    assert!(errors.to_string().ends_with("\n... and 150 more"), "{errors}");
}

#[test]
fn an_error_of_global_is_told_once() {
    let text = "[global]\niodepht=1\n[a]\n[b]\n[c]\n";
    assert_eq!(error(text).lines().count(), 1);
    let text = "[global]\nsize=1k\nbs=4k\ninvalidate=0\n[a]\n[b]\n";
    assert_eq!(
        error(text),
        "t.fio:4: cannot honour 'invalidate=0': the page cache is emptied before a buffered job; use 1, or direct=1"
    );
}

#[test]
fn empty_files_say_what_is_missing() {
    assert_eq!(error(""), "t.fio: no job: add a section, for example [randread]");
    assert_eq!(error("[global]\nrw=read\n"), "t.fio: no job: add a section, for example [randread]");
    assert!(parse_toml("", "t.toml", &Options::default()).is_err());
}

#[test]
fn files_that_are_no_text_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.fio");
    std::fs::write(&path, b"[a]\nrw=read\nfilename=\xff\n").unwrap();
    let text = read_file(&path, &Options::default()).unwrap_err().to_string();
    assert!(text.ends_with("a.fio:3: cannot be read: this line is not UTF-8 text"), "{text}");
    assert!(read_file(directory.path(), &Options::default()).is_err());
    // An endless file: read up to the limit and no further.
    let text = read_file(Path::new("/dev/zero"), &Options::default()).unwrap_err().to_string();
    assert_eq!(text, "/dev/zero: the job file and its includes are too large: the limit is 1 MiB");
}

#[test]
fn the_form_is_told_by_name_or_content() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        read_file(&path, &Options::default()).unwrap().jobs.remove(0)
    };
    assert!(write("a.toml", "[[job]]\nname = \"a\"\n").direct);
    assert!(write("no-extension", "# ours\n[[job]]\nname = \"a\"\n").direct);
    assert!(!write("a.fio", "[a]\n").direct);
    assert!(!write("other", "[a]\n").direct);
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let text = error("[a]\n\u{1b}[31mred=\u{1b}[2J\n");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}
