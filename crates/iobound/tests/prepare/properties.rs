//! Applying makes the host what the context says, undoing makes it what it was; cut off at any change,
//! either can be gone on with.

use std::path::Path;

use iobound::prepare::{ContextPlanner, Standing, status};
use iobound_host::prepare::{Applied, Journal, Machine, Planner, PrepareError, Told, Undone, apply, undo};
use iobound_record::{ArrayManager, Context, FileSystemKind, Level, Plan, StepState};
use proptest::prelude::*;

use crate::contexts::{self, SIZE, filesystem, group, planner, serials};
use crate::host::{Content, MACHINE, SimulatedHost, State};

pub fn host(disks: usize) -> SimulatedHost {
    let serials = serials(0, disks);
    SimulatedHost::new(&serials.iter().map(|serial| (serial.as_str(), SIZE)).collect::<Vec<_>>())
}

fn quiet(_: Told) {}

pub fn applied(host: &SimulatedHost, planner: &ContextPlanner, dir: &Path) -> Result<Applied, PrepareError> {
    let mut journal = Journal::open(dir, MACHINE)?;
    apply(host, planner, &mut journal, ("test", "hash"), &|| false, &mut quiet)
}

pub fn undone(host: &SimulatedHost, planner: &ContextPlanner, dir: &Path) -> Result<Undone, PrepareError> {
    let mut journal = Journal::open(dir, MACHINE)?;
    undo(host, planner, &mut journal, &|| false, &mut quiet)
}

pub fn plan_of(host: &SimulatedHost, planner: &ContextPlanner) -> Plan {
    let probe = host.probe().unwrap();
    planner.plan(&probe, &host.ground(&planner.interests(&probe)))
}

/// A directory for journals, in memory where there is one: each line is synced.
pub fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

fn snapshot(host: &SimulatedHost) -> State {
    host.state.borrow().clone()
}

/// Contexts over eight disks: any level by either manager, nested arrays, bare disks, any file system.
fn any_context() -> impl Strategy<Value = Context> {
    let levels = [Level::Raid0, Level::Raid1, Level::Raid10, Level::Raid5, Level::Raid6, Level::Linear];
    let managers = [ArrayManager::Mdadm, ArrayManager::Lvm];
    let kinds = [FileSystemKind::Xfs, FileSystemKind::Ext4, FileSystemKind::Ext3];
    let parts = (0..6usize, 0..2usize, 0..3usize, 0..3usize, 4..7usize, any::<bool>());
    parts.prop_map(move |(level, manager, kind, shape, members, with_os)| {
        let (level, manager, kind) = (levels[level], managers[manager], kinds[kind]);
        let mut context = match shape {
            0 => contexts::one(manager, level, members & !1, kind),
            // A stripe over two mirrors, and a bare disk beside it.
            1 => {
                let mut context = contexts::one(ArrayManager::Mdadm, Level::Raid0, 2, kind);
                context.volumes =
                    vec![group("a", &serials(0, 2)), group("b", &serials(2, 2)), group("c", &serials(4, 1))];
                context.arrays = vec![
                    contexts::array("data", ArrayManager::Mdadm, Level::Raid0, &["left", "right"]),
                    contexts::array("left", ArrayManager::Mdadm, Level::Raid1, &["a"]),
                    contexts::array("right", ArrayManager::Mdadm, Level::Raid1, &["b"]),
                ];
                context.filesystems.push(filesystem("c", kind));
                context
            }
            _ => {
                let mut context = contexts::one(manager, level, 4, kind);
                context.volumes.push(group("w", &serials(4, 4)));
                context.arrays.push(contexts::array("wal", ArrayManager::Mdadm, Level::Raid10, &["w"]));
                context.filesystems.push(filesystem("wal", FileSystemKind::Xfs));
                context
            }
        };
        if !with_os {
            context.os = Default::default();
        }
        context
    })
}

/// Everything that can be done is done, by the plan's own word.
fn is_settled(host: &SimulatedHost, planner: &ContextPlanner) {
    let plan = plan_of(host, planner);
    assert!(plan.may_be_applied(), "{:?} {:?}", plan.problems, plan.refusals);
    for step in &plan.steps {
        let good = matches!(step.state, StepState::Done | StepState::Skipped { .. });
        assert!(good, "{} is {:?}: {:?}", step.id, step.state, step.changes);
    }
}

