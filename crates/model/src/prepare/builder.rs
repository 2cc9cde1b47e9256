//! Puts a plan together, stage by stage.

use std::collections::{BTreeMap, BTreeSet};

use iobound_record::{
    ArrayManager, Context, DiskRefusal, Evidence, Ground, Interests, Member, PLAN_VERSION, Plan, Probe, Step,
};

use super::{arrays, deps, directories, evidence, filesystems, identity, os, queues, sane};
use crate::{layout, matching};

/// What a plan is made from.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// What is meant.
    pub context: &'a Context,
    /// What is.
    pub probe: &'a Probe,
    /// What else is, as far as [`interests`] asks.
    pub ground: &'a Ground,
    /// Kernel names of the devices whose content may be destroyed: each was named by the user.
    pub destroy: &'a [String],
}

/// What [`plan`] needs to know besides the probe.
pub fn interests(context: &Context, probe: &Probe) -> Interests {
    let mut wanted = Interests { programs: deps::programs(), ..Interests::default() };
    wanted.files.extend(os::files());
    wanted.files.extend(arrays::files());
    wanted.files.extend([filesystems::FSTAB, queues::RULES].map(String::from));
    for spec in &context.filesystems {
        wanted.directories.insert(spec.mount.clone());
        directories::interests(spec, &mut wanted);
    }
    let disks = matching::match_volumes(context, probe).unwrap_or_default();
    wanted.devices.extend(disks.into_values());
    let empty = Ground::default();
    let builder = Builder::new(Input { context, probe, ground: &empty, destroy: &[] });
    let found = |name: &String| Some(builder.member(name).device).filter(|device| !device.is_empty());
    let tops: Vec<String> = context.filesystems.iter().filter_map(|spec| found(&spec.on)).collect();
    wanted.devices.extend(context.arrays.iter().filter_map(|array| found(&array.name)));
    wanted.devices.extend(tops.iter().cloned());
    wanted.filesystems.extend(tops);
    wanted
}

/// What has to be done. A plan with problems or refusals must not be applied; it still shows what it
/// would do.
pub fn plan(input: &Input) -> Plan {
    let mut builder = Builder::new(*input);
    builder.plan.problems = sane::problems(input.context);
    if !builder.plan.problems.is_empty() {
        return builder.plan;
    }
    if let Err(misses) = matching::match_volumes(input.context, input.probe) {
        builder.plan.problems = misses.iter().map(ToString::to_string).collect();
    }
    if !input.ground.root {
        builder.plan.warnings.push(
            "without root, what the disks hold and who uses them is known in part; apply looks again".into(),
        );
    }
    deps::add(&mut builder);
    os::add(&mut builder);
    arrays::add(&mut builder);
    filesystems::add(&mut builder);
    queues::add(&mut builder);
    directories::add(&mut builder);
    builder.plan.refusals.sort_by(|a, b| a.disk.name.cmp(&b.disk.name));
    builder.plan.refusals.dedup();
    builder.plan
}

/// A plan in the making.
pub(super) struct Builder<'a> {
    pub input: Input<'a>,
    pub plan: Plan,
    disks: BTreeMap<String, String>,
}

impl<'a> Builder<'a> {
    fn new(input: Input<'a>) -> Self {
        let disks = matching::match_volumes(input.context, input.probe).unwrap_or_default();
        let mut plan = Plan {
            schema: PLAN_VERSION,
            context: input.context.name.clone(),
            machine_id: input.probe.machine.machine_id.clone(),
            ..Plan::default()
        };
        let mut builder = Builder { input, plan: Plan::default(), disks };
        let volumes = input.context.volumes.iter().flat_map(|group| group.volume_names());
        plan.disks = volumes.map(|volume| builder.member(&volume)).collect();
        builder.plan = plan;
        builder
    }

    pub fn context(&self) -> &'a Context {
        self.input.context
    }

    pub fn probe(&self) -> &'a Probe {
        self.input.probe
    }

    pub fn ground(&self) -> &'a Ground {
        self.input.ground
    }

    pub fn push(&mut self, step: Step) {
        self.plan.steps.push(step);
    }

    pub fn warn(&mut self, words: impl Into<String>) {
        let words = words.into();
        if !self.plan.warnings.contains(&words) {
            self.plan.warnings.push(words);
        }
    }

    pub fn problem(&mut self, words: impl Into<String>) {
        let words = words.into();
        if !self.plan.problems.contains(&words) {
            self.plan.problems.push(words);
        }
    }

    /// A UUID for something of this plan.
    pub fn uuid(&self, what: &str) -> String {
        identity::uuid(&self.plan_machine(), &self.context().name, what)
    }

    pub fn md_uuid(&self, what: &str) -> String {
        identity::md_uuid(&self.plan_machine(), &self.context().name, what)
    }

    pub fn lvm_uuid(&self, what: &str) -> String {
        identity::lvm_uuid(&self.plan_machine(), &self.context().name, what)
    }

    pub fn tag(&self, what: &str) -> String {
        identity::tag(&self.plan_machine(), &self.context().name, what)
    }

    fn plan_machine(&self) -> String {
        self.probe().machine.machine_id.clone()
    }

    /// A volume or array, with what the host knows of it.
    pub fn member(&self, name: &str) -> Member {
        if let Some(array) = self.context().arrays.iter().find(|array| array.name == name) {
            return arrays::as_member(self, array);
        }
        let mut member = Member { name: name.to_owned(), ..Member::default() };
        if let Some(disk) = self.disks.get(name).and_then(|device| self.probe().device(device)) {
            member.device = disk.name.clone();
            member.node = format!("/dev/{}", disk.name.replace('!', "/"));
            member.serial = disk.serial.clone();
            member.wwn = disk.wwn.clone();
            member.size_bytes = disk.size_bytes;
        } else {
            member.node = format!("/dev/disk/by-id/?{name}");
        }
        member
    }

    /// The disks below a volume or array.
    pub fn disks_below(&self, name: &str) -> Vec<Member> {
        let Some(array) = self.context().arrays.iter().find(|array| array.name == name) else {
            return vec![self.member(name)];
        };
        let members = layout::member_names(self.context(), array);
        let mut seen = BTreeSet::new();
        let all = members.iter().flat_map(|member| self.disks_below(member));
        all.filter(|disk| seen.insert(disk.name.clone())).collect()
    }

    /// Holds a device against all evidence: what is left is refused, and whether there was anything to
    /// be overruled is returned.
    pub fn guard(&mut self, member: &Member) -> bool {
        if member.device.is_empty() {
            return false;
        }
        let named = self.input.destroy.contains(&member.device);
        let mut found = evidence::evidence(self.probe(), &member.device);
        // The host looked closer; the probe adds what only it knows.
        let closer = self.ground().evidence.get(&member.device).cloned().unwrap_or_default();
        found.retain(|seen| closer.iter().all(|close| close.kind != seen.kind));
        found.extend(closer);
        found.sort();
        let (overruled, standing): (Vec<Evidence>, Vec<Evidence>) =
            found.into_iter().partition(|seen| named && seen.kind.is_overruled_by_name());
        if !standing.is_empty() {
            self.plan.refusals.push(DiskRefusal { disk: member.clone(), evidence: standing });
        }
        for seen in &overruled {
            self.warn(format!("{} will be destroyed: {}", member.node, seen.says));
        }
        !overruled.is_empty()
    }

    /// Whether the context has arrays of this manager.
    pub fn uses(&self, manager: ArrayManager) -> bool {
        self.context().arrays.iter().any(|array| array.manager == manager)
    }
}
