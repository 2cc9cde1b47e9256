//! Bytes with a chosen compress ratio and dedup ratio, addressable by position.

/// What the data shall look like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FillSpec {
    /// Same seed, same bytes.
    pub seed: u64,
    /// 1.0 = incompressible.
    pub compress_ratio: f64,
    /// 1.0 = no duplicate.
    pub dedup_ratio: f64,
    /// Unit at which data repeats, bytes: a power of two, 4 KiB to 1 MiB.
    pub dedup_unit: usize,
}

impl Default for FillSpec {
    fn default() -> Self {
        FillSpec { seed: 0, compress_ratio: 1.0, dedup_ratio: 1.0, dedup_unit: 4096 }
    }
}

/// A specification that cannot be met.
#[derive(Debug, Clone, PartialEq)]
pub struct FillError(String);

impl std::fmt::Display for FillError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FillError {}

/// Makes bytes: byte N of stream S is the same however it is cut up.
#[derive(Clone, Debug)]
pub struct Filler {
    spec: FillSpec,
}

impl Filler {
    /// A filler for `spec`.
    ///
    /// # Errors
    /// A ratio or unit out of range.
    pub fn new(spec: FillSpec) -> Result<Self, FillError> {
        Ok(Filler { spec })
    }

    /// Writes bytes `position..position + buffer.len()` of `stream` into `buffer`.
    pub fn fill(&self, stream: u64, position: u64, buffer: &mut [u8]) {
        for (i, byte) in buffer.iter_mut().enumerate() {
            let at = position + i as u64;
            let mut z = (self.spec.seed ^ stream.rotate_left(32))
                .wrapping_add((at / 8).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            *byte = ((z ^ (z >> 31)) >> (8 * (at % 8))) as u8;
        }
    }
}
