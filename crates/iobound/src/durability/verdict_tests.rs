//! The verdict on simulated storage: an honest one is never accused, and a lie that lost something is
//! always found.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::ack::tests::a_hello;
use super::ack::{Hello, Line, Why};
use super::geometry::{Geometry, Pattern};
use super::options::Sync;
use super::promises::Promises;
use super::record::{self, Content, Key};
use super::verdict::{Cut, Found, Instead, Medium, Status, Unproved, Verdict, judge};

const SECTOR: usize = 512;

/// How a storage treats what it was given.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Nature {
    /// A flush makes everything before it durable; what comes after may arrive in any part.
    Honest,
    /// Says that it flushed, and did not.
    IgnoresFlush,
    /// Flushes only every so often, as if its answer came when the flush was queued.
    Sometimes(u64),
}

/// A device with a volatile cache.
struct Device {
    nature: Nature,
    medium: Vec<u8>,
    /// In the order of their arrival: sector and bytes.
    cache: Vec<(usize, Vec<u8>)>,
    flushes: u64,
}

impl Device {
    fn new(nature: Nature, geometry: &Geometry) -> Self {
        let mut medium = vec![0; geometry.bytes() as usize];
        record::fill(99, &mut medium);
        Device { nature, medium, cache: vec![], flushes: 0 }
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        for (i, sector) in bytes.chunks(SECTOR).enumerate() {
            self.cache.push((at / SECTOR + i, sector.to_vec()));
        }
    }

    fn flush(&mut self) {
        self.flushes += 1;
        let keeps = match self.nature {
            Nature::Honest => true,
            Nature::IgnoresFlush => false,
            Nature::Sometimes(every) => self.flushes.is_multiple_of(every),
        };
        if keeps {
            for (sector, bytes) in std::mem::take(&mut self.cache) {
                self.medium[sector * SECTOR..][..SECTOR].copy_from_slice(&bytes);
            }
        }
    }

    /// Loses power: of what is in the cache, `keep` decides sector by sector.
    fn cut(mut self, keep: &mut dyn FnMut() -> bool) -> Vec<u8> {
        for (sector, bytes) in std::mem::take(&mut self.cache) {
            if keep() {
                self.medium[sector * SECTOR..][..SECTOR].copy_from_slice(&bytes);
            }
        }
        self.medium
    }
}

struct Image {
    geometry: Geometry,
    bytes: Vec<u8>,
}

impl Image {
    fn block(&self, slot: u64) -> &[u8] {
        let bs = self.geometry.bs as usize;
        &self.bytes[slot as usize * bs..][..bs]
    }
}

impl Medium for Image {
    fn content(&mut self, slot: u64) -> Found {
        if (slot + 1) * u64::from(self.geometry.bs) > self.bytes.len() as u64 {
            return Found::Missing;
        }
        Found::Content(record::read(self.block(slot), slot, &self.geometry))
    }

    fn sectors_of(&mut self, slot: u64, key: Key) -> u32 {
        record::sectors_of(self.block(slot), key, &self.geometry)
    }
}

/// A run: which thread does its next step is drawn each time, so that threads are at all stages of
/// write, sync and acknowledgement when the power goes.
struct Run {
    hello: Hello,
    promises: Promises,
    /// Records written, synced and acknowledged (so far as the log knows) of each thread.
    written: Vec<u64>,
    image: Image,
}

struct Scenario {
    nature: Nature,
    geometry: Geometry,
    /// Draws: the thread of each step.
    steps: Vec<u32>,
    /// Acknowledgements that are still on the wire when the power goes.
    on_the_wire: usize,
    /// Draws for what the cache keeps.
    fate: Vec<bool>,
}

impl Scenario {
    fn run(&self) -> Run {
        let geometry = self.geometry;
        let hello = a_hello(geometry);
        let mut device = Device::new(self.nature, &geometry);
        let mut stage = vec![0; geometry.threads as usize];
        let mut written = vec![0u64; geometry.threads as usize];
        let mut acks = Vec::new();
        for step in &self.steps {
            let thread = step % geometry.threads;
            let at = thread as usize;
            if stage[at] == 0 && written[at] == geometry.last() {
                continue;
            }
            match stage[at] {
                0 => {
                    written[at] += 1;
                    let mut block = vec![0; geometry.bs as usize];
                    record::render(Key { run: hello.run, thread, seq: written[at] }, &geometry, &mut block);
                    let slot = geometry.slot(thread, written[at]);
                    device.write(slot as usize * block.len(), &block);
                }
                1 => device.flush(),
                _ => acks.push((thread, written[at])),
            }
            stage[at] = (stage[at] + 1) % 3;
        }
        acks.truncate(acks.len().saturating_sub(self.on_the_wire));
        let mut promises = Promises::of(hello.clone());
        for (thread, seq) in acks {
            let (slot, generation) = (geometry.slot(thread, seq), geometry.generation(seq));
            assert!(promises.take(&Line::Ack { run: hello.run, thread, seq, slot, generation }));
        }
        let mut fate = self.fate.iter().cycle();
        let bytes = device.cut(&mut || *fate.next().unwrap_or(&false));
        Run { hello, promises, written, image: Image { geometry, bytes } }
    }
}

