//! What the guard says about block devices: every way to lose a device's data is tried.

mod fixtures;

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fixtures::{Loop, may_use_loops, private_mounts, run, try_run};
use iobound_host::System;
use iobound_host::guard::{Claim, Intent, Policy, Reason, Refusal, Target, TargetKind, check};

const MIB: u64 = 1 << 20;

fn write(path: &Path, named: &[&Path]) -> Result<Target, Refusal> {
    let destroy_data = named.iter().map(|name| name.to_path_buf()).collect();
    check(
        &System::live(),
        path,
        Intent::Write,
        &Policy { overwrite: true, destroy_data, ..Policy::default() },
    )
}

fn read(path: &Path) -> Result<Target, Refusal> {
    check(&System::live(), path, Intent::Read, &Policy::default())
}

/// The claims of a refusal because the device is in use.
fn in_use(result: Result<Target, Refusal>) -> Vec<Claim> {
    let refusal = result.unwrap_err();
    assert_eq!(refusal.exit_code(), 3);
    match refusal.reason {
        Reason::DeviceInUse { claims } => claims,
        other => panic!("{other:?}"),
    }
}

fn with_ext4(bytes: u64) -> Loop {
    let device = Loop::new(bytes);
    run("mkfs.ext4", &["-q", device.path()]);
    device
}

fn content(device: &Loop) -> Vec<u8> {
    fs::read(&device.node).unwrap()
}

