//! What the page must hold, whatever the record says.

use super::*;
use crate::report::sample;

/// A page is kept where this names a directory, for a person or a browser to look at.
const KEEP: &str = "IOBOUND_KEEP_PAGES";

fn page_of(name: &str, run: &Run) -> String {
    let page = render(run);
    if let Some(directory) = std::env::var_os(KEEP) {
        std::fs::write(std::path::Path::new(&directory).join(format!("{name}.html")), &page).unwrap();
    }
    page
}

#[test]
fn a_full_suite_is_small_and_soon_there() {
    let run = sample::gp3();
    let begun = std::time::Instant::now();
    let page = page_of("fine", &run);
    let took = begun.elapsed();
    println!("{} bytes in {took:?}", page.len());
    assert!(page.len() < 2_000_000 && took.as_secs_f64() < 1.0, "{} bytes in {took:?}", page.len());
}

#[test]
fn the_first_words_are_the_answer() {
    let page = page_of("fine", &sample::gp3());
    assert!(
        page.contains("The storage is fine: all 10 scenarios reach what its hardware promises"),
        "{page}"
    );
    assert!(
        page.contains("What limits it: the volumes&#39; bandwidth")
            || page.contains("What limits it: the volumes' ")
    );
    let page = page_of("troubled", &sample::troubled());
    assert!(page.contains("Do not use 1 of 10 numbers yet"));
    assert!(page_of("unjudged", &sample::unjudged()).contains("Measured, but not judged"));
    assert!(page_of("empty", &sample::empty()).contains("Nothing was measured."));
}

#[test]
fn nothing_is_loaded_and_nothing_runs() {
    let page = render(&sample::troubled());
    for forbidden in ["<script", "src=", "url(", "@import", "http://", "https://", "onload", "onerror"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}
