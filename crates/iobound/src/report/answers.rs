//! What the storage is fit for, in one vocabulary for every report.

use iobound_record::{Fit, FitAnswer, Run};

use crate::report::mark::Tone;

/// The answer in a word.
pub fn word(answer: FitAnswer) -> &'static str {
    match answer {
        FitAnswer::Yes => "yes",
        FitAnswer::Close => "close",
        FitAnswer::No => "NO",
    }
}

/// How it should make a reader feel.
pub fn tone(answer: FitAnswer) -> Tone {
    match answer {
        FitAnswer::Yes => Tone::Good,
        FitAnswer::Close => Tone::Neutral,
        FitAnswer::No => Tone::Caution,
    }
}

/// What the answers are worth.
pub const CAPTION: &str = "Figures that public documents name, held against this run. Yes and no are by more than \
                           20%; storage that meets a figure may still be wrong for other reasons.";

/// The rows of a table, those of one system together, in the order of the catalog.
pub fn rows(run: &Run) -> Vec<&Fit> {
    let mut systems: Vec<&str> = Vec::new();
    for fit in &run.fit {
        if !systems.contains(&fit.system.as_str()) {
            systems.push(&fit.system);
        }
    }
    systems.iter().flat_map(|system| run.fit.iter().filter(move |fit| fit.system == *system)).collect()
}
