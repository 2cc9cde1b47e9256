//! What the medium holds, against what was promised. Pure: no clock, no files.
//!
//! What an honest storage may show after its power was cut follows from how the writer works. A thread
//! writes a record, syncs it, sends the acknowledgement, and only then writes the next. So, of each
//! thread:
//!
//! - every record up to the last acknowledged one must be there, or a later one in its place;
//! - a later record that is there proves that the syncs of all before it had succeeded, also where
//!   their acknowledgements were lost on the way: those must be there too;
//! - one record, the next after all of these, may have been in flight: its slot may hold the old
//!   record, the new one, or a mixture of the two, and all three are in order.

use serde::Serialize;

use super::ack::Why;
use super::geometry::SECTOR;
use super::options::Sync;
use super::promises::{Failed, Promises};
use super::record::{Content, Key};

/// What reading a slot gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Bytes.
    Content(Content),
    /// The file ends before.
    Missing,
    /// An error of the system.
    Unreadable(i32),
}

/// A medium that can be read, slot by slot.
pub trait Medium {
    /// What stands in a slot.
    fn content(&mut self, slot: u64) -> Found;
    /// How many of the slot's sectors are those of a record.
    fn sectors_of(&mut self, slot: u64, key: Key) -> u32;
}

/// What is known of the power cut besides the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// The boot of the machine that verifies; empty where unknown.
    pub boot: String,
    /// The person says that the storage lost power while writes were acknowledged, though this machine
    /// did not.
    pub asserted: bool,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Everything that was promised is there.
    Honest,
    /// Something that was promised is not.
    Lies,
    /// Nothing was proved.
    Unknown,
    /// Nothing was promised (no sync), and something was lost: the test can see a loss.
    Control,
}

/// Why nothing was proved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unproved {
    /// No write was acknowledged.
    NoAcknowledgement,
    /// The run ended before the power did.
    RunEnded(Why),
    /// The machine that wrote has not been started anew since.
    SameBoot,
    /// The control lost nothing.
    ControlLostNothing,
}

/// What stands where a promised record should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Instead {
    /// An earlier record of the same run.
    Older {
        /// Which.
        seq: u64,
    },
    /// Nothing of this run.
    Foreign,
    /// A record that belongs elsewhere.
    Misplaced,
    /// The end of the file.
    EndOfFile,
    /// An error of the system.
    Unreadable {
        /// Which.
        errno: i32,
    },
    /// A part of it.
    Torn {
        /// Sectors of 512 bytes that are the record's.
        sectors: u32,
        /// Sectors of a record.
        of: u32,
    },
}

/// A promised record that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// Which thread's.
    pub thread: u32,
    /// Which record of it.
    pub seq: u64,
    /// Where it should be: the first byte.
    pub offset: u64,
    /// What is there.
    pub instead: Instead,
    /// Whether its own acknowledgement arrived; else a later record proves that it was synced.
    pub acknowledged: bool,
    /// Whether a later record of the same thread is there: they were made durable out of order.
    pub overtaken: bool,
}

/// Losses of one sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// How many.
    pub count: u64,
    /// The one of the lowest sequence.
    pub first: Option<Loss>,
    /// The one of the highest.
    pub last: Option<Loss>,
}

/// Everything that reading back showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The answer.
    pub status: Status,
    /// Why it is no more than that.
    pub unproved: Option<Unproved>,
    /// Acknowledgements in the log.
    pub acknowledged: u64,
    /// Writes that a later record proves to have been synced, though no acknowledgement arrived.
    pub proved_by_order: u64,
    /// Slots whose promised record, the newest of that place, is there.
    pub in_place: u64,
    /// No record of the run was found anywhere, though some were promised: all is lost, or it is another
    /// target.
    pub nothing_of_the_run: bool,
    /// Promised and not there at all.
    pub lost: Losses,
    /// Promised and there in part.
    pub torn: Losses,
    /// Of both, those whose own acknowledgement arrived.
    pub acknowledged_losses: u64,
    /// Of both, those that a later record has overtaken.
    pub out_of_order: u64,
    /// Records that were in flight and are torn: in order.
    pub torn_in_flight: u64,
    /// Records that stand where they do not belong.
    pub misplaced: u64,
    /// Operations that the storage itself said had failed.
    pub failed: Vec<Failed>,
    /// Lines of the log that were of no use.
    pub damaged_lines: u64,
}

/// A slot as the first pass found it; small, since there may be many.
#[derive(Clone, Copy)]
enum Slot {
    Whole(u64),
    Misplaced,
    Other,
    Missing,
    Unreadable(i32),
}

