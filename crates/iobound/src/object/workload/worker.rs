//! One thread of the workload: one request at a time.

use std::time::Instant;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use iobound_engine::stream::{Comparison, Pool, Source};
use iobound_engine::{Control, Published};
use iobound_fill::Filler;
use iobound_record::VerifyOutcome;
use object_store::path::Path;
use object_store::{GetOptions, ObjectStore, ObjectStoreExt, PutPayload};

use super::mix::{Kind, Mix};
use super::population::Population;
use super::tally::Tally;
use crate::exit::Failure;
use crate::object::store::Store;

/// What a store answers in one page.
const PAGE: usize = 1000;

/// What all threads share.
pub(super) struct Shared<'a> {
    pub(super) store: &'a Store,
    /// Under which all objects lie.
    pub(super) base: Path,
    pub(super) filler: &'a Filler,
    pub(super) object_bytes: u64,
    pub(super) mix: Mix,
    pub(super) population: Population,
    pub(super) tally: Tally,
    pub(super) control: &'a Control,
}

impl Shared<'_> {
    fn key(&self, number: u64) -> Path {
        self.base.clone().join(format!("{number:010}"))
    }

    fn source(&self, number: u64) -> Source {
        Source { filler: self.filler.clone(), stream: number }
    }
}

/// One thread.
pub(super) struct Worker<'a> {
    shared: &'a Shared<'a>,
    published: &'a Published,
    /// One buffer to fill while the connection may still hold the other.
    pool: Pool,
    data: Vec<u8>,
    random: u64,
    /// Failures are counted by kind, and not told with their remedy.
    brief: bool,
    /// What its GETs showed.
    pub(super) outcome: VerifyOutcome,
}

/// How one request ended, and whether it is to be told.
type Ended = Result<(), Failure>;

impl<'a> Worker<'a> {
    /// # Errors
    /// No memory.
    pub(super) fn new(shared: &'a Shared<'a>, seed: u64) -> Result<Worker<'a>, Failure> {
        let pool = Pool::new(2, shared.object_bytes as usize)
            .map_err(|error| Failure::broke(format!("mapping buffers: {error}")))?;
        let published = shared.control.lane();
        let outcome = VerifyOutcome::default();
        Ok(Worker { shared, published, pool, data: Vec::new(), random: seed, brief: false, outcome })
    }

    /// SplitMix64 (<https://prng.di.unimi.it/splitmix64.c>): any seed will do.
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Puts objects until there are so many, before anything is measured.
    ///
    /// # Errors
    /// The first that could not be put.
    pub(super) fn prepare(&mut self, count: u64) -> Ended {
        while !self.shared.control.is_stopped() {
            let number = self.shared.population.next();
            if number >= count {
                break;
            }
            self.put(number)?;
        }
        Ok(())
    }

    /// Works until `end`.
    pub(super) fn work(&mut self, end: Instant) {
        let shared = self.shared;
        self.brief = true;
        while Instant::now() < end && !shared.control.is_stopped() {
            let place = (self.random() >> 11) as f64 / (1u64 << 53) as f64;
            let kind = shared.mix.at(place);
            let (kind, ended) = self.one(kind);
            if let Err(failure) = ended
                && !shared.control.is_stopped()
            {
                shared.tally.failed(kind, failure.words);
            }
        }
    }

    fn one(&mut self, kind: Kind) -> (Kind, Ended) {
        let population = &self.shared.population;
        let place = self.random();
        match kind {
            Kind::List => return (kind, self.list()),
            Kind::Get => {
                if let Some(held) = population.any(place) {
                    return (kind, self.get(*held));
                }
            }
            Kind::Delete => {
                if let Some(number) = population.take(place) {
                    return (kind, self.delete(number));
                }
            }
            Kind::Put => {}
        }
        if kind != Kind::Put {
            self.shared.tally.put_instead();
        }
        let number = population.next();
        (Kind::Put, self.put(number))
    }

    fn ask<T>(
        &self,
        kind: Kind,
        bytes: u64,
        request: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, Failure> {
        let began = Instant::now();
        let look = || !self.shared.control.is_stopped();
        let answer = match self.brief {
            true => self.shared.store.wait_briefly(request, look)?,
            false => self.shared.store.wait(request, look)?,
        };
        let latency_ns = began.elapsed().as_nanos() as u64;
        self.shared.tally.done(kind, bytes, latency_ns);
        self.published.add(1, bytes, latency_ns);
        Ok(answer)
    }

    fn put(&mut self, number: u64) -> Ended {
        let shared = self.shared;
        let Some(mut chunk) = self.pool.take() else { return Ok(()) };
        let source = shared.source(number);
        chunk.fill(0, shared.object_bytes as usize, |bytes| source.fill(0, bytes));
        let payload = PutPayload::from(Bytes::from_owner(chunk));
        let key = shared.key(number);
        self.ask(Kind::Put, shared.object_bytes, shared.store.objects.put(&key, payload))?;
        shared.population.add(number);
        Ok(())
    }

    fn get(&mut self, number: u64) -> Ended {
        let shared = self.shared;
        let key = shared.key(number);
        let mut data = std::mem::take(&mut self.data);
        data.clear();
        let got = self.ask(Kind::Get, shared.object_bytes, async {
            let mut stream = shared.store.objects.get_opts(&key, GetOptions::default()).await?.into_stream();
            while let Some(bytes) = stream.next().await {
                data.extend_from_slice(&bytes?);
            }
            Ok(())
        });
        if got.is_ok() {
            self.hold(number, &key, &data);
        }
        self.data = data;
        got
    }

    /// Holds an object against what was put.
    fn hold(&mut self, number: u64, key: &Path, data: &[u8]) {
        let source = self.shared.source(number);
        let mut comparison = Comparison::new(&source);
        let length = data.len().min(self.shared.object_bytes as usize);
        comparison.hold(0, &data[..length]);
        if (length as u64) < self.shared.object_bytes {
            comparison.missing(length as u64..self.shared.object_bytes, "the object ends there");
        }
        let mut found = comparison.outcome;
        found.examples.iter_mut().for_each(|example| *example = format!("{key}: {example}"));
        let outcome = &mut self.outcome;
        outcome.checked += found.checked;
        outcome.lost += found.lost;
        outcome.corrupt += found.corrupt;
        outcome.examples.append(&mut found.examples);
        outcome.examples.truncate(8);
    }

    fn list(&mut self) -> Ended {
        let shared = self.shared;
        let given_out = shared.population.given_out();
        let keys: Vec<Path> = self.ask(Kind::List, 0, async {
            let all = shared.store.objects.list(Some(&shared.base));
            all.map_ok(|found| found.location).take(PAGE).try_collect().await
        })?;
        let known = |key: &Path| {
            let number = key.filename().and_then(|name| name.parse::<u64>().ok());
            // Others go on putting while the store lists.
            number.is_some_and(|number| number < shared.population.given_out().max(given_out))
        };
        match keys.iter().find(|key| !known(key)) {
            Some(key) => Err(Failure::broke(format!("lists '{key}', which nobody put"))),
            None => Ok(()),
        }
    }

    fn delete(&mut self, number: u64) -> Ended {
        let key = self.shared.key(number);
        // After a failure it may be there or not: it is taken away at the end, and not worked on any more.
        self.ask(Kind::Delete, 0, self.shared.store.objects.delete(&key))
    }
}
