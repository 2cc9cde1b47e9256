//! What the page must hold, whatever the record says.

use iobound_record::Scenario;

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
    let expected = [
        ("fine", sample::gp3(), "The storage is fine: all 10 scenarios reach what the hardware promises"),
        ("fine", sample::gp3(), "(scenarios 4, 5, 6, 7, 10)"),
        ("troubled", sample::troubled(), "1 of 10 scenarios has no result. 2 of 10 scenarios fall short"),
        ("troubled", sample::troubled(), "Likely why: an array runs without all its members."),
        ("unjudged", sample::unjudged(), "Measured, but not judged"),
        ("empty", sample::empty(), "Nothing was measured."),
        ("swept", sample::swept(), "1 of 40 scenarios has no result."),
        ("swept", sample::swept(), "knee 42.7 KiB"),
        ("swept", sample::swept(), "FAIL"),
    ];
    for (name, run, words) in expected {
        assert!(page_of(name, &run).contains(words), "{name}: {words}");
    }
}

#[test]
fn nothing_is_loaded_and_nothing_runs() {
    // A link is followed only by who clicks it.
    let page = render(&sample::troubled()).replace("<a href=\"https://", "<a href=\"");
    for forbidden in ["<script", "src=", "url(", "@import", "http://", "https://", "onload", "onerror"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}

/// Every text of a value, replaced by what an attacker would write.
fn poisoned(value: &mut serde_json::Value) {
    const POISON: &str = "</style></title><script>alert(1)</script><img src=x onerror=\"alert(1)\">'&";
    match value {
        serde_json::Value::String(text) => *text = POISON.into(),
        serde_json::Value::Array(items) => items.iter_mut().for_each(poisoned),
        serde_json::Value::Object(fields) => fields.values_mut().for_each(poisoned),
        _ => {}
    }
}

#[test]
fn no_text_of_a_record_becomes_markup() {
    let mut record = serde_json::to_value(sample::troubled()).unwrap();
    for free in ["id", "started", "suite", "iobound", "command", "host", "conclusions"] {
        poisoned(&mut record[free]);
    }
    let mut run: Run = serde_json::from_value(record).unwrap();
    let poison = run.id.clone();
    for scenario in &mut run.scenarios {
        let Scenario { name, title, volume, fio, verdict, job, phase_name, sweep, program, .. } = scenario;
        for text in [name, title, volume, fio, phase_name, sweep, program, &mut verdict.says] {
            text.clone_from(&poison);
        }
        job.description = Some(poison.clone());
        job.filename = vec![poison.clone().into()];
        scenario.error = scenario.error.as_ref().map(|_| poison.clone());
        if let Some(ceiling) = &mut scenario.ceiling {
            ceiling.bound.clone_from(&poison);
            ceiling.why.clone_from(&poison);
        }
        if let Some(measured) = &mut scenario.measurement {
            measured.engine_facts.reason.clone_from(&poison);
            measured.error_kinds = vec![(poison.clone(), 1)];
        }
    }
    for finding in &mut run.findings {
        for text in [&mut finding.id, &mut finding.what, &mut finding.evidence, &mut finding.remedy] {
            text.clone_from(&poison);
        }
    }
    let page = page_of("poisoned", &run);
    assert!(page.contains("&lt;script&gt;"));
    for forbidden in ["<script", "<img", "</style></title>"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}
