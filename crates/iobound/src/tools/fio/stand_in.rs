//! Shell scripts in the place of fio, for tests.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// A directory with a program `fio` that runs `script`.
pub(super) fn directory_with_fio(script: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("fio");
    fs::write(&program, format!("#!/bin/sh\n[ \"$1\" = --probe ] && exit 0\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    // A process that another test just forked may hold the file open for writing until it calls
    // exec, and a file that is open for writing cannot be run.
    while let Err(error) = Command::new(&program).arg("--probe").status() {
        assert_eq!(error.kind(), ErrorKind::ExecutableFileBusy, "{error}");
        thread::sleep(Duration::from_millis(5));
    }
    directory
}
