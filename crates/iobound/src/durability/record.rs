//! A sealed record: what a slot holds, and what it says of itself when it is read back.
//!
//! A record is a function of its run, thread and sequence alone, so that one that is damaged can be
//! compared, sector by sector, with what should stand there.

use super::geometry::{Geometry, SECTOR};

/// First bytes of a record, with its format's version.
const MAGIC: &[u8; 8] = b"iobdura1";
/// Where each field is; numbers are little-endian.
mod at {
    pub const RUN: usize = 8;
    pub const THREAD: usize = 16;
    pub const LENGTH: usize = 20;
    pub const SEQUENCE: usize = 24;
    pub const PREVIOUS: usize = 32;
    pub const GENERATION: usize = 40;
    pub const SLOT: usize = 48;
    pub const SEED: usize = 56;
    pub const CHECKSUM: usize = 64;
    pub const PAYLOAD: usize = 72;
}

/// Names a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Which run wrote it.
    pub run: u64,
    /// Which of its threads.
    pub thread: u32,
    /// The how-manieth of that thread, from 1. Its existence says that the sync of the one before
    /// had succeeded.
    pub seq: u64,
}

/// What a block that was read back is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A whole record.
    Record(Key),
    /// A whole record of this format that does not belong where it stands.
    Misplaced(Key),
    /// It begins as a record, and its checksum is wrong.
    Damaged,
    /// No record.
    Foreign,
}

/// Writes the record over the whole block, whose length is the geometry's.
pub fn render(key: Key, geometry: &Geometry, block: &mut [u8]) {
    let seed = seed_of(key);
    fill(seed, block);
    put(block, 0, MAGIC);
    put(block, at::RUN, &key.run.to_le_bytes());
    put(block, at::THREAD, &key.thread.to_le_bytes());
    put(block, at::LENGTH, &(block.len() as u32).to_le_bytes());
    put(block, at::SEQUENCE, &key.seq.to_le_bytes());
    put(block, at::PREVIOUS, &(key.seq - 1).to_le_bytes());
    put(block, at::GENERATION, &geometry.generation(key.seq).to_le_bytes());
    put(block, at::SLOT, &geometry.slot(key.thread, key.seq).to_le_bytes());
    put(block, at::SEED, &seed.to_le_bytes());
    put(block, at::CHECKSUM, &[0; at::PAYLOAD - at::CHECKSUM]);
    let checksum = crc32c::crc32c(block);
    put(block, at::CHECKSUM, &checksum.to_le_bytes());
}

/// What the block that stands in `slot` is.
pub fn read(block: &[u8], slot: u64, geometry: &Geometry) -> Content {
    if block.len() < SECTOR as usize || block[..8] != MAGIC[..] {
        return Content::Foreign;
    }
    if !checksum_holds(block) {
        return Content::Damaged;
    }
    let key = Key {
        run: u64_at(block, at::RUN),
        thread: u32_at(block, at::THREAD),
        seq: u64_at(block, at::SEQUENCE),
    };
    let belongs = u32_at(block, at::LENGTH) as usize == block.len()
        && (1..=geometry.last()).contains(&key.seq)
        && key.thread < geometry.threads
        && u64_at(block, at::PREVIOUS) == key.seq - 1
        && u64_at(block, at::SLOT) == slot
        && geometry.slot(key.thread, key.seq) == slot
        && u64_at(block, at::GENERATION) == geometry.generation(key.seq);
    if belongs { Content::Record(key) } else { Content::Misplaced(key) }
}

/// How many of the block's sectors are those of the record.
pub fn sectors_of(block: &[u8], key: Key, geometry: &Geometry) -> u32 {
    let mut whole = vec![0; geometry.bs as usize];
    render(key, geometry, &mut whole);
    let sector = SECTOR as usize;
    whole.chunks(sector).zip(block.chunks(sector)).filter(|(wanted, found)| wanted == found).count() as u32
}

