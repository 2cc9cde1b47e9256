//! This machine.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iobound_record::{Evidence, Ground, Interests, Probe};
use rustix::fs::SeekFrom;

use super::evidence::{END_BYTES, evidence_of};
use super::ground::{find_program, ground};
use super::machine::{Machine, Ran};
use crate::guard::{open_exclusively, signatures};
use crate::probe::{ProbeOptions, probe};
use crate::system::System;

/// What is wiped where a signature lies apart from the ends: no superblock's magic crosses it.
const BLOCK_BYTES: u64 = 4096;

/// The machine that we run on.
#[derive(Debug)]
pub struct LiveMachine {
    system: System,
    options: ProbeOptions,
}

impl LiveMachine {
    /// With options for its probes.
    pub fn new(options: ProbeOptions) -> Self {
        LiveMachine { system: System::live(), options }
    }
}

impl Machine for LiveMachine {
    fn probe(&self) -> io::Result<Probe> {
        Ok(probe(&self.system, &self.options))
    }

    fn ground(&self, interests: &Interests) -> Ground {
        ground(self, &self.system, interests)
    }

    fn evidence(&self, device: &str) -> Vec<Evidence> {
        evidence_of(&self.system, device)
    }

    fn filesystem(&self, node: &str) -> Option<(String, String)> {
        let argv = ["blkid", "-p", "-o", "export", node].map(String::from);
        let ran = self.run(&argv).ok().filter(|ran| ran.ok)?;
        let value = |key: &str| ran.stdout.lines().find_map(|line| line.strip_prefix(key)).map(str::to_owned);
        Some((value("TYPE=")?, value("UUID=")?.to_ascii_lowercase()))
    }

    fn run(&self, argv: &[String]) -> io::Result<Ran> {
        let (name, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let program = find_program(name)
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("{name} is not installed")))?;
        let output = Command::new(program)
            .args(arguments)
            .env("LC_ALL", "C")
            // A tool that asks is answered by the end of its input, which all of them take for no.
            .stdin(Stdio::null())
            // A terminal's Ctrl-C is for us: no tool is stopped in the middle of its work.
            .process_group(0)
            .output()?;
        Ok(Ran {
            ok: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        match fs::read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        // Through a link it would become a file of its own.
        let path = match fs::canonicalize(path) {
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => PathBuf::from(path),
            Err(error) => return Err(error),
        };
        let parent = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(parent)?;
        let former = fs::metadata(&path).ok();
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".iobound-{}", std::process::id()));
        let temporary = parent.join(name);
        let written = write_beside(&temporary, bytes, former.as_ref())
            .and_then(|()| fs::rename(&temporary, &path))
            .and_then(|()| File::open(parent)?.sync_all());
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn set(&self, path: &str, value: &str) -> io::Result<()> {
        // One write: the kernel takes each as a value of its own.
        OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
    }

    fn make_directory(&self, path: &str, owner: &str, mode: u32) -> io::Result<()> {
        let mode = format!("{mode:04o}");
        let mut argv = vec!["install", "-d", "-m", &mode];
        let (user, group) = owner.split_once(':').unwrap_or((owner, ""));
        for (flag, name) in [("-o", user), ("-g", group)] {
            if !name.is_empty() {
                argv.extend([flag, name]);
            }
        }
        argv.push(path);
        let ran = self.run(&argv.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        if ran.ok { Ok(()) } else { Err(io::Error::other(ran.stderr.trim().to_owned())) }
    }

    fn remove_directory(&self, path: &str) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn entries(&self, path: &str) -> io::Result<Option<Vec<(String, bool)>>> {
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            found.push((entry.file_name().to_string_lossy().into_owned(), entry.file_type()?.is_dir()));
        }
        found.sort();
        Ok(Some(found))
    }

    fn zero_ends(&self, node: &str) -> io::Result<()> {
        // Exclusively: should anybody use it by now, this fails and nothing is touched.
        let device = open_exclusively(OpenOptions::new().read(true).write(true), Path::new(node))?;
        let size = rustix::fs::seek(&device, SeekFrom::End(0))?;
        let zeros = vec![0; END_BYTES.min(size) as usize];
        // The start last: until then the device still says what it was.
        device.write_all_at(&zeros, size.saturating_sub(END_BYTES))?;
        device.sync_all()?;
        device.write_all_at(&zeros, 0)?;
        // Some file systems have copies further in, by which tools would find them again.
        for copy in signatures(&device, size)? {
            let at = copy.offset & !(BLOCK_BYTES - 1);
            let length = BLOCK_BYTES.min(size - at) as usize;
            device.write_all_at(&zeros[..length], at)?;
        }
        device.sync_all()
    }

    fn users_of(&self, mount: &str) -> Vec<String> {
        let mut found = Vec::new();
        for process in self.system.names("/proc").into_iter().filter(|name| name.parse::<u32>().is_ok()) {
            let base = Path::new("/proc").join(&process);
            let mut links = vec![base.join("cwd"), base.join("root"), base.join("exe")];
            links.extend(fs::read_dir(base.join("fd")).into_iter().flatten().flatten().map(|fd| fd.path()));
            let is_below = |link: &PathBuf| fs::read_link(link).is_ok_and(|to| to.starts_with(mount));
            if let Some(link) = links.iter().find(|link| is_below(link)) {
                let name = fs::read_to_string(base.join("comm")).unwrap_or_default();
                let to = fs::read_link(link).unwrap_or_default();
                found.push(format!("process {process} ({}) has {} open", name.trim(), to.display()));
            }
        }
        found
    }
}

/// A file with the owner and mode of the one that it will take the place of.
fn write_beside(path: &Path, bytes: &[u8], former: Option<&fs::Metadata>) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(path)?;
    file.write_all(bytes)?;
    if let Some(former) = former {
        std::os::unix::fs::fchown(&file, Some(former.uid()), Some(former.gid()))?;
        file.set_permissions(fs::Permissions::from_mode(former.mode() & 0o7777))?;
    }
    file.sync_all()
}
