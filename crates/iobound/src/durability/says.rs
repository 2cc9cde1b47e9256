//! The verdict in sentences.

use std::fmt::Write as _;

use super::ack::{Step, Why};
use super::options::Sync;
use super::promises::Promises;
use super::verdict::{Instead, Loss, Losses, Status, Unproved, Verdict};

/// What a person reads; the first line is the answer.
pub fn says(promises: &Promises, verdict: &Verdict) -> String {
    let mut text = headline(promises, verdict) + "\n";
    let hello = &promises.hello;
    let mut line = |words: String| {
        let _ = writeln!(text, "  {words}");
    };
    line(format!(
        "run {:016x} of {}: {} on {}, {}{}",
        hello.run,
        hello.started,
        hello.sync,
        hello.target,
        if hello.direct { "O_DIRECT" } else { "buffered" },
        promises
            .ended
            .map_or_else(String::new, |why| format!(", ended before any power cut ({})", why.word()))
    ));
    line(format!(
        "in place: {} slots hold their newest promised record; earlier ones were overwritten, as asked",
        verdict.in_place
    ));
    if verdict.proved_by_order > 0 {
        line(format!(
            "writes known to be synced only by later records, their acknowledgements not having arrived: {}",
            verdict.proved_by_order
        ));
    }
    if verdict.nothing_of_the_run {
        line(format!(
            "nothing of this run is there at all: make sure that this is what it wrote to ({})",
            hello.target
        ));
    }
    losses(&mut line, "lost", &verdict.lost);
    losses(&mut line, "torn", &verdict.torn);
    if verdict.out_of_order > 0 {
        line(format!(
            "out of order: {} of them are gone although a later record of the same thread is there",
            verdict.out_of_order
        ));
    }
    if verdict.torn_in_flight > 0 {
        line(format!(
            "torn in flight: {} records that were not acknowledged are there in part, which is in order",
            verdict.torn_in_flight
        ));
    }
    if verdict.misplaced > 0 {
        line(format!("misplaced: {} records stand where they do not belong", verdict.misplaced));
    }
    for failed in &verdict.failed {
        let error = std::io::Error::from_raw_os_error(failed.errno);
        let step = if failed.step == Step::Write { "write" } else { "sync" };
        line(format!(
            "the storage itself said that {step} {} of thread {} failed: {error}",
            failed.seq, failed.thread
        ));
    }
    if verdict.damaged_lines > 0 {
        line(format!(
            "lines of the log that are cut or damaged and promise nothing: {}",
            verdict.damaged_lines
        ));
    }
    if !promises.other_runs.is_empty() {
        line(format!("other runs in the log: {}; --run NAME judges another", promises.other_runs.len()));
    }
    text
}

fn headline(promises: &Promises, verdict: &Verdict) -> String {
    let acked = verdict.acknowledged;
    match (verdict.status, &verdict.unproved) {
        (Status::Honest, _) => format!("honest: all {acked} acknowledged writes are there"),
        (Status::Lies, _) => {
            let by_order = verdict.losses() - verdict.acknowledged_losses;
            let more = match by_order {
                0 => String::new(),
                _ => format!(" ({by_order} of them known to be synced by later records alone)"),
            };
            format!("lies: {} acknowledged writes lost{more}", verdict.losses())
        }
        (Status::Control, _) => format!(
            "control: {} of {acked} writes that were not synced are lost: this power cut destroys what is not synced",
            verdict.losses()
        ),
        (Status::Unknown, why) => {
            format!("unknown: nothing was proved: {}", unproved(promises, why.as_ref()))
        }
    }
}

fn unproved(promises: &Promises, why: Option<&Unproved>) -> String {
    match why {
        Some(Unproved::NoAcknowledgement) => {
            "no write was acknowledged; let it write for longer before the cut".into()
        }
        Some(Unproved::RunEnded(Why::Failed)) => {
            "the storage failed before the power was cut, and nothing acknowledged is lost".into()
        }
        Some(Unproved::RunEnded(why)) => format!(
            "nothing is lost, but the run ended before the power was cut ({}), and the storage had time to write \
             its cache back; cut the power while it writes",
            why.word()
        ),
        Some(Unproved::SameBoot) => format!(
            "nothing is lost, but this machine has not been started anew since: without a power cut nothing is \
             learned of volatile caches{}",
            "; --power-was-cut says that the storage alone lost its power"
        ),
        Some(Unproved::ControlLostNothing) => format!(
            "the control ({}) lost nothing: this power cut destroys nothing, and would show no lie either",
            Sync::None
        ),
        None => format!("run {:016x}", promises.hello.run),
    }
}

fn losses(line: &mut impl FnMut(String), word: &str, losses: &Losses) {
    let (Some(first), Some(last)) = (losses.first, losses.last) else { return };
    line(format!("{word}: {}; the first: {}", losses.count, loss(&first)));
    if losses.count > 1 {
        line(format!("{:width$}  the last: {}", "", loss(&last), width = word.len()));
    }
}

fn loss(loss: &Loss) -> String {
    let instead = match loss.instead {
        Instead::Older { seq } => format!("its older write {seq} is there"),
        Instead::Foreign => "nothing of this run is there".into(),
        Instead::Misplaced => "a record of another place is there".into(),
        Instead::EndOfFile => "the file ends before".into(),
        Instead::Unreadable { errno } => {
            format!("reading fails: {}", std::io::Error::from_raw_os_error(errno))
        }
        Instead::Torn { sectors, of } => format!("{sectors} of its {of} sectors are there"),
    };
    format!("write {} of thread {} at offset {}: {instead}", loss.seq, loss.thread, loss.offset)
}
