//! Stage 00: the programs that later stages run.

use std::collections::BTreeSet;

use iobound_record::{ArrayManager, FileSystemKind, Op, Stage, Step, StepState, Undo};

use super::builder::Builder;

/// A program and the packages that bring it, by package manager.
struct Program {
    name: &'static str,
    apt: &'static str,
    dnf: &'static str,
}

const MDADM: Program = Program { name: "mdadm", apt: "mdadm", dnf: "mdadm" };
const LVM: Program = Program { name: "lvm", apt: "lvm2", dnf: "lvm2" };
const XFS: Program = Program { name: "mkfs.xfs", apt: "xfsprogs", dnf: "xfsprogs" };
const EXT: Program = Program { name: "mke2fs", apt: "e2fsprogs", dnf: "e2fsprogs" };
const FIO: Program = Program { name: "fio", apt: "fio", dnf: "fio" };

/// Programs that are looked for.
pub(super) fn programs() -> BTreeSet<String> {
    [MDADM, LVM, XFS, EXT, FIO]
        .iter()
        .map(|program| program.name)
        .chain(["apt-get", "dnf", "update-initramfs", "udevadm", "blockdev", "systemd-tmpfiles"])
        .map(String::from)
        .collect()
}

pub(super) fn add(builder: &mut Builder) {
    let context = builder.context();
    let kinds = || context.filesystems.iter().map(|spec| spec.kind);
    let needed = [
        (MDADM, builder.uses(ArrayManager::Mdadm)),
        (LVM, builder.uses(ArrayManager::Lvm)),
        (XFS, kinds().any(|kind| kind == FileSystemKind::Xfs)),
        (EXT, kinds().any(|kind| kind != FileSystemKind::Xfs)),
    ];
    let needed: Vec<Program> = needed.into_iter().filter(|(_, needed)| *needed).map(|(p, _)| p).collect();
    if !needed.is_empty() {
        let step = step(builder, "deps", "programs that the next stages run", &needed);
        builder.push(step);
    }
    // Only for comparing with: nothing below stands on it.
    let fio = Step { optional: true, ..step(builder, "deps-fio", "fio, for runs side by side", &[FIO]) };
    builder.push(fio);
}

fn step(builder: &mut Builder, id: &str, title: &str, programs: &[Program]) -> Step {
    let ground = builder.ground();
    let missing: Vec<&Program> =
        programs.iter().filter(|program| !ground.programs.contains(program.name)).collect();
    let mut step = Step {
        id: id.into(),
        stage: Stage::Deps,
        title: title.into(),
        state: if missing.is_empty() { StepState::Done } else { StepState::Pending },
        ..Step::default()
    };
    for program in programs {
        let current = if ground.programs.contains(program.name) { "installed" } else { "missing" };
        step.changes.push(super::arrays::change(program.name, current, "installed"));
    }
    if missing.is_empty() {
        return step;
    }
    let is_dnf = !ground.programs.contains("apt-get") && ground.programs.contains("dnf");
    let packages: Vec<&str> = missing.iter().map(|p| if is_dnf { p.dnf } else { p.apt }).collect();
    let run = |argv: &[&str], may_fail, undo| Op::Run {
        argv: argv.iter().chain(&packages).map(ToString::to_string).collect(),
        undo,
        may_fail,
    };
    let stays = Some(Undo::Stays { why: format!("packages stay installed: {}", packages.join(" ")) });
    if is_dnf {
        step.ops.push(run(&["dnf", "install", "-y"], false, stays));
    } else {
        // Old lists name packages that the archive has no more; without a network the old ones may do.
        let update = ["apt-get", "update"].map(String::from).to_vec();
        step.ops.push(Op::Run { argv: update, undo: None, may_fail: true });
        let install =
            ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "--no-install-recommends"];
        step.ops.push(run(&install, false, stays));
    }
    step
}
