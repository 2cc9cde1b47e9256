//! All that preparing does to a machine, as one small interface.

use std::io;

use iobound_record::{Evidence, Ground, Interests, Plan, Probe};

/// What a program said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Whether it ended with 0.
    pub ok: bool,
    /// Its output.
    pub stdout: String,
    /// Its complaints.
    pub stderr: String,
}

/// A machine that can be looked at and changed. Paths are absolute.
pub trait Machine {
    /// Everything about it.
    ///
    /// # Errors
    /// Nothing at all can be read.
    fn probe(&self) -> io::Result<Probe>;

    /// Answers to a plan's questions.
    fn ground(&self, interests: &Interests) -> Ground;

    /// What speaks against destroying what is on a device, seen this moment, by kernel name.
    fn evidence(&self, device: &str) -> Vec<Evidence>;

    /// Type and UUID of the file system on a node; None without one.
    fn filesystem(&self, node: &str) -> Option<(String, String)>;

    /// Runs a program to its end.
    ///
    /// # Errors
    /// It could not be started: of kind `NotFound` when it is missing.
    fn run(&self, argv: &[String]) -> io::Result<Ran>;

    /// A file's bytes; None when there is none.
    ///
    /// # Errors
    /// It cannot be read.
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>>;

    /// Gives a file new bytes, all or none of them, and keeps its owner and mode.
    ///
    /// # Errors
    /// It cannot be written.
    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// It is there and cannot be removed.
    fn remove(&self, path: &str) -> io::Result<()>;

    /// Writes a value into `/proc/sys` or `/sys`.
    ///
    /// # Errors
    /// The kernel does not take it.
    fn set(&self, path: &str, value: &str) -> io::Result<()>;

    /// Makes one directory; `owner` is `user:group`, or empty for root.
    ///
    /// # Errors
    /// It cannot be made, or its owner is not known.
    fn make_directory(&self, path: &str, owner: &str, mode: u32) -> io::Result<()>;

    /// Removes an empty directory.
    ///
    /// # Errors
    /// It is not empty, or cannot be removed.
    fn remove_directory(&self, path: &str) -> io::Result<()>;

    /// Names in a directory, and whether each is a directory; None when there is none.
    ///
    /// # Errors
    /// It cannot be read.
    fn entries(&self, path: &str) -> io::Result<Option<Vec<(String, bool)>>>;

    /// Fills the first and last MiB of a device with zeros, while nobody else has it open exclusively.
    ///
    /// # Errors
    /// Somebody uses it, or it takes no writes.
    fn zero_ends(&self, node: &str) -> io::Result<()>;

    /// Processes that have something below a mount point open, in words.
    fn users_of(&self, mount: &str) -> Vec<String>;
}

/// What has to be done to a machine, asked again as it changes.
pub trait Planner {
    /// What must be known besides the probe.
    fn interests(&self, probe: &Probe) -> Interests;

    /// The plan.
    fn plan(&self, probe: &Probe, ground: &Ground) -> Plan;

    /// Kernel names of devices whose content may be destroyed.
    fn destroy(&self, probe: &Probe) -> Vec<String>;
}

/// How closely a machine is looked at for a plan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Everything, what the disks hold included.
    Full,
    /// All but the disks' contents: enough to tell what is done. Each step that destroys looks at its
    /// own disks once more.
    Quick,
}

/// The plan for the machine as it is now.
///
/// # Errors
/// It cannot be looked at.
pub(super) fn plan_now(
    machine: &dyn Machine,
    planner: &dyn Planner,
    look: Look,
) -> io::Result<(Probe, Plan)> {
    let probe = machine.probe()?;
    let mut interests = planner.interests(&probe);
    if look == Look::Quick {
        interests.devices.clear();
    }
    let ground = machine.ground(&interests);
    let plan = planner.plan(&probe, &ground);
    Ok((probe, plan))
}

/// A kernel setting: the chosen one out of `always [madvise] never`, else the whole text.
pub(super) fn current_value(machine: &dyn Machine, path: &str) -> io::Result<Option<String>> {
    let Some(bytes) = machine.read(path)? else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(chosen, _)| chosen);
    Ok(Some(chosen.map_or(text.clone(), str::to_owned)))
}
