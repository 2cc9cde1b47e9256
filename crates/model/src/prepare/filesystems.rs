//! Stage 03: file systems, aligned to what they lie on, and their mounts.

use iobound_record::{
    Bytes, Context, FileSystemKind, FileSystemSpec, Member, MountedFileSystem, Op, Stage, Step, StepState,
    Undo,
};

use super::arrays::{change, step_id, take};
use super::builder::Builder;
use super::fstab::parse_fstab;
use super::os::settled;
use super::{MARK, directories};
use crate::layout::{self, Layout};

/// What is mounted at boot.
pub(super) const FSTAB: &str = "/etc/fstab";

/// Largest stripe unit of an XFS log: XLOG_MAX_RECORD_BSIZE, 256 KiB, in libxfs/xfs_log_format.h. Above
/// it mkfs.xfs takes 32 KiB, with a warning; so do we, without.
const XFS_LOG_UNIT_MAX: u64 = 256 << 10;
const XFS_LOG_UNIT_ELSE: u64 = 32 << 10;
/// Block size given to mke2fs, so that stride and stripe width are right whatever its configuration says.
const EXT_BLOCK: u64 = 4096;

/// Mount options that a mounted file system is sure to show when they are in force.
const SHOWN: [&str; 7] = ["noatime", "nodiratime", "relatime", "lazytime", "discard", "ro", "rw"];

pub(super) fn add(builder: &mut Builder) {
    for spec in &builder.context().filesystems {
        make(builder, spec);
        mount(builder, spec);
    }
}

/// The context with the sizes that its disks really have.
pub(super) fn as_found(builder: &Builder) -> Context {
    let mut context = builder.context().clone();
    // One volume a group, so that each has a size of its own.
    let groups = std::mem::take(&mut context.volumes);
    for group in groups {
        for array in &mut context.arrays {
            let members = std::mem::take(&mut array.members);
            array.members = members
                .into_iter()
                .flat_map(|name| if name == group.name { group.volume_names() } else { vec![name] })
                .collect();
        }
        for name in group.volume_names() {
            let size = builder.member(&name).size_bytes;
            let size = if size > 0 { Bytes(size) } else { group.size };
            let count = iobound_record::Count(1);
            context.volumes.push(iobound_record::VolumeGroup { name, size, count, ..group.clone() });
        }
    }
    context
}

pub(super) fn make_id(spec: &FileSystemSpec) -> String {
    format!("mkfs-{}", spec.on)
}

pub(super) fn mount_id(spec: &FileSystemSpec) -> String {
    format!("mount-{}", spec.on)
}

/// The UUID that a file system gets: not that of the array below it.
fn uuid_of(builder: &Builder, spec: &FileSystemSpec) -> String {
    builder.uuid(&format!("file system on {}", spec.on))
}

/// Options for alignment, in words.
fn alignment(layout: &Layout) -> String {
    match layout.stripe_unit_bytes {
        Some(su) => format!("su={}k sw={}", su >> 10, layout.data_disks),
        None => "no stripes".into(),
    }
}

fn make(builder: &mut Builder, spec: &FileSystemSpec) {
    let Ok(layout) = layout::layout(builder.context(), &spec.on) else { return };
    let device = builder.member(&spec.on);
    let kind = spec.kind.name();
    let uuid = uuid_of(builder, spec);
    let wanted = format!("{kind}, {}", alignment(&layout));
    let is_array = builder.context().arrays.iter().any(|array| array.name == spec.on);
    let mut step = Step {
        id: make_id(spec),
        stage: Stage::DiskTuning,
        title: format!("{kind} on '{}'", spec.on),
        needs: if is_array { vec![step_id(&spec.on)] } else { Vec::new() },
        ..Step::default()
    };
    if let Some(mounted) = here(builder, spec, &device).filter(|mounted| mounted.kind == kind) {
        let current = geometry(mounted);
        step.changes.push(change(&device.node, &format!("{kind}, {}", current.0), &wanted));
        let aligned = (layout.stripe_unit_bytes.unwrap_or(0), layout.stripe_width_bytes());
        step.state = match mounted.stripe_unit_bytes {
            Some(_) if current.1 != aligned => {
                let why = format!(
                    "it was made with {} and should have {}; only making it anew would change that, and that \
                     destroys it",
                    current.0,
                    alignment(&layout)
                );
                StepState::Skipped { why }
            }
            _ => StepState::Done,
        };
        builder.push(step);
        return;
    }
    let has_ours = !device.device.is_empty() && builder.ground().uuids.get(&device.device) == Some(&uuid);
    if has_ours {
        step.changes.push(change(&device.node, &format!("{kind} made by iobound"), &wanted));
        step.state = StepState::Done;
        builder.push(step);
        return;
    }
    let holds = builder.probe().device(&device.device).and_then(|device| device.holds.clone());
    step.changes.push(change(&device.node, holds.as_deref().unwrap_or_default(), &wanted));
    if !builder.ground().root && holds.is_none() && !device.device.is_empty() {
        step.state = StepState::Unknown { why: "what is on it can only be read by root".into() };
        builder.push(step);
        return;
    }
    take(builder, &mut step, std::slice::from_ref(&device));
    let undo = Undo::FileSystem { on: device.clone(), kind: kind.into(), uuid: uuid.clone() };
    let argv = mkfs_argv(spec.kind, &layout, &uuid, &device.node);
    step.ops.push(Op::Run { argv, undo: Some(undo), may_fail: false });
    step.state = StepState::Pending;
    builder.push(step);
}

