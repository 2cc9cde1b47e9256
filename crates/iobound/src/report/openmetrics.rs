//! The run as OpenMetrics 1.0 text, for a push gateway, a file collector or an import.
//!
//! Only gauges and summaries are used, so that readers of the older Prometheus text format, such as the
//! node exporter's file collector, take it as well. Samples carry no time: a collector would refuse or
//! misplace old ones. When the run began is a metric of its own.

use std::collections::BTreeSet;
use std::fmt::Write;

use iobound_record::{
    Direction, DirectionStats, FitAnswer, LatencySummary, Measurement, Run, Scenario, Severity,
};

use crate::report::csv::{direction_word, status_word};

/// Quantiles of the summaries.
type Quantile = (&'static str, fn(&LatencySummary) -> u64);
const QUANTILES: [Quantile; 6] = [
    ("0.5", |l| l.p50),
    ("0.9", |l| l.p90),
    ("0.95", |l| l.p95),
    ("0.99", |l| l.p99),
    ("0.999", |l| l.p99_9),
    ("0.9999", |l| l.p99_99),
];

/// The run as text; ends with `# EOF`.
pub fn render(run: &Run) -> String {
    let mut out = Exposition::default();
    about_the_run(run, &mut out);
    let scenarios = labelled(run);
    rates(&scenarios, &mut out);
    latencies(&scenarios, &mut out);
    ceilings(&scenarios, &mut out);
    fit(run, &mut out);
    out.text += "# EOF\n";
    out.text
}

/// A scenario with the labels that name it, unique within the run.
type Labelled<'a> = (String, &'a Scenario);

fn labelled(run: &Run) -> Vec<Labelled<'_>> {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let label = |scenario| {
        let Scenario { name, volume, id, .. }: &Scenario = scenario;
        let id = id.to_string();
        let named = |name: &str| labels(&[("scenario", name), ("id", &id), ("volume", volume)]);
        let mut labels = named(name);
        let mut number = 2;
        // Two series must not have the same labels, and nothing keeps a job file from repeating a name.
        while !taken.insert(labels.clone()) {
            labels = named(&format!("{name}#{number}"));
            number += 1;
        }
        (labels, scenario)
    };
    run.scenarios.iter().map(label).collect()
}

fn about_the_run(run: &Run, out: &mut Exposition) {
    out.family("iobound_run", "gauge", "", "The run, by its labels.");
    let about = [
        ("id", run.id.as_str()),
        ("suite", &run.suite),
        ("started", &run.started),
        ("version", &run.iobound),
        ("kernel", &run.host.kernel),
    ];
    out.sample("iobound_run", &labels(&about), 1.0);
    if let Ok(started) = run.started.parse::<jiff::Timestamp>() {
        out.family("iobound_run_start_seconds", "gauge", "seconds", "When the run began, Unix time.");
        out.sample("iobound_run_start_seconds", "", started.as_millisecond() as f64 / 1e3);
    }
    out.family("iobound_run_interrupted", "gauge", "", "1 if the run was cut short.");
    out.sample("iobound_run_interrupted", "", f64::from(u8::from(run.interrupted)));
    out.family("iobound_findings", "gauge", "", "Findings of each severity.");
    for (word, severity) in
        [("error", Severity::Error), ("warning", Severity::Warning), ("note", Severity::Note)]
    {
        let count = run.findings.iter().filter(|finding| finding.severity == severity).count();
        out.sample("iobound_findings", &labels(&[("severity", word)]), count as f64);
    }
}

