//! A host in memory: disks, arrays, file systems, mounts, files and kernel settings.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use iobound_host::prepare::{Machine, Ran};
use iobound_model::prepare::evidence;
use iobound_record::{
    Device, DeviceSort, DirectoryFacts, Evidence, EvidenceKind, Ground, Interests, LogicalVolume, LvmSegment,
    Machine as MachineFacts, MdArray, MdMember, MountedFileSystem, Probe,
};

/// What lies on a device.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Content {
    #[default]
    Empty,
    /// Remains that no signature tells of.
    Junk,
    MdMember(String),
    Pv {
        uuid: String,
        group: String,
    },
    Fs {
        kind: String,
        uuid: String,
        stripe: (u64, u64),
        directories: BTreeMap<String, (String, u32)>,
        files: BTreeSet<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub sort: DeviceSort,
    pub serial: String,
    pub size: u64,
    pub content: Content,
    pub scheduler: String,
    pub nr_requests: u32,
    pub read_ahead_kb: u64,
    /// Node beside `/dev/NAME`.
    pub node: String,
    /// `level`, chunk, members, UUID for an array; `striped`, ... for a volume.
    pub level: String,
    pub chunk: u64,
    pub below: Vec<String>,
    pub uuid: String,
}

/// Everything that can change.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct State {
    pub blocks: BTreeMap<String, Block>,
    /// Tags of volume groups.
    pub groups: BTreeMap<String, String>,
    /// Mount point to device, in order of mounting.
    pub mounts: Vec<(String, String, String)>,
    pub files: BTreeMap<String, Vec<u8>>,
    pub directories: BTreeMap<String, (String, u32)>,
    pub settings: BTreeMap<String, String>,
    pub programs: BTreeSet<String>,
}

pub struct SimulatedHost {
    pub state: RefCell<State>,
    /// Changes left before everything stops, as by SIGKILL.
    pub left: Cell<usize>,
    pub changes: Cell<usize>,
    /// A program that fails, whatever it is asked.
    pub failing: RefCell<Option<String>>,
}

pub const MACHINE: &str = "0123456789abcdef0123456789abcdef";

impl SimulatedHost {
    pub fn new(disks: &[(&str, u64)]) -> Self {
        let mut state = State::default();
        for (at, (serial, size)) in disks.iter().enumerate() {
            state.blocks.insert(format!("nvme{}n1", at + 1), disk(serial, *size));
        }
        let settings = [
            ("vm/dirty_bytes", "0"),
            ("vm/dirty_ratio", "20"),
            ("vm/dirty_background_bytes", "0"),
            ("vm/dirty_background_ratio", "10"),
            ("vm/dirty_writeback_centisecs", "500"),
            ("vm/dirty_expire_centisecs", "3000"),
            ("vm/swappiness", "60"),
            ("vm/overcommit_memory", "0"),
        ];
        for (name, value) in settings {
            state.settings.insert(format!("/proc/sys/{name}"), value.into());
        }
        state.settings.insert("/sys/kernel/mm/transparent_hugepage/enabled".into(), "always".into());
        let programs = [
            "mdadm",
            "lvm",
            "mkfs.xfs",
            "mke2fs",
            "fio",
            "apt-get",
            "update-initramfs",
            "udevadm",
            "blockdev",
            "systemd-tmpfiles",
        ];
        state.programs = programs.map(String::from).into();
        state.files.insert(
            "/etc/fstab".into(),
            b"# odd\n\nUUID=1\t/\text4\tdefaults 0 1\r\n/dev/x none swap".into(),
        );
        state.files.insert("/etc/mdadm/mdadm.conf".into(), b"HOMEHOST <system>\n".into());
        for directory in ["/etc", "/run", "/mnt"] {
            state.directories.insert(directory.into(), ("root:root".into(), 0o755));
        }
        SimulatedHost {
            state: RefCell::new(state),
            left: Cell::new(usize::MAX),
            changes: Cell::new(0),
            failing: RefCell::new(None),
        }
    }

    /// Comes back after a cut.
    pub fn revive(&self) {
        self.left.set(usize::MAX);
    }

    /// Counts one change; fails once the host is cut off.
    pub fn tick(&self) -> io::Result<()> {
        let left = self.left.get();
        if left == 0 {
            return Err(io::Error::other("cut off"));
        }
        self.left.set(left - 1);
        self.changes.set(self.changes.get() + 1);
        Ok(())
    }

