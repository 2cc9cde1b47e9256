//! Getting an object back, many ranges at once, and holding every byte against what was sent.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use futures_util::StreamExt;
use iobound_engine::stream::{Comparison, ReadBack, Source};
use iobound_engine::{Control, Phase};
use object_store::{GetOptions, GetRange};

use super::store::Store;
use crate::exit::Failure;

/// Bytes of a request: what Amazon's guidance has, and little enough that each thread can hold one.
const RANGE: u64 = 8 << 20;

/// Gets bytes `0..size` with `at_once` requests at a time and compares them with `source`.
///
/// # Errors
/// The store cannot be asked at all. A range that cannot be got is counted as corrupt.
pub(crate) fn read_back(
    store: &Store,
    source: &Source,
    size: u64,
    at_once: u32,
    control: &Control,
) -> Result<ReadBack, Failure> {
    control.enter(Phase::Verifying, None, Some(size));
    let next = AtomicU64::new(0);
    let began = Instant::now();
    let found = std::thread::scope(|scope| {
        let work = || -> Result<(Comparison, u64), Failure> {
            let lane = control.lane();
            let mut comparison = Comparison::new(source);
            let (mut bytes, mut data) = (0, Vec::new());
            while !control.is_stopped() {
                let from = next.fetch_add(RANGE, Relaxed);
                if from >= size {
                    break;
                }
                let to = size.min(from + RANGE);
                let asked = Instant::now();
                let got = get(store, from..to, &mut data, control);
                comparison.hold(from, &data);
                if let Err(failure) = got {
                    if control.is_stopped() {
                        break;
                    }
                    comparison.missing(from + data.len() as u64..to, &failure.words);
                }
                bytes += to - from;
                lane.add(1, to - from, asked.elapsed().as_nanos() as u64);
            }
            Ok((comparison, bytes))
        };
        let threads: Vec<_> = (0..at_once.max(1)).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Result<Vec<_>, Failure>>()
    })?;
    let runtime_ns = began.elapsed().as_nanos() as u64;
    let bytes = found.iter().map(|(_, bytes)| bytes).sum();
    let outcome = Comparison::merged(found.into_iter().map(|(comparison, _)| comparison));
    Ok(ReadBack { bytes, runtime_ns, outcome })
}

/// Gets a range into `data`; what came before a failure is in there too.
fn get(
    store: &Store,
    range: std::ops::Range<u64>,
    data: &mut Vec<u8>,
    control: &Control,
) -> Result<(), Failure> {
    data.clear();
    let length = (range.end - range.start) as usize;
    let options = GetOptions { range: Some(GetRange::Bounded(range)), ..GetOptions::default() };
    let all = async {
        let mut stream = store.objects.get_opts(&store.address.key, options).await?.into_stream();
        while let Some(bytes) = stream.next().await {
            data.extend_from_slice(&bytes?);
        }
        Ok(())
    };
    store.wait(all, || !control.is_stopped())?;
    if data.len() < length {
        return Err(Failure::broke(format!("{}: the object ends there", store.address)));
    }
    data.truncate(length);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use iobound_fill::{FillSpec, Filler};
    use object_store::memory::InMemory;
    use object_store::{ObjectStoreExt, PutPayload};

    use super::*;
    use crate::object::Address;

    fn found(change: impl Fn(&mut Vec<u8>)) -> ReadBack {
        const SIZE: u64 = 2 * RANGE + 4096 + 77;
        let filler = Filler::new(FillSpec { seed: 5, ..FillSpec::default() }).unwrap();
        let source = Source { filler, stream: 3 };
        let mut content = vec![0; SIZE as usize];
        source.fill(0, &mut content);
        change(&mut content);
        let address = Address::parse("s3://bucket/key").unwrap().unwrap();
        let store = Store { address, objects: Arc::new(InMemory::new()), requests: Arc::default() };
        let put = store.objects.put(&store.address.key, PutPayload::from(content));
        store.wait(put, || true).unwrap();
        read_back(&store, &source, SIZE, 2, &Control::default()).unwrap()
    }

    #[test]
    fn one_byte_is_found_and_so_is_an_end_that_comes_early() {
        let right = found(|_| {});
        assert_eq!((right.outcome.checked, right.outcome.bad()), (2 * RANGE / 4096 + 2, 0));
        let wrong = found(|content| content[RANGE as usize + 5] ^= 1).outcome;
        assert_eq!((wrong.checked, wrong.corrupt), (2 * RANGE / 4096 + 2, 1));
        assert!(wrong.examples[0].contains(&format!("offset {}", RANGE + 5)), "{:?}", wrong.examples);
        let zeroes = found(|content| content[8192..16_384].fill(0)).outcome;
        assert_eq!((zeroes.lost, zeroes.corrupt), (2, 0));
        let short = found(|content| content.truncate(2 * RANGE as usize + 100)).outcome;
        assert!(short.corrupt >= 1 && short.examples.iter().any(|words| words.contains("ends")), "{short:?}");
        let gone = found(|content| content.truncate(RANGE as usize)).outcome;
        assert!(gone.corrupt >= RANGE / 4096, "{gone:?}");
    }
}
