use super::*;
use proptest::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Marks a buffer with who has it, and sees whether somebody else had it meanwhile.
fn touch(chunk: &mut Chunk, position: u64) {
    let len = chunk.shared.buffers.len();
    chunk.fill(position, len, |bytes| {
        bytes[..8].copy_from_slice(&position.to_le_bytes());
        bytes[len - 8..].copy_from_slice(&position.to_le_bytes());
    });
}

fn check(chunk: &Chunk) {
    let at = |range: std::ops::Range<usize>| u64::from_le_bytes(chunk[range].try_into().unwrap());
    let len = chunk.len();
    assert_eq!((at(0..8), at(len - 8..len)), (chunk.position(), chunk.position()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the numbers of threads and buffers: every position arrives once, with its own content,
    /// and at the end every buffer is free.
    #[test]
    fn every_position_passes_once(
        buffers in 1u32..6, producers in 1u32..4, writers in 1u32..4, held in 1usize..4, pieces in 1u64..400,
    ) {
        let pool = Pool::new(buffers, 4096).unwrap();
        let (next, left) = (AtomicU64::new(0), AtomicU64::new(u64::from(producers)));
        let mut arrived: Vec<u64> = std::thread::scope(|scope| {
            for _ in 0..producers {
                scope.spawn(|| {
                    loop {
                        let position = next.fetch_add(1, Ordering::Relaxed);
                        if position >= pieces {
                            break;
                        }
                        let mut chunk = pool.take().unwrap();
                        touch(&mut chunk, position);
                        pool.queue(chunk);
                    }
                    if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                        pool.close();
                    }
                });
            }
            let writers: Vec<_> = (0..writers)
                .map(|_| {
                    scope.spawn(|| {
                        let (mut seen, mut mine) = (Vec::new(), VecDeque::new());
                        while let Some(chunk) = pool.next() {
                            mine.push_back(chunk);
                            // Held in flight, and given back in another order than they came.
                            while mine.len() > held || (!mine.is_empty() && pool.waiting() == 0) {
                                let done = mine.pop_back().unwrap();
                                check(&done);
                                seen.push(done.position());
                            }
                        }
                        mine.iter().for_each(|chunk| { check(chunk); seen.push(chunk.position()); });
                        seen
                    })
                })
                .collect();
            writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
        });
        arrived.sort_unstable();
        prop_assert_eq!(arrived, (0..pieces).collect::<Vec<_>>());
        let free: Vec<_> = std::iter::from_fn(|| pool.try_take()).collect();
        prop_assert_eq!(free.len(), buffers as usize);
    }
}

#[test]
fn abandoning_lets_everyone_go() {
    for _ in 0..50 {
        let pool = Pool::new(2, 4096).unwrap();
        let stopped = AtomicBool::new(false);
        let lowest = std::thread::scope(|scope| {
            // Fills until it is let go: nobody takes anything, so it waits for a free buffer.
            scope.spawn(|| {
                let mut position = 10;
                while let Some(mut chunk) = pool.take() {
                    touch(&mut chunk, position);
                    position += 1;
                    pool.queue(chunk);
                    assert!(!stopped.load(Ordering::SeqCst) || pool.take().is_none());
                }
            });
            while pool.waiting() < 2 {
                std::thread::yield_now();
            }
            stopped.store(true, Ordering::SeqCst);
            pool.abandon()
        });
        assert_eq!(lowest, Some(10));
        assert!(pool.next().is_none() && pool.take().is_none() && pool.is_drained());
    }
}

#[test]
fn a_chunk_that_is_dropped_frees_its_buffer() {
    let pool = Pool::new(1, 4096).unwrap();
    let chunk = pool.try_take().unwrap();
    assert!(pool.try_take().is_none());
    drop(chunk);
    assert!(pool.try_take().is_some());
}

#[test]
fn chunks_outlive_their_pool() {
    let pool = Pool::new(1, 4096).unwrap();
    let mut chunk = pool.try_take().unwrap();
    drop(pool);
    touch(&mut chunk, 7);
    check(&chunk);
}