#[test]
fn an_empty_device_must_be_named() {
    if !may_use_loops() {
        return;
    }
    let device = Loop::new(MIB);
    let refusal = write(&device.node, &[]).unwrap_err();
    assert!(matches!(refusal.reason, Reason::NotNamed { head_is_empty: true, .. }), "{refusal}");
    assert_eq!(refusal.exit_code(), 3);
    File::options().write(true).open(&device.node).unwrap().write_all_at(b"data", 5000).unwrap();
    let refusal = write(&device.node, &[]).unwrap_err();
    assert!(matches!(refusal.reason, Reason::NotNamed { head_is_empty: false, .. }), "{refusal}");
    match write(&device.node, &[&device.node]).unwrap().kind {
        TargetKind::Device { device: found, destroys } => {
            assert_eq!((found.name.as_str(), found.size_bytes), (device.name.as_str(), MIB));
            assert!(destroys.is_empty());
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_device_with_data_must_be_named_by_any_of_its_names() {
    if !may_use_loops() {
        return;
    }
    let device = with_ext4(16 * MIB);
    let other = Loop::new(MIB);
    let before = content(&device);
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("link");
    symlink(&device.node, &link).unwrap();

    let refusal = write(&device.node, &[]).unwrap_err();
    assert!(refusal.evidence().contains("ext4"), "{refusal}");
    // Another device's name, and names of no device, are no permission.
    let missing = PathBuf::from("/dev/iobound-none");
    let refusal = write(&device.node, &[&other.node, &missing, directory.path()]).unwrap_err();
    match &refusal.reason {
        Reason::HoldsData { misnamed, .. } => assert_eq!(misnamed.len(), 2),
        other => panic!("{other:?}"),
    }
    // The number counts, not the name.
    for (given, named) in [(&device.node, &link), (&link, &device.node)] {
        let target = write(given, &[named]).unwrap();
        assert_eq!(target.notes, ["will be destroyed: ext4 at byte 1080"]);
        assert!(target.is_claimed());
    }
    assert!(content(&device) == before, "looking at a device must not alter it");
}

#[test]
fn a_mounted_device_is_never_written() {
    if !may_use_loops() {
        return;
    }
    private_mounts();
    let device = with_ext4(16 * MIB);
    let directory = tempfile::tempdir().unwrap();
    let at = fs::canonicalize(directory.path()).unwrap();
    run("mount", &["-n", "-t", "ext4", device.path(), at.to_str().unwrap()]);
    let claims = in_use(write(&device.node, &[&device.node]));
    assert_eq!(claims, [Claim::Mounted { device: device.name.clone(), at: at.clone() }]);
    let target = read(&device.node).unwrap();
    assert!(target.notes[0].contains("is mounted on"), "{:?}", target.notes);
    assert!(!target.is_claimed());

    // The way down from the mount, on a live machine.
    let stack = System::live().stack_of(&at).unwrap();
    assert_eq!(stack.top[0].name, device.name);
    assert_eq!(stack.mount.unwrap().filesystem, "ext4");
}

#[test]
fn a_device_mounted_where_we_cannot_see_it_is_never_written() {
    if !may_use_loops() {
        return;
    }
    let device = with_ext4(16 * MIB);
    let directory = tempfile::tempdir().unwrap();
    let (mounted, wait_mounted) = std::sync::mpsc::channel();
    let (done, wait_done) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let (node, at) = (device.path().to_owned(), directory.path().to_str().unwrap().to_owned());
        scope.spawn(move || {
            private_mounts();
            run("mount", &["-n", "-t", "ext4", &node, &at]);
            mounted.send(()).unwrap();
            let _ = wait_done.recv();
        });
        wait_mounted.recv().unwrap();
        let claims = in_use(write(&device.node, &[&device.node]));
        assert_eq!(claims, [Claim::Exclusive]);
        drop(done);
    });
}

#[test]
fn partitions_and_their_disk_answer_for_each_other() {
    if !may_use_loops() || !fixtures::has("addpart") {
        return;
    }
    private_mounts();
    let disk = Loop::new(64 * MIB);
    // Start and length in sectors. No partition table: the kernel need not know its format.
    run("addpart", &[disk.path(), "1", "2048", "40960"]);
    run("addpart", &[disk.path(), "2", "43008", "40960"]);
    let parts = [1, 2].map(|n| PathBuf::from(format!("{}p{n}", disk.path())));
    if !parts[0].exists() {
        return fixtures::skip("the kernel made no node for a partition of a loop device");
    }
    run("mkfs.ext4", &["-q", parts[0].to_str().unwrap()]);

    let refusal = write(&disk.node, &[]).unwrap_err();
    assert!(refusal.evidence().contains("p1: ext4"), "{refusal}");
    // Naming the disk is not naming its partition, nor the other way round.
    assert!(matches!(write(&parts[0], &[&disk.node]).unwrap_err().reason, Reason::HoldsData { .. }));
    assert!(matches!(write(&disk.node, &[&parts[0]]).unwrap_err().reason, Reason::HoldsData { .. }));
    drop(write(&parts[0], &[&parts[0]]).unwrap());

    let directory = tempfile::tempdir().unwrap();
    run("mount", &["-n", "-t", "ext4", parts[0].to_str().unwrap(), directory.path().to_str().unwrap()]);
    let claims = in_use(write(&disk.node, &[&disk.node]));
    assert!(matches!(&claims[0], Claim::Mounted { device, .. } if device.ends_with("p1")), "{claims:?}");
    in_use(write(&parts[0], &[&parts[0]]));
    write(&parts[1], &[&parts[1]]).unwrap();

    let stack = System::live().stack_of(directory.path()).unwrap();
    assert_eq!(stack.members[0].name, disk.name);
}

#[test]
fn a_device_behind_a_loop_device_is_never_written() {
    if !may_use_loops() {
        return;
    }
    let lower = Loop::new(16 * MIB);
    let upper = lower.stacked();
    let claims = in_use(write(&lower.node, &[&lower.node]));
    assert_eq!(claims, [Claim::Loop { device: upper.name.clone() }]);
    let stack = System::live().stack_of(&upper.node).unwrap();
    assert_eq!(
        (stack.top[0].name.as_str(), stack.members[0].name.as_str()),
        (upper.name.as_str(), lower.name.as_str())
    );
}

#[test]
fn a_device_held_exclusively_is_never_written() {
    if !may_use_loops() {
        return;
    }
    let device = Loop::new(MIB);
    let held = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&device.node).unwrap();
    assert_eq!(in_use(write(&device.node, &[&device.node])), [Claim::Exclusive]);
    drop(held);
    write(&device.node, &[&device.node]).unwrap();
}