proptest! {
    #[test]
    fn there_and_back(context in any_context()) {
        let (host, planner, dir) = (host(8), planner(&context), scratch());
        let first = snapshot(&host);
        applied(&host, &planner, dir.path()).unwrap();
        is_settled(&host, &planner);
        let there = snapshot(&host);
        let again = applied(&host, &planner, dir.path()).unwrap();
        prop_assert!(again.done.is_empty(), "{again:?}");
        prop_assert_eq!(&snapshot(&host), &there);
        let back = undone(&host, &planner, dir.path()).unwrap();
        prop_assert!(back.refused.is_empty(), "{back:?}");
        prop_assert_eq!(&snapshot(&host), &first);
        prop_assert!(undone(&host, &planner, dir.path()).unwrap().done.is_empty());
        // And once more, over what was there before.
        applied(&host, &planner, dir.path()).unwrap();
        prop_assert_eq!(&snapshot(&host), &there);
    }

    #[test]
    fn cut_off_at_any_change(context in any_context(), cut in 0..90usize, then_undo: bool, cut_undo in 0..60usize) {
        let (host, planner, dir) = (host(8), planner(&context), scratch());
        let first = snapshot(&host);
        host.left.set(cut);
        let was_cut = applied(&host, &planner, dir.path()).is_err();
        host.revive();
        if then_undo {
            host.left.set(cut_undo);
            let _ = undone(&host, &planner, dir.path());
            host.revive();
            let back = undone(&host, &planner, dir.path()).unwrap();
            prop_assert!(back.refused.is_empty(), "{back:?}");
            prop_assert_eq!(&snapshot(&host), &first);
        } else {
            let whole = SimulatedHost::new(&[]);
            *whole.state.borrow_mut() = first.clone();
            applied(&whole, &planner, scratch().path()).unwrap();
            applied(&host, &planner, dir.path()).unwrap();
            prop_assert_eq!(&snapshot(&host), &snapshot(&whole), "cut: {}", was_cut);
            let back = undone(&host, &planner, dir.path()).unwrap();
            prop_assert!(back.refused.is_empty(), "{back:?}");
            prop_assert_eq!(&snapshot(&host), &first);
        }
    }

    #[test]
    fn stopped_between_any_two_steps(context in any_context(), steps in 0..16usize) {
        let (host, planner, dir) = (host(8), planner(&context), scratch());
        let first = snapshot(&host);
        let left = std::cell::Cell::new(steps);
        let stop = || { let now = left.get(); left.set(now.saturating_sub(1)); now == 0 };
        let mut journal = Journal::open(dir.path(), MACHINE).unwrap();
        let outcome = apply(&host, &planner, &mut journal, ("test", "hash"), &stop, &mut quiet);
        drop(journal);
        if let Err(error) = outcome {
            prop_assert!(matches!(error, PrepareError::Interrupted { .. }), "{error}");
        }
        prop_assert!(undone(&host, &planner, dir.path()).unwrap().refused.is_empty());
        prop_assert_eq!(&snapshot(&host), &first);
    }
}

fn seed() -> (SimulatedHost, ContextPlanner, tempfile::TempDir) {
    let context = contexts::one(ArrayManager::Mdadm, Level::Raid10, 8, FileSystemKind::Xfs);
    (host(8), planner(&context), scratch())
}

#[test]
fn a_failed_tool_stops_and_leaves_the_way_back() {
    for tool in ["mdadm", "mkfs.xfs", "mount"] {
        let (host, planner, dir) = seed();
        let first = snapshot(&host);
        *host.failing.borrow_mut() = Some(tool.into());
        let error = applied(&host, &planner, dir.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("{tool}: input/output error")), "{error}");
        assert!(error.contains("remedy:"), "{error}");
        *host.failing.borrow_mut() = None;
        assert!(undone(&host, &planner, dir.path()).unwrap().refused.is_empty());
        assert_eq!(snapshot(&host), first, "{tool}");
    }
}

