//! Doing a plan, step by step.

use std::io;

use iobound_record::{Member, Op, Plan, Step, StepState, Undo};

use super::capture::capture;
use super::evidence::END_BYTES;
use super::journal::{EntryState, Journal};
use super::machine::{Look, Machine, Planner, plan_now};
use super::undo::{Undoing, take_back};
use super::{PrepareError, dissolve, resolve};

/// What happens, as it happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// A step begins.
    Begins(String),
    /// It was done and verified.
    Done(String),
    /// It was so already.
    AlreadySo(String),
    /// It was left out.
    Skipped(String, String),
    /// A step of an earlier run that did not end was taken back.
    TakenBack(String),
    /// Something else worth knowing.
    Note(String),
}

/// How applying went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Steps done now.
    pub done: Vec<String>,
    /// Steps that were so already.
    pub already: Vec<String>,
    /// Steps left out, and why.
    pub skipped: Vec<(String, String)>,
}

/// Does what is left to do. `context` is its name and hash.
///
/// # Errors
/// As [`PrepareError`] says. What was done before is journaled, and can be undone or gone on with.
pub fn apply(
    machine: &dyn Machine,
    planner: &dyn Planner,
    journal: &mut Journal,
    context: (&str, &str),
    stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(Told),
) -> Result<Applied, PrepareError> {
    journal.is_for(context.0)?;
    recover(machine, planner, journal, tell)?;
    let (_, mut plan) = plan_now(machine, planner, Look::Full)?;
    may_go_on(&plan)?;
    let mut applied = Applied::default();
    let ids: Vec<String> = plan.steps.iter().map(|step| step.id.clone()).collect();
    let mut run = Run { machine, planner, journal, context, disks: plan.disks.clone(), tell };
    for id in ids {
        if stop() {
            return Err(PrepareError::Interrupted { step: id });
        }
        may_go_on(&plan)?;
        let Some(step) = plan.step(&id).cloned() else { continue };
        match &step.state {
            StepState::Done => {
                (run.tell)(Told::AlreadySo(step.title.clone()));
                applied.already.push(id);
            }
            StepState::Skipped { why } | StepState::Unknown { why } => {
                (run.tell)(Told::Skipped(step.title.clone(), why.clone()));
                applied.skipped.push((id, why.clone()));
            }
            StepState::Pending => match run.step(&step) {
                // Planned anew: later steps are on what this one made.
                Ok(now) => {
                    plan = now;
                    applied.done.push(id);
                }
                Err(PrepareError::Step { cause, .. }) if step.optional => {
                    (run.tell)(Told::Skipped(step.title.clone(), cause.clone()));
                    applied.skipped.push((id, cause));
                }
                Err(error) => return Err(error),
            },
        }
    }
    Ok(applied)
}

fn may_go_on(plan: &Plan) -> Result<(), PrepareError> {
    if plan.may_be_applied() { Ok(()) } else { Err(PrepareError::Refused { plan: Box::new(plan.clone()) }) }
}

/// Brings steps that an earlier run left in the middle to one side or the other: done after all, or taken
/// back so that they begin anew.
fn recover(
    machine: &dyn Machine,
    planner: &dyn Planner,
    journal: &mut Journal,
    tell: &mut dyn FnMut(Told),
) -> Result<(), PrepareError> {
    dissolve::stop_looking(machine).map_err(io::Error::other)?;
    let open: Vec<_> = journal.entries().iter().filter(|e| e.state != EntryState::Done).cloned().collect();
    for entry in open.into_iter().rev() {
        let (probe, plan) = plan_now(machine, planner, Look::Quick)?;
        if plan.step(&entry.step).is_some_and(|step| step.state == StepState::Done) {
            journal.done(entry.seq)?;
            tell(Told::Note(format!("an earlier run had done: {}", entry.title)));
            continue;
        }
        let destroy = planner.destroy(&probe);
        let mut refused = Vec::new();
        take_back(&mut Undoing { machine, destroy: &destroy, journal, refused: &mut refused, tell }, &entry)?;
        if let Some(why) = refused.first() {
            return Err(PrepareError::Step {
                step: entry.step,
                cause: format!("an earlier run was cut short in it, and it cannot be taken back: {why}"),
                remedy: "see to that, then run apply or undo again".into(),
            });
        }
        tell(Told::TakenBack(entry.title));
    }
    Ok(())
}

struct Run<'a> {
    machine: &'a dyn Machine,
    planner: &'a dyn Planner,
    journal: &'a mut Journal,
    context: (&'a str, &'a str),
    /// The disks as they were when it began.
    disks: Vec<Member>,
    tell: &'a mut dyn FnMut(Told),
}

