//! Byte patterns that mark a device as somebody's.
//!
//! Where each was found is beside it. Paths without a project are of the Linux kernel tree;
//! `libblkid` is util-linux' libblkid/src/superblocks. The table is our own and deliberately errs
//! on the side of finding something: a false alarm costs the user one option, a miss costs data.

/// Where a pattern lies.
#[derive(Clone, Copy)]
pub(super) enum At {
    /// Bytes from the start of the device.
    Start(u64),
    /// Bytes before its end.
    BeforeEnd(u64),
}

use At::{BeforeEnd, Start};

/// One pattern.
pub(super) struct Magic {
    pub name: &'static str,
    pub at: At,
    pub bytes: &'static [u8],
}

const fn magic(name: &'static str, at: At, bytes: &'static [u8]) -> Magic {
    Magic { name, at, bytes }
}

/// Patterns that need no more than a comparison. Those that need a second look (ext, LVM, md, GPT,
/// MBR, ZFS, swap) are in `signature.rs`.
pub(super) const FIXED: &[Magic] = &[
    // XFS_SB_MAGIC, fs/xfs/libxfs/xfs_format.h
    magic("xfs", Start(0), b"XFSB"),
    // BTRFS_MAGIC at BTRFS_SUPER_INFO_OFFSET + 64, include/uapi/linux/btrfs_tree.h; the mirror at
    // 64 MiB (btrfs_sb_offset, fs/btrfs/fs.h) survives a wipe of the first.
    magic("btrfs", Start(0x1_0040), b"_BHRfS_M"),
    magic("btrfs (second superblock)", Start(0x400_0040), b"_BHRfS_M"),
    // LUKS_MAGIC_1ST at 0; LUKS2 keeps a second header, LUKS_MAGIC_2ND, at one of these offsets:
    // cryptsetup lib/luks2/luks2.h, LUKS2_HDR2_OFFSETS
    magic("LUKS", Start(0), b"LUKS\xba\xbe"),
    magic("LUKS2 (second header)", Start(0x4000), b"SKUL\xba\xbe"),
    magic("LUKS2 (second header)", Start(0x8000), b"SKUL\xba\xbe"),
    magic("LUKS2 (second header)", Start(0x1_0000), b"SKUL\xba\xbe"),
    magic("LUKS2 (second header)", Start(0x2_0000), b"SKUL\xba\xbe"),
    magic("LUKS2 (second header)", Start(0x4_0000), b"SKUL\xba\xbe"),
    magic("LUKS2 (second header)", Start(0x8_0000), b"SKUL\xba\xbe"),
    magic("LUKS2 (second header)", Start(0x10_0000), b"SKUL\xba\xbe"),
    magic("LUKS2 (second header)", Start(0x20_0000), b"SKUL\xba\xbe"),
    magic("LUKS2 (second header)", Start(0x40_0000), b"SKUL\xba\xbe"),
    // BCACHE_MAGIC and BCHFS_MAGIC, 24 bytes into the superblock at sector 8:
    // drivers/md/bcache/bcache_ondisk.h, bcachefs-tools libbcachefs/bcachefs_format.h
    magic("bcache", Start(4096 + 24), b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    magic("bcachefs", Start(4096 + 24), b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"),
    // F2FS_SUPER_MAGIC 0xF2F52010 at F2FS_SUPER_OFFSET, include/linux/f2fs_fs.h; the second copy
    // is one 4 KiB block on
    magic("f2fs", Start(1024), b"\x10\x20\xf5\xf2"),
    magic("f2fs (second superblock)", Start(4096 + 1024), b"\x10\x20\xf5\xf2"),
    // OEM names of boot sectors: fs/ntfs3/ntfs.h, fs/exfat/exfat_raw.h; BitLocker: libblkid/bitlocker.c
    magic("NTFS", Start(3), b"NTFS    "),
    magic("exFAT", Start(3), b"EXFAT   "),
    magic("BitLocker", Start(3), b"-FVE-FS-"),
    // File system names in FAT boot sectors: libblkid/vfat.c
    magic("FAT12", Start(54), b"FAT12   "),
    magic("FAT16", Start(54), b"FAT16   "),
    magic("FAT32", Start(82), b"FAT32   "),
    // Volume descriptors at sector 16 of 2,048 bytes: ECMA-119 8.1, ECMA-167 2/9.1
    magic("ISO 9660", Start(0x8001), b"CD001"),
    magic("UDF", Start(0x8001), b"BEA01"),
    // BDEV_LABEL_BLOCK, ceph src/os/bluestore/BlueStore.cc
    magic("Ceph BlueStore", Start(0), b"bluestore block device"),
    // SQUASHFS_MAGIC, fs/squashfs/squashfs_fs.h; EROFS_SUPER_MAGIC_V1, fs/erofs/erofs_fs.h
    magic("squashfs", Start(0), b"hsqs"),
    magic("erofs", Start(1024), b"\xe2\xe1\xf5\xe0"),
    // REISERFS_SUPER_MAGIC_STRING at REISERFS_DISK_OFFSET_IN_BYTES + 52: libblkid/reiserfs.c
    magic("reiserfs", Start(0x1_0034), b"ReIsEr"),
    // JFS_MAGIC at SUPER1_OFF, fs/jfs/jfs_superblock.h
    magic("jfs", Start(0x8000), b"JFS1"),
    // NILFS_SUPER_MAGIC, 6 bytes into the superblock: include/uapi/linux/nilfs2_ondisk.h
    magic("nilfs2", Start(1024 + 6), b"\x34\x34"),
    // OCFS2_SUPER_BLOCK_SIGNATURE in block 2 of 512 to 4,096 bytes: fs/ocfs2/ocfs2_fs.h
    magic("ocfs2", Start(0x400), b"OCFSV2"),
    magic("ocfs2", Start(0x800), b"OCFSV2"),
    magic("ocfs2", Start(0x1000), b"OCFSV2"),
    magic("ocfs2", Start(0x2000), b"OCFSV2"),
    // GFS2_MAGIC at GFS2_SB_ADDR * 512, include/uapi/linux/gfs2_ondisk.h
    magic("gfs2", Start(0x1_0000), b"\x01\x16\x19\x70"),
    // HFSPLUS_VOLHEAD_SIG, HFSPLUS_SUPER_MAGIC: fs/hfsplus/hfsplus_raw.h; NXSB: libblkid/apfs.c
    magic("HFS+", Start(0x400), b"H+\x00\x04"),
    magic("HFSX", Start(0x400), b"HX\x00\x05"),
    magic("APFS", Start(32), b"NXSB"),
    // VMFS_LVM_MAGIC: libblkid/vmfs.c
    magic("VMFS", Start(0x10_0000), b"\x0d\xd0\x01\xc0"),
    // SB_MAGIC, drivers/md/dm-integrity.c; cryptsetup lib/verity/verity.c; SNAP_MAGIC,
    // drivers/md/dm-snap-persistent.c; VDO_GEOMETRY_MAGIC_NUMBER, drivers/md/dm-vdo
    magic("dm-integrity", Start(0), b"integrt\0"),
    magic("dm-verity", Start(0), b"verity\0\0"),
    magic("dm-snapshot", Start(0), b"SnAp"),
    magic("VDO", Start(0), b"dmvdo001"),
    // Two copies, in sectors 1 and 9, after a checksum of 4 bytes: libblkid/stratis.c
    magic("Stratis", Start(512 + 4), b"!Stra0tis\x86\xff\x02^\x41rh"),
    magic("Stratis", Start(9 * 512 + 4), b"!Stra0tis\x86\xff\x02^\x41rh"),
    // Oracle ASMLib's disk label: libblkid/oracleasm.c
    magic("Oracle ASM", Start(32), b"ORCLDISK"),
    // MPB_SIGNATURE, second sector from the end: mdadm super-intel.c
    magic("Intel Matrix RAID", BeforeEnd(1024), b"Intel Raid ISM Cfg Sig. "),
    // DDF_HEADER_MAGIC in the last sector, either endianness: mdadm super-ddf.c
    magic("DDF RAID", BeforeEnd(512), b"\xde\x11\xde\x11"),
    magic("DDF RAID", BeforeEnd(512), b"\x11\xde\x11\xde"),
    // DRBD_MD_MAGIC_08 and its successors, 60 bytes into the last 4 KiB: libblkid/drbd.c
    magic("DRBD", BeforeEnd(4096 - 60), b"\x83\x74\x02\x6b"),
    magic("DRBD", BeforeEnd(4096 - 60), b"\x83\x74\x02\x6c"),
    magic("DRBD", BeforeEnd(4096 - 60), b"\x83\x74\x02\x6d"),
];

/// Last ten bytes of the first page: `union swap_header`, include/linux/swap.h, with the page sizes
/// that Linux has. S1SUSPEND marks a hibernated machine: kernel/power/swap.c.
pub(super) const SWAP: &[(&str, &[u8; 10])] = &[
    ("swap", b"SWAPSPACE2"),
    ("swap (old style)", b"SWAP-SPACE"),
    ("swap with a hibernated system", b"S1SUSPEND\0"),
];

/// Page sizes of the machines that Linux runs on, bytes.
pub(super) const PAGE_SIZES: [u64; 5] = [4096, 8192, 16384, 32768, 65536];

/// MD_SB_MAGIC, include/uapi/linux/raid/md_p.h.
pub(super) const MD: u32 = 0xa92b_4efc;

/// UBERBLOCK_MAGIC, OpenZFS include/sys/uberblock.h.
pub(super) const ZFS_UBERBLOCK: u64 = 0x00ba_b10c;

/// EXT2_SUPER_MAGIC, include/uapi/linux/magic.h.
pub(super) const EXT: [u8; 2] = [0x53, 0xef];
