//! The real fio, on the same target, for comparison.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Runs fio on a job file; operations and bytes per second, reads and writes of all jobs together.
///
/// # Panics
/// When fio is missing or fails, with what it printed.
pub fn rates(mut command: Command, job_file: &str, dir: &Path) -> (f64, f64) {
    command.args(["--output-format=json", job_file]).current_dir(dir);
    let output = command.output().expect("fio is installed by scripts/install-test-deps.sh");
    let text = String::from_utf8_lossy(&output.stdout);
    // fio prints notes before its JSON.
    let json: Value = text
        .find('{')
        .and_then(|start| serde_json::from_str(&text[start..]).ok())
        .unwrap_or_else(|| panic!("{command:?} printed no JSON: {output:?}"));
    assert!(output.status.success(), "{command:?}: {output:?}");
    let mut sums = (0.0, 0.0);
    for job in json["jobs"].as_array().into_iter().flatten() {
        for direction in ["read", "write"] {
            sums.0 += job[direction]["iops"].as_f64().unwrap_or(0.0);
            sums.1 += job[direction]["bw_bytes"].as_f64().unwrap_or(0.0);
        }
    }
    sums
}

/// Whether fio is installed; says that the test is skipped if not.
pub fn is_installed() -> bool {
    let found = Command::new("fio").arg("--version").output().is_ok();
    if !found {
        iobound_lab::skip("fio is not installed; scripts/install-test-deps.sh installs it");
    }
    found
}
