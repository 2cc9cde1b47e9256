//! Which storage of a context holds a job's files, where the job itself does not say.

use std::path::Path;

use iobound_host::System;
use iobound_record::Context;

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
