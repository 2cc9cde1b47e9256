//! Limits of the control groups that this process is in: cgroups(7).
//!
//! Version 2: Documentation/admin-guide/cgroup-v2.rst; version 1: Documentation/admin-guide/cgroup-v1.

use std::path::Path;

use crate::mounts::Mount;
use crate::system::System;

/// The texts of a file in our group and in every group above it, nearest first, in both versions of
/// cgroups: `file_v2` where the unified tree has it, `file_v1` of the version 1 `controller`.
pub(crate) fn upwards(system: &System, controller: &str, file_v2: &str, file_v1: &str) -> Vec<String> {
    let (Ok(mounts), Some(groups)) = (system.mounts(), system.attribute("/proc/self/cgroup")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let (file, mount) = if controllers.is_empty() {
            (file_v2, mounts.iter().find(|m| m.filesystem == "cgroup2"))
        } else if controllers.split(',').any(|name| name == controller) {
            (file_v1, mounts.iter().find(|m| is_cgroup_of(m, controller)))
        } else {
            continue;
        };
        if let Some(mount) = mount {
            found.extend(texts_upwards(system, mount, group, file));
        }
    }
    found
}

fn is_cgroup_of(mount: &Mount, controller: &str) -> bool {
    mount.filesystem == "cgroup" && mount.super_options.split(',').any(|option| option == controller)
}

/// In a container the mount shows only a part of the tree, named by the mount's root.
fn texts_upwards(system: &System, mount: &Mount, group: &str, file: &str) -> Vec<String> {
    let group = Path::new(group);
    let inside = group.strip_prefix(&mount.root).or_else(|_| group.strip_prefix("/")).unwrap_or(group);
    inside
        .ancestors()
        .filter_map(|part| system.attribute(mount.mount_point.join(part).join(file)))
        .filter(|text| !text.is_empty())
        .collect()
}