    fn alive(&self) -> io::Result<()> {
        if self.left.get() == 0 { Err(io::Error::other("cut off")) } else { Ok(()) }
    }
}

pub fn disk(serial: &str, size: u64) -> Block {
    Block {
        sort: DeviceSort::Disk,
        serial: serial.into(),
        size,
        content: Content::Empty,
        scheduler: "none".into(),
        nr_requests: 1023,
        read_ahead_kb: 128,
        node: String::new(),
        level: String::new(),
        chunk: 0,
        below: Vec::new(),
        uuid: String::new(),
    }
}

impl State {
    /// The device of a node.
    pub fn device(&self, node: &str) -> Option<String> {
        let name = node.strip_prefix("/dev/")?;
        if self.blocks.contains_key(name) {
            return Some(name.to_owned());
        }
        self.blocks.iter().find(|(_, block)| block.node == node).map(|(name, _)| name.clone())
    }

    pub fn above(&self, device: &str) -> Vec<String> {
        let on = self.blocks.iter().filter(|(_, block)| block.below.iter().any(|below| below == device));
        on.map(|(name, _)| name.clone()).collect()
    }

    /// The file system that a path lies on, and the path on it.
    pub fn on_mount(&self, path: &str) -> Option<(String, String)> {
        let fit = self.mounts.iter().rev().filter(|(mount, ..)| {
            path == mount || path.strip_prefix(mount.as_str()).is_some_and(|rest| rest.starts_with('/'))
        });
        let (mount, device, _) = fit.max_by_key(|(mount, ..)| mount.len())?;
        Some((device.clone(), path[mount.len()..].trim_start_matches('/').to_owned()))
    }

    fn holds(&self, block: &Block) -> String {
        match &block.content {
            Content::Empty | Content::Junk => String::new(),
            Content::MdMember(_) => "linux_raid_member".into(),
            Content::Pv { .. } => "LVM2_member".into(),
            Content::Fs { kind, .. } => kind.clone(),
        }
    }

    pub fn probe(&self) -> Probe {
        let setting = |path: &str| self.settings.get(path).cloned().unwrap_or_default();
        let mut probe = Probe {
            machine: MachineFacts { machine_id: MACHINE.into(), ..MachineFacts::default() },
            transparent_hugepage: setting("/sys/kernel/mm/transparent_hugepage/enabled"),
            ..Probe::default()
        };
        for (path, value) in &self.settings {
            if let Some(name) = path.strip_prefix("/proc/sys/") {
                probe.sysctl.insert(name.replace('/', "."), value.clone());
            }
        }
        for (name, block) in &self.blocks {
            probe.devices.push(Device {
                name: name.clone(),
                sort: block.sort,
                serial: block.serial.clone(),
                transport: "nvme".into(),
                size_bytes: block.size,
                scheduler: block.scheduler.clone(),
                schedulers: vec!["none".into(), "mq-deadline".into()],
                nr_requests: block.nr_requests,
                read_ahead_bytes: block.read_ahead_kb << 10,
                below: block.below.clone(),
                above: self.above(name),
                holds: Some(self.holds(block)),
                mounts: self.mounts.iter().filter(|m| m.1 == *name).map(|m| m.0.clone()).collect(),
                ..Device::default()
            });
            match block.sort {
                DeviceSort::Md => probe.arrays.push(self.md(name, block)),
                DeviceSort::Lvm => probe.logical_volumes.push(self.lv(name, block)),
                _ => {}
            }
        }
        for (mount, device, options) in &self.mounts {
            if let Content::Fs { kind, uuid, stripe, .. } = &self.blocks[device].content {
                probe.filesystems.push(MountedFileSystem {
                    mount: mount.clone(),
                    device: device.clone(),
                    kind: kind.clone(),
                    options: options.clone(),
                    uuid: uuid.clone(),
                    stripe_unit_bytes: Some(stripe.0),
                    stripe_width_bytes: Some(stripe.1),
                    ..MountedFileSystem::default()
                });
            }
        }
        probe
    }

    fn md(&self, name: &str, block: &Block) -> MdArray {
        let members =
            block.below.iter().map(|device| MdMember { device: device.clone(), ..MdMember::default() });
        MdArray {
            name: name.into(),
            level: block.level.clone(),
            chunk_bytes: block.chunk,
            uuid: block.uuid.clone(),
            raid_disks: block.below.len() as u32,
            members: members.collect(),
            ..MdArray::default()
        }
    }

