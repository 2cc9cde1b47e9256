//! Seals: what a verified block carries, and what a block read back says about the write that
//! should be in it.
//!
//! A block is sealed in pieces of at most 4 KiB. Each piece starts with a header that names where
//! it belongs, which write of that place it is (its generation) and the checksum of its content;
//! the header has a checksum of its own. Reading back tells apart: a *torn* write (pieces of
//! different generations, or a piece whose content is not what its own header promises), a *lost*
//! one (an older generation, or nothing, where a newer was acknowledged), a *misplaced* one (sound,
//! but belonging elsewhere), and plain corruption.

use std::cmp::Ordering;

/// First bytes of every piece: "iobound1" read as a little-endian number.
const MAGIC: u64 = u64::from_le_bytes(*b"iobound1");
/// Largest piece.
const PIECE_MAX: usize = 4096;
/// Length of the header.
const HEADER: usize = 48;

/// Where a block belongs and which write of it this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Tells files apart.
    pub(crate) file_key: u64,
    /// Of the block's first byte.
    pub(crate) offset: u64,
    /// 1 is the first write of the block in this run.
    pub(crate) generation: u32,
    /// Tells runs apart: an older run's first write must not pass for this one's.
    pub(crate) run: u32,
}

/// What a block should hold, where this run wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) generation: u32,
    pub(crate) run: u32,
}

/// What reading a block back showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    Torn(String),
    Lost(String),
    Misplaced(String),
    Corrupt(String),
}

/// Length of the pieces of a block of `bs` bytes (a multiple of 512).
fn piece_len(bs: usize) -> usize {
    if bs.is_multiple_of(PIECE_MAX) { PIECE_MAX } else { 512 }
}

fn put(piece: &mut [u8], at: usize, bytes: &[u8]) {
    piece[at..at + bytes.len()].copy_from_slice(bytes);
}

fn u64_at(piece: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(piece[at..at + 8].try_into().expect("eight bytes"))
}

fn u32_at(piece: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(piece[at..at + 4].try_into().expect("four bytes"))
}

/// Seals every piece of a block, over whatever content it has.
pub(crate) fn seal(block: &mut [u8], place: Place) {
    let len = piece_len(block.len());
    for (index, piece) in block.chunks_mut(len).enumerate() {
        put(piece, 0, &MAGIC.to_le_bytes());
        put(piece, 8, &place.file_key.to_le_bytes());
        put(piece, 16, &(place.offset + (index * len) as u64).to_le_bytes());
        put(piece, 24, &place.generation.to_le_bytes());
        put(piece, 28, &(len as u32).to_le_bytes());
        let content = crc32c::crc32c(&piece[HEADER..]);
        put(piece, 32, &content.to_le_bytes());
        put(piece, 36, &place.run.to_le_bytes());
        put(piece, 40, &[0; 4]);
        let header = crc32c::crc32c(&piece[..HEADER - 4]);
        put(piece, HEADER - 4, &header.to_le_bytes());
    }
}

