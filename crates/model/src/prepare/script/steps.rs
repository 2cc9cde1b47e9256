//! A stage as a script.

use iobound_record::{Context, Op, Plan, Stage, Step, StepState, Undo};

use super::Variables;
use crate::prepare::words::quoted;

/// The steps of a stage; None without any.
pub(super) fn stage(context: &Context, plan: &Plan, stage: Stage) -> Option<String> {
    let variables = Variables::new(context, plan);
    let steps = plan.steps.iter().filter(|step| step.stage == stage);
    let body: String = steps.map(|step| one(&variables, step)).collect();
    (!body.is_empty()).then(|| format!("{}{body}", variables.found(&body)))
}

fn one(variables: &Variables, step: &Step) -> String {
    let mut text = format!("\n# {}\n", step.title);
    if let StepState::Skipped { why } = &step.state
        && step.ops.is_empty()
    {
        return text + &format!("say {}\n", quoted(&format!("left out: {why}")));
    }
    if step.stage == Stage::Deps {
        return text + &packages(step);
    }
    // Operations up to one that can be asked for: is it done already?
    let mut waiting = String::new();
    let mut closed = true;
    for member in &step.destroys {
        waiting += &format!("must_be_free {}\n", variables.word(&member.node));
    }
    for op in &step.ops {
        let line = operation(variables, op);
        match op {
            Op::Run { undo: Some(undo), .. } if condition(variables, undo).is_some() => {
                let (is_so, what) = condition(variables, undo).unwrap_or_default();
                let inner = indented(&format!("{waiting}{line}"));
                text += &format!(
                    "if {is_so}; then\n    say {}\nelse\n{inner}",
                    quoted(&format!("already so: {what}"))
                );
                waiting.clear();
                closed = false;
            }
            Op::ZeroEnds { .. } if !closed => text += &indented(&line),
            Op::Run { undo: None, .. } if closed => waiting += &line,
            _ => {
                if !closed {
                    text += "fi\n";
                    closed = true;
                }
                text += &line;
            }
        }
    }
    if !closed {
        text += "fi\n";
    }
    text
}

fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("    {line}\n")).collect()
}

fn packages(step: &Step) -> String {
    let programs: Vec<String> = step.changes.iter().map(|change| quoted(&change.what)).collect();
    let there: Vec<String> = programs.iter().map(|name| format!("command -v {name} >/dev/null")).collect();
    let words = quoted(&format!("already so: {}", programs.join(" ")));
    let mut text = format!("if {}; then\n    say {words}\nelse\n", there.join(" && "));
    for op in &step.ops {
        if let Op::Run { argv, may_fail, .. } = op {
            let line: Vec<String> = argv.iter().map(|word| quoted(word)).collect();
            let lenient = *may_fail || step.optional;
            text += &format!("    {}{}\n", line.join(" "), if lenient { " || true" } else { "" });
        }
    }
    text + "fi\n"
}

/// Whether what an operation makes is there already: a shell condition, and what it is.
fn condition(variables: &Variables, undo: &Undo) -> Option<(String, String)> {
    match undo {
        Undo::MdArray { uuid, device, .. } => {
            Some((format!("mdadm --detail --scan | grep -qi 'UUID={uuid}'"), device.clone()))
        }
        Undo::Lvm { group, volume, tag, .. } => {
            let name = quoted(&format!("{group}/{volume}"));
            let has_tag = format!("vgs --noheadings --options vg_tags {} | grep -qw '{tag}'", quoted(group));
            Some((format!("lvs {name} >/dev/null 2>&1 && {has_tag}"), format!("{group}/{volume}")))
        }
        Undo::FileSystem { on, uuid, .. } => {
            let node = variables.word(&on.node);
            let is = format!("[ \"$(blkid --probe --match-tag UUID --output value {node})\" = '{uuid}' ]");
            Some((is, format!("file system on {}", on.name)))
        }
        Undo::Unmount { mount, .. } => Some((format!("mountpoint -q {}", quoted(mount)), mount.clone())),
        _ => None,
    }
}

fn operation(variables: &Variables, op: &Op) -> String {
    match op {
        Op::Run { argv, may_fail, .. } => {
            let lenient = if *may_fail { " || true" } else { "" };
            format!("{}{lenient}\n", variables.line(argv))
        }
        Op::WriteFile { path, text } => format!("write_file {} <<'END'\n{text}END\n", quoted(path)),
        Op::Set { path, value, .. } => format!("set_value {} {}\n", sysfs(variables, path), quoted(value)),
        Op::AddLines { path, lines } => {
            let key = key_of(lines);
            let mut text = String::new();
            if path == "/etc/fstab" {
                let mount = lines.lines().nth(1).and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
                text += &format!(
                    "if awk '$1 !~ /^#/ && $2 == \"{mount}\"' {0} | grep -qviF {1}; then\n    \
                     die \"{0} mounts something else on {mount}\"\nfi\n",
                    quoted(path),
                    quoted(&key)
                );
            }
            text + &format!("add_lines {} {} <<'END'\n{lines}END\n", quoted(path), quoted(&key))
        }
        Op::MakeDirectory { path, owner, mode } => {
            let (user, group) = owner.split_once(':').unwrap_or(("root", "root"));
            let (user, group) = (quoted(user), quoted(group));
            let user = if user == "''" { "root" } else { &user };
            let group = if group == "''" { "root" } else { &group };
            let path = quoted(path);
            let make = format!("install -d -m {mode:04o} -o {user} -g {group} {path}");
            let so = quoted(&format!("already so: {path}"));
            let known = match user {
                "root" => String::new(),
                _ => {
                    let out = quoted(&format!("left out, since there is no user {user}: {path}"));
                    format!("elif ! getent passwd {user} >/dev/null; then\n    say {out}\n")
                }
            };
            format!("if [ -d {path} ]; then\n    say {so}\n{known}else\n    {make}\nfi\n")
        }
        Op::ZeroEnds { member } => format!("clear_ends {}\n", variables.word(&member.node)),
    }
}

/// The word of our lines that nothing else has: `UUID=...`.
pub(super) fn key_of(lines: &str) -> String {
    let words = lines.lines().nth(1).unwrap_or_default().split(' ');
    words
        .filter(|word| word.to_ascii_uppercase().starts_with("UUID="))
        .map(str::to_owned)
        .next()
        .unwrap_or_default()
}

/// A queue's attribute, with the device's name asked for at run time.
fn sysfs(variables: &Variables, path: &str) -> String {
    let Some((name, attribute)) =
        path.strip_prefix("/sys/block/").and_then(|rest| rest.split_once("/queue/"))
    else {
        return quoted(path);
    };
    let node = format!("/dev/{name}");
    match variables.by_node.get(&node) {
        Some((variable, _)) => format!("\"/sys/block/${{{variable}##*/}}/queue/{attribute}\""),
        None => format!("\"/sys/block/$(basename \"$(readlink -f {})\")/queue/{attribute}\"", quoted(&node)),
    }
}
