//! Runs on different layouts of disks in one table: how much they write and read in order, by the size of a
//! disk and by how many there are.

use std::collections::BTreeSet;

use iobound_record::{Context, Run, Rw, Scenario, units};
use serde_json::{Value, json};

use crate::report::mark::{Mark, Tone};

/// Arrays within arrays, beyond which a context comes from an edited record.
const NESTING_MAX: usize = 8;

/// What a run says of its disks.
#[derive(Clone, Debug, PartialEq)]
pub struct Disks {
    /// How many.
    pub count: u64,
    /// Size of each; the smallest, where they differ.
    pub bytes: u64,
    /// What goes to one disk before the next; None where nobody says.
    pub stripe_bytes: Option<u64>,
}

/// The best figure of a direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// Bytes a second.
    pub bandwidth_bytes_per_s: f64,
    /// Of its ceiling, percent.
    pub percent_of_ceiling: Option<f64>,
    /// Name of the scenario.
    pub scenario: String,
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// What the person called it.
    pub name: String,
    /// Its disks.
    pub disks: Disks,
    /// Best sequential write.
    pub write: Option<Best>,
    /// Best sequential read.
    pub read: Option<Best>,
}

/// A run as a layout.
///
/// # Errors
/// It does not say what its disks are, or has no sequential figure that stands; in words, with the remedy.
pub fn layout(name: &str, run: &Run) -> Result<Layout, String> {
    let write = best(run, Rw::Write, None);
    // Of the same volume: two may lie on different disks.
    let read = best(run, Rw::Read, write.as_ref().map(|(_, scenario)| scenario.volume.as_str()));
    let Some((_, scenario)) = write.as_ref().or(read.as_ref()) else {
        return Err(format!(
            "{name}: no sequential write or read in it stands; measure the layout with 'iobound run sequential'"
        ));
    };
    let disks = disks(run, scenario).ok_or_else(|| {
        format!(
            "{name}: it does not say what disks it ran on (no context, and no device below {}); run again with \
             --context",
            scenario.job.filename.first().map_or("its file".into(), |path| path.display().to_string())
        )
    })?;
    let only = |best: Option<(Best, &Scenario)>| best.map(|(best, _)| best);
    Ok(Layout { name: name.to_owned(), disks, write: only(write), read: only(read) })
}

/// The fastest of the scenarios that only read, or only write, in order; on `volume` where it is named.
fn best<'a>(run: &'a Run, rw: Rw, volume: Option<&str>) -> Option<(Best, &'a Scenario)> {
    let stands = |scenario: &&Scenario| {
        Mark::of(scenario, run).tone() != Tone::Alarm
            && scenario.job.rw == rw
            && volume.is_none_or(|volume| scenario.volume == volume)
    };
    let measured = |scenario: &&Scenario| {
        scenario.measurement.as_ref().map_or(0.0, |measured| measured.bandwidth_bytes_per_s())
    };
    let cached = |scenario: &&Scenario| {
        scenario.verdict.findings.iter().any(|finding| finding == "page-cache") || scenario.job.pre_read
    };
    let scenario = run
        .scenarios
        .iter()
        .filter(stands)
        .filter(|scenario| !cached(scenario) && measured(scenario) > 0.0)
        .max_by(|a, b| measured(a).total_cmp(&measured(b)))?;
    let best = Best {
        bandwidth_bytes_per_s: measured(&scenario),
        percent_of_ceiling: scenario.verdict.percent_of_ceiling,
        scenario: scenario.name.clone(),
    };
    Some((best, scenario))
}

/// The disks of a scenario: those that its context means, else those that the kernel showed.
fn disks(run: &Run, scenario: &Scenario) -> Option<Disks> {
    let meant = run.context.as_ref().and_then(|context| meant(context, &scenario.volume));
    meant.or_else(|| seen(run, scenario))
}

fn meant(context: &Context, volume: &str) -> Option<Disks> {
    let role = |fs: &&iobound_record::FileSystemSpec| fs.role.is_some_and(|role| role.name() == volume);
    let on = &context.filesystems.iter().find(role)?.on;
    let mut found = Disks { count: 0, bytes: u64::MAX, stripe_bytes: None };
    gather(context, on, 0, &mut found);
    (found.count > 0).then_some(found)
}

