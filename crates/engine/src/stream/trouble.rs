//! The first thing that went wrong with an output, and how much of it is whole nevertheless.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Shared by the threads of one output.
#[derive(Default)]
pub(super) struct Trouble {
    there: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    first: Option<(u64, io::Error)>,
    /// The lowest position that was handed out and not written.
    missing_from: Option<u64>,
}

impl Trouble {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn is_there(&self) -> bool {
        self.there.load(Ordering::Relaxed)
    }

    /// A write failed. The failure at the lowest position is the one that is told.
    pub(super) fn failed(&self, position: u64, error: io::Error) {
        let mut state = self.state();
        if state.first.as_ref().is_none_or(|(known, _)| position < *known) {
            state.first = Some((position, error));
        }
        state.missing_from = Some(state.missing_from.map_or(position, |known| known.min(position)));
        self.there.store(true, Ordering::Relaxed);
    }

    /// What was filled from this position on was not written.
    pub(super) fn give_up(&self, position: Option<u64>) {
        let mut state = self.state();
        state.missing_from = state.missing_from.into_iter().chain(position).min();
    }

    /// The failure, and the first position that may be missing.
    pub(super) fn take(self) -> (Option<(u64, io::Error)>, Option<u64>) {
        let state = self.state.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        (state.first, state.missing_from)
    }
}
