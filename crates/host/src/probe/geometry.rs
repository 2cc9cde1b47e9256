//! Size of a file system, and how it is laid out over stripes.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::ioctl::{self, Getter, Opcode, opcode};

use crate::mounts::{Mount, unescape};
use crate::system::System;

/// What can be found out about a mounted file system.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Geometry {
    pub size_bytes: u64,
    pub free_bytes: u64,
    pub block_bytes: u64,
    pub stripe_unit_bytes: Option<u64>,
    pub stripe_width_bytes: Option<u64>,
    pub uuid: Option<String>,
}

/// Of this machine's.
pub(super) fn live(mount: &Mount, device: &str) -> Geometry {
    let mut geometry = Geometry::default();
    if let Ok(told) = rustix::fs::statvfs(&mount.mount_point) {
        let bytes = |blocks: u64| blocks.saturating_mul(told.f_frsize);
        geometry.size_bytes = bytes(told.f_blocks);
        geometry.free_bytes = bytes(told.f_bavail);
        geometry.block_bytes = told.f_frsize;
    }
    match mount.filesystem.as_str() {
        "xfs" => xfs(&mount.mount_point, &mut geometry),
        "ext2" | "ext3" | "ext4" => ext(device, &mut geometry),
        _ => {}
    }
    by_options(mount, geometry)
}

/// The head of `struct xfs_fsop_geom_v1`, fs/xfs/libxfs/xfs_fs.h: what every kernel answers, to every
/// user who may open the mount point.
#[repr(C)]
struct XfsGeometry {
    blocksize: u32,
    sizes: [u32; 7],
    counts: [u64; 4],
    uuid: [u8; 16],
    sunit: u32,
    swidth: u32,
    rest: [u32; 5],
}
const _: () = assert!(size_of::<XfsGeometry>() == 112);

const XFS_IOC_FSGEOMETRY_V1: Opcode = opcode::read::<XfsGeometry>(b'X', 100);

fn xfs(mount_point: &Path, geometry: &mut Geometry) {
    let Ok(directory) = File::open(mount_point) else { return };
    // SAFETY: the request writes one `struct xfs_fsop_geom_v1`, which `XfsGeometry` is laid out as, and
    // any bytes are a valid value of it. Other file systems refuse the request.
    let told = unsafe {
        let request = Getter::<{ XFS_IOC_FSGEOMETRY_V1 }, XfsGeometry>::new();
        ioctl::ioctl(&directory, request)
    };
    let Ok(told) = told else { return };
    let blocks = |count: u32| Some(u64::from(count) * u64::from(told.blocksize));
    geometry.block_bytes = told.blocksize.into();
    geometry.stripe_unit_bytes = blocks(told.sunit);
    geometry.stripe_width_bytes = blocks(told.swidth);
    geometry.uuid = Some(uuid(&told.uuid));
}

fn uuid(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    match digits.len() {
        32 => {
            let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
            parts.join("-")
        }
        _ => digits,
    }
}

/// `struct ext4_super_block` at byte 1,024: Documentation/filesystems/ext4/super.rst.
fn ext(device: &str, geometry: &mut Geometry) {
    let node = Path::new("/dev").join(device.replace('!', "/"));
    let mut block = [0; 1024];
    let read = File::open(node).and_then(|file| file.read_exact_at(&mut block, 1024));
    if read.is_ok() {
        ext_superblock(&block, geometry);
    }
}

fn ext_superblock(block: &[u8; 1024], geometry: &mut Geometry) {
    const MAGIC: [u8; 2] = [0x53, 0xef];
    let word = |at: usize| u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]);
    if block[0x38..0x3a] != MAGIC {
        return;
    }
    // Blocks are 1,024 << s_log_block_size; the largest that there is are 64 KiB.
    let shift = word(0x18);
    if shift > 6 {
        return;
    }
    let block_bytes = 1024u64 << shift;
    let stride = u64::from(u16::from_le_bytes([block[0x164], block[0x165]]));
    geometry.block_bytes = block_bytes;
    geometry.stripe_unit_bytes = Some(stride * block_bytes);
    geometry.stripe_width_bytes = Some(u64::from(word(0x170)) * block_bytes);
    geometry.uuid = Some(uuid(&block[0x68..0x78]));
}