impl Run {
    fn judge(&mut self) -> Verdict {
        let cut = Cut { boot: "boot-two".into(), asserted: false };
        judge(&self.promises, &cut, &mut self.image)
    }

    /// Acknowledged records that nothing newer was written over, and that are not there.
    fn plainly_lost(&self) -> u64 {
        let geometry = self.image.geometry;
        let mut newest = BTreeMap::new();
        for (thread, &written) in self.written.iter().enumerate() {
            for seq in 1..=written {
                newest.insert(geometry.slot(thread as u32, seq), (thread as u32, seq));
            }
        }
        let mut lost = 0;
        for (slot, (thread, seq)) in newest {
            let key = Key { run: self.hello.run, thread, seq };
            let is_there = record::read(self.image.block(slot), slot, &geometry) == Content::Record(key);
            let acked = seq <= self.promises.last[thread as usize];
            // What the next write of the thread, had it been in flight, could have done is excused.
            let next = self.image_next(thread);
            let could_be_in_flight = slot == next
                && !matches!(record::read(self.image.block(slot), slot, &geometry), Content::Record(_));
            lost += u64::from(acked && !is_there && !could_be_in_flight);
        }
        lost
    }

    fn image_next(&self, thread: u32) -> u64 {
        let geometry = self.image.geometry;
        let last = self.promises.last[thread as usize];
        let seen = (0..geometry.slots()).filter_map(|slot| {
            match record::read(self.image.block(slot), slot, &geometry) {
                Content::Record(key) if key.thread == thread => Some(key.seq),
                _ => None,
            }
        });
        geometry.slot(thread, seen.max().unwrap_or(0).max(last) + 1)
    }
}

fn scenario(nature: impl Strategy<Value = Nature>) -> impl Strategy<Value = Scenario> {
    let geometry = (prop_oneof![Just(512u32), Just(1024), Just(4096)], 1u32..4, 2u64..7, any::<bool>())
        .prop_map(|(bs, threads, slots_per_thread, append)| {
            let pattern = if append { Pattern::Append } else { Pattern::Overwrite };
            Geometry { bs, threads, slots_per_thread, pattern }
        });
    let steps = prop::collection::vec(any::<u32>(), 0..150);
    let fate = prop_oneof![
        2 => prop::collection::vec(any::<bool>(), 1..200),
        1 => Just(vec![false]),
        1 => Just(vec![true]),
    ];
    (nature, geometry, steps, 0usize..6, fate).prop_map(|(nature, geometry, steps, on_the_wire, fate)| {
        Scenario { nature, geometry, steps, on_the_wire, fate }
    })
}

impl std::fmt::Debug for Scenario {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?} {:?} wire {}", self.nature, self.geometry, self.steps, self.on_the_wire)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn an_honest_device_is_never_accused(scenario in scenario(Just(Nature::Honest))) {
        let mut run = scenario.run();
        let verdict = run.judge();
        prop_assert_eq!(verdict.losses(), 0, "{:#?}", verdict);
        let expected = if run.promises.acks == 0 { Status::Unknown } else { Status::Honest };
        prop_assert_eq!(verdict.status, expected);
    }

    #[test]
    fn a_lie_that_lost_something_is_found(
        scenario in scenario(prop_oneof![Just(Nature::IgnoresFlush), (2u64..6).prop_map(Nature::Sometimes)]),
    ) {
        let mut run = scenario.run();
        let verdict = run.judge();
        let lost = run.plainly_lost();
        prop_assert!(verdict.losses() >= lost, "{lost} lost, {verdict:#?}");
        prop_assert!(lost == 0 || verdict.status == Status::Lies);
    }

    /// Whatever the log and the medium hold, there is a verdict.
    #[test]
    fn no_medium_panics(
        scenario in scenario(Just(Nature::IgnoresFlush)),
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
        length in any::<prop::sample::Index>(),
    ) {
        let mut run = scenario.run();
        let end = run.image.bytes.len().min(bytes.len());
        run.image.bytes[..end].copy_from_slice(&bytes[..end]);
        let length = length.index(run.image.bytes.len() + 1);
        run.image.bytes.truncate(length);
        run.judge();
    }
}

fn plain(nature: Nature, records: usize, fate: Vec<bool>) -> Run {
    let geometry = Geometry { bs: 4096, threads: 1, slots_per_thread: 4, pattern: Pattern::Overwrite };
    Scenario { nature, geometry, steps: vec![0; records * 3], on_the_wire: 0, fate }.run()
}

