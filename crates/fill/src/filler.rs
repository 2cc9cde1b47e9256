//! The public face of the fill.

use crate::dedup::DedupMap;
use crate::error::FillError;
use crate::isa::{AvailableIsa, Isa};
use crate::layout::Layout;
use crate::nontemporal;
use crate::random::Keys;
use crate::spec::FillSpec;
use crate::walk::Plan;

/// From this length on, `fill` stores past the cache: such a buffer would push everything else out of it, and
/// would itself be gone from it before it is read.
pub const STREAMING_BYTES: usize = 8 << 20;

/// Makes bytes: byte N of stream S is the same however it is cut up, and whichever machine makes it.
///
/// Cheap to clone, free to share between threads, and nothing it does allocates.
#[derive(Clone, Debug)]
pub struct Filler {
    spec: FillSpec,
    plan: Plan,
    isa: AvailableIsa,
}

impl Filler {
    /// A filler for `spec`, with the widest instructions this machine has.
    ///
    /// # Errors
    /// A ratio or unit out of range.
    pub fn new(spec: FillSpec) -> Result<Self, FillError> {
        spec.check()?;
        let plan = Plan {
            seed_keys: Keys::of_seed(spec.seed),
            layout: Layout::new(spec.compress_ratio),
            dedup: DedupMap::new(spec.dedup_ratio, spec.dedup_unit),
        };
        Ok(Filler { spec, plan, isa: AvailableIsa::detect() })
    }

    /// The same filler with other instructions, `None` where this machine lacks them: for tests and benchmarks.
    #[must_use]
    pub fn with_isa(&self, isa: Isa) -> Option<Self> {
        AvailableIsa::new(isa).map(|isa| Filler { isa, ..self.clone() })
    }

    /// The instructions it uses.
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.isa.get()
    }

    /// What was asked.
    #[must_use]
    pub fn spec(&self) -> &FillSpec {
        &self.spec
    }

    /// Writes bytes `position..position + buffer.len()` of `stream` into `buffer`.
    ///
    /// Fastest when `position` and the buffer's address are multiples of 4 KiB, as direct I/O has them. From
    /// 8 MiB on, the stores go past the cache, as with [`fill_streaming`](Filler::fill_streaming).
    pub fn fill(&self, stream: u64, position: u64, buffer: &mut [u8]) {
        if buffer.len() >= STREAMING_BYTES {
            self.fill_streaming(stream, position, buffer);
        } else {
            self.isa.fill::<false>(&self.plan, stream, position, buffer);
        }
    }

    /// As [`fill`](Filler::fill), but past the cache whatever the length: for a buffer that is one of many, which
    /// together do not stay in the cache. There it is up to twice as fast as `fill`; within the cache it is
    /// slower.
    ///
    /// Where the processor has no such stores, this is a plain fill.
    pub fn fill_streaming(&self, stream: u64, position: u64, buffer: &mut [u8]) {
        self.isa.fill::<{ nontemporal::AVAILABLE }>(&self.plan, stream, position, buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_shared_and_small() {
        fn shared<T: Send + Sync + Clone>() {}
        shared::<Filler>();
        assert!(size_of::<Filler>() <= 256);
    }

    #[test]
    fn bytes_never_change() {
        // Results of other versions are comparable only while this holds; when it must change, say so in the
        // changelog.
        let filler = Filler::new(FillSpec { seed: 1, ..FillSpec::default() }).unwrap();
        let mut bytes = [0; 8];
        filler.fill(2, 3 * 4096 + 8, &mut bytes);
        assert_eq!(u64::from_le_bytes(bytes), 10_558_636_354_311_145_852);
    }

    #[test]
    fn ends_of_the_address_space_are_filled() {
        let filler = Filler::new(FillSpec { dedup_ratio: 3.0, ..FillSpec::default() }).unwrap();
        let mut bytes = [0; 5000];
        filler.fill(u64::MAX, u64::MAX - 4999, &mut bytes);
        assert!(bytes.iter().filter(|byte| **byte == 0).count() < 100);
        filler.fill(0, 0, &mut []);
        filler.fill(0, 1, &mut []);
    }
}
