//! What only a machine with real arrays can be asked: their members, a disk that goes while it is used, a
//! machine that goes while it is prepared, and the scripts.

use super::layouts::group;
use super::{Guest, machine};

fn context(guest: &Guest) {
    let text = format!(
        "schema = 1\nname = \"two\"\n{}[[array]]\nname = \"pair\"\nlevel = \"raid1\"\nmembers = [\"d\"]\n\
         [[filesystem]]\non = \"pair\"\nkind = \"ext4\"\nmount = \"/data\"\n[os]\nswappiness = 7\n",
        group("d", &["vol14", "vol15"])
    );
    guest.file("/srv/two.toml", &text);
}

/// Set up, what must be said, put away. The disk is `$d`; another one, for arrays, `$o`.
const WAYS: [(&str, &str, &str); 8] = [
    ("mdadm -C /dev/md9 --run -l1 -n2 $d $o", "is a member of md9", "mdadm -Ss; wipefs -qa $d $o"),
    (
        "mdadm -C /dev/md9 --run -l1 -n2 $d $o; mdadm -S /dev/md9",
        // Put together again by udev, or not: refused either way.
        "md",
        "mdadm -Ss; mdadm --zero-superblock $d $o; wipefs -qa $d $o",
    ),
    ("pvcreate -qq $d", "LVM2 physical volume", "pvremove -qq $d"),
    (
        "pvcreate -qq $d; vgcreate -qq x $d; lvcreate -qq -n y -l1 x",
        "is part of dm-",
        "vgremove -qqf x; pvremove -qq $d",
    ),
    ("mkfs.xfs -q $d; mount $d /mnt", "is mounted on /mnt", "umount /mnt; wipefs -qa $d"),
    ("mkswap -q $d; swapon $d", "is swap space in use", "swapoff $d; wipefs -qa $d"),
    // The machine has no fdisk: an MBR with one Linux partition of 64 MiB.
    (
        "printf '\\0\\0\\0\\0\\203\\0\\0\\0\\0\\010\\0\\0\\0\\0\\002\\0' | dd of=$d bs=1 seek=446 status=none; \
         printf '\\125\\252' | dd of=$d bs=1 seek=510 status=none; blockdev --rereadpt $d; udevadm settle",
        "has partition",
        "wipefs -qa $d; blockdev --rereadpt $d",
    ),
    ("blockdev --setro $d", "takes no writes", "blockdev --setrw $d"),
];

const DISKS: &str = "d=$(readlink -f /dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_vol14); \
                     o=$(readlink -f /dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_vol13);";
const CLEAN: &str = "for x in $d $o; do dd if=/dev/zero of=$x bs=1M count=8 status=none; \
                     dd if=/dev/zero of=$x bs=1M seek=1022 count=2 status=none; done; udevadm settle";

#[test]
fn real_arrays_volumes_and_mounts_are_refused() {
    let Some((vm, _turn)) = machine() else { return };
    let guest = Guest { vm };
    context(&guest);
    let before = guest.state();
    for (make, said, put_away) in WAYS {
        // A way that did not come about would prove nothing.
        guest.file("/srv/way.sh", &format!("set -e\n{DISKS}\n{make}\nudevadm settle\n"));
        guest.check("sh /srv/way.sh </dev/null >/dev/null");
        let told = guest.prepare("apply --context /srv/two.toml --yes", 3);
        assert!(told.contains(said), "{said}: {told}");
        guest.run(&format!("{DISKS} {{ {put_away}; }} >/dev/null 2>&1; {CLEAN}"));
    }
    assert_eq!(guest.state(), before);
}

#[test]
fn the_machine_goes_while_it_is_prepared() {
    let Some((vm, _turn)) = machine() else { return };
    let guest = Guest { vm };
    context(&guest);
    let before = guest.state();
    guest.check("(setsid iobound prepare apply --context /srv/two.toml --yes >/srv/log 2>&1 </dev/null &)");
    guest.check("for i in $(seq 600); do grep -q 'doing *array' /srv/log && break; sleep 0.2; done");
    guest.run("pkill -KILL -x iobound");
    println!(
        "{}",
        guest.run("cat /srv/log | tail -4; iobound prepare status --context /srv/two.toml").stdout
    );
    println!("{}", guest.prepare("apply --context /srv/two.toml --yes", 0));
    assert_eq!(guest.check("findmnt -n -o FSTYPE /data"), "ext4\n");
    println!("{}", guest.prepare("undo --context /srv/two.toml --yes", 0));
    assert_eq!(guest.state(), before);
}

#[test]
fn the_scripts_do_the_same_and_may_be_run_again() {
    let Some((vm, _turn)) = machine() else { return };
    let guest = Guest { vm };
    context(&guest);
    let before = guest.state();
    guest.prepare("plan --context /srv/two.toml --script /srv/scripts", 0);
    for _ in 0..2 {
        println!("{}", guest.check("cd /srv/scripts; for s in 0*.sh; do echo == $s; ./$s || exit 1; done"));
    }
    assert!(guest.prepare("status --context /srv/two.toml", 0).contains("already so array"));
    println!("{}", guest.check("/srv/scripts/99-undo.sh"));
    assert_eq!(guest.state(), before);
    let refused = guest.run(&format!("{DISKS} mkfs.xfs -q $d; /srv/scripts/02-raid-setup.sh"));
    assert_eq!(refused.code, 3, "{} {}", refused.stdout, refused.stderr);
    assert!(refused.stderr.contains("holds data"), "{}", refused.stderr);
    guest.run(&format!("{DISKS} wipefs -qa $d; {CLEAN}"));
}
