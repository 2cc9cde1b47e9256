//! A host that is not set up as it should be.

use std::path::Path;
use std::process::Command;

use iobound_lab::guardian::Guardian;
use iobound_lab::{ThrottledVolume, require};
use iobound_record::{Check, Outcome as Came, Severity};
use serde_json::Value;

use crate::fixtures::{context, suite};
use crate::support::{BOUND_FAILED, Case, IOBOUND, alone, make_file};
use crate::trees::unpack;
use crate::{has, named, not_named};

const MIB: u64 = 1 << 20;

fn run(program: &str, arguments: &[&str]) -> String {
    let done = Command::new(program).args(arguments).output().unwrap();
    assert!(done.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

#[test]
fn a_partition_that_begins_across_blocks() {
    let _turn = alone();
    let Some(volume) = require(ThrottledVolume::builder().size(64 * MIB).build()) else { return };
    let device = volume.device().to_str().unwrap();
    // Where fdisk put the first partition of a disk until 2010.
    run("sh", &["-c", &format!("echo 'start=63, type=83' | sfdisk -q --label dos --no-reread {device}")]);
    let mut guardian = Guardian::start().unwrap();
    let looped = run("losetup", &["--partscan", "--direct-io=on", "--find", "--show", device]);
    guardian.undo(&format!("partx -d {looped}; losetup -d {looped}")).unwrap();
    // By hand, for kernels that read no partition tables themselves.
    let _ = Command::new("partx").args(["--add", &looped]).output();
    let partition = format!("{looped}p1");
    assert!(Path::new(&partition).exists(), "{partition}");
    let case = Case::new();
    let job = case.job(&format!(
        "[a]\nioengine=io_uring\nfilename={partition}\nrw=randread\nbs=4k\niodepth=4\ndirect=1\ntime_based\nruntime=1\n"
    ));
    let outcome = case.run(&[&job]).expect(&[0]);
    let found = named(&outcome, "check-partition-alignment");
    assert_eq!(found.severity, Severity::Warning);
    has(&found, &["starts at 32256 bytes", "a multiple of 4 KiB"]);
}

#[test]
fn a_read_ahead_that_is_not_the_contexts() {
    let _turn = alone();
    let volume = ThrottledVolume::builder().size(64 * MIB).filesystem("ext4").build();
    let Some(volume) = require(volume) else { return };
    let name = volume.device().file_name().unwrap().to_str().unwrap();
    let queue = format!("/sys/block/{name}/queue/read_ahead_kb");
    let case = Case::new();
    let promises = context(&case, volume.dir(), "", "", "read_ahead = \"64KiB\"");
    make_file(&volume.dir().join("f"), 16 << 20);
    let job = case.job(&format!(
        "[a]\nioengine=io_uring\nfilename={}\nrw=read\nbs=64k\ndirect=0\nsize=16m\ntime_based\nruntime=1\n",
        volume.dir().join("f").display()
    ));
    std::fs::write(&queue, "4096").unwrap();
    let outcome = case.run(&[&job, "--context", &promises]).expect(&[0]);
    let found = named(&outcome, "check-read-ahead");
    assert_eq!(found.severity, Severity::Warning, "what is read in order through the page cache");
    has(&found, &["4 MiB", "64 KiB"]);
    assert!(found.remedy.contains("read_ahead_kb"), "{found:?}");
    std::fs::write(&queue, "64").unwrap();
    not_named(&case.run(&[&job, "--context", &promises]).expect(&[0]), "check-read-ahead");
}

#[test]
fn a_mount_that_bends_figures() {
    let _turn = alone();
    let volume = ThrottledVolume::builder().size(64 * MIB).filesystem("ext4").build();
    let Some(volume) = require(volume) else { return };
    let dir = volume.dir().to_str().unwrap();
    run("mount", &["-o", "remount,sync", dir]);
    let case = Case::new();
    let promises = context(&case, volume.dir(), "", "", "options = [\"noatime\", \"commit=60\"]");
    let job = "rw = \"randread\", bs = \"4k\", iodepth = 4, size = \"16MiB\", runtime = \"1s\"";
    let suite = suite(&case, "reads", job);
    let outcome = case.run(&[&suite, "--data", dir, "--context", &promises]).expect(&[0]);
    assert_eq!(named(&outcome, "check-mount-sync").severity, Severity::Warning);
    has(&named(&outcome, "check-mount-atime"), &["without noatime"]);
}

/// The checklist of a captured machine, by the real binary.
fn checks(root: &Path, arguments: &[&str]) -> (Option<i32>, Vec<Check>) {
    let mut command = Command::new(IOBOUND);
    command.args(["check", "--json", "--root"]).arg(root).args(arguments);
    let done = command.output().unwrap();
    let json: Value = serde_json::from_slice(&done.stdout)
        .unwrap_or_else(|error| panic!("{command:?}: {error}: {}", String::from_utf8_lossy(&done.stderr)));
    (done.status.code(), serde_json::from_value(json["checks"].clone()).unwrap())
}

#[track_caller]
fn of<'a>(checks: &'a [Check], id: &str, subject: &str) -> &'a Check {
    checks
        .iter()
        .find(|check| check.id == id && check.subject.contains(subject))
        .unwrap_or_else(|| panic!("{id} of {subject} among {checks:#?}"))
}

