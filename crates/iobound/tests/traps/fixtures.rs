//! What the traps are planted on: volumes of known limits, contexts that promise something, suites.

use std::path::{Path, PathBuf};
use std::process::Command;

use iobound_lab::guardian::Guardian;
use iobound_lab::{is_root, skip};

use crate::support::{Case, IOBOUND};

/// A virtual volume with an ext4 file system, gone when dropped or when this process is killed.
pub struct Volume {
    state: PathBuf,
    mount: PathBuf,
    _guardian: Guardian,
}

impl Volume {
    /// `words` as `iobound lab up` takes them, without a file system. None where this host has none.
    pub fn up(name: &str, words: &str) -> Option<Volume> {
        if !is_root() {
            skip("needs root (a FUSE mount, loop devices)");
            return None;
        }
        if !Path::new("/dev/fuse").exists() {
            skip("this kernel has no FUSE");
            return None;
        }
        let base = std::env::temp_dir().join(format!("iobound-traps-{}-{name}", std::process::id()));
        let (state, mount) = (base.join("state"), base.join("mount"));
        let mut guardian = Guardian::start().unwrap();
        guardian
            .undo(&format!(
                "for i in 1 2 3; do IOBOUND_LAB_STATE='{}' '{IOBOUND}' lab down --all && break; done; \
                 rmdir '{}'; grep -q '{base}' /proc/mounts || rm -rf '{base}'",
                state.display(),
                mount.display(),
                base = base.display()
            ))
            .unwrap();
        let volume = Volume { state, mount, _guardian: guardian };
        let words = format!("{name}={words},fs=ext4,mount={}", volume.mount.display());
        let made = volume.command().args(["lab", "up", "--volume", &words]).output().unwrap();
        assert!(made.status.success(), "{words}: {}", String::from_utf8_lossy(&made.stderr));
        Some(volume)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(IOBOUND);
        command.env("IOBOUND_LAB_STATE", &self.state);
        command
    }

    pub fn dir(&self) -> &Path {
        &self.mount
    }
}

/// A context file of one volume under a file system at `mount`; `volume` and `filesystem` are further lines
/// of theirs, `instance` of the machine.
pub fn context(case: &Case, mount: &Path, instance: &str, volume: &str, filesystem: &str) -> String {
    let path = case.beside("context.toml");
    let text = format!(
        "schema = 1\nname = \"lab\"\n[instance]\n{instance}\n[[volume]]\nname = \"disk\"\nkind = \"virtual\"\n\
         size = \"64MiB\"\n{volume}\n[[filesystem]]\non = \"disk\"\nkind = \"ext4\"\nmount = \"{}\"\n\
         role = \"data\"\n{filesystem}\n",
        mount.display()
    );
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A suite of one scenario on the data volume.
pub fn suite(case: &Case, name: &str, job: &str) -> String {
    let path = case.beside("suite.toml");
    let text = format!(
        "name = \"traps\"\n[job]\ndirect = 1\ntime_based = 1\n[[scenario]]\nid = 1\nname = \"{name}\"\n\
         volume = \"data\"\njob = {{ {job} }}\n"
    );
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}
