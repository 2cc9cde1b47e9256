//! A context of what a probe found.
//!
//! What a host cannot tell (what a volume is promised) stays absent. What a context cannot say (the
//! system's own disk, encryption, mirrors by LVM) is left out, and a comment says so.

use std::collections::BTreeMap;

use iobound_record::{
    Array, ArrayManager, Bytes, CONTEXT_VERSION, Context, Count, Device, DeviceSort, FileSystemKind,
    FileSystemSpec, Instance, Level, LogicalVolume, MdArray, MountedFileSystem, Probe, Role, VolumeGroup,
};

use super::volumes::same_serial;
use super::words::{is_name, is_serial};
use super::{detect_os, is_usable, validate};

/// A context made from a host, and what is to be said beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detected {
    /// The context.
    pub context: Context,
    /// Remarks by place (`filesystem./data.role`); the empty place is the whole file.
    pub comments: Vec<(String, String)>,
}

/// A symbolic link by which a database keeps its write-ahead log elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalLink {
    /// The link, `/data/pgdata/pg_wal`.
    pub link: String,
    /// Where it leads.
    pub target: String,
}

/// The context of this host. `wal_links` are the links found on its file systems.
pub fn detect(probe: &Probe, wal_links: &[WalLink]) -> Detected {
    let mut found = Detecting { probe, wal_links, ..Detecting::default_of(probe) };
    found.md_arrays();
    found.logical_volumes();
    found.filesystems();
    found.bare_disks();
    found.finish()
}

struct Detecting<'a> {
    probe: &'a Probe,
    wal_links: &'a [WalLink],
    out: Detected,
    /// Name in the context of each device that it holds.
    names: BTreeMap<&'a str, String>,
}

/// Mounts that are the system's own: a context never describes them, since `prepare` must not build
/// them.
fn is_system_mount(mount: &str) -> bool {
    let own = ["/", "/boot", "/boot/efi", "/efi", "/home", "/usr", "/var", "/tmp", "/opt", "/root", "/run"];
    own.contains(&mount)
        || ["/snap/", "/boot/", "/proc/", "/sys/", "/dev/", "/etc/"].iter().any(|t| mount.starts_with(t))
}

impl<'a> Detecting<'a> {
    fn default_of(probe: &'a Probe) -> Detecting<'a> {
        let machine = probe.cloud.as_ref();
        let instance = Instance {
            name: machine
                .map(|cloud| cloud.instance_type.clone())
                .filter(|name| is_name(name))
                .unwrap_or_default(),
            cloud: machine.map(|cloud| cloud.provider.clone()).unwrap_or_default(),
            vcpus: Some(probe.processor.cpus_online).filter(|cpus| *cpus > 0),
            memory: Some(Bytes(probe.memory.total_bytes)).filter(|memory| memory.0 > 0),
            ..Instance::default()
        };
        let context = Context {
            schema: CONTEXT_VERSION,
            instance,
            os: detect_os::settings(probe),
            ..Context::default()
        };
        Detecting {
            probe,
            wal_links: &[],
            out: Detected { context, comments: vec![] },
            names: BTreeMap::new(),
        }
    }

    fn comment(&mut self, place: impl Into<String>, words: impl Into<String>) {
        self.out.comments.push((place.into(), words.into()));
    }

    /// The disk that a device is, or is a part of.
    fn disk_of(&self, name: &str) -> Option<&'a Device> {
        let device = self.probe.device(name)?;
        match device.sort {
            DeviceSort::Disk => Some(device),
            DeviceSort::Partition => self.probe.device(&device.disk),
            _ => None,
        }
    }

    /// Puts the disks of an array, or of a file system, into the context as one group or several; their
    /// names, or why they cannot be.
    fn members(&mut self, devices: &[String], called: &str) -> Result<Vec<String>, String> {
        let mut disks: Vec<&Device> = Vec::new();
        let mut members = Vec::new();
        for name in devices {
            if let Some(known) = self.names.get(name.as_str()).filter(|_| self.disk_of(name).is_none()) {
                members.push(known.clone());
                continue;
            }
            let disk =
                self.disk_of(name).ok_or_else(|| format!("it lies on {name}, which a context cannot say"))?;
            if self.names.contains_key(disk.name.as_str())
                || disks.iter().any(|other| other.name == disk.name)
            {
                return Err(format!("{} serves more than one thing", disk.name));
            }
            disks.push(disk);
        }
        members.extend(self.groups(&disks, called));
        Ok(members)
    }

