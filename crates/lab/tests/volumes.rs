//! Virtual volumes hold their limits, give back what was written, and leave nothing behind.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use iobound_lab::volume::{self, Health, Launcher, Volume, Wish};
use iobound_lab::{LabError, is_root, skip};

/// A state directory of these tests' own. The library finds it in the environment, so a program sets
/// it: each command below is the lab's own binary.
struct Lab {
    dir: PathBuf,
    _turn: MutexGuard<'static, ()>,
}

impl Lab {
    fn new(name: &str) -> Option<Self> {
        static TURN: Mutex<()> = Mutex::new(());
        if !is_root() {
            skip("needs root (a FUSE mount, loop devices)");
            return None;
        }
        if !Path::new("/dev/fuse").exists() {
            skip("this kernel has no FUSE");
            return None;
        }
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let dir = std::env::temp_dir().join(format!("iobound-volumes-{}-{name}", std::process::id()));
        Some(Lab { dir, _turn: turn })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iobound-lab"));
        command.arg("volume").args(words).env("IOBOUND_LAB_STATE", &self.dir);
        command
    }

    /// Standard output, or standard error of what failed.
    fn run(&self, words: &[&str]) -> Result<String, String> {
        let output = self.command(words).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// What is left of its volumes on this machine.
    fn traces(&self) -> Vec<String> {
        let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
        let loops = Command::new("losetup").args(["--noheadings", "--output", "BACK-FILE"]).output().unwrap();
        let loops = String::from_utf8_lossy(&loops.stdout).into_owned();
        let ours = self.dir.display().to_string();
        let mut found: Vec<String> = mounts
            .lines()
            .chain(loops.lines())
            .filter(|line| line.contains(&ours))
            .map(str::to_owned)
            .collect();
        let entries = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        found.extend(entries.filter(|e| e.path().is_dir()).map(|e| e.path().display().to_string()));
        found
    }

    fn wait_until_clean(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !self.traces().is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(self.traces().is_empty(), "left behind: {:?}", self.traces());
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.run(&["down"]);
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Operations per second, both directions.
fn fio(device: &str, arguments: &str) -> f64 {
    // Before what else runs here, as the volume's server is.
    let output = Command::new("nice")
        .args(["-n", "-10", "fio"])
        .args(["--name=a", "--direct=1", "--ioengine=io_uring", "--time_based", "--runtime=4", "--minimal"])
        .args(["--terse-version=3", &format!("--filename={device}")])
        .args(arguments.split(' '))
        .output()
        .expect("fio is installed by scripts/install-test-deps.sh");
    let text = String::from_utf8_lossy(&output.stdout);
    let field = |i: usize| text.split(';').nth(i).and_then(|f| f.parse::<f64>().ok());
    field(7).zip(field(48)).map(|(read, write)| read + write).unwrap_or_else(|| panic!("{output:?}"))
}

/// How often a measurement may be repeated: a server or an fio that waits for a processor reads low.
/// Nothing makes it read high.
const TRIES: usize = 3;

fn assert_reaches(what: &str, expected: f64, percent: f64, mut measure: impl FnMut() -> f64) {
    for i in 1..=TRIES {
        let seen = measure();
        let off = (seen / expected - 1.0) * 100.0;
        println!("{what}: {seen:.1}, expected {expected:.1} ({off:+.2}%)");
        assert!(off <= percent, "{what}: {seen} is {off:+.2}% from {expected}");
        if off >= -percent {
            return;
        }
        assert!(i < TRIES, "{what}: {seen} is {off:+.2}% from {expected}, in {TRIES} tries");
    }
}

#[test]
fn limits_hold_for_both_directions_together_and_data_is_right() {
    let Some(lab) = Lab::new("limits") else { return };
    let device = lab.run(&["up", "data=1000iops,50MiBps,512MiB"]).unwrap();
    let device = device.trim();
    let reaches = |what, expected, percent, arguments: &str| {
        assert_reaches(what, expected, percent, || fio(device, arguments))
    };
    reaches("random read", 1000.0, 3.0, "--rw=randread --bs=4k --iodepth=48");
    // One at a time, a busy machine's own latency counts as well.
    let alone = fio(device, "--rw=randwrite --bs=4k --iodepth=1");
    assert!((300.0..1030.0).contains(&alone), "one at a time: {alone}");
    reaches("mixed", 1000.0, 3.0, "--rw=randrw --rwmixread=70 --bs=4k --iodepth=48");
    reaches("1 MiB reads", 50.0, 4.0, "--rw=read --bs=1M --iodepth=4");
    // What QEMU's export fails: large writes that overlap.
    let verify = Command::new("fio")
        .args(["--name=v", "--direct=1", "--ioengine=libaio", "--rw=randwrite", "--bsrange=4k-1m"])
        .args([
            "--iodepth=32",
            "--size=128m",
            "--verify=crc32c",
            "--do_verify=1",
            "--verify_fatal=1",
            "--verify_state_save=0",
        ])
        .arg(format!("--filename={device}"))
        .output()
        .unwrap();
    assert!(verify.status.success(), "{verify:?}");
    assert!(lab.run(&["up", "data=1GiB"]).unwrap_err().contains("already"));
    assert!(lab.run(&["up", "vast=15TiB"]).unwrap_err().contains("MiB left"));
    lab.run(&["down"]).unwrap();
    lab.wait_until_clean();
}

#[test]
fn write_back_is_held_too() {
    let Some(lab) = Lab::new("write-back") else { return };
    let mount = lab.dir.join("mounted here");
    lab.run(&["up", &format!("a=20MiBps,512MiB,fs=ext4,mount={}", mount.display())]).unwrap();
    let start = Instant::now();
    std::fs::write(mount.join("file"), vec![7; 60 << 20]).unwrap();
    Command::new("sync").arg("-f").arg(&mount).status().unwrap();
    let seconds = start.elapsed().as_secs_f64();
    assert!((2.8..12.0).contains(&seconds), "60 MiB at 20 MiB/s took {seconds:.1} s");
    // In use: it stays.
    let open = std::fs::File::open(mount.join("file")).unwrap();
    assert!(lab.run(&["down"]).unwrap_err().contains("in use"));
    drop(open);
    lab.run(&["down"]).unwrap();
    lab.wait_until_clean();
    assert!(!mount.exists(), "the mount point was made for it");
}

#[test]
fn a_killed_maker_and_a_killed_server_leave_nothing() {
    let Some(lab) = Lab::new("killed") else { return };
    for wait in [0, 100, 400, 1200] {
        // Slow enough that its proof takes seconds.
        let mut up = lab.command(&["up", "slow=10iops,1GiB,fs=ext4"]).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        up.kill().unwrap();
        up.wait().unwrap();
        lab.wait_until_clean();
    }
    lab.run(&["up", "one=64MiB"]).unwrap();
    let state = std::fs::read_to_string(lab.dir.join("one/state.json")).unwrap();
    let server = state.split("\"server\":").nth(1).unwrap().split(',').next().unwrap();
    Command::new("kill").args(["-9", server]).status().unwrap();
    assert!(lab.run(&["list"]).unwrap().contains("Broken"));
    lab.run(&["down"]).unwrap();
    lab.wait_until_clean();
    // A state file that was cut short.
    std::fs::create_dir_all(lab.dir.join("half")).unwrap();
    std::fs::write(lab.dir.join("half/state.json"), "{\"name\": \"ha").unwrap();
    lab.run(&["list"]).unwrap();
    lab.wait_until_clean();
}

/// The types that `iobound lab` uses are the library's own.
#[test]
fn the_library_says_what_is_wrong() {
    let wish: Result<Wish, LabError> = "a=0iops,1GiB".parse();
    assert!(matches!(wish, Err(LabError::Usage(_))));
    let nobody = Launcher { program: "/no/such".into(), words: Vec::new() };
    let twice: Vec<Wish> = vec!["a=1GiB".parse().unwrap(), "a=1GiB".parse().unwrap()];
    assert!(matches!(volume::up(&twice, &nobody), Err(LabError::Usage(_))));
    let health: fn(&Volume) -> Health = Volume::health;
    let _ = health;
}
