//! Machines made by hand: each is in order, and the tests break one thing at a time.

use iobound_record::{
    Cloud, Context, Device, DeviceSort, LogicalVolume, LvmSegment, MdArray, MdMember, MountedFileSystem,
    Probe, Watched, WatchedDevice,
};

/// The seed's context.
pub(crate) fn context() -> Context {
    toml::from_str(include_str!("../../../../../contexts/c8gb.2xlarge.33.25.8disk.raid10.toml")).unwrap()
}

pub(crate) fn device<'a>(probe: &'a mut Probe, name: &str) -> &'a mut Device {
    probe.devices.iter_mut().find(|device| device.name == name).expect("a device of that name")
}

/// The kernel's own limits, as a host has them that nobody tuned.
pub(crate) fn defaults(probe: &mut Probe) {
    for (name, value) in [
        ("vm.dirty_bytes", "0"),
        ("vm.dirty_background_bytes", "0"),
        ("vm.dirty_ratio", "20"),
        ("vm.dirty_background_ratio", "10"),
        ("vm.dirty_writeback_centisecs", "500"),
        ("vm.dirty_expire_centisecs", "3000"),
        ("vm.swappiness", "60"),
        ("vm.overcommit_memory", "0"),
        ("kernel.io_uring_disabled", "0"),
    ] {
        probe.sysctl.insert(name.into(), value.into());
    }
}

fn machine() -> Probe {
    let mut probe = Probe { schema: 1, transparent_hugepage: "madvise".into(), ..Probe::default() };
    defaults(&mut probe);
    probe.machine.kernel = "6.8.0-1021-aws".into();
    probe.machine.architecture = "aarch64".into();
    probe.machine.hypervisor = "kvm".into();
    probe.machine.clocksource = "arch_sys_counter".into();
    probe.machine.clocksources = vec!["arch_sys_counter".into()];
    probe.processor.cpus_online = 8;
    probe.processor.cpus_allowed = 8;
    probe.memory.total_bytes = 16_300_000_000;
    probe.memory.available_bytes = 15 << 30;
    probe.limits.io_uring = Some(true);
    probe.limits.root = true;
    probe
}

fn disk(name: &str, number: u32, serial: &str, size: u64) -> Device {
    Device {
        name: name.into(),
        number: format!("259:{number}"),
        serial: serial.into(),
        transport: "nvme".into(),
        size_bytes: size,
        logical_block_bytes: 512,
        physical_block_bytes: 4096,
        rotational: Some(false),
        scheduler: "none".into(),
        schedulers: vec!["none".into(), "mq-deadline".into()],
        read_ahead_bytes: 128 << 10,
        nr_requests: 1023,
        write_cache: "write through".into(),
        ..Device::default()
    }
}

fn array(
    probe: &mut Probe,
    name: &str,
    chunk: u64,
    read_ahead: u64,
    members: &[String],
    mount: &str,
    size: u64,
) {
    for member in members {
        device(probe, member).above = vec![name.into()];
    }
    probe.devices.push(Device {
        name: name.into(),
        number: "9:0".into(),
        sort: DeviceSort::Md,
        size_bytes: size,
        read_ahead_bytes: read_ahead,
        minimum_io_bytes: chunk,
        optimal_io_bytes: chunk * 4,
        below: members.to_vec(),
        mounts: vec![mount.into()],
        ..Device::default()
    });
    let member = |(slot, device): (usize, &String)| MdMember {
        device: device.clone(),
        slot: Some(slot as u32),
        state: "in_sync".into(),
    };
    probe.arrays.push(MdArray {
        name: name.into(),
        level: "raid10".into(),
        chunk_bytes: chunk,
        layout: "258".into(),
        state: "clean".into(),
        raid_disks: members.len() as u32,
        slots: format!("[{}]", "U".repeat(members.len())),
        members: members.iter().enumerate().map(member).collect(),
        sync_action: "idle".into(),
        ..MdArray::default()
    });
    probe.filesystems.push(MountedFileSystem {
        mount: mount.into(),
        device: name.into(),
        kind: "xfs".into(),
        options: "rw,noatime,attr2,inode64".into(),
        size_bytes: size,
        free_bytes: size / 10 * 9,
        block_bytes: 4096,
        stripe_unit_bytes: Some(chunk),
        stripe_width_bytes: Some(chunk * 4),
        ..MountedFileSystem::default()
    });
}

