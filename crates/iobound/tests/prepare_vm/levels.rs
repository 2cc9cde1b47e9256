//! Each level of mdadm's, with ext3 or ext4 on it, comes and goes.

use super::layouts::group;
use super::{Guest, machine};

/// A level, its file system, its members, and the stride and stripe width in blocks of 4 KiB that the file
/// system must get: a chunk is 64 KiB, and parity and mirrors hold no data.
type Made = (&'static str, &'static str, &'static [&'static str], Option<(u32, u32)>);

const LEVELS: [Made; 4] = [
    ("raid0", "ext4", &["vol0", "vol1"], Some((16, 32))),
    ("raid1", "ext3", &["vol2", "vol3"], None),
    ("raid5", "ext4", &["vol4", "vol5", "vol6"], Some((16, 32))),
    ("raid6", "ext3", &["vol7", "vol8", "vol9", "vol10", "vol11"], Some((16, 48))),
];

fn context() -> String {
    let mut text = "schema = 1\nname = \"levels\"\n".to_owned();
    for (level, _, members, _) in LEVELS {
        text += &group(&format!("of-{level}"), members);
    }
    for (at, (level, ..)) in LEVELS.iter().enumerate() {
        let chunk = if *level == "raid1" { "" } else { "chunk = \"64KiB\"\n" };
        text += &format!(
            "[[array]]\nname = \"{level}\"\nlevel = \"{level}\"\n{chunk}members = [\"of-{level}\"]\n\
             device = \"/dev/md{at}\"\n"
        );
    }
    for (level, kind, ..) in LEVELS {
        text += &format!("[[filesystem]]\non = \"{level}\"\nkind = \"{kind}\"\nmount = \"/{level}\"\n");
    }
    text
}

#[test]
fn every_level_comes_and_goes() {
    let Some((vm, _turn)) = machine() else { return };
    let guest = Guest { vm };
    guest.file("/srv/levels.toml", &context());
    let before = guest.state();
    let plan = guest.prepare("plan --context /srv/levels.toml", 0);
    for word in
        ["--level=raid0", "--level=raid1", "--level=raid5", "--level=raid6", "stride=16,stripe-width=48"]
    {
        assert!(plan.contains(word), "the plan does not say {word}:\n{plan}");
    }
    guest.prepare("apply --context /srv/levels.toml --yes", 0);
    for (at, (level, kind, members, geometry)) in LEVELS.iter().enumerate() {
        let is = guest.check(&format!(
            "cat /sys/block/md{at}/md/level /sys/block/md{at}/md/raid_disks; findmnt -n -o FSTYPE /{level}"
        ));
        let wanted = [*level, &members.len().to_string(), *kind].map(str::to_owned);
        assert_eq!(is.split_whitespace().collect::<Vec<_>>(), wanted, "{level}");
        let tuned = guest.run(&format!("tune2fs -l /dev/md{at} | grep -i raid")).stdout;
        let numbers: Vec<u32> =
            tuned.lines().filter_map(|line| line.split_whitespace().last()?.parse().ok()).collect();
        assert_eq!(
            numbers,
            geometry.map_or(vec![], |(stride, width)| vec![stride, width]),
            "{level}: {tuned}"
        );
        guest.check(&format!("echo data >/{level}/f && sync /{level}/f && rm /{level}/f"));
    }
    assert!(guest.prepare("apply --context /srv/levels.toml --yes", 0).contains("already so: nothing to do"));
    // While parity is still being written.
    println!("{}", guest.check("cat /proc/mdstat"));
    println!("{}", guest.prepare("undo --context /srv/levels.toml --yes", 0));
    assert_eq!(guest.state(), before);
}
