//! The database suite on the seed's layout: each scenario at the ceiling that the context's arithmetic gives,
//! and bound by what it names.

use iobound_record::{Run, Scenario};

use crate::guest::Guest;

const TRIES: usize = 3;

/// Scenarios whose ceiling is the array's, with the bound that must be named and the share of the ceiling, in
/// percent, that must be reached. The others (1, 3) have one operation in flight: their time is the translated
/// guest's, which nobody promised.
const HELD: [(u32, &str, f64, f64); 8] = [
    (4, "volume-bandwidth", 95.0, 105.0),
    (5, "volume-bandwidth", 95.0, 105.0),
    (7, "volume-bandwidth", 95.0, 105.0),
    (10, "volume-bandwidth", 95.0, 105.0),
    (8, "volume-iops", 95.0, 105.0),
    // Four jobs keep a translated guest busy: 89% to 95% seen on a machine with six times its work.
    (2, "volume-iops", 80.0, 105.0),
    (9, "volume-iops", 80.0, 105.0),
    // Its jobs write in order, and the kernel merges neighbours into one operation: up to the 1,600 a second that
    // bandwidth allows, a third above.
    (6, "volume-iops", 90.0, 135.0),
];

/// Runs the suite and tries again what reads low: a guest that this machine starves of processor time.
pub fn ten_scenarios(guest: &Guest, context: &str) {
    let suite = include_str!("../../../../suites/database.toml").replace("pause = \"5s\"", "pause = \"1s\"");
    let suite = guest.put_file("/etc/ten.toml", &suite);
    let mut left: Vec<u32> = Vec::new();
    for turn in 1..=TRIES {
        let only = match turn {
            1 => String::new(),
            _ => format!("--scenario {}", left.iter().map(u32::to_string).collect::<Vec<_>>().join(",")),
        };
        let run = run(guest, &format!("{suite} --context {context} {only}"));
        let expected = if turn == 1 { 10 } else { left.len() };
        assert_eq!(run.scenarios.len(), expected);
        left = run.scenarios.iter().filter(|scenario| !holds(guest, scenario)).map(|s| s.id).collect();
        if left.is_empty() {
            return;
        }
    }
    panic!("scenarios {left:?} do not stand to their ceilings as they must, in {TRIES} tries");
}

fn run(guest: &Guest, arguments: &str) -> Run {
    let script = format!(
        "rm -rf /tmp/ten; iobound run {arguments} --data /data --wal /wal --size 256m --runtime 10s --quiet \
         --out /tmp/ten >/tmp/said 2>&1; code=$?; [ $code -le 1 ] || {{ cat /tmp/said; exit $code; }}; \
         cat /tmp/ten/run.json"
    );
    serde_json::from_str(&guest.ok(&script)).expect("run.json is a record")
}

/// Whether a scenario is at its ceiling, by the bound that binds; says what was seen.
fn holds(guest: &Guest, scenario: &Scenario) -> bool {
    let measured = scenario.measurement.as_ref().expect("it measured");
    let held = HELD.iter().find(|(id, ..)| *id == scenario.id);
    let Some((_, bound, least, most)) = held else {
        guest.say(&format!("{:>2} {:<16} {}", scenario.id, scenario.name, scenario.verdict.says));
        return true;
    };
    let ceiling = scenario.ceiling.as_ref().expect("the context promises something");
    let percent = measured.iops() / ceiling.iops * 100.0;
    guest.say(&format!(
        "{:>2} {:<16} {:>7.1} IOPS {:>6.1} MiB/s: {percent:.1}% of {:.0} by {} ({})",
        scenario.id,
        scenario.name,
        measured.iops(),
        measured.bandwidth_bytes_per_s() / f64::from(1 << 20),
        ceiling.iops,
        ceiling.bound,
        ceiling.why,
    ));
    assert_eq!(ceiling.bound, *bound, "{}", scenario.name);
    (*least..=*most).contains(&percent)
}
