//! Nothing is wrong, and every verdict says so: the database suite on two virtual volumes.

use iobound_record::{Scenario, Status};

use crate::fixtures::Volume;
use crate::is_bad;
use crate::support::{Case, alone};

/// What each volume promises, as one gp3 does without extras.
const VOLUME: &str = "600MiB,3000iops,125MiBps";
/// A run that the machine left without processors is tried again, those scenarios only. A wrong ceiling
/// or a wrong count fails them all.
const TRIES: usize = 3;

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
    // A durable write waits for this machine's own disk, whose time nobody promised.
    if scenario.id == 1 && scenario.verdict.status == Status::Unknown {
        return scenario.ceiling.is_none() && scenario.verdict.says.starts_with("bound by latency");
    }
    let expected = BOUNDS.iter().find(|(id, _)| *id == scenario.id).expect("a scenario of the suite").1;
    let bound = scenario.ceiling.as_ref().map(|ceiling| ceiling.bound.as_str());
    let percent = scenario.verdict.percent_of_ceiling.unwrap_or(0.0);
    bound == Some(expected) && scenario.verdict.status == Status::Ok && (97.0..=101.5).contains(&percent)
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
        let alarms: Vec<_> = run.findings.iter().filter(|finding| is_bad(finding)).collect();
        println!("findings: {alarms:?}");
        if wrong.is_empty() && alarms.is_empty() {
            return;
        }
        if !wrong.is_empty() {
            open = wrong.iter().map(|scenario| scenario.id).collect();
        }
    }
    let says: Vec<String> =
        wrong.iter().map(|scenario| format!("{}: {}", scenario.name, scenario.verdict.says)).collect();
    panic!("not at their ceilings, or findings on clean volumes (above): {says:#?}");
}
