//! `--fail-on`: which verdicts are a failure to whoever called.

use iobound_record::{FitAnswer, Run, Scenario, Severity, Status};

/// One reason to fail.
#[derive(Clone, Debug, PartialEq)]
pub enum FailOn {
    /// A scenario short of its ceiling.
    Short,
    /// A scenario above its ceiling.
    Above,
    /// A scenario below this percent of its ceiling.
    Below(f64),
    /// A warning.
    Warning,
    /// A note as well.
    Note,
    /// A target that is missed.
    Target,
    /// An answer `no` of the fit table: any, or of the system of this name.
    Unfit(Option<String>),
    /// A scenario without a verdict, for a pipeline that must not pass because nothing was judged.
    Unknown,
}

impl FailOn {
    /// Reads `short`, `above`, `unknown`, `warning`, `note`, `target`, `unfit`, `unfit:etcd`, `90%`.
    ///
    /// # Errors
    /// Any other word, with those there are.
    pub fn parse(text: &str) -> Result<FailOn, String> {
        const WORDS: &str = "use short, above, unknown, warning, note, target, unfit, unfit:NAME, or a percentage of \
                             the ceiling such as 90%";
        Ok(match text.trim() {
            "short" => FailOn::Short,
            "above" => FailOn::Above,
            "unknown" => FailOn::Unknown,
            "warning" => FailOn::Warning,
            "note" => FailOn::Note,
            "target" => FailOn::Target,
            "unfit" => FailOn::Unfit(None),
            other => match (other.strip_prefix("unfit:"), other.strip_suffix('%')) {
                (Some(name), _) if !name.is_empty() => FailOn::Unfit(Some(name.to_lowercase())),
                (_, Some(percent)) => match percent.trim().parse() {
                    Ok(percent) if (1.0..=100.0).contains(&percent) => FailOn::Below(percent),
                    _ => return Err(format!("'{other}' is no percentage from 1% to 100%")),
                },
                _ => return Err(format!("'{other}' is no verdict; {WORDS}")),
            },
        })
    }

    /// Why the run fails by it; None when it does not.
    pub fn reason(&self, run: &Run) -> Option<String> {
        let scenarios = |what: &str, picks: &dyn Fn(&Scenario) -> bool| {
            let names: Vec<&str> =
                run.scenarios.iter().filter(|s| picks(s)).map(|s| s.name.as_str()).collect();
            (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
        };
        let status = |status| move |scenario: &Scenario| scenario.verdict.status == status;
        match self {
            FailOn::Short => scenarios("short of the ceiling", &status(Status::Short)),
            FailOn::Above => scenarios("above the ceiling", &status(Status::Above)),
            FailOn::Unknown => scenarios("not judged, for there is no ceiling", &status(Status::Unknown)),
            FailOn::Below(least) => scenarios(&format!("below {least}% of the ceiling"), &|scenario| {
                scenario.verdict.percent_of_ceiling.is_some_and(|percent| percent < *least)
            }),
            FailOn::Warning => findings(run, Severity::Warning),
            FailOn::Note => findings(run, Severity::Note),
            FailOn::Target => scenarios("target missed", &|scenario| {
                scenario.verdict.targets.iter().any(|outcome| !outcome.met)
            }),
            FailOn::Unfit(name) => unfit(run, name.as_deref()),
        }
    }
}

fn findings(run: &Run, least: Severity) -> Option<String> {
    let ids: Vec<&str> =
        run.findings.iter().filter(|finding| finding.severity >= least).map(|f| f.id.as_str()).collect();
    (!ids.is_empty()).then(|| format!("findings: {}", ids.join(", ")))
}

fn unfit(run: &Run, name: Option<&str>) -> Option<String> {
    let of =
        |name: &str| run.fit.iter().filter(|fit| fit.system.to_lowercase() == name || fit.id == name).count();
    // A question that was never answered must not pass as yes.
    if let Some(name) = name.filter(|name| of(name) == 0) {
        return Some(format!("nothing in this run answers whether it is fit for {name}"));
    }
    let asked = run
        .fit
        .iter()
        .filter(|fit| name.is_none_or(|name| fit.system.to_lowercase() == name || fit.id == name));
    let no: Vec<String> = asked
        .filter(|fit| fit.answer == FitAnswer::No)
        .map(|fit| format!("{} ({}, measured {})", fit.system, fit.asks, fit.evidence))
        .collect();
    (!no.is_empty()).then(|| format!("not fit for {}", no.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::{Finding, Fit, TargetOutcome, Verdict};

    fn run(verdict: Verdict) -> Run {
        Run {
            scenarios: vec![Scenario { name: "reads".into(), verdict, ..Scenario::default() }],
            ..Run::default()
        }
    }

    fn reason(text: &str, run: &Run) -> Option<String> {
        FailOn::parse(text).unwrap().reason(run)
    }

    #[test]
    fn each_verdict_fails_on_its_own_word_only() {
        let short =
            run(Verdict { status: Status::Short, percent_of_ceiling: Some(80.0), ..Verdict::default() });
        assert_eq!(reason("short", &short).unwrap(), "short of the ceiling: reads");
        assert_eq!(reason("90%", &short).unwrap(), "below 90% of the ceiling: reads");
        for word in ["75%", "above", "unknown", "warning", "note", "target", "unfit"] {
            assert_eq!(reason(word, &short), None, "{word}");
        }
        let missed = TargetOutcome { met: false, ..TargetOutcome::default() };
        let missed = run(Verdict { targets: vec![missed], ..Verdict::default() });
        assert_eq!(reason("target", &missed).unwrap(), "target missed: reads");
        assert_eq!(reason("unknown", &missed).unwrap(), "not judged, for there is no ceiling: reads");
    }

    #[test]
    fn a_warning_is_no_note() {
        let finding = |severity| Finding {
            id: "it".into(),
            severity,
            what: String::new(),
            evidence: String::new(),
            remedy: String::new(),
        };
        let noted = Run { findings: vec![finding(Severity::Note)], ..run(Verdict::default()) };
        assert_eq!((reason("warning", &noted), reason("note", &noted)), (None, Some("findings: it".into())));
    }

    #[test]
    fn a_system_that_was_not_judged_does_not_pass() {
        let fit = Fit {
            id: "etcd".into(),
            system: "etcd".into(),
            asks: "p99 of a sync: at most 10 ms".into(),
            answer: FitAnswer::No,
            evidence: "30 ms in it".into(),
            scenario: 1,
            source: String::new(),
            url: String::new(),
        };
        let run = Run { fit: vec![fit], ..run(Verdict::default()) };
        assert!(reason("unfit", &run).unwrap().contains("not fit for etcd"));
        assert!(reason("unfit:ETCD", &run).unwrap().contains("30 ms"));
        assert!(reason("unfit:kafka", &run).unwrap().contains("nothing in this run answers"));
    }

    #[test]
    fn other_words_are_refused() {
        for text in ["", "slow", "0%", "101%", "NaN%", "unfit:"] {
            assert!(FailOn::parse(text).is_err(), "{text}");
        }
    }
}