    /// Equal disks become one group.
    fn groups(&mut self, disks: &[&'a Device], called: &str) -> Vec<String> {
        let mut groups: Vec<Vec<&'a Device>> = Vec::new();
        for &disk in disks {
            match groups.iter_mut().find(|group| alike(group[0], disk)) {
                Some(group) => group.push(disk),
                None => groups.push(vec![disk]),
            }
        }
        groups.into_iter().map(|group| self.group(&group, called)).collect()
    }

    fn group(&mut self, disks: &[&'a Device], called: &str) -> String {
        let name = self.free_name(called);
        let mut group = VolumeGroup {
            name: name.clone(),
            count: Count(disks.len() as u32),
            kind: kind_of(disks[0]).into(),
            size: Bytes(disks[0].size_bytes),
            ..VolumeGroup::default()
        };
        group.serials = numbers(disks, |disk| {
            if disk.ebs_volume_id.is_empty() { disk.serial.clone() } else { disk.ebs_volume_id.clone() }
        });
        if group.serials.is_empty() {
            group.wwns = numbers(disks, |disk| disk.wwn.clone());
        }
        if group.serials.is_empty() && group.wwns.is_empty() {
            let words = "these disks tell no serial numbers of their own: prepare and check cannot find them";
            self.comment(format!("volume.{name}"), words);
        }
        let kernel: Vec<&str> = disks.iter().map(|disk| disk.name.as_str()).collect();
        self.comment(format!("volume.{name}"), format!("found as {}", kernel.join(", ")));
        for (disk, volume) in disks.iter().zip(group.volume_names()) {
            self.names.insert(&disk.name, volume);
        }
        self.out.context.volumes.push(group);
        name
    }

    /// A name that nothing has yet, beginning as asked.
    fn free_name(&self, wanted: &str) -> String {
        let context = &self.out.context;
        let taken =
            |name: &str| {
                context.volumes.iter().any(|group| {
                    group.name == name || group.volume_names().iter().any(|volume| volume == name)
                }) || context.arrays.iter().any(|array| array.name == name)
            };
        let base = if is_name(wanted) { wanted.to_owned() } else { "disks".to_owned() };
        if !taken(&base) {
            return base;
        }
        (2..).map(|n| format!("{base}{n}")).find(|name| !taken(name)).unwrap_or(base)
    }

    /// A device and everything above it, each once.
    fn upwards<'b>(&'b self, device: &'b str) -> Vec<&'b str> {
        let mut waiting = vec![device];
        let mut seen: Vec<&str> = Vec::new();
        while let Some(name) = waiting.pop() {
            if !seen.contains(&name) {
                seen.push(name);
                let above = self.probe.device(name).into_iter().flat_map(|found| &found.above);
                waiting.extend(above.map(String::as_str));
            }
        }
        seen
    }

    /// What a device's disks are called: by the role of what is mounted on it or above it.
    fn called(&self, device: &str) -> &'static str {
        let names = self.upwards(device);
        let mut roles = names.iter().filter_map(|name| {
            let fs = self.probe.filesystems.iter().find(|fs| fs.device == *name)?;
            self.role(fs)
        });
        match roles.next() {
            Some((Role::Wal, _)) => "wal",
            Some(_) => "data",
            None => "disk",
        }
    }

    fn is_system(&self, device: &str) -> bool {
        self.upwards(device).iter().any(|name| {
            let mounts = self.probe.device(name).into_iter().flat_map(|found| &found.mounts);
            mounts.into_iter().any(|mount| is_system_mount(mount) || mount == "[SWAP]")
                || self.probe.filesystems.iter().any(|fs| fs.device == *name && is_system_mount(&fs.mount))
        })
    }

    fn md_arrays(&mut self) {
        for md in &self.probe.arrays {
            if self.is_system(&md.name) {
                self.comment("", format!("left out: {} belongs to the system", md.name));
                continue;
            }
            match self.md_array(md) {
                Ok(array) => {
                    self.names.insert(&md.name, array.name.clone());
                    self.out.context.arrays.push(array);
                }
                Err(why) => self.comment("", format!("left out: {}, {why}", md.name)),
            }
        }
    }

    fn md_array(&mut self, md: &MdArray) -> Result<Array, String> {
        let levels = [Level::Raid0, Level::Raid1, Level::Raid10, Level::Raid5, Level::Raid6, Level::Linear];
        let level = levels
            .into_iter()
            .find(|level| level.name() == md.level)
            .ok_or_else(|| format!("its level '{}' is none that a context has", md.level))?;
        let mut slots: Vec<_> = md.members.iter().filter(|member| member.slot.is_some()).collect();
        slots.sort_by_key(|member| member.slot);
        let devices: Vec<String> = slots.into_iter().map(|member| member.device.clone()).collect();
        let members = self.members(&devices, self.called(&md.name))?;
        if md.degraded > 0 {
            let words = format!("{} of {} members are missing now", md.degraded, md.raid_disks);
            self.comment(format!("array.{}", md.name), words);
        }
        Ok(Array {
            name: self.free_name(&md.name),
            manager: ArrayManager::Mdadm,
            level,
            chunk: Some(Bytes(md.chunk_bytes))
                .filter(|chunk| chunk.0 > 0 && !matches!(level, Level::Raid1 | Level::Linear)),
            members,
            device: format!("/dev/{}", md.name),
        })
    }

    fn logical_volumes(&mut self) {
        for lv in &self.probe.logical_volumes {
            if self.is_system(&lv.device) {
                self.comment("", format!("left out: {}/{} belongs to the system", lv.group, lv.name));
                continue;
            }
            match self.logical_volume(lv) {
                Ok(array) => {
                    self.names.insert(&lv.device, array.name.clone());
                    self.out.context.arrays.push(array);
                }
                Err(why) => self.comment("", format!("left out: {}/{}, {why}", lv.group, lv.name)),
            }
        }
    }

    fn logical_volume(&mut self, lv: &LogicalVolume) -> Result<Array, String> {
        let first = lv.segments.first().ok_or("its segments could not be read")?;
        let (level, chunk) = match (first.kind.as_str(), first.stripes) {
            ("striped", 2..) => (Level::Raid0, Some(Bytes(first.stripe_bytes))),
            ("linear" | "striped", _) => (Level::Linear, None),
            (kind, _) => return Err(format!("its segment type '{kind}' is none that a context has for LVM")),
        };
        let mut devices: Vec<String> = Vec::new();
        for device in lv.segments.iter().flat_map(|segment| &segment.devices) {
            if !devices.contains(device) {
                devices.push(device.clone());
            }
        }
        if devices.is_empty() {
            return Err("what it lies on could not be read".into());
        }
        let members = self.members(&devices, self.called(&lv.device))?;
        Ok(Array {
            name: self.free_name(&lv.name),
            manager: ArrayManager::Lvm,
            level,
            chunk,
            members,
            device: format!("/dev/{}/{}", lv.group, lv.name),
        })
    }

    fn filesystems(&mut self) {
        for fs in &self.probe.filesystems {
            if is_system_mount(&fs.mount) {
                continue;
            }
            match self.filesystem(fs) {
                Ok(spec) => self.out.context.filesystems.push(spec),
                Err(why) => self.comment("", format!("left out: {} ({}), {why}", fs.mount, fs.device)),
            }
        }
    }

    fn filesystem(&mut self, fs: &MountedFileSystem) -> Result<FileSystemSpec, String> {
        let kinds = [FileSystemKind::Xfs, FileSystemKind::Ext4, FileSystemKind::Ext3];
        let kind = kinds.into_iter().find(|kind| kind.name() == fs.kind);
        let kind = kind.ok_or_else(|| format!("{} is none that iobound makes", fs.kind))?;
        if self
            .out
            .context
            .filesystems
            .iter()
            .any(|other| self.names.get(fs.device.as_str()) == Some(&other.on))
        {
            return Err("its device is mounted elsewhere already".into());
        }
        if !self.names.contains_key(fs.device.as_str()) {
            if self.is_system(&fs.device)
                || self.disk_of(&fs.device).is_some_and(|disk| self.is_system(&disk.name))
            {
                return Err("it shares its disk with the system".into());
            }
            let members = self.members(std::slice::from_ref(&fs.device), self.called(&fs.device))?;
            if let Some(name) = members.first() {
                self.names.insert(self.device_name(&fs.device), name.clone());
            }
        }
        let on = self.names.get(fs.device.as_str()).cloned().ok_or("its device could not be placed")?;
        let role = self.role(fs);
        if let Some((_, why)) = &role {
            self.comment(format!("filesystem.{}.role", fs.mount), format!("a guess: {why}"));
        }
        let below = self.disks_below(&fs.device);
        Ok(FileSystemSpec {
            on,
            kind,
            mount: fs.mount.clone(),
            options: options_of(&fs.options),
            role: role.map(|(role, _)| role),
            read_ahead: self.probe.device(&fs.device).map(|device| Bytes(device.read_ahead_bytes)),
            scheduler: the_same(below.iter().map(|disk| disk.scheduler.clone()))
                .filter(|word| !word.is_empty()),
            nr_requests: the_same(below.iter().map(|disk| disk.nr_requests)).filter(|requests| *requests > 0),
            directories: Vec::new(),
        })
    }

    fn device_name(&self, name: &str) -> &'a str {
        self.probe.device(name).map_or("", |device| device.name.as_str())
    }

