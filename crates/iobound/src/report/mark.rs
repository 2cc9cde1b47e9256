//! The verdict of a scenario in a word: one vocabulary for every report.

use iobound_record::{Run, Scenario, Severity, Status};

/// How a scenario stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// At its ceiling.
    Ok,
    /// Below it.
    Short,
    /// Above it.
    Above,
    /// Nothing to compare with.
    Unknown,
    /// Ended before its time.
    Cut,
    /// The number does not stand.
    Void,
    /// Operations failed.
    Errors,
    /// There is no number.
    Failed,
}

impl Mark {
    /// Every mark with what it means, for legends.
    pub const ALL: [(Mark, &'static str); 8] = [
        (Mark::Ok, "at its ceiling"),
        (Mark::Short, "below its ceiling"),
        (Mark::Above, "above its ceiling, so one of the two is wrong"),
        (Mark::Unknown, "no ceiling to compare with"),
        (Mark::Cut, "cut short"),
        (Mark::Void, "a finding says that the number does not stand"),
        (Mark::Errors, "operations failed"),
        (Mark::Failed, "no result"),
    ];

    /// The mark of `scenario` in `run`, whose findings may void it.
    pub fn of(scenario: &Scenario, run: &Run) -> Mark {
        let Some(measured) = &scenario.measurement else { return Mark::Failed };
        let voids = |id: &String| run.findings.iter().any(|f| f.id == *id && f.severity == Severity::Error);
        match scenario.verdict.status {
            _ if measured.errors > 0 => Mark::Errors,
            _ if scenario.verdict.findings.iter().any(voids) => Mark::Void,
            _ if measured.interrupted => Mark::Cut,
            Status::Ok => Mark::Ok,
            Status::Short => Mark::Short,
            Status::Above => Mark::Above,
            Status::Unknown => Mark::Unknown,
        }
    }

    /// The word itself.
    pub fn word(self) -> &'static str {
        match self {
            Mark::Ok => "ok",
            Mark::Short => "SHORT",
            Mark::Above => "ABOVE",
            Mark::Unknown => "-",
            Mark::Cut => "CUT",
            Mark::Void => "VOID",
            Mark::Errors => "ERR",
            Mark::Failed => "FAIL",
        }
    }

    /// How it should make a reader feel.
    pub fn tone(self) -> Tone {
        match self {
            Mark::Ok => Tone::Good,
            Mark::Unknown => Tone::Neutral,
            Mark::Short | Mark::Above | Mark::Cut => Tone::Caution,
            Mark::Void | Mark::Errors | Mark::Failed => Tone::Alarm,
        }
    }

    /// What it means, for a reader who sees one mark alone.
    pub fn meaning(self) -> &'static str {
        Mark::ALL.iter().find(|(mark, _)| *mark == self).map_or("", |(_, means)| means)
    }
}

/// How bad something is, for colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Tone {
    /// All is well.
    Good,
    /// Nothing is said.
    Neutral,
    /// Read this.
    Caution,
    /// Do not use the number.
    Alarm,
}

impl Tone {
    /// A class name in the HTML page.
    pub fn class(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Neutral => "neutral",
            Tone::Caution => "caution",
            Tone::Alarm => "alarm",
        }
    }
}
