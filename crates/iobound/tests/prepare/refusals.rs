//! Ways to lose data, each planned against a probe that shows it: none gets past the plan. The same on
//! real devices is in the room `host`; in a machine with real arrays in `prepare_vm`.

use iobound::prepare::ContextPlanner;
use iobound_host::prepare::{Machine, Planner};
use iobound_record::{
    ArrayManager, Context, Device, DeviceSort, FileSystemKind, Level, MdArray, MdMember, MountedFileSystem,
    Probe,
};

use crate::contexts::{self, planner};
use crate::properties::host;

type Spoil = fn(&mut Probe);

fn disk(probe: &mut Probe) -> &mut Device {
    probe.devices.iter_mut().find(|device| device.name == "nvme1n1").unwrap()
}

fn above<'a>(probe: &'a mut Probe, name: &str, sort: DeviceSort) -> &'a mut Device {
    disk(probe).above.push(name.into());
    let (disk, below) = match sort {
        DeviceSort::Partition => ("nvme1n1".to_owned(), Vec::new()),
        _ => (String::new(), vec!["nvme1n1".to_owned()]),
    };
    probe.devices.push(Device { name: name.into(), sort, disk, below, ..Device::default() });
    probe.devices.last_mut().unwrap()
}

fn mounted(probe: &mut Probe, device: &str, mount: &str) {
    let (device, mount) = (device.to_owned(), mount.to_owned());
    probe.filesystems.push(MountedFileSystem { device, mount, ..MountedFileSystem::default() });
}

/// Whether naming the disk overrules it, what must be said, and how the host gets that way.
const WAYS: &[(bool, &str, Spoil)] = &[
    (false, "nvme1n1 is mounted on /srv", |p| mounted(p, "nvme1n1", "/srv")),
    (false, "nvme1n1p1 is mounted on /srv", |p| {
        above(p, "nvme1n1p1", DeviceSort::Partition);
        mounted(p, "nvme1n1p1", "/srv");
    }),
    (false, "nvme1n1p1 holds the root file system", |p| {
        above(p, "nvme1n1p1", DeviceSort::Partition).mounts = vec!["/".into()];
    }),
    (false, "dm-0 holds the root file system", |p| {
        above(p, "dm-0", DeviceSort::Lvm).mounts = vec!["/".into()];
    }),
    (false, "nvme1n1p1 is mounted on /boot/efi", |p| {
        above(p, "nvme1n1p1", DeviceSort::Partition).mounts = vec!["/boot/efi".into()];
    }),
    (false, "nvme1n1 is swap space in use", |p| disk(p).mounts = vec!["[SWAP]".into()]),
    (false, "nvme1n1 is part of dm-7", |p| drop(above(p, "dm-7", DeviceSort::DeviceMapper).name.clone())),
    (false, "nvme1n1 is part of bcache0", |p| drop(above(p, "bcache0", DeviceSort::Disk).name.clone())),
    (false, "nvme1n1 is a member of md9 (raid1)", |p| in_array(p, "raid1")),
    (false, "nvme1n1 is a member of md9 (an array that is not running)", |p| in_array(p, "")),
    (false, "nvme1n1 takes no writes", |p| disk(p).read_only = true),
    (false, "medium that can be taken out", |p| disk(p).removable = true),
    (false, "has 0 bytes", |p| disk(p).size_bytes = 0),
    (false, "the context says 1073741824", |p| disk(p).size_bytes = 1 << 29),
    (false, "is not attached to this host", |p| disk(p).serial = "another".into()),
    (false, "2 disks have the serial 'vol0'", |p| p.devices[1].serial = "vol0".into()),
    (false, "is not attached to this host", |p| disk(p).sort = DeviceSort::Partition),
    (false, "is not attached to this host", |p| disk(p).sort = DeviceSort::NvmePath),
    (false, "is not attached to this host", |p| disk(p).sort = DeviceSort::Loop),
    (false, "this host is other.large", |p| {
        p.cloud = Some(iobound_record::Cloud { instance_type: "other.large".into(), ..Default::default() });
    }),
    (true, "nvme1n1 holds ext4", |p| disk(p).holds = Some("ext4".into())),
    (true, "nvme1n1 holds LVM2_member", |p| disk(p).holds = Some("LVM2_member".into())),
    (true, "nvme1n1 holds linux_raid_member", |p| disk(p).holds = Some("linux_raid_member".into())),
    (true, "nvme1n1 holds crypto_LUKS", |p| disk(p).holds = Some("crypto_LUKS".into())),
    (true, "nvme1n1 has a partition table (gpt)", |p| disk(p).holds = Some("gpt".into())),
    (true, "nvme1n1 has a partition table (dos)", |p| disk(p).holds = Some("dos".into())),
    (true, "nvme1n1 has partition nvme1n1p1", |p| {
        above(p, "nvme1n1p1", DeviceSort::Partition);
    }),
];

fn in_array(probe: &mut Probe, level: &str) {
    let members = vec![MdMember { device: "nvme1n1".into(), ..MdMember::default() }];
    let array = MdArray { name: "md9".into(), level: level.into(), members, ..MdArray::default() };
    probe.arrays.push(array);
}

fn context() -> Context {
    let mut context = contexts::one(ArrayManager::Mdadm, Level::Raid0, 2, FileSystemKind::Xfs);
    context.instance.name = "its.large".into();
    context
}

#[test]
fn none_of_the_ways_to_lose_data_gets_past_the_plan() {
    assert!(WAYS.len() >= 15);
    for (overruled, said, spoil) in WAYS {
        let host = host(2);
        let mut probe = host.probe().unwrap();
        spoil(&mut probe);
        let planner: ContextPlanner = planner(&context());
        // The host's own look is left out: each must be seen by the probe alone.
        let ground = iobound_record::Ground {
            evidence: Default::default(),
            ..host.ground(&planner.interests(&probe))
        };
        let plan = planner.plan(&probe, &ground);
        let found = format!("{:?} {:?}", plan.problems, plan.refusals);
        assert!(!plan.may_be_applied() && found.contains(said), "{said}: {found}");
        // Naming the disk gives up what is on it, never that it is in use or another one.
        let named = iobound::prepare::named(&["vol0".into()], &host.probe().unwrap()).unwrap();
        let plan = ContextPlanner { named, ..planner }.plan(&probe, &ground);
        assert_eq!(plan.may_be_applied(), *overruled, "{said}: {:?} {:?}", plan.problems, plan.refusals);
    }
}

/// Naming one disk gives up that one alone.
#[test]
fn disks_are_given_up_one_by_one() {
    let host = host(2);
    let mut probe = host.probe().unwrap();
    for device in &mut probe.devices {
        device.holds = Some("xfs".into());
    }
    let named = iobound::prepare::named(&["vol0".into()], &probe).unwrap();
    let planner = ContextPlanner { named, ..planner(&context()) };
    let plan = planner.plan(&probe, &Default::default());
    let refused: Vec<&str> = plan.refusals.iter().map(|refusal| refusal.disk.device.as_str()).collect();
    assert_eq!(refused, ["nvme2n1"]);
    for (name, said) in
        [("nothing", "no such disk"), ("/dev/null", "no block device"), ("/nowhere", "No such file")]
    {
        let error = iobound::prepare::named(&[name.into()], &probe).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}
