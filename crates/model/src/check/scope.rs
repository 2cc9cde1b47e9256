//! What is under the targets, and which part of the context speaks of it.

use iobound_record::{
    Array, ArrayManager, Context, Device, DeviceSort, FileSystemSpec, LogicalVolume, MdArray,
    MountedFileSystem, Probe, Role, Watched,
};

use super::{CheckInput, Target};

/// The input, with everything found that the rules ask for.
pub(super) struct Scope<'a> {
    pub(super) probe: &'a Probe,
    pub(super) context: Option<&'a Context>,
    pub(super) watched: Option<&'a Watched>,
    pub(super) places: Vec<Place<'a>>,
}

/// One target and what is under it.
pub(super) struct Place<'a> {
    /// The mount point if it is known, else the path.
    pub(super) name: String,
    pub(super) role: Option<Role>,
    pub(super) needs_bytes: u64,
    /// What is mounted there; None for a device, or when nothing is.
    pub(super) fs: Option<&'a MountedFileSystem>,
    /// What the context says of it.
    pub(super) spec: Option<&'a FileSystemSpec>,
    /// The devices right below it.
    pub(super) top: Vec<&'a Device>,
    /// Those and all below them, each once, from the top down.
    pub(super) stack: Vec<&'a Device>,
}

impl<'a> Place<'a> {
    /// The disks at the bottom.
    pub(super) fn disks(&self) -> impl Iterator<Item = &'a Device> + '_ {
        self.stack.iter().copied().filter(|device| is_disk(device))
    }
}

/// Whether a device is one that I/O ends at, as far as settings go.
fn is_disk(device: &Device) -> bool {
    matches!(device.sort, DeviceSort::Disk)
}

impl<'a> Scope<'a> {
    pub(super) fn new(input: &CheckInput<'a>) -> Scope<'a> {
        let from_context: Vec<Target>;
        let targets = if input.targets.is_empty() {
            from_context = input.context.map(targets_of).unwrap_or_default();
            &from_context
        } else {
            input.targets
        };
        let places = targets.iter().map(|target| place(input, target)).collect();
        Scope { probe: input.probe, context: input.context, watched: input.watched, places }
    }

    /// Whether a database is to live here: then settings count that plain files do not mind.
    pub(super) fn for_database(&self) -> bool {
        self.context.is_some() || self.places.iter().any(|place| place.role.is_some())
    }

    /// Every device under the targets, each once.
    pub(super) fn devices(&self) -> Vec<&'a Device> {
        let mut all: Vec<&Device> = Vec::new();
        for device in self.places.iter().flat_map(|place| &place.stack) {
            if all.iter().all(|known| known.name != device.name) {
                all.push(device);
            }
        }
        all
    }

    /// Every disk under the targets with what the context says of the file system above it.
    pub(super) fn disks(&self) -> Vec<(&'a Device, Option<&'a FileSystemSpec>)> {
        let mut all: Vec<(&Device, Option<&FileSystemSpec>)> = Vec::new();
        for place in &self.places {
            for disk in place.disks() {
                if all.iter().all(|(known, _)| known.name != disk.name) {
                    all.push((disk, place.spec));
                }
            }
        }
        all
    }

    /// The software RAIDs under the targets, and those of the context that are there.
    pub(super) fn md_arrays(&self) -> Vec<&'a MdArray> {
        let below = |md: &&MdArray| self.devices().iter().any(|device| device.name == md.name);
        let of_context = |md: &&MdArray| {
            let arrays = self.context.into_iter().flat_map(|context| &context.arrays);
            arrays.into_iter().any(|array| self.md_of(array).is_some_and(|known| known.name == md.name))
        };
        self.probe.arrays.iter().filter(|md| below(md) || of_context(md)).collect()
    }

    /// The software RAID that is an array of the context.
    pub(super) fn md_of(&self, array: &Array) -> Option<&'a MdArray> {
        if array.manager != ArrayManager::Mdadm {
            return None;
        }
        let by_name = |name: &str| self.probe.arrays.iter().find(|md| md.name == name);
        // Where the context's file system is says more than a name, which may change with a boot.
        let above = self.places.iter().find(|place| place.spec.is_some_and(|spec| spec.on == array.name));
        let by_place = above
            .and_then(|place| place.stack.iter().find(|device| device.sort == DeviceSort::Md))
            .and_then(|device| by_name(&device.name));
        let device = array.device.strip_prefix("/dev/").unwrap_or_default();
        let label = device.strip_prefix("md/").unwrap_or(&array.name);
        let labelled = || self.probe.devices.iter().find(|d| d.sort == DeviceSort::Md && d.label == label);
        by_place.or_else(|| by_name(device)).or_else(|| labelled().and_then(|d| by_name(&d.name)))
    }

    /// The logical volume that is an array of the context.
    pub(super) fn lv_of(&self, array: &Array) -> Option<&'a LogicalVolume> {
        let path = array.device.strip_prefix("/dev/").unwrap_or_default();
        let (group, name) = path.split_once('/').unwrap_or((&array.name, &array.name));
        let named = self.probe.logical_volumes.iter().find(|lv| lv.group == group && lv.name == name);
        let above = self.places.iter().find(|place| place.spec.is_some_and(|spec| spec.on == array.name));
        let by_place = above.and_then(|place| {
            let below = |lv: &&LogicalVolume| place.stack.iter().any(|device| device.name == lv.device);
            self.probe.logical_volumes.iter().find(below)
        });
        by_place.or(named)
    }

    /// The software RAID of that kernel name.
    pub(super) fn md(&self, name: &str) -> Option<&'a MdArray> {
        self.probe.arrays.iter().find(|md| md.name == name)
    }
}

