//! Lines of text: cleaned, wrapped, coloured.

use super::Look;

/// Colours by what they say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::report) enum Ink {
    /// All is well.
    Good,
    /// Read this.
    Caution,
    /// Do not use the number.
    Alarm,
    /// By the way.
    Calm,
    /// A heading.
    Strong,
}

impl Ink {
    /// The parameters of the ANSI sequence that sets it.
    fn code(self) -> &'static str {
        match self {
            Ink::Good => "32",
            Ink::Caution => "33",
            Ink::Alarm => "1;31",
            Ink::Calm => "36",
            Ink::Strong => "1",
        }
    }
}

/// Indent of what belongs to a labelled line: as wide as the longest severity with its space.
const LABEL_WIDTH: usize = 9;

/// The text so far.
pub(in crate::report) struct Page {
    look: Look,
    out: String,
}

impl Page {
    pub(in crate::report) fn new(look: Look) -> Page {
        Page { look, out: String::new() }
    }

    pub(in crate::report) fn width(&self) -> usize {
        self.look.width
    }

    pub(in crate::report) fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    pub(in crate::report) fn finish(self) -> String {
        self.out
    }

    pub(in crate::report) fn blank(&mut self) {
        self.out.push('\n');
    }

    /// One line as it is, cleaned.
    pub(in crate::report) fn line(&mut self, text: &str) {
        let text = self.clean(text);
        self.push(text.trim_end());
    }

    /// A line whose first characters, `mark`, are coloured.
    pub(in crate::report) fn marked(&mut self, line: &str, mark: &str, ink: Ink) {
        let line = self.clean(line);
        match line.strip_prefix(mark) {
            Some(rest) if !mark.is_empty() => {
                let painted = format!("{}{}", self.paint(mark, ink), rest.trim_end());
                self.push(&painted);
            }
            _ => self.push(line.trim_end()),
        }
    }

    pub(in crate::report) fn heading(&mut self, text: &str) {
        for line in wrap(&self.clean(text), self.look.width) {
            let painted = self.paint(&line, Ink::Strong);
            self.push(&painted);
        }
    }

    /// Wrapped text, each line after `indent`.
    pub(in crate::report) fn wrapped(&mut self, indent: &str, text: &str) {
        let room = self.look.width.saturating_sub(indent.len());
        for line in wrap(&self.clean(text), room) {
            self.push(&format!("{indent}{line}"));
        }
    }

    /// A coloured word and text beside it, wrapped under itself.
    pub(in crate::report) fn labelled(&mut self, (label, ink): (&str, Ink), text: &str) {
        let indent = LABEL_WIDTH.max(label.len() + 2);
        let gap = " ".repeat(indent - label.len());
        for (i, line) in wrap(&self.clean(text), self.look.width - indent).into_iter().enumerate() {
            let start = if i == 0 { format!("{}{gap}", self.paint(label, ink)) } else { " ".repeat(indent) };
            self.push(&format!("{start}{line}"));
        }
    }

    pub(in crate::report) fn bullet(&mut self, text: &str) {
        let dot = if self.look.unicode { "\u{2022}" } else { "-" };
        for (i, line) in wrap(&self.clean(text), self.look.width - 4).into_iter().enumerate() {
            self.push(&format!("  {} {line}", if i == 0 { dot } else { " " }));
        }
    }

    /// `text` without what would break a line or a terminal; ASCII if the terminal wants that.
    pub(in crate::report) fn clean(&self, text: &str) -> String {
        let mut clean = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                _ if c.is_control() => clean.push(' '),
                _ if c.is_ascii() || self.look.unicode => clean.push(c),
                '\u{b5}' | '\u{3bc}' => clean.push('u'),
                '\u{d7}' => clean.push('x'),
                '\u{2026}' => clean.push_str("..."),
                '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{2500}' => clean.push('-'),
                '\u{2018}' | '\u{2019}' => clean.push('\''),
                '\u{201c}' | '\u{201d}' => clean.push('"'),
                _ => clean.push('?'),
            }
        }
        clean
    }

    /// At most `width` characters, with a sign that some were left out.
    pub(in crate::report) fn shortened(&self, text: &str, width: usize) -> String {
        let text = self.clean(text);
        if text.chars().count() <= width {
            return text;
        }
        let sign = if self.look.unicode { '\u{2026}' } else { '~' };
        text.chars().take(width.saturating_sub(1)).chain([sign]).collect()
    }

    fn paint(&self, text: &str, ink: Ink) -> String {
        if self.look.colour { format!("\u{1b}[{}m{text}\u{1b}[0m", ink.code()) } else { text.into() }
    }

    fn push(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }
}

/// Lines of at most `width` characters, broken between words. A longer word (a path, a command)
/// stays whole on a line of its own, so that it can be copied.
pub(in crate::report) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}
