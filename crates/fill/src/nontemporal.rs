//! Stores that go past the cache, straight to memory.
//!
//! An ordinary store first reads the line it will overwrite; one past the cache does not. That pays when the
//! buffer will not be read again from the cache anyway.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};

use crate::layout::VECTOR_BYTES;

/// Bytes of a cache line, and the alignment these stores ask for.
pub(crate) const LINE_BYTES: usize = VECTOR_BYTES;

/// Whether this processor's instruction set has such stores; if not, `copy_lines` is an ordinary copy.
pub(crate) const AVAILABLE: bool = cfg!(target_arch = "x86_64");

/// Copies `from` to `to`, whole lines past the cache. Call `fence` after the last.
///
/// # Panics
/// When the lengths differ or `to` does not begin on a line.
#[inline(always)]
pub(crate) fn copy_lines(to: &mut [u8], from: &[u8]) {
    assert_eq!(to.len(), from.len());
    assert!(to.as_ptr().addr().is_multiple_of(LINE_BYTES));
    #[cfg(target_arch = "x86_64")]
    {
        const STORE_BYTES: usize = size_of::<__m128i>();
        let (to, to_tail) = to.as_chunks_mut::<STORE_BYTES>();
        let (from, from_tail) = from.as_chunks::<STORE_BYTES>();
        for (to, from) in to.iter_mut().zip(from) {
            // SAFETY: both are 16 bytes that may be read and written, `to` is aligned to 16 because the first
            // one is aligned to a line, and SSE2 is part of x86-64.
            unsafe { _mm_stream_si128(to.as_mut_ptr().cast(), _mm_loadu_si128(from.as_ptr().cast())) };
        }
        to_tail.copy_from_slice(from_tail);
    }
    #[cfg(not(target_arch = "x86_64"))]
    to.copy_from_slice(from);
}

/// Orders the stores past the cache before all later ones, as the language expects of any store.
#[inline(always)]
pub(crate) fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64, and the instruction touches no memory.
    unsafe {
        _mm_sfence();
    }
}

/// Stores a constant over `buffer`, past the cache where the processor can: the machine's own store limit, to
/// compare a fill with.
pub fn store_limit(buffer: &mut [u8]) {
    // Unknown to the compiler, or it would turn the loop into a `memset`.
    let line = std::hint::black_box([0xA5; LINE_BYTES]);
    let skip = buffer.as_ptr().align_offset(LINE_BYTES).min(buffer.len());
    let (head, rest) = buffer.split_at_mut(skip);
    let (lines, tail) = rest.as_chunks_mut::<LINE_BYTES>();
    head.fill(line[0]);
    for out in lines {
        copy_lines(out, &line);
    }
    tail.fill(line[0]);
    fence();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_limit_covers_any_part() {
        let mut buffer = vec![0; 1000];
        for start in 0..70 {
            for end in [start, start + 1, start + 63, start + 64, 900] {
                buffer.fill(0);
                store_limit(&mut buffer[start..end]);
                assert!(buffer[..start].iter().all(|byte| *byte == 0));
                assert!(buffer[start..end].iter().all(|byte| *byte == 0xA5));
                assert!(buffer[end..].iter().all(|byte| *byte == 0));
            }
        }
    }
}
