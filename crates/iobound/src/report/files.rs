//! Every file that a report of a run can be, by name.

use std::collections::BTreeSet;

use iobound_record::{Run, Scenario};

use crate::report::{csv, fio_json, html, markdown, openmetrics};

/// Longest part of a file's name that the record may give.
const NAME_MAX: usize = 100;

/// A file: its name and what is in it.
pub type File = (String, String);

/// All files of a report.
pub fn all(run: &Run) -> Vec<File> {
    let mut files = vec![("report.html".to_owned(), html::render(run))];
    files.extend(markdown(run));
    files.extend(tables(run));
    files.push(("fio.json".into(), fio_json(run)));
    files.push(("metrics.prom".into(), openmetrics::render(run)));
    files
}

/// The summary and one report a scenario, under the names that the suite gives them.
pub fn markdown(run: &Run) -> Vec<File> {
    let stamp = stamp(run);
    let mut taken = BTreeSet::new();
    let summary = (unique(&format!("summary_{stamp}"), &mut taken), markdown::summary(run));
    let reports = run.scenarios.iter().map(|scenario| {
        let name = format!("{}_{stamp}", report_name(scenario));
        (unique(&name, &mut taken), markdown::scenario(run, scenario))
    });
    let reports: Vec<File> = reports.collect();
    std::iter::once(summary).chain(reports).collect()
}

/// The two tables.
pub fn tables(run: &Run) -> Vec<File> {
    vec![("summary.csv".into(), csv::summary(run)), ("series.csv".into(), csv::series(run))]
}

/// The run as fio would give it.
pub fn fio_json(run: &Run) -> String {
    format!("{:#}\n", fio_json::to_fio_json(run))
}

fn report_name(scenario: &Scenario) -> String {
    let given = if scenario.report.is_empty() { &scenario.name } else { &scenario.report };
    let name = safe(given);
    if name.is_empty() { format!("scenario_{}", scenario.id) } else { name }
}

/// `20260101_120000`, the start of the run; the run's name where it has none that can be read.
fn stamp(run: &Run) -> String {
    match run.started.parse::<jiff::Timestamp>() {
        Ok(started) => started.strftime("%Y%m%d_%H%M%S").to_string(),
        Err(_) => match safe(&run.id) {
            id if id.is_empty() => "undated".into(),
            id => id,
        },
    }
}

/// What of `text` may stand in a file's name. It comes from a record, and must not leave the directory.
fn safe(text: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = text.chars().take(NAME_MAX).map(kept).collect();
    name.trim_start_matches('.').to_owned()
}

/// `stem.md`, or with a number where two scenarios ask for the same name.
fn unique(stem: &str, taken: &mut BTreeSet<String>) -> String {
    let mut name = format!("{stem}.md");
    let mut number = 2;
    // Some file systems take two names that differ in case for one.
    while !taken.insert(name.to_ascii_lowercase()) {
        name = format!("{stem}_{number}.md");
        number += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn the_reports_have_the_names_that_the_suite_gives() {
        let names: Vec<String> = all(&sample::gp3()).into_iter().map(|(name, _)| name).collect();
        insta::assert_snapshot!(names.join("\n"));
    }

    #[test]
    fn a_name_cannot_leave_the_directory_nor_replace_another() {
        let mut run = sample::gp3();
        run.scenarios.truncate(4);
        for (scenario, report) in run.scenarios.iter_mut().zip(["../../etc/x", "same", "SAME", "summary"]) {
            scenario.report = report.into();
        }
        let names: Vec<String> = markdown(&run).into_iter().map(|(name, _)| name).collect();
        assert!(names.iter().all(|name| !name.contains('/') && !name.starts_with('.')), "{names:?}");
        let folded: BTreeSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
        assert_eq!(folded.len(), names.len(), "{names:?}");
    }
}
