//! What a device holds, as far as its signatures tell.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::magic::{At, EXT, FIXED, MD, PAGE_SIZES, SWAP, ZFS_UBERBLOCK};

/// A sign that somebody's data is on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// What: `ext4`, `LVM2 physical volume`, `GPT partition table`.
    pub name: String,
    /// Where its mark lies, bytes from the start.
    pub offset: u64,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.name, self.offset)
    }
}

/// How much of the start is looked at for data of no known kind, bytes.
const HEAD_BYTES: u64 = 1 << 20;

/// Nearly all marks lie within this much of the start: it is read once, not once a mark. Bytes.
const MARKS_BYTES: u64 = 72 << 10;

/// A device or image that is only ever read.
struct Image<'a> {
    file: &'a File,
    size: u64,
    /// Its first bytes.
    start: Vec<u8>,
}

impl<'a> Image<'a> {
    fn new(file: &'a File, size: u64) -> io::Result<Image<'a>> {
        let mut start = vec![0; MARKS_BYTES.min(size) as usize];
        file.read_exact_at(&mut start, 0)?;
        Ok(Image { file, size, start })
    }

    /// Bytes at an offset; None when they would not lie within the device.
    fn bytes<const N: usize>(&self, offset: u64) -> io::Result<Option<[u8; N]>> {
        let mut bytes = [0; N];
        Ok(self.fill(offset, &mut bytes)?.then_some(bytes))
    }

    fn fill(&self, offset: u64, into: &mut [u8]) -> io::Result<bool> {
        if offset.checked_add(into.len() as u64).is_none_or(|end| end > self.size) {
            return Ok(false);
        }
        let known = usize::try_from(offset).ok().and_then(|from| self.start.get(from..)?.get(..into.len()));
        match known {
            Some(known) => into.copy_from_slice(known),
            None => self.file.read_exact_at(into, offset)?,
        }
        Ok(true)
    }

    fn holds(&self, offset: u64, expected: &[u8]) -> io::Result<bool> {
        let mut bytes = vec![0; expected.len()];
        Ok(self.fill(offset, &mut bytes)? && bytes == expected)
    }
}

/// Every signature on a device or image of `size_bytes`, by offset. Only reads.
///
/// # Errors
/// When a part that a signature may lie in cannot be read: the device may then hold anything.
pub fn signatures(file: &File, size_bytes: u64) -> io::Result<Vec<Signature>> {
    let image = Image::new(file, size_bytes)?;
    let mut found = Vec::new();
    fixed(&image, &mut found)?;
    ext(&image, &mut found)?;
    swap(&image, &mut found)?;
    lvm(&image, &mut found)?;
    md(&image, &mut found)?;
    zfs(&image, &mut found)?;
    partition_tables(&image, &mut found)?;
    found.sort_by(|a, b| (a.offset, &a.name).cmp(&(b.offset, &b.name)));
    found.dedup();
    Ok(found)
}

/// Whether the first MiB of a device holds anything but zeros: data without a known signature.
///
/// # Errors
/// When it cannot be read.
pub(super) fn head_is_empty(file: &File, size_bytes: u64) -> io::Result<bool> {
    let image = Image::new(file, size_bytes)?;
    let mut head = vec![0; HEAD_BYTES.min(size_bytes) as usize];
    image.fill(0, &mut head)?;
    Ok(head.iter().all(|byte| *byte == 0))
}

fn push(found: &mut Vec<Signature>, name: impl Into<String>, offset: u64) {
    found.push(Signature { name: name.into(), offset });
}

fn fixed(image: &Image, found: &mut Vec<Signature>) -> io::Result<()> {
    for magic in FIXED {
        let offset = match magic.at {
            At::Start(offset) => Some(offset),
            At::BeforeEnd(distance) => image.size.checked_sub(distance),
        };
        if let Some(offset) = offset
            && image.holds(offset, magic.bytes)?
        {
            push(found, magic.name, offset);
        }
    }
    Ok(())
}

/// ext2, 3 and 4 share a magic; features tell them apart as in libblkid/ext.c.
/// Superblock at 1,024: `struct ext4_super_block`, fs/ext4/ext4.h.
fn ext(image: &Image, found: &mut Vec<Signature>) -> io::Result<()> {
    const SUPERBLOCK: u64 = 1024;
    const MAGIC: usize = 56;
    const COMPAT_HAS_JOURNAL: u32 = 0x4;
    const INCOMPAT_JOURNAL_DEVICE: u32 = 0x8;
    /// FILETYPE, RECOVER, META_BG.
    const INCOMPAT_OF_EXT3: u32 = 0x2 | 0x4 | 0x10;
    /// SPARSE_SUPER, LARGE_FILE, BTREE_DIR.
    const RO_COMPAT_OF_EXT3: u32 = 0x1 | 0x2 | 0x4;
    let Some(block) = image.bytes::<104>(SUPERBLOCK)? else { return Ok(()) };
    if block[MAGIC..MAGIC + 2] != EXT {
        return Ok(());
    }
    let feature = |at: usize| u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]);
    let (compat, incompat, ro_compat) = (feature(92), feature(96), feature(100));
    let name = if incompat & INCOMPAT_JOURNAL_DEVICE != 0 {
        "ext journal"
    } else if incompat & !INCOMPAT_OF_EXT3 != 0 || ro_compat & !RO_COMPAT_OF_EXT3 != 0 {
        "ext4"
    } else if compat & COMPAT_HAS_JOURNAL != 0 {
        "ext3"
    } else {
        "ext2"
    };
    push(found, name, SUPERBLOCK + MAGIC as u64);
    Ok(())
}

