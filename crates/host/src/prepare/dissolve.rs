//! Taking file systems and arrays of ours apart again. Each of these destroys data if it is wrong, so each
//! knows what is ours by a UUID or tag that was chosen before it was made.

use iobound_record::{DeviceSort, EvidenceKind, Member};

use super::apply::run;
use super::machine::Machine;
use super::resolve::{node, told};
use super::undo::{One, place};

type Outcome = Result<Option<String>, String>;

/// Where a file system that is not mounted is looked into, read-only.
const LOOK: &str = "/run/iobound-look";

fn words(argv: &[&str]) -> Vec<String> {
    argv.iter().map(ToString::to_string).collect()
}

/// Unmounts our file system, unless something that we did not make is on it.
pub(super) fn unmount(one: &One, mount: &str, uuid: &str, ours: &[String]) -> Outcome {
    let probe = one.probe()?;
    let Some(mounted) = probe.mounted_at(mount) else { return Ok(None) };
    let found = one.machine.filesystem(&node(&mounted.device));
    if found.as_ref().is_none_or(|(_, found)| !found.eq_ignore_ascii_case(uuid)) {
        return Err(format!("{} is mounted on {mount} now, which iobound did not mount", mounted.device));
    }
    if !one.destroy.contains(&mounted.device) {
        only_ours(one, mount, Some(ours)).map_err(|what| {
            format!(
                "{mount} holds {what}: move it away, or give --destroy-data /dev/{} to lose everything there",
                mounted.device
            )
        })?;
    }
    // Refused when busy: nothing has changed then.
    run(one.machine, &words(&["umount", mount])).map(|_| None).map_err(|error| {
        let users = one.machine.users_of(mount);
        if users.is_empty() { error } else { format!("{mount} is in use: {}", users.join("; ")) }
    })
}

/// Whether nothing is below a directory but what we made and what mkfs makes; else the first other thing.
fn only_ours(one: &One, top: &str, ours: Option<&[String]>) -> Result<(), String> {
    let mut waiting = vec![String::new()];
    while let Some(directory) = waiting.pop() {
        let path = if directory.is_empty() { top.to_owned() } else { format!("{top}/{directory}") };
        let entries = one.machine.entries(&path).map_err(|error| format!("what cannot be read ({error})"))?;
        for (name, is_directory) in entries.unwrap_or_default() {
            let below = if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
            // Without a list, directories alone are nobody's data.
            let is_known = below == "lost+found" || ours.is_none_or(|ours| ours.contains(&below));
            match is_directory && is_known {
                true => waiting.push(below),
                false => return Err(format!("{top}/{below}, which iobound did not make")),
            }
        }
    }
    Ok(())
}

/// Wipes our file system.
pub(super) fn filesystem(one: &One, on: &Member, kind: &str, uuid: &str) -> Outcome {
    let probe = one.probe()?;
    let Some((device, node)) = place(&probe, on) else {
        return match out_of_sight(one, on)? {
            Some(why) => Err(why),
            None => Ok(Some(format!("{} is gone, and the file system with it", told(on)))),
        };
    };
    let evidence = one.machine.evidence(&device);
    if let Some(used) = evidence.iter().find(|seen| !seen.kind.is_overruled_by_name()) {
        return Err(used.says.clone());
    }
    match one.machine.filesystem(&node) {
        Some((_, found)) if found.eq_ignore_ascii_case(uuid) => {
            if !one.destroy.contains(&device) {
                look_inside(one, &node, kind)?;
            }
        }
        // Nothing was made yet, or it was wiped already.
        None if evidence.is_empty() => return Ok(None),
        // mkfs was cut short: the device was clean when it began.
        None if one.is_loose && evidence.iter().all(|seen| seen.kind == EvidenceKind::UnknownData) => {}
        _ => {
            if let Some(says) = one.standing(&device) {
                return Err(format!(
                    "{node} does not hold the file system that iobound made any more: {says}"
                ));
            }
        }
    }
    one.touched.set(true);
    one.machine.zero_ends(&node).map(|()| None).map_err(|error| format!("{node}: {error}"))
}

/// An array that does not run, or a volume that is not active, is not gone as long as disks have parts of it:
/// what it holds cannot be seen. Why that stands against destroying it, unless each of the disks is given up.
fn out_of_sight(one: &One, on: &Member) -> Result<Option<String>, String> {
    let mend = match on.array.split_once('/') {
        _ if on.array.is_empty() => return Ok(None),
        Some((group, _)) => format!("vgchange --activate y {group}"),
        None => "mdadm --assemble --scan".into(),
    };
    for disk in one.probe()?.devices.iter().filter(|device| device.sort == DeviceSort::Disk) {
        let node = node(&disk.name);
        let is_part = match on.array.split_once('/') {
            Some((group, _)) => {
                physical_volume(one, &node)?.is_some_and(|(_, of)| of.as_deref() == Some(group))
            }
            None => is_member(one, &node, &on.array)?,
        };
        if is_part && !one.destroy.contains(&disk.name) {
            let what = if on.array.contains('/') { on.array.clone() } else { told(on) };
            return Ok(Some(unseen(&what, &node, &mend)));
        }
    }
    Ok(None)
}

