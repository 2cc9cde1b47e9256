//! What has to change on a host to become what a context says: pure data, from planning it to undoing it.
//!
//! A [`Plan`] is made of [`Step`]s, a step of [`Op`]s. Everything that an operation changes can be told
//! beforehand as an [`Undo`], which is journaled before the operation is done. UUIDs and tags of what is
//! made are chosen when it is planned, so that afterwards ours is told from somebody else's.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Version of the plan's shape.
pub const PLAN_VERSION: u32 = 1;

/// Everything to be done on a host, in order.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct Plan {
    /// [`PLAN_VERSION`].
    pub schema: u32,
    /// Name of the context.
    pub context: String,
    /// `/etc/machine-id` of the host.
    pub machine_id: String,
    /// The context's volumes and the disks they are.
    pub disks: Vec<Member>,
    /// What to do.
    pub steps: Vec<Step>,
    /// Disks that must not be touched, and why.
    pub refusals: Vec<DiskRefusal>,
    /// Why this context cannot be applied here at all, each with its remedy.
    pub problems: Vec<String>,
    /// What to know before going on.
    pub warnings: Vec<String>,
}

impl Plan {
    /// The step of that id.
    pub fn step(&self, id: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == id)
    }

    /// Whether nothing stands against applying it.
    pub fn may_be_applied(&self) -> bool {
        self.refusals.is_empty() && self.problems.is_empty()
    }

    /// Whether there is nothing left to do.
    pub fn is_done(&self) -> bool {
        self.steps.iter().all(|step| !matches!(step.state, StepState::Pending | StepState::Unknown { .. }))
    }
}

/// The parts of setting up a host, in the order of their numbers.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// 00: programs.
    #[default]
    Deps,
    /// 01: kernel settings.
    OsTuning,
    /// 02: arrays.
    RaidSetup,
    /// 03: file systems, mounts, queues.
    DiskTuning,
    /// 05: directories of the database. (04 belongs to the database itself.)
    Db,
}

impl Stage {
    /// All of them.
    pub const ALL: [Stage; 5] =
        [Stage::Deps, Stage::OsTuning, Stage::RaidSetup, Stage::DiskTuning, Stage::Db];

    /// Number and name, as in the name of its script.
    pub fn label(self) -> &'static str {
        match self {
            Stage::Deps => "00-deps",
            Stage::OsTuning => "01-os-tuning",
            Stage::RaidSetup => "02-raid-setup",
            Stage::DiskTuning => "03-disk-tuning",
            Stage::Db => "05-db",
        }
    }
}

/// One thing that is done, verified, journaled and undone as a whole.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(default)]
pub struct Step {
    /// Unique in its plan, and the same in the next plan of the same context.
    pub id: String,
    /// Part of the set-up.
    pub stage: Stage,
    /// What it is, for people.
    pub title: String,
    /// How far it is.
    pub state: StepState,
    /// What it changes.
    pub changes: Vec<Change>,
    /// How.
    pub ops: Vec<Op>,
    /// Ids of the steps that it stands on: undone after this one.
    pub needs: Vec<String>,
    /// Disks and arrays whose content it destroys: checked once more right before.
    pub destroys: Vec<Member>,
    /// Its failure is told, but does not stop the others.
    pub optional: bool,
}

/// How far a step is.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum StepState {
    /// The host is so already.
    Done,
    /// It has to be done.
    #[default]
    Pending,
    /// It cannot be told from here.
    Unknown {
        /// Why not.
        why: String,
    },
    /// It will not be done.
    Skipped {
        /// Why not.
        why: String,
    },
}

/// A value and what it should be.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
pub struct Change {
    /// Which.
    pub what: String,
    /// Now; empty when there is none.
    pub current: String,
    /// Then.
    pub wanted: String,
}

/// An operation on the host.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "kebab-case", tag = "op")]
pub enum Op {
    /// Runs a program: no shell in between.
    Run {
        /// Program and arguments.
        argv: Vec<String>,
        /// How to go back; None when there is nothing to go back from.
        undo: Option<Undo>,
        /// Carry on when it fails.
        may_fail: bool,
    },
    /// Writes a file of ours, as a whole.
    WriteFile {
        /// Where.
        path: String,
        /// What.
        text: String,
    },
    /// Sets a value of the kernel under `/proc/sys` or `/sys`.
    Set {
        /// Where.
        path: String,
        /// What.
        value: String,
        /// Path and value that bring the former state back, where writing the old value to the same
        /// path does not: `vm.dirty_bytes` and `vm.dirty_ratio` put each other to 0.
        restore: Option<(String, String)>,
    },
    /// Adds lines to the end of a file that is not ours.
    AddLines {
        /// Where.
        path: String,
        /// Whole lines with their line ends, the first of them a comment that names us.
        lines: String,
    },
    /// Makes a directory.
    MakeDirectory {
        /// Where.
        path: String,
        /// `user:group`, `user`, or empty for root.
        owner: String,
        /// Mode.
        mode: u32,
    },
    /// Fills the first and last MiB with zeros, where every signature lies.
    ZeroEnds {
        /// Of what.
        member: Member,
    },
}