/// Judges.
pub fn judge(promises: &Promises, cut: &Cut, medium: &mut dyn Medium) -> Verdict {
    let geometry = promises.hello.geometry;
    let slots: Vec<Slot> = (0..geometry.slots()).map(|slot| look(promises, slot, medium)).collect();
    let mut seen = vec![0; promises.last.len()];
    for (slot, found) in slots.iter().enumerate() {
        if let Slot::Whole(seq) = found {
            let newest: &mut u64 = &mut seen[geometry.thread_of(slot as u64) as usize];
            *newest = (*newest).max(*seq);
        }
    }
    let mut verdict = empty(promises);
    // Without a sync, order proves nothing.
    let ordered = promises.hello.sync != Sync::None;
    let threads = promises.last.iter().zip(&seen);
    verdict.proved_by_order = threads.map(|(last, seen)| seen.saturating_sub(*last + 1)).sum();
    if !ordered {
        verdict.proved_by_order = 0;
    }
    for (slot, found) in slots.iter().enumerate() {
        let slot = slot as u64;
        let thread = geometry.thread_of(slot) as usize;
        let (acked, seen) = (promises.last[thread], seen[thread]);
        let promised = if ordered { acked.max(seen) } else { acked };
        let in_flight = promised < geometry.last() && slot == geometry.slot(thread as u32, promised + 1);
        verdict.misplaced += u64::from(matches!(found, Slot::Misplaced));
        let wanted = geometry.newest_in(slot, promised);
        let is_there = matches!((wanted, found), (Some(wanted), Slot::Whole(seq)) if *seq >= wanted);
        if is_there {
            verdict.in_place += 1;
            continue;
        }
        // A write in flight spoils no file's length, and brings back no record from before.
        let excused = in_flight && !matches!(found, Slot::Whole(_) | Slot::Missing);
        let torn_now = |medium: &mut dyn Medium, seq| medium.sectors_of(slot, key(promises, thread, seq));
        if excused {
            let sectors = torn_now(medium, promised + 1);
            verdict.torn_in_flight += u64::from(sectors > 0);
            continue;
        }
        let Some(seq) = wanted else { continue };
        let sectors = if matches!(found, Slot::Other) { torn_now(medium, seq) } else { 0 };
        let instead = match *found {
            Slot::Other if sectors > 0 => Instead::Torn { sectors, of: geometry.bs / SECTOR },
            Slot::Other => Instead::Foreign,
            Slot::Whole(seq) => Instead::Older { seq },
            Slot::Misplaced => Instead::Misplaced,
            Slot::Missing => Instead::EndOfFile,
            Slot::Unreadable(errno) => Instead::Unreadable { errno },
        };
        let offset = slot * u64::from(geometry.bs);
        let (acknowledged, overtaken) = (seq <= acked, seq < seen);
        verdict.add(Loss { thread: thread as u32, seq, offset, instead, acknowledged, overtaken });
    }
    verdict.nothing_of_the_run = promises.acks > 0 && seen.iter().all(|seen| *seen == 0);
    (verdict.status, verdict.unproved) = status(promises, cut, verdict.losses());
    verdict
}

fn key(promises: &Promises, thread: usize, seq: u64) -> Key {
    Key { run: promises.hello.run, thread: thread as u32, seq }
}

fn look(promises: &Promises, slot: u64, medium: &mut dyn Medium) -> Slot {
    match medium.content(slot) {
        Found::Content(Content::Record(key)) if key.run == promises.hello.run => Slot::Whole(key.seq),
        Found::Content(Content::Misplaced(key)) if key.run == promises.hello.run => Slot::Misplaced,
        Found::Content(_) => Slot::Other,
        Found::Missing => Slot::Missing,
        Found::Unreadable(errno) => Slot::Unreadable(errno),
    }
}

fn empty(promises: &Promises) -> Verdict {
    Verdict {
        status: Status::Unknown,
        unproved: None,
        acknowledged: promises.acks,
        proved_by_order: 0,
        in_place: 0,
        nothing_of_the_run: false,
        lost: Losses::default(),
        torn: Losses::default(),
        acknowledged_losses: 0,
        out_of_order: 0,
        torn_in_flight: 0,
        misplaced: 0,
        failed: promises.failed.clone(),
        damaged_lines: promises.damaged_lines,
    }
}

/// A loss is a lie whatever else is known; that there is none proves something only after a power cut
/// in the midst of the run.
fn status(promises: &Promises, cut: &Cut, losses: u64) -> (Status, Option<Unproved>) {
    let unknown = |why| (Status::Unknown, Some(why));
    let same_boot = !cut.boot.is_empty() && cut.boot == promises.hello.boot;
    match (promises.hello.sync, losses, promises.ended) {
        (Sync::None, 1.., _) => (Status::Control, None),
        (_, 1.., _) => (Status::Lies, None),
        _ if promises.acks == 0 => unknown(Unproved::NoAcknowledgement),
        // A storage that loses its power alone ends the run with an error.
        (_, _, Some(why)) if !(why == Why::Failed && cut.asserted) => unknown(Unproved::RunEnded(why)),
        _ if same_boot && !cut.asserted => unknown(Unproved::SameBoot),
        (Sync::None, ..) => unknown(Unproved::ControlLostNothing),
        _ => (Status::Honest, None),
    }
}

impl Verdict {
    /// Promised records that are not there whole.
    pub fn losses(&self) -> u64 {
        self.lost.count + self.torn.count
    }

    fn add(&mut self, loss: Loss) {
        let losses = if let Instead::Torn { .. } = loss.instead { &mut self.torn } else { &mut self.lost };
        losses.count += 1;
        self.acknowledged_losses += u64::from(loss.acknowledged);
        self.out_of_order += u64::from(loss.overtaken);
        let rank = |loss: &Loss| (loss.seq, loss.thread);
        if losses.first.is_none_or(|first| rank(&loss) < rank(&first)) {
            losses.first = Some(loss);
        }
        if losses.last.is_none_or(|last| rank(&loss) > rank(&last)) {
            losses.last = Some(loss);
        }
    }
}
