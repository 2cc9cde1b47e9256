//! Ctrl-C and SIGTERM: the first ends the running jobs and keeps what they measured; the second, for
//! a device that no longer answers, removes this run's files and leaves.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use iobound_engine::Control;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::exit;

/// What a signal acts on.
#[derive(Default)]
pub struct Stop {
    asked: AtomicBool,
    controls: Mutex<Vec<Arc<Control>>>,
    files: Mutex<Vec<PathBuf>>,
    last_words: Mutex<String>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Stop {
    /// Listens for signals from now on.
    ///
    /// # Errors
    /// The system's, when handlers cannot be set.
    pub fn on_signals() -> std::io::Result<Arc<Stop>> {
        let stop = Arc::new(Stop::default());
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let shared = Arc::clone(&stop);
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            for _ in signals.forever() {
                if shared.asked.swap(true, Ordering::SeqCst) {
                    shared.leave();
                }
                locked(&shared.controls).iter().for_each(|control| control.stop());
            }
        })?;
        Ok(stop)
    }

    /// Ends the run as the first signal does: for a caller that has signals of its own.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::SeqCst);
        locked(&self.controls).iter().for_each(|control| control.stop());
    }

    /// Whether the run was asked to end.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// The flag itself, for programs that are driven.
    pub fn flag(&self) -> &AtomicBool {
        &self.asked
    }

    /// Makes a job stop with the run.
    pub fn watch(&self, control: &Arc<Control>) {
        let mut controls = locked(&self.controls);
        controls.push(Arc::clone(control));
        if self.is_asked() {
            control.stop();
        }
    }

    /// Forgets jobs that ended.
    pub fn unwatch_all(&self) {
        locked(&self.controls).clear();
    }

    /// Files to remove should the run have to be left at once.
    pub fn set_files(&self, files: impl Iterator<Item = PathBuf>) {
        *locked(&self.files) = files.collect();
    }

    /// What is to be said should the run have to be left at once; nothing when empty.
    pub fn set_last_words(&self, words: String) {
        *locked(&self.last_words) = words;
    }

    fn leave(&self) -> ! {
        for file in locked(&self.files).iter() {
            let _ = std::fs::remove_file(file);
        }
        eprintln!("\niobound: left at once, as asked twice; what was recorded before is kept");
        let words = locked(&self.last_words).clone();
        if !words.is_empty() {
            eprintln!("iobound: {words}");
        }
        std::process::exit(i32::from(exit::BROKE));
    }
}
