//! The run as Markdown (GitHub's tables): a summary, and a report of each scenario.

mod page;
mod scenario;
mod summary;

use iobound_record::Run;

pub use scenario::scenario;
pub use summary::summary;

/// The summary and every scenario's report in one document.
pub fn whole(run: &Run) -> String {
    let mut text = summary(run);
    for of in &run.scenarios {
        text += "\n---\n\n";
        text += &scenario(run, of);
    }
    text
}

#[cfg(test)]
#[path = "markdown/tests.rs"]
mod tests;
