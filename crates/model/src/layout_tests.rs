use iobound_record::{Bytes, Count, VolumeGroup};
use proptest::prelude::*;

use super::*;

const GIB: u64 = 1 << 30;

fn group(name: &str, count: u32, gib: u64) -> VolumeGroup {
    VolumeGroup { name: name.into(), count: Count(count), size: Bytes(gib * GIB), ..VolumeGroup::default() }
}

fn array(name: &str, level: Level, kib: u64, members: &[&str]) -> Array {
    let chunk = (kib > 0).then_some(Bytes(kib << 10));
    let members = members.iter().map(ToString::to_string).collect();
    Array { name: name.into(), level, chunk, members, ..Array::default() }
}

fn told(level: Level, count: u32, kib: u64) -> (u64, Option<u64>, u32) {
    let context = Context {
        volumes: vec![group("v", count, 50)],
        arrays: vec![array("a", level, kib, &["v"])],
        ..Context::default()
    };
    let found = layout(&context, "a").unwrap();
    (found.usable_bytes / GIB, found.stripe_unit_bytes.map(|su| su >> 10), found.data_disks)
}

#[test]
fn every_level() {
    // Seed 000: DATA and WAL, eight volumes of 50 GiB each.
    assert_eq!(told(Level::Raid10, 8, 64), (200, Some(64), 4));
    assert_eq!(told(Level::Raid10, 8, 256), (200, Some(256), 4));
    assert_eq!(told(Level::Raid10, 5, 64), (125, Some(64), 5));
    assert_eq!(told(Level::Raid0, 4, 64), (200, Some(64), 4));
    assert_eq!(told(Level::Raid1, 3, 0), (50, None, 1));
    assert_eq!(told(Level::Raid5, 4, 128), (150, Some(128), 3));
    assert_eq!(told(Level::Raid6, 6, 128), (200, Some(128), 4));
    assert_eq!(told(Level::Linear, 3, 0), (150, None, 1));
}

#[test]
fn members_of_different_sizes() {
    let of = |level, manager| {
        let array = Array { manager, ..array("a", level, 64, &["big", "small"]) };
        let volumes = vec![group("big", 2, 100), group("small", 2, 50)];
        layout(&Context { volumes, arrays: vec![array], ..Context::default() }, "a").unwrap()
    };
    let raid10 = of(Level::Raid10, ArrayManager::Mdadm);
    assert_eq!((raid10.usable_bytes / GIB, raid10.unused_bytes / GIB), (100, 100));
    let stripe = of(Level::Raid0, ArrayManager::Lvm);
    assert_eq!((stripe.usable_bytes / GIB, stripe.unused_bytes / GIB), (200, 100));
    let zones = of(Level::Raid0, ArrayManager::Mdadm);
    assert_eq!((zones.usable_bytes / GIB, zones.unused_bytes), (300, 0));
}

#[test]
fn arrays_of_arrays() {
    let volumes = vec![group("a", 3, 10), group("b", 3, 10)];
    let of = |outer_kib, level| {
        let arrays = vec![
            array("x", level, 64, &["a"]),
            array("y", level, 64, &["b"]),
            array("top", Level::Raid0, outer_kib, &["x", "y"]),
        ];
        let context = Context { volumes: volumes.clone(), arrays, ..Context::default() };
        let found = layout(&context, "top").unwrap();
        (found.usable_bytes / GIB, found.stripe_unit_bytes.unwrap() >> 10, found.data_disks)
    };
    // RAID50: a chunk of whole inner stripes, then one that is none.
    assert_eq!(of(128, Level::Raid5), (40, 64, 4));
    assert_eq!(of(64, Level::Raid5), (40, 64, 2));
    // RAID1+0.
    assert_eq!(of(256, Level::Raid1), (20, 256, 2));
}

#[test]
fn what_cannot_be() {
    let volumes = vec![group("v", 3, 10)];
    let error = |array: Array| {
        let context = Context { volumes: volumes.clone(), arrays: vec![array], ..Context::default() };
        layout(&context, "a").unwrap_err().to_string()
    };
    assert_eq!(
        error(array("a", Level::Raid6, 64, &["v"])),
        "raid6 of array 'a' needs at least 4 members, and it has 3"
    );
    assert_eq!(error(array("a", Level::Raid1, 0, &["a", "v"])), "array 'a' contains itself");
    assert_eq!(
        error(array("a", Level::Raid1, 0, &["w", "v"])),
        "'w' is neither a volume nor an array of this context"
    );
    assert!(error(array("a", Level::Raid0, 0, &["v"])).contains("needs a chunk"));
}

proptest! {
    #[test]
    fn nothing_is_made_of_nothing(level in 0..6usize, sizes in prop::collection::vec(1u64..1000, 4..12)) {
        let level = [Level::Raid0, Level::Raid1, Level::Raid10, Level::Raid5, Level::Raid6, Level::Linear][level];
        let volumes: Vec<_> =
            sizes.iter().enumerate().map(|(i, gib)| group(&format!("v{i}"), 1, *gib)).collect();
        let names: Vec<String> = volumes.iter().map(|v| v.name.clone()).collect();
        let members: Vec<&str> = names.iter().map(String::as_str).collect();
        let context = Context { arrays: vec![array("a", level, 64, &members)], volumes, ..Context::default() };
        let found = layout(&context, "a").unwrap();
        let all = sizes.iter().sum::<u64>() * GIB;
        prop_assert!(found.usable_bytes + found.unused_bytes <= all);
        prop_assert!(found.usable_bytes > 0 && found.data_disks >= 1 && found.data_disks <= found.members);
    }
}
