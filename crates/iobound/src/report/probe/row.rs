//! Rows of facts and of columns.

use super::super::terminal::text::{Page, wrap};

/// Indent of rows, and of what belongs to them.
pub(super) const ROW: &str = "  ";
/// See above.
pub(super) const BELOW: &str = "      ";
/// Between facts.
const GAP: &str = "  ";
/// Column of names of facts.
const NAME_WIDTH: usize = 11;

/// `words VALUE`, or nothing when there is no value.
pub(super) fn fact(words: &str, value: &str) -> String {
    if value.is_empty() { String::new() } else { format!("{words} {value}") }
}

/// Those that are not empty, joined.
pub(super) fn join(parts: &[&str], by: &str) -> String {
    let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    parts.join(by)
}

/// A named row of facts, wrapped below itself; none when there are no facts.
pub(super) fn facts(page: &mut Page, name: &str, parts: &[&str]) {
    let text = join(parts, ", ");
    if text.is_empty() {
        return;
    }
    let room = page.width().saturating_sub(ROW.len() + NAME_WIDTH + 1);
    for (at, line) in wrap(&page.clean(&text), room).into_iter().enumerate() {
        let name = if at == 0 { name } else { "" };
        page.line(&format!("{ROW}{name:<NAME_WIDTH$} {line}"));
    }
}

/// Facts below a row, parted by wide gaps. A line breaks between them, within one only when it is longer
/// than a line.
pub(super) fn below(page: &mut Page, parts: &[&str]) {
    let room = page.width().saturating_sub(BELOW.len());
    let mut line = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        for piece in wrap(&page.clean(part), room) {
            if !line.is_empty() && line.chars().count() + GAP.len() + piece.chars().count() > room {
                page.line(&format!("{BELOW}{line}"));
                line.clear();
            }
            if !line.is_empty() {
                line.push_str(GAP);
            }
            line.push_str(&piece);
        }
    }
    if !line.is_empty() {
        page.line(&format!("{BELOW}{line}"));
    }
}

/// Rows as columns as wide as their widest text;
/// the last is as long as it likes, within the page.
pub(super) struct Columns {
    widths: Vec<usize>,
}

/// A name longer than this does not widen the column for all the others.
const COLUMN_MAX: usize = 34;

impl Columns {
    pub fn of(rows: &[Vec<String>]) -> Columns {
        let count = rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let lengths = rows.iter().filter_map(|row| row.get(column)).map(|text| text.chars().count());
            lengths.filter(|length| *length <= COLUMN_MAX).max().unwrap_or(0)
        };
        Columns { widths: (0..count).map(width).collect() }
    }

    pub fn row(&self, page: &mut Page, row: &[String]) {
        let mut line = String::from(ROW);
        for (text, width) in row.iter().zip(&self.widths) {
            line.push_str(&format!("{text:<width$}  "));
        }
        let line = page.shortened(line.trim_end(), page.width());
        page.line(&line);
    }
}