#[test]
fn a_device_that_drops_its_cache_loses_all() {
    let mut run = plain(Nature::IgnoresFlush, 4, vec![false]);
    let verdict = run.judge();
    // The first slot is where a fifth write may have been in flight: in doubt for the accused.
    assert_eq!((verdict.status, verdict.lost.count, verdict.torn.count), (Status::Lies, 3, 0));
    assert_eq!(verdict.lost.first.unwrap().instead, Instead::Foreign);
    assert_eq!((verdict.lost.first.unwrap().seq, verdict.lost.last.unwrap().seq), (2, 4));
}

#[test]
fn an_older_record_and_a_later_one_out_of_order() {
    let mut run = plain(Nature::Honest, 8, vec![false]);
    let geometry = run.image.geometry;
    let mut older = vec![0; 4096];
    // Record 7 is gone; 3, which it replaced, is back. Record 8 is there.
    record::render(Key { run: run.hello.run, thread: 0, seq: 3 }, &geometry, &mut older);
    run.image.bytes[2 * 4096..][..4096].copy_from_slice(&older);
    let verdict = run.judge();
    assert_eq!((verdict.status, verdict.lost.count, verdict.out_of_order), (Status::Lies, 1, 1));
    let loss = verdict.lost.first.unwrap();
    assert_eq!((loss.seq, loss.offset, loss.instead), (7, 8192, Instead::Older { seq: 3 }));
    assert!(loss.acknowledged && loss.overtaken);
}

#[test]
fn a_torn_record_is_a_lie_unless_it_was_in_flight() {
    let mut run = plain(Nature::Honest, 5, vec![false]);
    let geometry = run.image.geometry;
    let mut sixth = vec![0; 4096];
    record::render(Key { run: run.hello.run, thread: 0, seq: 6 }, &geometry, &mut sixth);
    // The next write after the last acknowledged one: half of it arrived.
    run.image.bytes[4096..][..2048].copy_from_slice(&sixth[..2048]);
    let verdict = run.judge();
    assert_eq!((verdict.status, verdict.torn_in_flight), (Status::Honest, 1));
    // The same in the slot of an acknowledged one.
    run.image.bytes[512..4096].fill(0);
    let verdict = run.judge();
    assert_eq!((verdict.status, verdict.torn.count), (Status::Lies, 1));
    assert_eq!(verdict.torn.first.unwrap().instead, Instead::Torn { sectors: 1, of: 8 });
}

#[test]
fn order_promises_what_the_wire_lost() {
    let mut run = plain(Nature::Honest, 4, vec![false]);
    // No acknowledgement after the first arrived, but record 4 is there.
    run.promises.last = vec![1];
    run.promises.acks = 1;
    let verdict = run.judge();
    assert_eq!((verdict.status, verdict.proved_by_order, verdict.in_place), (Status::Honest, 2, 4));
    // So record 2 must be there too.
    run.image.bytes[4096..8192].fill(0);
    let verdict = run.judge();
    assert_eq!((verdict.status, verdict.lost.count), (Status::Lies, 1));
    assert!(!verdict.lost.first.unwrap().acknowledged);
    // Unless nothing was synced.
    run.promises.hello.sync = Sync::None;
    assert_eq!(run.judge().losses(), 0);
}

#[test]
fn a_cut_file_has_lost_its_end() {
    let mut run = plain(Nature::Honest, 4, vec![false]);
    run.image.bytes.truncate(3 * 4096);
    let verdict = run.judge();
    assert_eq!(verdict.status, Status::Lies);
    assert_eq!(verdict.lost.last.unwrap().instead, Instead::EndOfFile);
}

#[test]
fn without_a_power_cut_nothing_is_proved() {
    let mut run = plain(Nature::Honest, 4, vec![false]);
    let same = Cut { boot: run.hello.boot.clone(), asserted: false };
    let verdict = judge(&run.promises, &same, &mut run.image);
    assert_eq!((verdict.status, verdict.unproved), (Status::Unknown, Some(Unproved::SameBoot)));
    let told = Cut { asserted: true, ..same };
    assert_eq!(judge(&run.promises, &told, &mut run.image).status, Status::Honest);
    run.promises.ended = Some(Why::Stopped);
    let verdict = judge(&run.promises, &told, &mut run.image);
    assert_eq!(verdict.unproved, Some(Unproved::RunEnded(Why::Stopped)));
    // A storage that lost its power alone ends the run with an error.
    run.promises.ended = Some(Why::Failed);
    assert_eq!(judge(&run.promises, &told, &mut run.image).status, Status::Honest);
    // A loss is one in any case.
    run.image.bytes.fill(0);
    assert_eq!(run.judge().status, Status::Lies);
    run.promises.hello.sync = Sync::None;
    assert_eq!(run.judge().status, Status::Control);
}
