//! Programs of the host, and what may be asked of it.

use std::process::Command;

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
