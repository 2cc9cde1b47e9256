//! Signatures as real tools write them, and composed where a tool is rare.

mod fixtures;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use iobound_host::guard::signatures;
use tempfile::TempDir;

struct Image {
    _directory: TempDir,
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl Image {
    fn new(bytes: u64) -> Image {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("image");
        let file = fixtures::sparse(&path, bytes);
        Image { _directory: directory, path, file, bytes }
    }

    fn put(self, offset: u64, bytes: &[u8]) -> Image {
        self.file.write_all_at(bytes, offset).unwrap();
        self
    }

    fn made_by(self, program: &str, arguments: &[&str]) -> Image {
        let path = self.path.to_str().unwrap().to_owned();
        fixtures::run(program, &[arguments, &[&path]].concat());
        self
    }

    fn names(&self) -> Vec<String> {
        signatures(&self.file, self.bytes).unwrap().into_iter().map(|found| found.name).collect()
    }
}

const MIB: u64 = 1 << 20;

#[test]
fn an_empty_device_and_a_tiny_one() {
    assert!(Image::new(64 * MIB).names().is_empty());
    for bytes in [0, 1, 511, 512, 1024, 4096, 65536, 131_072] {
        assert!(Image::new(bytes).names().is_empty(), "{bytes}");
    }
}

#[test]
fn as_the_real_tools_write_them() {
    let cases: [(&str, &[&str], &str); 6] = [
        ("mkfs.ext4", &["-q", "-F"], "ext4"),
        ("mkfs.ext3", &["-q", "-F"], "ext3"),
        ("mkfs.ext2", &["-q", "-F"], "ext2"),
        ("mkfs.xfs", &["-q"], "xfs"),
        ("mkfs.btrfs", &["-q"], "btrfs"),
        ("mkswap", &["-q"], "swap"),
    ];
    for (program, arguments, name) in cases {
        if !fixtures::has(program) {
            continue;
        }
        let image = Image::new(512 * MIB).made_by(program, arguments);
        let names = image.names();
        assert_eq!(names[0], name, "{program}: {names:?}");
        assert!(names.iter().all(|found| found.starts_with(name)), "{program}: {names:?}");
    }
}

#[test]
fn a_partition_table_of_sfdisk() {
    if !fixtures::has("sfdisk") {
        return;
    }
    for (label, expected) in [
        ("gpt", vec!["MBR partition table", "GPT partition table", "GPT partition table (backup)"]),
        ("dos", vec!["MBR partition table"]),
    ] {
        let image = Image::new(64 * MIB);
        let script = format!("label: {label}\\nsize=8M\\n");
        let path = image.path.to_str().unwrap();
        fixtures::run("sh", &["-c", &format!("printf '{script}' | sfdisk -q {path}")]);
        let mut names = image.names();
        let mut expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        names.sort();
        expected.sort();
        assert_eq!(names, expected, "{label}");
    }
}

#[test]
fn an_lvm_physical_volume() {
    if !fixtures::may_use_loops() || !fixtures::has("pvcreate") {
        return;
    }
    let device = fixtures::Loop::new(64 * MIB);
    // Only this device, and nothing of the machine's own LVM state.
    let config = format!(
        "devices {{ filter=[\"a|^{0}$|\",\"r|.*|\"] global_filter=[\"a|^{0}$|\",\"r|.*|\"] use_devicesfile=0 }} \
         backup {{ backup=0 archive=0 }}",
        device.path()
    );
    fixtures::run("pvcreate", &["-qq", "--nolocking", "--config", &config, "-y", device.path()]);
    let found = signatures(&File::open(&device.node).unwrap(), 64 * MIB).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].name.as_str(), found[0].offset), ("LVM2 physical volume", 512));
}

/// What mdadm writes at the start of a superblock: magic and major version.
fn md_superblock(version: u32) -> Vec<u8> {
    [0xa92b_4efcu32.to_le_bytes(), version.to_le_bytes()].concat()
}

#[test]
fn composed_by_their_formats() {
    let end = 64 * MIB;
    let cases: Vec<(&str, u64, Vec<u8>)> = vec![
        ("md RAID member (1.1)", 0, md_superblock(1)),
        ("md RAID member (1.2)", 4096, md_superblock(1)),
        ("md RAID member (1.0)", end - 8192, md_superblock(1)),
        ("md RAID member (0.90)", end - 65536, md_superblock(0)),
        ("md RAID member (0.90)", end - 65536, 0xa92b_4efcu32.to_be_bytes().to_vec()),
        ("LUKS", 0, b"LUKS\xba\xbe\x00\x02".to_vec()),
        ("LUKS2 (second header)", 0x4000, b"SKUL\xba\xbe\x00\x02".to_vec()),
        ("GPT partition table", 512, b"EFI PART".to_vec()),
        ("GPT partition table", 4096, b"EFI PART".to_vec()),
        ("GPT partition table (backup)", end - 512, b"EFI PART".to_vec()),
        ("ZFS pool member", (128 << 10) + 5 * 1024, 0x00ba_b10cu64.to_le_bytes().to_vec()),
        ("ZFS pool member", end - (128 << 10), 0x00ba_b10cu64.to_be_bytes().to_vec()),
        ("f2fs", 1024, 0xf2f5_2010u32.to_le_bytes().to_vec()),
        ("NTFS", 3, b"NTFS    ".to_vec()),
        ("FAT32", 82, b"FAT32   ".to_vec()),
        ("ISO 9660", 0x8001, b"CD001".to_vec()),
        ("Ceph BlueStore", 0, b"bluestore block device\n".to_vec()),
        ("swap", 65536 - 10, b"SWAPSPACE2".to_vec()),
        ("swap with a hibernated system", 4086, b"S1SUSPEND\0".to_vec()),
        ("Intel Matrix RAID", end - 1024, b"Intel Raid ISM Cfg Sig. 1.1.00".to_vec()),
        ("DRBD", end - 4096 + 60, b"\x83\x74\x02\x6d".to_vec()),
        ("LVM2 physical volume", 0, [b"LABELONE".to_vec(), vec![0; 16], b"LVM2 001".to_vec()].concat()),
    ];
    for (name, offset, bytes) in cases {
        assert_eq!(Image::new(end).put(offset, &bytes).names(), [name], "at {offset}");
    }
}

#[test]
fn boot_sectors_are_not_partition_tables() {
    let mut entry = [0u8; 16];
    entry[4] = 0x83;
    entry[12] = 1;
    let table = Image::new(MIB).put(446, &entry).put(510, &[0x55, 0xaa]);
    assert_eq!(table.names(), ["MBR partition table"]);
    // Code in that place, as in the boot sector of a FAT file system.
    let boot = Image::new(MIB).put(82, b"FAT32   ").put(446, &[0x90; 64]).put(510, &[0x55, 0xaa]);
    assert_eq!(boot.names(), ["FAT32"]);
    assert!(Image::new(MIB).put(510, &[0x55, 0xaa]).names().is_empty());
}

#[test]
fn looking_changes_nothing() {
    let image = Image::new(MIB).put(0, b"XFSB");
    let read_only = File::open(&image.path).unwrap();
    let before = read_only.metadata().unwrap().modified().unwrap();
    assert_eq!(signatures(&read_only, MIB).unwrap().len(), 1);
    assert_eq!(read_only.metadata().unwrap().modified().unwrap(), before);
}