    fn disks_below(&self, name: &str) -> Vec<&'a Device> {
        let mut waiting = vec![name.to_owned()];
        let mut seen: Vec<String> = Vec::new();
        let mut disks = Vec::new();
        while let Some(name) = waiting.pop() {
            let Some(device) = self.probe.device(&name).filter(|_| !seen.contains(&name)) else { continue };
            seen.push(name);
            waiting.extend(device.below.iter().cloned());
            waiting.extend(Some(device.disk.clone()).filter(|disk| !disk.is_empty()));
            if device.sort == DeviceSort::Disk {
                disks.push(device);
            }
        }
        disks
    }

    /// What a file system seems to be for, and why.
    fn role(&self, fs: &MountedFileSystem) -> Option<(Role, String)> {
        let below = |path: &str| path == fs.mount || path.starts_with(&format!("{}/", fs.mount));
        if let Some(link) = self.wal_links.iter().find(|link| below(&link.target)) {
            return Some((Role::Wal, format!("{} leads here", link.link)));
        }
        let name = fs.mount.to_ascii_lowercase();
        if ["wal", "xlog", "redo", "binlog"].iter().any(|word| name.contains(word)) {
            return Some((Role::Wal, "by the name of its mount point".into()));
        }
        let words = ["data", "postgres", "pgsql", "mysql", "mongo"];
        words
            .iter()
            .any(|word| name.contains(word))
            .then(|| (Role::Data, "by the name of its mount point".into()))
    }

    /// Disks that hold nothing we know: they can be built on.
    fn bare_disks(&mut self) {
        let probe = self.probe;
        let mut bare: Vec<&Device> = Vec::new();
        for disk in &probe.devices {
            let is_real = disk.sort == DeviceSort::Disk && disk.size_bytes > 0 && !disk.removable;
            if !is_real || self.names.contains_key(disk.name.as_str()) {
                continue;
            }
            if self.is_system(&disk.name) {
                self.comment("", format!("left out: {} belongs to the system", disk.name));
            } else if disk.above.is_empty() && disk.mounts.is_empty() {
                bare.push(disk);
            } else {
                self.comment("", format!("left out: {}, what is on it is none of the above", disk.name));
            }
        }
        self.groups(&bare, "disk");
        if self.out.context.volumes.is_empty() {
            // A laptop: one disk, and the system on it. Its limits can still be said.
            let system: Vec<&Device> = probe
                .devices
                .iter()
                .filter(|disk| disk.sort == DeviceSort::Disk && disk.size_bytes > 0 && !disk.removable)
                .collect();
            self.groups(&system, "disk");
            if !system.is_empty() {
                self.comment("volume.disk", "the system's own disk: for its limits, not to be built on");
            }
        }
    }

    fn finish(mut self) -> Detected {
        let instance = &self.out.context.instance.name;
        let host = if is_name(&self.probe.machine.hostname) { &self.probe.machine.hostname } else { "host" };
        let disks: u32 = self.out.context.volumes.iter().map(|group| group.count.0).sum();
        let level = self.out.context.arrays.first().map_or(String::new(), |array| match array.manager {
            ArrayManager::Lvm => ".lvm".into(),
            ArrayManager::Mdadm => format!(".{}", array.level.name()),
        });
        let base = if instance.is_empty() { host } else { instance };
        let name = format!("{base}.{disks}disk{level}");
        self.out.context.name = if is_name(&name) { name } else { "host".into() };
        self.out.context.description = "Made from a host by 'iobound context detect'.".into();
        self.drop_what_does_not_hold();
        self.out
    }

    /// Odd hosts have mounts and names that a context refuses. What is refused goes, with the reason,
    /// so that what is left is of use.
    fn drop_what_does_not_hold(&mut self) {
        let problems = validate(&self.out.context);
        if is_usable(&problems) {
            return;
        }
        for problem in problems.iter().filter(|problem| problem.severity == iobound_record::Severity::Error) {
            let context = &mut self.out.context;
            let before = (context.filesystems.len(), context.arrays.len());
            context.filesystems.retain(|fs| !problem.place.starts_with(&format!("filesystem.{}.", fs.mount)));
            context.arrays.retain(|array| !problem.place.starts_with(&format!("array.{}.", array.name)));
            if problem.place.starts_with("os.") {
                context.os = iobound_record::OsSettings::default();
            }
            if before != (context.filesystems.len(), context.arrays.len()) || problem.place.starts_with("os.")
            {
                self.comment("", format!("left out: {}: {}", problem.place, problem.what));
            }
        }
        let context = self.out.context.clone();
        self.out.context.filesystems.retain(|fs| super::capacity(&context, &fs.on).is_some());
    }
}

