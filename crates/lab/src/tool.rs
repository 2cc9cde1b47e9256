//! Programs of the host, and what may be asked of it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use crate::LabError;

/// Runs `command` and returns its standard output.
///
/// # Errors
/// Skip when the program is not installed; Failed, with its standard error, when it fails.
pub fn run(command: &mut Command) -> Result<String, LabError> {
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let program = command.get_program().to_string_lossy();
            return Err(LabError::Skip(format!(
                "{program} is not installed; scripts/install-test-deps.sh installs it"
            )));
        }
        Err(error) => return Err(LabError::Failed(format!("{command:?}: {error}"))),
    };
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(LabError::Failed(format!("{command:?}: {}: {}", output.status, stderr.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Whether this process is root, by the owner of its `/proc` entry.
pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|entry| entry.uid() == 0)
}

/// Skips unless this process is root.
pub fn need_root() -> Result<(), LabError> {
    if is_root() { Ok(()) } else { Err(LabError::Skip("needs root (loop devices, cgroups, mounts)".into())) }
}

/// `text` as one word of a shell command.
pub fn quoted(text: impl AsRef<std::ffi::OsStr>) -> String {
    format!("'{}'", text.as_ref().to_string_lossy().replace('\'', r"'\''"))
}

/// Starts `command`.
///
/// # Errors
/// Skip when the program is not installed.
pub fn spawn(command: &mut Command) -> Result<Child, LabError> {
    command.spawn().map_err(|error| {
        let program = command.get_program().to_string_lossy();
        match error.kind() {
            std::io::ErrorKind::NotFound => LabError::Skip(format!("{program} is not installed")),
            _ => LabError::Failed(format!("{program}: {error}")),
        }
    })
}

/// How `child` ended; None when it runs on after `limit`.
///
/// # Errors
/// The system's.
pub fn wait_at_most(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>, LabError> {
    let deadline = Instant::now() + limit;
    loop {
        let ended = child.try_wait().map_err(|error| LabError::Failed(format!("waiting: {error}")))?;
        if ended.is_some() || Instant::now() >= deadline {
            return Ok(ended);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a program is in PATH or where administrators' programs are.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let sbin = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(sbin).any(|dir| dir.join(program).is_file())
}

/// Skips, with the command that installs them, unless all programs are there: pairs of a program and
/// its Debian package.
pub fn need_programs(needed: &[(&str, &str)]) -> Result<(), LabError> {
    let missing: Vec<_> = needed.iter().filter(|(program, _)| !is_installed(program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|(program, _)| *program).collect();
    let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    Err(LabError::Skip(format!(
        "not installed: {}; install with: apt-get install -y --no-install-recommends {}",
        names.join(", "),
        packages.join(" ")
    )))
}

/// Bytes that may still be written below `path`.
pub fn free_space(path: &Path) -> Result<u64, LabError> {
    let said = run(Command::new("df").args(["--output=avail", "-B1"]).arg(path))?;
    said.lines()
        .last()
        .and_then(|line| line.trim().parse().ok())
        .ok_or_else(|| LabError::Failed(format!("df said '{said}'")))
}

/// Fails unless `bytes` may be written below `path`.
pub fn need_space(path: &Path, bytes: u64) -> Result<(), LabError> {
    let free = free_space(path)?;
    if free >= bytes {
        return Ok(());
    }
    Err(LabError::Failed(format!(
        "{} has {} MiB left, and up to {} MiB are needed",
        path.display(),
        free >> 20,
        bytes >> 20
    )))
}

/// For a guardian: kills the process whose id is in `pid_file`, if it is the one with `mark` in its
/// command line and not a stranger that got the number later.
pub fn kill_line(pid_file: &Path, mark: &str) -> String {
    format!("p=$(cat {}) && grep -qaF {} /proc/$p/cmdline && kill -9 $p", quoted(pid_file), quoted(mark))
}
