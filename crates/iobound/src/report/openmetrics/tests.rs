use std::collections::BTreeSet;

use super::*;
use crate::report::sample;

/// Holds text against the rules of OpenMetrics 1.0 that this exporter could break, and counts its samples.
fn check(text: &str) -> Result<usize, String> {
    let body = text.strip_suffix("# EOF\n").ok_or("does not end with # EOF")?;
    let (mut family, mut families, mut samples) = (String::new(), BTreeSet::new(), BTreeSet::new());
    for line in body.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", "TYPE", name, kind] if ["gauge", "summary"].contains(&kind) => {
                if !families.insert(name.to_owned()) {
                    return Err(format!("{name} comes twice"));
                }
                family = name.into();
            }
            ["#", "UNIT", name, unit] if name == family && name.ends_with(&format!("_{unit}")) => {}
            ["#", "HELP", name, _] if name == family => {}
            ["#", ..] => return Err(format!("no such comment: {line}")),
            _ => {
                let (name, value) = line.rsplit_once(' ').ok_or(format!("no value: {line}"))?;
                value.parse::<f64>().map_err(|error| format!("{error}: {line}"))?;
                let (metric, labels) = name.split_once('{').unwrap_or((name, "}"));
                let known = [family.clone(), format!("{family}_sum"), format!("{family}_count")];
                if !known.contains(&metric.to_owned()) {
                    return Err(format!("{metric} is not of {family}"));
                }
                check_labels(labels)?;
                if !samples.insert(name.to_owned()) {
                    return Err(format!("comes twice: {name}"));
                }
            }
        }
    }
    Ok(samples.len())
}

/// `a="x",b="y"}`: names, and values whose quotes and backslashes are escaped.
fn check_labels(labels: &str) -> Result<(), String> {
    let mut rest = labels;
    while rest != "}" {
        let (name, value) = rest.split_once("=\"").ok_or(format!("no label: {labels}"))?;
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
            return Err(format!("no name of a label: {name}"));
        }
        let mut escaped = false;
        let end = value.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        rest = &value[end.ok_or(format!("no end: {labels}"))? + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    Ok(())
}

#[test]
fn the_text_follows_the_format() {
    for run in [sample::gp3(), sample::troubled(), sample::unjudged(), sample::empty()] {
        let samples = check(&render(&run)).unwrap();
        assert!(samples >= 6, "{samples}");
    }
    assert!(check("x 1\n").is_err() && check("# TYPE x gauge\nx 1\nx 1\n# EOF\n").is_err());
}

#[test]
fn names_that_repeat_or_hold_quotes_stay_apart() {
    let mut run = sample::gp3();
    for scenario in &mut run.scenarios {
        scenario.name = "a \"quoted\\ \n name".into();
        scenario.id = 1;
    }
    check(&render(&run)).unwrap();
}

#[test]
fn latencies_are_seconds() {
    let text = render(&sample::gp3());
    let line = "iobound_scenario_latency_seconds{scenario=\"read-latency\",id=\"3\",volume=\"data\",\
                direction=\"read\",quantile=\"0.99\"} 0.0010602";
    assert!(text.contains(line), "{text}");
}
