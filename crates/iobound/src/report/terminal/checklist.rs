//! The checklist as a person reads it: what is wrong first, with the command that mends it; what is
//! well in a few lines; the verdict last, where the eye is.

use iobound_record::{Check, Outcome};

use super::text::{Ink, Page};
use super::{Look, WIDTH_MIN};

/// Outcomes from the worst, each with its word.
const ORDER: [(Outcome, &str, Ink); 4] = [
    (Outcome::Fail, "FAIL", Ink::Alarm),
    (Outcome::Warn, "WARN", Ink::Caution),
    (Outcome::Unknown, "unknown", Ink::Calm),
    (Outcome::Pass, "pass", Ink::Good),
];
/// More subjects or values than this are counted, not named.
const NAMED: usize = 4;
/// As much of a value as the last line takes.
const VERDICT_VALUE: usize = 60;
/// Room for the names of checks in the list of those that passed.
const ID_WIDTH: usize = 22;
const INDENT: &str = "         ";

/// Checks of one id and outcome that say the same of several subjects.
struct Group<'a> {
    first: &'a Check,
    subjects: Vec<&'a str>,
    values: Vec<&'a str>,
    mends: Vec<&'a str>,
}

/// The checklist as text. Ends with a newline.
pub fn render_checks(checks: &[Check], look: Look) -> String {
    let mut page = Page::new(Look { width: look.width.max(WIDTH_MIN), ..look });
    for (outcome, word, ink) in ORDER {
        let groups = groups(checks, outcome);
        if groups.is_empty() {
            continue;
        }
        for group in &groups {
            match outcome {
                Outcome::Fail | Outcome::Warn => wrong(&mut page, (word, ink), group),
                Outcome::Unknown => {
                    page.labelled(
                        (word, ink),
                        &format!("{} of {}: {}", group.first.id, group.of(), group.first.why),
                    );
                }
                Outcome::Pass => passed(&mut page, (word, ink), group),
            }
        }
        if outcome != Outcome::Fail && outcome != Outcome::Warn {
            page.blank();
        }
    }
    let ink = match worst(checks) {
        Outcome::Fail => Ink::Alarm,
        Outcome::Warn => Ink::Caution,
        _ => Ink::Good,
    };
    let verdict = verdict(checks);
    let mark = verdict.split(':').next().unwrap_or_default().to_owned();
    page.marked(&verdict, &mark, ink);
    page.finish()
}

/// `12 pass, 1 warn, 1 fail: md0 degraded (7 of 8)`.
pub fn verdict(checks: &[Check]) -> String {
    let count = |outcome| checks.iter().filter(|check| check.outcome == outcome).count();
    let mut parts = vec![format!("{} pass", count(Outcome::Pass))];
    for (outcome, word) in [(Outcome::Unknown, "unknown"), (Outcome::Warn, "warn"), (Outcome::Fail, "fail")] {
        if count(outcome) > 0 {
            parts.push(format!("{} {word}", count(outcome)));
        }
    }
    let worst = worst(checks);
    let named = match worst {
        Outcome::Fail | Outcome::Warn => checks.iter().find(|check| check.outcome == worst),
        _ => None,
    };
    let named = named.map(|check| {
        let subject = if check.subject == "host" { &check.id } else { &check.subject };
        let value: String = check.value.chars().take(VERDICT_VALUE).collect();
        format!(": {subject} {value}{}", if value == check.value { "" } else { "..." })
    });
    format!("{}{}", parts.join(", "), named.unwrap_or_default())
}

fn worst(checks: &[Check]) -> Outcome {
    checks.iter().map(|check| check.outcome).max().unwrap_or(Outcome::Pass)
}

fn groups(checks: &[Check], outcome: Outcome) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for check in checks.iter().filter(|check| check.outcome == outcome) {
        let alike = |group: &&mut Group<'_>| {
            let first = group.first;
            // What is wrong with one in another way is another row.
            let says_the_same = first.why == check.why && first.expected == check.expected;
            first.id == check.id && (outcome == Outcome::Pass || says_the_same)
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.add(check),
            None => {
                let mut group = Group { first: check, subjects: vec![], values: vec![], mends: vec![] };
                group.add(check);
                groups.push(group);
            }
        }
    }
    groups
}

