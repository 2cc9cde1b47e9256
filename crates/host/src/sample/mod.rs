//! Live rates of devices and of the machine, at the cost of a few reads of `/proc` a tick.

mod host_figures;
mod proc_file;
mod processes;
mod rates;
mod topology;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use iobound_record::{DeviceSample, Layer, Sample};

use crate::block;
use crate::diskstats::{self, Counters};
use crate::error::HostError;
use crate::stack::Stack;
use crate::system::System;
use host_figures::HostFigures;
use proc_file::ProcFile;
pub use processes::ProcessIo;
use topology::Member;
pub use topology::TotalOver;

/// Two readings closer together than this give no rates: the kernel's times are whole milliseconds.
const INTERVAL_LEAST: Duration = Duration::from_millis(2);

/// Which devices are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// Those of the stacks that were named.
    Named,
    /// Every device there is, also those that appear later.
    Every { partitions: bool },
}

/// Reads the counters of devices and of the machine again and again.
///
/// A tick reads `/proc/diskstats`, `/proc/meminfo`, `/proc/stat` and `/proc/pressure/*` once each
/// through files that stay open, and allocates nothing unless a device appears. Time is
/// `CLOCK_MONOTONIC`, which does not step; rates are over the time that passed, not the time that was
/// meant to.
#[derive(Debug)]
pub struct Sampler {
    system: System,
    choice: Choice,
    over: TotalOver,
    table: ProcFile,
    host: HostFigures,
    slots: Vec<Slot>,
    /// Places in `slots` and in the sample's devices.
    index: HashMap<String, usize>,
    /// Names that are not shown: partitions, mostly.
    passed_over: HashSet<String>,
    processes: Option<ProcessWatch>,
    started: Instant,
    last: Option<Duration>,
    sample: Sample,
}

/// Looks at other processes now and then: it costs microseconds for each.
#[derive(Debug)]
struct ProcessWatch {
    every: Duration,
    before: ProcessIo,
    at: Duration,
}

/// One device between two ticks.
#[derive(Debug)]
struct Slot {
    member: Member,
    /// Where the devices below it are, for a multipath drive.
    paths: Vec<usize>,
    incarnation: Option<u64>,
    /// The last reading; None before the first and while the device is gone.
    before: Option<Counters>,
    now: Option<Counters>,
    delta: Option<Counters>,
}

impl Sampler {
    /// Samples the devices under these stacks, and those below them. Partitions are shown as their disks.
    pub fn of_stacks(system: &System, stacks: &[&Stack], over: TotalOver) -> Sampler {
        let mut sampler = Self::new(system, Choice::Named, over);
        stacks.iter().for_each(|stack| sampler.add(stack));
        sampler
    }

    /// Samples every device of the machine that has a size, also those that appear later.
    pub fn of_everything(system: &System, partitions: bool) -> Sampler {
        Self::new(system, Choice::Every { partitions }, TotalOver::Disks)
    }

    fn new(system: &System, choice: Choice, over: TotalOver) -> Sampler {
        Sampler {
            system: system.clone(),
            choice,
            over,
            table: ProcFile::new(system, "/proc/diskstats"),
            host: HostFigures::new(system),
            slots: Vec::new(),
            index: HashMap::new(),
            passed_over: HashSet::new(),
            processes: None,
            started: Instant::now(),
            last: None,
            sample: Sample::default(),
        }
    }

    /// Adds the devices of one more stack.
    pub fn add(&mut self, stack: &Stack) {
        let whole = |name: &str| block::whole_disk(&self.system, name).unwrap_or_else(|| name.to_owned());
        let targets: Vec<String> = stack.top.iter().map(|device| whole(&device.name)).collect();
        let all = stack.top.iter().chain(&stack.members).map(|device| whole(&device.name));
        let mut new: Vec<Member> = Vec::new();
        for name in all {
            if !self.index.contains_key(&name) && new.iter().all(|member| member.name != name) {
                new.extend(topology::examine(&self.system, &name, targets.contains(&name)));
            }
        }
        self.admit(new);
    }

    /// Also looks at the I/O of other processes, about as often as this.
    pub fn with_processes(mut self, every: Duration) -> Sampler {
        let at = self.started.elapsed();
        self.processes = Some(ProcessWatch { every, before: ProcessIo::take(&self.system), at });
        self
    }

    /// The interval since the last tick. The first has no rates, as there is nothing to compare with.
    ///
    /// # Errors
    /// `/proc/diskstats` cannot be read.
    pub fn tick(&mut self) -> Result<&Sample, HostError> {
        let now = self.started.elapsed();
        self.tick_at(now)
    }

    /// The same at a time of the caller's, for captured machines: since sampling began.
    ///
    /// # Errors
    /// As [`Sampler::tick`].
    pub fn tick_at(&mut self, now: Duration) -> Result<&Sample, HostError> {
        let interval = now.saturating_sub(self.last.unwrap_or(now));
        let strange = self.read_table()?;
        if self.meet(strange) {
            // The table again, so that the new ones have a reading to compare with.
            self.read_table()?;
        }
        self.compare(interval);
        self.last = Some(now);
        self.sample.time_ns = now.as_nanos() as u64;
        self.sample.interval_ns = interval.as_nanos() as u64;
        self.sample.host = self.host.look(interval);
        if let Some(watch) = &mut self.processes
            && now.saturating_sub(watch.at) >= watch.every
        {
            let seen = ProcessIo::take(&self.system);
            self.sample.processes = seen.since(&watch.before, now - watch.at, &self.system);
            (watch.before, watch.at) = (seen, now);
        }
        Ok(&self.sample)
    }

