//! From a path down to the disks.

use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags};

use crate::block::{self, Below, BlockDevice, DeviceKind, DeviceNumber};
use crate::error::HostError;
use crate::mounts::{self, Mount};
use crate::system::System;

/// Overlays may lie on overlays; this many is more than the kernel stacks (FILESYSTEM_MAX_STACK_DEPTH
/// is 2), so reaching it means a loop in what we were told.
const MAX_OVERLAYS: usize = 8;

/// Everything that I/O on a path goes through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// The path asked about, as given.
    pub path: PathBuf,
    /// The mount that holds it; None when the path is a block device itself.
    pub mount: Option<Mount>,
    /// The block devices that hold the file system: one, several for btrfs, none for tmpfs, nfs,
    /// fuse and the like.
    pub top: Vec<BlockDevice>,
    /// Every device below those, each once, nearest first: the disk of a partition, the members of
    /// an array and so on. Bytes pass several of them, so their counters must not be added up.
    pub members: Vec<BlockDevice>,
    /// The disks that share the work, by name: down from the top as long as there do not get fewer. A
    /// file behind a loop device ends the way.
    pub disks: Vec<BlockDevice>,
    /// Where the way down could not be followed, and why.
    pub notes: Vec<String>,
}

/// See [`Stack::disks`]; `links` go from each device to those right below it.
fn lowest_with_most(
    top: &[BlockDevice],
    members: &[BlockDevice],
    links: &[(String, String)],
) -> Vec<BlockDevice> {
    let mut level: Vec<&BlockDevice> = top.iter().collect();
    // No way down is longer than there are devices.
    for _ in members {
        let below = |upper: &&BlockDevice| -> Vec<&str> {
            links.iter().filter(|(above, _)| *above == upper.name).map(|(_, lower)| lower.as_str()).collect()
        };
        let names: Vec<&str> = level.iter().flat_map(below).collect();
        // The paths of a multipath drive are not disks.
        let is_next = |device: &&BlockDevice| {
            names.contains(&device.name.as_str()) && device.kind != DeviceKind::NvmePath
        };
        let next: Vec<&BlockDevice> = members.iter().filter(is_next).collect();
        if next.is_empty() || next.len() < level.len() {
            break;
        }
        level = next;
    }
    level.into_iter().cloned().collect()
}

impl System {
    /// What lies below a directory, a file, a file that does not exist yet in a directory that
    /// does, or a block device.
    ///
    /// # Errors
    /// When the path and its directory are missing or unreadable, or `/proc` is. A device that
    /// cannot be followed further down is no error but a note.
    pub fn stack_of(&self, path: &Path) -> Result<Stack, HostError> {
        if !self.is_live() {
            return match block::name_of_node(self, &path.to_string_lossy()) {
                Some(name) => self.stack_below_device(path, &name),
                None => self.stack_below_mount(path, self.mount_holding(path)?),
            };
        }
        match existing(path)? {
            Place::Device(number) => {
                let name = block::name_of(self, number)
                    .ok_or_else(|| HostError::NoSuchDevice { device: number.to_string() })?;
                self.stack_below_device(path, &name)
            }
            Place::Inside(directory_or_file) => {
                self.stack_below_mount(path, self.mount_holding(&directory_or_file)?)
            }
        }
    }

    /// The mount that holds an existing, absolute path without symlinks.
    pub(crate) fn mount_holding(&self, path: &Path) -> Result<Mount, HostError> {
        let mut all = self.mounts()?;
        let exact = mount_id(path).filter(|_| self.is_live());
        let found = match exact.and_then(|id| all.iter().position(|m| m.id == id)) {
            Some(at) => Some(all.swap_remove(at)),
            None => mounts::holding(&all, path).cloned(),
        };
        found.ok_or_else(|| HostError::NotMounted { path: path.to_owned() })
    }

    fn stack_below_device(&self, path: &Path, name: &str) -> Result<Stack, HostError> {
        let top = vec![block::describe(self, name)?];
        self.stack(path, None, top, Vec::new())
    }

    fn stack_below_mount(&self, path: &Path, mount: Mount) -> Result<Stack, HostError> {
        let mut notes = Vec::new();
        let top = self
            .devices_of_mount(&mount, &mut notes)
            .iter()
            .filter_map(|name| block::describe(self, name).ok())
            .collect();
        self.stack(path, Some(mount), top, notes)
    }

