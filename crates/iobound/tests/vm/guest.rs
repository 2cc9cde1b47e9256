//! A guest with the program inside.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use iobound_lab::vm::{Flush, GuestCommand, Output, Vm, VmSpec, VolumeSpec};
use iobound_lab::{LabError, require};
use iobound_record::{Check, Outcome, Probe, Run, units::MIB};
use serde_json::Value;

/// A tenth of a gp3 volume: 3,000 operations/s and 125 MiB/s.
pub const IOPS: u64 = 300;
pub const BYTES_PER_S: u64 = 12_800 << 10;
/// Small enough that a mirror is in step within a minute at 12.5 MiB/s.
pub const VOLUME_BYTES: u64 = 512 * MIB;
/// The longest that a step of a test takes in a translated guest on a busy machine.
const STEP_LIMIT: Duration = Duration::from_secs(300);
/// How often a measurement may be repeated: a guest that the host starves of processor time reads low.
const TRIES: usize = 3;

/// One machine at a time: two would starve each other of processor time, and read low.
static TURN: Mutex<()> = Mutex::new(());

/// A guest, and the time since it was asked for.
pub struct Guest {
    pub vm: Vm,
    start: Instant,
    _turn: MutexGuard<'static, ()>,
}

impl Guest {
    /// Boots a guest with `names` as volumes of known limits and the program in its PATH. None where this
    /// host has no virtual machines. A flush takes no time: otherwise it would take this machine's.
    pub fn boot(names: &[&str]) -> Option<Guest> {
        let mut spec = VmSpec::new();
        for name in names {
            let volume = VolumeSpec::new(*name, VOLUME_BYTES).iops(IOPS).bytes_per_s(BYTES_PER_S);
            spec = spec.volume(volume.flush(Flush::Ignored));
        }
        Guest::boot_spec(spec)
    }

    /// The same with volumes of one's own.
    pub fn boot_spec(spec: VmSpec) -> Option<Guest> {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let start = Instant::now();
        let vm = match Vm::boot(spec) {
            Err(LabError::Skip(reason)) => require::<Vm>(Err(LabError::Skip(reason)))?,
            other => other.unwrap_or_else(|error| panic!("the virtual machine did not boot: {error}")),
        };
        vm.push_program(Path::new(env!("CARGO_BIN_EXE_iobound")), "/usr/local/bin/iobound").unwrap();
        let guest = Guest { vm, start, _turn: turn };
        guest.say(&format!("booted ({:?})", guest.vm.accel()));
        Some(guest)
    }

    /// Says where the test is, with the time since its start.
    pub fn say(&self, what: &str) {
        println!("{:>6.1} s  {what}", self.start.elapsed().as_secs_f64());
    }

    /// Runs a script; any exit code.
    pub fn run(&self, script: &str) -> Output {
        self.vm.run(GuestCommand::shell(script).time_limit(STEP_LIMIT)).unwrap()
    }

    /// Runs a script that must end with `code`.
    pub fn expect(&self, code: i32, script: &str) -> Output {
        let output = self.run(script);
        assert_eq!(
            output.code, code,
            "{script}\n--- stdout\n{}\n--- stderr\n{}",
            output.stdout, output.stderr
        );
        output
    }

    /// Runs a script that must succeed, and gives its standard output.
    pub fn ok(&self, script: &str) -> String {
        self.expect(0, script).stdout
    }

    /// What the machine is now.
    pub fn probe(&self) -> Probe {
        serde_json::from_str(&self.ok("iobound probe --json --offline")).expect("a probe is JSON")
    }