fn gather(context: &Context, name: &str, depth: usize, found: &mut Disks) {
    if depth > NESTING_MAX {
        return;
    }
    if let Some(array) = context.arrays.iter().find(|array| array.name == name) {
        found.stripe_bytes = found.stripe_bytes.or(array.chunk.map(|chunk| chunk.0));
        array.members.iter().for_each(|member| gather(context, member, depth + 1, found));
    } else if let Some(group) = context.volumes.iter().find(|group| group.name == name) {
        found.count = found.count.saturating_add(group.count.0.into());
        found.bytes = found.bytes.min(group.size.0);
    } else if let Some((group, number)) = name.rsplit_once('-')
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && let Some(group) = context.volumes.iter().find(|known| known.name == group)
    {
        // One volume of a group.
        found.count = found.count.saturating_add(1);
        found.bytes = found.bytes.min(group.size.0);
    }
}

fn seen(run: &Run, scenario: &Scenario) -> Option<Disks> {
    let file = scenario.job.filename.first()?;
    let target = run.host.targets.iter().find(|target| file.as_os_str() == target.path.as_str());
    let target = target.or_else(|| run.host.targets.first().filter(|_| run.host.targets.len() == 1))?;
    let bytes = target.disks.iter().map(|disk| disk.bytes).min()?;
    Some(Disks { count: target.disks.len() as u64, bytes, stripe_bytes: None })
}

/// One direction of a layout.
type Side = fn(&Layout) -> Option<&Best>;

/// Rows by size of a disk and stripe, columns by count.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Disk sizes as people say them, with the stripe where it is known, from the smallest.
    pub rows: Vec<String>,
    /// Counts of disks.
    pub columns: Vec<u64>,
    layouts: Vec<Layout>,
}

/// Puts layouts into a matrix.
pub fn matrix(mut layouts: Vec<Layout>) -> Matrix {
    layouts.sort_by_key(|layout| (layout.disks.bytes, layout.disks.stripe_bytes, layout.disks.count));
    let mut rows: Vec<String> = Vec::new();
    for row in layouts.iter().map(|layout| row_of(&layout.disks)) {
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let columns: BTreeSet<u64> = layouts.iter().map(|layout| layout.disks.count).collect();
    Matrix { rows, columns: columns.into_iter().collect(), layouts }
}

fn row_of(disks: &Disks) -> String {
    let stripe =
        disks.stripe_bytes.map_or(String::new(), |bytes| format!(", {} stripes", units::bytes(bytes)));
    format!("{}{stripe}", units::bytes(disks.bytes))
}

impl Matrix {
    fn at(&self, row: &str, count: u64) -> impl Iterator<Item = &Layout> {
        self.layouts.iter().filter(move |l| l.disks.count == count && row_of(&l.disks) == row)
    }

    /// `456 MiB/s (98%)`; of repeats of one layout their mean, with their number.
    fn cell(&self, row: &str, count: u64, of: Side) -> String {
        let found: Vec<&Best> = self.at(row, count).filter_map(of).collect();
        let runs = found.len() as f64;
        if found.is_empty() {
            return "-".into();
        }
        let rate = found.iter().map(|best| best.bandwidth_bytes_per_s).sum::<f64>() / runs;
        let shares: Option<f64> = found.iter().map(|best| best.percent_of_ceiling).sum();
        let share = shares.map_or(String::new(), |sum| format!(" ({:.0}%)", sum / runs));
        let repeats = if found.len() > 1 { format!(", {} runs", found.len()) } else { String::new() };
        format!("{}{share}{repeats}", units::significant(rate / units::MIB as f64))
    }

    fn cells(&self, row: &str, of: Side) -> Vec<String> {
        self.columns.iter().map(|&count| self.cell(row, count, of)).collect()
    }

    fn heads(&self) -> Vec<String> {
        self.columns
            .iter()
            .map(|count| format!("{count} disk{}", if *count == 1 { "" } else { "s" }))
            .collect()
    }

    /// Which run stands for which layout, and by which scenarios.
    fn sources(&self) -> Vec<String> {
        let by = |best: &Option<Best>| best.as_ref().map_or("none", |best| &best.scenario).to_owned();
        self.layouts
            .iter()
            .map(|layout| {
                let Disks { count, .. } = layout.disks;
                let (write, read) = (by(&layout.write), by(&layout.read));
                format!("{}: {count} x {}; write: {write}, read: {read}", layout.name, row_of(&layout.disks))
            })
            .collect()
    }

    /// For a terminal.
    pub fn to_text(&self) -> String {
        let heads = self.heads();
        let mut lines: Vec<Vec<String>> =
            vec![["disk size".into(), "MiB/s".into()].into_iter().chain(heads).collect()];
        for row in &self.rows {
            for (word, of, name) in
                DIRECTIONS.map(|(word, of)| (word, of, if word == "write" { row.as_str() } else { "" }))
            {
                lines.push(
                    [name.to_owned(), word.to_owned()].into_iter().chain(self.cells(row, of)).collect(),
                );
            }
        }
        let columns = self.columns.len() + 2;
        let widths: Vec<usize> = (0..columns)
            .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0))
            .collect();
        let mut text = String::from("Layouts of disks: written and read in order\n\n");
        for line in &lines {
            let cells: Vec<String> = line
                .iter()
                .zip(&widths)
                .enumerate()
                .map(
                    |(place, (cell, width))| {
                        if place < 2 { format!("{cell:width$}") } else { format!("{cell:>width$}") }
                    },
                )
                .collect();
            text += &format!("  {}\n", cells.join("   ").trim_end());
        }
        text += &format!("\n{WHAT}\n\n");
        self.sources().iter().for_each(|line| text += &format!("  {line}\n"));
        // A record comes from anywhere; what it says must not steer the terminal.
        text.replace(|c: char| c.is_control() && c != '\n', "?")
    }

    /// For a page.
    pub fn to_markdown(&self) -> String {
        let plain = |text: &str| text.replace(['\n', '\r'], " ").replace('|', "\\|").replace('<', "&lt;");
        let mut text =
            format!("# Layouts of disks\n\n| disk size | MiB/s | {} |\n", self.heads().join(" | "));
        text += &format!("|---|---|{}\n", "--:|".repeat(self.columns.len()));
        for row in &self.rows {
            for (word, of) in DIRECTIONS {
                text += &format!("| {row} | {word} | {} |\n", self.cells(row, of).join(" | "));
            }
        }
        text += &format!("\n{WHAT}\n\n");
        self.sources().iter().for_each(|line| text += &format!("- {}\n", plain(line)));
        text
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        let best = |best: &Option<Best>| {
            best.as_ref().map(|best| {
                json!({
                    "bandwidth_bytes_per_s": best.bandwidth_bytes_per_s,
                    "percent_of_ceiling": best.percent_of_ceiling,
                    "scenario": best.scenario,
                })
            })
        };
        let layouts = self.layouts.iter().map(|layout| {
            json!({
                "name": layout.name,
                "disks": layout.disks.count,
                "disk_bytes": layout.disks.bytes,
                "stripe_bytes": layout.disks.stripe_bytes,
                "write": best(&layout.write),
                "read": best(&layout.read),
            })
        });
        json!({ "layouts": layouts.collect::<Vec<_>>() })
    }
}

