//! What one thread does next: direction, place, size and sync, one operation at a time.

use iobound_record::{BlockShare, Distribution, Job};

use crate::backend::Op;
use crate::offsets::{Random, Sequence};

/// A part of a file that one thread works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// Index into the job's files.
    pub(crate) file: u32,
    pub(crate) start: u64,
    pub(crate) len: u64,
}

/// One operation to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) op: Op,
    pub(crate) file: u32,
    pub(crate) offset: u64,
    pub(crate) len: u32,
}

/// Block sizes of a job.
#[derive(Clone, Debug)]
enum Sizes {
    Fixed(u32),
    /// `min`, and how many multiples of it up to the largest.
    Range {
        min: u64,
        steps: u64,
    },
    /// Upper ends of the shares in percent, with their sizes.
    Split(Vec<(u64, u64)>),
}

impl Sizes {
    fn of(job: &Job) -> Self {
        match (&job.bssplit, job.bsrange) {
            (Some(split), _) => {
                let mut end = 0;
                let used = split.iter().filter(|share| share.percent > 0);
                let ends = used.map(|&BlockShare { bs, percent }| {
                    end += u64::from(percent);
                    (end, bs)
                });
                Sizes::Split(ends.collect())
            }
            (None, Some((min, max))) if min < max => Sizes::Range { min, steps: max / min },
            (None, Some((min, _))) => Sizes::Fixed(min as u32),
            (None, None) => Sizes::Fixed(job.bs as u32),
        }
    }

    fn draw(&self, random: &mut Random) -> u64 {
        match self {
            Sizes::Fixed(size) => u64::from(*size),
            Sizes::Range { min, steps } => min * (1 + random.below(*steps)),
            Sizes::Split(ends) => {
                let at = random.below(100);
                ends.iter().find(|(end, _)| at < *end).map_or(ends[0].1, |(_, size)| *size)
            }
        }
    }
}

/// The operations of one thread, without end: limits of time are the worker's.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    regions: Vec<Region>,
    sizes: Sizes,
    /// Smallest block: what offsets are multiples of.
    unit: u64,
    random_offsets: bool,
    /// Shares are compared with 32 random bits: reads below this.
    read_below: u64,
    reads: Sequence,
    /// Sequential writes of a mixed job keep a place of their own.
    writes: Option<Sequence>,
    /// Next byte of each region, for reads and for writes, where sequential sizes vary.
    cursors: [Vec<u64>; 2],
    random: Random,
    sync: Option<(Op, u32)>,
    writes_since_sync: u32,
    bytes_left: u64,
    ios_left: u64,
}

impl Workload {
    /// `bytes` and `ios` limit the whole workload; `u64::MAX` for none.
    pub(crate) fn new(job: &Job, regions: Vec<Region>, thread: u32, bytes: u64, ios: u64) -> Self {
        let (unit, _) = job.block_sizes();
        let seed = job.randseed ^ u64::from(thread).wrapping_mul(0xA24B_AED4_963E_E407);
        let sizes = Sizes::of(job);
        // A permutation covers equal blocks; where sizes vary, offsets are drawn freely.
        let free = job.norandommap || !matches!(sizes, Sizes::Fixed(_));
        let blocks = regions.iter().map(|region| region.len / unit).min().unwrap_or(0) * regions.len() as u64;
        let order = |seed| {
            let distribution =
                if job.rw.is_random() { job.random_distribution } else { Distribution::Random };
            Sequence::new(blocks, job.rw.is_random(), free, distribution, seed)
        };
        let sync = match (job.fsync, job.fdatasync) {
            (0, 0) => None,
            (0, every) => Some((Op::Fdatasync, every)),
            (every, _) => Some((Op::Fsync, every)),
        };
        let starts: Vec<u64> = vec![0; regions.len()];
        Workload {
            sizes,
            unit,
            random_offsets: job.rw.is_random(),
            read_below: (job.read_share() * 4_294_967_296.0) as u64,
            reads: order(seed),
            writes: (job.rw.is_mixed() && !job.rw.is_random()).then(|| order(seed ^ 1)),
            cursors: [starts.clone(), starts],
            random: Random::new(seed ^ 0xD15E_A5ED),
            sync: sync.filter(|_| job.rw.writes()),
            writes_since_sync: 0,
            bytes_left: bytes,
            ios_left: ios,
            regions,
        }
    }

