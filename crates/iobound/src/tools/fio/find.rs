//! Where fio is, and whether it is one that can be driven.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use thiserror::Error;

/// First fio that knows `--lat_percentiles`: without it the percentiles leave out the time an
/// operation spends being submitted, and cannot be held against ours.
const OLDEST: Version = Version { major: 3, minor: 4 };

/// How to get fio, for every message that has to say so.
const INSTALL: &str = "install it (Debian, Ubuntu: apt install fio; Fedora, RHEL: dnf install fio; \
                       SUSE: zypper install fio) or choose another engine, which needs no fio";

/// A fio release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// 3 of `fio-3.33`.
    pub major: u32,
    /// 33 of `fio-3.33`.
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Version {
    /// Reads what `fio --version` prints: `fio-3.33`, `fio-3.36-12-gabcd`.
    fn parse(text: &str) -> Option<Version> {
        let mut parts = text.trim().strip_prefix("fio-")?.split(['.', '-']);
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next().and_then(|part| part.parse().ok()).unwrap_or(0);
        Some(Version { major, minor })
    }
}

/// Why there is no fio to run.
#[derive(Debug, Error)]
pub enum FindError {
    /// Nothing named `fio` in `PATH`.
    #[error("fio is not in PATH; {INSTALL}")]
    Missing,
    /// There is a `fio`, but it is another program (the Python package fiona has one of that name).
    #[error("{} is not the storage benchmark fio (its --version says '{says}'); {INSTALL}", path.display())]
    Another {
        /// The program.
        path: PathBuf,
        /// What it printed.
        says: String,
    },
    /// Too old to say what we need.
    #[error("{} is fio {version}; {OLDEST} or newer is needed: {INSTALL}", path.display())]
    TooOld {
        /// The program.
        path: PathBuf,
        /// Its version.
        version: Version,
    },
}

/// A fio that can be driven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fio {
    /// The program.
    pub path: PathBuf,
    /// Its version.
    pub version: Version,
}

/// Finds fio in `PATH`, past other programs of that name.
///
/// # Errors
/// [`FindError`], whose text says how to install it.
pub fn find() -> Result<Fio, FindError> {
    find_in(&env::var_os("PATH").unwrap_or_default())
}

fn find_in(path: &OsStr) -> Result<Fio, FindError> {
    let mut refused = FindError::Missing;
    for directory in env::split_paths(path) {
        let program = directory.join("fio");
        if !is_executable(&program) {
            continue;
        }
        match examine(program) {
            Ok(fio) => return Ok(fio),
            // The first one is what the person's shell would run, so that one is explained.
            Err(error) if matches!(refused, FindError::Missing) => refused = error,
            Err(_) => {}
        }
    }
    Err(refused)
}

fn examine(path: PathBuf) -> Result<Fio, FindError> {
    let output = Command::new(&path).arg("--version").stdin(Stdio::null()).output();
    let says = match output {
        Ok(output) => String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().into(),
        Err(error) => error.to_string(),
    };
    match Version::parse(&says) {
        None => Err(FindError::Another { path, says }),
        Some(version) if version < OLDEST => Err(FindError::TooOld { path, version }),
        Some(version) => Ok(Fio { path, version }),
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::fio::stand_in::directory_with_fio;

    fn fio_that_prints(version: &str) -> tempfile::TempDir {
        directory_with_fio(&format!("echo '{version}'"))
    }

    #[test]
    fn versions_read_as_printed() {
        assert_eq!(Version::parse("fio-3.33\n"), Some(Version { major: 3, minor: 33 }));
        assert_eq!(Version::parse("fio-3.36-12-gabcd"), Some(Version { major: 3, minor: 36 }));
        assert_eq!(Version::parse("fio, version 1.9"), None);
        assert!(Version { major: 3, minor: 4 } < Version { major: 3, minor: 33 });
    }

    #[test]
    fn no_fio_names_the_remedy() {
        let empty = tempfile::tempdir().unwrap();
        let error = find_in(empty.path().as_os_str()).unwrap_err();
        assert!(error.to_string().contains("apt install fio"), "{error}");
    }

    #[test]
    fn another_program_of_that_name_is_passed_over() {
        let (fiona, real) = (fio_that_prints("fio, version 1.9"), fio_that_prints("fio-3.33"));
        assert!(matches!(find_in(fiona.path().as_os_str()), Err(FindError::Another { .. })));
        let path = env::join_paths([fiona.path(), real.path()]).unwrap();
        assert_eq!(find_in(&path).unwrap().path, real.path().join("fio"));
    }

    #[test]
    fn an_old_fio_is_refused() {
        let old = fio_that_prints("fio-2.16");
        let error = find_in(old.path().as_os_str()).unwrap_err();
        assert!(error.to_string().contains("is fio 2.16; 3.4 or newer"), "{error}");
    }
}