fn rates(scenarios: &[Labelled<'_>], out: &mut Exposition) {
    type Rate = fn(&DirectionStats) -> f64;
    let families: [(&str, &str, &str, Rate); 2] = [
        ("iobound_scenario_iops", "", "Operations per second.", |stats| stats.iops),
        ("iobound_scenario_bandwidth_bytes_per_second", "bytes_per_second", "Bytes per second.", |stats| {
            stats.bandwidth_bytes_per_s
        }),
    ];
    for (name, unit, help, rate) in families {
        out.family(name, "gauge", unit, help);
        for (labels, stats) in sides(scenarios) {
            out.sample(name, &labels, rate(stats));
        }
    }
    out.family("iobound_scenario_errors", "gauge", "", "Operations that failed.");
    for (labels, scenario) in scenarios {
        if let Some(measured) = &scenario.measurement {
            out.sample("iobound_scenario_errors", labels, measured.errors as f64);
        }
    }
}

fn latencies(scenarios: &[Labelled<'_>], out: &mut Exposition) {
    let name = "iobound_scenario_latency_seconds";
    out.family(name, "summary", "seconds", "Time of an operation, from submission to completion.");
    for (labels, stats) in sides(scenarios) {
        let latency = &stats.latency_ns;
        for (rank, of) in QUANTILES {
            out.sample(name, &format!("{labels},quantile=\"{rank}\""), of(latency) as f64 / 1e9);
        }
        out.sample(&format!("{name}_sum"), &labels, latency.mean / 1e9 * stats.ios as f64);
        out.sample(&format!("{name}_count"), &labels, stats.ios as f64);
    }
}

fn ceilings(scenarios: &[Labelled<'_>], out: &mut Exposition) {
    let name = "iobound_scenario_ceiling_iops";
    out.family(name, "gauge", "", "Operations per second that the hardware promises, and what binds.");
    for (known, scenario) in scenarios {
        if let Some(ceiling) = &scenario.ceiling {
            let labels = format!("{known},{}", labels(&[("bound", &ceiling.bound)]));
            out.sample(name, &labels, ceiling.iops);
        }
    }
    let name = "iobound_scenario_of_ceiling_ratio";
    out.family(name, "gauge", "ratio", "Measured over ceiling.");
    for (labels, scenario) in scenarios {
        if let Some(percent) = scenario.verdict.percent_of_ceiling {
            out.sample(name, labels, percent / 100.0);
        }
    }
    let name = "iobound_scenario_status";
    out.family(name, "gauge", "", "The verdict, by its label.");
    for (known, scenario) in scenarios {
        let status = labels(&[("status", status_word(scenario.verdict.status))]);
        out.sample(name, &format!("{known},{status}"), 1.0);
    }
}

fn fit(run: &Run, out: &mut Exposition) {
    if run.fit.is_empty() {
        return;
    }
    let name = "iobound_fit";
    out.family(name, "gauge", "", "Whether a published figure is met: 1 yes, 0.5 close, 0 no.");
    for fit in &run.fit {
        let value = match fit.answer {
            FitAnswer::Yes => 1.0,
            FitAnswer::Close => 0.5,
            FitAnswer::No => 0.0,
        };
        out.sample(name, &labels(&[("id", &fit.id), ("system", &fit.system)]), value);
    }
}

/// Every direction that did something, with its labels.
fn sides<'a>(scenarios: &'a [Labelled<'a>]) -> impl Iterator<Item = (String, &'a DirectionStats)> {
    let measured = |(labels, scenario): &'a Labelled<'a>| Some((labels, scenario.measurement.as_ref()?));
    let directions = |(known, measured): (&'a String, &'a Measurement)| {
        Direction::ALL.into_iter().map(move |direction| {
            let word = labels(&[("direction", direction_word(direction))]);
            (format!("{known},{word}"), measured.direction(direction))
        })
    };
    scenarios.iter().filter_map(measured).flat_map(directions).filter(|(_, stats)| stats.ios > 0)
}

/// `a="x",b="y"`, escaped as the format asks. A control character would break the line, so it goes.
fn labels(pairs: &[(&str, &str)]) -> String {
    let one = |(name, value): &(&str, &str)| {
        let value: String = value.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        format!("{name}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
    };
    pairs.iter().map(one).collect::<Vec<_>>().join(",")
}

/// The text so far.
#[derive(Default)]
struct Exposition {
    text: String,
}

impl Exposition {
    fn family(&mut self, name: &str, kind: &str, unit: &str, help: &str) {
        let _ = writeln!(self.text, "# TYPE {name} {kind}");
        if !unit.is_empty() {
            let _ = writeln!(self.text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.text, "# HELP {name} {help}");
    }

    fn sample(&mut self, name: &str, labels: &str, value: f64) {
        let braced = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(self.text, "{name}{braced} {value}");
    }
}

#[cfg(test)]
#[path = "openmetrics/tests.rs"]
mod tests;