/// What is mounted at a file system's place, when it is on the right device.
fn here<'a>(builder: &Builder<'a>, spec: &FileSystemSpec, device: &Member) -> Option<&'a MountedFileSystem> {
    let mounted = builder.probe().mounted_at(&spec.mount)?;
    (!device.device.is_empty() && mounted.device == device.device).then_some(mounted)
}

/// Alignment of a mounted file system: in words, and as unit and width in bytes.
fn geometry(mounted: &MountedFileSystem) -> (String, (u64, u64)) {
    let unit = mounted.stripe_unit_bytes.unwrap_or(0);
    let width = mounted.stripe_width_bytes.unwrap_or(0);
    let words = match (mounted.stripe_unit_bytes, unit) {
        (None, _) => "alignment not known".into(),
        (_, 0) => "no stripes".into(),
        _ => format!("su={}k sw={}", unit >> 10, width / unit),
    };
    (words, (unit, width))
}

/// The command that makes a file system.
pub(super) fn mkfs_argv(kind: FileSystemKind, layout: &Layout, uuid: &str, node: &str) -> Vec<String> {
    let mut argv: Vec<String> = match kind {
        FileSystemKind::Xfs => vec!["mkfs.xfs".into(), "-m".into(), format!("uuid={uuid}")],
        FileSystemKind::Ext4 | FileSystemKind::Ext3 => {
            ["mke2fs", "-q", "-t", kind.name(), "-U", uuid, "-b", "4096"].map(String::from).into()
        }
    };
    if let Some(su) = layout.stripe_unit_bytes {
        let sw = layout.data_disks;
        match kind {
            FileSystemKind::Xfs => {
                let log = if su <= XFS_LOG_UNIT_MAX { su } else { XFS_LOG_UNIT_ELSE };
                argv.extend(["-d".to_owned(), format!("su={}k,sw={sw}", su >> 10)]);
                argv.extend(["-l".to_owned(), format!("su={}k", log >> 10)]);
            }
            FileSystemKind::Ext4 | FileSystemKind::Ext3 => {
                let stride = su / EXT_BLOCK;
                let width = stride * u64::from(sw);
                argv.extend(["-E".to_owned(), format!("stride={stride},stripe-width={width}")]);
            }
        }
    }
    argv.push(node.to_owned());
    argv
}

/// Options of a mount, for fstab.
pub(super) fn mount_options(spec: &FileSystemSpec) -> String {
    // A machine must come up even when a volume does not.
    let mut options = vec!["defaults".to_owned(), "noatime".into(), "nofail".into()];
    let chosen = ["relatime", "strictatime"];
    if spec.options.iter().any(|option| chosen.contains(&option.as_str())) {
        options.retain(|option| option != "noatime");
    }
    for option in &spec.options {
        if !options.contains(option) {
            options.push(option.clone());
        }
    }
    options.join(",")
}

/// Our line of fstab: the last field has ext checked after the root's file system, and XFS not at all
/// (fsck.xfs does nothing).
pub(super) fn fstab_lines(spec: &FileSystemSpec, uuid: &str) -> String {
    let (kind, options) = (spec.kind.name(), mount_options(spec));
    let pass = if spec.kind == FileSystemKind::Xfs { 0 } else { 2 };
    format!("{MARK}: {}\nUUID={uuid} {} {kind} {options} 0 {pass}\n", spec.on, spec.mount)
}

