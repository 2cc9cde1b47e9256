//! What can go wrong, each with its cause and its remedy.

use std::io;
use std::path::PathBuf;

use iobound_record::JobError;
use thiserror::Error;

/// Why a job could not run, or broke.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The job itself is at fault.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The target cannot be opened or prepared.
    #[error("{}: {cause}; {remedy}", path.display())]
    Target {
        /// File or device.
        path: PathBuf,
        /// Why.
        cause: String,
        /// What to do.
        remedy: String,
    },
    /// The host refuses the engine that was asked for by name.
    #[error("engine {engine}: {cause}; {remedy}")]
    Backend {
        /// Engine.
        engine: &'static str,
        /// Why.
        cause: String,
        /// What to do.
        remedy: String,
    },
    /// The buffers of the job do not fit.
    #[error(
        "{needed} of buffers are needed (iodepth x numjobs x bs), {available} is there; lower iodepth, numjobs or bs"
    )]
    Memory {
        /// What the job asks for.
        needed: String,
        /// What there is.
        available: String,
    },
    /// The pool of a stream does not fit.
    #[error("{needed} of buffers are needed, {available} is there; lower --buffer-count or --buffer-size")]
    Pool {
        /// What the stream asks for.
        needed: String,
        /// What there is.
        available: String,
    },
    /// A system call of the engine failed in the middle.
    #[error("{what}: {source}; {remedy}")]
    Broke {
        /// What was being done.
        what: String,
        /// The system's answer.
        source: io::Error,
        /// What to do.
        remedy: String,
    },
}

impl EngineError {
    pub(crate) fn target(
        path: &std::path::Path,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        EngineError::Target { path: path.into(), cause: cause.into(), remedy: remedy.into() }
    }

    pub(crate) fn broke(what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        let remedy = remedy_of(&source).to_string();
        EngineError::Broke { what: what.into(), source, remedy }
    }

    /// A system error about a path, with the remedy that its errno calls for.
    pub(crate) fn open(path: &std::path::Path, doing: &str, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        EngineError::target(path, format!("{doing}: {}", describe(&source)), remedy_of(&source))
    }
}

/// An error by its errno name and the system's sentence: `ENOSPC (No space left on device)`.
pub(crate) fn describe(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(errno) => {
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or(&text);
            match errno_name(errno) {
                Some(name) => format!("{name} ({text})"),
                None => format!("errno {errno} ({text})"),
            }
        }
        None => error.to_string(),
    }
}

fn errno_name(errno: i32) -> Option<&'static str> {
    Some(match errno {
        libc::EIO => "EIO",
        libc::ENOSPC => "ENOSPC",
        libc::EINVAL => "EINVAL",
        libc::EACCES => "EACCES",
        libc::EPERM => "EPERM",
        libc::EROFS => "EROFS",
        libc::ENOENT => "ENOENT",
        libc::EBUSY => "EBUSY",
        libc::EDQUOT => "EDQUOT",
        libc::EFBIG => "EFBIG",
        libc::ENOMEM => "ENOMEM",
        libc::EAGAIN => "EAGAIN",
        libc::EMFILE => "EMFILE",
        libc::ENODEV => "ENODEV",
        libc::ENXIO => "ENXIO",
        libc::EREMOTEIO => "EREMOTEIO",
        libc::ETIMEDOUT => "ETIMEDOUT",
        libc::EILSEQ => "EILSEQ",
        libc::ENODATA => "ENODATA",
        libc::EOPNOTSUPP => "EOPNOTSUPP",
        libc::ENOSYS => "ENOSYS",
        libc::EEXIST => "EEXIST",
        libc::EISDIR => "EISDIR",
        _ => return None,
    })
}

/// What to do about an errno.
pub(crate) fn remedy_of(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::ENOSPC) => "free space there or lower size",
        Some(libc::EDQUOT) => "raise the quota or lower size",
        Some(libc::EROFS) => "choose a directory on a writable file system",
        Some(libc::EACCES | libc::EPERM) => "choose a path this user may use, or run as its owner",
        Some(libc::ENOENT) => "make the directory first, or correct the path",
        Some(libc::EFBIG) => "lower size: the file system or 'ulimit -f' does not allow files this large",
        Some(libc::EMFILE) => "raise 'ulimit -n', or lower nrfiles or numjobs",
        Some(libc::ENOMEM) => "lower iodepth or bs, or raise the memlock limit ('ulimit -l')",
        Some(libc::EBUSY) => "stop whatever else uses it",
        Some(libc::EIO | libc::EREMOTEIO | libc::ENODATA | libc::EILSEQ | libc::ETIMEDOUT) => {
            "the device failed the operation: look at the kernel log (dmesg) and the device's health"
        }
        Some(libc::ENODEV | libc::ENXIO) => "the device went away: look at the kernel log (dmesg)",
        Some(libc::EISDIR) => "name a file, not a directory",
        _ => "look at the kernel log (dmesg)",
    }
}
