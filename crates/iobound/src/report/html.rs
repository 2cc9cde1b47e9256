//! The run as one page that needs nothing else: no script, no request, all charts inline.
//!
//! What a tired person needs stands first: whether the storage is fine and what limits it, the few
//! numbers, each scenario against its ceiling, what was found and what to do. The rest is evidence.

mod details;
mod first_screen;
mod plot;
mod roofline;
mod scenario_charts;
mod sweep;

use iobound_record::Run;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("html/style.css");

/// Nothing may be loaded, should a record ever hold what gets past the escaping.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The page.
pub fn render(run: &Run) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { "Storage: " (run.suite) ", " (run.started) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (masthead(run))
                main {
                    (first_screen::render(run))
                    (roofline::section(run))
                    (details::scenarios(run))
                    (details::surroundings(run))
                }
            }
        }
    };
    page.into_string()
}

fn masthead(run: &Run) -> Markup {
    html! {
        header {
            strong { "iobound" }
            span { (run.suite) }
            span { (run.started) }
            @for target in &run.host.targets {
                span { (target.path) @if !target.device.is_empty() { " on " (target.device) } }
            }
        }
    }
}

#[cfg(test)]
#[path = "html/tests.rs"]
mod tests;
