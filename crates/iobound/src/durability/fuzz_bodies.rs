//! What the fuzz targets do with bytes from outside: one function a target, also run by `cargo test` on
//! stable. Each panics where a reader is wrong.

use super::ack::{Line, Lines};
use super::geometry::{Geometry, Pattern, SECTOR};
use super::promises::Reader;
use super::record::{self, Content, Key};
use super::says::says;
use super::verdict::{Cut, Found, Medium, judge};

/// Logs with more slots are read, but not judged: that would only take long.
const SLOTS_JUDGED: u64 = 4096;

/// Reads the bytes as an acknowledgement log, and judges a medium that consists of the same bytes.
pub fn durability_log(data: &[u8]) {
    let (mut lines, mut reader) = (Lines::default(), Reader::default());
    lines.take(data, |line| {
        if let Ok(line) = Line::parse(line) {
            let text = line.text();
            assert_eq!(Line::parse(text.trim_end().as_bytes()), Ok(line), "{text}");
        }
        reader.line(line);
    });
    let Some(promises) = reader.finish(None) else { return };
    let geometry = promises.hello.geometry;
    if geometry.slots() > SLOTS_JUDGED {
        return;
    }
    let verdict = judge(&promises, &Cut::default(), &mut Bytes { data, geometry });
    assert!(verdict.in_place + verdict.losses() <= geometry.slots());
    assert!(verdict.acknowledged_losses <= verdict.losses() && verdict.out_of_order <= verdict.losses());
    assert!(!says(&promises, &verdict).is_empty());
}

/// Reads the bytes as a record; one that reads as whole is what the writer would have written.
pub fn durability_record(data: &[u8]) {
    let Some((slot, block)) = data.split_first() else { return };
    let bs = (block.len() as u32 / SECTOR * SECTOR).max(SECTOR);
    let geometry = Geometry { bs, threads: 2, slots_per_thread: 8, pattern: Pattern::Overwrite };
    let content = record::read(&block[..block.len().min(bs as usize)], u64::from(slot % 16), &geometry);
    if let Content::Record(key) = content {
        // A payload that is not ours has a checksum that is right by chance, or by a fuzzer's craft.
        assert!(key.seq > 0 && record::sectors_of(block, key, &geometry) <= bs / SECTOR);
    }
}

/// A medium of so many bytes.
struct Bytes<'a> {
    data: &'a [u8],
    geometry: Geometry,
}

impl Bytes<'_> {
    fn slot(&self, slot: u64) -> Option<&[u8]> {
        let from = usize::try_from(slot * u64::from(self.geometry.bs)).ok()?;
        self.data.get(from..)?.get(..self.geometry.bs as usize)
    }
}

impl Medium for Bytes<'_> {
    fn content(&mut self, slot: u64) -> Found {
        let content = self.slot(slot).map(|block| record::read(block, slot, &self.geometry));
        content.map_or(Found::Missing, Found::Content)
    }

    fn sectors_of(&mut self, slot: u64, key: Key) -> u32 {
        self.slot(slot).map_or(0, |block| record::sectors_of(block, key, &self.geometry))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use proptest::prelude::*;

    type Body = fn(&[u8]);

    const TARGETS: [(&str, Body); 2] =
        [("durability_log", durability_log), ("durability_record", durability_record)];

    fn corpus(target: &str) -> Vec<Vec<u8>> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
        let entries =
            std::fs::read_dir(&directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
        let seeds: Vec<_> = entries.map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect();
        assert!(seeds.len() >= 3, "{} has no seeds", directory.display());
        seeds
    }

    #[test]
    fn every_seed_and_every_cut_of_it() {
        for (target, body) in TARGETS {
            for seed in corpus(target) {
                (0..=seed.len()).for_each(|end| body(&seed[..end]));
            }
        }
    }

    /// A line with a right checksum, whatever it says.
    fn sealed(body: &str) -> String {
        format!("{body} {:08x}\n", crc32c::crc32c(body.as_bytes()))
    }

    fn line() -> impl Strategy<Value = String> {
        let number = || prop_oneof![3 => 0u64..9, 1 => any::<u64>(), 1 => (1u64 << 60) - 2..(1 << 60) + 2];
        prop_oneof![
            (1u64..4, number(), number()).prop_map(|(thread, seq, slot)| {
                let generation = seq.saturating_sub(1) / 4 + 1;
                sealed(&format!("ack 00000000000000aa {} {seq} {slot} {generation}", thread - 1))
            }),
            // One that fits.
            (0u64..2, 1u64..12).prop_map(|(thread, seq)| {
                let slot = (seq - 1) % 4 * 2 + thread;
                sealed(&format!("ack 00000000000000aa {thread} {seq} {slot} {}", (seq - 1) / 4 + 1))
            }),
            (number(), number())
                .prop_map(|(thread, seq)| sealed(&format!("fail 00000000000000aa {thread} {seq} sync 5"))),
            number().prop_map(|acks| sealed(&format!("end 00000000000000aa stopped {acks}"))),
            "[a-z0-9 ]{0,40}\n",
        ]
    }

    fn hello(bs: u32, threads: u32, slots: u64) -> String {
        sealed(&format!(
            "hello {{\"version\":1,\"run\":\"00000000000000aa\",\"iobound\":\"\",\"started\":\"\",\"boot\":\"\",\
             \"target\":\"\",\"geometry\":{{\"bs\":{bs},\"threads\":{threads},\"slots_per_thread\":{slots},\
             \"pattern\":\"overwrite\"}},\"sync\":\"fsync\",\"direct\":true,\"preallocate\":\"none\"}}"
        ))
    }

    proptest! {
        #[test]
        fn arbitrary_bytes(data in prop::collection::vec(any::<u8>(), 0..1200)) {
            TARGETS.iter().for_each(|(_, body)| body(&data));
        }

        #[test]
        fn logs_of_any_lines(lines in prop::collection::vec(line(), 0..30)) {
            durability_log((hello(512, 2, 4) + &lines.concat()).as_bytes());
        }

        #[test]
        fn runs_of_any_sizes(bs in any::<u32>(), threads in any::<u32>(), slots in any::<u64>()) {
            durability_log((hello(bs, threads, slots) + &sealed("ack 00000000000000aa 0 1 0 1")).as_bytes());
            durability_log(hello(512, threads % 1025, slots % 5000).as_bytes());
        }
    }
}
