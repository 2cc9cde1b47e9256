//! A probe of many devices takes no time that a person notices.

mod fixtures;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Instant;

use iobound_host::{ProbeOptions, System, probe};

/// A machine of that many drives, each with what the kernel tells of one.
fn machine(drives: u32) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let class = root.path().join("sys/class/block");
    fs::create_dir_all(&class).unwrap();
    for n in 0..drives {
        let name = format!("nvme{n}n1");
        let place = root.path().join("sys/devices/pci/nvme").join(format!("nvme{n}")).join(&name);
        for directory in ["slaves", "holders", "queue", "device"] {
            fs::create_dir_all(place.join(directory)).unwrap();
        }
        symlink(Path::new("../../devices/pci/nvme").join(format!("nvme{n}")).join(&name), class.join(&name))
            .unwrap();
        for (file, text) in [
            ("dev", format!("259:{n}")),
            ("size", "104857600".into()),
            ("device/model", "Amazon Elastic Block Store".into()),
            ("device/serial", format!("vol{n:017x}")),
            ("queue/scheduler", "[none] mq-deadline".into()),
            ("queue/read_ahead_kb", "128".into()),
            ("queue/nr_requests", "127".into()),
            ("queue/rotational", "0".into()),
            ("queue/logical_block_size", "512".into()),
            ("queue/write_cache", "write through".into()),
        ] {
            fs::write(place.join(file), text + "\n").unwrap();
        }
    }
    root
}

const DRIVES: u32 = 256;
/// The bar is 200 ms for the release build on a quiet machine; tests share theirs with others.
const LIMIT_MS: u128 = if cfg!(debug_assertions) { 1_000 } else { 200 };

/// The best of a few probes, in ms.
fn best_ms(system: &System, options: &ProbeOptions, look: impl Fn(&iobound_record::Probe)) -> u128 {
    let times = (0..7).map(|_| {
        let began = Instant::now();
        let probe = probe(system, options);
        let ms = began.elapsed().as_millis();
        look(&probe);
        ms
    });
    times.min().unwrap()
}

#[test]
fn many_devices() {
    let root = machine(DRIVES);
    let system = System::captured(root.path());
    let ms = best_ms(&system, &ProbeOptions::default(), |probe| {
        assert_eq!(probe.devices.len(), DRIVES as usize);
    });
    println!("probe of {DRIVES} captured devices: {ms} ms");
    assert!(ms < LIMIT_MS, "{ms} ms");
}

/// The same on this machine's own kernel, with what each device holds, and without.
#[test]
fn many_live_devices() {
    if !fixtures::may_use_loops() || !fixtures::has("mkfs.ext4") {
        return;
    }
    let number_of = |name: &str| name.strip_prefix("loop").and_then(|n| n.parse::<u32>().ok());
    let entries = fs::read_dir("/sys/block").unwrap().flatten();
    let before: Vec<u32> = entries.filter_map(|entry| number_of(entry.file_name().to_str()?)).collect();
    let loops: Vec<fixtures::Loop> = (0..DRIVES).map(|_| fixtures::Loop::new(64 << 20)).collect();
    let with_something: Vec<&fixtures::Loop> = loops.iter().step_by(4).collect();
    for one in &with_something {
        fixtures::run("mkfs.ext4", &["-q", "-F", "-O", "^has_journal", one.path()]);
    }
    let system = System::live();
    for read_signatures in [true, false] {
        let options = ProbeOptions { offline: true, read_signatures, ..ProbeOptions::default() };
        let ms = best_ms(&system, &options, |probe| {
            let of = |one: &fixtures::Loop| probe.devices.iter().find(|device| device.name == one.name);
            assert!(loops.iter().all(|one| of(one).is_some()));
            let holds = |one: &&fixtures::Loop| of(one).and_then(|device| device.holds.clone());
            let ext =
                with_something.iter().filter(|one| holds(one).is_some_and(|what| what.starts_with("ext")));
            assert!(!read_signatures || ext.count() == with_something.len());
        });
        println!("probe of {DRIVES} loop devices, signatures read: {read_signatures}: {ms} ms");
        assert!(ms < LIMIT_MS, "{ms} ms");
    }
    let ours: Vec<u32> = loops.iter().filter_map(|one| number_of(&one.name)).collect();
    drop(loops);
    fixtures::forget_loops(ours.into_iter().filter(|number| !before.contains(number)));
}
