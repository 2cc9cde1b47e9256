//! Going back by script: in reverse order, and only what is ours by its UUID or tag.

use iobound_record::{Context, Op, Plan, Probe, Undo};

use super::Variables;
use super::steps::key_of;
use crate::prepare::words::quoted;

/// The way back.
pub(super) fn script(context: &Context, plan: &Plan, probe: &Probe) -> String {
    let variables = Variables::new(context, plan);
    let mut body = String::new();
    for step in plan.steps.iter().rev() {
        for op in step.ops.iter().rev() {
            body += &match op {
                Op::Run { undo: Some(undo), .. } => made(&variables, undo),
                Op::WriteFile { path, .. } => remove_file(path),
                Op::AddLines { path, lines } => remove_lines(path, lines),
                Op::Set { path, .. } => former_value(probe, path),
                Op::MakeDirectory { path, .. } => remove_directory(path),
                Op::Run { .. } | Op::ZeroEnds { .. } => String::new(),
            };
        }
    }
    format!("{}{body}say 'done; packages stay installed'\n", variables.found(&body))
}

fn made(variables: &Variables, undo: &Undo) -> String {
    match undo {
        Undo::Unmount { mount, .. } => {
            let mount = quoted(mount);
            format!(
                "\nif mountpoint -q {mount}; then\n    if [ -n \"$(find {mount} -xdev ! -type d -print -quit)\" ]; then\n        \
                 die {mount}' holds files: move them away first'\n    fi\n    umount {mount}\nfi\n"
            )
        }
        Undo::FileSystem { on, uuid, .. } => {
            let node = variables.word(&on.node);
            format!(
                "\nif [ \"$(blkid --probe --match-tag UUID --output value {node})\" = '{uuid}' ]; then\n    \
                 wipefs --all {node}\n    clear_ends {node}\nfi\n"
            )
        }
        Undo::MdArray { uuid, device, members } => {
            let device = quoted(device);
            let members: Vec<String> = members.iter().map(|member| variables.word(&member.node)).collect();
            format!(
                "\nif mdadm --detail --export {device} 2>/dev/null | grep -q '^MD_UUID={uuid}$'; then\n    \
                 mdadm --stop {device}\nfi\nfor member in {}; do\n    \
                 if mdadm --examine --export \"$member\" 2>/dev/null | grep -q '^MD_UUID={uuid}$'; then\n        \
                 mdadm --zero-superblock \"$member\"\n        clear_ends \"$member\"\n    fi\ndone\n",
                members.join(" ")
            )
        }
        Undo::Lvm { group, volume, tag, members } => {
            let name = quoted(&format!("{group}/{volume}"));
            let group = quoted(group);
            let members: Vec<String> =
                members.iter().map(|(member, _)| variables.word(&member.node)).collect();
            format!(
                "\nif vgs --noheadings --options vg_tags {group} 2>/dev/null | grep -qw '{tag}'; then\n    \
                 if lvs {name} >/dev/null 2>&1; then lvremove --yes {name}; fi\n    vgremove {group}\n    \
                 for member in {}; do\n        pvremove \"$member\"\n        clear_ends \"$member\"\n    done\nfi\n",
                members.join(" ")
            )
        }
        Undo::Run { argv } => format!("{} || true\n", variables.line(argv)),
        _ => String::new(),
    }
}

fn remove_file(path: &str) -> String {
    let path = quoted(path);
    format!("if [ -e {path} ] && head -n 1 {path} | grep -q '^# iobound prepare'; then rm {path}; fi\n")
}

fn remove_lines(path: &str, lines: &str) -> String {
    let comment = lines.lines().next().unwrap_or_default();
    let line = lines.lines().nth(1).unwrap_or_default();
    let path = quoted(path);
    // Only exactly our lines; a file that would become another by more than them is left alone.
    format!(
        "if [ -e {path} ] && grep -qxF {line} {path}; then\n    \
         left=$(mktemp)\n    grep -vxF -e {comment} -e {line} {path} >\"$left\" || true\n    \
         cat \"$left\" >{path}\n    rm \"$left\"\nelif [ -e {path} ] && grep -qiF {key} {path}; then\n    \
         die {path}' has lines of iobound that were edited: take them out by hand'\nfi\n",
        line = quoted(line),
        comment = quoted(comment),
        key = quoted(&key_of(lines)),
    )
}

/// The value that was there when the script was written. A setting that another one puts to 0 is brought
/// back by that other one.
fn former_value(probe: &Probe, path: &str) -> String {
    let value = match path.strip_prefix("/proc/sys/") {
        Some(name) => probe.sysctl.get(&name.replace('/', ".")).cloned().unwrap_or_default(),
        None if path.ends_with("transparent_hugepage/enabled") => probe.transparent_hugepage.clone(),
        // Queues of arrays go with them; those of disks are at their default after the next boot.
        None => return String::new(),
    };
    let pair = path.strip_suffix("_bytes").map(|stem| format!("{stem}_ratio"));
    match (value.as_str(), pair) {
        ("", _) => String::new(),
        ("0", Some(ratio)) => former_value(probe, &ratio),
        (value, _) => format!("set_value {} {}\n", quoted(path), quoted(value)),
    }
}

fn remove_directory(path: &str) -> String {
    let path = quoted(path);
    format!("if [ -d {path} ] && ! mountpoint -q {path}; then rmdir --ignore-fail-on-non-empty {path}; fi\n")
}