impl Run<'_> {
    /// Does a step; the plan afterwards.
    fn step(&mut self, step: &Step) -> Result<Plan, PrepareError> {
        (self.tell)(Told::Begins(step.title.clone()));
        self.guard(step)?;
        let undo = capture(self.machine, step)
            .map_err(|error| failed(step, error.to_string(), "see to that, then apply again"))?;
        let undo_data = undo.iter().flatten().cloned().collect();
        let seq = self.journal.begin(self.context, step, undo_data)?;
        for (op, undo) in step.ops.iter().zip(&undo) {
            self.op(op, undo.as_ref()).map_err(|cause| {
                let cause = self.gone(step).map_or(cause.clone(), |gone| format!("{gone} ({cause})"));
                failed(step, cause, "see to that; then apply goes on, and undo goes back")
            })?;
        }
        let plan = self.verify(step)?;
        self.journal.done(seq)?;
        (self.tell)(Told::Done(step.title.clone()));
        Ok(plan)
    }

    /// Looks once more at everything that the step destroys: it may have changed since it was planned.
    fn guard(&self, step: &Step) -> Result<(), PrepareError> {
        if step.destroys.is_empty() {
            return Ok(());
        }
        let probe = self.machine.probe()?;
        let named = self.planner.destroy(&probe);
        for member in &step.destroys {
            let refuse =
                |cause: String| failed(step, cause, "nothing was touched by this step; look at that disk");
            let device = resolve::device_of(&probe, member)
                .ok_or_else(|| refuse(format!("{} is gone", resolve::told(member))))?;
            if device != member.device {
                return Err(refuse(format!("{} has become {device}", resolve::told(member))));
            }
            let standing = self
                .machine
                .evidence(&device)
                .into_iter()
                .find(|seen| !(seen.kind.is_overruled_by_name() && named.contains(&device)));
            if let Some(seen) = standing {
                return Err(refuse(format!("{}: {}", resolve::told(member), seen.says)));
            }
        }
        Ok(())
    }

    fn op(&mut self, op: &Op, undo: Option<&Undo>) -> Result<(), String> {
        let said = |path: &str| {
            let path = path.to_owned();
            move |error: io::Error| format!("{path}: {error}")
        };
        match op {
            Op::Run { argv, may_fail, .. } => match run(self.machine, argv) {
                Err(cause) if *may_fail => {
                    (self.tell)(Told::Note(cause));
                    Ok(())
                }
                other => other.map(drop),
            },
            Op::WriteFile { path, text } => self.machine.write(path, text.as_bytes()).map_err(said(path)),
            Op::Set { path, value, .. } => self
                .machine
                .set(path, value)
                .map_err(|error| format!("{path} does not take '{value}': {error}")),
            Op::AddLines { path, .. } => {
                let Some(Undo::Lines { added, .. }) = undo else { return Err("nothing was recorded".into()) };
                let before = self.machine.read(path).map_err(said(path))?.unwrap_or_default();
                let text = [before.as_slice(), added.as_bytes()].concat();
                self.machine.write(path, &text).map_err(said(path))
            }
            Op::MakeDirectory { path, owner, mode } => {
                self.machine.make_directory(path, owner, *mode).map_err(said(path))
            }
            Op::ZeroEnds { member } => self.machine.zero_ends(&member.node).map_err(|error| {
                format!("zeros over {} KiB at either end of {}: {error}", END_BYTES >> 10, member.node)
            }),
        }
    }

    /// Reads the state back: the step, and what it stands on, must be done by the plan's word.
    fn verify(&self, step: &Step) -> Result<Plan, PrepareError> {
        let (_, plan) = plan_now(self.machine, self.planner, Look::Quick)?;
        for id in step.needs.iter().chain([&step.id]) {
            let Some(now) = plan.step(id) else { continue };
            if now.state == StepState::Done || (now.id != step.id && !matches!(now.state, StepState::Pending))
            {
                continue;
            }
            let differs = now.changes.iter().filter(|change| change.current != change.wanted);
            let differs: Vec<String> =
                differs.map(|c| format!("{} is '{}', not '{}'", c.what, c.current, c.wanted)).collect();
            let cause = format!("every command succeeded, but it is not so: {}", differs.join("; "));
            return Err(failed(
                step,
                cause,
                "look at the kernel's log; then apply goes on, and undo goes back",
            ));
        }
        Ok(plan)
    }

    /// A disk that is not there any more explains more than a tool's complaint.
    fn gone(&self, step: &Step) -> Option<String> {
        let probe = self.machine.probe().ok()?;
        let is_gone = |member: &&Member| resolve::device_of(&probe, member).is_none();
        let mut gone: Vec<String> = self.disks.iter().filter(is_gone).map(resolve::told).collect();
        if gone.is_empty() {
            // An array that the step itself makes need not be there.
            let below = step.destroys.iter().filter(|member| !member.device.is_empty());
            gone = below.filter(is_gone).map(resolve::told).collect();
        }
        let verb = if gone.len() == 1 { "is" } else { "are" };
        let what = format!("{} {verb} gone: pulled out, detached or failed", gone.join(", "));
        (!gone.is_empty()).then_some(what)
    }
}

fn failed(step: &Step, cause: impl Into<String>, remedy: impl Into<String>) -> PrepareError {
    PrepareError::Step { step: step.id.clone(), cause: cause.into(), remedy: remedy.into() }
}

/// Runs a program; its own words when it fails.
pub(super) fn run(machine: &dyn Machine, argv: &[String]) -> Result<String, String> {
    let line = argv.join(" ");
    match machine.run(argv) {
        Ok(ran) if ran.ok => Ok(ran.stdout),
        Ok(ran) => {
            let words = if ran.stderr.trim().is_empty() { ran.stdout.trim() } else { ran.stderr.trim() };
            Err(format!("`{line}` failed: {words}"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let name = argv.first().map(String::as_str).unwrap_or_default();
            Err(format!("{name} is not installed: {}", install_hint(name)))
        }
        Err(error) => Err(format!("`{line}` cannot be run: {error}")),
    }
}

/// How a missing program is installed.
fn install_hint(program: &str) -> String {
    let package = match program {
        "mdadm" => "mdadm",
        "mkfs.xfs" => "xfsprogs",
        "mke2fs" => "e2fsprogs",
        "update-initramfs" => "initramfs-tools",
        _ if program.starts_with("pv") || program.starts_with("vg") || program.starts_with("lv") => "lvm2",
        _ => "util-linux",
    };
    format!("apt-get install {package} (or dnf install {package})")
}
