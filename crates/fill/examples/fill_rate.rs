//! One thread's fill rate, per instruction set, beside the machine's own store limits.
//!
//!     cargo run --release -p iobound-fill --example fill_rate
//!
//! Each figure is a median of five; the rounds are interleaved, so that what else the machine does bears on all
//! figures alike and their ratios hold better than the figures.

use std::hint::black_box;
use std::time::Instant;

use iobound_fill::{FillSpec, Filler, Isa, store_limit};

const ROUNDS: usize = 5;
/// Well within the L2 of any current server core.
const L2_BYTES: usize = 256 << 10;
/// What one round stores, at the least.
const ROUND_BYTES: usize = 256 << 20;
/// Larger than any cache.
const MEMORY_BYTES: usize = 256 << 20;
/// Page alignment, as direct I/O buffers have.
const ALIGNMENT_BYTES: usize = 4096;
/// Compress and dedup ratio.
const RATIOS: [(f64, f64); 7] =
    [(1.0, 1.0), (2.0, 1.0), (1.0, 2.0), (3.0, 2.0), (1.1, 1.0), (1.5, 1.0), (5.0, 5.0)];

/// Stores over the whole buffer, as bytes from a position.
type Run = dyn Fn(u64, &mut [u8]);

struct Contender {
    name: String,
    run: Box<Run>,
    gb_per_s: Vec<f64>,
}

impl Contender {
    fn new(name: impl Into<String>, run: impl Fn(u64, &mut [u8]) + 'static) -> Self {
        Contender { name: name.into(), run: Box::new(run), gb_per_s: Vec::new() }
    }

    fn round(&mut self, buffer: &mut [u8]) {
        let passes = ROUND_BYTES.div_ceil(buffer.len());
        (self.run)(0, buffer);
        let start = Instant::now();
        for pass in 0..passes {
            (self.run)((pass * buffer.len()) as u64, buffer);
            black_box(&buffer);
        }
        self.gb_per_s.push((passes * buffer.len()) as f64 / start.elapsed().as_secs_f64() / 1e9);
    }

    fn median(&mut self) -> f64 {
        self.gb_per_s.sort_by(f64::total_cmp);
        self.gb_per_s[self.gb_per_s.len() / 2]
    }
}

fn contenders(streaming: bool) -> Vec<Contender> {
    let mut all = vec![
        Contender::new("plain store limit", |_, buffer: &mut [u8]| buffer.fill(black_box(0xA5))),
        Contender::new("non-temporal store limit", |_, buffer: &mut [u8]| store_limit(buffer)),
    ];
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
        for (compress_ratio, dedup_ratio) in RATIOS {
            let spec = FillSpec { compress_ratio, dedup_ratio, ..FillSpec::default() };
            let filler = Filler::new(spec).expect("ratios in range").with_isa(isa).expect("available");
            let name = format!("{isa:<8} {compress_ratio}/{dedup_ratio}");
            if streaming {
                let streaming = filler.clone();
                all.push(Contender::new(format!("{name} past the cache"), move |at, buffer: &mut [u8]| {
                    streaming.fill_streaming(0, at, buffer);
                }));
            }
            all.push(Contender::new(name, move |at, buffer: &mut [u8]| {
                // Piecewise, so that `fill` does not choose to go past the cache.
                for (index, piece) in buffer.chunks_mut(L2_BYTES).enumerate() {
                    filler.fill(0, at + (index * L2_BYTES) as u64, piece);
                }
            }));
        }
    }
    all
}

fn report(title: &str, bytes: usize, streaming: bool) {
    let mut memory = vec![0u8; bytes + ALIGNMENT_BYTES];
    let skip = memory.as_ptr().align_offset(ALIGNMENT_BYTES);
    let buffer = &mut memory[skip..skip + bytes];
    let mut contenders = contenders(streaming);
    for _ in 0..ROUNDS {
        for contender in &mut contenders {
            contender.round(buffer);
        }
    }
    println!("{title}, {} KiB, GB/s of one thread", bytes >> 10);
    for contender in &mut contenders {
        let median = contender.median();
        println!("  {:<32} {median:>6.1}", contender.name);
    }
}

fn main() {
    println!("fill uses {}; names: instructions compress/dedup", Isa::detect());
    report("within L2", L2_BYTES, false);
    report("into memory", MEMORY_BYTES, true);
}
