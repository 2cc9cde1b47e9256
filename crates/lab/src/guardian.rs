//! Undoes what a fixture did, also when the process that did it is killed.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::LabError;

/// The guardian's program: collect lines until the pipe closes, then run the last one first.
///
/// It ignores the signals of a terminal or a supervisor, since those end the process it guards, and
/// its work begins only then. Each line runs in a subshell, so that one that fails stops none.
const PROGRAM: &str = r#"
trap '' INT TERM HUP QUIT PIPE
undo=
while IFS= read -r line; do
    undo="$line
$undo"
done
printf '%s' "$undo" | while IFS= read -r line; do
    ( eval "$line" ) </dev/null >/dev/null 2>&1
done
"#;

/// A shell that runs the undo commands it was given, in reverse, once this value is dropped or its
/// process is gone.
#[derive(Debug)]
pub struct Guardian {
    shell: Child,
}

impl Guardian {
    /// Starts a guardian with nothing to undo.
    ///
    /// # Errors
    /// When `sh` cannot be started.
    pub fn start() -> Result<Self, LabError> {
        let shell = Command::new("sh")
            .args(["-c", PROGRAM, "iobound-lab-guardian"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Not in the process group that Ctrl-C or a supervisor's kill goes to.
            .process_group(0)
            .spawn()
            .map_err(|error| LabError::Failed(format!("cannot start sh: {error}")))?;
        Ok(Guardian { shell })
    }

    /// Adds a shell command, on one line, to run when all is over and before those added earlier.
    /// Call it before the thing to undo is done: a command that finds nothing to undo does nothing.
    ///
    /// # Errors
    /// When the guardian is gone.
    pub fn undo(&mut self, line: &str) -> Result<(), LabError> {
        assert!(!line.contains('\n'), "one line: {line:?}");
        self.send(line).map_err(|error| LabError::Failed(format!("the guardian is gone: {error}")))
    }

    fn send(&mut self, line: &str) -> io::Result<()> {
        let pipe = self.shell.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        pipe.write_all(format!("{line}\n").as_bytes())
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // The fixture is gone only when its undo commands are through.
        let _ = self.shell.wait();
    }
}