    fn lv(&self, name: &str, block: &Block) -> LogicalVolume {
        let (group, volume) = block.uuid.split_once('/').unwrap();
        let segment = LvmSegment {
            kind: block.level.clone(),
            stripes: block.below.len() as u32,
            stripe_bytes: block.chunk,
            devices: block.below.clone(),
            ..LvmSegment::default()
        };
        LogicalVolume {
            name: volume.into(),
            group: group.into(),
            device: name.into(),
            segments: vec![segment],
            ..LogicalVolume::default()
        }
    }
}

/// `/sys/block/NAME/queue/WHAT`.
fn queue(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix("/sys/block/")?.split_once("/queue/")
}

impl Machine for SimulatedHost {
    fn probe(&self) -> io::Result<Probe> {
        self.alive()?;
        Ok(self.state.borrow().probe())
    }

    fn ground(&self, interests: &Interests) -> Ground {
        let state = self.state.borrow();
        let mut ground =
            Ground { root: true, systemd: true, programs: state.programs.clone(), ..Ground::default() };
        ground.accounts = ["postgres", ":postgres"].map(String::from).into();
        for path in &interests.files {
            if let Some(bytes) = state.files.get(path) {
                ground.files.insert(path.clone(), String::from_utf8_lossy(bytes).into_owned());
            }
        }
        for path in &interests.directories {
            let Some(entries) = self.listed(&state, path) else { continue };
            let known = match state.on_mount(path) {
                Some((device, rest)) if !rest.is_empty() => match &state.blocks[&device].content {
                    Content::Fs { directories, .. } => directories.get(&rest).cloned(),
                    _ => None,
                },
                _ => state.directories.get(path).cloned(),
            };
            let (owner, mode) = known.unwrap_or(("root:root".into(), 0o755));
            let facts = DirectoryFacts { owner, mode, empty: entries.is_empty(), is_other: false };
            ground.directories.insert(path.clone(), facts);
        }
        for device in &interests.devices {
            ground.evidence.insert(device.clone(), self.seen(&state, device));
        }
        for device in &interests.filesystems {
            if let Some(Content::Fs { uuid, .. }) = state.blocks.get(device).map(|block| &block.content) {
                ground.uuids.insert(device.clone(), uuid.clone());
            }
        }
        ground
    }

    fn evidence(&self, device: &str) -> Vec<Evidence> {
        self.seen(&self.state.borrow(), device)
    }

    fn filesystem(&self, node: &str) -> Option<(String, String)> {
        let state = self.state.borrow();
        match &state.blocks[&state.device(node)?].content {
            Content::Fs { kind, uuid, .. } => Some((kind.clone(), uuid.clone())),
            _ => None,
        }
    }