fn unseen(what: &str, part: &str, mend: &str) -> String {
    format!(
        "{what} does not run, so what it holds cannot be seen, and {part} has a part of it: `{mend}` may bring \
         it back; giving --destroy-data with each of its disks loses everything there"
    )
}

/// Whether a disk is labelled as a member of our array.
fn is_member(one: &One, node: &str, uuid: &str) -> Result<bool, String> {
    let argv = words(&["mdadm", "--examine", "--export", node]);
    let examined = one.machine.run(&argv).map_err(|error| format!("mdadm: {error}"))?;
    Ok(examined.stdout.lines().any(|line| line.strip_prefix("MD_UUID=") == Some(uuid)))
}

/// The UUID of a disk's physical volume, and the group that it belongs to.
fn physical_volume(one: &One, node: &str) -> Result<Option<(String, Option<String>)>, String> {
    let asked = words(&["pvs", "--noheadings", "--options", "pv_uuid,vg_name", node]);
    let found = one.machine.run(&asked).map_err(|error| format!("pvs: {error}"))?;
    let mut fields = found.stdout.split_whitespace().map(str::to_owned);
    Ok(fields.next().filter(|_| found.ok).map(|uuid| (uuid, fields.next())))
}

/// A file system that we do not unmount ourselves may hold anything: mounted read-only, it shows. Its journal
/// is replayed as with any mount: without that, the latest files would not show.
fn look_inside(one: &One, node: &str, kind: &str) -> Result<(), String> {
    let options = if kind == "xfs" { "ro,nouuid" } else { "ro" };
    if one.machine.entries(LOOK).map_err(|error| error.to_string())?.is_none() {
        one.machine.make_directory(LOOK, "", 0o700).map_err(|error| format!("{LOOK}: {error}"))?;
    }
    let mounted = run(one.machine, &words(&["mount", "-t", kind, "-o", options, node, LOOK]));
    let seen = mounted
        .map_err(|error| format!("what cannot be seen ({error})"))
        .and_then(|_| only_ours(one, LOOK, None));
    stop_looking(one.machine)?;
    seen.map_err(|what| format!("{node} holds {what}: give --destroy-data {node} to lose everything there"))
}

/// Takes down what looking put up, also when an earlier run was cut off in it.
pub(super) fn stop_looking(machine: &dyn Machine) -> Result<(), String> {
    let probe = machine.probe().map_err(|error| error.to_string())?;
    if probe.mounted_at(LOOK).is_some() {
        run(machine, &words(&["umount", LOOK]))?;
    }
    // An empty directory below /run does no harm should it stay.
    if machine.entries(LOOK).is_ok_and(|entries| entries.is_some()) {
        let _ = machine.remove_directory(LOOK);
    }
    Ok(())
}

/// udev puts an array together again from the members that are left, as soon as one was written to.
const STOPS_MAX: usize = 5;

/// Stops our array and clears its members.
pub(super) fn md_array(one: &One, uuid: &str, device: &str, members: &[Member]) -> Outcome {
    let probe = one.probe()?;
    let running = probe.arrays.iter().find(|array| array.uuid == uuid && !array.level.is_empty());
    if let Some(says) = running.and_then(|array| one.standing(&array.name)) {
        return Err(format!("{device} holds something that iobound did not make: {says}"));
    }
    if running.is_none() && !one.is_loose {
        for (name, node) in members.iter().filter_map(|member| place(&probe, member)) {
            if is_member(one, &node, uuid)? && !one.destroy.contains(&name) {
                return Err(unseen(device, &node, "mdadm --assemble --scan"));
            }
        }
    }
    stop(one, uuid, members)?;
    let mut notes = Vec::new();
    for member in members {
        let Some((name, node)) = place(&probe, member) else {
            notes.push(format!("{} is gone: what is on it stays", told(member)));
            continue;
        };
        let is_ours = is_member(one, &node, uuid)?;
        if is_ours {
            release(one, uuid, members, &node)?;
        }
        clear(one, &name, &node, is_ours)?;
    }
    Ok((!notes.is_empty()).then(|| notes.join("; ")))
}

