use iobound_record::{Bytes, Cloud, Count};

use super::*;

fn disk(name: &str, serial: &str, gib: u64) -> Device {
    Device {
        name: name.into(),
        serial: serial.into(),
        size_bytes: gib << 30,
        transport: "nvme".into(),
        ..Device::default()
    }
}

fn context(serials: &[&str]) -> Context {
    let group = VolumeGroup {
        name: "data".into(),
        count: Count(serials.len() as u32),
        kind: "virtual".into(),
        size: Bytes(50 << 30),
        serials: serials.iter().map(ToString::to_string).collect(),
        ..VolumeGroup::default()
    };
    Context { volumes: vec![group], ..Context::default() }
}

fn probe(devices: Vec<Device>) -> Probe {
    Probe { devices, ..Probe::default() }
}

fn told(context: &Context, probe: &Probe) -> String {
    match match_volumes(context, probe) {
        Ok(found) => found.iter().map(|(v, d)| format!("{v}={d}")).collect::<Vec<_>>().join(" "),
        Err(misses) => misses.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    }
}

#[test]
fn serials_in_all_their_forms() {
    for given in [
        "vol-0aBc12",
        "vol0abc12",
        "nvme-Amazon_Elastic_Block_Store_vol0abc12",
        "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0abc12_1",
    ] {
        let host = probe(vec![disk("nvme7n1", "vol0abc12", 50), disk("nvme1n1", "vol0abc13", 50)]);
        assert_eq!(told(&context(&[given]), &host), "data=nvme7n1", "{given}");
    }
    let mut host = probe(vec![disk("sda", "", 50)]);
    host.devices[0].wwn = "naa.5000C500A1B2C3D4".into();
    let mut by_wwn = context(&["x"]);
    by_wwn.volumes[0].serials.clear();
    for wwn in ["naa.5000c500a1b2c3d4", "0x5000c500a1b2c3d4", "wwn-0x5000c500a1b2c3d4"] {
        by_wwn.volumes[0].wwns = vec![wwn.into()];
        assert_eq!(told(&by_wwn, &host), "data=sda", "{wwn}");
    }
    // A serial with an underscore is no name of udev's.
    let host = probe(vec![disk("vda", "a_1", 50), disk("vdb", "a", 50)]);
    assert_eq!(told(&context(&["a_1"]), &host), "data=vda");
}

#[test]
fn names_are_never_enough() {
    let host = probe(vec![disk("nvme1n1", "s1", 50), disk("sda1", "s2", 50)]);
    for name in ["nvme1n1", "/dev/nvme1n1", "/dev/disk/by-path/x", "sda1"] {
        assert!(told(&context(&[name]), &host).contains("is a name and not a serial"), "{name}");
    }
    let mut nameless = context(&["s1"]);
    nameless.volumes[0].serials.clear();
    assert!(told(&nameless, &host).contains("has no serial number or WWN"));
}

#[test]
fn partitions_and_paths_do_not_count() {
    let mut part = disk("nvme1n1p1", "s1", 50);
    part.sort = DeviceSort::Partition;
    let mut path = disk("nvme1c0n1", "s1", 50);
    path.sort = DeviceSort::NvmePath;
    assert_eq!(
        told(&context(&["s1"]), &probe(vec![part.clone(), path.clone()])),
        "volume 'data' (s1) is not attached to this host"
    );
    assert_eq!(told(&context(&["s1"]), &probe(vec![disk("nvme1n1", "s1", 50), part, path])), "data=nvme1n1");
}

#[test]
fn the_same_serial_twice_is_refused() {
    let host = probe(vec![disk("sda", "s1", 50), disk("sdb", "S1", 50)]);
    assert_eq!(told(&context(&["s1"]), &host), "volume 'data': 2 disks have the serial 's1': sda, sdb");
    let host = probe(vec![disk("sda", "s1", 50)]);
    assert!(told(&context(&["s1", "S1"]), &host).contains("are the same disk, sda"));
    let mut short = context(&["s1", "s2"]);
    short.volumes[0].serials.pop();
    assert_eq!(told(&short, &host), "volume group 'data' has 2 volumes and 1 serial numbers or WWNs");
}

#[test]
fn other_hardware_is_named() {
    let mut ebs = context(&["s1"]);
    ebs.volumes[0].kind = "gp3".into();
    let mut host = probe(vec![disk("nvme0n1", "s1", 20)]);
    host.devices[0].model = "Laptop SSD".into();
    let said = told(&ebs, &host);
    assert!(said.contains("nvme0n1 has 21474836480 bytes, and the context says 53687091200"), "{said}");
    assert!(said.contains("is 'Laptop SSD', no EBS volume, and the context says it is gp3"), "{said}");
    ebs.instance.name = "c8gb.2xlarge".into();
    host.cloud = Some(Cloud { instance_type: "m5.large".into(), ..Cloud::default() });
    assert!(
        told(&ebs, &host)
            .contains("the context is for instance type c8gb.2xlarge, and this host is m5.large")
    );
}