impl<'a> Group<'a> {
    fn add(&mut self, check: &'a Check) {
        self.subjects.push(&check.subject);
        if !self.values.contains(&check.value.as_str()) {
            self.values.push(&check.value);
        }
        if !check.mend.is_empty() && !self.mends.contains(&check.mend.as_str()) {
            self.mends.push(&check.mend);
        }
    }

    /// The subjects, some of many.
    fn of(&self) -> String {
        some_of(&self.subjects, ", ")
    }
}

fn some_of(words: &[&str], between: &str) -> String {
    if words.len() <= NAMED {
        return words.join(between);
    }
    // First and last show which they are when there are sixteen.
    format!(
        "{}{between}... {} ({} in all)",
        words[..NAMED - 2].join(between),
        words[words.len() - 1],
        words.len()
    )
}

fn wrong(page: &mut Page, label: (&str, Ink), group: &Group<'_>) {
    let values = some_of(&group.values, "; ");
    page.labelled(label, &format!("{} of {}: {values}", group.first.id, group.of()));
    page.wrapped(INDENT, &format!("Expected: {}", group.first.expected));
    page.wrapped(INDENT, &format!("Why: {}", group.first.why));
    // A command stays on one line, so that it can be copied.
    for mend in group.mends.iter().take(NAMED) {
        page.line(&format!("{INDENT}Mend: {mend}"));
    }
    if group.mends.len() > NAMED {
        page.line(&format!("{INDENT}      and the same for {} more", group.mends.len() - NAMED));
    }
    page.blank();
}

fn passed(page: &mut Page, label: (&str, Ink), group: &Group<'_>) {
    let id = &group.first.id;
    let words = format!("{id:<ID_WIDTH$} {}: {}", group.of(), some_of(&group.values, "; "));
    let room = page.width().saturating_sub(INDENT.len());
    let words = page.shortened(&words, room);
    page.marked(&format!("{:<width$}{words}", label.0, width = INDENT.len()), label.0, label.1);
}

/// A few lines to go before a run: only what is wrong. None when nothing is.
pub fn render_short(checks: &[Check]) -> Option<String> {
    let mut lines = Vec::new();
    for (outcome, word, _) in &ORDER[..2] {
        for group in groups(checks, *outcome) {
            let values = some_of(&group.values, "; ");
            lines.push(format!("  {word} {} of {}: {values}", group.first.id, group.of()));
            lines.extend(group.mends.first().map(|mend| format!("       {mend}")));
        }
    }
    let clean = |line: String| line.replace(char::is_control, " ");
    (!lines.is_empty()).then(|| {
        let head = "before the run ('iobound check' says more):".to_owned();
        std::iter::once(head).chain(lines.into_iter().map(clean)).collect::<Vec<_>>().join("\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(id: &str, subject: &str, outcome: Outcome, value: &str) -> Check {
        Check {
            id: id.into(),
            subject: subject.into(),
            outcome,
            value: value.into(),
            expected: "what it should be".into(),
            why: "a missing member takes its share of operations with it".into(),
            mend: if outcome < Outcome::Warn {
                String::new()
            } else {
                format!("sudo mdadm /dev/{subject} --add NEW_DISK")
            },
        }
    }

    fn list() -> Vec<Check> {
        let mut checks: Vec<Check> =
            (1..=16).map(|n| check("scheduler", &format!("nvme{n}n1"), Outcome::Pass, "none")).collect();
        checks.push(check("array-state", "md0", Outcome::Fail, "degraded (7 of 8) [UUUUUUU_]"));
        checks.push(check("kernel-log", "host", Outcome::Unknown, "not known"));
        checks.push(check("read-ahead", "/data", Outcome::Warn, "4 MiB on md0"));
        checks.push(check("read-ahead", "/wal", Outcome::Warn, "4 MiB on md1"));
        checks
    }

    #[test]
    fn failures_first_and_the_verdict_last() {
        let look = Look { width: 80, colour: false, unicode: false };
        insta::assert_snapshot!(render_checks(&list(), look));
    }

    #[test]
    fn a_narrow_terminal() {
        let look = Look { width: 40, colour: false, unicode: false };
        insta::assert_snapshot!(render_checks(&list(), look));
    }

    #[test]
    fn what_goes_before_a_run() {
        insta::assert_snapshot!(render_short(&list()).unwrap());
        assert_eq!(render_short(&list()[..16]), None);
        assert_eq!(verdict(&list()[..16]), "16 pass");
    }
}