    /// The latest interval again.
    pub fn latest(&self) -> &Sample {
        &self.sample
    }

    /// Notes each device's counters; gives the names that nothing is known of.
    fn read_table(&mut self) -> Result<Vec<String>, HostError> {
        let text = self.table.read()?;
        self.slots.iter_mut().for_each(|slot| slot.now = None);
        let mut strange = Vec::new();
        for (name, counters) in diskstats::rows(&text) {
            let name = diskstats::sys_name(name);
            if let Some(&at) = self.index.get(name.as_ref()) {
                self.slots[at].now = Some(counters);
            } else if self.choice != Choice::Named && !self.passed_over.contains(name.as_ref()) {
                strange.push(name.into_owned());
            }
        }
        Ok(strange)
    }

    /// Takes in devices seen for the first time, and says whether there are any. A device without a size (a loop device without a file)
    /// is asked for it again in each tick, since it may get one.
    fn meet(&mut self, names: Vec<String>) -> bool {
        let Choice::Every { partitions } = self.choice else { return false };
        let mut new = Vec::new();
        for name in names {
            let size = self.system.attribute(format!("/sys/class/block/{name}/size"));
            if size.is_none_or(|sectors| sectors == "0") {
                continue;
            }
            match topology::examine(&self.system, &name, false) {
                Some(member) if member.layer != Layer::Partition || partitions => new.push(member),
                Some(_) => drop(self.passed_over.insert(name)),
                None => {}
            }
        }
        let met = !new.is_empty();
        self.admit(new);
        met
    }

    /// Makes room for new devices; the readings of the others stay.
    fn admit(&mut self, new: Vec<Member>) {
        if new.is_empty() {
            return;
        }
        let mut readings: HashMap<String, Slot> =
            self.slots.drain(..).map(|slot| (slot.member.name.clone(), slot)).collect();
        let members = readings.values().map(|slot| slot.member.clone()).chain(new).collect();
        for member in topology::arrange(members, self.over) {
            let (before, now, incarnation) = match readings.remove(&member.name) {
                Some(slot) => (slot.before, slot.now, slot.incarnation),
                None => (None, None, block::incarnation(&self.system, &member.name)),
            };
            self.slots.push(Slot { member, paths: Vec::new(), incarnation, before, now, delta: None });
        }
        self.index = self.slots.iter().enumerate().map(|(at, slot)| (slot.member.name.clone(), at)).collect();
        for at in 0..self.slots.len() {
            let path = |name: &String| {
                self.index.get(name).copied().filter(|&at| self.slots[at].member.layer == Layer::Path)
            };
            self.slots[at].paths = self.slots[at].member.below.iter().filter_map(path).collect();
        }
        self.sample.devices = self.slots.iter().map(|slot| shown(&slot.member)).collect();
    }

    /// Turns the readings into rates.
    fn compare(&mut self, interval: Duration) {
        let Sampler { system, slots, sample, .. } = self;
        let usable = interval >= INTERVAL_LEAST;
        for slot in slots.iter_mut() {
            let Slot { member, incarnation, before, now, delta, .. } = slot;
            let replaced = || {
                let current = block::incarnation(system, &member.name);
                std::mem::replace(incarnation, current) != current
            };
            *delta = match (*before, *now) {
                (Some(before), Some(now)) if usable => rates::added(&before, &now, interval, replaced),
                _ => None,
            };
            *before = *now;
        }
        for at in 0..slots.len() {
            if !slots[at].paths.is_empty() {
                slots[at].delta = of_drive_or_paths(slots, at);
            }
        }
        for (slot, device) in slots.iter().zip(&mut sample.devices) {
            device.rates = slot.delta.as_ref().map(|delta| rates::rates(delta, interval));
        }
        let counted = slots.iter().filter(|slot| slot.member.in_total).filter_map(|slot| slot.delta.as_ref());
        sample.total = match usable {
            true => rates::rates(&rates::sum(counted), interval),
            false => Default::default(),
        };
    }
}

/// On many kernels the counters of a multipath NVMe drive stand still, and only those of its paths move
/// (fio #1890). Where both move, the drive's own are the drive's.
fn of_drive_or_paths(slots: &[Slot], drive: usize) -> Option<Counters> {
    let own = slots[drive].delta;
    let stands_still = |delta: &Counters| delta.read_ios == 0 && delta.write_ios == 0;
    if own.is_some_and(|own| !stands_still(&own)) {
        return own;
    }
    let paths = rates::sum(slots[drive].paths.iter().filter_map(|&at| slots[at].delta.as_ref()));
    if stands_still(&paths) { own } else { Some(paths) }
}

fn shown(member: &Member) -> DeviceSample {
    DeviceSample {
        device: member.name.clone(),
        layer: member.layer,
        parents: member.parents.clone(),
        in_total: member.in_total,
        rates: None,
    }
}

#[cfg(test)]
mod tests;