/// How to go back. Each is carried out only where the state is still the one that we made.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "kebab-case", tag = "undo")]
pub enum Undo {
    /// Gives a file its former content, or removes it.
    File {
        /// Where.
        path: String,
        /// What we wrote.
        wrote: String,
        /// What was there.
        before: Option<String>,
    },
    /// Gives a kernel setting its former value.
    Value {
        /// Where.
        path: String,
        /// What we set.
        set: String,
        /// What it was.
        before: String,
        /// See [`Op::Set`].
        restore: Option<(String, String)>,
    },
    /// Takes our lines out of a file again.
    Lines {
        /// Where.
        path: String,
        /// Exactly what was added, with the line end that the last line lacked.
        added: String,
        /// Whether the file was there.
        existed: bool,
    },
    /// Removes a directory that is empty.
    Directory {
        /// Where.
        path: String,
    },
    /// Unmounts.
    Unmount {
        /// Where.
        mount: String,
        /// UUID of the file system that we mounted.
        uuid: String,
        /// Directories that we made on it: nothing else may be there.
        ours: Vec<String>,
    },
    /// Wipes a file system's signature.
    FileSystem {
        /// What it is on.
        on: Member,
        /// Type.
        kind: String,
        /// UUID that we gave it.
        uuid: String,
    },
    /// Stops an array and clears its members.
    MdArray {
        /// UUID that we gave it, as mdadm writes it.
        uuid: String,
        /// Where it appears.
        device: String,
        /// Members.
        members: Vec<Member>,
    },
    /// Removes a logical volume, its group and its physical volumes.
    Lvm {
        /// Volume group.
        group: String,
        /// Logical volume.
        volume: String,
        /// Tag that we gave the group.
        tag: String,
        /// Members and the UUIDs that we gave them.
        members: Vec<(Member, String)>,
    },
    /// Runs a program that is harmless to run again: caches and copies made anew.
    Run {
        /// Program and arguments.
        argv: Vec<String>,
    },
    /// Stays as it is.
    Stays {
        /// What, and why.
        why: String,
    },
}

/// A disk or array that something is made on, known by more than its name.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
#[serde(default)]
pub struct Member {
    /// Name in the context.
    pub name: String,
    /// Kernel name: `nvme1n1`, `md0`; empty while it does not exist.
    pub device: String,
    /// Its node.
    pub node: String,
    /// Serial number of a disk.
    pub serial: String,
    /// World-wide name of a disk.
    pub wwn: String,
    /// UUID of an mdadm array, or `group/volume` of LVM; empty for a disk.
    pub array: String,
    /// Size; 0 while it does not exist.
    pub size_bytes: u64,
}

/// What is needed to know about a host besides its probe, for one context.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct Interests {
    /// Programs that a step may need.
    pub programs: BTreeSet<String>,
    /// Files that a step may write.
    pub files: BTreeSet<String>,
    /// Directories that a step may make or mount on.
    pub directories: BTreeSet<String>,
    /// Users and groups that a step may need: `user` and `:group`.
    pub accounts: BTreeSet<String>,
    /// Devices that a step may destroy, by kernel name: what is on them is read.
    pub devices: BTreeSet<String>,
    /// Devices that file systems are to lie on, by kernel name.
    pub filesystems: BTreeSet<String>,
}

/// The answers to [`Interests`].
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct Ground {
    /// Programs that are there.
    pub programs: BTreeSet<String>,
    /// Files that are there, with their text.
    pub files: BTreeMap<String, String>,
    /// Directories that are there.
    pub directories: BTreeMap<String, DirectoryFacts>,
    /// Users and groups that are there.
    pub accounts: BTreeSet<String>,
    /// What speaks against destroying a device, by kernel name.
    pub evidence: BTreeMap<String, Vec<Evidence>>,
    /// UUIDs of file systems, by kernel name of their device.
    pub uuids: BTreeMap<String, String>,
    /// Whether systemd runs the host.
    pub systemd: bool,
    /// Whether this was asked by root, who sees everything.
    pub root: bool,
}

/// A directory that is there.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default)]
pub struct DirectoryFacts {
    /// `user:group`.
    pub owner: String,
    /// Mode, without the type.
    pub mode: u32,
    /// Whether nothing is in it.
    pub empty: bool,
    /// Whether it is something else than a directory.
    pub is_other: bool,
}

/// A disk that must not be touched.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
pub struct DiskRefusal {
    /// Which.
    pub disk: Member,
    /// Why.
    pub evidence: Vec<Evidence>,
}

/// Something that speaks against destroying what is on a device.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Evidence {
    /// Sort.
    pub kind: EvidenceKind,
    /// What was seen.
    pub says: String,
}

/// Sorts of evidence.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceKind {
    /// The root file system is on it.
    Root,
    /// `/boot` or `/boot/efi` is on it.
    Boot,
    /// It, or something on it, is mounted.
    Mounted,
    /// It, or something on it, is swap space.
    Swap,
    /// Something is built on it.
    Held,
    /// It is a member of an array that the kernel knows, running or not.
    ArrayMember,
    /// Another program has it open exclusively.
    Busy,
    /// It takes no writes.
    ReadOnly,
    /// Its medium can be taken out.
    Removable,
    /// One of several ways to a disk.
    Path,
    /// It is no whole disk.
    NotADisk,
    /// It is not the disk that was meant.
    OtherDisk,
    /// It is smaller than was meant.
    TooSmall,
    /// It is not there any more.
    Gone,
    /// What is on it could not be found out.
    Unreadable,
    /// A known signature: file system, LVM, RAID, encryption, swap, ...
    Signature,
    /// A partition table.
    PartitionTable,
    /// Partitions.
    Partitions,
    /// Data of no kind that we know.
    UnknownData,
}

impl EvidenceKind {
    /// Whether naming the disk with `--destroy-data` overrules it: only what is *on* a disk may be given
    /// up that way, never that somebody uses it or that it is another disk.
    pub fn is_overruled_by_name(self) -> bool {
        matches!(
            self,
            EvidenceKind::Signature
                | EvidenceKind::PartitionTable
                | EvidenceKind::Partitions
                | EvidenceKind::UnknownData
        )
    }
}