/// Whether two disks may be one group.
fn alike(a: &Device, b: &Device) -> bool {
    a.size_bytes == b.size_bytes && kind_of(a) == kind_of(b)
}

/// What sort of volume it is, as far as a host can tell: an EBS volume does not say its type.
fn kind_of(disk: &Device) -> &'static str {
    match disk.transport.as_str() {
        _ if !disk.ebs_volume_id.is_empty() => "ebs",
        _ if disk.ephemeral => "instance-store",
        "nvme" => "nvme",
        "virtio" | "xen" => "virtual",
        _ if disk.rotational == Some(true) => "hdd",
        _ => "ssd",
    }
}

/// One number a disk, all different and all of letters that a context takes; else none.
fn numbers(disks: &[&Device], of: impl Fn(&Device) -> String) -> Vec<String> {
    let numbers: Vec<String> = disks.iter().map(|disk| of(disk)).collect();
    let distinct: std::collections::BTreeSet<String> = numbers.iter().map(|n| same_serial(n)).collect();
    let sound = distinct.len() == disks.len() && numbers.iter().all(|number| is_serial(number));
    if sound { numbers } else { Vec::new() }
}

/// Options that somebody chose; the kernel prints its own defaults among them.
fn options_of(options: &str) -> Vec<String> {
    let chosen = |option: &&str| {
        ["noatime", "nodiratime", "lazytime", "discard", "nobarrier"].contains(option)
            || ["commit=", "allocsize=", "data="].iter().any(|start| option.starts_with(start))
    };
    let mut kept: Vec<String> = options.split(',').filter(chosen).map(str::to_owned).collect();
    kept.dedup();
    kept
}

fn the_same<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}