#[test]
fn data_written_since_is_not_undone() {
    let (host, planner, dir) = seed();
    applied(&host, &planner, dir.path()).unwrap();
    if let Content::Fs { files, .. } = &mut host.state.borrow_mut().blocks.get_mut("md0").unwrap().content {
        files.insert("pg/data/base".into());
    }
    let before = snapshot(&host);
    let back = undone(&host, &planner, dir.path()).unwrap();
    let said = format!("{:?}", back.refused);
    assert!(said.contains("/mnt/data/pg/data holds base, which iobound did not make"), "{said}");
    assert!(said.contains("--destroy-data /dev/md0"), "{said}");
    let after = snapshot(&host);
    assert_eq!(
        (&after.blocks["md0"].content, &after.mounts),
        (&before.blocks["md0"].content, &before.mounts)
    );
    // Settings stand on nothing: those are back.
    assert_eq!(after.settings["/proc/sys/vm/dirty_ratio"], "20");
    // Not mounted any more, it is still seen.
    let mounts = std::mem::take(&mut host.state.borrow_mut().mounts);
    let said = format!("{:?}", undone(&host, &planner, dir.path()).unwrap().refused);
    assert!(said.contains("/dev/md0 holds") && said.contains("base"), "{said}");
    assert_eq!(snapshot(&host).blocks["md0"].content, before.blocks["md0"].content);
    // Given up by name, it goes.
    host.state.borrow_mut().mounts = mounts;
    let named = iobound::prepare::named(&["/dev/null".into()], &host.probe().unwrap());
    assert!(named.is_err());
}

#[test]
fn what_others_changed_since_stays() {
    let (host, planner, dir) = seed();
    applied(&host, &planner, dir.path()).unwrap();
    {
        let mut state = host.state.borrow_mut();
        state.files.insert("/etc/sysctl.d/99-iobound.conf".into(), b"theirs\n".into());
        state.settings.insert("/proc/sys/vm/swappiness".into(), "33".into());
        let fstab = String::from_utf8(state.files["/etc/fstab"].clone()).unwrap();
        state.files.insert("/etc/fstab".into(), fstab.replace("defaults,noatime", "defaults,discard").into());
    }
    let plan = plan_of(&host, &planner);
    let journal = Journal::read(dir.path(), MACHINE).unwrap();
    let drifted: Vec<String> = status(&plan, journal.entries())
        .into_iter()
        .filter(|step| step.standing == Standing::Drifted)
        .map(|step| step.step)
        .collect();
    assert_eq!(drifted, ["os-sysctl"]);
    let said = format!("{:?}", undone(&host, &planner, dir.path()).unwrap().refused);
    assert!(said.contains("swappiness is '33': iobound set '1' (before: '60')"), "{said}");
    assert!(said.contains("lines of iobound in /etc/fstab were edited"), "{said}");
    assert_eq!(snapshot(&host).files["/etc/sysctl.d/99-iobound.conf"], b"theirs\n");
}

#[test]
fn another_file_system_in_its_place_is_left_alone() {
    let (host, planner, dir) = seed();
    applied(&host, &planner, dir.path()).unwrap();
    if let Content::Fs { uuid, .. } = &mut host.state.borrow_mut().blocks.get_mut("md0").unwrap().content {
        *uuid = "somebody-else".into();
    }
    let before = snapshot(&host);
    let said = format!("{:?}", undone(&host, &planner, dir.path()).unwrap().refused);
    assert!(said.contains("md0 is mounted on /mnt/data now, which iobound did not mount"), "{said}");
    host.state.borrow_mut().mounts.clear();
    let said = format!("{:?}", undone(&host, &planner, dir.path()).unwrap().refused);
    assert!(said.contains("does not hold the file system that iobound made any more"), "{said}");
    let kept = |state: &State| matches!(&state.blocks["md0"].content, Content::Fs { uuid, .. } if uuid == "somebody-else");
    assert!(kept(&before) && kept(&snapshot(&host)));
}

#[test]
fn disks_that_change_their_names_are_found_again() {
    let (host, planner, dir) = seed();
    let first = snapshot(&host);
    applied(&host, &planner, dir.path()).unwrap();
    // As after a boot that finds them in another order.
    let swap = |host: &SimulatedHost| {
        let mut state = host.state.borrow_mut();
        let one = state.blocks.remove("nvme1n1").unwrap();
        let other = state.blocks.remove("nvme8n1").unwrap();
        state.blocks.insert("nvme1n1".into(), other);
        state.blocks.insert("nvme8n1".into(), one);
    };
    swap(&host);
    is_settled(&host, &planner);
    assert!(undone(&host, &planner, dir.path()).unwrap().refused.is_empty());
    swap(&host);
    assert_eq!(snapshot(&host), first);
}
