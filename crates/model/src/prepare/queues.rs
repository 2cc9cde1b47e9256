//! Stage 03: read-ahead, scheduler and queue length, now and after the next boot.

use std::collections::BTreeMap;

use iobound_record::{ArrayManager, Context, Device, FileSystemSpec, Member, Op, Stage, Step, Undo};

use super::arrays::{change, lvm_names};
use super::builder::Builder;
use super::filesystems::make_id;
use super::os::{self, settled, write_file};

/// After the distribution's own rules, which choose schedulers in `60-` and find serials before.
pub(super) const RULES: &str = "/etc/udev/rules.d/99-iobound.rules";

/// What one device is set to; each value as `/sys` has it.
#[derive(Default, Clone, PartialEq, Eq)]
struct Wanted {
    read_ahead_kb: Option<u64>,
    scheduler: Option<String>,
    nr_requests: Option<u32>,
}

impl Wanted {
    /// Attribute, value as the device has it, value as it should be. The scheduler comes first, since a
    /// new one starts with its own queue length.
    fn attributes(&self, device: Option<&Device>) -> Vec<(&'static str, String, String)> {
        let current = |value: Option<String>| value.unwrap_or_default();
        let mut all = Vec::new();
        if let Some(scheduler) = &self.scheduler {
            all.push(("scheduler", current(device.map(|d| d.scheduler.clone())), scheduler.clone()));
        }
        if let Some(requests) = self.nr_requests {
            all.push((
                "nr_requests",
                current(device.map(|d| d.nr_requests.to_string())),
                requests.to_string(),
            ));
        }
        if let Some(kb) = self.read_ahead_kb {
            let is = device.map(|d| (d.read_ahead_bytes >> 10).to_string());
            all.push(("read_ahead_kb", current(is), kb.to_string()));
        }
        all
    }
}

pub(super) fn add(builder: &mut Builder) {
    let context = builder.context();
    if !context.filesystems.iter().any(wants_any) {
        return;
    }
    let mut step = Step {
        id: "queues".into(),
        stage: Stage::DiskTuning,
        title: "read-ahead, scheduler and queue length, now and after the next boot".into(),
        ..Step::default()
    };
    for spec in context.filesystems.iter().filter(|spec| wants_any(spec)) {
        step.needs.push(make_id(spec));
    }
    let wanted = wanted(builder);
    let lines: Vec<String> =
        wanted.values().filter_map(|(member, wanted)| rule(context, builder, member, wanted)).collect();
    let text = os::file(&context.name, "queues", &lines);
    write_file(builder, &mut step, RULES, text);
    if !step.ops.is_empty() && builder.ground().programs.contains("udevadm") {
        let argv: Vec<String> = ["udevadm", "control", "--reload"].map(String::from).into();
        step.ops.push(Op::Run { argv: argv.clone(), undo: Some(Undo::Run { argv }), may_fail: true });
    }
    for (member, wanted) in wanted.values() {
        let device = builder.probe().device(&member.device);
        let name =
            if member.device.is_empty() { member.node.trim_start_matches("/dev/") } else { &member.device };
        for (attribute, is, should) in wanted.attributes(device) {
            step.changes.push(change(&format!("{name} {attribute}"), &is, &should));
            if is != should {
                let path = format!("/sys/block/{name}/queue/{attribute}");
                step.ops.push(Op::Set { path, value: should, restore: None });
            }
        }
    }
    builder.push(settled(step));
}

fn wants_any(spec: &FileSystemSpec) -> bool {
    spec.read_ahead.is_some() || spec.scheduler.is_some() || spec.nr_requests.is_some()
}

/// Each device that is set, with its values: read-ahead counts where the file system lies, scheduler
/// and queue length at the disks.
fn wanted(builder: &mut Builder) -> BTreeMap<String, (Member, Wanted)> {
    let mut all: BTreeMap<String, (Member, Wanted)> = BTreeMap::new();
    for spec in &builder.context().filesystems {
        if let Some(read_ahead) = spec.read_ahead {
            let member = builder.member(&spec.on);
            let entry = all.entry(spec.on.clone()).or_insert((member, Wanted::default()));
            entry.1.read_ahead_kb = Some(read_ahead.0 >> 10);
        }
        for disk in builder.disks_below(&spec.on) {
            let offered =
                builder.probe().device(&disk.device).map(|d| d.schedulers.clone()).unwrap_or_default();
            let entry = all.entry(disk.name.clone()).or_insert((disk.clone(), Wanted::default()));
            if let Some(scheduler) = &spec.scheduler {
                if offered.is_empty() || offered.contains(scheduler) {
                    entry.1.scheduler = Some(scheduler.clone());
                } else {
                    let offers = offered.join(", ");
                    builder.warn(format!("{} has no scheduler '{scheduler}', only {offers}", disk.node));
                }
            }
            entry.1.nr_requests = entry.1.nr_requests.or(spec.nr_requests);
        }
    }
    all.retain(|_, (_, wanted)| *wanted != Wanted::default());
    all
}

/// udev's rule for a device, found by what it is and not by its kernel name: udev(7).
fn rule(context: &Context, builder: &Builder, member: &Member, wanted: &Wanted) -> Option<String> {
    let array = context.arrays.iter().find(|array| array.name == member.name);
    let is = match array.map(|array| (array, array.manager)) {
        // Set by mdadm's own rules from `mdadm --detail --export`.
        Some((_, ArrayManager::Mdadm)) => format!("ENV{{MD_UUID}}==\"{}\"", member.array),
        Some((array, ArrayManager::Lvm)) => {
            let (group, volume) = lvm_names(array);
            format!("ENV{{DM_VG_NAME}}==\"{group}\", ENV{{DM_LV_NAME}}==\"{volume}\"")
        }
        None => {
            let disk = builder.probe().device(&member.device)?;
            by_disk(disk)?
        }
    };
    let sets: Vec<String> = wanted
        .attributes(None)
        .iter()
        .map(|(attribute, _, should)| format!("ATTR{{queue/{attribute}}}=\"{should}\""))
        .collect();
    Some(format!(
        "SUBSYSTEM==\"block\", ACTION==\"add|change\", ENV{{DEVTYPE}}==\"disk\", {is}, {}",
        sets.join(", ")
    ))
}

fn by_disk(disk: &Device) -> Option<String> {
    // In a rule these would be patterns, or end the string.
    let is_plain = |text: &str| !text.is_empty() && !text.contains(['*', '?', '[', ']', '|', '"', '\\']);
    match disk.transport.as_str() {
        // The drive's own attribute, on the disk itself or its controller; udev takes blanks off its end.
        "nvme" | "virtio" if is_plain(&disk.serial) => Some(format!("ATTRS{{serial}}==\"{}\"", disk.serial)),
        _ if is_plain(&disk.serial) => Some(format!("ENV{{ID_SERIAL_SHORT}}==\"{}\"", disk.serial)),
        _ if is_plain(&disk.wwn) => Some(format!("ATTRS{{wwid}}==\"{}\"", disk.wwn)),
        _ => None,
    }
}
