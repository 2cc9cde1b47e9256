//! Live rates of devices: on a screen, or as text, CSV or JSON in a pipe.

mod keys;
mod paint;
mod terminal;
mod text;
mod view;

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iobound_host::{Sampler, Stack, System};
use iobound_record::Sample;
use ratatui::crossterm::event::{self, Event};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::exit::Failure;
use crate::sampling::csv;
use keys::Act;
use terminal::Screen;
use view::View;

pub use iobound_host::TotalOver as Total;

/// Other processes are looked at this often: each costs microseconds.
const PROCESSES_EVERY: Duration = Duration::from_secs(3);
/// Longest wait for a key, so that a signal is obeyed soon.
const POLL: Duration = Duration::from_millis(100);

/// What is to be watched.
pub struct Plan {
    /// The machine.
    pub system: System,
    /// Devices that were asked for; none for all.
    pub stacks: Vec<Stack>,
    /// Time between two looks.
    pub interval: Duration,
    /// Intervals to show; None for no end.
    pub count: Option<u64>,
    /// Show partitions and idle devices.
    pub all: bool,
    /// What totals go over.
    pub total: Total,
}

/// How a pipe gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Tables for people.
    Text,
    /// One row a device.
    Csv,
    /// One object an interval.
    Json,
}

impl Plan {
    /// A sampler with its first reading taken.
    fn sampler(&self, everything: bool) -> Result<Sampler, Failure> {
        let stacks: Vec<&Stack> = self.stacks.iter().collect();
        let mut sampler = if everything || stacks.is_empty() {
            Sampler::of_everything(&self.system, self.all)
        } else {
            Sampler::of_stacks(&self.system, &stacks, self.total)
        };
        sampler.tick().map_err(Failure::broke)?;
        Ok(sampler)
    }

    /// When the next look is due. Looks that were missed (a stopped process, a suspended machine) are not
    /// made up for.
    fn next(&self, due: Instant) -> Instant {
        let next = due + self.interval;
        let now = Instant::now();
        if next > now { next } else { now + self.interval }
    }
}

/// Writes intervals until the count is reached or the reader goes away, which is no error.
///
/// # Errors
/// The counters cannot be read, or the output cannot be written.
pub fn stream(plan: &Plan, form: Form, out: &mut impl Write) -> Result<(), Failure> {
    let mut sampler = plan.sampler(false)?;
    if form == Form::Json {
        sampler = sampler.with_processes(PROCESSES_EVERY);
    }
    let mut buffer = if form == Form::Csv { csv::header(false) } else { String::new() };
    let mut due = Instant::now();
    let mut shown = 0;
    loop {
        // The header at once: a reader can tell a quiet machine from a broken pipe.
        match out.write_all(buffer.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(Failure::broke(format!("the output cannot be written: {error}"))),
            Ok(()) => {}
        }
        if plan.count.is_some_and(|count| shown >= count) {
            return Ok(());
        }
        due = plan.next(due);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let sample = sampler.tick().map_err(Failure::broke)?;
        buffer.clear();
        append(&mut buffer, sample, form, plan)?;
        shown += 1;
    }
}

fn append(buffer: &mut String, sample: &Sample, form: Form, plan: &Plan) -> Result<(), Failure> {
    match form {
        Form::Csv => csv::append(buffer, sample, None),
        Form::Json => {
            buffer.push_str(&serde_json::to_string(sample).map_err(Failure::broke)?);
            buffer.push('\n');
        }
        Form::Text => text::append(buffer, sample, plan.all || !plan.stacks.is_empty()),
    }
    Ok(())
}

/// Shows a screen until `q`, a signal, or the count is reached.
///
/// # Errors
/// The terminal or the counters cannot be used.
pub fn screen(plan: &Plan) -> Result<(), Failure> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGHUP, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&asked)).map_err(Failure::broke)?;
    }
    let mut view = View::new(plan.all, !plan.stacks.is_empty(), plan.interval);
    let mut sampler = plan.sampler(view.everything)?.with_processes(PROCESSES_EVERY);
    let mut screen = Screen::enter().map_err(Failure::broke)?;
    let mut due = plan.next(Instant::now());
    let mut shown = 0;
    while !asked.load(Ordering::Relaxed) && plan.count.is_none_or(|count| shown < count) {
        screen.draw(|frame| paint::paint(frame, &mut view)).map_err(Failure::broke)?;
        while Instant::now() < due && !asked.load(Ordering::Relaxed) {
            let wait = due.saturating_duration_since(Instant::now()).min(POLL);
            if !event::poll(wait).map_err(Failure::broke)? {
                continue;
            }
            match event::read().map_err(Failure::broke)? {
                Event::Key(key) => match keys::act(key) {
                    Some(Act::Quit) => return Ok(()),
                    Some(Act::Everything) => {
                        view.act(Act::Everything);
                        sampler = plan.sampler(view.everything)?.with_processes(PROCESSES_EVERY);
                        due = plan.next(Instant::now());
                    }
                    Some(act) => view.act(act),
                    None => continue,
                },
                Event::Resize(..) => {}
                _ => continue,
            }
            screen.draw(|frame| paint::paint(frame, &mut view)).map_err(Failure::broke)?;
        }
        due = plan.next(due);
        if asked.load(Ordering::Relaxed) {
            break;
        }
        view.take(sampler.tick().map_err(Failure::broke)?);
        shown += 1;
    }
    Ok(())
}
