//! Which instructions the fill uses: the same code compiled for each set, the widest chosen at run time.

use std::fmt;

use crate::walk::Plan;

/// An instruction set that the fill is compiled for. All give the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Isa {
    /// What the build target guarantees: SSE2 on x86-64, NEON on aarch64.
    Portable,
    /// x86-64 with SSE4.1, which adds the 32-bit multiply: twice the portable path.
    Sse41,
    /// x86-64 with AVX2: 256 bits.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ and VL: 512 bits.
    Avx512,
}

impl Isa {
    /// All sets, widest last.
    pub const ALL: [Isa; 4] = [Isa::Portable, Isa::Sse41, Isa::Avx2, Isa::Avx512];

    /// The widest set that this machine has.
    #[must_use]
    pub fn detect() -> Isa {
        Isa::ALL.into_iter().rev().find(|isa| isa.is_available()).unwrap_or(Isa::Portable)
    }

    /// Whether this machine has the set.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Isa::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Isa::Sse41 => std::is_x86_feature_detected!("sse4.1"),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => std::is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                std::is_x86_feature_detected!("avx512f")
                    && std::is_x86_feature_detected!("avx512bw")
                    && std::is_x86_feature_detected!("avx512dq")
                    && std::is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// The name as printed: `portable`, `sse4.1`, `avx2`, `avx512`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Isa::Portable => "portable",
            Isa::Sse41 => "sse4.1",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A set that this machine has: proof that its functions may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AvailableIsa(Isa);

impl AvailableIsa {
    pub(crate) fn detect() -> Self {
        AvailableIsa(Isa::detect())
    }

    pub(crate) fn new(isa: Isa) -> Option<Self> {
        isa.is_available().then_some(AvailableIsa(isa))
    }

    pub(crate) fn get(self) -> Isa {
        self.0
    }

    /// Fills a range; with `STREAMING`, past the cache.
    pub(crate) fn fill<const STREAMING: bool>(
        self,
        plan: &Plan,
        stream: u64,
        position: u64,
        buffer: &mut [u8],
    ) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a value of this type says that this processor has SSE4.1.
            Isa::Sse41 => unsafe { sse41::fill::<STREAMING>(plan, stream, position, buffer) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a value of this type says that this processor has AVX2.
            Isa::Avx2 => unsafe { avx2::fill::<STREAMING>(plan, stream, position, buffer) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a value of this type says that this processor has AVX-512 F, BW, DQ and VL.
            Isa::Avx512 => unsafe { avx512::fill::<STREAMING>(plan, stream, position, buffer) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: SSE2 is part of x86-64.
            Isa::Portable => unsafe { portable::fill::<STREAMING>(plan, stream, position, buffer) },
            #[cfg(not(target_arch = "x86_64"))]
            _ => portable::fill::<STREAMING>(plan, stream, position, buffer),
        }
    }

    /// Stores a constant, past the cache.
    pub(crate) fn store_constant(self, buffer: &mut [u8]) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a value of this type says that this processor has AVX2.
            Isa::Avx2 => unsafe { avx2::store_constant(buffer) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a value of this type says that this processor has AVX-512 F, BW, DQ and VL.
            Isa::Avx512 => unsafe { avx512::store_constant(buffer) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: SSE2 is part of x86-64.
            Isa::Portable => unsafe { portable::store_constant(buffer) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a value of this type says that this processor has SSE4.1.
            Isa::Sse41 => unsafe { sse41::store_constant(buffer) },
            #[cfg(not(target_arch = "x86_64"))]
            _ => portable::store_constant(buffer),
        }
    }
}

/// Compiles the walk for a set of features.
macro_rules! compile_for {
    ($isa:ident, $store:ident $(, $features:literal)?) => {
        mod $isa {
            use crate::nontemporal::{Cached, $store};
            use crate::walk::{self, Plan};

            $(#[target_feature(enable = $features)])?
            pub(super) fn fill<const STREAMING: bool>(
                plan: &Plan,
                stream: u64,
                position: u64,
                buffer: &mut [u8],
            ) {
                if STREAMING {
                    walk::fill($store::new(), plan, stream, position, buffer);
                } else {
                    walk::fill(Cached::new(), plan, stream, position, buffer);
                }
            }

            $(#[target_feature(enable = $features)])?
            pub(super) fn store_constant(buffer: &mut [u8]) {
                crate::limit::store_constant($store::new(), buffer);
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
compile_for!(portable, Lines128, "sse2");
#[cfg(not(target_arch = "x86_64"))]
compile_for!(portable, NoLines);
#[cfg(target_arch = "x86_64")]
compile_for!(sse41, Lines128, "sse4.1");
#[cfg(target_arch = "x86_64")]
compile_for!(avx2, Lines256, "avx2");
#[cfg(target_arch = "x86_64")]
compile_for!(avx512, Lines512, "avx512f,avx512bw,avx512dq,avx512vl");
