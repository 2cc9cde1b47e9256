//! Holding what was read against what was written, byte by byte.

use std::ops::Range;

use iobound_record::VerifyOutcome;

use super::source::Source;
use crate::verify::merge;

/// Unit in which differences are counted.
const BLOCK: usize = 4096;
/// Made anew and compared at once; stays in a core's first caches.
const STEP: usize = 16 << 10;
/// Examples kept in words.
const EXAMPLES: usize = 8;

/// One thread's comparison with a stream.
pub struct Comparison<'a> {
    source: Option<&'a Source>,
    expected: Vec<u8>,
    /// What it found so far.
    pub outcome: VerifyOutcome,
}

impl<'a> Comparison<'a> {
    /// Nothing compared yet.
    pub fn new(source: &'a Source) -> Self {
        Comparison { source: Some(source), expected: vec![0; STEP], outcome: VerifyOutcome::default() }
    }

    /// Of content that nobody knows: only what cannot be read is noticed.
    pub(super) fn with_nothing() -> Self {
        Comparison { source: None, expected: Vec::new(), outcome: VerifyOutcome::default() }
    }

    /// Compares what was read from `offset` on.
    pub fn hold(&mut self, offset: u64, data: &[u8]) {
        let Some(source) = self.source else { return };
        for (index, step) in data.chunks(STEP).enumerate() {
            let at = offset + (index * STEP) as u64;
            let expected = &mut self.expected[..step.len()];
            source.fill(at, expected);
            self.outcome.checked += step.len().div_ceil(BLOCK) as u64;
            if step == expected {
                continue;
            }
            for (number, (block, wanted)) in step.chunks(BLOCK).zip(expected.chunks(BLOCK)).enumerate() {
                if let Some(first) = block.iter().zip(wanted).position(|(is, wanted)| is != wanted) {
                    let at = at + (number * BLOCK) as u64;
                    if block.iter().all(|&byte| byte == 0) {
                        self.outcome.lost += 1;
                        example(&mut self.outcome, || {
                            format!("offset {at} reads as zeroes: its write never arrived")
                        });
                    } else {
                        self.outcome.corrupt += 1;
                        let at = at + first as u64;
                        example(&mut self.outcome, || {
                            format!("offset {at} holds other bytes than were written")
                        });
                    }
                }
            }
        }
    }

    /// Counts a range that could not be read as corrupt.
    pub fn missing(&mut self, range: Range<u64>, why: &str) {
        let blocks = (range.end - range.start).div_ceil(BLOCK as u64);
        self.outcome.checked += blocks;
        self.outcome.corrupt += blocks;
        example(&mut self.outcome, || format!("offset {}: cannot be read: {why}", range.start));
    }

    /// What several threads found together.
    pub fn merged(all: impl Iterator<Item = Self>) -> VerifyOutcome {
        merge(all.map(|one| one.outcome))
    }
}

fn example(outcome: &mut VerifyOutcome, words: impl FnOnce() -> String) {
    if outcome.examples.len() < EXAMPLES {
        outcome.examples.push(words());
    }
}
