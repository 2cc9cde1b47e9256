//! What a person sees while jobs run: one line a job, live on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use iobound_engine::{Phase, Snapshot};
use iobound_record::{Measurement, units};

/// Shows how a run goes, on the error stream: the output stream is for results.
pub enum Progress {
    /// Nothing at all.
    Quiet,
    /// A line when a job starts and one when it ends.
    Plain,
    /// A line a job that changes as it runs.
    Live(MultiProgress),
}

/// The line of one job.
pub struct Line {
    name: String,
    bar: Option<ProgressBar>,
    plain: bool,
    shown: Option<Phase>,
    last: Option<Snapshot>,
}

impl Progress {
    /// Live on a terminal, plain elsewhere, nothing when `quiet`.
    pub fn new(quiet: bool) -> Progress {
        if quiet {
            Progress::Quiet
        } else if std::io::stderr().is_terminal()
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        {
            Progress::Live(MultiProgress::new())
        } else {
            Progress::Plain
        }
    }

    /// Something that belongs to no job.
    pub fn say(&self, text: &str) {
        match self {
            Progress::Quiet => {}
            Progress::Plain => eprintln!("{text}"),
            Progress::Live(all) => {
                let _ = all.println(text);
            }
        }
    }

    /// A line for one more job.
    pub fn line(&self, name: &str) -> Line {
        let bar = match self {
            Progress::Live(all) => {
                let bar = all.add(ProgressBar::new_spinner());
                bar.set_style(
                    ProgressStyle::with_template("{spinner} {msg}")
                        .unwrap_or_else(|_| ProgressStyle::default_spinner()),
                );
                bar.enable_steady_tick(Duration::from_millis(250));
                Some(bar)
            }
            _ => None,
        };
        Line { name: name.into(), bar, plain: matches!(self, Progress::Plain), shown: None, last: None }
    }
}

impl Line {
    /// Shows how far the job is.
    pub fn update(&mut self, now: &Snapshot) {
        let text = format!("{:<14} {}", self.name, doing(now, self.last.as_ref()));
        if let Some(bar) = &self.bar {
            bar.set_message(text);
        } else if self.plain
            && self.shown != Some(now.phase)
            && now.phase != Phase::Preparing
            && now.phase != Phase::Done
        {
            eprintln!("{:<14} {}", self.name, phase_word(now.phase));
        }
        if self.shown != Some(now.phase) {
            self.last = None;
        } else if self.last.is_none_or(|last| now.elapsed_ns >= last.elapsed_ns + 1_000_000_000) {
            self.last = Some(*now);
        }
        self.shown = Some(now.phase);
    }

    /// Shows words of the caller's, on a terminal.
    pub fn tell(&mut self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{:<14} {text}", self.name));
        }
    }

    /// Takes the line away.
    pub fn clear(self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// The job ended.
    pub fn finish(self, measurement: Option<&Measurement>) {
        self.finish_with(&measurement.map_or("no result".into(), result));
    }

    /// The job ended, with this to say of it.
    pub fn finish_with(self, what: &str) {
        let text = format!("{:<14} {what}", self.name);
        if let Some(bar) = &self.bar {
            bar.set_style(
                ProgressStyle::with_template("  {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()),
            );
            bar.finish_with_message(text);
        } else if self.plain {
            eprintln!("{text}");
        }
    }
}

fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Preparing => "preparing",
        Phase::LayingOut => "laying out: writing data into every block",
        Phase::Ramping => "ramping up",
        Phase::Measuring => "measuring",
        Phase::Verifying => "reading back and checking",
        Phase::Done => "done",
    }
}

/// Rate, latency and time left of the running phase. Rates are those since `last`, about a second
/// ago, so that a change shows at once.
fn doing(now: &Snapshot, last: Option<&Snapshot>) -> String {
    let since = last.filter(|last| last.phase == now.phase && now.elapsed_ns > last.elapsed_ns);
    let (ios, bytes, latency, ns) = match since {
        Some(last) => (
            now.ios.saturating_sub(last.ios),
            now.bytes.saturating_sub(last.bytes),
            now.latency_ns.saturating_sub(last.latency_ns),
            now.elapsed_ns - last.elapsed_ns,
        ),
        None => (now.ios, now.bytes, now.latency_ns, now.elapsed_ns.max(1)),
    };
    let seconds = ns as f64 / 1e9;
    let left = match time_left(now) {
        Some(ns) => format!(", {:.0} s left", ns as f64 / 1e9),
        None => String::new(),
    };
    let mib = units::significant(bytes as f64 / seconds / units::MIB as f64);
    match now.phase {
        Phase::Measuring if ios > 0 => format!(
            "{} IOPS  {mib} MiB/s  {} each{left}",
            units::count(ios as f64 / seconds),
            units::duration(latency / ios)
        ),
        Phase::LayingOut | Phase::Verifying => format!("{}: {mib} MiB/s{left}", phase_word(now.phase)),
        phase => format!("{}{left}", phase_word(phase)),
    }
}

fn time_left(now: &Snapshot) -> Option<u64> {
    let by_time = now.length_ns.map(|length| length.saturating_sub(now.elapsed_ns));
    let by_bytes = now.length_bytes.filter(|_| now.bytes > 0).map(|length| {
        let left = length.saturating_sub(now.bytes) as f64;
        (left / now.bytes as f64 * now.elapsed_ns as f64) as u64
    });
    match (by_time, by_bytes) {
        (Some(time), Some(bytes)) => Some(time.min(bytes)),
        (time, bytes) => time.or(bytes),
    }
}

/// The end of a job in one line.
fn result(measurement: &Measurement) -> String {
    let mut parts = Vec::new();
    for (what, side) in [("read", &measurement.read), ("write", &measurement.write)] {
        if side.ios > 0 {
            parts.push(format!(
                "{what} {} IOPS  {} MiB/s  {} each",
                units::count(side.iops),
                units::significant(side.bandwidth_bytes_per_s / units::MIB as f64),
                units::duration(side.latency_ns.mean as u64)
            ));
        }
    }
    if parts.is_empty() {
        parts.push("nothing completed".into());
    }
    if measurement.errors > 0 {
        parts.push(format!("{} ERRORS", measurement.errors));
    }
    if measurement.interrupted {
        parts.push("interrupted".into());
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64, ios: u64) -> Snapshot {
        Snapshot {
            phase: Phase::Measuring,
            elapsed_ns: seconds * 1_000_000_000,
            length_ns: Some(60_000_000_000),
            length_bytes: None,
            ios,
            bytes: ios * 4096,
            latency_ns: ios * 500_000,
        }
    }

    #[test]
    fn the_rate_shown_is_the_latest() {
        assert_eq!(
            doing(&at(10, 13_000), Some(&at(9, 10_000))),
            "3,000 IOPS  11.7 MiB/s  500 us each, 50 s left"
        );
    }

    #[test]
    fn an_amount_gives_the_time_left_too() {
        let now = Snapshot { phase: Phase::LayingOut, length_ns: None, length_bytes: Some(8192), ..at(2, 1) };
        assert_eq!(time_left(&now), Some(2_000_000_000));
    }
}
