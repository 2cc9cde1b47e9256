//! The machine's own store limit, to compare a fill with.

use crate::isa::AvailableIsa;
use crate::nontemporal::{self, LINE_BYTES, LineStore};

/// What is stored: any byte but zero, which some processors store faster.
const BYTE: u8 = 0xA5;

/// Stores a constant over `buffer`, past the cache where the processor can.
pub fn store_limit(buffer: &mut [u8]) {
    AvailableIsa::detect().store_constant(buffer);
}

/// Inlined into one function per instruction set.
#[inline(always)]
pub(crate) fn store_constant(store: impl LineStore, buffer: &mut [u8]) {
    // Unknown to the compiler, or it could turn ordinary stores into a `memset` of its own.
    let line = std::hint::black_box([BYTE; LINE_BYTES]);
    let skip = buffer.as_ptr().align_offset(LINE_BYTES).min(buffer.len());
    let (head, rest) = buffer.split_at_mut(skip);
    let (lines, tail) = rest.as_chunks_mut::<LINE_BYTES>();
    head.fill(BYTE);
    for out in lines {
        store.copy(out, &line);
    }
    tail.fill(BYTE);
    nontemporal::fence();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;

    #[test]
    fn covers_any_part_with_any_instructions() {
        let mut buffer = vec![0; 1000];
        for isa in Isa::ALL.into_iter().filter_map(AvailableIsa::new) {
            for start in 0..70 {
                for end in [start, start + 1, start + 63, start + 64, 900] {
                    buffer.fill(0);
                    isa.store_constant(&mut buffer[start..end]);
                    assert!(buffer[..start].iter().all(|byte| *byte == 0));
                    assert!(buffer[start..end].iter().all(|byte| *byte == BYTE));
                    assert!(buffer[end..].iter().all(|byte| *byte == 0));
                }
            }
        }
    }
}
