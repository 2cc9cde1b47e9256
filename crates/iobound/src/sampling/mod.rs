//! Watches the devices while jobs run: a row a second into `samples.csv`, a summary of each scenario
//! into the record.

pub mod csv;
mod over_time;
mod summary;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use iobound_host::{DeviceNumber, ProcessIo, Sampler, Stack, System, TotalOver};
use iobound_record::SampleSummary;

use summary::Gathering;

/// Name of the file beside the record.
pub const SAMPLES: &str = "samples.csv";
const INTERVAL: Duration = Duration::from_secs(1);
/// A tick that comes this much early counts: the clock and the sleep round differently.
const EARLY: Duration = Duration::from_millis(1);
/// The thread gives way to the jobs; a late tick is as right as one in time.
const NICE: i32 = 10;
/// Rows are kept in memory between scenarios; a long one writes when it has this much.
const BUFFER_MOST: usize = 1 << 20;

/// The thread and what it has seen. Dropping it ends the thread.
pub struct Sampling {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    ended: Mutex<bool>,
    wake: Condvar,
}

struct State {
    sampler: Sampler,
    last: Instant,
    table: Table,
    windows: Vec<Window>,
}

/// One scenario.
struct Window {
    scenario: usize,
    name: String,
    devices: Vec<String>,
    /// Numbers of those that hold its files.
    numbers: Vec<DeviceNumber>,
    gathering: Gathering,
    open: bool,
    /// Wall clock and the one that never steps, when it began; and by how much they went apart since.
    began: Option<(SystemTime, Instant)>,
    clock_step_ns: Option<i64>,
    processes: ProcessIo,
    announced: Instant,
}

