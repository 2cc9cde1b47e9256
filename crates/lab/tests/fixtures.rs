//! The fixtures do what they say: limits hold as fio sees them, faults come, nothing stays behind.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use iobound_lab::write_log::{Drive, VolatileDrive};
use iobound_lab::{
    FailingVolume, Leftover, SmallDisk, ThrottledVolume, assert_known_rate, leftovers, require,
};

const MIB: u64 = 1 << 20;
/// `O_DIRECT` of x86-64 and of aarch64: the one flag that differs between them.
const O_DIRECT: i32 = if cfg!(target_arch = "aarch64") { 0o200_000 } else { 0o40_000 };
const EIO: i32 = 5;

/// Tests that measure time take turns.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What fio reads from `target` with `arguments`: operations and bytes per second, both directions.
fn fio(mut command: Command, target: &Path, arguments: &str) -> (f64, f64) {
    command
        .args(["--name=a", "--direct=1", "--ioengine=io_uring", "--time_based", "--group_reporting"])
        .args(["--runtime=4", "--ramp_time=1", "--minimal", "--terse-version=3"])
        .arg(format!("--filename={}", target.display()))
        .args(arguments.split(' '));
    let output = command.output().expect("fio is installed by scripts/install-test-deps.sh");
    let text = String::from_utf8_lossy(&output.stdout);
    let field = |i: usize| -> f64 {
        text.split(';').nth(i).and_then(|field| field.parse().ok()).unwrap_or_else(|| panic!("{output:?}"))
    };
    // Terse version 3: KiB/s and operations/s of reads at 6 and 7, of writes at 47 and 48.
    (field(7) + field(48), (field(6) + field(47)) * 1024.0)
}

#[test]
fn a_throttled_volume_holds_its_limits() {
    let _turn = alone();
    let built = ThrottledVolume::builder().iops(3000).bytes_per_s(125 * MIB).build();
    let Some(volume) = require(built) else { return };
    let job = |arguments| fio(volume.command("fio"), volume.device(), arguments);
    assert_known_rate("random read", 3000.0, 1.0, || job("--rw=randread --bs=4k --iodepth=32").0);
    assert_known_rate("1 MiB reads", 125.0 * MIB as f64, 1.0, || job("--rw=read --bs=1M --iodepth=4").1);
    // More in flight than a loop device has tags: the case that the second loop device is for. fio leaves out what
    // was in flight when its ramp ended, 256 operations, so this one is longer.
    let deep = "--rw=randwrite --bs=4k --iodepth=64 --numjobs=4 --runtime=8";
    assert_known_rate("random write, 256 in flight", 3000.0, 2.0, || job(deep).0);
    volume.set_limits(Some(500), None).unwrap();
    assert_known_rate("after a change", 500.0, 1.0, || job("--rw=randread --bs=4k --iodepth=4").0);
}

#[test]
fn a_slow_directory_is_slow() {
    let _turn = alone();
    for kind in ["ext4", "xfs", "btrfs"] {
        let Some(volume) = require(ThrottledVolume::builder().iops(1000).filesystem(kind).build()) else {
            return;
        };
        let file = volume.dir().join("file");
        std::fs::write(&file, vec![1; 8 << 20]).unwrap();
        File::open(&file).unwrap().sync_all().unwrap();
        // A busy machine takes a few percent, and gives none.
        let read = || fio(volume.command("fio"), &file, "--rw=randread --bs=4k --iodepth=8").0;
        assert_known_rate(kind, 1000.0, 5.0, read);
    }
}

#[test]
fn buffered_writes_are_held_too_when_asked() {
    let _turn = alone();
    let builder = ThrottledVolume::builder().iops(1000).bytes_per_s(20 * MIB).filesystem("ext4");
    let built = builder.with_write_back().build();
    let Some(volume) = require(built) else { return };
    let start = Instant::now();
    let mut file = File::create(volume.dir().join("file")).unwrap();
    for _ in 0..60 {
        file.write_all(&vec![7; MIB as usize]).unwrap();
    }
    file.sync_all().unwrap();
    let seconds = start.elapsed().as_secs_f64();
    assert!((2.8..4.5).contains(&seconds), "60 MiB at 20 MiB/s took {seconds:.2} s");
    let file = volume.dir().join("file");
    let read = || fio(volume.command("fio"), &file, "--rw=randread --bs=4k --iodepth=8").0;
    assert_known_rate("random read", 1000.0, 2.0, read);
}

fn direct(device: &Path) -> File {
    File::options().read(true).write(true).custom_flags(O_DIRECT).open(device).unwrap()
}

/// 4 KiB that direct I/O takes.
#[repr(align(4096))]
struct Block([u8; 4096]);