#[test]
fn while_a_target_lives_nobody_can_mount_its_device() {
    if !may_use_loops() {
        return;
    }
    private_mounts();
    let device = with_ext4(16 * MIB);
    let directory = tempfile::tempdir().unwrap();
    let mount = ["-n", "-t", "ext4", device.path(), directory.path().to_str().unwrap()];
    let target = write(&device.node, &[&device.node]).unwrap();
    let opened = OpenOptions::new().read(true).write(true).open(&device.node).unwrap();
    target.confirm(&opened).unwrap();
    drop(opened);
    assert!(!try_run("mount", &mount).status.success(), "the device was mounted under the run");
    in_use(write(&device.node, &[&device.node]));
    let other = Loop::new(MIB);
    let replaced = target.confirm(File::open(&other.node).unwrap()).unwrap_err();
    assert!(matches!(replaced.reason, Reason::Replaced));
    drop(target);
    run("mount", &mount);
}

#[test]
fn a_read_only_device_is_never_written() {
    if !may_use_loops() {
        return;
    }
    let device = Loop::read_only(MIB);
    let refusal = write(&device.node, &[&device.node]).unwrap_err();
    assert!(matches!(refusal.reason, Reason::ReadOnlyDevice), "{refusal}");
    assert_eq!(refusal.exit_code(), 2);
    read(&device.node).unwrap();
}

#[test]
fn a_device_of_root_is_not_for_everybody() {
    if !may_use_loops() {
        return;
    }
    let device = Loop::new(MIB);
    fixtures::as_nobody(|| {
        for asked in [write(&device.node, &[&device.node]), read(&device.node)] {
            assert!(matches!(asked.unwrap_err().reason, Reason::NotPermitted { .. }));
        }
    });
}

#[test]
fn the_disk_under_the_root_file_system_is_never_written() {
    let system = System::live();
    let stack = system.stack_of(Path::new("/")).unwrap();
    for device in stack.top.iter().chain(&stack.members) {
        let node = device.node();
        if node.exists() {
            // Only asked: the check itself never writes.
            let claims = in_use(write(&node, &[&node]));
            assert!(matches!(claims[0], Claim::Root { .. }), "{claims:?}");
        }
    }
}

/// Not a test: the process that the next test kills.
#[test]
#[ignore = "run by the next test"]
fn hold_a_mounted_device_until_killed() {
    private_mounts();
    let device = with_ext4(16 * MIB);
    let directory = tempfile::tempdir().unwrap();
    run("mount", &["-n", "-t", "ext4", device.path(), directory.path().to_str().unwrap()]);
    // The test that kills this one removes the directory.
    println!("\nholding {}|{}|{}", device.name, device.file.display(), directory.path().display());
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_killed_test_leaves_no_device_behind() {
    if !may_use_loops() {
        return;
    }
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hold_a_mounted_device_until_killed", "--ignored", "--nocapture"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    let held = lines.map_while(Result::ok).find_map(|line| line.strip_prefix("holding ").map(str::to_owned));
    holder.kill().unwrap();
    holder.wait().unwrap();
    let held = held.expect("the holder says what it holds");
    let [device, file, directory] = held.split('|').collect::<Vec<_>>().try_into().unwrap();
    let attached = format!("/sys/block/{device}/loop/backing_file");
    // Another test may have taken the device by now, so its file is what counts.
    let is_attached = || fs::read_to_string(&attached).is_ok_and(|backing| backing.starts_with(file));
    let patience = Instant::now() + Duration::from_secs(10);
    while is_attached() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!is_attached(), "{device} is still attached");
    assert!(!Path::new(file).exists());
    fs::remove_dir(directory).unwrap();
}

#[test]
fn a_device_without_anything_in_it() {
    if !may_use_loops() {
        return;
    }
    let device = Loop::new(0);
    for asked in [write(&device.node, &[&device.node]), read(&device.node)] {
        assert!(matches!(asked.unwrap_err().reason, Reason::EmptyDevice));
    }
}
