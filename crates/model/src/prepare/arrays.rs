//! Stage 02: arrays.

use std::collections::BTreeSet;

use iobound_record::{
    Array, ArrayManager, Change, Level, LogicalVolume, MdArray, Member, Op, Probe, Stage, Step, StepState,
    Undo,
};

use super::builder::Builder;
use super::os::settled;
use super::{MARK, filesystems};
use crate::layout::{self, is_striped};

/// Where mdadm keeps the names of arrays: Debian's place, and everybody else's (mdadm.conf(5)).
const MDADM_CONF: [&str; 2] = ["/etc/mdadm/mdadm.conf", "/etc/mdadm.conf"];

pub(super) fn files() -> Vec<String> {
    MDADM_CONF.map(String::from).into()
}

pub(super) fn change(what: &str, current: &str, wanted: &str) -> Change {
    Change { what: what.into(), current: current.into(), wanted: wanted.into() }
}

/// Where an array appears.
pub(super) fn node(array: &Array) -> String {
    match (array.device.is_empty(), array.manager) {
        (false, _) => array.device.clone(),
        (true, ArrayManager::Mdadm) => format!("/dev/md/{}", array.name),
        (true, ArrayManager::Lvm) => format!("/dev/{0}/{0}", array.name),
    }
}

/// Volume group and logical volume of an array by LVM.
pub(super) fn lvm_names(array: &Array) -> (String, String) {
    let node = node(array);
    let (group, volume) = node.trim_start_matches("/dev/").split_once('/').unwrap_or(("", ""));
    (group.to_owned(), volume.to_owned())
}

/// An array as something that may lie below another, or below a file system.
pub(super) fn as_member(builder: &Builder, array: &Array) -> Member {
    let mut member = Member { name: array.name.clone(), node: node(array), ..Member::default() };
    let device = match array.manager {
        ArrayManager::Mdadm => {
            let found = existing_md(builder, array);
            member.array = found.map_or_else(|| builder.md_uuid(&array.name), |found| found.uuid.clone());
            found.map(|found| found.name.clone())
        }
        ArrayManager::Lvm => {
            let (group, volume) = lvm_names(array);
            member.array = format!("{group}/{volume}");
            existing_lv(builder.probe(), array).map(|found| found.device.clone())
        }
    };
    if let Some(device) = device {
        member.size_bytes = builder.probe().device(&device).map_or(0, |device| device.size_bytes);
        // The kernel's name needs no udev to have a node.
        member.node = format!("/dev/{device}");
        member.device = device;
    }
    member
}

/// The running array that we made, or that has exactly these members.
fn existing_md<'a>(builder: &Builder<'a>, array: &Array) -> Option<&'a MdArray> {
    let members = layout::member_names(builder.context(), array);
    let wanted: BTreeSet<String> = members.iter().map(|name| builder.member(name).device).collect();
    if wanted.contains("") {
        return None;
    }
    builder.probe().arrays.iter().find(|found| {
        let has: BTreeSet<String> = found.members.iter().map(|member| member.device.clone()).collect();
        (has == wanted || found.uuid == builder.md_uuid(&array.name)) && !found.level.is_empty()
    })
}

fn existing_lv<'a>(probe: &'a Probe, array: &Array) -> Option<&'a LogicalVolume> {
    let (group, volume) = lvm_names(array);
    probe.logical_volumes.iter().find(|found| found.group == group && found.name == volume)
}

pub(super) fn add(builder: &mut Builder) {
    for array in in_order(builder) {
        match array.manager {
            ArrayManager::Mdadm => mdadm(builder, array),
            ArrayManager::Lvm => lvm(builder, array),
        }
        different_sizes(builder, array);
    }
    if builder.uses(ArrayManager::Mdadm) {
        mdadm_conf(builder);
    }
}

