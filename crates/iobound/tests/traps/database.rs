//! Nothing is wrong, and every verdict says so: the database suite on two virtual volumes.

use iobound_record::{Finding, Scenario, Status};

use crate::fixtures::Volume;
use crate::is_bad;
use crate::support::{Case, alone};

/// What each volume promises, as one gp3 does without extras.
const VOLUME: &str = "600MiB,3000iops,125MiBps";
/// A run that the machine left without processors is tried again, those scenarios only. A wrong ceiling
/// or a wrong count fails them all.
const TRIES: usize = 3;
/// What a volume still gives when its own server has to wait for processors, in percent, and the record
/// says so.
const STARVED: std::ops::Range<f64> = 80.0..97.0;

/// Each scenario with what binds it there: 32 KiB at 3,000 operations are 94 MiB/s, below the bandwidth.
const BOUNDS: [(u32, &str); 10] = [
    (1, "volume-iops"),
    (2, "volume-iops"),
    (3, "volume-iops"),
    (4, "volume-bandwidth"),
    (5, "volume-bandwidth"),
    (6, "volume-iops"),
    (7, "volume-bandwidth"),
    (8, "volume-iops"),
    (9, "volume-iops"),
    (10, "volume-bandwidth"),
];

fn is_right(scenario: &Scenario) -> bool {
    // One at a time waits for this machine's own disk and processors, whose time nobody promised.
    if [1, 3].contains(&scenario.id) && scenario.verdict.status == Status::Unknown {
        return scenario.ceiling.is_none() && scenario.verdict.says.starts_with("bound by latency");
    }
    let expected = BOUNDS.iter().find(|(id, _)| *id == scenario.id).expect("a scenario of the suite").1;
    let bound = scenario.ceiling.as_ref().map(|ceiling| ceiling.bound.as_str());
    let percent = scenario.verdict.percent_of_ceiling.unwrap_or(0.0);
    bound == Some(expected) && scenario.verdict.status == Status::Ok && (97.0..=101.5).contains(&percent)
}

/// Short in every try because this machine had no processor for the volume's server, as its own finding says.
fn is_starved(scenario: &Scenario, alarms: &[Finding]) -> bool {
    let bound = scenario.ceiling.as_ref().map(|ceiling| ceiling.bound.as_str());
    let says = |finding: &&Finding| {
        finding.id == "short-of-ceiling" && finding.evidence.contains(&format!("{}: ", scenario.name))
    };
    bound == BOUNDS.iter().find(|(id, _)| *id == scenario.id).map(|(_, bound)| *bound)
        && scenario.verdict.percent_of_ceiling.is_some_and(|percent| STARVED.contains(&percent))
        && (scenario.verdict.status == Status::Ok
            || alarms.iter().find(says).is_some_and(|f| f.evidence.contains("processors were missing")))
}

#[test]
fn ten_verdicts_on_two_volumes_are_right() {
    let _turn = alone();
    let Some(data) = Volume::up("dbdata", VOLUME) else { return };
    let Some(wal) = Volume::up("dbwal", VOLUME) else { return };
    let case = Case::new();
    let context = case.beside("context.toml");
    let volume = |name: &str, mount: &std::path::Path| {
        format!(
            "[[volume]]\nname = \"{name}\"\nkind = \"virtual\"\nsize = \"600MiB\"\niops = 3000\n\
             bandwidth = \"125MiB/s\"\n[[filesystem]]\non = \"{name}\"\nkind = \"ext4\"\nmount = \"{}\"\n\
             role = \"{name}\"\n",
            mount.display()
        )
    };
    let text =
        format!("schema = 1\nname = \"two\"\n{}{}", volume("data", data.dir()), volume("wal", wal.dir()));
    std::fs::write(&context, text).unwrap();
    let suite = case.beside("suite.toml");
    let shipped =
        include_str!("../../../../suites/database.toml").replace("pause = \"5s\"", "pause = \"500ms\"");
    std::fs::write(&suite, shipped).unwrap();
    let mut open: Vec<u32> = BOUNDS.iter().map(|(id, _)| *id).collect();
    let mut wrong = Vec::new();
    let mut starved = false;
    for _ in 0..TRIES {
        let picked = open.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let outcome = case
            .run(&[
                suite.to_str().unwrap(),
                "--data",
                data.dir().to_str().unwrap(),
                "--wal",
                wal.dir().to_str().unwrap(),
                "--size",
                "256m",
                "--runtime",
                "4s",
                "--context",
                context.to_str().unwrap(),
                "--scenario",
                &picked,
            ])
            .expect(&[0]);
        let run = outcome.record();
        for scenario in &run.scenarios {
            println!("{:2} {:16} {}", scenario.id, scenario.name, scenario.verdict.says);
        }
        wrong = run.scenarios.iter().filter(|scenario| !is_right(scenario)).cloned().collect();
        let alarms: Vec<Finding> = run.findings.iter().filter(|finding| is_bad(finding)).cloned().collect();
        println!("findings: {alarms:?}");
        if wrong.is_empty() && alarms.is_empty() {
            return;
        }
        starved = alarms.iter().all(|finding| finding.id == "short-of-ceiling")
            && wrong.iter().all(|scenario| is_starved(scenario, &alarms));
        if !wrong.is_empty() {
            open = wrong.iter().map(|scenario| scenario.id).collect();
        }
    }
    if starved {
        println!("held as far as this machine's processors allowed, after {TRIES} tries");
        return;
    }
    let says: Vec<String> =
        wrong.iter().map(|scenario| format!("{}: {}", scenario.name, scenario.verdict.says)).collect();
    panic!("not at their ceilings, or findings on clean volumes (above): {says:#?}");
}
