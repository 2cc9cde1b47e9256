//! Stores that go past the cache, straight to memory.
//!
//! An ordinary store first reads the line it will overwrite; one past the cache does not. That pays when the
//! buffer will not be read again from the cache anyway. The wider the store the better: a whole line in one
//! needs no combining.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128, _mm256_loadu_si256,
    _mm256_stream_si256, _mm512_loadu_si512, _mm512_stream_si512,
};

use crate::layout::VECTOR_BYTES;

/// Bytes of a cache line, and the alignment these stores ask for.
pub(crate) const LINE_BYTES: usize = VECTOR_BYTES;

/// Whether this processor's instruction set has such stores.
pub(crate) const AVAILABLE: bool = cfg!(target_arch = "x86_64");

/// A way to put made lines where they belong.
pub(crate) trait LineStore: Copy {
    /// Whether it goes past the cache. If not, making the lines in place saves the copy.
    const PAST_CACHE: bool;

    /// Copies `from` to `to`. Call `fence` after the last.
    ///
    /// # Panics
    /// When the lengths differ or `to` is not whole lines.
    fn copy(self, to: &mut [u8], from: &[u8]);
}

/// Ordinary stores.
#[derive(Clone, Copy)]
pub(crate) struct Cached(());

impl Cached {
    pub(crate) fn new() -> Self {
        Cached(())
    }
}

impl LineStore for Cached {
    const PAST_CACHE: bool = false;

    #[inline(always)]
    fn copy(self, to: &mut [u8], from: &[u8]) {
        to.copy_from_slice(from);
    }
}

/// Defines a type whose stores past the cache are of one register.
#[cfg(target_arch = "x86_64")]
macro_rules! line_store {
    ($name:ident, $feature:literal, $register:ty, $load:ident, $store:ident) => {
        #[doc = concat!("Stores past the cache with ", $feature, ".")]
        #[derive(Clone, Copy)]
        pub(crate) struct $name(());

        impl $name {
            /// Only code that may use the feature can make one, so that whoever holds one may use it.
            #[target_feature(enable = $feature)]
            pub(crate) fn new() -> Self {
                $name(())
            }

            #[target_feature(enable = $feature)]
            #[inline]
            fn copy_lines(to: &mut [[u8; LINE_BYTES]], from: &[[u8; LINE_BYTES]]) {
                assert!(to.len() == from.len() && to.as_ptr().addr().is_multiple_of(LINE_BYTES));
                for (to, from) in to.iter_mut().zip(from) {
                    let (to, _) = to.as_chunks_mut::<{ size_of::<$register>() }>();
                    let (from, _) = from.as_chunks::<{ size_of::<$register>() }>();
                    for (to, from) in to.iter_mut().zip(from) {
                        // SAFETY: both are one register's bytes that may be read and written, and `to` is
                        // aligned to its size, because the first line is aligned and lines are whole registers.
                        unsafe { $store(to.as_mut_ptr().cast(), $load(from.as_ptr().cast())) };
                    }
                }
            }
        }

        impl LineStore for $name {
            const PAST_CACHE: bool = true;

            #[inline(always)]
            fn copy(self, to: &mut [u8], from: &[u8]) {
                let (to, to_rest) = to.as_chunks_mut::<LINE_BYTES>();
                let (from, from_rest) = from.as_chunks::<LINE_BYTES>();
                assert!(to_rest.is_empty() && from_rest.is_empty());
                // SAFETY: `self` could be made only where the processor has the feature.
                unsafe { Self::copy_lines(to, from) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
line_store!(Lines128, "sse2", __m128i, _mm_loadu_si128, _mm_stream_si128);
#[cfg(target_arch = "x86_64")]
line_store!(Lines256, "avx2", __m256i, _mm256_loadu_si256, _mm256_stream_si256);
#[cfg(target_arch = "x86_64")]
line_store!(Lines512, "avx512f", __m512i, _mm512_loadu_si512, _mm512_stream_si512);

/// No such stores known here: ordinary ones.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use Cached as NoLines;

/// Orders the stores past the cache before all later ones, as the language expects of any store.
#[inline(always)]
pub(crate) fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64, and the instruction touches no memory.
    unsafe {
        _mm_sfence();
    }
}