/// Sixteen gp3 volumes as two RAID10, the first with a member lost and its spare being filled.
#[test]
fn a_degraded_array() {
    let root = unpack("ec2-16-gp3");
    let (code, checks) = checks(root.path(), &["--data", "/data", "--wal", "/wal"]);
    assert_eq!(code, Some(BOUND_FAILED));
    let state = of(&checks, "array-state", "md0");
    assert_eq!((state.outcome, state.value.contains("degraded (7 of 8)")), (Came::Fail, true), "{state:?}");
    assert_eq!(of(&checks, "array-sync", "md0").outcome, Came::Fail);
    assert_eq!(of(&checks, "array-state", "md1").outcome, Came::Pass);
    // A run that began on this machine says so in its findings.
    let mut run: iobound_record::Run = serde_json::from_str(
        r#"{"schema":1,"iobound":"0","id":"","started":"","suite":"database","host":{}}"#,
    )
    .unwrap();
    run.checks = checks;
    iobound::verdict::judge(&mut run);
    let finding = run.findings.iter().find(|finding| finding.id == "check-array-state").unwrap();
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.remedy.contains("mdadm"), "{finding:?}");
}

/// The same machine with a scheduler that somebody set, a read-ahead that a reboot took back, and a file
/// system made for another chunk.
#[test]
fn a_scheduler_a_read_ahead_and_a_stripe_that_do_not_fit() {
    let root = unpack("ec2-16-gp3");
    let arguments = ["--data", "/data", "--wal", "/wal"];
    let (_, before) = checks(root.path(), &arguments);
    for (id, subject) in [("scheduler", "nvme1n1"), ("read-ahead", "/data"), ("filesystem-alignment", "/wal")]
    {
        assert_eq!(of(&before, id, subject).outcome, Came::Pass, "{id} of {subject}");
    }
    let change = |path: &str, from: &str, to: &str| {
        let path = root.path().join(path);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{}: {text}", path.display());
        std::fs::write(&path, text.replace(from, to)).unwrap();
    };
    change("sys/class/block/nvme1n1/queue/scheduler", "none", "none mq-deadline [bfq]");
    change("sys/class/block/md0/queue/read_ahead_kb", "64", "8192");
    change("proc/self/mountinfo", "sunit=512,swidth=2048", "sunit=64,swidth=192");
    let (_, after) = checks(root.path(), &arguments);
    for (id, subject, value) in [
        ("scheduler", "nvme1n1", "bfq"),
        ("read-ahead", "/data", "8 MiB"),
        ("filesystem-alignment", "/wal", "su 32 KiB, width 96 KiB"),
    ] {
        let check = of(&after, id, subject);
        assert_eq!(check.outcome, Came::Warn, "{check:?}");
        assert!(check.value.contains(value) && !check.mend.is_empty(), "{check:?}");
    }
}
