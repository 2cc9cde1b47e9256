//! From a range of a stream to its cells: whole ones in place, cut ones through a copy.

use crate::dedup::DedupMap;
use crate::layout::{CELL_BYTES, Layout, VECTOR_BYTES};
use crate::nontemporal::{self, LineStore};
use crate::random::{BLOCK_BYTES, Keys};

/// All that `fill` needs beside the range: a specification, worked out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) seed_keys: Keys,
    pub(crate) layout: Layout,
    pub(crate) dedup: DedupMap,
}

/// Bytes whose vectors are whole cache lines.
#[repr(align(64))]
struct Aligned<const BYTES: usize>([u8; BYTES]);

/// Writes the range to `buffer`.
///
/// Inlined into one function per instruction set, which compiles it for those instructions.
#[inline(always)]
pub(crate) fn fill<S: LineStore>(store: S, plan: &Plan, stream: u64, position: u64, buffer: &mut [u8]) {
    let stream_keys = plan.seed_keys.derive(stream);
    let keys_of = |cell: u64| stream_keys.derive(plan.dedup.content(cell));

    let mut cell = position / CELL_BYTES as u64;
    let offset = (position % CELL_BYTES as u64) as usize;
    let head_bytes = if offset == 0 { 0 } else { buffer.len().min(CELL_BYTES - offset) };
    let (head, rest) = buffer.split_at_mut(head_bytes);
    if !head.is_empty() {
        write_part(&keys_of(cell), &plan.layout, offset, head);
        cell += 1;
    }

    let to_next_line = rest.as_ptr().align_offset(nontemporal::LINE_BYTES);
    let (cells, tail) = rest.as_chunks_mut::<CELL_BYTES>();
    if S::PAST_CACHE && to_next_line != 0 {
        let keys = (0..cells.len() as u64).map(|index| keys_of(cell + index));
        stream_between_lines(store, keys, &plan.layout, to_next_line, cells.as_flattened_mut());
        cell += cells.len() as u64;
        nontemporal::fence();
    } else if S::PAST_CACHE {
        // One copy for all: clearing it anew for each cell would cost as much as making the cell.
        let mut made = Aligned([0; CELL_BYTES]);
        for out in cells {
            stream_cell(store, &keys_of(cell), &plan.layout, &mut made, out);
            cell += 1;
        }
        nontemporal::fence();
    } else {
        for out in cells {
            write_cell(&keys_of(cell), &plan.layout, out);
            cell += 1;
        }
    }

    if !tail.is_empty() {
        write_part(&keys_of(cell), &plan.layout, 0, tail);
    }
}

/// Writes a whole cell.
#[inline(always)]
fn write_cell(keys: &Keys, layout: &Layout, out: &mut [u8; CELL_BYTES]) {
    if layout.is_random() {
        keys.spread().write_blocks(0, out);
        return;
    }
    let random_end = layout.random_bytes.next_multiple_of(BLOCK_BYTES);
    keys.spread().write_blocks(0, &mut out[..random_end]);
    write_run(layout, out);
}

/// Writes a whole cell past the cache, from a copy `made` that stays in it.
#[inline(always)]
fn stream_cell(
    store: impl LineStore,
    keys: &Keys,
    layout: &Layout,
    made: &mut Aligned<CELL_BYTES>,
    out: &mut [u8; CELL_BYTES],
) {
    if layout.is_random() {
        // Block by block, so that the processor makes the next one while it stores this one.
        let spread = keys.spread();
        let (blocks, _) = made.0.as_chunks_mut::<BLOCK_BYTES>();
        let (out_blocks, _) = out.as_chunks_mut::<BLOCK_BYTES>();
        for (index, (made, out)) in blocks.iter_mut().zip(out_blocks).enumerate() {
            spread.write_blocks(index, made);
            store.copy(out, made);
        }
    } else {
        write_cell(keys, layout, &mut made.0);
        store.copy(out, &made.0);
    }
}

/// Writes whole cells past the cache where they do not begin on cache lines, but `skew` bytes before one: what
/// is left of a cell behind its last whole line is stored together with the next cell.
#[inline(always)]
fn stream_between_lines(
    store: impl LineStore,
    keys: impl Iterator<Item = Keys>,
    layout: &Layout,
    skew: usize,
    out: &mut [u8],
) {
    const LINE: usize = nontemporal::LINE_BYTES;
    // What is left of the cell before, up to a line's end, and the cell.
    let mut made = Aligned([0; LINE + CELL_BYTES]);
    let (first, lines) = out.split_at_mut(skew.min(out.len()));
    let mut at = 0;
    for (index, keys) in keys.enumerate() {
        if let Some((_, [cell, ..])) =
            made.0.split_first_chunk_mut::<LINE>().map(|(left, cell)| (left, cell.as_chunks_mut().0))
        {
            write_cell(&keys, layout, cell);
        }
        let mut from = skew;
        if index == 0 {
            from += LINE;
            first.copy_from_slice(&made.0[LINE..from]);
        }
        let bytes = (LINE + CELL_BYTES - from) / LINE * LINE;
        store.copy(&mut lines[at..at + bytes], &made.0[from..from + bytes]);
        made.0.copy_within(from + bytes.., skew);
        at += bytes;
    }
    let left = lines.len() - at;
    lines[at..].copy_from_slice(&made.0[skew..skew + left]);
}

/// Repeats the random bytes up to the end of the cell.
#[inline(always)]
fn write_run(layout: &Layout, out: &mut [u8; CELL_BYTES]) {
    let (vectors, _) = out.as_chunks_mut::<VECTOR_BYTES>();
    let period = layout.period_bytes / VECTOR_BYTES;

    // The vector in which the run begins holds both. It is stored as a whole, because a load that finds its
    // bytes in two pending stores has to wait until both have reached the cache.
    let first = layout.random_bytes / VECTOR_BYTES;
    let (random, source) = (vectors[first], vectors[first - period]);
    let mut both = [0; VECTOR_BYTES];
    for (at, byte) in both.iter_mut().enumerate() {
        *byte = random[at] ^ ((random[at] ^ source[at]) & layout.run_mask[at]);
    }
    vectors[first] = both;

    for at in first + 1..vectors.len() {
        vectors[at] = vectors[at - period];
    }
}

/// Writes bytes `offset..offset + out.len()` of a cell.
#[inline(always)]
fn write_part(keys: &Keys, layout: &Layout, offset: usize, out: &mut [u8]) {
    let mut made = Aligned([0; CELL_BYTES]);
    let end = offset + out.len();
    if end <= layout.random_bytes {
        let first = offset / BLOCK_BYTES;
        keys.spread()
            .write_blocks(first, &mut made.0[first * BLOCK_BYTES..end.next_multiple_of(BLOCK_BYTES)]);
    } else {
        write_cell(keys, layout, &mut made.0);
    }
    out.copy_from_slice(&made.0[offset..end]);
}