    fn run(&self, argv: &[String]) -> io::Result<Ran> {
        self.alive()?;
        if self.failing.borrow().as_deref() == Some(argv[0].as_str()) {
            return Ok(Ran {
                ok: false,
                stderr: format!("{}: input/output error", argv[0]),
                ..Ran::default()
            });
        }
        match crate::tools::run(self, &argv.iter().map(String::as_str).collect::<Vec<_>>()) {
            Ok(stdout) => Ok(Ran { ok: true, stdout, stderr: String::new() }),
            Err(crate::tools::Failed::Said(stderr)) => Ok(Ran { ok: false, stdout: String::new(), stderr }),
            Err(crate::tools::Failed::Cut(error)) => Err(error),
        }
    }

    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        self.alive()?;
        let state = self.state.borrow();
        if let Some(value) = state.settings.get(path) {
            return Ok(Some(value.clone().into_bytes()));
        }
        if let Some((name, what)) = queue(path) {
            let Some(block) = state.blocks.get(name) else { return Ok(None) };
            return Ok(Some(
                match what {
                    "scheduler" => format!("[{}] other", block.scheduler),
                    "nr_requests" => block.nr_requests.to_string(),
                    _ => block.read_ahead_kb.to_string(),
                }
                .into_bytes(),
            ));
        }
        Ok(state.files.get(path).cloned())
    }

    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.tick()?;
        self.state.borrow_mut().files.insert(path.into(), bytes.into());
        Ok(())
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.tick()?;
        self.state.borrow_mut().files.remove(path);
        Ok(())
    }

    fn set(&self, path: &str, value: &str) -> io::Result<()> {
        self.tick()?;
        let mut state = self.state.borrow_mut();
        if let Some((name, what)) = queue(path) {
            let block = state.blocks.get_mut(name).ok_or(io::ErrorKind::NotFound)?;
            match what {
                // As the kernel does: a scheduler comes with a queue length of its own.
                "scheduler" => {
                    block.nr_requests = if value == "none" { 1023 } else { 256 };
                    block.scheduler = value.into();
                }
                "nr_requests" => block.nr_requests = value.parse().map_err(io::Error::other)?,
                _ => block.read_ahead_kb = value.parse().map_err(io::Error::other)?,
            }
            return Ok(());
        }
        if value == "0" && path.ends_with("_bytes") {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for (bytes, ratio) in
            [("dirty_bytes", "dirty_ratio"), ("dirty_background_bytes", "dirty_background_ratio")]
        {
            for (one, other) in [(bytes, ratio), (ratio, bytes)] {
                if path.ends_with(&format!("/{one}")) {
                    state.settings.insert(format!("/proc/sys/vm/{other}"), "0".into());
                }
            }
        }
        state.settings.insert(path.into(), value.into());
        Ok(())
    }

    fn make_directory(&self, path: &str, owner: &str, mode: u32) -> io::Result<()> {
        self.tick()?;
        let mut state = self.state.borrow_mut();
        let owner = if owner.is_empty() { "root:root" } else { owner };
        match state.on_mount(path) {
            Some((device, rest)) => {
                let Content::Fs { directories, .. } = &mut state.blocks.get_mut(&device).unwrap().content
                else {
                    return Err(io::ErrorKind::NotFound.into());
                };
                directories.insert(rest, (owner.into(), mode));
            }
            None => drop(state.directories.insert(path.into(), (owner.into(), mode))),
        }
        Ok(())
    }

    fn remove_directory(&self, path: &str) -> io::Result<()> {
        self.tick()?;
        let mut state = self.state.borrow_mut();
        match state.on_mount(path) {
            Some((device, rest)) => {
                if let Content::Fs { directories, .. } = &mut state.blocks.get_mut(&device).unwrap().content {
                    directories.remove(&rest);
                }
            }
            None => drop(state.directories.remove(path)),
        }
        Ok(())
    }

    fn entries(&self, path: &str) -> io::Result<Option<Vec<(String, bool)>>> {
        self.alive()?;
        Ok(self.listed(&self.state.borrow(), path))
    }

    fn zero_ends(&self, node: &str) -> io::Result<()> {
        self.tick()?;
        let mut state = self.state.borrow_mut();
        let device = state.device(node).ok_or(io::ErrorKind::NotFound)?;
        let is_used = !state.above(&device).is_empty() || state.mounts.iter().any(|mount| mount.1 == device);
        if is_used {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        state.blocks.get_mut(&device).unwrap().content = Content::Empty;
        Ok(())
    }

    fn users_of(&self, _: &str) -> Vec<String> {
        vec!["process 7 (postgres) has a file open".into()]
    }
}

impl SimulatedHost {
    fn seen(&self, state: &State, device: &str) -> Vec<Evidence> {
        let mut found = evidence(&state.probe(), device);
        if state.blocks.get(device).is_some_and(|block| block.content == Content::Junk) {
            found.push(Evidence { kind: EvidenceKind::UnknownData, says: format!("{device} is not empty") });
        }
        found
    }

    fn listed(&self, state: &State, path: &str) -> Option<Vec<(String, bool)>> {
        let below = |all: &mut dyn Iterator<Item = (&String, bool)>, base: &str| {
            let prefix = if base.is_empty() { String::new() } else { format!("{base}/") };
            let names = all.filter_map(|(name, is_directory)| {
                let rest = name.strip_prefix(&prefix)?;
                (!rest.is_empty() && !rest.contains('/')).then(|| (rest.to_owned(), is_directory))
            });
            names.collect::<Vec<_>>()
        };
        match state.on_mount(path) {
            Some((device, rest)) => {
                let Content::Fs { directories, files, .. } = &state.blocks[&device].content else {
                    return None;
                };
                if !rest.is_empty() && !directories.contains_key(&rest) {
                    return None;
                }
                let mut all =
                    directories.keys().map(|name| (name, true)).chain(files.iter().map(|f| (f, false)));
                Some(below(&mut all, &rest))
            }
            None => {
                state.directories.get(path)?;
                Some(below(&mut state.directories.keys().map(|name| (name, true)), path))
            }
        }
    }
}
