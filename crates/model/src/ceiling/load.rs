//! What one operation on an array costs each of its volumes.

use iobound_record::Level;

use super::topology::{Limits, Node};

/// What arrives at a node for one operation at the top: so many operations of so many bytes each.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    per_operation: f64,
    bytes: f64,
}

impl Stream {
    fn share(self, share: f64, bytes: f64) -> Stream {
        Stream { per_operation: self.per_operation * share, bytes }
    }
}

/// What one operation at the top costs one volume.
#[derive(Clone, Debug)]
pub(super) struct Load<'a> {
    pub(super) volume: &'a Limits,
    /// Operations, as the volume counts them.
    pub(super) operations: f64,
    /// Bytes.
    pub(super) bytes: f64,
}

/// What one read and one write of `bytes` each cost every volume below `root`.
pub(super) struct Loads<'a> {
    pub(super) read: Vec<Load<'a>>,
    pub(super) write: Vec<Load<'a>>,
}

/// Works the loads out. `sequential` lets volumes merge neighbours, and parity be written for whole
/// stripes.
pub(super) fn loads(root: &Node, bytes: u64, sequential: bool) -> Loads<'_> {
    let stream = Stream { per_operation: 1.0, bytes: bytes as f64 };
    let mut read = Vec::new();
    descend(root, &[stream], false, sequential, &mut read);
    let mut write = Vec::new();
    descend(root, &[stream], true, sequential, &mut write);
    Loads { read, write }
}

/// Hands streams down to the volumes. Streams of writes may hold reads too (parity); below the array that
/// made them both cost a volume the same.
fn descend<'a>(node: &'a Node, streams: &[Stream], write: bool, sequential: bool, out: &mut Vec<Load<'a>>) {
    match node {
        Node::Volume(volume) => out.push(Load {
            volume,
            operations: streams.iter().map(|s| s.per_operation * counted(volume, s.bytes, sequential)).sum(),
            bytes: streams.iter().map(|s| s.per_operation * s.bytes).sum(),
        }),
        Node::Array { level, chunk_bytes, members } => {
            let n = members.len() as f64;
            let each: Vec<Stream> = streams
                .iter()
                .flat_map(|stream| {
                    let chunks = match chunk_bytes {
                        0 => 1.0,
                        chunk => (stream.bytes / *chunk as f64).ceil().max(1.0),
                    };
                    member_streams(*level, n, chunks, *stream, write, sequential)
                })
                .collect();
            for member in members {
                descend(member, &each, write, sequential, out);
            }
        }
    }
}

/// How many operations a volume counts for one of `bytes`.
fn counted(volume: &Limits, bytes: f64, sequential: bool) -> f64 {
    match volume.operation_bytes {
        None => 1.0,
        Some(size) if sequential => bytes / size as f64,
        Some(size) => (bytes / size as f64).ceil().max(1.0),
    }
}

/// What each of `n` members gets of a stream whose operations span `chunks`.
///
/// Neighbouring chunks on one member count as one operation: the kernel joins them, and a ceiling must
/// not be lower than what can be had.
fn member_streams(
    level: Level,
    n: f64,
    chunks: f64,
    s: Stream,
    write: bool,
    sequential: bool,
) -> Vec<Stream> {
    // An operation on `slots` places that may be used at the same time: how many it touches, the share of
    // operations that a place sees, and the bytes there.
    let spread = |slots: f64| {
        let touched = chunks.min(slots);
        (touched / slots, s.bytes / touched)
    };
    match level {
        Level::Raid0 => {
            let (share, bytes) = spread(n);
            vec![s.share(share, bytes)]
        }
        // One member holds a place of it; over all of it, each the same part of the time.
        Level::Linear => vec![s.share(1.0 / n, s.bytes)],
        Level::Raid1 if write => vec![s],
        Level::Raid1 => vec![s.share(1.0 / n, s.bytes)],
        Level::Raid10 => {
            let (share, bytes) = spread(n / 2.0);
            // Both halves of a mirror write; reads take turns.
            vec![s.share(if write { share } else { share / 2.0 }, bytes)]
        }
        Level::Raid5 | Level::Raid6 if !write => {
            let (share, bytes) = spread(n);
            vec![s.share(share, bytes)]
        }
        Level::Raid5 => parity_write(n, 1.0, chunks, s, sequential),
        Level::Raid6 => parity_write(n, 2.0, chunks, s, sequential),
    }
}

/// A write with parity: whole stripes where it can, else the cheaper of changing the parity from what
/// was there (reads what is replaced) and making it anew (reads the rest), as md does
/// (`handle_stripe_dirtying` in drivers/md/raid5.c). So four operations a small write on RAID5 and six on
/// RAID6, and fewer on arrays so small that the rest is less.
fn parity_write(n: f64, parities: f64, chunks: f64, s: Stream, sequential: bool) -> Vec<Stream> {
    let data = n - parities;
    if sequential || chunks >= data {
        // Sequential writes are gathered into whole stripes by the stripe cache.
        let bytes = s.bytes / data;
        return vec![s.share(1.0, bytes)];
    }
    let written = chunks + parities;
    let read = written.min(data - chunks);
    let piece = s.bytes / chunks;
    vec![s.share(written / n, piece), s.share(read / n, piece)]
}
