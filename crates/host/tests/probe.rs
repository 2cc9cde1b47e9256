//! Probes of captured machines: what is found on them, and that nothing on a machine can break a probe.

#[path = "trees/mod.rs"]
mod trees;

use std::fs;
use std::path::{Path, PathBuf};

use iobound_host::{ProbeOptions, System, difference, probe, watch};
use iobound_record::{Device, DeviceSort, Probe};
use proptest::prelude::*;
use trees::unpack;

fn probed(tree: &str) -> Probe {
    let root = unpack(tree);
    probe(&System::captured(root.path()), &ProbeOptions::default())
}

fn device<'a>(probe: &'a Probe, name: &str) -> &'a Device {
    probe.device(name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn sixteen_volumes() {
    let probe = probed("ec2-16-gp3");
    assert_eq!(probe.notes, Vec::<String>::new());
    let disk = device(&probe, "nvme3n1");
    assert_eq!(disk.ebs_volume_id, "vol-0bbbbbbbbbbbbbb03");
    assert_eq!((disk.model.as_str(), disk.transport.as_str()), ("Amazon Elastic Block Store", "nvme"));
    assert_eq!((disk.size_bytes, disk.read_ahead_bytes, disk.nr_requests), (50 << 30, 128 << 10, 127));
    assert_eq!((disk.request_bytes_max, disk.scheduler.as_str()), (256 << 10, "none"));
    assert_eq!((disk.schedulers.join(" "), disk.rotational), ("none mq-deadline".into(), Some(false)));
    assert_eq!((disk.above.join(" "), disk.ephemeral), ("md0".into(), false));
    let local = device(&probe, "nvme17n1");
    assert!(local.ephemeral && local.ebs_volume_id.is_empty());
    let part = device(&probe, "nvme0n1p1");
    assert_eq!((part.disk.as_str(), part.start_bytes, part.misaligned_bytes), ("nvme0n1", 1 << 20, 0));
    assert_eq!(
        (part.sort, part.mounts.join(" "), part.serial.as_str()),
        (DeviceSort::Partition, "/".into(), "")
    );

    let [data, wal] = &probe.arrays[..] else { panic!("{:?}", probe.arrays) };
    assert_eq!((data.level.as_str(), data.chunk_bytes, data.layout.as_str()), ("raid10", 64 << 10, "258"));
    assert_eq!((data.raid_disks, data.degraded, data.slots.as_str()), (8, 1, "[UU_UUUUU]"));
    assert_eq!((data.state.as_str(), data.sync_action.as_str()), ("active", "recover"));
    assert!((data.sync_done.unwrap() - 0.2527).abs() < 1e-3);
    assert_eq!(data.sync_bytes_per_s, Some(128 << 20));
    assert_eq!(data.uuid, "5c0e4f1a:9b2d3c4e:5f607182:93a4b5c0");
    assert_eq!((wal.chunk_bytes, wal.slots.as_str(), wal.sync_done), (256 << 10, "[UUUUUUUU]", None));
    assert_eq!(device(&probe, "md0").below.len(), 9);

    let fs = probe.mounted_at("/data").unwrap();
    assert_eq!((fs.stripe_unit_bytes, fs.stripe_width_bytes), (Some(64 << 10), Some(256 << 10)));
    assert_eq!((fs.device.as_str(), fs.kind.as_str(), fs.block_bytes), ("md0", "xfs", 4096));
    assert_eq!(fs.uuid, "0d0d0d0d-0000-4000-8000-000000000002");

    let cloud = probe.cloud.unwrap();
    assert_eq!((cloud.provider.as_str(), cloud.instance_type.as_str()), ("aws", "c8gb.2xlarge"));
    assert_eq!(
        (cloud.instance_id.as_str(), cloud.source.as_str()),
        ("i-0123456789abcdef0", "firmware tables")
    );
    assert_eq!(probe.sysctl["vm.dirty_ratio"], "20");
    assert_eq!(probe.sysctl["kernel.sem"], "32000 1024000000 500 32000");
    assert_eq!(probe.transparent_hugepage, "madvise");
    assert_eq!((probe.processor.cpus_online, probe.processor.nodes.len()), (8, 1));
    assert_eq!((probe.machine.architecture.as_str(), probe.machine.hypervisor.as_str()), ("aarch64", "kvm"));
    assert_eq!((probe.limits.nofile, probe.limits.root, probe.limits.io_uring), (Some(1024), false, None));
}

/// `/proc/mdstat` alone tells the same as the arrays' directories, as far as it tells.
#[test]
fn mdstat_agrees_with_sys() {
    let root = unpack("ec2-16-gp3");
    let system = System::captured(root.path());
    let by_sys = probe(&system, &ProbeOptions::default()).arrays;
    for name in ["md0", "md1"] {
        let place = root.path().join("sys/devices/virtual/block").join(name).join("md");
        fs::remove_dir_all(&place).unwrap();
        fs::create_dir(&place).unwrap();
    }
    let by_mdstat = probe(&system, &ProbeOptions::default()).arrays;
    for (sys, told) in by_sys.iter().zip(&by_mdstat) {
        assert_eq!(
            (&sys.level, sys.chunk_bytes, &sys.metadata),
            (&told.level, told.chunk_bytes, &told.metadata)
        );
        assert_eq!((sys.raid_disks, sys.degraded, &sys.slots), (told.raid_disks, told.degraded, &told.slots));
        assert_eq!((&sys.sync_action, sys.sync_bytes_per_s), (&told.sync_action, told.sync_bytes_per_s));
        assert_eq!(sys.members.len(), told.members.len());
        let faulty = |array: &iobound_record::MdArray| {
            array.members.iter().filter(|m| m.state == "faulty").map(|m| m.device.clone()).collect::<Vec<_>>()
        };
        assert_eq!(faulty(sys), faulty(told));
    }
}

#[test]
fn azure() {
    let probe = probed("azure-lvm");
    let [root, data] = &probe.logical_volumes[..] else { panic!("{:?}", probe.logical_volumes) };
    assert_eq!((root.group.as_str(), root.name.as_str()), ("rootvg", "root"));
    assert_eq!(
        (root.segments[0].kind.as_str(), root.segments[0].devices.join(" ")),
        ("linear", "sda2".into())
    );
    assert_eq!(
        (data.group.as_str(), data.name.as_str(), data.device.as_str()),
        ("vg-data", "lv-data", "dm-1")
    );
    let segment = &data.segments[0];
    assert_eq!((segment.kind.as_str(), segment.stripes, segment.stripe_bytes), ("striped", 2, 64 << 10));
    assert_eq!((segment.devices.join(" "), segment.size_bytes), ("sdc sdd".into(), data.size_bytes));
    assert!(device(&probe, "sdb").ephemeral && !device(&probe, "sdc").ephemeral);
    let part = device(&probe, "sdb1");
    assert_eq!(
        (part.start_bytes, part.misaligned_bytes, part.mounts.join(" ")),
        (63 * 512, 0, "[SWAP]".into())
    );
    assert_eq!(device(&probe, "sdc").holds.as_deref(), Some("LVM2_member"));
    assert_eq!(device(&probe, "sdd").holds, None);
    let fs = probe.mounted_at("/mnt/data one").unwrap();
    assert_eq!((fs.stripe_unit_bytes, fs.stripe_width_bytes), (Some(64 << 10), Some(128 << 10)));
    assert_eq!(fs.uuid, "1b4e28ba-2fa1-11d2-883f-0016d3cca427");
    assert_eq!(probe.cloud.unwrap().provider, "azure");
    assert_eq!((probe.machine.hypervisor.as_str(), probe.memory.swap_bytes), ("hyperv", 8_388_604 << 10));
}

/// A backup that speaks of other disks is not believed.
#[test]
fn an_old_backup() {
    let root = unpack("azure-lvm");
    let backup = root.path().join("etc/lvm/backup/vg-data");
    let text = fs::read_to_string(&backup).unwrap().replace("/dev/sdd", "/dev/sde");
    fs::write(&backup, text).unwrap();
    let system = System::captured(root.path());
    let options = ProbeOptions::default();
    // The kernel's hints still tell a plain stripe.
    let segment = probe(&system, &options).logical_volumes[1].segments[0].clone();
    assert_eq!(
        (segment.kind.as_str(), segment.stripe_bytes, segment.devices.len()),
        ("striped", 64 << 10, 2)
    );
    // But not when they may be those of the disks.
    let hint = root.path().join("sys/class/block/sdc/queue/optimal_io_size");
    fs::write(hint, "131072\n").unwrap();
    let probe = probe(&system, &options);
    let segment = &probe.logical_volumes[1].segments[0];
    assert_eq!((segment.kind.as_str(), segment.stripe_bytes, segment.devices.len()), ("unknown", 0, 2));
    assert!(probe.notes.iter().any(|note| note.contains("stripe size is not known")), "{:?}", probe.notes);
}

#[test]
fn a_laptop() {
    let probe = probed("laptop");
    assert_eq!(probe.cloud, None);
    let disk = device(&probe, "nvme0n1");
    assert_eq!((disk.serial.as_str(), disk.wwn.as_str()), ("S6Z1NF0W123456", "eui.0025384b31b0f9e2"));
    assert_eq!((disk.write_cache.as_str(), disk.numa_node), ("write back", None));
    assert_eq!(device(&probe, "dm-0").sort, DeviceSort::DeviceMapper);
    assert_eq!(device(&probe, "dm-0").mounts, ["/", "/home"]);
    assert_eq!(device(&probe, "zram0").mounts, ["[SWAP]"]);
    assert_eq!(device(&probe, "nvme0n1p3").holds.as_deref(), Some("crypto_LUKS"));
    assert_eq!(probe.processor.governors, ["powersave"]);
    assert_eq!(probe.mounted_at("/boot/efi").unwrap().uuid, "AB12-34CD");
    assert_eq!(probe.machine.product, "LENOVO 21HMCTO1WW");
    assert_eq!(probe.machine.hypervisor, "");
}

#[test]
fn a_container() {
    let probe = probed("container");
    assert_eq!(probe.machine.container, "docker");
    assert_eq!((probe.limits.memory_bytes, probe.limits.cpus), (Some(4 << 30), Some(1.5)));
    assert_eq!(probe.limits.io, ["254:0 rbps=max wbps=104857600 riops=3000 wiops=max"]);
    assert_eq!(probe.limits.io_uring, Some(false));
    assert!(probe.limits.io_uring_refusal.contains("io_uring_disabled is 2"));
    assert_eq!((probe.processor.cpus_online, probe.processor.cpus_allowed), (16, 4));
    assert_eq!(probe.mounted_at("/data").unwrap().device, "vda1");
    assert!(probe.notes.iter().any(|note| note.contains("cannot be seen from here")), "{:?}", probe.notes);
}

#[test]
fn paths_of_a_multipath_drive() {
    let probe = probed("nvme-multipath");
    let head = device(&probe, "nvme3n1");
    assert_eq!((head.sort, head.paths.join(" ")), (DeviceSort::Disk, "nvme3c33n1 nvme3c3n1".into()));
    let path = device(&probe, "nvme3c33n1");
    assert_eq!((path.sort, path.number.as_str()), (DeviceSort::NvmePath, ""));
    assert_eq!(device(&probe, "nvme4n1").paths, ["nvme4c4n1"]);
}

#[test]
fn a_broken_machine() {
    let probe = probed("broken");
    let notes = probe.notes.join("\n");
    for part in ["sdb: its size cannot be read", "md9: /sys does not show it", "\"no dash\" is no name"] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    assert_eq!(probe.device("sdb"), None);
    assert_eq!(device(&probe, "md0").below, ["md0", "md1"]);
    serde_json::to_string(&probe).unwrap();
}

#[test]
fn a_machine_that_tells_nothing() {
    let nothing = tempfile::tempdir().unwrap();
    let probe = probe(&System::captured(nothing.path()), &ProbeOptions::default());
    assert!(probe.devices.is_empty() && probe.cloud.is_none() && probe.sysctl.is_empty());
    let notes = probe.notes.join("\n");
    assert!(notes.contains("/sys/class/block") && notes.contains("mountinfo"), "{notes}");
}

#[test]
fn watching_a_captured_machine() {
    let root = unpack("ec2-16-gp3");
    let watched = watch(&System::captured(root.path()), 60.0, || false);
    assert!(watched.seconds < 10.0);
    let names: Vec<&str> = watched.traffic.iter().map(|disk| disk.device.as_str()).collect();
    assert_eq!(names, ["md0"]);
    let log = watched.kernel_log.unwrap();
    assert_eq!(log.len(), 2, "{log:?}");
    assert!(log[0].starts_with("[90.000000] nvme nvme3: I/O 12"), "{log:?}");
}

#[test]
fn watching_this_machine() {
    let system = System::live();
    // A child that does nothing but take a processor; on a busy machine it gets one now and then.
    let mut busy = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let seen = (0..40).find_map(|_| {
        let until = std::time::Instant::now() + std::time::Duration::from_millis(700);
        let watched = watch(&system, 30.0, || std::time::Instant::now() > until);
        watched.processes.iter().any(|p| p.pid == busy.id() && p.name == "sh").then_some(watched)
    });
    busy.kill().unwrap();
    busy.wait().unwrap();
    let watched = seen.expect("a process that takes all it can get was not seen");
    assert!((0.6..20.0).contains(&watched.seconds), "{}", watched.seconds);
    assert!(watched.processes.iter().all(|p| p.pid != std::process::id()));
    assert!(watched.traffic.iter().all(|disk| (0.0..=1.0).contains(&disk.busy)));
    // Odd times are no time.
    for seconds in [f64::NAN, -1.0, f64::INFINITY] {
        assert!(watch(&system, seconds, || true).seconds < 5.0);
    }
}

/// Twice this machine, one right after the other: nothing that an undo would have to explain.
#[test]
fn this_machine_twice() {
    let options = ProbeOptions { offline: true, ..ProbeOptions::default() };
    let (a, b) = (probe(&System::live(), &options), probe(&System::live(), &options));
    assert!(!a.machine.kernel.is_empty() && a.processor.cpus_online > 0 && a.memory.total_bytes > 0);
    // Other tests attach loop devices and mount file systems meanwhile.
    let ours: Vec<String> = difference(&a, &b).into_iter().filter(|told| !told.contains("loop")).collect();
    let ours: Vec<&String> = ours.iter().filter(|told| !told.starts_with("file system at ")).collect();
    assert!(ours.is_empty(), "{ours:?}");
}

/// All plain files of a tree.
fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files(&entry.path(), found);
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_in_any_file_break_a_probe(
        tree in prop::sample::select(vec!["ec2-16-gp3", "azure-lvm", "laptop", "container", "nvme-multipath"]),
        rounds in prop::collection::vec(
            (any::<prop::sample::Index>(), prop_oneof![
                prop::collection::vec(any::<u8>(), 0..64),
                "[-+]?[0-9]{1,24}".prop_map(String::into_bytes),
                "[a-z0-9:/\\[\\]() .,=-]{0,40}".prop_map(String::into_bytes),
            ]),
            8..60,
        ),
    ) {
        let root = unpack(tree);
        let system = System::captured(root.path());
        let mut all = Vec::new();
        files(root.path(), &mut all);
        all.sort();
        let before = probe(&system, &ProbeOptions::default());
        for (which, bytes) in rounds {
            fs::write(which.get(&all), bytes).unwrap();
        }
        let after = probe(&system, &ProbeOptions::default());
        let json = serde_json::to_string(&after).unwrap();
        prop_assert!(serde_json::from_str::<Probe>(&json).is_ok());
        difference(&before, &after);
        watch(&system, 0.0, || true);
    }
}
