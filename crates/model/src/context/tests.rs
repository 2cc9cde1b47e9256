use iobound_record::{Context, Severity};
use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Context {
    toml::from_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// The seed's layout in short.
fn sound() -> Context {
    parse(
        r#"
        schema = 1
        name = "c8gb.2xlarge.33.25.8disk.raid10"
        [[volume]]
        name = "data"
        count = 8
        kind = "gp3"
        size = "50GiB"
        [[volume]]
        name = "log"
        kind = "gp3"
        size = "30GiB"
        [[array]]
        name = "md0"
        level = "raid10"
        chunk = "64KiB"
        members = ["data"]
        device = "/dev/md0"
        [[filesystem]]
        on = "md0"
        mount = "/data"
        options = ["noatime"]
        role = "data"
        read_ahead = "64KiB"
        [[filesystem.directories]]
        path = "pg/16"
        owner = "postgres:postgres"
        mode = "0700"
        [[filesystem]]
        on = "log"
        mount = "/wal"
        role = "wal"
        "#,
    )
}

/// Applies a change to the sound context; what is wrong then, one line each.
fn broken(change: impl FnOnce(&mut Context)) -> String {
    let mut context = sound();
    change(&mut context);
    let lines: Vec<String> = validate(&context).iter().map(Problem::to_string).collect();
    lines.join("\n")
}

fn refused(says: &str, change: impl FnOnce(&mut Context)) {
    let said = broken(change);
    assert!(said.contains(says), "wanted {says:?} in:\n{said}");
}

#[test]
fn the_seeds_layout_is_sound() {
    assert_eq!(validate(&sound()), []);
    assert_eq!(capacity(&sound(), "md0"), Some(200 << 30));
    assert_eq!(leaves(&sound(), "md0").len(), 8);
}

#[test]
fn names() {
    refused("name: '$(reboot)' is no name", |c| c.name = "$(reboot)".into());
    refused("volume.a b.name: 'a b' is no name", |c| c.volumes[1].name = "a b".into());
    refused("volume.-x.name", |c| c.volumes[1].name = "-x".into());
    refused("array.md0.name: 'md0' is already the name of volume.md0", |c| c.volumes[1].name = "md0".into());
    refused("'data-3' is already the name of volume.data", |c| c.volumes[1].name = "data-3".into());
    refused("name: is empty", |c| c.name.clear());
    refused("name: '\\u{1b}[2J' is no name", |c| c.name = "\u{1b}[2J".into());
}

#[test]
fn members() {
    refused("array.md0.members: no volume or array is named 'dta'; did you mean 'data'?", |c| {
        c.arrays[0].members = vec!["dta".into()];
    });
    refused("array.md0.members: 1 members, raid10 needs 2 or more", |c| {
        c.arrays[0].members = vec!["data-1".into()];
    });
    refused("'data-2' is twice in it", |c| c.arrays[0].members.push("data-2".into()));
    refused("there are none", |c| c.arrays[0].members.clear());
    refused("a member of itself", |c| c.arrays[0].members.push("md0".into()));
    refused("array.md2.members: 'data-1' is already in array 'md0'", |c| {
        let twin =
            iobound_record::Array { name: "md2".into(), device: "/dev/md2".into(), ..c.arrays[0].clone() };
        c.arrays.push(twin);
    });
    refused("they differ in size, 30 GiB to 50 GiB: usable is 135 GiB", |c| {
        c.arrays[0].members.push("log".into());
        c.filesystems.pop();
    });
}

#[test]
fn a_cycle_of_arrays_ends() {
    refused("array.a.members: the array is, by way of its members, a member of itself", |c| {
        let array = |name: &str, member: &str| iobound_record::Array {
            name: name.into(),
            members: vec![member.into(); 500],
            chunk: Some(iobound_record::Bytes(65536)),
            ..iobound_record::Array::default()
        };
        c.arrays.extend([array("a", "b"), array("b", "a"), array("c", "a")]);
    });
}

#[test]
fn levels_and_chunks() {
    refused("array.md0.chunk: is missing, raid10 is striped", |c| c.arrays[0].chunk = None);
    refused("array.md0.chunk: 48 KiB is no power of two", |c| {
        c.arrays[0].chunk = Some(iobound_record::Bytes(48 << 10));
    });
    refused("array.md0.chunk: raid1 has none", |c| c.arrays[0].level = iobound_record::Level::Raid1);
    refused("raid10 by LVM is not built here", |c| {
        c.arrays[0].manager = iobound_record::ArrayManager::Lvm;
        c.arrays[0].device = "/dev/vg0/lv0".into();
    });
    refused("array.md0.device: '/tmp/md0' is not below /dev", |c| c.arrays[0].device = "/tmp/md0".into());
    refused("has '.' or '..' in it", |c| c.arrays[0].device = "/dev/md/../sda".into());
    refused("is no name that its manager makes", |c| c.arrays[0].device = "/dev/sda".into());
}

#[test]
fn volumes() {
    refused("volume: there is none", |c| c.volumes.clear());
    refused("volume.data.count: 0 volumes; use 1 to 1024", |c| c.volumes[0].count.0 = 0);
    refused("volume.data.count: 4294967295 volumes", |c| c.volumes[0].count.0 = u32::MAX);
    refused("volume.data.size: is missing or 0", |c| c.volumes[0].size.0 = 0);
    refused("volume.data.iops: is 0", |c| c.volumes[0].iops = Some(0));
    refused("volume.data.serials: 2 for 8 volumes", |c| {
        c.volumes[0].serials = vec!["a".into(), "b".into()];
    });
    refused("volume.log.serials: 'vol0a' is already in volume.data.serials", |c| {
        c.volumes[0].serials = (0..8).map(|n| format!("vol-0{:x}", n + 10)).collect();
        c.volumes[1].serials = vec!["vol0a".into()];
    });
    refused("volume.log.serials: 'a;b' is no serial number", |c| c.volumes[1].serials = vec!["a;b".into()]);
}

#[test]
fn the_machine() {
    use iobound_record::{Bandwidth, Cap};
    let cap = |iops| Some(Cap { iops: Some(iops), bandwidth: Some(Bandwidth(iops)) });
    refused("instance.burst.iops: is below what is sustained", |c| {
        c.instance.sustained = cap(100);
        c.instance.burst = cap(50);
    });
    refused("instance.sustained.bandwidth: is 0", |c| c.instance.sustained = cap(0));
    refused("instance.name: 'a`b`' is no name", |c| c.instance.name = "a`b`".into());
}

#[test]
fn file_systems() {
    refused("filesystem./data.on: no volume or array is named 'md9'", |c| c.filesystems[0].on = "md9".into());
    refused("'data' is a group of 8 volumes; name one of them ('data-1')", |c| {
        c.filesystems[0].on = "data".into();
    });
    refused("'data-1' is a member of array 'md0'", |c| c.filesystems[0].on = "data-1".into());
    refused("'/data' is the mount point of another", |c| c.filesystems[1].mount = "/data".into());
    refused("'log' already holds '/wal'", |c| c.filesystems.push(c.filesystems[1].clone()));
    for system in ["/", "//", "/etc", "/usr/local", "/var", "/dev/shm", "/boot/x", "/home/"] {
        refused("belongs to the system", |c| c.filesystems[0].mount = system.into());
    }
    refused("filesystem.data.mount: 'data' is relative", |c| c.filesystems[0].mount = "data".into());
    refused("has '.' or '..' in it", |c| c.filesystems[0].mount = "/data/../etc".into());
    refused("take apart", |c| c.filesystems[0].mount = "/da ta".into());
    assert_eq!(broken(|c| c.filesystems[0].mount = "/var/lib/postgresql".into()), "");
}

#[test]
fn options_and_tuning() {
    for option in ["noatime,nodiratime", "a b", "x;y", "$HOME", "", "-o"] {
        refused("is no single mount option", |c| c.filesystems[0].options = vec![option.into()]);
    }
    refused("noatime and relatime contradict", |c| c.filesystems[0].options.push("relatime".into()));
    refused("gives up what was synced", |c| c.filesystems[0].options.push("nobarrier".into()));
    refused("read_ahead: 1000 bytes is no read-ahead", |c| {
        c.filesystems[0].read_ahead = Some(iobound_record::Bytes(1000));
    });
    refused("scheduler: 'none;id' is no word", |c| c.filesystems[0].scheduler = Some("none;id".into()));
    refused("nr_requests: is out of range", |c| c.filesystems[0].nr_requests = Some(0));
}

#[test]
fn directories() {
    let with =
        |change: fn(&mut iobound_record::Directory)| broken(|c| change(&mut c.filesystems[0].directories[0]));
    assert!(with(|d| d.path = "../etc".into()).contains("has '.' or '..' in it"));
    assert!(with(|d| d.path = "/etc".into()).contains("is absolute"));
    assert!(with(|d| d.path.clear()).contains("is empty"));
    assert!(with(|d| d.owner = "a:b:c".into()).contains("neither user nor user:group"));
    assert!(with(|d| d.owner = "root;id".into()).contains("neither user nor user:group"));
    for mode in ["rwx", "9999", "77", "077777", "0o700"] {
        let said = broken(|c| c.filesystems[0].directories[0].mode = mode.into());
        assert!(said.contains("is not octal"), "{mode}: {said}");
    }
    assert_eq!(with(|d| d.mode = "2750".into()), "");
}

#[test]
fn kernel_settings() {
    refused("os.dirty_ratio: stands beside dirty_bytes", |c| {
        c.os.dirty_bytes = Some(iobound_record::Bytes(1 << 30));
        c.os.dirty_ratio = Some(4);
    });
    refused("writing out would begin where writers already wait", |c| {
        c.os.dirty_ratio = Some(4);
        c.os.dirty_background_ratio = Some(10);
    });
    refused("os.dirty_ratio: is out of range", |c| c.os.dirty_ratio = Some(400));
    refused("os.transparent_hugepage: 'off'", |c| c.os.transparent_hugepage = Some("off".into()));
    refused("os.dirty_bytes: is less than", |c| c.os.dirty_bytes = Some(iobound_record::Bytes(0)));
}

#[test]
fn of_another_version() {
    refused("schema: is 2, this iobound reads 1", |c| c.schema = 2);
}

proptest! {
    /// Whatever a name is, a context that passes carries nothing a shell would take apart.
    #[test]
    fn what_passes_is_safe_in_a_script(name in "\\PC{0,12}", mount in "/\\PC{0,12}", option in "\\PC{0,8}", serial in "\\PC{0,8}") {
        let mut context = sound();
        context.volumes[1].name = name.clone();
        context.filesystems[1].on = name.clone();
        context.filesystems[1].mount = mount.clone();
        context.filesystems[1].options = vec![option.clone()];
        context.volumes[1].serials = vec![serial.clone()];
        if is_usable(&validate(&context)) {
            let safe = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "._-/@+=:".contains(c));
            for text in [&name, &mount, &option, &serial] {
                prop_assert!(safe(text) && !text.starts_with('-'), "{text:?}");
            }
        }
    }

    /// Any structure at all ends in problems, not in a panic or an endless walk.
    #[test]
    fn any_graph_of_members_is_judged(
        edges in proptest::collection::vec((0usize..6, 0usize..9), 0..24),
        counts in proptest::collection::vec(0u32..2000, 3),
    ) {
        let mut context = Context { schema: 1, name: "x".into(), ..Context::default() };
        for (index, count) in counts.iter().enumerate() {
            context.volumes.push(iobound_record::VolumeGroup {
                name: format!("v{index}"),
                count: iobound_record::Count(*count),
                kind: "virtual".into(),
                size: iobound_record::Bytes(u64::MAX >> index),
                ..Default::default()
            });
        }
        for index in 0..6 {
            let members = edges.iter().filter(|(from, _)| *from == index);
            context.arrays.push(iobound_record::Array {
                name: format!("a{index}"),
                members: members.map(|(_, to)| if *to < 6 { format!("a{to}") } else { format!("v{}", to - 6) }).collect(),
                ..Default::default()
            });
        }
        for problem in validate(&context) {
            prop_assert!(!problem.place.is_empty() && !problem.remedy.is_empty());
            prop_assert!(matches!(problem.severity, Severity::Error | Severity::Warning));
        }
    }
}
