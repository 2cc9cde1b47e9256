//! What the keys do.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A wish of the person at the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Quit,
    Pause,
    Unit,
    Everything,
    /// Sort by the next column to the right, or to the left.
    Sort(isize),
    /// Lines down, or up.
    Scroll(isize),
}

/// What a key asks for.
pub(super) fn act(key: KeyEvent) -> Option<Act> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Act::Quit),
        KeyCode::Char('q') | KeyCode::Esc => Some(Act::Quit),
        KeyCode::Char(' ') => Some(Act::Pause),
        KeyCode::Char('u') => Some(Act::Unit),
        KeyCode::Char('a') => Some(Act::Everything),
        KeyCode::Right | KeyCode::Char('s') => Some(Act::Sort(1)),
        KeyCode::Left => Some(Act::Sort(-1)),
        KeyCode::Down => Some(Act::Scroll(1)),
        KeyCode::Up => Some(Act::Scroll(-1)),
        KeyCode::PageDown => Some(Act::Scroll(10)),
        KeyCode::PageUp => Some(Act::Scroll(-10)),
        _ => None,
    }
}
