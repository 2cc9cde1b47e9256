//! Fills one buffer again and again, as a program that streams does, and prints bytes per second.
//!
//!     cargo run --release -p iobound-fill --example fill_buffer -- BUFFER_BYTES SECONDS [OFFSET]
//!
//! The buffer begins OFFSET bytes behind a page. The other side of the comparison is the Python package's
//! `fill_chunk`, in scripts/bench_python.py.

use std::hint::black_box;
use std::time::{Duration, Instant};

use iobound_fill::{FillSpec, Filler};

const PAGE_BYTES: usize = 4096;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<f64>().expect("a number"));
    let bytes = numbers.next().expect("BUFFER_BYTES") as usize;
    let longest = Duration::from_secs_f64(numbers.next().expect("SECONDS"));
    let offset = numbers.next().unwrap_or(0.0) as usize;
    let mut memory = vec![1u8; bytes + 2 * PAGE_BYTES];
    let start = memory.as_ptr().align_offset(PAGE_BYTES) + offset;
    let buffer = &mut memory[start..start + bytes];
    let filler = Filler::new(FillSpec { seed: 1, ..FillSpec::default() }).expect("no ratios");
    let (mut made, begun) = (0u64, Instant::now());
    while begun.elapsed() < longest {
        filler.fill(0, made, buffer);
        black_box(&buffer);
        made += bytes as u64;
    }
    println!("{}", made as f64 / begun.elapsed().as_secs_f64());
}
