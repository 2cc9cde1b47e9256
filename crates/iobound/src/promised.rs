//! Which storage holds a job's files, where the job itself does not say: of a context, or of this host.

use std::path::Path;

use iobound_host::{Stack, System};
use iobound_model::ceiling::{Limits, Topology};
use iobound_model::context::detect;
use iobound_record::{Context, Probe};

use crate::contexts;
use crate::exit::Failure;

/// The role, or else the mount, of the context's file system that is really mounted where all of `paths`
/// are; None when there is none, or they are on several.
pub(crate) fn volume_of(context: &Context, system: &System, paths: &[impl AsRef<Path>]) -> Option<String> {
    let mut found = None;
    for path in paths {
        let stack = system.stack_of(path.as_ref()).ok()?;
        let name = on_mount(context, &stack.mount.as_ref()?.mount_point)?;
        if found.replace(name.clone()).is_some_and(|other: String| other != name) {
            return None;
        }
    }
    found
}

fn on_mount(context: &Context, mount_point: &Path) -> Option<String> {
    let filesystem = context.filesystems.iter().find(|fs| Path::new(&fs.mount) == mount_point)?;
    Some(filesystem.role.map_or_else(|| filesystem.mount.clone(), |role| role.name().to_owned()))
}

/// How the disks under `path` are joined on this host, each of them with `limits`.
///
/// # Errors
/// Nothing there, or several disks that are joined in a way that is not known.
pub(crate) fn layout_under(path: &Path, probe: &Probe, limits: &Limits) -> Result<Topology, Failure> {
    let system = System::live();
    std::fs::metadata(path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    let stack = system.stack_of(path).map_err(Failure::usage)?;
    let context = detect(probe, &contexts::wal_links(probe)).context;
    match name_of(&context, &stack, path) {
        Some(name) => {
            let topology = Topology::of(&context, &name).map_err(Failure::usage)?;
            Ok(topology.with_limits(limits))
        }
        None if stack.disks.len() <= 1 && !stack.top.is_empty() => Ok(Topology::uniform(None, 0, 1, limits)),
        None => Err(Failure::usage(format!(
            "{}: {}; say it with --volumes and --raid instead of --on",
            path.display(),
            match stack.top.is_empty() {
                true => "there is no disk of this host under it (a network or memory file system)",
                false => "how the disks under it are joined cannot be read",
            }
        ))),
    }
}

/// The file system's or array's name in a context made of this host.
fn name_of(context: &Context, stack: &Stack, path: &Path) -> Option<String> {
    let mounted = stack.mount.as_ref().and_then(|mount| on_mount(context, &mount.mount_point));
    let is_under = |device: &str| {
        let node = std::fs::canonicalize(device).unwrap_or_else(|_| device.into());
        let top = stack.top.iter().any(|top| node.file_name().is_some_and(|name| name == top.name.as_str()));
        top || path == Path::new(device)
    };
    let array = context.arrays.iter().find(|array| !array.device.is_empty() && is_under(&array.device));
    mounted.or_else(|| array.map(|array| array.name.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_known_by_its_role_or_its_place() {
        let context: Context = toml::from_str(
            "schema = 1\nname = 'x'\n[[volume]]\nname = 'd'\nkind = 'gp3'\nsize = '1GiB'\n\
             [[filesystem]]\non = 'd'\nmount = '/data'\nrole = 'data'\n\
             [[filesystem]]\non = 'd'\nmount = '/srv'\n",
        )
        .unwrap();
        let on = |mount: &str| on_mount(&context, Path::new(mount));
        assert_eq!((on("/data").as_deref(), on("/srv").as_deref()), (Some("data"), Some("/srv")));
        // Not everything below a mount point is on it: only what is mounted there counts.
        assert_eq!((on("/"), on("/data/other")), (None, None));
        let nowhere: [&Path; 0] = [];
        assert_eq!(volume_of(&context, &System::live(), &nowhere), None);
    }
}
