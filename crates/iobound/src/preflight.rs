//! Looking at the machine before something is measured on it.

use std::path::{Path, PathBuf};

use iobound_host::{ProbeOptions, System, probe, watch};
use iobound_model::check::{CheckInput, Target, check};
use iobound_record::{Check, Context, EngineChoice, Outcome, Probe, Role};

use crate::exit::{self, Failure};
use crate::suites::Group;

/// How long a run watches before it begins: long enough to see a steady load, short against any suite.
const RUN_WATCHES_S: f64 = 0.5;

/// What a full check looks at.
pub struct Request<'a> {
    /// What is meant.
    pub context: Option<&'a Context>,
    /// Where.
    pub targets: Vec<Target>,
    /// Ask no network.
    pub offline: bool,
    /// How long to watch, seconds; 0 does not.
    pub watch_s: f64,
}

/// The machine as it is now.
pub fn probe_now(offline: bool, read_signatures: bool) -> Probe {
    let options = ProbeOptions { offline, read_signatures, ..ProbeOptions::default() };
    let mut found = probe(&System::live(), &options);
    found.taken = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    found
}

/// The checklist of a captured machine: nothing moves there, so nobody watches.
pub fn look_at_captured(root: &Path, context: Option<&Context>, targets: &[Target]) -> Vec<Check> {
    let system = System::captured(root);
    let probe = probe(&system, &ProbeOptions { offline: true, ..ProbeOptions::default() });
    let watched = watch(&system, 0.0, || true);
    check(&CheckInput { probe: &probe, context, watched: Some(&watched), targets })
}

/// Probes, watches, and runs the checklist.
pub fn look(request: &Request<'_>, stop: impl Fn() -> bool) -> Vec<Check> {
    let probe = probe_now(request.offline, false);
    let watched = (request.watch_s > 0.0).then(|| watch(&System::live(), request.watch_s, stop));
    check(&CheckInput {
        probe: &probe,
        context: request.context,
        watched: watched.as_ref(),
        targets: &request.targets,
    })
}

/// A target with the devices that the kernel says are below it.
///
/// # Errors
/// Nothing is there.
pub fn target(path: &Path, role: Option<Role>) -> Result<Target, Failure> {
    let stack = System::live().stack_of(path).map_err(Failure::usage)?;
    let whole = path.canonicalize().unwrap_or_else(|_| stack.path.clone());
    Ok(Target {
        path: whole.display().to_string(),
        role,
        devices: stack.top.iter().map(|device| device.name.clone()).collect(),
        needs_bytes: 0,
    })
}

/// The quick form before a run. Places that cannot be looked at are left to the run, which says why.
pub fn before_run(places: &[PathBuf], context: Option<&Context>, stop: impl Fn() -> bool) -> Vec<Check> {
    let mut targets: Vec<Target> = Vec::new();
    for place in places {
        if let Ok(target) = target(place, None)
            && targets.iter().all(|known| known.devices != target.devices)
        {
            // The run's own guard knows the sizes of its files and refuses by them.
            targets.push(Target { needs_bytes: 1, ..target });
        }
    }
    if targets.is_empty() {
        return Vec::new();
    }
    look(&Request { context, targets, offline: true, watch_s: RUN_WATCHES_S }, stop)
}

/// Directories and devices that jobs go to.
pub fn places_of(groups: &[Group]) -> Vec<PathBuf> {
    let steps = groups.iter().flatten().filter(|step| step.job.ioengine != EngineChoice::Null);
    let mut places: Vec<PathBuf> = Vec::new();
    for path in steps.flat_map(|step| iobound_engine::paths_of(&step.job)) {
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let place = if path.starts_with("/dev") { path } else { directory };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// With `--require-check`, a run does not start on a machine that is not in order.
///
/// # Errors
/// A check failed.
pub fn require(checks: &[Check]) -> Result<(), Failure> {
    let failed: Vec<&Check> = checks.iter().filter(|check| check.outcome == Outcome::Fail).collect();
    let Some(first) = failed.first() else { return Ok(()) };
    let words = format!(
        "not started: {} checks failed (--require-check), the first: {} of {}: {}; {}",
        failed.len(),
        first.id,
        first.subject,
        first.value,
        first.mend
    );
    Err(Failure { code: exit::FAILED, words })
}
