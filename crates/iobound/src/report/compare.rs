//! Runs against each other, as a person reads them and for programs.

mod chart;
mod markdown;
#[cfg(test)]
mod tests;
mod text;

use iobound_model::comparison::{Against, Compared, LeftOut, Row, Side, Verdict};
use iobound_model::statistics::{Figure, Ratio};
use iobound_record::units;
use serde_json::{Value, json};

pub use markdown::to_markdown;
pub use text::to_text;

/// A side against the first one.
pub struct Part {
    /// What the side is called.
    pub name: String,
    /// The comparison.
    pub against: Against,
}

/// The loss that is too much.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    /// -0.05 for 5%.
    pub share: f64,
}

/// Everything that was compared.
pub struct Sides<'a> {
    /// The configurations, the first one first.
    pub sides: &'a [Side<'a>],
    /// Each other one against it.
    pub parts: &'a [Part],
    /// Differences below this are none.
    pub same_within: f64,
    /// What fails.
    pub threshold: Option<Threshold>,
}

impl Sides<'_> {
    /// Why the threshold is not kept, a sentence each. A scenario that cannot be compared is one: a change
    /// that breaks a scenario must not pass for lack of a number.
    pub fn failures(&self) -> Vec<String> {
        let Some(Threshold { share }) = self.threshold else { return Vec::new() };
        let mut failures = Vec::new();
        for Part { name, against } in self.parts {
            for row in against.surely_below(share) {
                let speed = row.judged.speed.map_or(1.0, |speed| speed.high);
                failures.push(format!(
                    "{}: {name} is at least {:.1}% slower; {:.1}% is allowed",
                    row.name,
                    100.0 * (1.0 - speed),
                    -100.0 * share
                ));
            }
            for LeftOut { name, why } in &against.left_out {
                failures.push(format!("{name}: cannot be compared: {why}"));
            }
        }
        failures
    }

    /// Whether the threshold is not kept.
    pub fn failed(&self) -> bool {
        !self.failures().is_empty()
    }

    /// The sentence that belongs below figures of single runs.
    fn caution(&self) -> Option<&'static str> {
        self.parts.iter().any(|part| part.against.single_runs).then_some(
            "One run each: the intervals come from within the runs and know nothing of how runs differ. \
             Repeat both (three times or more) before trusting a small difference.",
        )
    }
}

/// What a figure is called, and its value.
fn figure_words(figure: Figure, value: f64) -> (&'static str, String) {
    match figure {
        Figure::Iops => ("IOPS", units::count(value)),
        Figure::Bandwidth => ("bandwidth", units::bandwidth(value)),
        Figure::MeanLatency => ("mean", units::duration(value.round() as u64)),
        Figure::TailLatency => ("p99", units::duration(value.round() as u64)),
    }
}

/// A ratio of speeds as a change: `+5.3%`.
fn change(ratio: f64) -> String {
    // What rounds to zero is neither up nor down.
    let percent = 100.0 * (ratio - 1.0);
    match percent {
        _ if percent.abs() < 0.05 => "0.0%".into(),
        // An interval of two repeats can end anywhere; digits would only hide that.
        _ if percent > 999.0 => "over +999%".into(),
        _ => format!("{percent:+.1}%"),
    }
}

fn interval(speed: &Ratio) -> String {
    format!("{} to {}", change(speed.low), change(speed.high))
}

fn verdict_words(verdict: Verdict, same_within: f64) -> String {
    match verdict {
        Verdict::Same => format!("same within {}%", (1e4 * same_within).round() / 100.0),
        other => other.as_str().into(),
    }
}

/// What a compared figure shows in a table: name, old, new, change, interval.
fn cells(compared: &Compared) -> [String; 5] {
    let (name, old) = figure_words(compared.figure, compared.old);
    let (_, new) = figure_words(compared.figure, compared.new);
    let interval = compared.speed.as_ref().map_or_else(|_| "-".into(), interval);
    [name.into(), old, new, change(compared.plain_speed()), interval]
}

/// For programs.
pub fn to_json(all: &Sides) -> Value {
    let side = |side: &Side| {
        let runs: Vec<Value> =
            side.runs.iter().map(|run| json!({ "id": run.id, "started": run.started })).collect();
        json!({ "name": side.name, "runs": runs })
    };
    json!({
        "sides": all.sides.iter().map(side).collect::<Vec<_>>(),
        "same_within": all.same_within,
        "confidence": iobound_model::statistics::CONFIDENCE,
        "against_first": all.parts.iter().map(part_json).collect::<Vec<_>>(),
        "fail_on": all.threshold.map(|threshold| threshold.share),
        "failures": all.failures(),
    })
}

fn part_json(part: &Part) -> Value {
    let Against { differences, rows, left_out, thinned, overall, single_runs } = &part.against;
    let out = |list: &[LeftOut]| -> Vec<Value> {
        list.iter().map(|left| json!({ "scenario": left.name, "why": left.why })).collect()
    };
    json!({
        "name": part.name,
        "differences": differences,
        "scenarios": rows.iter().map(row_json).collect::<Vec<_>>(),
        "left_out": out(left_out),
        "runs_left_out": out(thinned),
        "geometric_mean": overall.as_ref().map(ratio_json),
        "single_runs": single_runs,
    })
}

fn row_json(row: &Row) -> Value {
    json!({
        "id": row.id,
        "name": row.name,
        "judged": compared_json(&row.judged),
        "p99": row.tail.as_ref().map(compared_json),
        "verdict": row.verdict.as_str(),
        "notes": row.notes,
    })
}

fn compared_json(compared: &Compared) -> Value {
    let figure = match compared.figure {
        Figure::Iops => "iops",
        Figure::Bandwidth => "bandwidth_bytes_per_s",
        Figure::MeanLatency => "latency_mean_ns",
        Figure::TailLatency => "latency_p99_ns",
    };
    json!({
        "figure": figure,
        "first": compared.old,
        "other": compared.new,
        "speed_ratio": compared.plain_speed(),
        "interval": compared.speed.as_ref().ok().map(ratio_json),
    })
}

fn ratio_json(ratio: &Ratio) -> Value {
    json!({ "ratio": ratio.ratio, "low": ratio.low, "high": ratio.high, "degrees_of_freedom": ratio.degrees })
}
