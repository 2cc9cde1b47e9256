//! Markdown being written: headings, tables, and text from a record made harmless.

use iobound_record::Finding;

use crate::report::findings::severity_word;
use crate::report::headline::capital;

/// Text so that it reads as itself: no markup, no tag, one line.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            _ if c.is_control() => out.push(' '),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '[' | ']' | '|' | '~' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out.trim().to_owned()
}

/// The document so far.
#[derive(Default)]
pub(super) struct Page {
    text: String,
}

impl Page {
    pub(super) fn heading(&mut self, level: usize, text: &str) {
        self.text += &format!("{} {}\n\n", "#".repeat(level), plain(text));
    }

    /// A paragraph of text from a record.
    pub(super) fn says(&mut self, text: &str) {
        self.markup(&plain(text));
    }

    /// A paragraph of our own markup.
    pub(super) fn markup(&mut self, text: &str) {
        if !text.is_empty() {
            self.text += &format!("{text}\n\n");
        }
    }

    /// A command or numbers, exactly as they are.
    pub(super) fn code(&mut self, text: &str) {
        let text: String = text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect();
        // A fence ends at a run of as many backticks, so it is one longer than any in the text.
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat((longest + 1).max(3));
        self.text += &format!("{fence}text\n{}\n{fence}\n\n", text.trim_end());
    }

    /// A table; cells are text from a record, columns named with `>` at the start are numbers.
    pub(super) fn table(&mut self, head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
        let names: Vec<&str> = head.iter().map(|name| name.trim_start_matches('>')).collect();
        self.text += &format!("| {} |\n", names.join(" | "));
        let rules: Vec<&str> =
            head.iter().map(|name| if name.starts_with('>') { "---:" } else { "---" }).collect();
        self.text += &format!("| {} |\n", rules.join(" | "));
        for row in rows {
            let cells: Vec<String> = row.iter().map(|cell| plain(cell)).collect();
            self.text += &format!("| {} |\n", cells.join(" | "));
        }
        self.text.push('\n');
    }

    /// Findings, worst first, each with what was seen and what to do.
    pub(super) fn findings<'a>(&mut self, findings: impl Iterator<Item = &'a Finding>) {
        for finding in findings {
            let severity = capital(severity_word(finding.severity));
            let Finding { id, what, evidence, remedy, .. } = finding;
            self.text += &format!("- **{severity}: {}**", plain(id));
            for (label, words) in [("", what), ("Seen: ", evidence), ("Do: ", remedy)] {
                if !words.is_empty() {
                    self.text += &format!("  \n  {label}{}", plain(words));
                }
            }
            self.text.push('\n');
        }
        self.text.push('\n');
    }

    pub(super) fn finish(self) -> String {
        format!("{}\n", self.text.trim_end())
    }
}