/// Checks a block that should hold the write `expected`; None: any sealed write will do.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn check(
    block: &[u8],
    file_key: u64,
    offset: u64,
    expected: Option<Expected>,
) -> Result<(), Defect> {
    let len = piece_len(block.len());
    let mut generations: Option<(u32, u32)> = None;
    for (index, piece) in block.chunks(len).enumerate() {
        let at = offset + (index * len) as u64;
        if u64_at(piece, 0) != MAGIC {
            return Err(match expected {
                Some(_) if piece.iter().all(|&byte| byte == 0) => {
                    Defect::Lost(format!("offset {at} reads as zeroes: its write never arrived"))
                }
                Some(_) => {
                    Defect::Lost(format!("offset {at} holds what was there before: its write never arrived"))
                }
                None => {
                    Defect::Corrupt(format!("offset {at} holds no seal: it was never written with verify"))
                }
            });
        }
        if u32_at(piece, HEADER - 4) != crc32c::crc32c(&piece[..HEADER - 4]) {
            return Err(Defect::Corrupt(format!("offset {at}: the seal itself is damaged")));
        }
        if u64_at(piece, 8) != file_key || u64_at(piece, 16) != at {
            let (key, from) = (u64_at(piece, 8), u64_at(piece, 16));
            let whose = if key == file_key { "" } else { " of another file or run" };
            return Err(Defect::Misplaced(format!("offset {at} holds the data of offset {from}{whose}")));
        }
        if u32_at(piece, 32) != crc32c::crc32c(&piece[HEADER..]) {
            return Err(Defect::Torn(format!("offset {at}: content does not match its own checksum")));
        }
        let generation = u32_at(piece, 24);
        let (min, max) = generations.unwrap_or((generation, generation));
        generations = Some((min.min(generation), max.max(generation)));
    }
    let Some((min, max)) = generations else { return Ok(()) };
    if min != max {
        return Err(Defect::Torn(format!("offset {offset} mixes writes {min} and {max}")));
    }
    let Some(expected) = expected else { return Ok(()) };
    if u32_at(block, 36) != expected.run {
        return Err(Defect::Lost(format!(
            "offset {offset} holds an earlier run's data: its write never arrived"
        )));
    }
    let acknowledged = expected.generation;
    match min.cmp(&acknowledged) {
        Ordering::Less => Err(Defect::Lost(format!(
            "offset {offset} holds write {min}, write {acknowledged} was acknowledged"
        ))),
        Ordering::Greater => {
            Err(Defect::Corrupt(format!("offset {offset} holds write {min}, only {acknowledged} were made")))
        }
        Ordering::Equal => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sealed(len: usize, offset: u64, generation: u32) -> Vec<u8> {
        let mut block: Vec<u8> = (0..len).map(|i| (i * 7 + generation as usize) as u8).collect();
        seal(&mut block, Place { file_key: 9, offset, generation, run: 7 });
        block
    }

    fn expect(generation: u32) -> Option<Expected> {
        Some(Expected { generation, run: 7 })
    }

    #[test]
    fn a_block_as_written_passes() {
        for len in [512, 1024, 4096, 5120, 16_384] {
            assert_eq!(check(&sealed(len, 8192, 3), 9, 8192, expect(3)), Ok(()));
        }
    }

    #[test]
    fn each_defect_is_told_apart() {
        let mut torn = sealed(8192, 0, 2);
        torn[4096..].copy_from_slice(&sealed(8192, 0, 1)[4096..]);
        assert!(matches!(check(&torn, 9, 0, expect(2)), Err(Defect::Torn(_))));
        let mut torn_inside = sealed(4096, 0, 2);
        torn_inside[2048..].copy_from_slice(&sealed(4096, 0, 1)[2048..]);
        assert!(matches!(check(&torn_inside, 9, 0, expect(2)), Err(Defect::Torn(_))));
        assert!(matches!(check(&sealed(4096, 0, 1), 9, 0, expect(2)), Err(Defect::Lost(_))));
        let other_run = Some(Expected { generation: 1, run: 8 });
        assert!(matches!(check(&sealed(4096, 0, 1), 9, 0, other_run), Err(Defect::Lost(_))));
        assert!(matches!(check(&[0; 4096], 9, 0, expect(1)), Err(Defect::Lost(_))));
        assert!(matches!(check(&sealed(4096, 4096, 1), 9, 0, expect(1)), Err(Defect::Misplaced(_))));
        assert!(matches!(check(&sealed(4096, 0, 1), 8, 0, expect(1)), Err(Defect::Misplaced(_))));
        assert!(matches!(check(&[7; 4096], 9, 0, expect(1)), Err(Defect::Lost(_))));
        assert!(matches!(check(&[7; 4096], 9, 0, None), Err(Defect::Corrupt(_))));
    }

    proptest! {
        #[test]
        fn any_flipped_bit_is_found(bit in 0usize..8192 * 8, generation in 1u32..9) {
            let mut block = sealed(8192, 4096, generation);
            // Spare bytes of the header are covered by its checksum too.
            block[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(check(&block, 9, 4096, expect(generation)).is_err());
        }

        #[test]
        fn no_content_panics(block in prop::collection::vec(any::<u8>(), 8..9)) {
            let block: Vec<u8> = block.iter().cycle().take(4096).copied().collect();
            let _ = check(&block, 1, 0, None);
        }
    }
}
