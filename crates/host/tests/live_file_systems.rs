//! Stacks, extents and counters on real file systems.

mod fixtures;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use fixtures::{Loop, has, may_use_loops, private_mounts, run};
use iobound_host::{BackingMethod, System, TrafficMeter, backing};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

fn mounted(arguments: &[&str]) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let at = fs::canonicalize(directory.path()).unwrap();
    run("mount", &[&["-n"], arguments, &[at.to_str().unwrap()]].concat());
    (directory, at)
}

fn written(path: &Path, bytes: &[u8]) -> File {
    let file = File::options().read(true).write(true).create_new(true).open(path).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    file
}

#[test]
fn btrfs_over_two_devices_with_compression() {
    if !may_use_loops() || !has("mkfs.btrfs") {
        return;
    }
    private_mounts();
    let devices = [Loop::new(128 * MIB), Loop::new(128 * MIB)];
    run("mkfs.btrfs", &["-q", devices[0].path(), devices[1].path()]);
    let all = format!("compress-force=zstd,device={},device={}", devices[0].path(), devices[1].path());
    let (_directory, at) = mounted(&["-t", "btrfs", "-o", &all, devices[0].path()]);

    let stack = System::live().stack_of(&at).unwrap();
    let mut names: Vec<&str> = stack.top.iter().map(|device| device.name.as_str()).collect();
    let mut expected: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    names.sort();
    expected.sort();
    assert_eq!(names, expected);

    written(&at.join("compressed"), &vec![7; MIB as usize]);
    let found = backing(&at.join("compressed"), 0, u64::MAX).unwrap();
    assert_eq!((found.encoded_bytes, found.data_bytes), (MIB, 0));
    assert!(!found.is_all_data());
    written(&at.join("inline"), &[7; 100]);
    let found = backing(&at.join("inline"), 0, u64::MAX).unwrap();
    assert_eq!(found.inline_bytes, 100);
}

#[test]
fn xfs_and_its_counters() {
    if !may_use_loops() || !has("mkfs.xfs") {
        return;
    }
    private_mounts();
    let device = Loop::new(512 * MIB);
    run("mkfs.xfs", &["-q", device.path()]);
    let (_directory, at) = mounted(&["-t", "xfs", device.path()]);
    let file = written(&at.join("file"), &[]);
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 4 * MIB).unwrap();
    assert_eq!(backing(&at.join("file"), 0, u64::MAX).unwrap().unwritten_bytes, 4 * MIB);

    let system = System::live();
    let stack = system.stack_of(&at).unwrap();
    let meter = TrafficMeter::start(&system, &stack).unwrap();
    file.write_all_at(&vec![7; 8 * MIB as usize], 0).unwrap();
    file.sync_all().unwrap();
    let traffic = meter.stop().unwrap();
    assert_eq!(traffic.names, [device.name.as_str()]);
    let bytes = traffic.total.write_bytes;
    assert!((8 * MIB..9 * MIB).contains(&bytes), "{bytes}");
    assert_eq!(backing(&at.join("file"), 0, u64::MAX).unwrap().data_bytes, 8 * MIB);
}

#[test]
fn an_overlay_is_where_its_upper_layer_is() {
    if !may_use_loops() || !has("mkfs.ext4") {
        return;
    }
    private_mounts();
    let device = Loop::new(16 * MIB);
    run("mkfs.ext4", &["-q", device.path()]);
    let (_directory, at) = mounted(&["-t", "ext4", device.path()]);
    for name in ["lower", "up,per", "work"] {
        fs::create_dir(at.join(name)).unwrap();
    }
    let layers = format!("lowerdir={0}/lower,upperdir={0}/up\\,per,workdir={0}/work", at.display());
    let (_overlay, over) = mounted(&["-t", "overlay", "-o", &layers, "overlay"]);
    let stack = System::live().stack_of(&over).unwrap();
    assert_eq!(stack.mount.unwrap().filesystem, "overlay");
    assert_eq!(stack.top[0].name, device.name, "{:?}", stack.notes);
}

#[test]
fn a_bind_mount_and_a_mount_over_it() {
    if !may_use_loops() || !has("mkfs.ext4") {
        return;
    }
    private_mounts();
    let device = Loop::new(16 * MIB);
    run("mkfs.ext4", &["-q", device.path()]);
    let (_directory, at) = mounted(&["-t", "ext4", device.path()]);
    fs::create_dir(at.join("inside dir")).unwrap();
    let (_bound, bound) = mounted(&["--bind", at.join("inside dir").to_str().unwrap()]);
    let system = System::live();
    let stack = system.stack_of(&bound.join("not-yet")).unwrap();
    assert_eq!(stack.top[0].name, device.name);
    assert_eq!(stack.mount.unwrap().root, Path::new("/inside dir"));
    run("mount", &["-n", "-t", "tmpfs", "tmpfs", bound.to_str().unwrap()]);
    let stack = system.stack_of(&bound).unwrap();
    assert_eq!((stack.mount.unwrap().filesystem.as_str(), stack.top.len()), ("tmpfs", 0));

    written(&bound.join("file"), &[7; 8192]).set_len(MIB).unwrap();
    let found = backing(&bound.join("file"), 0, u64::MAX).unwrap();
    assert_eq!((found.method, found.data_bytes), (BackingMethod::Seek, 8192));
}
