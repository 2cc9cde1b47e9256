//! The real fio, for tests that ask it.

use std::path::Path;
use std::process::{Command, Output};

/// The version of the installed fio, or None with a word about it. In CI it has to be there.
pub fn fio() -> Option<String> {
    match Command::new("fio").arg("--version").output() {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        _ => {
            let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true" || ci == "1");
            assert!(!is_ci, "CI does not skip tests: fio is not installed");
            eprintln!("SKIPPED: fio is not installed");
            None
        }
    }
}

/// Runs fio in a directory.
pub fn run_fio(directory: &Path, arguments: &[&str]) -> Output {
    Command::new("fio").args(arguments).current_dir(directory).output().expect("fio runs")
}
