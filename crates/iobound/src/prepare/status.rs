//! What is applied, what drifted, what is left to do: the journal held against the plan.

use iobound_host::prepare::{Entry, EntryState};
use iobound_record::{Change, Plan, StepState};
use serde::Serialize;

/// How a step stands.
#[derive(Serialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Done by us, and still so.
    Applied,
    /// So, and not by us.
    AlreadySo,
    /// Done by us, and not so any more.
    Drifted,
    /// Cut short.
    CutShort,
    /// Not done.
    Pending,
    /// Left out, or not known.
    LeftOut,
    /// Done by us, and not part of the context any more.
    NotInContext,
}

/// A step and how it stands.
#[derive(Serialize, Clone, Debug, PartialEq)]
pub struct StepStatus {
    /// Id.
    pub step: String,
    /// Title.
    pub title: String,
    /// How it stands.
    pub standing: Standing,
    /// What differs.
    pub differs: Vec<Change>,
    /// Why it is left out.
    pub why: String,
}

/// How every step stands.
pub fn status(plan: &Plan, entries: &[Entry]) -> Vec<StepStatus> {
    let mut all = Vec::new();
    for step in &plan.steps {
        let entry = entries.iter().rfind(|entry| entry.step == step.id);
        let cut_short = entry.is_some_and(|entry| entry.state != EntryState::Done);
        let standing = match (&step.state, entry.is_some()) {
            _ if cut_short => Standing::CutShort,
            (StepState::Done, true) => Standing::Applied,
            (StepState::Done, false) => Standing::AlreadySo,
            (StepState::Pending | StepState::Skipped { .. }, true) => Standing::Drifted,
            (StepState::Pending, false) => Standing::Pending,
            (StepState::Skipped { .. } | StepState::Unknown { .. }, _) => Standing::LeftOut,
        };
        let why = match &step.state {
            StepState::Skipped { why } | StepState::Unknown { why } => why.clone(),
            _ => String::new(),
        };
        let differs = match standing {
            Standing::Applied | Standing::AlreadySo => Vec::new(),
            _ => step.changes.iter().filter(|change| change.current != change.wanted).cloned().collect(),
        };
        all.push(StepStatus { step: step.id.clone(), title: step.title.clone(), standing, differs, why });
    }
    for entry in entries.iter().filter(|entry| plan.step(&entry.step).is_none()) {
        all.push(StepStatus {
            step: entry.step.clone(),
            title: entry.title.clone(),
            standing: Standing::NotInContext,
            differs: Vec::new(),
            why: String::new(),
        });
    }
    all
}
