//! The same as shell scripts, for those who do not let a program change their host.
//!
//! They are made of the plan for a host on which nothing is done yet. Each step asks at run time whether
//! it is done already, and finds its disks by their serial numbers; the refusals are written out.

mod steps;
mod undo;

use std::collections::BTreeMap;

use iobound_record::{Context, DeviceSort, Ground, Plan, Probe, Stage};

use super::MARK;
use super::builder::{Input, interests, plan};
use super::words::quoted;
use crate::matching::normalised;

const FUNCTIONS: &str = include_str!("functions.sh");
const DISKS: &str = include_str!("disks.sh");
const FILES: &str = include_str!("files.sh");

/// Name and text of each script; none for a context that does not hold together.
pub fn scripts(input: &Input) -> BTreeMap<String, String> {
    let probe = untouched(input.probe);
    let ground = bare(input);
    let plan = plan(&Input { context: input.context, probe: &probe, ground: &ground, destroy: &[] });
    let mut all = BTreeMap::new();
    for stage in Stage::ALL {
        if let Some(body) = steps::stage(input.context, &plan, stage) {
            let name = format!("{}.sh", stage.label());
            all.insert(name, script(input.context, stage.label(), &body));
        }
    }
    if !all.is_empty() {
        let body = undo::script(input.context, &plan, input.probe);
        all.insert("99-undo.sh".into(), script(input.context, "99-undo", &body));
    }
    all
}

/// The host as it was before anything of ours: its disks alone.
fn untouched(probe: &Probe) -> Probe {
    let mut probe = probe.clone();
    probe.devices.retain(|device| device.sort == DeviceSort::Disk);
    for device in &mut probe.devices {
        device.above.clear();
        device.mounts.clear();
        device.holds = Some(String::new());
        // Values that no context asks for, so that each is set.
        (device.read_ahead_bytes, device.nr_requests, device.scheduler) = (0, 0, String::new());
        device.schedulers.clear();
    }
    probe.arrays.clear();
    probe.logical_volumes.clear();
    probe.filesystems.clear();
    probe.sysctl.clear();
    probe.transparent_hugepage = "unknown".into();
    probe
}

/// Nothing there but the accounts, which are asked for at run time, and what decides which commands are
/// used.
fn bare(input: &Input) -> Ground {
    let choose = ["apt-get", "dnf", "update-initramfs", "udevadm", "systemd-tmpfiles"];
    let programs = input.ground.programs.iter().filter(|name| choose.contains(&name.as_str()));
    let accounts = interests(input.context, input.probe).accounts;
    Ground { programs: programs.cloned().collect(), accounts, systemd: true, root: true, ..Ground::default() }
}

fn script(context: &Context, name: &str, body: &str) -> String {
    let title: String = context.name.chars().filter(|c| !c.is_control()).collect();
    let mut text = format!("#!/usr/bin/env bash\n{MARK}, context {title}: {name}\n");
    text += "# It may be run again: what is so already stays. It finds disks by their serial numbers, and\n\
             # refuses those that hold data or are in use.\n";
    text += FUNCTIONS;
    // Only what is used: shellcheck tells of the rest.
    if body.contains("disk_of ") || body.contains("must_be_free ") {
        text += DISKS;
    }
    if body.contains("write_file ") || body.contains("add_lines ") || body.contains("set_value ") {
        text += FILES;
    }
    text + "\n" + body
}

/// How a volume's disk is found: `serial` or `wwn`, and which.
fn id_of(context: &Context, volume: &str) -> Option<(&'static str, String)> {
    context.volumes.iter().find_map(|group| {
        let at = group.volume_names().iter().position(|name| name == volume)?;
        let compact = |text: &str| normalised(text).split_whitespace().collect::<String>();
        match (group.serials.get(at), group.wwns.get(at)) {
            (Some(serial), _) => Some(("serial", compact(serial))),
            (None, Some(wwn)) => Some(("wwn", compact(wwn))),
            _ => None,
        }
    })
}

/// Variables that stand for the disks of a plan, by node.
struct Variables<'a> {
    context: &'a Context,
    by_node: BTreeMap<String, (String, String)>,
}

impl<'a> Variables<'a> {
    fn new(context: &'a Context, plan: &Plan) -> Self {
        let named = plan.disks.iter().enumerate();
        let by_node =
            named.map(|(at, disk)| (disk.node.clone(), (format!("disk{}", at + 1), disk.name.clone())));
        Variables { context, by_node: by_node.collect() }
    }

    /// A word of a command: a disk becomes its variable.
    fn word(&self, word: &str) -> String {
        match self.by_node.get(word) {
            Some((variable, _)) => format!("\"${variable}\""),
            None => quoted(word),
        }
    }

    fn line(&self, argv: &[String]) -> String {
        argv.iter().map(|word| self.word(word)).collect::<Vec<_>>().join(" ")
    }

    /// Finds the disks that a piece of script uses.
    fn found(&self, body: &str) -> String {
        let mut text = String::new();
        for (variable, volume) in self.by_node.values() {
            let is_used = [format!("${variable}\""), format!("${variable}##"), format!("{{{variable}##")];
            if is_used.iter().any(|used| body.contains(used))
                && let Some((what, id)) = id_of(self.context, volume)
            {
                text += &format!("# {volume}\n{variable}=$(disk_of {what} {})\n", quoted(&id));
            }
        }
        text
    }
}
