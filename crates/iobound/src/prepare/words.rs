//! Plans and their progress, for people.

use std::fmt::Write;

use iobound_host::prepare::Told;
use iobound_model::prepare::command_line;
use iobound_record::{Change, Plan, Stage, Step, StepState};

use super::status::{Standing, StepStatus};

/// A plan: what is so, what is to be done, and by which commands.
pub fn plan_text(plan: &Plan) -> String {
    let mut text = format!("plan for context '{}'\n", plan.context);
    disks(plan, &mut text);
    for stage in Stage::ALL {
        let steps: Vec<&Step> = plan.steps.iter().filter(|step| step.stage == stage).collect();
        if !steps.is_empty() {
            let _ = writeln!(text, "\n{}", stage.label());
            steps.iter().for_each(|step| step_text(step, &mut text));
        }
    }
    section(&mut text, "warning", &plan.warnings);
    section(&mut text, "problem", &plan.problems);
    for refusal in &plan.refusals {
        let disk = &refusal.disk;
        let _ = writeln!(text, "\nrefused: {} ({})", disk.node, told_id(&disk.serial, &disk.wwn, &disk.name));
        for seen in &refusal.evidence {
            let _ = writeln!(text, "  evidence: {}", seen.says);
        }
        let overruled = refusal.evidence.iter().all(|seen| seen.kind.is_overruled_by_name());
        let remedy = match overruled {
            true => {
                format!("take another disk, or give --destroy-data {} to lose everything on it", disk.node)
            }
            false => {
                "take another disk, or take this one out of use; --destroy-data does not change this".into()
            }
        };
        let _ = writeln!(text, "  remedy: {remedy}");
    }
    let left = plan.steps.iter().filter(|step| step.state == StepState::Pending).count();
    let _ = match (plan.may_be_applied(), left) {
        (false, _) => writeln!(text, "\nnothing can be applied before that is seen to"),
        (true, 0) => writeln!(text, "\nnothing to do"),
        (true, _) => writeln!(text, "\n{left} of {} steps to do", plan.steps.len()),
    };
    text
}

fn told_id(serial: &str, wwn: &str, name: &str) -> String {
    match (serial.is_empty(), wwn.is_empty()) {
        (false, _) => format!("serial {serial}"),
        (_, false) => wwn.to_owned(),
        _ => name.to_owned(),
    }
}

fn disks(plan: &Plan, text: &mut String) {
    let found = plan.disks.iter().filter(|disk| !disk.device.is_empty());
    for disk in found {
        let gib = disk.size_bytes as f64 / f64::from(1 << 30);
        let id = told_id(&disk.serial, &disk.wwn, "");
        let _ = writeln!(text, "  {:<12} {:<16} {gib:>8.1} GiB  {id}", disk.name, disk.node);
    }
}

fn section(text: &mut String, what: &str, lines: &[String]) {
    for line in lines {
        let _ = writeln!(text, "\n{what}: {line}");
    }
}

fn step_text(step: &Step, text: &mut String) {
    let (mark, why) = match &step.state {
        StepState::Done => ("done", ""),
        StepState::Pending => ("to do", ""),
        StepState::Unknown { why } => ("unknown", why.as_str()),
        StepState::Skipped { why } => ("left out", why.as_str()),
    };
    let _ = writeln!(text, "  {mark:<9}{}", step.title);
    if !why.is_empty() {
        let _ = writeln!(text, "           {why}");
    }
    if step.state == StepState::Done {
        return;
    }
    changes(&step.changes, text);
    for op in &step.ops {
        for (at, line) in command_line(op).lines().enumerate() {
            let _ = writeln!(text, "           {} {line}", if at == 0 { "$" } else { " " });
        }
    }
}

fn changes(all: &[Change], text: &mut String) {
    for change in all.iter().filter(|change| change.current != change.wanted) {
        let current = if change.current.is_empty() { "nothing" } else { &change.current };
        let _ = writeln!(text, "           {}: {current} -> {}", change.what, change.wanted);
    }
}

/// How every step stands.
pub fn status_text(all: &[StepStatus]) -> String {
    let mut text = String::new();
    for step in all {
        let standing = match step.standing {
            Standing::Applied => "applied",
            Standing::AlreadySo => "already so",
            Standing::Drifted => "DRIFTED",
            Standing::CutShort => "CUT SHORT",
            Standing::Pending => "to do",
            Standing::LeftOut => "left out",
            Standing::NotInContext => "not in context any more",
        };
        let _ = writeln!(text, "{standing:<11}{}", step.title);
        if !step.why.is_empty() {
            let _ = writeln!(text, "           {}", step.why);
        }
        changes(&step.differs, &mut text);
    }
    text
}

/// One line of progress.
pub fn told(told: &Told) -> String {
    match told {
        Told::Begins(title) => format!("doing      {title}"),
        Told::Done(title) => format!("done       {title}"),
        Told::AlreadySo(title) => format!("already so {title}"),
        Told::Skipped(title, why) => format!("left out   {title}: {why}"),
        Told::TakenBack(title) => format!("taken back {title} (an earlier run was cut short in it)"),
        Told::Note(note) => format!("note       {note}"),
    }
}