fn targets_of(context: &Context) -> Vec<Target> {
    let target =
        |spec: &FileSystemSpec| Target { path: spec.mount.clone(), role: spec.role, ..Target::default() };
    context.filesystems.iter().map(target).collect()
}

fn place<'a>(input: &CheckInput<'a>, target: &Target) -> Place<'a> {
    let probe = input.probe;
    let is_node = target.path.starts_with("/dev/");
    let fs = if is_node { None } else { holding(probe, &target.path, &target.devices) };
    let specs = || input.context.into_iter().flat_map(|context| &context.filesystems);
    let mounted = fs.map_or(target.path.as_str(), |fs| &fs.mount);
    let by_mount = specs().find(|spec| spec.mount.trim_end_matches('/') == mounted.trim_end_matches('/'));
    let by_path = specs().find(|spec| spec.mount == target.path);
    let by_role = specs().find(|spec| target.role.is_some() && spec.role == target.role);
    let spec = by_mount.or(by_path).or(by_role);
    // The context's file system is not mounted: what holds the path is another one.
    let fs = fs.filter(|fs| spec.is_none_or(|spec| spec.mount != target.path || fs.mount == target.path));
    let mut names = target.devices.clone();
    if is_node && names.is_empty() {
        names.extend(target.path.strip_prefix("/dev/").map(|name| name.replace('/', "!")));
    }
    if names.is_empty() {
        names.extend(fs.map(|fs| fs.device.clone()));
    }
    if fs.is_none() && !is_node && spec.is_some_and(|spec| spec.mount == target.path) {
        names.clear();
    }
    let top: Vec<&Device> = names.iter().filter_map(|name| probe.device(name)).collect();
    Place {
        name: fs.map_or_else(|| target.path.clone(), |fs| fs.mount.clone()),
        role: target.role.or(spec.and_then(|spec| spec.role)),
        needs_bytes: target.needs_bytes,
        fs,
        spec,
        stack: stack(probe, &top),
        top,
    }
}

/// The file system that holds a path.
fn holding<'a>(probe: &'a Probe, path: &str, devices: &[String]) -> Option<&'a MountedFileSystem> {
    let holds = |mount: &str| {
        let mount = mount.trim_end_matches('/');
        path.strip_prefix(mount).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let on = |fs: &&MountedFileSystem| devices.is_empty() || devices.contains(&fs.device);
    let best =
        probe.filesystems.iter().filter(on).filter(|fs| holds(&fs.mount)).max_by_key(|fs| fs.mount.len());
    // Through a bind or an overlay the mount point of the device is elsewhere.
    best.or_else(|| probe.filesystems.iter().find(|fs| !devices.is_empty() && devices.contains(&fs.device)))
}

/// The devices and all below them.
fn stack<'a>(probe: &'a Probe, top: &[&'a Device]) -> Vec<&'a Device> {
    let mut all: Vec<&Device> = top.to_vec();
    let mut next = 0;
    while next < all.len() {
        let device = all[next];
        next += 1;
        let disk = Some(&device.disk).filter(|disk| !disk.is_empty());
        for below in device.below.iter().chain(disk).filter_map(|name| probe.device(name)) {
            if all.iter().all(|known| known.name != below.name) {
                all.push(below);
            }
        }
    }
    all
}
