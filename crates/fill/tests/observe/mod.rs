//! What real tools and a block-hash scan see of the data.
#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::HashSet;

use iobound_fill::{FillSpec, Filler};
use xxhash_rust::xxh3::xxh3_128;

/// Piece at which compress ratios are measured.
pub const PIECE_BYTES: usize = 64 << 10;

/// The ratios that are asked, each with each.
pub const RATIOS: [f64; 5] = [1.0, 1.5, 2.0, 3.0, 5.0];

pub fn filler(compress_ratio: f64, dedup_ratio: f64, dedup_unit: usize) -> Filler {
    Filler::new(FillSpec { seed: 11, compress_ratio, dedup_ratio, dedup_unit }).unwrap()
}

pub fn bytes(filler: &Filler, stream: u64, position: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    filler.fill(stream, position, &mut bytes);
    bytes
}

/// Size before over size after, each piece compressed by itself with the real zstd library at level 1.
pub fn zstd_ratio(data: &[u8], piece_bytes: usize) -> f64 {
    zstd_ratio_at(1, data, piece_bytes)
}

pub fn zstd_ratio_at(level: i32, data: &[u8], piece_bytes: usize) -> f64 {
    let mut compressor = zstd::bulk::Compressor::new(level).unwrap();
    ratio(data, piece_bytes, |piece| compressor.compress(piece).unwrap().len())
}

/// The same with the real lz4 library, block format.
pub fn lz4_ratio(data: &[u8], piece_bytes: usize) -> f64 {
    ratio(data, piece_bytes, |piece| lz4::block::compress(piece, None, false).unwrap().len())
}

fn ratio(data: &[u8], piece_bytes: usize, mut compressed: impl FnMut(&[u8]) -> usize) -> f64 {
    let after: usize = data.chunks_exact(piece_bytes).map(&mut compressed).sum();
    data.len() as f64 / after as f64
}

/// Blocks over unique blocks, by hash.
#[derive(Default)]
pub struct BlockScan {
    seen: HashSet<u128>,
    blocks: usize,
}

impl BlockScan {
    pub fn add(&mut self, data: &[u8], block_bytes: usize) {
        for block in data.chunks_exact(block_bytes) {
            self.seen.insert(xxh3_128(block));
            self.blocks += 1;
        }
    }

    pub fn ratio(&self) -> f64 {
        self.blocks as f64 / self.seen.len() as f64
    }
}

/// The dedup ratio of a window of a stream.
pub fn dedup_ratio(filler: &Filler, position: u64, length: usize, block_bytes: usize) -> f64 {
    let mut scan = BlockScan::default();
    let mut buffer = vec![0; 4 << 20];
    let end = position + length as u64;
    for at in (position..end).step_by(buffer.len()) {
        filler.fill(0, at, &mut buffer);
        scan.add(&buffer, block_bytes);
    }
    scan.ratio()
}