#[test]
fn a_failing_volume_fails_when_told() {
    let Some(mut volume) = require(FailingVolume::build(8 * MIB)) else { return };
    let device = direct(volume.device());
    let mut block = Block([3; 4096]);
    device.write_all_at(&block.0, 0).unwrap();
    volume.fail_writes().unwrap();
    assert_eq!(device.write_at(&block.0, 0).unwrap_err().raw_os_error(), Some(EIO));
    device.read_exact_at(&mut block.0, 4096).unwrap();
    volume.fail_reads().unwrap();
    assert_eq!(device.read_at(&mut block.0, 4096).unwrap_err().raw_os_error(), Some(EIO));
}

#[test]
fn a_small_disk_fills_up_and_turns_read_only() {
    let Some(disk) = require(SmallDisk::ext4(16 * MIB)) else { return };
    disk.fill().unwrap();
    // Creating a file takes an inode only; its first byte takes space.
    let full = File::create(disk.dir().join("more")).unwrap().write_all(&[1; 65536]);
    assert_eq!(full.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    disk.make_read_only().unwrap();
    let refused = File::create(disk.dir().join("more")).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
}

#[test]
fn ramfs_refuses_direct_io() {
    let Some(disk) = require(SmallDisk::without_direct_io()) else { return };
    let opened =
        File::options().create(true).write(true).custom_flags(O_DIRECT).open(disk.dir().join("file"));
    assert!(opened.is_err(), "ramfs took O_DIRECT");
}

/// Everything of process `pid` that is still there.
fn of_process(pid: u32) -> Vec<Leftover> {
    leftovers().into_iter().filter(|left| left.to_string().contains(&format!("iobound-{pid}-"))).collect()
}

#[test]
fn a_killed_process_leaves_nothing() {
    // Skips as building one here would.
    if require(ThrottledVolume::builder().size(MIB).build()).is_none() {
        return;
    }
    for write_back in ["no", "yes"] {
        let mut lab = Command::new(env!("CARGO_BIN_EXE_iobound-lab"))
            .args(["with", "--write-back", write_back, "--size", "67108864", "--filesystem", "ext4", "--"])
            .args(["sh", "-c", "echo $$ $IOBOUND_DEVICE; exec sleep 60"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(lab.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (sleeper, device) = line.trim().split_once(' ').expect("a volume was made");
        assert!(!of_process(lab.id()).is_empty(), "write-back {write_back}: there is a mount at least");
        lab.kill().unwrap();
        lab.wait().unwrap();
        let backing =
            Path::new("/sys/block").join(device.trim_start_matches("/dev/")).join("loop/backing_file");
        let deadline = Instant::now() + Duration::from_secs(10);
        let gone = || of_process(lab.id()).is_empty() && !is_backed_by(&backing, lab.id());
        while !gone() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(gone(), "write-back {write_back}: left behind {:?}", of_process(lab.id()));
        if write_back == "yes" {
            // Not in a cgroup of ours, so it outlives its parent; it is this test's to end.
            Command::new("kill").arg(sleeper).status().unwrap();
        }
    }
}

/// Set where this test holds a drive until it is killed.
const HOLD: &str = "IOBOUND_LAB_HOLD_A_DRIVE";

#[test]
fn a_killed_process_leaves_no_drive() {
    let Some(drive) = require(VolatileDrive::new(Drive::Honest, MIB)) else { return };
    if std::env::var_os(HOLD).is_some() {
        println!("\nholding {}", drive.path().display());
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    drop(drive);
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args(["a_killed_process_leaves_no_drive", "--exact", "--nocapture"])
        .env(HOLD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    let held = lines.map_while(Result::ok).find_map(|line| Some(line.strip_prefix("holding ")?.to_owned()));
    let held = held.expect("a drive was made");
    assert!(!of_process(holder.id()).is_empty() && is_daemon_of(&held));
    holder.kill().unwrap();
    holder.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    let gone = || of_process(holder.id()).is_empty() && !is_daemon_of(&held);
    while !gone() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(gone(), "left behind {:?}", of_process(holder.id()));
}

/// Whether a storage daemon runs for a drive.
fn is_daemon_of(drive: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok()).any(|line| {
        let line = String::from_utf8_lossy(&line);
        line.starts_with("qemu-storage-daemon") && line.contains(drive)
    })
}

/// Whether a loop device is attached to a file of process `pid`.
fn is_backed_by(backing: &Path, pid: u32) -> bool {
    let mut text = String::new();
    let _ = File::open(backing).and_then(|mut file| file.read_to_string(&mut text));
    text.contains(&format!("iobound-{pid}-"))
}
