//! Stage 01: settings of the kernel, now and after the next boot.

use iobound_record::{Op, Stage, Step, StepState};

use super::MARK;
use super::arrays::change;
use super::builder::Builder;

/// Settings of `/proc/sys`, set at boot by systemd-sysctl or procps. `99-` comes after a distribution's.
pub(super) const SYSCTL: &str = "/etc/sysctl.d/99-iobound.conf";
/// Settings of `/sys`, set at boot by systemd-tmpfiles: tmpfiles.d(5), type `w`.
pub(super) const HUGE_PAGES_FILE: &str = "/etc/tmpfiles.d/iobound-thp.conf";
/// Limits of log-ins: limits.conf(5).
pub(super) const LIMITS: &str = "/etc/security/limits.d/99-iobound.conf";
/// Where the kernel keeps its choice.
pub(super) const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

pub(super) fn files() -> Vec<String> {
    [SYSCTL, HUGE_PAGES_FILE, LIMITS].map(String::from).into()
}

/// A ratio and its size in bytes: setting one puts the other to 0 (mm/page-writeback.c), and 0 cannot
/// be written to the size (it is at least two pages).
const PAIRS: [(&str, &str); 2] =
    [("vm.dirty_bytes", "vm.dirty_ratio"), ("vm.dirty_background_bytes", "vm.dirty_background_ratio")];

/// Settings that a context wants, by sysctl name.
pub(super) fn wanted(os: &iobound_record::OsSettings) -> Vec<(&'static str, String)> {
    let number = |value: Option<u32>| value.map(|value| value.to_string());
    let bytes = |value: Option<iobound_record::Bytes>| value.map(|value| value.0.to_string());
    let all = [
        ("vm.dirty_background_bytes", bytes(os.dirty_background_bytes)),
        ("vm.dirty_bytes", bytes(os.dirty_bytes)),
        ("vm.dirty_background_ratio", number(os.dirty_background_ratio)),
        ("vm.dirty_ratio", number(os.dirty_ratio)),
        ("vm.dirty_writeback_centisecs", number(os.dirty_writeback_centisecs)),
        ("vm.dirty_expire_centisecs", number(os.dirty_expire_centisecs)),
        ("vm.swappiness", number(os.swappiness)),
        ("vm.overcommit_memory", number(os.overcommit_memory)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Content of a file of ours.
pub(super) fn file(context: &str, what: &str, lines: &[String]) -> String {
    let context: String = context.chars().filter(|c| !c.is_control()).collect();
    format!("{MARK}, context {context}: {what}\n{}\n", lines.join("\n"))
}

pub(super) fn sysctl_text(context: &iobound_record::Context) -> Option<String> {
    let wanted = wanted(&context.os);
    let lines: Vec<String> = wanted.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    (!lines.is_empty()).then(|| file(&context.name, "write-back and memory", &lines))
}

pub(super) fn huge_pages_text(context: &iobound_record::Context) -> Option<String> {
    let wanted = context.os.transparent_hugepage.as_ref()?;
    Some(file(&context.name, "transparent huge pages", &[format!("w {HUGE_PAGES} - - - - {wanted}")]))
}

pub(super) fn limits_text(context: &iobound_record::Context) -> Option<String> {
    let files = context.os.nofile?;
    // `*` leaves root out: limits.conf(5).
    let lines = ["*", "root"].map(|who| format!("{who} - nofile {files}"));
    Some(file(&context.name, "open files", &lines))
}

pub(super) fn add(builder: &mut Builder) {
    let os = &builder.context().os;
    for (bytes, ratio) in PAIRS {
        let wanted = wanted(os);
        if wanted.iter().any(|(name, _)| *name == bytes) && wanted.iter().any(|(name, _)| *name == ratio) {
            builder.problem(format!("{bytes} and {ratio} put each other to 0: give one of them"));
        }
    }
    sysctl(builder);
    huge_pages(builder);
    limits(builder);
}

fn sysctl(builder: &mut Builder) {
    let Some(text) = sysctl_text(builder.context()) else { return };
    let mut step = step("os-sysctl", "write-back and memory settings");
    write_file(builder, &mut step, SYSCTL, text);
    for (name, value) in wanted(&builder.context().os) {
        let current = |name: &str| builder.probe().sysctl.get(name).cloned().unwrap_or_default();
        step.changes.push(change(name, &current(name), &value));
        if current(name) == value {
            continue;
        }
        let path = |name: &str| format!("/proc/sys/{}", name.replace('.', "/"));
        let other = PAIRS.iter().find_map(|(bytes, ratio)| match name {
            _ if name == *bytes => Some(*ratio),
            _ if name == *ratio => Some(*bytes),
            _ => None,
        });
        let restore = other
            .filter(|other| current(name) == "0" && current(other) != "0" && !current(other).is_empty())
            .map(|other| (path(other), current(other)));
        step.ops.push(Op::Set { path: path(name), value, restore });
    }
    builder.push(settled(step));
}

fn huge_pages(builder: &mut Builder) {
    let Some(text) = huge_pages_text(builder.context()) else { return };
    let wanted = builder.context().os.transparent_hugepage.clone().unwrap_or_default();
    let current = builder.probe().transparent_hugepage.clone();
    let mut step = step("os-huge-pages", "transparent huge pages");
    if current.is_empty() {
        step.state = StepState::Skipped { why: "this kernel has no transparent huge pages".into() };
        builder.push(step);
        return;
    }
    write_file(builder, &mut step, HUGE_PAGES_FILE, text);
    step.changes.push(change("transparent_hugepage", &current, &wanted));
    if current != wanted {
        step.ops.push(Op::Set { path: HUGE_PAGES.into(), value: wanted, restore: None });
    }
    if !builder.ground().programs.contains("systemd-tmpfiles") {
        builder.warn(format!(
            "systemd-tmpfiles is missing, so {HUGE_PAGES_FILE} has no effect at the next boot"
        ));
    }
    builder.push(settled(step));
}

fn limits(builder: &mut Builder) {
    let Some(text) = limits_text(builder.context()) else { return };
    let mut step = step("os-limits", "open files of log-ins");
    write_file(builder, &mut step, LIMITS, text);
    builder.push(settled(step));
}

fn step(id: &str, title: &str) -> Step {
    Step { id: id.into(), stage: Stage::OsTuning, title: title.into(), ..Step::default() }
}

/// Adds the writing of a file, unless it is so already.
pub(super) fn write_file(builder: &Builder, step: &mut Step, path: &str, text: String) {
    let current = builder.ground().files.get(path);
    let told = match current {
        None => "missing",
        Some(current) if *current == text => "as written by iobound",
        Some(current) if current.starts_with(MARK) => "as written by iobound for other settings",
        Some(_) => "another file",
    };
    step.changes.push(change(path, told, "as written by iobound"));
    if current != Some(&text) {
        step.ops.push(Op::WriteFile { path: path.into(), text });
    }
}

/// A step without operations is done.
pub(super) fn settled(mut step: Step) -> Step {
    step.state = if step.ops.is_empty() { StepState::Done } else { StepState::Pending };
    step
}