/// Fills in what the mount options tell. XFS shows `sunit` and `swidth` in sectors of 512 bytes, and
/// only when they are not 0 (xfs_fs_show_options); ext4 shows `stripe`, the width in blocks, when there
/// is one (_ext4_show_options), and says nothing about the stride.
pub(super) fn by_options(mount: &Mount, mut geometry: Geometry) -> Geometry {
    let number = |name: &str| mount.option_value(name).map(|value| value.parse::<u64>().ok());
    let times = |told: Option<Option<u64>>, unit: u64| match told {
        None => Some(0),
        Some(value) => value.and_then(|value| value.checked_mul(unit)),
    };
    match mount.filesystem.as_str() {
        "xfs" if geometry.stripe_unit_bytes.is_none() => {
            geometry.stripe_unit_bytes = times(number("sunit"), 512);
            geometry.stripe_width_bytes = times(number("swidth"), 512);
        }
        "ext4" if geometry.stripe_width_bytes.is_none() => {
            // Nearly all have blocks of 4 KiB; nothing else in sight tells.
            let block = if geometry.block_bytes == 0 { 4096 } else { geometry.block_bytes };
            geometry.stripe_width_bytes = times(number("stripe"), block);
        }
        _ => {}
    }
    geometry
}

/// What a captured tree tells in place of statvfs(2) and the superblock: the file `/geometry`, a line
/// a mount: `/data block=4096 su=65536 sw=262144 size=... free=... uuid=...`, sizes in bytes, the mount
/// point with mountinfo's escapes.
pub(super) fn captured(system: &System) -> HashMap<String, Geometry> {
    if system.is_live() {
        return HashMap::new();
    }
    let text = system.attribute("/geometry").unwrap_or_default();
    let line = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let at = unescape(words.next()?);
        let mut geometry = Geometry::default();
        for (name, value) in words.filter_map(|word| word.split_once('=')) {
            let bytes = value.parse().ok();
            match name {
                "block" => geometry.block_bytes = bytes.unwrap_or(0),
                "size" => geometry.size_bytes = bytes.unwrap_or(0),
                "free" => geometry.free_bytes = bytes.unwrap_or(0),
                "su" => geometry.stripe_unit_bytes = bytes,
                "sw" => geometry.stripe_width_bytes = bytes,
                "uuid" => geometry.uuid = Some(value.to_owned()),
                _ => {}
            }
        }
        Some((at, geometry))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ext4_superblock() {
        let mut block = [0; 1024];
        block[0x38..0x3a].copy_from_slice(&[0x53, 0xef]);
        block[0x18] = 2;
        block[0x164..0x166].copy_from_slice(&16u16.to_le_bytes());
        block[0x170..0x174].copy_from_slice(&64u32.to_le_bytes());
        block[0x68..0x78].copy_from_slice(&[0x1b; 16]);
        let mut geometry = Geometry::default();
        ext_superblock(&block, &mut geometry);
        assert_eq!(geometry.stripe_unit_bytes, Some(64 << 10));
        assert_eq!(geometry.stripe_width_bytes, Some(256 << 10));
        assert_eq!(geometry.uuid.as_deref(), Some("1b1b1b1b-1b1b-1b1b-1b1b-1b1b1b1b1b1b"));
        for (at, odd) in [(0x38, 0), (0x18, 7)] {
            let mut broken = block;
            broken[at] = odd;
            let mut geometry = Geometry::default();
            ext_superblock(&broken, &mut geometry);
            assert_eq!(geometry, Geometry::default());
        }
    }

    #[test]
    fn options_tell_the_rest() {
        let mount = |line: &str| crate::mounts::parse_mountinfo(line).remove(0);
        let of = |line: &str| {
            let told = by_options(&mount(line), Geometry::default());
            (told.stripe_unit_bytes, told.stripe_width_bytes)
        };
        let k = |n: u64| Some(n << 10);
        assert_eq!(of("1 1 9:0 / /d rw - xfs /dev/md0 rw,sunit=128,swidth=1024"), (k(64), k(512)));
        assert_eq!(of("1 1 9:0 / /d rw - xfs /dev/md0 rw,noquota"), (Some(0), Some(0)));
        assert_eq!(of("1 1 9:0 / /d rw - ext4 /dev/md0 rw,stripe=32"), (None, k(128)));
        assert_eq!(of("1 1 9:0 / /d rw - xfs /dev/md0 rw,sunit=99999999999999999999"), (None, Some(0)));
        assert_eq!(of("1 1 9:0 / /d rw - vfat /dev/md0 rw"), (None, None));
    }
}