/// The seed's host, set up as its context says.
pub(crate) fn ec2() -> Probe {
    let mut probe = machine();
    probe.cloud = Some(Cloud {
        provider: "aws".into(),
        instance_type: "c8gb.2xlarge".into(),
        source: "metadata service".into(),
        ..Cloud::default()
    });
    for (name, value) in [
        ("vm.dirty_bytes", 655u64 << 20),
        ("vm.dirty_background_bytes", 164 << 20),
        ("vm.dirty_writeback_centisecs", 100),
    ] {
        probe.sysctl.insert(name.into(), value.to_string());
    }
    probe.devices.push(disk("nvme0n1", 0, "vol0root", 8 << 30));
    for n in 1..=16u32 {
        let (role, size) = if n <= 8 { ("data", 50u64 << 30) } else { ("wal", 30 << 30) };
        let number = if n <= 8 { n } else { n - 8 };
        let mut volume = disk(&format!("nvme{n}n1"), n, &format!("vol0{role}{number}"), size);
        volume.ebs_volume_id = format!("vol-0{role}{number}");
        probe.devices.push(volume);
    }
    let names = |range: std::ops::RangeInclusive<u32>| -> Vec<String> {
        range.map(|n| format!("nvme{n}n1")).collect()
    };
    array(&mut probe, "md0", 64 << 10, 64 << 10, &names(1..=8), "/data", 200 << 30);
    array(&mut probe, "md1", 256 << 10, 4 << 20, &names(9..=16), "/wal", 120 << 30);
    probe
}

/// Seed 002's host.
pub(crate) fn lvm() -> Probe {
    let mut probe = machine();
    probe.machine.architecture = "x86_64".into();
    probe.machine.clocksource = "hyperv_clocksource_tsc_page".into();
    probe.processor.cpus_online = 16;
    probe.memory.total_bytes = 56 << 30;
    probe.memory.available_bytes = 55 << 30;
    // 600 MB/s for at most 3 s.
    probe.sysctl.insert("vm.dirty_bytes".into(), (1u64 << 30).to_string());
    let cloud =
        Cloud { provider: "azure".into(), instance_type: "Standard_DS5_v2".into(), ..Cloud::default() };
    probe.cloud = Some(cloud);
    let names: Vec<String> = ["sdc", "sdd", "sde", "sdf"].map(str::to_owned).into();
    for (n, name) in names.iter().enumerate() {
        let mut volume = disk(name, n as u32, "", 512 << 30);
        volume.transport = "scsi".into();
        volume.rotational = Some(true);
        probe.devices.push(volume);
    }
    probe.devices.push(Device {
        name: "dm-0".into(),
        sort: DeviceSort::Lvm,
        label: "vg0-lv0".into(),
        size_bytes: 2 << 40,
        read_ahead_bytes: 128 << 10,
        below: names.clone(),
        ..Device::default()
    });
    probe.logical_volumes.push(LogicalVolume {
        name: "lv0".into(),
        group: "vg0".into(),
        device: "dm-0".into(),
        size_bytes: 2 << 40,
        segments: vec![LvmSegment {
            kind: "striped".into(),
            stripes: 4,
            stripe_bytes: 64 << 10,
            size_bytes: 2 << 40,
            devices: names,
        }],
    });
    for mount in ["/mnt/data", "/data"] {
        probe.filesystems.push(MountedFileSystem {
            mount: mount.into(),
            device: "dm-0".into(),
            kind: "ext4".into(),
            options: "rw,noatime,stripe=64".into(),
            size_bytes: 2 << 40,
            free_bytes: 1 << 40,
            block_bytes: 4096,
            stripe_unit_bytes: Some(64 << 10),
            stripe_width_bytes: Some(256 << 10),
            ..MountedFileSystem::default()
        });
    }
    probe
}

/// A virtual machine with one partitioned disk beside the system's, as it comes.
pub(crate) fn plain() -> Probe {
    let mut probe = machine();
    probe.transparent_hugepage = "always".into();
    let mut whole = disk("vdb", 16, "", 100 << 30);
    whole.transport = "virtio".into();
    whole.nr_requests = 256;
    whole.above = vec!["vdb1".into()];
    whole.write_cache = "write back".into();
    let mut part = disk("vdb1", 17, "", 99 << 30);
    part.sort = DeviceSort::Partition;
    part.disk = "vdb".into();
    part.start_bytes = 1 << 20;
    part.scheduler.clear();
    probe.devices.extend([whole, part]);
    probe.filesystems.push(MountedFileSystem {
        mount: "/srv".into(),
        device: "vdb1".into(),
        kind: "ext4".into(),
        options: "rw,relatime,discard".into(),
        size_bytes: 99 << 30,
        free_bytes: 50 << 30,
        block_bytes: 4096,
        stripe_unit_bytes: Some(0),
        stripe_width_bytes: Some(0),
        ..MountedFileSystem::default()
    });
    probe
}

/// Nothing goes on, and the log is clean.
pub(crate) fn quiet(probe: &Probe) -> Watched {
    let traffic = |device: &Device| WatchedDevice { device: device.name.clone(), ..WatchedDevice::default() };
    Watched {
        seconds: 3.0,
        traffic: probe.devices.iter().map(traffic).collect(),
        processes: Vec::new(),
        kernel_log: Some(Vec::new()),
    }
}
