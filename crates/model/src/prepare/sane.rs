//! Whether the words of a context may become parts of commands, paths and files.
//!
//! No shell ever sees them, but tools, udev and fstab give meaning to characters of their own.

use iobound_record::{ArrayManager, Context};

use crate::layout;

/// Directories that a file system of a database has no business on.
const SYSTEM_DIRECTORIES: [&str; 17] = [
    "/",
    "/bin",
    "/boot",
    "/boot/efi",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib64",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/sys",
    "/tmp",
    "/usr",
    "/var",
];

/// Directories below which nothing of ours may be mounted.
const KERNEL_DIRECTORIES: [&str; 4] = ["/dev/", "/proc/", "/sys/", "/boot/"];

fn only(text: &str, more: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
}

/// Everything that is wrong, in words.
pub(super) fn problems(context: &Context) -> Vec<String> {
    let mut found = Vec::new();
    let mut unless = |good: bool, words: String| {
        if !good {
            found.push(words);
        }
    };
    unless(
        !context.name.is_empty() && !context.name.chars().any(char::is_control),
        "the context needs a name without control characters".into(),
    );
    for group in &context.volumes {
        unless(only(&group.name, "_.-"), format!("'{}' is no name for a volume", group.name));
        for id in group.serials.iter().chain(&group.wwns) {
            // `*`, `?`, `[`, `|` and quotes have a meaning in udev's rules.
            unless(only(id, "_.:/ +=-"), format!("'{id}' is no serial number or WWN"));
        }
    }
    for array in &context.arrays {
        let name = &array.name;
        unless(only(name, "_.-"), format!("'{name}' is no name for an array"));
        unless(
            array.device.is_empty() || is_array_node(array.manager, &array.device),
            format!("array '{name}' cannot appear as '{}'", array.device),
        );
        if let Some(chunk) = array.chunk {
            // mdadm and LVM: a power of two, at least a page; LVM's largest is far above any use.
            let good = chunk.0.is_power_of_two() && (4 << 10..=64 << 20).contains(&chunk.0);
            unless(
                good,
                format!("array '{name}': a chunk of {chunk} is no power of two between 4KiB and 64MiB"),
            );
        }
        if let Err(error) = layout::layout(context, name) {
            unless(false, error.to_string());
        }
    }
    for spec in &context.filesystems {
        let mount = &spec.mount;
        unless(is_mount(mount), format!("'{mount}' is no place to mount a file system of a database on"));
        for option in &spec.options {
            unless(only(option, "_=.:,@%/-"), format!("'{option}' is no mount option"));
        }
        if let Err(error) = layout::layout(context, &spec.on) {
            unless(false, error.to_string());
        }
        if let Some(scheduler) = &spec.scheduler {
            unless(only(scheduler, "_-"), format!("'{scheduler}' is no I/O scheduler"));
        }
        for directory in &spec.directories {
            let path = &directory.path;
            let parts_good = path.split('/').all(|part| only(part, "_.@+-") && part != "." && part != "..");
            unless(parts_good, format!("'{path}' is no directory below '{mount}'"));
            let owner_good =
                directory.owner.is_empty() || directory.owner.splitn(2, ':').all(|name| only(name, "_.-"));
            unless(owner_good, format!("'{}' is no user or user:group", directory.owner));
            let mode = &directory.mode;
            let mode_good = mode.is_empty() || u32::from_str_radix(mode, 8).is_ok_and(|mode| mode <= 0o7777);
            unless(mode_good, format!("'{mode}' is no octal mode"));
        }
    }
    if let Some(huge) = &context.os.transparent_hugepage {
        let good = ["always", "madvise", "never"].contains(&huge.as_str());
        unless(good, format!("transparent_hugepage is always, madvise or never, not '{huge}'"));
    }
    twice(context, &mut found);
    found
}

/// Names and places that are used more than once.
fn twice(context: &Context, found: &mut Vec<String>) {
    let mut count = |what: &str, all: Vec<String>| {
        let mut all = all;
        all.sort();
        for pair in all.windows(2).filter(|pair| pair[0] == pair[1]) {
            let words = format!("{what} '{}' is used twice", pair[0]);
            if !found.contains(&words) {
                found.push(words);
            }
        }
    };
    count("mount point", context.filesystems.iter().map(|spec| spec.mount.clone()).collect());
    let names = context.volumes.iter().map(|group| group.name.clone());
    count("name", names.chain(context.arrays.iter().map(|array| array.name.clone())).collect());
    let nodes = context.arrays.iter().filter(|array| !array.device.is_empty());
    count("device", nodes.map(|array| array.device.clone()).collect());
    let members = context.arrays.iter().flat_map(|array| layout::member_names(context, array));
    let used = members.chain(context.filesystems.iter().map(|spec| spec.on.clone()));
    count("volume or array", used.collect());
}

fn is_array_node(manager: ArrayManager, node: &str) -> bool {
    let Some(name) = node.strip_prefix("/dev/") else { return false };
    match manager {
        ArrayManager::Mdadm => match name.strip_prefix("md/") {
            Some(name) => only(name, "_-"),
            None => name
                .strip_prefix("md")
                .is_some_and(|number| only(number, "") && number.parse::<u16>().is_ok()),
        },
        // lvm(8): letters, digits, `+_.-`; `/dev/mapper` and `/dev/md` are not groups.
        ArrayManager::Lvm => name.split_once('/').is_some_and(|(group, volume)| {
            only(group, "_.+-")
                && only(volume, "_.+-")
                && !["mapper", "md", "disk", "shm", "pts", ".", ".."].contains(&group)
                && ![".", ".."].contains(&volume)
        }),
    }
}

fn is_mount(mount: &str) -> bool {
    let parts = mount.strip_prefix('/').unwrap_or_default();
    parts.split('/').all(|part| only(part, "_.+@-") && part != "." && part != "..")
        && !SYSTEM_DIRECTORIES.contains(&mount)
        && !KERNEL_DIRECTORIES.iter().any(|directory| mount.starts_with(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes() {
        for good in ["/dev/md0", "/dev/md127", "/dev/md/data"] {
            assert!(is_array_node(ArrayManager::Mdadm, good), "{good}");
        }
        for bad in ["/dev/sda", "/dev/md", "/dev/md/a/b", "/dev/mda", "md0", "/dev/md/../sda", "/dev/md-1"] {
            assert!(!is_array_node(ArrayManager::Mdadm, bad), "{bad}");
        }
        assert!(is_array_node(ArrayManager::Lvm, "/dev/vg0/lv0"));
        for bad in ["/dev/vg0", "/dev/mapper/x", "/dev/../x", "/dev/vg0/lv/0", "/dev/-v/l"] {
            assert!(!is_array_node(ArrayManager::Lvm, bad), "{bad}");
        }
    }

    #[test]
    fn mounts() {
        for good in ["/data", "/mnt/data", "/var/lib/postgresql"] {
            assert!(is_mount(good), "{good}");
        }
        for bad in ["/", "data", "/data/", "/usr", "/a/../b", "/sys/x", "/a b", "/$(x)", "", "/boot/x", "/-x"]
        {
            assert!(!is_mount(bad), "{bad}");
        }
    }
}