    /// Adds everything below the top devices.
    fn stack(
        &self,
        path: &Path,
        mount: Option<Mount>,
        top: Vec<BlockDevice>,
        mut notes: Vec<String>,
    ) -> Result<Stack, HostError> {
        let mut seen: Vec<String> = top.iter().map(|device| device.name.clone()).collect();
        let mut waiting: VecDeque<String> = seen.iter().cloned().collect();
        let mut members = Vec::new();
        let mut links: Vec<(String, String)> = Vec::new();
        // Each device is entered once, so a loop device on a file on itself ends here too.
        while let Some(name) = waiting.pop_front() {
            for below in block::below(self, &name) {
                let names = match below {
                    Below::Device(lower) => {
                        links.push((name.clone(), lower.clone()));
                        vec![lower]
                    }
                    Below::File(file) => self.devices_of_file(&name, &file, &mut notes),
                };
                for name in names {
                    if seen.contains(&name) {
                        continue;
                    }
                    match block::describe(self, &name) {
                        Ok(device) => members.push(device),
                        Err(error) => notes.push(error.to_string()),
                    }
                    seen.push(name.clone());
                    waiting.push_back(name);
                }
            }
        }
        let disks = lowest_with_most(&top, &members, &links);
        Ok(Stack { path: path.to_owned(), mount, top, members, disks, notes })
    }

    /// The devices under the file behind a loop device.
    pub(crate) fn devices_of_file(&self, device: &str, file: &Path, notes: &mut Vec<String>) -> Vec<String> {
        // The kernel appends this to the name of a file that was removed while attached.
        let text = file.to_string_lossy();
        let file = Path::new(text.strip_suffix(" (deleted)").unwrap_or(&text));
        if let Some(name) = block::name_of_node(self, &file.to_string_lossy()) {
            return vec![name];
        }
        let directory = file.parent().unwrap_or(file);
        // The name is that of the mount namespace in which the device was attached.
        if self.is_live() && !directory.is_dir() {
            notes.push(format!("{device}: its file {} cannot be seen from here", file.display()));
            return Vec::new();
        }
        match self.mount_holding(if self.is_live() { directory } else { file }) {
            Ok(mount) => self.devices_of_mount(&mount, notes),
            Err(error) => {
                notes.push(format!("{device}: {error}"));
                Vec::new()
            }
        }
    }

    /// Names of the block devices that hold a mounted file system; empty, with a note, when there
    /// are none.
    pub(crate) fn devices_of_mount(&self, mount: &Mount, notes: &mut Vec<String>) -> Vec<String> {
        let mut mount = mount.clone();
        for _ in 0..MAX_OVERLAYS {
            if mount.filesystem != "overlay" {
                return self.devices_of_plain_mount(&mount, notes);
            }
            match self.mount_of_upper_layer(&mount) {
                Ok(below) => mount = below,
                Err(why) => {
                    notes.push(why);
                    return Vec::new();
                }
            }
        }
        notes.push(format!("{}: overlays upon overlays without end", mount.mount_point.display()));
        Vec::new()
    }

    /// Writes to an overlay land in its upper layer, so that is where its devices are.
    fn mount_of_upper_layer(&self, overlay: &Mount) -> Result<Mount, String> {
        let place = overlay.mount_point.display();
        let upper = overlay
            .option_value("upperdir")
            .ok_or_else(|| format!("the overlay at {place} has no upper layer: it cannot be written"))?;
        let plain = without_backslashes(&upper);
        let hidden = || format!("the upper layer {plain} of the overlay at {place} cannot be seen from here");
        // Given to mount(2) with backslashes before commas and colons, or to fsconfig(2) as it is;
        // mountinfo shows what was given.
        let found = match self.is_live() {
            // In a container the overlay names directories of the host's tree.
            true => [&upper, &plain].into_iter().find(|path| Path::new(path).exists()).ok_or_else(hidden)?,
            false => &plain,
        };
        let upper_path = Path::new(found);
        if !upper_path.is_absolute() {
            return Err(hidden());
        }
        let below = self.mount_holding(upper_path).map_err(|e| e.to_string())?;
        if below.id == overlay.id { Err(hidden()) } else { Ok(below) }
    }

    fn devices_of_plain_mount(&self, mount: &Mount, notes: &mut Vec<String>) -> Vec<String> {
        if !mount.device.is_anonymous() {
            let name = block::name_of(self, mount.device);
            if name.is_none() {
                notes.push(format!("/sys does not show the device {}", mount.device));
            }
            return name.into_iter().collect();
        }
        // bcachefs names all its devices, with colons between them.
        let sources: Vec<&str> = match mount.filesystem.as_str() {
            "bcachefs" => mount.source.split(':').collect(),
            _ => vec![&mount.source],
        };
        let mut names: Vec<String> =
            sources.iter().filter_map(|source| self.name_of_source(source)).collect();
        if mount.filesystem == "btrfs" {
            names = names.into_iter().flat_map(|name| self.btrfs_devices(name)).collect();
        }
        if names.is_empty() {
            notes.push(format!("{} has no block device that the kernel tells of", mount.filesystem));
        }
        names
    }