/// The file, as far as it is written.
struct Table {
    path: PathBuf,
    file: Option<File>,
    rows: String,
    /// Why there is no file, until it has been said.
    failed: Option<String>,
    lost: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Sampling {
    /// Begins; nothing is watched yet but the machine itself. The file is made with the first rows.
    pub fn start(system: &System, directory: &Path) -> Sampling {
        let table = Table {
            path: directory.join(SAMPLES),
            file: None,
            rows: csv::header(true),
            failed: None,
            lost: false,
        };
        let sampler = Sampler::of_stacks(system, &[], TotalOver::Disks);
        let state = State { sampler, last: Instant::now(), table, windows: Vec::new() };
        let shared =
            Arc::new(Shared { state: Mutex::new(state), ended: Mutex::new(false), wake: Condvar::new() });
        locked(&shared.state).tick();
        let of_thread = Arc::clone(&shared);
        // Without a thread there are still the readings at both ends of each scenario.
        let thread =
            std::thread::Builder::new().name("sampler".into()).spawn(move || of_thread.keep_ticking()).ok();
        Sampling { shared, thread }
    }

    /// Announces a scenario before it runs; gives what marks its measured time.
    pub fn scenario(&self, scenario: usize, name: &str, stacks: &[Stack]) -> Mark {
        let mut state = locked(&self.shared.state);
        stacks.iter().for_each(|stack| state.sampler.add(stack));
        let devices = stacks
            .iter()
            .flat_map(|stack| stack.top.iter().chain(&stack.members))
            .map(|device| device.name.clone())
            .collect();
        state.windows.push(Window {
            scenario,
            name: name.to_owned(),
            devices,
            numbers: stacks.iter().flat_map(|stack| &stack.top).filter_map(|device| device.number).collect(),
            gathering: Gathering::default(),
            open: false,
            began: None,
            clock_step_ns: None,
            processes: ProcessIo::take(&System::live()),
            announced: Instant::now(),
        });
        Mark { shared: Arc::clone(&self.shared), scenario }
    }

    /// The summary of a scenario that ended.
    pub fn take(&self, scenario: usize) -> Option<SampleSummary> {
        let mut state = locked(&self.shared.state);
        let at = state.windows.iter().position(|window| window.scenario == scenario)?;
        let window = state.windows.remove(at);
        let mut summary = window.gathering.summary(|name| window.devices.iter().any(|d| d == name))?;
        summary.clock_step_ns = window.clock_step_ns;
        let system = System::live();
        let elapsed = window.announced.elapsed();
        let now = ProcessIo::take(&system);
        summary.processes = now.since_on(&window.processes, elapsed, &system, &window.numbers);
        Some(summary)
    }

    /// Writes what is buffered. Gives the name of the file if it holds all rows, and, once, words for
    /// the person when it cannot be written.
    pub fn flush(&self) -> (Option<String>, Option<String>) {
        let mut state = locked(&self.shared.state);
        state.table.write();
        let name = (!state.table.lost).then(|| SAMPLES.to_owned());
        (name, state.table.failed.take())
    }
}

impl Drop for Sampling {
    fn drop(&mut self) {
        *locked(&self.shared.ended) = true;
        self.shared.wake.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Marks the measured time of one scenario.
pub struct Mark {
    shared: Arc<Shared>,
    scenario: usize,
}

impl Mark {
    /// It begins. A reading is taken now, so that intervals lie wholly within or without.
    pub fn begin(&self) {
        self.turn(true);
    }

    /// It ends.
    pub fn end(&self) {
        self.turn(false);
    }

    fn turn(&self, open: bool) {
        let mut state = locked(&self.shared.state);
        state.tick();
        if let Some(window) = state.windows.iter_mut().find(|window| window.scenario == self.scenario) {
            window.open = open;
            let now = (SystemTime::now(), Instant::now());
            if open {
                window.began = Some(now);
            } else {
                window.clock_step_ns = window.began.map(|began| clock_step_ns(began, now));
            }
        }
    }
}

/// By how much the wall clock went further than time did.
fn clock_step_ns(began: (SystemTime, Instant), now: (SystemTime, Instant)) -> i64 {
    let passed = now.1.saturating_duration_since(began.1).as_nanos() as i128;
    let by_wall = match now.0.duration_since(began.0) {
        Ok(forward) => forward.as_nanos() as i128,
        Err(back) => -(back.duration().as_nanos() as i128),
    };
    (by_wall - passed).clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

impl Shared {
    fn keep_ticking(&self) {
        let _ = rustix::process::setpriority_process(None, NICE);
        let mut ended = locked(&self.ended);
        let mut wait = INTERVAL;
        while !*ended {
            ended = self.wake.wait_timeout(ended, wait).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
            if *ended {
                return;
            }
            let mut state = locked(&self.state);
            if state.last.elapsed() + EARLY >= INTERVAL {
                state.tick();
            }
            wait = INTERVAL.saturating_sub(state.last.elapsed()).max(EARLY);
        }
    }
}

impl State {
    fn tick(&mut self) {
        self.last = Instant::now();
        // A table that cannot be read (a container without /proc) gives no samples, and no error: the
        // measurement stands without them.
        let Ok(sample) = self.sampler.tick() else { return };
        let open: Vec<&str> =
            self.windows.iter().filter(|window| window.open).map(|window| window.name.as_str()).collect();
        if sample.interval_ns > 0 {
            csv::append(&mut self.table.rows, sample, Some(&open.join("+")));
        }
        for window in self.windows.iter_mut().filter(|window| window.open) {
            window.gathering.add(sample);
        }
        if self.table.rows.len() > BUFFER_MOST {
            self.table.write();
        }
    }
}

impl Table {
    /// Appends the buffered rows. After a failure the file goes, to leave the record the room, and rows
    /// are dropped.
    fn write(&mut self) {
        if !self.lost
            && let Err(error) = self.try_write()
        {
            self.lost = true;
            self.file = None;
            let _ = std::fs::remove_file(&self.path);
            self.failed =
                Some(format!("{} cannot be written: {error}; the run goes on", self.path.display()));
        }
        self.rows.clear();
    }

    fn try_write(&mut self) -> std::io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::create(&self.path)?),
        };
        // No fsync: it would write back the pages of whatever is being measured.
        file.write_all(self.rows.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_is_covered_from_its_beginning_to_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let system = System::live();
        let stack = system.stack_of(directory.path()).unwrap();
        let sampling = Sampling::start(&system, directory.path());
        let mark = sampling.scenario(3, "a,b", &[stack]);
        mark.begin();
        let begun = Instant::now();
        std::thread::sleep(Duration::from_millis(1300));
        mark.end();
        let elapsed = begun.elapsed();
        let summary = sampling.take(3).expect("a summary");
        assert!(summary.intervals >= 2, "one tick by the thread, one at the end: {summary:?}");
        let covered = Duration::from_nanos(summary.covered_ns);
        assert!(covered.abs_diff(elapsed) < Duration::from_millis(150), "{covered:?} of {elapsed:?}");
        assert!(summary.dirty_bytes.max > 0.0 || !Path::new("/proc/meminfo").exists());
        assert_eq!(sampling.take(3), None);
        assert_eq!(sampling.flush(), (Some(SAMPLES.to_owned()), None));
        drop(sampling);
        let text = std::fs::read_to_string(directory.path().join(SAMPLES)).unwrap();
        assert!(text.starts_with("time_s,interval_s,device,"), "{text}");
        assert!(text.lines().any(|line| line.ends_with("\"a,b\"")), "{text}");
    }

    #[test]
    fn a_clock_that_was_set_is_told_from_time_that_passed() {
        let (wall, steady) = (SystemTime::now(), Instant::now());
        let second = Duration::from_secs(1);
        let step = |wall_now| clock_step_ns((wall, steady), (wall_now, steady + second));
        assert_eq!(step(wall + second), 0);
        assert_eq!(step(wall + 3601 * second), 3_600_000_000_000);
        assert_eq!(step(wall - 59 * second), -60_000_000_000);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_said_once() {
        let directory = tempfile::tempdir().unwrap();
        let sampling = Sampling::start(&System::live(), &directory.path().join("missing"));
        let (name, words) = sampling.flush();
        assert_eq!(name, None);
        assert!(words.unwrap().contains("cannot be written"));
        assert_eq!(sampling.flush(), (None, None));
    }
}
