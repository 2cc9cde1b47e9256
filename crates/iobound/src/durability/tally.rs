//! A count that grows, on a terminal.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use iobound_record::units;

/// How often it is shown anew.
const SHOW_EVERY: Duration = Duration::from_millis(500);

/// A line with a count, on a terminal; nothing elsewhere.
pub struct Tally {
    bar: Option<ProgressBar>,
    started: Instant,
    shown: Instant,
}

impl Tally {
    /// Nothing at all when `quiet`.
    pub fn new(quiet: bool) -> Tally {
        let now = Instant::now();
        let bar = (!quiet && stderr().is_terminal()).then(ProgressBar::new_spinner);
        Tally { bar, started: now, shown: now }
    }

    /// Shows the count.
    pub fn show(&mut self, count: u64, what: &str) {
        let Some(bar) = &self.bar else { return };
        if self.shown.elapsed() < SHOW_EVERY {
            return;
        }
        self.shown = Instant::now();
        let rate = count as f64 / self.started.elapsed().as_secs_f64();
        bar.set_message(format!("{} {what}, {}/s", units::count(count as f64), units::count(rate)));
        bar.tick();
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