/// Arrays, each after those that it is made of.
pub(super) fn in_order<'a>(builder: &Builder<'a>) -> Vec<&'a Array> {
    let context = builder.context();
    let mut left: Vec<&Array> = context.arrays.iter().collect();
    let mut done: Vec<&Array> = Vec::new();
    while !left.is_empty() {
        let (ready, later): (Vec<&Array>, Vec<&Array>) = left
            .iter()
            .partition(|array| !array.members.iter().any(|member| left.iter().any(|a| a.name == *member)));
        if ready.is_empty() {
            // A circle; `sane` has told of it.
            break;
        }
        done.extend(ready);
        left = later;
    }
    done
}

pub(super) fn step_id(array: &str) -> String {
    format!("array-{array}")
}

fn step(builder: &Builder, array: &Array, title: String) -> Step {
    let context = builder.context();
    let needs = array.members.iter().filter(|name| context.arrays.iter().any(|a| a.name == **name));
    Step {
        id: step_id(&array.name),
        stage: Stage::RaidSetup,
        title,
        needs: needs.map(|name| step_id(name)).collect(),
        ..Step::default()
    }
}

/// What an array is, in words.
fn shape(level: &str, chunk_bytes: u64, members: usize) -> String {
    let chunk = if chunk_bytes > 0 { format!(", {} KiB", chunk_bytes >> 10) } else { String::new() };
    format!("{level} over {members}{chunk}")
}

/// Guards the members; the operations that clear those which the user gave up.
pub(super) fn take(builder: &mut Builder, step: &mut Step, members: &[Member]) {
    for member in members {
        if builder.guard(member) {
            step.ops.push(Op::ZeroEnds { member: member.clone() });
            // The kernel forgets the partitions that were there.
            let argv = vec!["blockdev".into(), "--rereadpt".into(), member.node.clone()];
            step.ops.push(Op::Run { argv, undo: None, may_fail: true });
        }
    }
    step.destroys = members.to_vec();
}

fn mdadm(builder: &mut Builder, array: &Array) {
    let names = layout::member_names(builder.context(), array);
    let members: Vec<Member> = names.iter().map(|name| builder.member(name)).collect();
    let chunk = array.chunk.filter(|_| is_striped(array.level)).map_or(0, |chunk| chunk.0);
    let wanted = shape(array.level.name(), chunk, members.len());
    let node = node(array);
    let mut step = step(builder, array, format!("array {node}"));
    if let Some(found) = existing_md(builder, array) {
        let current = shape(&found.level, found.chunk_bytes, found.members.len());
        step.changes.push(change(&node, &current, &wanted));
        step.state = if current == wanted {
            StepState::Done
        } else {
            for member in &members {
                builder.guard(member);
            }
            StepState::Pending
        };
        if found.degraded > 0 {
            builder.warn(format!("{} is degraded: {}", found.name, found.slots));
        }
        builder.push(step);
        return;
    }
    step.changes.push(change(&node, "", &wanted));
    take(builder, &mut step, &members);
    let uuid = builder.md_uuid(&array.name);
    let undo = Undo::MdArray { uuid: uuid.clone(), device: node.clone(), members: members.clone() };
    let mut argv = create_argv(array, &uuid, members.len());
    argv.extend(members.iter().map(|member| member.node.clone()));
    step.ops.push(Op::Run { argv, undo: Some(undo), may_fail: false });
    // What was in an array of the same shape before would show again.
    step.ops.push(Op::ZeroEnds { member: Member { node, ..builder.member(&array.name) } });
    step.state = StepState::Pending;
    builder.push(step);
}