/// Stops our array, and what was put together from some of its members and does not run.
fn stop(one: &One, uuid: &str, members: &[Member]) -> Result<(), String> {
    let probe = one.probe()?;
    let ours: Vec<String> = members.iter().filter_map(|m| place(&probe, m)).map(|(name, _)| name).collect();
    for array in &probe.arrays {
        let is_part = array.level.is_empty()
            && !array.members.is_empty()
            && array.members.iter().all(|member| ours.contains(&member.device));
        if array.uuid == uuid || is_part {
            one.act(&["mdadm", "--stop", &node(&array.name)])?;
            // Without udev there is nothing to wait for.
            let _ = run(one.machine, &words(&["udevadm", "settle"]));
        }
    }
    Ok(())
}

/// Clears one member.
fn release(one: &One, uuid: &str, members: &[Member], node: &str) -> Result<(), String> {
    let mut last = String::new();
    for _ in 0..STOPS_MAX {
        match one.act(&["mdadm", "--zero-superblock", node]) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
        stop(one, uuid, members)?;
    }
    Err(last)
}

/// Clears the rest of what we made at the ends of a disk.
fn clear(one: &One, name: &str, node: &str, was_ours: bool) -> Result<(), String> {
    let evidence = one.machine.evidence(name);
    if evidence.is_empty() {
        return Ok(());
    }
    // Bitmaps and labels of ours; the ends were empty, or given up, before.
    let only_remains = evidence.iter().all(|seen| seen.kind == EvidenceKind::UnknownData);
    let ours = was_ours || one.is_loose;
    if !(ours && only_remains)
        && let Some(says) = one.standing(name)
    {
        return Err(says);
    }
    one.touched.set(true);
    one.machine.zero_ends(node).map_err(|error| format!("{node}: {error}"))
}

/// Removes our logical volume, its group and its physical volumes.
pub(super) fn lvm(one: &One, group: &str, volume: &str, tag: &str, members: &[(Member, String)]) -> Outcome {
    let asked = words(&["vgs", "--noheadings", "--options", "vg_tags", group]);
    let tags = one.machine.run(&asked).map_err(|error| format!("vgs: {error}"))?;
    if tags.ok {
        if !tags.stdout.split([',', ' ', '\n']).any(|found| found == tag) {
            return Err(format!(
                "volume group {group} is not the one that iobound made: it lacks the tag {tag}"
            ));
        }
        let given_up = |(member, _): &(Member, String)| {
            place(&one.probe().unwrap_or_default(), member)
                .is_none_or(|(name, _)| one.destroy.contains(&name))
        };
        remove_volume(one, group, volume, one.is_loose || members.iter().all(given_up))?;
        one.act(&["vgremove", group])?;
    }
    let probe = one.probe()?;
    let mut notes = Vec::new();
    for (member, uuid) in members {
        let Some((name, node)) = place(&probe, member) else {
            notes.push(format!("{} is gone: what is on it stays", told(member)));
            continue;
        };
        let found = physical_volume(one, &node)?.filter(|(found, _)| found == uuid);
        let is_ours = found.is_some();
        if let Some((_, of)) = found {
            match of {
                // vgcreate was cut off between its members: no group, but this one is labelled for it.
                Some(of) if one.is_loose && of == group => {
                    one.touched.set(true);
                    one.machine.zero_ends(&node).map_err(|error| format!("{node}: {error}"))?;
                    continue;
                }
                Some(other) => return Err(format!("{node} belongs to volume group {other} now")),
                None => {}
            }
            one.act(&["pvremove", &node])?;
        }
        clear(one, &name, &node, is_ours)?;
    }
    Ok((!notes.is_empty()).then(|| notes.join("; ")))
}

fn remove_volume(one: &One, group: &str, volume: &str, may_be_unseen: bool) -> Result<(), String> {
    let asked = words(&["lvs", "--noheadings", "--options", "lv_name", group]);
    let names = run(one.machine, &asked)?;
    if let Some(other) = names.split_whitespace().find(|name| *name != volume) {
        return Err(format!("volume group {group} has logical volume {other}, which iobound did not make"));
    }
    if names.split_whitespace().next().is_none() {
        return Ok(());
    }
    let probe = one.probe()?;
    let mut found = probe.logical_volumes.iter().filter(|lv| lv.group == group && lv.name == volume);
    let active = found.find(|lv| !lv.device.is_empty());
    if active.is_none() && !may_be_unseen {
        let mend = format!("vgchange --activate y {group}");
        return Err(unseen(&format!("{group}/{volume}"), &format!("group {group}"), &mend));
    }
    if let Some(says) = active.and_then(|lv| one.standing(&lv.device)) {
        return Err(format!("{group}/{volume} holds something that iobound did not make: {says}"));
    }
    one.act(&["lvremove", "--yes", &format!("{group}/{volume}")]).map(drop)
}