/// Fills a block with bytes that no other seed gives, and no sector of it twice.
pub fn fill(seed: u64, block: &mut [u8]) {
    let mut state = seed;
    for word in block.chunks_mut(8) {
        let bytes = next(&mut state).to_le_bytes();
        word.copy_from_slice(&bytes[..word.len()]);
    }
}

fn checksum_holds(block: &[u8]) -> bool {
    let (before, rest) = block.split_at(at::CHECKSUM);
    let (field, payload) = rest.split_at(at::PAYLOAD - at::CHECKSUM);
    let sum = crc32c::crc32c_append(crc32c::crc32c(before), &[0; at::PAYLOAD - at::CHECKSUM]);
    let sum = crc32c::crc32c_append(sum, payload);
    field[..4] == sum.to_le_bytes() && field[4..] == [0; 4]
}

/// SplitMix64 (Steele, Lea and Flood 2014): each value once in a period, so seeds do not meet.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn seed_of(key: Key) -> u64 {
    let mut state = key.run;
    state = next(&mut state) ^ u64::from(key.thread);
    state = next(&mut state) ^ key.seq;
    next(&mut state)
}

fn put(block: &mut [u8], at: usize, bytes: &[u8]) {
    block[at..at + bytes.len()].copy_from_slice(bytes);
}

fn u64_at(block: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(block[at..at + 8].try_into().expect("eight bytes"))
}

fn u32_at(block: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(block[at..at + 4].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durability::geometry::Pattern;
    use proptest::prelude::*;

    fn geometry(bs: u32) -> Geometry {
        Geometry { bs, threads: 2, slots_per_thread: 3, pattern: Pattern::Overwrite }
    }

    fn block(key: Key, geometry: &Geometry) -> Vec<u8> {
        let mut block = vec![0; geometry.bs as usize];
        render(key, geometry, &mut block);
        block
    }

    #[test]
    fn a_record_reads_back_where_it_belongs_and_nowhere_else() {
        for bs in [512, 4096, 8192] {
            let geometry = geometry(bs);
            let key = Key { run: 7, thread: 1, seq: 5 };
            let block = block(key, &geometry);
            assert_eq!(read(&block, 3, &geometry), Content::Record(key));
            assert_eq!(read(&block, 1, &geometry), Content::Misplaced(key));
            assert_eq!(sectors_of(&block, key, &geometry), bs / 512);
            assert_eq!(sectors_of(&block, Key { seq: 2, ..key }, &geometry), 0);
        }
    }

    #[test]
    fn a_torn_record_shows_how_much_of_it_arrived() {
        let geometry = geometry(4096);
        let (old, new) = (Key { run: 7, thread: 0, seq: 1 }, Key { run: 7, thread: 0, seq: 4 });
        let mut torn = block(new, &geometry);
        torn[1024..].copy_from_slice(&block(old, &geometry)[1024..]);
        assert_eq!(read(&torn, 0, &geometry), Content::Damaged);
        assert_eq!((sectors_of(&torn, new, &geometry), sectors_of(&torn, old, &geometry)), (2, 6));
        assert_eq!(read(&[0; 4096], 0, &geometry), Content::Foreign);
    }

    proptest! {
        #[test]
        fn any_flipped_bit_is_found(bit in 0usize..4096 * 8, seq in 1u64..99) {
            let geometry = geometry(4096);
            let key = Key { run: 7, thread: 0, seq };
            let mut block = block(key, &geometry);
            block[bit / 8] ^= 1 << (bit % 8);
            let content = read(&block, geometry.slot(0, seq), &geometry);
            prop_assert!(matches!(content, Content::Damaged | Content::Foreign), "{content:?}");
        }

        #[test]
        fn any_bytes_read(mut bytes in prop::collection::vec(any::<u8>(), 0..1100), ours in any::<bool>()) {
            if ours && bytes.len() > 8 {
                bytes[..8].copy_from_slice(MAGIC);
            }
            read(&bytes, 0, &geometry(512));
        }
    }
}