/// `mdadm --create` without its members.
pub(super) fn create_argv(array: &Array, uuid: &str, members: usize) -> Vec<String> {
    let mut argv: Vec<String> = vec!["mdadm".into(), "--create".into(), node(array)];
    // It asks about anything odd; all of it was looked at before.
    argv.extend(["--run", "--metadata=1.2", "--homehost=any"].map(String::from));
    argv.push(format!("--name={}", array.name));
    argv.push(format!("--level={}", array.level.name()));
    if let Some(chunk) = array.chunk.filter(|_| is_striped(array.level)) {
        argv.push(format!("--chunk={}", chunk.0 >> 10));
    }
    if array.level == Level::Raid10 {
        argv.push("--layout=n2".into());
    }
    // A bitmap saves a full resync after a crash, for a few small writes; without redundancy there is
    // nothing to resync, and mdadm refuses one.
    if !matches!(array.level, Level::Raid0 | Level::Linear) {
        argv.push("--bitmap=internal".into());
        // mdadm's own choice grows with the array, down to a few KiB a bit: on a small one every random
        // write would first set a bit. 64 MiB is its choice for large ones (md(4), mdadm(8)).
        argv.push("--bitmap-chunk=64M".into());
    }
    argv.push(format!("--uuid={uuid}"));
    if members == 1 {
        argv.push("--force".into());
    }
    argv.push(format!("--raid-devices={members}"));
    argv
}

fn mdadm_conf(builder: &mut Builder) {
    let ground = builder.ground();
    let [debian, other] = MDADM_CONF;
    let is_debian = ground.files.contains_key(debian) || ground.programs.contains("apt-get");
    let path = if is_debian { debian } else { other };
    let text = ground.files.get(path).map(String::as_str).unwrap_or_default();
    let mut step = Step {
        id: "mdadm-conf".into(),
        stage: Stage::RaidSetup,
        title: "names of the arrays, for the next boot".into(),
        ..Step::default()
    };
    for array in in_order(builder).into_iter().filter(|array| array.manager == ArrayManager::Mdadm) {
        let member = as_member(builder, array);
        let known = text.to_ascii_lowercase().contains(&format!("uuid={}", member.array));
        let line = format!("ARRAY {} metadata=1.2 UUID={}", node(array), member.array);
        step.changes.push(change(path, if known { "has it" } else { "" }, &line));
        step.needs.push(step_id(&array.name));
        if !known {
            let lines = format!("{MARK}: array {}\n{line}\n", array.name);
            step.ops.push(Op::AddLines { path: path.into(), lines });
        }
    }
    if !step.ops.is_empty() && ground.programs.contains("update-initramfs") {
        let argv: Vec<String> = ["update-initramfs", "-u"].map(String::from).into();
        step.ops.push(Op::Run { argv: argv.clone(), undo: Some(Undo::Run { argv }), may_fail: true });
    }
    builder.push(settled(step));
}

