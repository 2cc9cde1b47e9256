//! Where dd is, and whether it is one that can be driven.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use thiserror::Error;

const INSTALL: &str = "install GNU coreutils, or choose another engine, which needs no dd";

/// A dd that can be driven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dd {
    /// The program.
    pub path: PathBuf,
    /// The first line of its `--version`: `dd (coreutils) 9.1`.
    pub version: String,
}

/// Why there is no dd to run.
#[derive(Debug, Error)]
pub enum FindError {
    /// Nothing named `dd` in `PATH`.
    #[error("dd is not in PATH; {INSTALL}")]
    Missing,
    /// One without the flags that are needed: busybox's knows neither `oflag=sync` nor `conv=nocreat`.
    #[error("{} is not the dd of coreutils (its --version says '{says}'); {INSTALL}", path.display())]
    Another {
        /// The program.
        path: PathBuf,
        /// What it printed.
        says: String,
    },
}

/// Finds dd in `PATH`.
///
/// # Errors
/// [`FindError`].
pub fn find() -> Result<Dd, FindError> {
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::split_paths(&path).map(|directory| directory.join("dd")).find(|path| path.is_file());
    let path = path.ok_or(FindError::Missing)?;
    let output = Command::new(&path).arg("--version").env("LC_ALL", "C").stdin(Stdio::null()).output();
    let says = match output {
        Ok(output) => String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned(),
        Err(error) => error.to_string(),
    };
    match says.starts_with("dd ") && says.contains("coreutils") {
        true => Ok(Dd { path, version: says }),
        false => Err(FindError::Another { path, says }),
    }
}