const DIRECTIONS: [(&str, Side); 2] =
    [("write", |layout| layout.write.as_ref()), ("read", |layout| layout.read.as_ref())];

const WHAT: &str = "MiB/s of the fastest sequential scenario of each run; in brackets its share of the ceiling, where \
                    a context promises one. 1 MiB = 1,048,576 bytes.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    /// The layout of the sample with other disks, and its figures by a factor.
    fn run(count: u32, gib: u64, factor: f64) -> Run {
        let mut run = sample::gp3();
        for group in &mut run.context.as_mut().unwrap().volumes {
            (group.count.0, group.size.0) = (count, gib << 30);
        }
        for scenario in &mut run.scenarios {
            let measured = scenario.measurement.as_mut().unwrap();
            measured.read.bandwidth_bytes_per_s *= factor;
            measured.write.bandwidth_bytes_per_s *= factor;
        }
        run
    }

    #[test]
    fn the_guides_matrix() {
        let runs = [
            ("a", run(2, 512, 0.25)),
            ("b", run(4, 512, 0.5)),
            ("c", run(8, 1024, 1.0)),
            ("c2", run(8, 1024, 0.9)),
        ];
        let layouts = runs.iter().map(|(name, run)| layout(name, run).unwrap()).collect();
        let matrix = matrix(layouts);
        insta::assert_snapshot!("layouts_text", matrix.to_text());
        insta::assert_snapshot!("layouts_markdown", matrix.to_markdown());
        assert_eq!(matrix.to_json()["layouts"][0]["disks"], 2);
    }

    #[test]
    fn without_a_context_the_kernels_disks_count() {
        let mut run = run(8, 50, 1.0);
        run.context = None;
        run.host.targets.truncate(1);
        let found = layout("x", &run).unwrap().disks;
        assert_eq!(found, Disks { count: 8, bytes: 50 << 30, stripe_bytes: None });
        run.host.targets[0].disks.clear();
        assert!(layout("x", &run).unwrap_err().contains("--context"));
    }

    #[test]
    fn what_was_not_measured_is_no_layout() {
        let words = layout("x", &sample::empty()).unwrap_err();
        assert!(words.contains("iobound run sequential"), "{words}");
        let mut cached = run(8, 50, 1.0);
        for scenario in &mut cached.scenarios {
            scenario.verdict.findings = vec!["page-cache".into()];
        }
        assert!(layout("x", &cached).is_err());
    }
}
