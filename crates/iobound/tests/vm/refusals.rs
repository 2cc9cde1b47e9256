//! Ways to lose data with `prepare apply`, each on real disks of a guest: none succeeds, and each refusal
//! names the disk and what was seen on it.

use crate::guest::Guest;

/// What is done to the disk `data1`, how it is taken back, and a word of the evidence that the refusal
/// must give. `$D` is the disk.
const WAYS: [(&str, &str, &str, &str); 16] = [
    ("an XFS file system", "mkfs.xfs -q $D", "wipefs -qa $D", "xfs"),
    ("an ext4 file system", "mkfs.ext4 -q $D", "wipefs -qa $D", "ext"),
    (
        "a mounted file system",
        "mkfs.ext4 -q $D && mount $D /mnt",
        "umount /mnt; wipefs -qa $D",
        "mounted|/mnt",
    ),
    ("swap space in use", "mkswap -q $D && swapon $D", "swapoff $D; wipefs -qa $D", "swap"),
    ("swap space", "mkswap -q $D", "wipefs -qa $D", "swap"),
    ("a GPT without partitions", "echo 'label: gpt' | sfdisk -q $D", "wipefs -qa $D", "gpt|partition table"),
    (
        "an MBR without partitions",
        "echo 'label: dos' | sfdisk -q $D",
        "wipefs -qa $D",
        "dos|mbr|partition table",
    ),
    (
        "partitions",
        "printf 'label: gpt\\n,64M\\n' | sfdisk -q $D && udevadm settle",
        "wipefs -qa $D; blockdev --rereadpt $D; udevadm settle",
        "partition",
    ),
    ("an LVM physical volume", "pvcreate -qy $D", "pvremove -qyff $D", "lvm"),
    (
        "a volume group with a volume",
        "vgcreate -qy old $D && lvcreate -qy -L 100M -n lv old",
        "vgremove -qyf old; pvremove -qyff $D",
        "lvm|holder|dm-",
    ),
    (
        "a running array",
        "mdadm --create /dev/md9 --quiet --run --level=1 --force --raid-devices=1 $D",
        "mdadm --stop /dev/md9; mdadm --zero-superblock $D",
        "md9|raid|array",
    ),
    (
        "a stopped array",
        "mdadm --create /dev/md9 --quiet --run --level=1 --force --raid-devices=1 $D && mdadm --stop /dev/md9",
        "mdadm --zero-superblock $D",
        "raid",
    ),
    (
        "a device-mapper holder",
        "dmsetup create hold --table \"0 2048 linear $D 0\"",
        "dmsetup remove hold",
        "hold|dm-",
    ),
    (
        "an open file descriptor",
        "perl -MFcntl -e 'sysopen(F, $ARGV[0], O_RDWR|O_EXCL) or die; open(P, q(>), q(/run/holder)); \
         print P $$; close P; sleep 60' $D >/dev/null 2>&1 & \
         while ! [ -s /run/holder ]; do sleep 0.1; done",
        "kill $(cat /run/holder); rm -f /run/holder; sleep 0.2",
        "in use|busy",
    ),
    (
        "data that nobody knows",
        "dd if=/dev/urandom of=$D bs=1M count=2 conv=fsync status=none",
        "dd if=/dev/zero of=$D bs=1M count=2 conv=fsync status=none",
        "data",
    ),
    ("a read-only disk", "blockdev --setro $D", "blockdev --setrw $D", "read-only|read only"),
];

#[test]
fn no_way_to_lose_data_succeeds() {
    let names: Vec<String> = (1..=4).map(|i| format!("data{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let Some(guest) = Guest::boot(&names) else { return };
    let context = guest.put_context("lab.4disk.lvm", "512MiB");
    let disk = guest.ok("lsblk -dno PATH,SERIAL | awk '$2 == \"data1\" {print $1}'");
    let disk = disk.trim();
    let mut broken = Vec::new();
    for (what, make, unmake, evidence) in WAYS {
        let with_disk = |script: &str| script.replace("$D", disk);
        guest.ok(&with_disk(make));
        let before =
            guest.ok(&format!("head -c 4M {disk} | sha256sum; lsblk -no NAME,TYPE,MOUNTPOINTS {disk}"));
        let apply = guest.run(&format!("iobound prepare apply --yes --offline --context {context}"));
        let after =
            guest.ok(&format!("head -c 4M {disk} | sha256sum; lsblk -no NAME,TYPE,MOUNTPOINTS {disk}"));
        let said = apply.stderr.to_lowercase();
        let named = said.contains(disk) || said.contains("data1");
        let seen = evidence.split('|').any(|word| said.contains(word));
        if apply.code != 3 || before != after || !named || !seen {
            broken.push(format!(
                "{what}: code {}, {}, says: {}",
                apply.code,
                if before == after { "untouched" } else { "CHANGED" },
                apply.stderr.trim()
            ));
        }
        guest.run(&with_disk(unmake));
        guest.say(&format!("{what}: {}", apply.stderr.lines().next().unwrap_or_default()));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    // The root's own disk, by a context that names its serial.
    let root = guest.ok(
        "for d in $(lsblk -dno NAME); do \
           lsblk -no MOUNTPOINTS /dev/$d | grep -qx / && cat /sys/block/$d/serial /sys/block/$d/device/serial 2>/dev/null; \
         done | head -1",
    );
    let root = root.trim();
    if !root.is_empty() {
        guest.ok(&format!("sed 's/\"data1\"/\"{root}\"/' {context} >/etc/root.toml"));
        let apply = guest.run("iobound prepare apply --yes --offline --context /etc/root.toml");
        assert!([2, 3].contains(&apply.code), "{apply:?}");
        guest.say(&format!("the root's disk: {}", apply.stderr.lines().next().unwrap_or_default()));
    }
}