fn swap(image: &Image, found: &mut Vec<Signature>) -> io::Result<()> {
    for page in PAGE_SIZES {
        let offset = page - 10;
        for (name, bytes) in SWAP {
            if image.holds(offset, *bytes)? {
                push(found, *name, offset);
            }
        }
    }
    Ok(())
}

/// The label is in one of the first four sectors: LABEL_SCAN_SECTORS, lvm2 lib/label/label.h; its
/// type is at byte 24 of it.
fn lvm(image: &Image, found: &mut Vec<Signature>) -> io::Result<()> {
    for sector in 0..4 {
        let offset = sector * 512;
        if image.holds(offset, b"LABELONE")? && image.holds(offset + 24, b"LVM2 001")? {
            push(found, "LVM2 physical volume", offset);
        }
    }
    Ok(())
}

/// Linux RAID superblocks; places by version as in mdadm's super0.c and super1.c.
fn md(image: &Image, found: &mut Vec<Signature>) -> io::Result<()> {
    let little = MD.to_le_bytes();
    let sectors = image.size / 512;
    // Versions 1.x are little-endian, and name their version after the magic.
    let mut version_1 = vec![("md RAID member (1.1)", 0), ("md RAID member (1.2)", 4096)];
    if sectors >= 16 {
        // At least 8 KiB before the end, at a multiple of 4 KiB.
        version_1.push(("md RAID member (1.0)", ((sectors - 16) & !7) * 512));
    }
    for (name, offset) in version_1 {
        if image.holds(offset, &little)? && image.holds(offset + 4, &1u32.to_le_bytes())? {
            push(found, name, offset);
        }
    }
    // MD_NEW_SIZE_SECTORS, include/uapi/linux/raid/md_p.h: the last whole 64 KiB but one. It is in
    // the byte order of the machine that wrote it.
    const RESERVED: u64 = 64 << 10;
    if let Some(offset) = (image.size & !(RESERVED - 1)).checked_sub(RESERVED)
        && (image.holds(offset, &little)? || image.holds(offset, &MD.to_be_bytes())?)
        && !found.iter().any(|other| other.offset == offset)
    {
        push(found, "md RAID member (0.90)", offset);
    }
    Ok(())
}

/// Four labels of 256 KiB, two at each end, each with a ring of uberblocks in its second half:
/// OpenZFS include/sys/vdev_impl.h. One uberblock is enough.
fn zfs(image: &Image, found: &mut Vec<Signature>) -> io::Result<()> {
    const LABEL: u64 = 256 << 10;
    const RING: u64 = 128 << 10;
    /// The smallest slot: 1 << UBERBLOCK_SHIFT.
    const SLOT: usize = 1024;
    if image.size < 4 * LABEL {
        return Ok(());
    }
    let end = image.size & !(LABEL - 1);
    let mut ring = vec![0; RING as usize];
    for label in [0, LABEL, end - 2 * LABEL, end - LABEL] {
        image.fill(label + RING, &mut ring)?;
        let uberblock = ring.chunks(SLOT).position(|slot| {
            slot[..8] == ZFS_UBERBLOCK.to_le_bytes() || slot[..8] == ZFS_UBERBLOCK.to_be_bytes()
        });
        if let Some(slot) = uberblock {
            push(found, "ZFS pool member", label + RING + (slot * SLOT) as u64);
        }
    }
    Ok(())
}

/// GPT: UEFI specification 5.3.2, header in sector 1 and in the last sector. MBR: the four entries
/// from byte 446; boot sectors of file systems end in the same two bytes, so an entry must look
/// like one.
fn partition_tables(image: &Image, found: &mut Vec<Signature>) -> io::Result<()> {
    const ENTRIES: usize = 446;
    for sector in [512, 4096] {
        if image.holds(sector, b"EFI PART")? {
            push(found, "GPT partition table", sector);
        }
        if let Some(last) = image.size.checked_sub(sector)
            && image.holds(last, b"EFI PART")?
        {
            push(found, "GPT partition table (backup)", last);
        }
    }
    let Some(boot) = image.bytes::<512>(0)? else { return Ok(()) };
    let is_entry = |entry: &[u8]| {
        let (flag, kind, sectors) = (entry[0], entry[4], &entry[12..16]);
        (flag == 0 || flag == 0x80) && kind != 0 && sectors != [0; 4]
    };
    let entries = boot[ENTRIES..ENTRIES + 64].chunks(16);
    if boot[510..] == [0x55, 0xaa]
        && entries.clone().all(|entry| entry[0] == 0 || entry[0] == 0x80)
        && entries.clone().any(is_entry)
    {
        push(found, "MBR partition table", 510);
    }
    Ok(())
}