    /// The device of a mount's source, if it is one.
    pub(crate) fn name_of_source(&self, source: &str) -> Option<String> {
        if !source.starts_with('/') {
            return None;
        }
        let live = self.is_live().then(|| fs::metadata(source).ok()).flatten();
        match live {
            Some(meta) if meta.file_type().is_block_device() => {
                block::name_of(self, DeviceNumber::from_raw(meta.rdev()))
            }
            // A bind mount of a directory on nfs, say.
            Some(_) => None,
            None => block::name_of_node(self, source),
        }
    }

    /// All devices of the btrfs file system that has this one; its mounts name only one.
    pub(crate) fn btrfs_devices(&self, name: String) -> Vec<String> {
        let devices = |fsid: &String| self.names(format!("/sys/fs/btrfs/{fsid}/devices"));
        self.names("/sys/fs/btrfs")
            .iter()
            .map(devices)
            .find(|all| all.contains(&name))
            .unwrap_or_else(|| vec![name])
    }
}

enum Place {
    Device(DeviceNumber),
    Inside(PathBuf),
}

/// The block device at a path, or the nearest thing that exists: the path, else its directory.
fn existing(path: &Path) -> Result<Place, HostError> {
    match fs::metadata(path) {
        Ok(meta) if meta.file_type().is_block_device() => {
            return Ok(Place::Device(DeviceNumber::from_raw(meta.rdev())));
        }
        Ok(_) => return canonical(path).map(Place::Inside),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(HostError::unreadable(path, error));
        }
        Err(_) => {}
    }
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !directory.exists() {
        return Err(HostError::Missing { path: path.to_owned() });
    }
    canonical(directory).map(Place::Inside)
}

fn canonical(path: &Path) -> Result<PathBuf, HostError> {
    fs::canonicalize(path).map_err(|e| HostError::unreadable(path, e))
}

/// Undoes overlayfs' own escapes (`ovl_unescape`, fs/overlayfs/params.c): a backslash stands before
/// a character to be taken as it is.
fn without_backslashes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        plain.extend(if letter == '\\' { rest.next() } else { Some(letter) });
    }
    plain
}

