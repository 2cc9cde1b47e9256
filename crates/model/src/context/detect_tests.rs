use iobound_record::{Context, Level, Probe, Role};

use super::*;
use crate::check::tests::hosts;

/// What is detected is sound, and reads back from TOML as it was.
fn detected(probe: &Probe, links: &[WalLink]) -> Detected {
    let found = detect(probe, links);
    let problems = validate(&found.context);
    assert!(is_usable(&problems), "{problems:#?}\n{:#?}", found.context);
    let text = toml::to_string(&found.context).unwrap();
    assert_eq!(toml::from_str::<Context>(&text).unwrap(), found.context, "{text}");
    found
}

#[test]
fn the_seeds_host_gives_the_seeds_layout() {
    let found = detected(&hosts::ec2(), &[]).context;
    let shipped = hosts::context();
    assert_eq!(found.instance.name, shipped.instance.name);
    for (found, shipped) in found.arrays.iter().zip(&shipped.arrays) {
        assert_eq!(
            (found.level, found.chunk, &found.device),
            (shipped.level, shipped.chunk, &shipped.device)
        );
        assert_eq!(found.members, shipped.members);
    }
    for (found, shipped) in found.filesystems.iter().zip(&shipped.filesystems) {
        assert_eq!(
            (&found.on, found.kind, &found.mount, found.role),
            (&shipped.on, shipped.kind, &shipped.mount, shipped.role)
        );
        assert_eq!((found.read_ahead, &found.scheduler), (shipped.read_ahead, &shipped.scheduler));
    }
    for (found, shipped) in found.volumes.iter().zip(&shipped.volumes) {
        assert_eq!((&found.name, found.count, found.size), (&shipped.name, shipped.count, shipped.size));
        assert_eq!((found.kind.as_str(), found.serials.len(), found.iops), ("ebs", 8, None));
    }
    assert_eq!(found.os.dirty_bytes, shipped.os.dirty_bytes);
}

#[test]
fn a_striped_logical_volume() {
    let found = detected(&hosts::lvm(), &[]);
    let array = &found.context.arrays[0];
    assert_eq!(
        (array.name.as_str(), array.level, array.device.as_str()),
        ("lv0", Level::Raid0, "/dev/vg0/lv0")
    );
    // The same volume is mounted twice there.
    assert_eq!(found.context.filesystems.len(), 1);
    assert!(
        found.comments.iter().any(|(_, words)| words.contains("mounted elsewhere already")),
        "{:#?}",
        found.comments
    );
}

#[test]
fn the_log_is_where_the_link_leads() {
    let mut probe = hosts::ec2();
    probe.filesystems[1].mount = "/mnt/fast".into();
    let link = WalLink { link: "/data/pg/pg_wal".into(), target: "/mnt/fast/pg_wal".into() };
    let found = detected(&probe, &[link]);
    assert_eq!(found.context.filesystems[1].role, Some(Role::Wal));
    let said = ("filesystem./mnt/fast.role".to_owned(), "a guess: /data/pg/pg_wal leads here".to_owned());
    assert!(found.comments.contains(&said));
}

#[test]
fn the_systems_disk_is_left_out() {
    let mut probe = hosts::ec2();
    hosts::device(&mut probe, "nvme0n1").mounts = vec!["/".into()];
    let found = detected(&probe, &[]);
    assert_eq!(found.context.volumes.len(), 2);
    assert!(found.comments.contains(&(String::new(), "left out: nvme0n1 belongs to the system".into())));
    // The only disk there is stays, for its limits.
    probe.devices.retain(|device| device.name == "nvme0n1");
    probe.arrays.clear();
    probe.filesystems.clear();
    assert_eq!(detected(&probe, &[]).context.volumes[0].count.0, 1);
}

#[test]
fn odd_names_and_mounts_are_left_out() {
    let mut probe = hosts::ec2();
    probe.machine.hostname = "$(reboot)".into();
    probe.cloud = None;
    probe.filesystems[0].mount = "/data one".into();
    hosts::device(&mut probe, "nvme1n1").serial = "a b;c".into();
    hosts::device(&mut probe, "nvme1n1").ebs_volume_id.clear();
    let found = detected(&probe, &[]);
    assert_eq!(found.context.filesystems.len(), 1);
    assert!(found.comments.iter().any(|(_, words)| words.contains("/data one")), "{:#?}", found.comments);
}

#[test]
fn a_host_without_disks() {
    assert!(detect(&Probe::default(), &[]).context.volumes.is_empty());
}
