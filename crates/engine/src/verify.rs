//! Which write each block should hold, and what checking them found.

use iobound_record::VerifyOutcome;

use crate::clock::kernel_ns;
use crate::offsets::Random;
use crate::seal::{self, Defect, Expected, Place};
use crate::workload::Region;

/// Examples kept in words; the counts go on.
const EXAMPLES: usize = 8;

/// The blocks of one region of one thread.
#[derive(Clone, Debug)]
struct Blocks {
    file: u32,
    start: u64,
    end: u64,
    /// Writes acknowledged to each block. Four bytes a block: the price of being able to tell a lost
    /// write from one that was never made.
    generations: Vec<u32>,
}

/// Seals the writes of one thread and checks its reads.
#[derive(Clone, Debug)]
pub(crate) struct Verifier {
    bs: u64,
    file_keys: Vec<u64>,
    blocks: Vec<Blocks>,
    /// Whether this job writes, and so knows which write a block should hold.
    writes: bool,
    run: u32,
    outcome: VerifyOutcome,
}

impl Verifier {
    /// `file_keys` has one key a file of the job; `regions` are this thread's own.
    pub(crate) fn new(bs: u64, file_keys: Vec<u64>, regions: &[Region], writes: bool) -> Self {
        let blocks = regions
            .iter()
            .map(|region| Blocks {
                file: region.file,
                start: region.start,
                end: region.start + region.len / bs * bs,
                generations: vec![0; (region.len / bs) as usize],
            })
            .collect();
        // Not the job's seed: two runs of one job must differ.
        let run = Random::new(kernel_ns() ^ u64::from(std::process::id()).rotate_left(32)).draw() as u32;
        Verifier { bs, file_keys, blocks, writes, run, outcome: VerifyOutcome::default() }
    }

    fn generation(&mut self, file: u32, offset: u64) -> Option<&mut u32> {
        let bs = self.bs;
        let blocks = self
            .blocks
            .iter_mut()
            .find(|blocks| blocks.file == file && (blocks.start..blocks.end).contains(&offset))?;
        blocks.generations.get_mut(((offset - blocks.start) / bs) as usize)
    }

    /// Seals the data of the next write of a block. The block's count rises with its completion.
    pub(crate) fn seal_write(&mut self, file: u32, offset: u64, data: &mut [u8]) {
        let generation = self.generation(file, offset).map_or(1, |generation| *generation + 1);
        seal::seal(
            data,
            Place { file_key: self.file_keys[file as usize], offset, generation, run: self.run },
        );
    }

    /// A write of a block was acknowledged.
    pub(crate) fn written(&mut self, file: u32, offset: u64) {
        if let Some(generation) = self.generation(file, offset) {
            *generation += 1;
        }
    }

    /// Checks a block that was read. A job that writes skips the blocks that it has not written: they
    /// hold whatever was there before. A job that only reads expects a seal in every block.
    pub(crate) fn check_read(&mut self, file: u32, offset: u64, data: &[u8]) {
        let known = self.generation(file, offset).map_or(0, |generation| *generation);
        if self.writes && known == 0 {
            return;
        }
        let expected = self.writes.then_some(Expected { generation: known, run: self.run });
        self.outcome.checked += 1;
        let (count, words) = match seal::check(data, self.file_keys[file as usize], offset, expected) {
            Ok(()) => return,
            Err(Defect::Torn(words)) => (&mut self.outcome.torn, words),
            Err(Defect::Lost(words)) => (&mut self.outcome.lost, words),
            Err(Defect::Misplaced(words)) => (&mut self.outcome.misplaced, words),
            Err(Defect::Corrupt(words)) => (&mut self.outcome.corrupt, words),
        };
        *count += 1;
        if self.outcome.examples.len() < EXAMPLES {
            self.outcome.examples.push(words);
        }
    }

    /// Blocks that could not be read back at all.
    pub(crate) fn unreadable(&mut self, offset: u64, blocks: u64, error: &std::io::Error) {
        self.outcome.checked += blocks;
        self.outcome.corrupt += blocks;
        if self.outcome.examples.len() < EXAMPLES {
            self.outcome.examples.push(format!("offset {offset}: {blocks} blocks cannot be read: {error}"));
        }
    }

    /// Every block that was written, in order: what a read-back must look at.
    pub(crate) fn written_blocks(&self) -> Vec<(u32, u64)> {
        let bs = self.bs;
        self.blocks
            .iter()
            .flat_map(|blocks| {
                let written = blocks.generations.iter().enumerate().filter(|&(_, &count)| count > 0);
                written.map(move |(index, _)| (blocks.file, blocks.start + index as u64 * bs))
            })
            .collect()
    }

    pub(crate) fn outcome(&self) -> &VerifyOutcome {
        &self.outcome
    }
}

/// Sums what several threads found.
pub(crate) fn merge(outcomes: impl IntoIterator<Item = VerifyOutcome>) -> VerifyOutcome {
    outcomes.into_iter().fold(VerifyOutcome::default(), |mut sum, one| {
        sum.checked += one.checked;
        sum.torn += one.torn;
        sum.lost += one.lost;
        sum.misplaced += one.misplaced;
        sum.corrupt += one.corrupt;
        sum.examples.extend(one.examples);
        sum.examples.truncate(EXAMPLES);
        sum
    })
}
