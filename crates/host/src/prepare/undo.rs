//! Going back, in reverse order, only where the state is still the one that we made.

use std::cell::Cell;
use std::collections::BTreeMap;

use iobound_record::{Probe, Undo};

use super::apply::{Told, run};
use super::dissolve;
use super::file_lines::{Found, without};
use super::journal::{Entry, EntryState, Journal};
use super::machine::{Machine, Planner, current_value};
use super::{PrepareError, resolve};

/// How undoing went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// Titles of the steps that were undone.
    pub done: Vec<String>,
    /// Titles of the steps that were not, and why.
    pub refused: Vec<(String, String)>,
}

/// Undoes everything that the journal says was done. A step that cannot be undone safely is told of; those
/// that it stands on are left alone as well, and the others are undone.
///
/// # Errors
/// The journal cannot be written, the machine cannot be looked at, or somebody asked to stop.
pub fn undo(
    machine: &dyn Machine,
    planner: &dyn Planner,
    journal: &mut Journal,
    stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(Told),
) -> Result<Undone, PrepareError> {
    let mut undone = Undone::default();
    dissolve::stop_looking(machine).map_err(std::io::Error::other)?;
    // Steps that still stand on others, by the ids of those.
    let mut stands_on: BTreeMap<String, String> = BTreeMap::new();
    for entry in journal.entries().to_vec().into_iter().rev() {
        if stop() {
            return Err(PrepareError::Interrupted { step: entry.step });
        }
        if let Some(above) = stands_on.get(&entry.step) {
            let why = format!("'{above}' still stands on it");
            entry.needs.iter().for_each(|id| drop(stands_on.insert(id.clone(), entry.title.clone())));
            undone.refused.push((entry.title, why));
            continue;
        }
        let destroy = planner.destroy(&machine.probe()?);
        let mut refused = Vec::new();
        let mut undoing = Undoing { machine, destroy: &destroy, journal, refused: &mut refused, tell };
        take_back(&mut undoing, &entry)?;
        if refused.is_empty() {
            tell(Told::Done(entry.title.clone()));
            undone.done.push(entry.title);
        } else {
            entry.needs.iter().for_each(|id| drop(stands_on.insert(id.clone(), entry.title.clone())));
            undone.refused.push((entry.title, refused.join("; ")));
        }
    }
    Ok(undone)
}

/// What taking a step back needs.
pub(super) struct Undoing<'a> {
    pub machine: &'a dyn Machine,
    pub destroy: &'a [String],
    pub journal: &'a mut Journal,
    pub refused: &'a mut Vec<String>,
    pub tell: &'a mut dyn FnMut(Told),
}

/// Takes one step back.
pub(super) fn take_back(undoing: &mut Undoing, entry: &Entry) -> Result<(), PrepareError> {
    let was_done = entry.state == EntryState::Done;
    undoing.journal.undoing(entry.seq)?;
    let one = One {
        machine: undoing.machine,
        destroy: undoing.destroy,
        is_loose: !was_done,
        touched: Cell::new(false),
    };
    let is_last = |undo: &&Undo| matches!(undo, Undo::Run { .. });
    // Caches are made anew from what the others leave.
    let order = entry.undo.iter().rev().filter(|undo| !is_last(undo));
    for undo in order.chain(entry.undo.iter().rev().filter(is_last)) {
        match one.take(undo) {
            Ok(note) => {
                one.touched.set(true);
                note.into_iter().for_each(|note| (undoing.tell)(Told::Note(note)));
            }
            Err(why) => {
                undoing.refused.push(why);
                // What comes before it in the step is below it.
                break;
            }
        }
    }
    settle_queues(undoing.machine, entry, undoing.refused);
    if undoing.refused.is_empty() {
        undoing.journal.undone(entry.seq)?;
    } else if was_done && !one.touched.get() {
        // Whole as before. Otherwise it stays open, since what is left of it is less than what was made.
        undoing.journal.kept(entry.seq)?;
    }
    Ok(())
}

/// A scheduler brings its own queue length along, so a value that was brought back may have changed again.
fn settle_queues(machine: &dyn Machine, entry: &Entry, refused: &mut Vec<String>) {
    if !refused.is_empty() {
        return;
    }
    for undo in &entry.undo {
        let Undo::Value { path, before, restore: None, .. } = undo else { continue };
        let differs = matches!(current_value(machine, path), Ok(Some(now)) if now != *before);
        if differs && let Err(error) = machine.set(path, before) {
            refused.push(format!("{path} does not take '{before}' back: {error}"));
        }
    }
}

/// One way back. Each returns a note, nothing, or why it was not gone.
pub(super) struct One<'a> {
    pub machine: &'a dyn Machine,
    pub destroy: &'a [String],
    /// The step was cut short, or its undoing was: what is there may be less than what was made.
    pub is_loose: bool,
    /// Whether anything was changed.
    pub touched: Cell<bool>,
}

type Outcome = Result<Option<String>, String>;