fn mount(builder: &mut Builder, spec: &FileSystemSpec) {
    let device = builder.member(&spec.on);
    let target = spec.mount.as_str();
    let mut step = Step {
        id: mount_id(spec),
        stage: Stage::DiskTuning,
        title: format!("{target}, now and after the next boot"),
        needs: vec![make_id(spec)],
        ..Step::default()
    };
    let mounted = builder.probe().mounted_at(target);
    let right = here(builder, spec, &device);
    if let (Some(other), None) = (mounted, right) {
        builder
            .problem(format!("{} is mounted on {target}: unmount it, or choose another place", other.device));
    }
    // The UUID that is there, else the one that will be.
    let found = builder.ground().uuids.get(&device.device).filter(|_| !device.device.is_empty()).cloned();
    let uuid = match right {
        Some(fs) if !fs.uuid.is_empty() => fs.uuid.clone(),
        Some(_) => found.unwrap_or_else(|| uuid_of(builder, spec)),
        None => uuid_of(builder, spec),
    };
    directory(builder, &mut step, target, right.is_some());
    fstab(builder, &mut step, spec, &uuid);
    let options = mount_options(spec);
    let current = right.map_or_else(|| "not mounted".to_owned(), |fs| fs.options.clone());
    step.changes.push(change(target, &current, &options));
    match right {
        None => {
            let ours = directories::paths(spec);
            let undo = Undo::Unmount { mount: target.into(), uuid, ours };
            let argv = vec!["mount".into(), target.into()];
            step.ops.push(Op::Run { argv, undo: Some(undo), may_fail: false });
        }
        Some(fs) => {
            let has: Vec<&str> = fs.options.split(',').collect();
            let lacks: Vec<&str> =
                options.split(',').filter(|o| SHOWN.contains(o) && !has.contains(o)).collect();
            if !lacks.is_empty() {
                let argv = |options: &str| {
                    vec!["mount".into(), "-o".into(), format!("remount,{options}"), target.to_owned()]
                };
                let before = if has.contains(&"relatime") { "relatime" } else { "strictatime" };
                let undo = lacks.contains(&"noatime").then(|| Undo::Run { argv: argv(before) });
                step.ops.push(Op::Run { argv: argv(&lacks.join(",")), undo, may_fail: false });
            }
        }
    }
    builder.push(settled(step));
}

fn directory(builder: &mut Builder, step: &mut Step, target: &str, is_mounted: bool) {
    match builder.ground().directories.get(target) {
        None if !is_mounted => {
            step.ops.push(Op::MakeDirectory { path: target.into(), owner: String::new(), mode: 0o755 });
        }
        Some(facts) if facts.is_other => {
            builder.problem(format!("{target} is no directory: move it away, or choose another place"));
        }
        Some(facts) if !facts.empty && !is_mounted && builder.probe().mounted_at(target).is_none() => {
            builder.problem(format!(
                "{target} is not empty, and a mount would hide what is in it: move it away"
            ));
        }
        _ => {}
    }
}

fn fstab(builder: &mut Builder, step: &mut Step, spec: &FileSystemSpec, uuid: &str) {
    let text = builder.ground().files.get(FSTAB).cloned().unwrap_or_default();
    let target = spec.mount.as_str();
    let source = format!("UUID={uuid}");
    let lines = fstab_lines(spec, uuid);
    let entries: Vec<_> = parse_fstab(&text).into_iter().filter(|entry| entry.mount == target).collect();
    match entries.as_slice() {
        [] => {
            let wanted = lines.lines().nth(1).unwrap_or_default();
            step.changes.push(change(FSTAB, "", wanted));
            step.ops.push(Op::AddLines { path: FSTAB.into(), lines });
            if builder.ground().systemd {
                // systemd makes its mount units from fstab.
                let argv: Vec<String> = ["systemctl", "daemon-reload"].map(String::from).into();
                step.ops.push(Op::Run { argv: argv.clone(), undo: Some(Undo::Run { argv }), may_fail: true });
            }
        }
        [one] if one.source.eq_ignore_ascii_case(&source) => {
            step.changes.push(change(FSTAB, &format!("line {} has it", one.line), &source));
        }
        [one] => builder.problem(format!(
            "line {} of {FSTAB} mounts {} on {target}: take it out, or choose another place",
            one.line, one.source
        )),
        [first, second, ..] => builder.problem(format!(
            "lines {} and {} of {FSTAB} both mount something on {target}: take them out",
            first.line, second.line
        )),
    }
}
