//! What is refused, and what may go wrong in the midst of a run.

use iobound_lab::{SmallDisk, require};
use rustix::process::Signal;

use crate::program::{Background, directory, run, text, wait_for_acks};

#[test]
fn acknowledgements_beside_the_target_prove_nothing() {
    let directory = directory();
    let (target, acks) = (directory.path().join("target"), directory.path().join("acks"));
    let arguments = ["write", "--target", text(&target), "--acks", text(&acks), "--size", "1m"];
    let told = run(&arguments, 2);
    assert!(told.contains("evidence: both are on") || told.contains("which is memory"), "{told}");
    assert!(told.contains("--acks-on-same-storage"), "{told}");
    assert!(!target.exists() && !acks.exists(), "refused, it makes no file");
    let told = run(&[&arguments[..], &["--acks-on-same-storage", "--runtime", "200ms"]].concat(), 0);
    assert!(told.contains("writes acknowledged"), "{told}");
}

#[test]
fn targets_and_sizes_that_cannot_be() {
    let directory = directory();
    let (target, acks) = (directory.path().join("target"), directory.path().join("acks"));
    let write = |more: &[&str], code| {
        let arguments = [
            "write",
            "--target",
            text(&target),
            "--acks",
            text(&acks),
            "--acks-on-same-storage",
            "--runtime",
            "1s",
        ];
        run(&[&arguments[..], more].concat(), code)
    };
    for more in [&["--bs", "1000"][..], &["--size", "4k"], &["--threads", "0"], &["--sync", "maybe"]] {
        write(more, 2);
        assert!(!target.exists(), "{more:?}");
    }
    std::fs::write(&target, "letters").unwrap();
    let told = write(&["--size", "1m"], 3);
    assert!(told.contains("--overwrite"), "{told}");
    assert_eq!(std::fs::read(&target).unwrap(), b"letters");
    std::fs::write(&acks, "no log\n").unwrap();
    let told = run(&["verify", "--target", text(&target), "--acks", text(&acks)], 2);
    assert!(told.contains("no run begins"), "{told}");
}

#[test]
fn a_run_at_work_keeps_others_away() {
    let directory = directory();
    let (target, acks) = (directory.path().join("target"), directory.path().join("acks"));
    let write =
        ["write", "--target", text(&target), "--acks", text(&acks), "--size", "1m", "--acks-on-same-storage"];
    let writer = Background::start(directory.path(), "writer", &write);
    wait_for_acks(&acks, 5);
    run(&write, 3);
    run(&["verify", "--target", text(&target), "--acks", text(&acks)], 3);
    writer.signal(Signal::TERM);
    let (code, told) = writer.finish();
    assert_eq!(code, Some(0), "{told}");
    // Its own file it takes again.
    run(&[&write[..], &["--runtime", "100ms", "--preallocate", "none"]].concat(), 0);
}

#[test]
fn a_disk_that_fills_up_ends_the_run() {
    let Some(disk) = require(SmallDisk::ext4(64 << 20)) else { return };
    let directory = directory();
    let (target, acks) = (disk.dir().join("target"), directory.path().join("acks"));
    let arguments = [
        "write",
        "--target",
        text(&target),
        "--acks",
        text(&acks),
        "--size",
        "30m",
        "--pattern",
        "append",
        "--bs",
        "4k",
        "--acks-on-same-storage",
    ];
    let writer = Background::start(directory.path(), "writer", &arguments);
    wait_for_acks(&acks, 5);
    disk.fill().unwrap();
    let (code, told) = writer.finish();
    assert_eq!(code, Some(4), "{told}");
    assert!(told.contains("a write failed") && told.contains("free space"), "{told}");
    let told = run(&["verify", "--target", text(&target), "--acks", text(&acks)], 4);
    assert!(told.contains("the storage failed before") && told.contains("the storage itself said"), "{told}");
}

#[test]
fn a_device_is_written_only_when_it_is_named() {
    let Some(volume) = require(iobound_lab::ThrottledVolume::builder().size(16 << 20).build()) else {
        return;
    };
    let directory = directory();
    let acks = directory.path().join("acks");
    let device = text(volume.device());
    let write = ["write", "--target", device, "--acks", text(&acks), "--runtime", "300ms"];
    let told = run(&[&write[..], &["--destroy-data", device]].concat(), 2);
    assert!(told.contains("evidence: both are on"), "{told}");
    let told = run(&[&write[..], &["--acks-on-same-storage"]].concat(), 3);
    assert!(told.contains("--destroy-data"), "{told}");
    run(&[&write[..], &["--acks-on-same-storage", "--destroy-data", device]].concat(), 0);
    run(&["verify", "--target", device, "--acks", text(&acks)], 4);
}
