//! The objects that are there: which can be got, and which can be deleted without somebody reading them.

use std::sync::{Arc, Mutex, MutexGuard};

/// One object by its number. Who holds one keeps it from being deleted.
pub(super) type Held = Arc<u64>;

/// All objects that were put and not deleted.
#[derive(Default)]
pub(super) struct Population {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    there: Vec<Held>,
    next: u64,
}

impl Population {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A number that no object had.
    pub(super) fn next(&self) -> u64 {
        let mut state = self.state();
        state.next += 1;
        state.next - 1
    }

    /// Numbers given out so far.
    pub(super) fn given_out(&self) -> u64 {
        self.state().next
    }

    /// An object is there.
    pub(super) fn add(&self, number: u64) {
        self.state().there.push(Arc::new(number));
    }

    /// Any object; `place` chooses.
    pub(super) fn any(&self, place: u64) -> Option<Held> {
        let state = self.state();
        let count = state.there.len() as u64;
        (count > 0).then(|| Arc::clone(&state.there[(place % count) as usize]))
    }

    /// Takes out an object that nobody holds.
    pub(super) fn take(&self, place: u64) -> Option<u64> {
        /// A few looks will do: of more objects than requests, most are held by nobody.
        const LOOKS: u64 = 16;
        let mut state = self.state();
        let count = state.there.len() as u64;
        let free = (0..LOOKS.min(count))
            .map(|step| ((place % count + step) % count) as usize)
            .find(|&index| Arc::strong_count(&state.there[index]) == 1)?;
        Some(*state.there.swap_remove(free))
    }

    /// How many are there.
    pub(super) fn len(&self) -> usize {
        self.state().there.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_not_deleted() {
        let population = Population::default();
        assert!(population.any(0).is_none() && population.take(0).is_none());
        for _ in 0..2 {
            let number = population.next();
            population.add(number);
        }
        let held = population.any(0).unwrap();
        assert_eq!((*held, population.take(0)), (0, Some(1)));
        assert_eq!((population.take(7), population.len()), (None, 1));
        drop(held);
        assert_eq!((population.take(7), population.len(), population.given_out()), (Some(0), 0, 2));
    }
}
