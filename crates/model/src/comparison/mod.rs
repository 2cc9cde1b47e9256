//! Runs against each other: which scenarios may be compared, and what comes out.
//!
//! A side is one configuration: one run, or several runs of it as repeats. The first side is what the others
//! are held against.

mod comparable;
mod differences;
#[cfg(test)]
mod tests;

use iobound_record::{Measurement, Run, Scenario};

use crate::statistics::{Estimate, Figure, Ratio, Unknown, geometric_mean, mean, median};

/// Differences below this are called none: what a device of known rate is read to here is 1%
/// (`docs/METHOD.md`), so a smaller one is as likely the measurement's as the storage's.
pub const SAME_WITHIN: f64 = 0.01;

/// One configuration.
#[derive(Clone, Debug)]
pub struct Side<'a> {
    /// What it is called.
    pub name: String,
    /// Its runs.
    pub runs: Vec<&'a Run>,
}

/// What a ratio of speeds comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Surely faster.
    Faster,
    /// Surely slower.
    Slower,
    /// Surely no further apart than what counts as a difference.
    Same,
    /// The interval allows for both.
    CannotTell,
}

impl Verdict {
    /// Of a speed over another.
    pub fn of(speed: &Ratio, same_within: f64) -> Verdict {
        if speed.low >= 1.0 - same_within && speed.high <= 1.0 + same_within {
            Verdict::Same
        } else if speed.low > 1.0 {
            Verdict::Faster
        } else if speed.high < 1.0 {
            Verdict::Slower
        } else {
            Verdict::CannotTell
        }
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
            Verdict::CannotTell => "cannot tell",
        }
    }
}

/// One figure of both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Which.
    pub figure: Figure,
    /// Of the first side.
    pub old: f64,
    /// Of the other.
    pub new: f64,
    /// The other's speed over the first's (above 1 is faster, also where the figure is a time), or why its
    /// interval is not known.
    pub speed: Result<Ratio, Unknown>,
}

impl Compared {
    /// The ratio of speeds without an interval.
    pub fn plain_speed(&self) -> f64 {
        if self.figure.more_is_faster() { self.new / self.old } else { self.old / self.new }
    }
}

/// One scenario of both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Number in its suite.
    pub id: u32,
    /// Name.
    pub name: String,
    /// The figure that it is judged by.
    pub judged: Compared,
    /// The 99th percentile of its latency, where latency is what it is run for.
    pub tail: Option<Compared>,
    /// Judgement.
    pub verdict: Verdict,
    /// What differs and does not forbid comparing.
    pub notes: Vec<String>,
}

/// A scenario that was not compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Name.
    pub name: String,
    /// Why.
    pub why: String,
}

/// A side against the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Against {
    /// What differs between the machines and the programs.
    pub differences: Vec<String>,
    /// Scenarios.
    pub rows: Vec<Row>,
    /// Scenarios that were not compared.
    pub left_out: Vec<LeftOut>,
    /// Single runs, or some, that were left out of the repeats.
    pub thinned: Vec<LeftOut>,
    /// Geometric mean of the speeds.
    pub overall: Option<Ratio>,
    /// Whether errors come from the series of single runs, which know nothing of how runs differ.
    pub single_runs: bool,
}

impl Against {
    /// Rows that are surely slower than `1 + threshold`: -0.05 finds those that lost more than 5%.
    pub fn surely_below(&self, threshold: f64) -> Vec<&Row> {
        let below = |row: &&Row| row.judged.speed.is_ok_and(|speed| speed.high < 1.0 + threshold);
        self.rows.iter().filter(below).collect()
    }
}

/// Every other side against the first.
pub fn compare(first: &Side, other: &Side, same_within: f64) -> Against {
    let mut against = Against {
        differences: differences::between(first, other),
        rows: Vec::new(),
        left_out: Vec::new(),
        thinned: Vec::new(),
        overall: None,
        single_runs: false,
    };
    let keys = keys(first);
    for key in &keys {
        match row(key, first, other, same_within, &mut against) {
            Ok(row) => against.rows.push(row),
            Err(why) => against.left_out.push(LeftOut { name: key.to_string(), why }),
        }
    }
    for key in self::keys(other).into_iter().filter(|key| !keys.contains(key)) {
        let why = format!("not in {}", first.name);
        against.left_out.push(LeftOut { name: key.to_string(), why });
    }
    let speeds: Vec<Ratio> = against.rows.iter().filter_map(|row| row.judged.speed.ok()).collect();
    against.overall = geometric_mean(&speeds);
    against
}

/// What makes two scenarios of different runs the same one: job files may use a name twice.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    name: String,
    volume: String,
    nth: usize,
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        if self.nth > 0 { write!(f, " ({})", self.nth + 1) } else { Ok(()) }
    }
}

