//! The seeds' layouts: built, tried again, seen after a reboot, taken down.

use super::{Guest, VOLUME_BYTES, machine};

const SERIALS: [&str; 16] = [
    "vol0", "vol1", "vol2", "vol3", "vol4", "vol5", "vol6", "vol7", "vol8", "vol9", "vol10", "vol11",
    "vol12", "vol13", "vol14", "vol15",
];

pub fn group(name: &str, serials: &[&str]) -> String {
    let list: Vec<String> = serials.iter().map(|serial| format!("\"{serial}\"")).collect();
    format!(
        "[[volume]]\nname = \"{name}\"\ncount = {}\nkind = \"virtual\"\nsize = \"{}MiB\"\nserials = [{}]\n",
        serials.len(),
        VOLUME_BYTES >> 20,
        list.join(", ")
    )
}

/// Seed 000: two RAID10 of eight.
fn raid10() -> String {
    format!(
        "schema = 1\nname = \"lab.16disk.raid10\"\n{}{}
[[array]]
name = \"data\"
level = \"raid10\"
chunk = \"64KiB\"
members = [\"d\"]
device = \"/dev/md0\"
[[array]]
name = \"wal\"
level = \"raid10\"
chunk = \"256KiB\"
members = [\"w\"]
device = \"/dev/md1\"
[[filesystem]]
on = \"data\"
kind = \"xfs\"
mount = \"/data\"
role = \"data\"
read_ahead = \"64KiB\"
scheduler = \"none\"
nr_requests = 128
directories = [{{ path = \"pgdata\", owner = \"daemon\", mode = \"0700\" }}, {{ path = \"x\", owner = \"nobody-here\" }}]
[[filesystem]]
on = \"wal\"
kind = \"xfs\"
mount = \"/wal\"
role = \"wal\"
read_ahead = \"4MiB\"
scheduler = \"mq-deadline\"
[os]
dirty_bytes = \"64MiB\"
dirty_background_bytes = \"16MiB\"
dirty_writeback_centisecs = 100
swappiness = 1
transparent_hugepage = \"never\"
nofile = 65536
",
        group("d", &SERIALS[..8]),
        group("w", &SERIALS[8..])
    )
}

#[test]
fn mdadm_raid10_and_xfs_come_and_go() {
    let Some((vm, _turn)) = machine() else { return };
    let guest = Guest { vm };
    guest.file("/srv/ctx.toml", &raid10());
    let before = guest.state();
    println!("{}", guest.prepare("plan --context /srv/ctx.toml", 0));
    assert_eq!(guest.state(), before, "plan changed something");
    let said = guest.prepare("apply --context /srv/ctx.toml --yes", 0);
    println!("{said}");
    settled(&guest);
    assert!(guest.prepare("apply --context /srv/ctx.toml --yes", 0).contains("already so: nothing to do"));
    vm.reboot().unwrap();
    settled(&guest);
    println!("{}", guest.prepare("status --context /srv/ctx.toml", 0));
    println!("{}", guest.prepare("undo --context /srv/ctx.toml --yes", 0));
    assert_eq!(guest.state(), before);
    assert!(guest.prepare("undo --context /srv/ctx.toml --yes", 0).contains("nothing to undo"));
    vm.reboot().unwrap();
    assert_eq!(guest.state(), before);
}

/// The seed's checklist, asked of the system's own tools.
fn settled(guest: &Guest) {
    println!(
        "{}",
        guest.check("cat /proc/mdstat; findmnt -t xfs; xfs_info /data; xfs_info /wal; ls -la /data")
    );
    let md =
        |mount: &str| guest.check(&format!("basename $(findmnt -n -o SOURCE {mount})")).trim().to_owned();
    let (data, wal) = (md("/data"), md("/wal"));
    let queue = |device: &str, what: &str| guest.check(&format!("cat /sys/block/{device}/queue/{what}"));
    assert_eq!(queue(&data, "read_ahead_kb"), "64\n");
    assert_eq!(queue(&wal, "read_ahead_kb"), "4096\n");
    assert_eq!(guest.check(&format!("cat /sys/block/{data}/md/chunk_size")), "65536\n");
    assert_eq!(guest.check(&format!("cat /sys/block/{wal}/md/chunk_size")), "262144\n");
    let xfs = guest.check("xfs_info /data | grep -o 'sunit=[0-9]* *swidth=[0-9]*' | head -1; xfs_info /wal | grep -o 'sunit=[0-9]* *swidth=[0-9]*' | head -1");
    assert_eq!(
        xfs.split_whitespace().collect::<Vec<_>>(),
        ["sunit=16", "swidth=64", "sunit=64", "swidth=256"]
    );
    assert_eq!(guest.check("sysctl -n vm.dirty_bytes vm.dirty_background_bytes"), "67108864\n16777216\n");
    assert!(guest.check("cat /sys/kernel/mm/transparent_hugepage/enabled").contains("[never]"));
    let of = |serial: &str| {
        guest
            .check(&format!("basename $(readlink -f /dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_{serial})"))
            .trim()
            .to_owned()
    };
    assert_eq!(queue(&of("vol3"), "nr_requests"), "128\n");
    assert!(queue(&of("vol9"), "scheduler").contains("[mq-deadline]"));
    assert_eq!(guest.check("stat -c '%U %a' /data/pgdata"), "daemon 700\n");
    assert!(guest.check("findmnt -n -o OPTIONS /data").contains("noatime"));
}

/// Seed 002: a stripe of four by LVM, with ext3.
#[test]
fn lvm_and_ext3_come_and_go() {
    let Some((vm, _turn)) = machine() else { return };
    let guest = Guest { vm };
    let context = format!(
        "schema = 1\nname = \"lvm\"\n{}[[array]]\nname = \"stripe\"\nmanager = \"lvm\"\nlevel = \"raid0\"\n\
         chunk = \"64KiB\"\nmembers = [\"d\"]\ndevice = \"/dev/vg0/lv0\"\n[[filesystem]]\non = \"stripe\"\n\
         kind = \"ext3\"\nmount = \"/data\"\nread_ahead = \"1MiB\"\n",
        group("d", &SERIALS[..4])
    );
    guest.file("/srv/lvm.toml", &context);
    let before = guest.state();
    println!("{}", guest.prepare("apply --context /srv/lvm.toml --yes", 0));
    let so = |guest: &Guest| {
        let segments = guest.check("lvs --noheadings --segments -o lv_name,stripes,segtype,stripe_size vg0");
        assert_eq!(segments.split_whitespace().collect::<Vec<_>>(), ["lv0", "4", "striped", "64.00k"]);
        let ext = guest.check("tune2fs -l /dev/vg0/lv0 | grep -i raid");
        assert!(ext.contains("RAID stride:") && ext.contains("16") && ext.contains("64"), "{ext}");
        assert_eq!(guest.check("findmnt -n -o FSTYPE /data"), "ext3\n");
        assert_eq!(guest.check("cat /sys/block/dm-0/queue/read_ahead_kb"), "1024\n");
    };
    so(&guest);
    assert!(guest.prepare("apply --context /srv/lvm.toml --yes", 0).contains("already so: nothing to do"));
    vm.reboot().unwrap();
    so(&guest);
    // Somebody's data stops it; given up by name, it goes.
    guest.check("echo data >/data/theirs");
    let said = guest.prepare("undo --context /srv/lvm.toml --yes", 3);
    assert!(said.contains("/data/theirs, which iobound did not make"), "{said}");
    assert_eq!(guest.check("cat /data/theirs"), "data\n");
    println!("{}", guest.prepare("undo --context /srv/lvm.toml --yes --destroy-data /dev/dm-0", 0));
    assert_eq!(guest.state(), before);
}
