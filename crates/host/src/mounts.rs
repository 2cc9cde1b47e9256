//! `/proc/self/mountinfo`: which mount holds a path.
//!
//! Format: proc_pid_mountinfo(5). Kernel side: `show_mountinfo` in fs/proc_namespace.c.

use std::path::{Path, PathBuf};

use crate::block::DeviceNumber;

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The kernel's number of the mount.
    pub id: u64,
    /// The mount that it is mounted on.
    pub parent: u64,
    /// Device of the file system; major 0 when it has no block device of its own.
    pub device: DeviceNumber,
    /// Directory of the file system that is mounted (not `/` for bind mounts and btrfs subvolumes).
    pub root: PathBuf,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// Options of this mount: `rw,noatime`.
    pub mount_options: String,
    /// File system type: `ext4`.
    pub filesystem: String,
    /// What was mounted: usually a device.
    pub source: String,
    /// Options of the file system itself: `rw,discard`. Odd characters in values stay escaped.
    pub super_options: String,
}

impl Mount {
    /// Options of the mount and of its file system together, each once, in their order.
    pub fn options(&self) -> String {
        let mut all: Vec<&str> = Vec::new();
        for option in self.mount_options.split(',').chain(self.super_options.split(',')) {
            if !option.is_empty() && !all.contains(&option) {
                all.push(option);
            }
        }
        // A mount that is read-only over a writable file system is read-only.
        if all.contains(&"ro") {
            all.retain(|option| *option != "rw");
        }
        all.join(",")
    }

    /// Whether writes are refused, by this mount or by its file system.
    pub fn read_only(&self) -> bool {
        self.options().split(',').any(|option| option == "ro")
    }

    /// The value of an option, as in `upperdir=/x`, with mountinfo's escapes undone.
    pub(crate) fn option_value(&self, name: &str) -> Option<String> {
        self.super_options
            .split(',')
            .find_map(|option| option.strip_prefix(name)?.strip_prefix('=').map(unescape))
    }
}

/// Undoes mountinfo's escapes: space, tab, newline, backslash and # come as `\` and three octal
/// digits. Anything else after a backslash is left as it is.
pub(crate) fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 4).filter(|d| d.iter().all(|c| (b'0'..=b'7').contains(c)));
        match (bytes[at], digits) {
            (b'\\', Some(&[a, b, c])) if a <= b'3' => {
                plain.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                at += 4;
            }
            (byte, _) => {
                plain.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// Reads mountinfo. A line that does not fit the format is left out: one odd mount must not hide
/// the others.
pub fn parse_mountinfo(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Mount> {
    // Single spaces, not any whitespace: an empty source leaves two in a row.
    let mut fields = line.split(' ');
    let id = fields.next()?.parse().ok()?;
    let parent = fields.next()?.parse().ok()?;
    let device = fields.next()?.parse().ok()?;
    let root = PathBuf::from(unescape(fields.next()?));
    let mount_point = PathBuf::from(unescape(fields.next()?));
    let mount_options = fields.next()?.to_owned();
    // Any number of optional fields (`shared:2`), then a lone dash.
    fields.find(|field| *field == "-")?;
    let filesystem = unescape(fields.next()?);
    let source = unescape(fields.next()?);
    // Kept escaped: an escaped comma within a value must not read as the end of it.
    let super_options = fields.next().unwrap_or("").to_owned();
    Some(Mount { id, parent, device, root, mount_point, mount_options, filesystem, source, super_options })
}

/// The mount that holds an absolute, symlink-free path, found as the kernel does: from the root
/// downwards, entering at each mount the nearest one on the way. Taking simply the longest mount
/// point would find mounts that a later mount on one of their parents hides.
pub(crate) fn holding<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let is_root = |m: &Mount| m.parent == m.id || !mounts.iter().any(|other| other.id == m.parent);
    let nearest = |inside: &dyn Fn(&Mount) -> bool| {
        mounts
            .iter()
            .rev() // of mounts on one place, the last is on top
            .filter(|m| inside(m) && path.starts_with(&m.mount_point))
            .min_by_key(|m| m.mount_point.components().count())
    };
    let mut current = nearest(&is_root)?;
    // Each mount is entered at most once: a malformed table may hold a loop.
    for _ in 0..mounts.len() {
        let here = current;
        match nearest(&|m| m.parent == here.id && m.id != here.id) {
            Some(deeper) => current = deeper,
            None => break,
        }
    }
    Some(current)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TABLE: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
30 27 8:1 / /mnt/with\\040space rw,noatime shared:3 master:1 - xfs /dev/sda1 rw,logbufs=8
31 27 8:17 / /srv rw - ext4 /dev/sdb1 rw
32 31 8:33 / /srv/deep rw - ext4 /dev/sdc1 rw
33 27 8:49 / /srv rw - ext4 /dev/sdd1 rw
34 27 254:0 /home/a /bind rw - ext4 /dev/vda rw
35 27 0:40 / /odd rw -  none rw
36 27 0:41 / /tmpfs ro,nosuid - tmpfs tmp\\134fs rw,size=4k
not a mount line
37 27";

    fn held_by(path: &str) -> u64 {
        holding(&parse_mountinfo(TABLE), Path::new(path)).unwrap().id
    }

    #[test]
    fn escapes_and_optional_fields() {
        let mounts = parse_mountinfo(TABLE);
        assert_eq!(mounts.len(), 8);
        assert_eq!(mounts[1].mount_point, Path::new("/mnt/with space"));
        assert_eq!(mounts[1].options(), "rw,noatime,logbufs=8");
        assert_eq!(mounts[7].source, "tmp\\fs");
        assert!(mounts[7].read_only() && !mounts[0].read_only());
        assert_eq!(mounts[7].options(), "ro,nosuid,size=4k");
        assert_eq!(unescape("a\\04"), "a\\04");
        assert_eq!(unescape("\\777"), "\\777");
    }

    #[test]
    fn the_nearest_visible_mount_holds_a_path() {
        assert_eq!(held_by("/"), 27);
        assert_eq!(held_by("/mnt/with space/x"), 30);
        assert_eq!(held_by("/mnt/with spaces"), 27);
        assert_eq!(held_by("/bind/x"), 34);
        // 33 was mounted over /srv later, so 31 and 32 cannot be reached any more.
        assert_eq!(held_by("/srv/deep/x"), 33);
    }

    #[test]
    fn a_tree_without_its_root_still_answers() {
        let mounts = parse_mountinfo("5 4 8:1 / /data rw - xfs /dev/sda1 rw");
        assert_eq!(holding(&mounts, Path::new("/data/x")).unwrap().id, 5);
        assert!(holding(&mounts, Path::new("/else")).is_none());
    }

    proptest! {
        #[test]
        fn any_text_parses(text in "\\PC*", path in "/[a-z/]{0,20}") {
            holding(&parse_mountinfo(&text), Path::new(&path));
        }

        #[test]
        fn any_fields_parse(ids in proptest::collection::vec((0u64..5, 0u64..5, "[/a\\\\0-7]{0,12}"), 0..12)) {
            let lines: Vec<String> =
                ids.iter().map(|(id, up, at)| format!("{id} {up} 8:1 / /{at} rw - xfs s rw")).collect();
            holding(&parse_mountinfo(&lines.join("\n")), Path::new("/a/a"));
        }
    }
}