impl One<'_> {
    fn take(&self, undo: &Undo) -> Outcome {
        match undo {
            Undo::File { path, wrote, before } => self.file(path, wrote, before.as_deref()),
            Undo::Value { path, set, before, restore } => self.value(path, set, before, restore.as_ref()),
            Undo::Lines { path, added, existed } => self.lines(path, added, *existed),
            Undo::Directory { path } => self.directory(path),
            Undo::Unmount { mount, uuid, ours } => dissolve::unmount(self, mount, uuid, ours),
            Undo::FileSystem { on, kind, uuid } => dissolve::filesystem(self, on, kind, uuid),
            Undo::MdArray { uuid, device, members } => dissolve::md_array(self, uuid, device, members),
            Undo::Lvm { group, volume, tag, members } => dissolve::lvm(self, group, volume, tag, members),
            Undo::Run { argv } => Ok(run(self.machine, argv).err()),
            Undo::Stays { why } => Ok(Some(why.clone())),
        }
    }

    /// Runs a program that changes something.
    pub fn act(&self, argv: &[&str]) -> Result<String, String> {
        self.touched.set(true);
        run(self.machine, &argv.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    pub fn probe(&self) -> Result<Probe, String> {
        self.machine.probe().map_err(|error| error.to_string())
    }

    /// What stands against destroying a device that we made something on, beside the signs of ours.
    pub fn standing(&self, device: &str) -> Option<String> {
        let named = self.destroy.iter().any(|name| name == device);
        let found = self.machine.evidence(device);
        found.into_iter().find(|seen| !(named && seen.kind.is_overruled_by_name())).map(|seen| seen.says)
    }

    fn file(&self, path: &str, wrote: &str, before: Option<&str>) -> Outcome {
        let now = self.machine.read(path).map_err(|error| format!("{path}: {error}"))?;
        let said = |error| format!("{path}: {error}");
        match now {
            now if now.as_deref() == before.map(str::as_bytes) => Ok(None),
            Some(now) if now == wrote.as_bytes() => match before {
                Some(before) => self.machine.write(path, before.as_bytes()).map(|()| None).map_err(said),
                None => self.machine.remove(path).map(|()| None).map_err(said),
            },
            Some(_) => {
                Err(format!("{path} was edited since iobound wrote it: take it away by hand, or keep it"))
            }
            None => {
                Err(format!("{path} was removed since iobound wrote it, and something else was there before"))
            }
        }
    }

    fn value(&self, path: &str, set: &str, before: &str, restore: Option<&(String, String)>) -> Outcome {
        let now = current_value(self.machine, path).map_err(|error| format!("{path}: {error}"))?;
        let Some(now) = now else {
            // Its device is gone, or will come back with values of its own.
            return Ok(Some(format!("{path} is gone, and its value with it")));
        };
        if now == before {
            return Ok(None);
        }
        // A new scheduler brings a queue length of its own; cut off between the two, that one is left.
        let is_by_scheduler = self.is_loose && path.ends_with("/queue/nr_requests");
        if now != set && !is_by_scheduler {
            return Err(format!(
                "{path} is '{now}': iobound set '{set}' (before: '{before}'), and somebody changed it since"
            ));
        }
        let (path, value) = restore.map_or((path, before), |(path, value)| (path.as_str(), value.as_str()));
        let done = self.machine.set(path, value).map(|()| None);
        done.map_err(|error| format!("{path} does not take '{value}' back: {error}"))
    }

    fn lines(&self, path: &str, added: &str, existed: bool) -> Outcome {
        let said = |error| format!("{path}: {error}");
        let Some(text) = self.machine.read(path).map_err(said)? else { return Ok(None) };
        match without(&text, added) {
            Found::Gone => Ok(None),
            Found::Edited => {
                Err(format!("the lines of iobound in {path} were edited: take them out by hand"))
            }
            Found::There(left) if left.is_empty() && !existed => {
                self.machine.remove(path).map(|()| None).map_err(said)
            }
            Found::There(left) => self.machine.write(path, &left).map(|()| None).map_err(said),
        }
    }

    fn directory(&self, path: &str) -> Outcome {
        let entries = self.machine.entries(path).map_err(|error| format!("{path}: {error}"))?;
        match entries.as_deref() {
            None => Ok(None),
            Some([]) => {
                self.machine.remove_directory(path).map(|()| None).map_err(|error| format!("{path}: {error}"))
            }
            Some([(first, _), ..]) => {
                let probe = self.probe()?;
                let holds = |mount: &str| path.strip_prefix(mount).is_some_and(|rest| rest.starts_with('/'));
                let on = probe.filesystems.iter().rev().find(|fs| fs.mount != "/" && holds(&fs.mount));
                let hint = match on {
                    // It goes with its file system.
                    Some(fs) if self.destroy.contains(&fs.device) => return Ok(None),
                    Some(fs) => {
                        format!(", or give --destroy-data /dev/{} to lose everything there", fs.device)
                    }
                    None => String::new(),
                };
                Err(format!("{path} holds {first}, which iobound did not make: move it away{hint}"))
            }
        }
    }
}

/// Whether a member is there, and under which node.
pub(super) fn place(probe: &Probe, member: &iobound_record::Member) -> Option<(String, String)> {
    let device = resolve::device_of(probe, member)?;
    let node = resolve::node(&device);
    Some((device, node))
}