/// The kernel's own word on which mount holds a path. Kernel 5.8 and later.
fn mount_id(path: &Path) -> Option<u64> {
    let found = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
    (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::DeviceKind;
    use crate::trees::unpack;

    /// The names of the top devices and of the members, and the notes.
    fn stack(tree: &str, path: &str) -> (String, String, String) {
        let root = unpack(tree);
        let stack = System::captured(root.path()).stack_of(Path::new(path)).unwrap();
        let names = |devices: &[BlockDevice]| {
            devices.iter().map(|device| device.name.as_str()).collect::<Vec<_>>().join(" ")
        };
        (names(&stack.top), names(&stack.members), stack.notes.join("; "))
    }

    fn devices(tree: &str, path: &str) -> (String, String) {
        let (top, members, notes) = stack(tree, path);
        assert_eq!(notes, "");
        (top, members)
    }

    fn pair(top: &str, members: &str) -> (String, String) {
        (top.into(), members.into())
    }

    #[test]
    fn through_btrfs_and_luks_to_the_drive() {
        assert_eq!(devices("laptop", "/home/me"), pair("dm-0", "nvme0n1p3 nvme0n1"));
        assert_eq!(devices("laptop", "/boot/efi"), pair("nvme0n1p1", "nvme0n1"));
        assert_eq!(devices("laptop", "/dev/mapper/luks-root"), pair("dm-0", "nvme0n1p3 nvme0n1"));
        assert_eq!(stack("laptop", "/tmp/x").2, "tmpfs has no block device that the kernel tells of");
    }

    #[test]
    fn through_raid_and_lvm() {
        assert_eq!(devices("ec2-raid10", "/data/pg"), pair("md0", "nvme1n1 nvme2n1 nvme3n1 nvme4n1"));
        assert_eq!(devices("azure-lvm", "/mnt/data one/x"), pair("dm-1", "sdc sdd"));
        assert_eq!(devices("azure-lvm", "/"), pair("dm-0", "sda2 sda"));
        assert_eq!(devices("oddities", "/on-md"), pair("md127p1", "md127 sdd"));
    }

    #[test]
    fn through_the_paths_of_a_multipath_drive() {
        assert_eq!(devices("nvme-multipath", "/mnt"), pair("nvme3n1p1", "nvme3n1 nvme3c33n1 nvme3c3n1"));
        assert_eq!(devices("nvme-multipath", "/dev/nvme4n1"), pair("nvme4n1", "nvme4c4n1"));
        let root = unpack("nvme-multipath");
        let stack = System::captured(root.path()).stack_of(Path::new("/dev/nvme3n1")).unwrap();
        assert_eq!(stack.top[0].kind, DeviceKind::NvmeHead);
        assert_eq!(stack.members[0].kind, DeviceKind::NvmePath);
        assert_eq!(stack.members[0].number, None);
    }

    #[test]
    fn inside_a_container() {
        assert_eq!(devices("container", "/data/base"), pair("vda1", "vda"));
        let (top, _, notes) = stack("container", "/home");
        assert_eq!(top, "");
        assert!(notes.contains("cannot be seen from here"), "{notes}");
    }

    #[test]
    fn oddities() {
        let odd = |path| devices("oddities", path);
        assert_eq!(odd("/pool/x"), pair("sdb sdc", ""));
        assert_eq!(odd("/merged/x"), pair("sdb sdc", ""));
        assert_eq!(odd("/merged2/x"), pair("sdb sdc", ""));
        assert_eq!(odd("/bc"), pair("sdb sdc", ""));
        assert_eq!(odd("/on-loop0"), pair("loop0", "sda1 sda"));
        // A loop device on a file on itself: not followed round and round.
        assert_eq!(odd("/on-loop1"), pair("loop1", ""));
        assert_eq!(odd("/dev/loop2"), pair("loop2", "sda1 sda"));
        assert_eq!(odd("/dev/loop3"), pair("loop3", "sde"));
        assert_eq!(odd("/dev/loop4"), pair("loop4", ""));
        assert_eq!(odd("/tab\tand\\/x"), pair("sda1", "sda"));
        assert_eq!(odd("/raid"), pair("cciss!c0d0", ""));
        assert_eq!(odd("/dev/cciss/c0d0"), pair("cciss!c0d0", ""));
        for (path, note) in [
            ("/ram", "tmpfs has no block device"),
            ("/net", "nfs4 has no block device"),
            ("/user", "fuse.sshfs has no block device"),
            ("/tank", "zfs has no block device"),
            ("/readonly", "no upper layer"),
            ("/gone", "/sys does not show the device 99:1"),
        ] {
            let (top, members, notes) = stack("oddities", path);
            assert_eq!((top.as_str(), members.as_str()), ("", ""));
            assert!(notes.contains(note), "{path}: {notes}");
        }
    }

    #[test]
    fn facts_of_a_target() {
        let facts = |tree: &str, path: &str| {
            let root = unpack(tree);
            let path = Path::new(path);
            System::captured(root.path()).stack_of(path).unwrap().target_facts(path)
        };
        let data = facts("ec2-raid10", "/data");
        assert_eq!((data.filesystem.as_str(), data.device.as_str()), ("xfs", "md0"));
        assert_eq!(data.mount_options, "rw,noatime,attr2,inode64,logbufs=8,sunit=128,swidth=256,noquota");
        assert_eq!((data.logical_block_bytes, data.scheduler.as_str()), (512, "none"));
        assert_eq!(data.write_cache, "write through");
        let partition = facts("nvme-multipath", "/mnt");
        assert_eq!(partition.logical_block_bytes, 4096);
        assert_eq!(facts("oddities", "/pool").logical_block_bytes, 4096);
        assert_eq!(facts("oddities", "/ram").logical_block_bytes, 512);
        assert_eq!(facts("oddities", "/dev/sda").filesystem, "");
    }

    #[test]
    fn this_machine() {
        let system = System::live();
        let directory = tempfile::tempdir().unwrap();
        let stack = system.stack_of(directory.path()).unwrap();
        assert!(stack.mount.is_some());
        let file = directory.path().join("not-yet");
        assert_eq!(system.stack_of(&file).unwrap().top, stack.top);
        let nowhere = directory.path().join("no/such/directory");
        assert!(matches!(system.stack_of(&nowhere), Err(HostError::Missing { .. })));
        system.stack_of(Path::new("relative")).unwrap();
        system.stack_of(Path::new("/proc/self")).unwrap();
    }
}