    /// The checklist against a context, whatever its exit code, and that code.
    pub fn checks(&self, context: &str) -> (i32, Vec<Check>) {
        let output = self.run(&format!("iobound check --json --offline --watch 1s --context {context}"));
        let json: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|error| {
            panic!("check is no JSON: {error}\n{}\n{}", output.stdout, output.stderr)
        });
        (output.code, serde_json::from_value(json["checks"].clone()).unwrap())
    }

    /// Fails unless the checklist finds `id` on a subject that holds `subject`, as a warning or a failure.
    pub fn expect_found(&self, context: &str, id: &str, subject: &str) {
        let (_, checks) = self.checks(context);
        let bad = |check: &&Check| matches!(check.outcome, Outcome::Warn | Outcome::Fail);
        let found = checks
            .iter()
            .filter(bad)
            .find(|check| check.id == id && format!("{} {}", check.subject, check.value).contains(subject));
        match found {
            Some(check) => {
                self.say(&format!(
                    "found: {id} of {}: {}, not {}",
                    check.subject, check.value, check.expected
                ));
            }
            None => panic!("{id} of {subject} was not found among {:#?}", bad_ones(&checks)),
        }
    }

    /// Puts one of the shipped contexts into the guest, for volumes of this test's size.
    pub fn put_context(&self, name: &str, volume_size: &str) -> String {
        let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../contexts/{name}.toml"));
        let text = std::fs::read_to_string(&whole).unwrap();
        let text = text.replace("size = \"1GiB\"", &format!("size = \"{volume_size}\""));
        self.put_file(&format!("/etc/{name}.toml"), &text)
    }

    /// Writes a file in the guest; its path.
    pub fn put_file(&self, place: &str, text: &str) -> String {
        let writing = GuestCommand::program(["tee", place]).stdin(text);
        self.vm.run(writing).unwrap().expect_success("writing a file").unwrap();
        place.to_owned()
    }

    /// Runs a job file in the guest and gives the record; the files stay.
    pub fn measure(&self, job: &str) -> Run {
        self.measure_with(job, "")
    }

    /// The same with more options.
    pub fn measure_with(&self, job: &str, options: &str) -> Run {
        let script = format!(
            "rm -rf /tmp/out; cat >/tmp/job.fio <<'END'\n{job}\nEND\n\
             iobound run /tmp/job.fio --quiet --keep-files --overwrite {options} --out /tmp/out >/tmp/said 2>&1; code=$?; \
             [ $code -le 1 ] || {{ cat /tmp/said; exit $code; }}; cat /tmp/out/run.json"
        );
        serde_json::from_str(&self.ok(&script)).expect("run.json is a record")
    }

    /// Operations and bytes per second of a job of real fio in the guest.
    pub fn fio(&self, arguments: &str) -> (f64, f64) {
        let said = self.ok(&format!(
            "fio --name=a --direct=1 --ioengine=libaio --time_based --group_reporting --minimal \
             --terse-version=3 {arguments}"
        ));
        let field = |i: usize| -> f64 {
            said.split(';').nth(i).and_then(|field| field.parse().ok()).unwrap_or_else(|| panic!("{said}"))
        };
        (field(7) + field(48), (field(6) + field(47)) * 1024.0)
    }

    /// Fails unless `measure` comes within `percent` of `expected`, in one of a few tries.
    pub fn assert_reaches(&self, what: &str, expected: f64, percent: f64, mut measure: impl FnMut() -> f64) {
        let mut tries = Vec::new();
        for _ in 0..TRIES {
            let seen = measure();
            let off = (seen / expected - 1.0) * 100.0;
            self.say(&format!("{what}: {seen:.1}, expected {expected:.1} ({off:+.2}%)"));
            if off.abs() <= percent {
                return;
            }
            tries.push(format!("{off:+.2}%"));
        }
        panic!("{what}: not within {percent}% of {expected:.1} in {TRIES} tries: {}", tries.join(", "));
    }
}

/// What is not as it should be.
pub fn bad_ones(checks: &[Check]) -> Vec<String> {
    checks
        .iter()
        .filter(|check| matches!(check.outcome, Outcome::Warn | Outcome::Fail))
        .map(|c| format!("{:?} {} of {}: {}, not {}", c.outcome, c.id, c.subject, c.value, c.expected))
        .collect()
}
