//! Why a specification cannot be met, and what to ask for instead.

use std::fmt;

use crate::spec::{
    MAX_COMPRESS_RATIO, MAX_DEDUP_RATIO, MAX_DEDUP_UNIT_BYTES, MIN_DEDUP_UNIT_BYTES, MIN_RATIO,
};

/// A specification that cannot be met. The text names the cause and the remedy.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum FillError {
    /// The compress ratio is no number, below 1, or more than the layout can give.
    CompressRatio {
        /// What was asked.
        asked: f64,
    },
    /// The dedup ratio is no number, below 1, or more than the layout can give.
    DedupRatio {
        /// What was asked.
        asked: f64,
    },
    /// The dedup unit is not a power of two between 4 KiB and 1 MiB.
    DedupUnit {
        /// What was asked, bytes.
        asked: usize,
    },
}

impl fmt::Display for FillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            FillError::CompressRatio { asked } => {
                ratio(f, "compress ratio", asked, MAX_COMPRESS_RATIO, "incompressible data")
            }
            FillError::DedupRatio { asked } => {
                ratio(f, "dedup ratio", asked, MAX_DEDUP_RATIO, "no duplicates")
            }
            FillError::DedupUnit { asked } => write!(
                f,
                "dedup unit of {asked} bytes is not a power of two between 4 KiB and 1 MiB: \
                 give {MIN_DEDUP_UNIT_BYTES} to {MAX_DEDUP_UNIT_BYTES}, such as {}",
                nearest_unit(asked)
            ),
        }
    }
}

impl std::error::Error for FillError {}

fn ratio(f: &mut fmt::Formatter<'_>, what: &str, asked: f64, most: f64, one_means: &str) -> fmt::Result {
    let cause = if asked.is_nan() {
        "is not a number"
    } else if asked < MIN_RATIO {
        "is below 1"
    } else {
        "is more than this data can give"
    };
    write!(f, "{what} {asked} {cause}: give {MIN_RATIO} ({one_means}) to {most}")
}

/// The unit that was most likely meant.
fn nearest_unit(asked: usize) -> usize {
    let clamped = asked.clamp(MIN_DEDUP_UNIT_BYTES, MAX_DEDUP_UNIT_BYTES);
    let above = clamped.next_power_of_two();
    if above - clamped <= clamped - above / 2 { above } else { above / 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_cause_and_remedy() {
        let text = |error: FillError| error.to_string();
        assert_eq!(
            text(FillError::CompressRatio { asked: 0.5 }),
            "compress ratio 0.5 is below 1: give 1 (incompressible data) to 32"
        );
        assert_eq!(
            text(FillError::DedupRatio { asked: f64::NAN }),
            "dedup ratio NaN is not a number: give 1 (no duplicates) to 1000"
        );
        assert_eq!(
            text(FillError::CompressRatio { asked: f64::INFINITY }),
            "compress ratio inf is more than this data can give: give 1 (incompressible data) to 32"
        );
        assert_eq!(
            text(FillError::DedupUnit { asked: 5000 }),
            "dedup unit of 5000 bytes is not a power of two between 4 KiB and 1 MiB: \
             give 4096 to 1048576, such as 4096"
        );
        assert!(text(FillError::DedupUnit { asked: usize::MAX }).ends_with("such as 1048576"));
    }
}