    /// The next operation, or None when the workload is done.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<Planned> {
        if let Some((op, every)) = self.sync
            && self.writes_since_sync >= every
        {
            self.writes_since_sync = 0;
            let file = self.regions[0].file;
            return Some(Planned { op, file, offset: 0, len: 0 });
        }
        if self.bytes_left == 0 || self.ios_left == 0 {
            return None;
        }
        let read = match self.read_below {
            0 => false,
            4_294_967_296.. => true,
            below => self.random.draw() >> 32 < below,
        };
        let planned = match self.sizes {
            Sizes::Fixed(size) => self.fixed(read, size),
            _ => self.varying(read),
        };
        self.bytes_left = self.bytes_left.saturating_sub(u64::from(planned.len));
        self.ios_left -= 1;
        self.writes_since_sync += u32::from(!read);
        Some(planned)
    }

    #[inline(always)]
    fn fixed(&mut self, read: bool, size: u32) -> Planned {
        let sequence = match &mut self.writes {
            Some(writes) if !read => writes,
            _ => &mut self.reads,
        };
        let block = sequence.next();
        // Blocks go around the files, as fio's file_service_type=roundrobin.
        let count = self.regions.len() as u64;
        let (region, block) = if count == 1 {
            (self.regions[0], block)
        } else {
            (self.regions[(block % count) as usize], block / count)
        };
        Planned {
            op: if read { Op::Read } else { Op::Write },
            file: region.file,
            offset: region.start + block * u64::from(size),
            len: size,
        }
    }

    fn varying(&mut self, read: bool) -> Planned {
        let size = self.sizes.draw(&mut self.random);
        let block = self.reads.next();
        let count = self.regions.len() as u64;
        let index = (block % count) as usize;
        let region = self.regions[index];
        let within = if self.random_offsets {
            let last = (region.len - size) / self.unit * self.unit;
            (block / count * self.unit).min(last)
        } else {
            let cursor = &mut self.cursors[usize::from(!read)][index];
            if *cursor + size > region.len {
                *cursor = 0;
            }
            let at = *cursor;
            *cursor += size;
            at
        };
        Planned {
            op: if read { Op::Read } else { Op::Write },
            file: region.file,
            offset: region.start + within,
            len: size as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::Rw;
    use proptest::prelude::*;

    fn region(len: u64) -> Vec<Region> {
        vec![Region { file: 0, start: 0, len }]
    }

    fn all(job: &Job, regions: Vec<Region>, bytes: u64) -> Vec<Planned> {
        let mut workload = Workload::new(job, regions, 0, bytes, u64::MAX);
        std::iter::from_fn(|| workload.next()).collect()
    }

    #[test]
    fn a_sequential_pass_covers_the_region_in_order() {
        let job = Job { rw: Rw::Write, bs: 4096, ..Job::default() };
        let offsets: Vec<u64> = all(&job, region(16_384), 16_384).iter().map(|io| io.offset).collect();
        assert_eq!(offsets, [0, 4096, 8192, 12_288]);
    }

    #[test]
    fn fdatasync_follows_every_nth_write() {
        let job = Job { rw: Rw::Write, fdatasync: 2, ..Job::default() };
        let ops: Vec<Op> = all(&job, region(16_384), 16_384).iter().map(|io| io.op).collect();
        assert_eq!(ops, [Op::Write, Op::Write, Op::Fdatasync, Op::Write, Op::Write, Op::Fdatasync]);
    }

    #[test]
    fn reads_are_not_followed_by_syncs() {
        let job = Job { rw: Rw::RandRw, rwmixread: 70, fdatasync: 1, ..Job::default() };
        let ops = all(&job, region(256 << 20), 256 << 20);
        let syncs = ops.iter().filter(|io| io.op == Op::Fdatasync).count();
        assert_eq!(syncs, ops.iter().filter(|io| io.op == Op::Write).count());
        let reads = ops.iter().filter(|io| io.op == Op::Read).count() as f64 / (ops.len() - syncs) as f64;
        assert!((0.69..0.71).contains(&reads), "{reads} reads");
    }

    #[test]
    fn files_take_turns() {
        let job = Job { rw: Rw::Read, ..Job::default() };
        let regions =
            vec![Region { file: 3, start: 0, len: 8192 }, Region { file: 5, start: 4096, len: 8192 }];
        let seen: Vec<(u32, u64)> =
            all(&job, regions, 16_384).iter().map(|io| (io.file, io.offset)).collect();
        assert_eq!(seen, [(3, 0), (5, 4096), (3, 4096), (5, 8192)]);
    }

    #[test]
    fn shares_of_a_split_hold() {
        let split = vec![BlockShare { bs: 4096, percent: 80 }, BlockShare { bs: 65_536, percent: 20 }];
        let job = Job { rw: Rw::RandRead, bssplit: Some(split), ..Job::default() };
        let mut workload = Workload::new(&job, region(64 << 20), 0, u64::MAX, 20_000);
        let small = std::iter::from_fn(|| workload.next()).filter(|io| io.len == 4096).count();
        assert!((15_700..16_300).contains(&small), "{small} of 20,000");
    }

    proptest! {
        #[test]
        fn no_operation_leaves_its_region(
            rw in prop::sample::select(Rw::ALL.to_vec()),
            unit in 1u64..5,
            steps in 1u64..9,
            blocks in 9u64..300,
            start in 0u64..1000,
            files in 1u32..4,
        ) {
            let bs = unit * 512;
            let job = Job { rw, bsrange: Some((bs, bs * steps)), ..Job::default() };
            let regions: Vec<Region> =
                (0..files).map(|file| Region { file, start: start * 512, len: blocks * bs }).collect();
            let mut workload = Workload::new(&job, regions, 1, u64::MAX, 500);
            while let Some(io) = workload.next() {
                prop_assert!(io.offset >= start * 512);
                prop_assert!(io.offset + u64::from(io.len) <= start * 512 + blocks * bs);
                prop_assert_eq!((io.offset - start * 512) % bs, 0);
            }
        }
    }
}