fn keys(side: &Side) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    for run in &side.runs {
        let mut seen: Vec<Key> = Vec::new();
        for Scenario { name, volume, .. } in &run.scenarios {
            let nth = seen.iter().filter(|key| key.name == *name && key.volume == *volume).count();
            seen.push(Key { name: name.clone(), volume: volume.clone(), nth });
        }
        let fresh: Vec<Key> = seen.into_iter().filter(|key| !keys.contains(key)).collect();
        keys.extend(fresh);
    }
    keys
}

/// A scenario with what it measured.
type Measured<'a> = (&'a Scenario, &'a Measurement);

/// The usable measurements of a scenario in the runs of a side.
fn usable<'a>(key: &Key, side: &Side<'a>, thinned: &mut Vec<LeftOut>) -> Result<Vec<Measured<'a>>, String> {
    let of_key = |scenario: &&Scenario| scenario.name == key.name && scenario.volume == key.volume;
    let mut found = Vec::new();
    let mut reasons = Vec::new();
    for run in &side.runs {
        let scenario = run.scenarios.iter().filter(of_key).nth(key.nth);
        match scenario.ok_or("it is not there".to_owned()).and_then(|s| comparable::usable(run, s)) {
            Ok(measured) => found.push(measured),
            Err(why) if side.runs.len() == 1 => reasons.push(why),
            Err(why) => reasons.push(format!("{}: {why}", run.id)),
        }
    }
    if found.is_empty() {
        return Err(format!("in {}, {}", side.name, reasons.join("; ")));
    }
    let name = key.to_string();
    thinned.extend(reasons.into_iter().map(|why| LeftOut { name: name.clone(), why }));
    Ok(found)
}

fn row(
    key: &Key,
    first: &Side,
    other: &Side,
    same_within: f64,
    against: &mut Against,
) -> Result<Row, String> {
    let old = usable(key, first, &mut against.thinned)?;
    let new = usable(key, other, &mut against.thinned)?;
    let (base, _) = old[0];
    let all = || old.iter().chain(&new).skip(1);
    let mut refusals: Vec<String> =
        all().flat_map(|(scenario, _)| comparable::refusals(base, scenario)).collect();
    refusals.sort();
    refusals.dedup();
    if !refusals.is_empty() {
        return Err(refusals.join("; "));
    }
    let judged = compared(Figure::of(base.metric), &old, &new).ok_or("nothing completed")?;
    let is_latency = matches!(judged.figure, Figure::MeanLatency);
    let tail = is_latency.then(|| compared(Figure::TailLatency, &old, &new)).flatten();
    let verdict = judged.speed.map_or(Verdict::CannotTell, |speed| Verdict::of(&speed, same_within));
    against.single_runs |= old.len() == 1 && new.len() == 1;
    let mut notes: Vec<String> = all().flat_map(|(scenario, _)| comparable::notes(base, scenario)).collect();
    notes.extend(judged.speed.err().map(|unknown| unknown.to_string()));
    let unsteady = |side: &[Measured]| side.iter().any(|(_, measured)| measured.steady == Some(false));
    for (name, _) in [(&first.name, &old), (&other.name, &new)].iter().filter(|(_, side)| unsteady(side)) {
        notes.push(format!("{name} did not hold still"));
    }
    notes.dedup();
    Ok(Row { id: base.id, name: key.to_string(), judged, tail, verdict, notes })
}

/// A figure of both sides; None where it is 0.
fn compared(figure: Figure, old: &[Measured], new: &[Measured]) -> Option<Compared> {
    let values = |side: &[Measured]| -> Option<Vec<f64>> {
        side.iter().map(|(_, measurement)| figure.value(measurement)).collect()
    };
    let (olds, news) = (values(old)?, values(new)?);
    if figure == Figure::TailLatency {
        // Of repeats the run in the middle is shown.
        let (old, new) = (median(&olds)?, median(&news)?);
        return Some(Compared { figure, old, new, speed: Err(Unknown::Percentile) });
    }
    let of_series = |side: &[Measured], value: f64| -> Result<Estimate, Unknown> {
        // The figure is the whole run's; its relative error is the series'.
        Ok(Estimate { mean: value, ..Estimate::of_series(&figure.series(&side[0].1.series))? })
    };
    let estimates = match (Estimate::of_repeats(&olds), Estimate::of_repeats(&news)) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (Ok(a), Err(_)) => Estimate::of_one_among(news[0], &a).map(|b| (a, b)),
        (Err(_), Ok(b)) => Estimate::of_one_among(olds[0], &b).map(|a| (a, b)),
        (Err(_), Err(_)) => of_series(old, olds[0]).and_then(|a| of_series(new, news[0]).map(|b| (a, b))),
    };
    let ratio = estimates.map(|(a, b)| Ratio::of(&b, &a));
    let speed = ratio.map(|ratio| if figure.more_is_faster() { ratio } else { ratio.inverted() });
    // What is shown of repeats is their geometric mean: the ratio is that of the two shown.
    let typical = |values: &[f64]| mean(&values.iter().map(|v| v.ln()).collect::<Vec<_>>()).exp();
    Some(Compared { figure, old: typical(&olds), new: typical(&news), speed })
}
