//! The command itself, on this machine, with contexts that find nothing to change here.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use iobound_lab::is_root;

fn prepare(words: &[&str], as_nobody: bool) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iobound"));
    command.arg("prepare").args(words).arg("--offline").stdin(Stdio::null());
    if as_nobody && is_root() {
        command.uid(65_534).gid(65_534);
    }
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn context(dir: &Path, text: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    let path = dir.join("context.toml");
    fs::write(&path, format!("schema = 1\nname = \"test\"\n{text}")).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Settings alone; the plan has something to do, and nothing of it is done here.
const SETTINGS: &str = "[os]\nnofile = 12345\n";
const ABSENT: &str = "[[volume]]\nname = \"v\"\nkind = \"virtual\"\nsize = \"1GiB\"\nserials = [\"no-such-serial\"]\n\
                      [[filesystem]]\non = \"v\"\nmount = \"/mnt/iobound-test\"\n";

#[test]
fn plan_needs_no_root_and_apply_says_what_it_needs() {
    let dir = tempfile::tempdir().unwrap();
    let context = context(dir.path(), SETTINGS);
    let plan = prepare(&["plan", "--context", &context], true);
    assert_eq!(plan.status.code(), Some(0), "{}", said(&plan));
    assert!(said(&plan).contains("/etc/security/limits.d/99-iobound.conf"), "{}", said(&plan));
    let apply = prepare(&["apply", "--yes", "--context", &context], true);
    assert_eq!(apply.status.code(), Some(2));
    assert!(said(&apply).contains("needs root: it runs mdadm, LVM, mkfs and mount"), "{}", said(&apply));
}

#[test]
fn without_a_terminal_only_yes_will_do() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let context = context(dir.path(), SETTINGS);
    let state = dir.path().join("state");
    let apply = prepare(&["apply", "--context", &context, "--state-dir", state.to_str().unwrap()], false);
    assert_eq!(apply.status.code(), Some(3), "{}", said(&apply));
    assert!(said(&apply).contains("give --yes to go on"), "{}", said(&apply));
    assert!(!Path::new("/etc/security/limits.d/99-iobound.conf").exists());
}

#[test]
fn a_context_for_other_disks_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let context = context(dir.path(), ABSENT);
    let plan = prepare(&["plan", "--context", &context], false);
    assert_eq!(plan.status.code(), Some(3), "{}", said(&plan));
    assert!(said(&plan).contains("'v' (no-such-serial) is not attached to this host"), "{}", said(&plan));
    let missing = prepare(&["plan", "--context", "/no/such/file"], false);
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn scripts_overwrite_nothing_of_others() {
    let dir = tempfile::tempdir().unwrap();
    let context = context(dir.path(), ABSENT);
    let out = dir.path().join("scripts");
    let words = ["plan", "--context", &context, "--script", out.to_str().unwrap()];
    prepare(&words, false);
    assert!(out.join("03-disk-tuning.sh").exists());
    prepare(&words, false);
    fs::write(out.join("99-undo.sh"), "theirs").unwrap();
    let refused = prepare(&words, false);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        said(&refused).contains("99-undo.sh is there already and not from iobound"),
        "{}",
        said(&refused)
    );
    assert_eq!(fs::read_to_string(out.join("99-undo.sh")).unwrap(), "theirs");
}

#[test]
fn a_journal_from_another_machine_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let context = context(dir.path(), SETTINGS);
    let line =
        r#"{"schema":1,"machine_id":"other","context":"test","context_hash":"h","event":"done","seq":1}"#;
    fs::write(dir.path().join("journal.jsonl"), format!("{line}\n")).unwrap();
    let status =
        prepare(&["status", "--context", &context, "--state-dir", dir.path().to_str().unwrap()], false);
    assert_eq!(status.status.code(), Some(3), "{}", said(&status));
    assert!(said(&status).contains("written on machine other"), "{}", said(&status));
}