fn lvm(builder: &mut Builder, array: &Array) {
    let names = layout::member_names(builder.context(), array);
    let members: Vec<Member> = names.iter().map(|name| builder.member(name)).collect();
    let (group, volume) = lvm_names(array);
    let chunk = array.chunk.filter(|_| is_striped(array.level)).map_or(0, |chunk| chunk.0);
    let wanted = shape(lvm_type(array.level), chunk, members.len());
    let mut step = step(builder, array, format!("logical volume {group}/{volume}"));
    if let Some(found) = existing_lv(builder.probe(), array) {
        let on: BTreeSet<&String> = found.segments.iter().flat_map(|segment| &segment.devices).collect();
        let first = found.segments.first();
        let kind = first.map_or("", |segment| segment.kind.as_str());
        let current = shape(kind, first.map_or(0, |segment| segment.stripe_bytes), on.len());
        let same_disks = members.iter().all(|member| on.contains(&member.device));
        step.changes.push(change(&format!("{group}/{volume}"), &current, &wanted));
        // Mirrors of LVM lie on hidden volumes, which are not disks.
        let is_layered = !matches!(array.level, Level::Raid0 | Level::Linear);
        let fits = (current == wanted && same_disks) || (is_layered && kind == lvm_type(array.level));
        step.state = if fits { StepState::Done } else { StepState::Pending };
        if !fits {
            for member in &members {
                builder.guard(member);
            }
            builder.problem(format!("{group}/{volume} exists and is {current}, not {wanted}"));
        }
        builder.push(step);
        return;
    }
    if builder.probe().logical_volumes.iter().any(|found| found.group == group) {
        builder.problem(format!("volume group {group} exists already, with other volumes in it"));
    }
    step.changes.push(change(&format!("{group}/{volume}"), "", &wanted));
    take(builder, &mut step, &members);
    let tag = builder.tag(&array.name);
    let with_uuids: Vec<(Member, String)> =
        members.iter().map(|member| (member.clone(), builder.lvm_uuid(&member.name))).collect();
    let undo = Undo::Lvm { group: group.clone(), volume, tag: tag.clone(), members: with_uuids.clone() };
    for (member, uuid) in &with_uuids {
        let argv = ["pvcreate", "--uuid", uuid, "--norestorefile", &member.node].map(String::from).to_vec();
        step.ops.push(Op::Run { argv, undo: None, may_fail: false });
    }
    let mut argv = ["vgcreate", "--addtag", &tag, &group].map(String::from).to_vec();
    argv.extend(members.iter().map(|member| member.node.clone()));
    step.ops.push(Op::Run { argv, undo: None, may_fail: false });
    let argv = lvcreate_argv(array, members.len());
    step.ops.push(Op::Run { argv, undo: Some(undo), may_fail: false });
    step.ops.push(Op::ZeroEnds { member: Member { node: node(array), ..builder.member(&array.name) } });
    step.state = StepState::Pending;
    builder.push(step);
}

/// LVM's name of a level: lvmraid(7).
fn lvm_type(level: Level) -> &'static str {
    match level {
        Level::Raid0 => "striped",
        other => other.name(),
    }
}

/// `lvcreate`, over the whole group.
pub(super) fn lvcreate_argv(array: &Array, members: usize) -> Vec<String> {
    let (group, volume) = lvm_names(array);
    // Signatures of what was there before go without a question: their disks were given up for it.
    let mut argv: Vec<String> = ["lvcreate", "--yes", "--wipesignatures", "y"].map(String::from).into();
    if array.level != Level::Raid0 {
        argv.extend(["--type".to_owned(), lvm_type(array.level).to_owned()]);
    }
    // Data disks; LVM adds the parity ones by itself.
    let stripes = match array.level {
        Level::Raid0 => members,
        Level::Raid10 => members / 2,
        Level::Raid5 => members - 1,
        Level::Raid6 => members - 2,
        Level::Raid1 | Level::Linear => 0,
    };
    match array.level {
        Level::Raid1 => argv.extend(["--mirrors".to_owned(), (members - 1).to_string()]),
        Level::Raid10 => argv.extend(["--mirrors", "1"].map(String::from)),
        _ => {}
    }
    if let Some(chunk) = array.chunk.filter(|_| stripes > 0) {
        argv.extend(["--stripes".to_owned(), stripes.to_string()]);
        argv.extend(["--stripesize".to_owned(), format!("{}k", chunk.0 >> 10)]);
    }
    argv.extend(["--extents", "100%FREE", "--name"].map(String::from));
    argv.extend([volume, group]);
    argv
}

fn different_sizes(builder: &mut Builder, array: &Array) {
    let names = layout::member_names(builder.context(), array);
    let sizes: BTreeSet<u64> = names.iter().map(|name| builder.member(name).size_bytes).collect();
    if sizes.contains(&0) || sizes.len() < 2 {
        return;
    }
    let Ok(layout) = layout::layout(&filesystems::as_found(builder), &array.name) else { return };
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
    builder.warn(format!(
        "members of '{}' differ in size: {} usable, {} of the larger ones stay unused",
        array.name,
        gib(layout.usable_bytes),
        gib(layout.unused_bytes)
    ));
}
