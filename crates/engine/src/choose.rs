//! Which engine: the one asked for, or the best that the host allows, with the reason.

use std::io;

use io_uring::IoUring;
use iobound_record::EngineChoice;

use crate::error::EngineError;

/// The engine that will run, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Never `Auto`.
    pub engine: EngineChoice,
    /// In a sentence.
    pub reason: String,
}

/// Turns `auto` into an engine that takes `depth` operations at once; a named engine that the host
/// forbids is an error.
///
/// # Errors
/// The named engine is not to be had here, or is not one of ours (`fio`).
pub fn choose(asked: EngineChoice, depth: u32) -> Result<Choice, EngineError> {
    let choice = |engine, reason: &str| Ok(Choice { engine, reason: reason.into() });
    match asked {
        EngineChoice::Auto => Ok(best(depth)),
        EngineChoice::IoUring => match try_uring(depth) {
            Ok(()) => choice(asked, "asked for"),
            Err(error) => Err(refused("io_uring", &why_no_uring(&error))),
        },
        EngineChoice::Libaio => match try_aio() {
            Ok(()) => choice(asked, "asked for"),
            Err(error) => Err(refused("libaio", &why_no_aio(&error))),
        },
        EngineChoice::Psync | EngineChoice::Null => choice(asked, "asked for"),
        EngineChoice::Object => Err(EngineError::Backend {
            engine: asked.as_str(),
            cause: "a job works on files and devices".into(),
            remedy: "use `iobound stream` or `iobound objects` with an address such as s3://BUCKET/KEY"
                .into(),
        }),
        EngineChoice::Fio | EngineChoice::Dd => Err(EngineError::Backend {
            engine: asked.as_str(),
            cause: "it is a program of its own, not an engine of this room".into(),
            remedy: format!("run the job through the command line's --engine {asked}"),
        }),
    }
}

fn best(depth: u32) -> Choice {
    let uring = match try_uring(depth) {
        Ok(()) => {
            return Choice { engine: EngineChoice::IoUring, reason: "auto: the host allows io_uring".into() };
        }
        Err(error) => why_no_uring(&error),
    };
    match try_aio() {
        Ok(()) => Choice {
            engine: EngineChoice::Libaio,
            reason: format!("auto: no io_uring ({uring}); libaio is the next best"),
        },
        Err(error) => Choice {
            engine: EngineChoice::Psync,
            reason: format!(
                "auto: no io_uring ({uring}), no libaio ({}); one operation at a time a thread",
                why_no_aio(&error)
            ),
        },
    }
}

fn refused(engine: &'static str, why: &str) -> EngineError {
    EngineError::Backend {
        engine,
        cause: why.into(),
        remedy: "use --engine auto, which takes what the host allows".into(),
    }
}

fn try_uring(depth: u32) -> io::Result<()> {
    IoUring::new(depth.next_power_of_two()).map(drop)
}

fn try_aio() -> io::Result<()> {
    let mut context = 0u64;
    // SAFETY: `context` is a valid place for the kernel to store the id of the new context.
    if unsafe { libc::syscall(libc::SYS_io_setup, 1, &mut context) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the context was just made and nothing is in flight on it.
    unsafe { libc::syscall(libc::SYS_io_destroy, context) };
    Ok(())
}

fn why_no_uring(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            let sysctl = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").unwrap_or_default();
            match sysctl.trim() {
                "2" => "forbidden for all by sysctl kernel.io_uring_disabled=2".into(),
                "1" => "forbidden for this user by sysctl kernel.io_uring_disabled=1".into(),
                _ => "forbidden by a seccomp filter, as containers often have".into(),
            }
        }
        Some(libc::ENOSYS) => "this kernel has none, or a seccomp filter hides it".into(),
        Some(libc::ENOMEM) => {
            "the memlock limit is too low for a ring of this depth: raise 'ulimit -l'".into()
        }
        _ => error.to_string(),
    }
}

fn why_no_aio(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOSYS | libc::EPERM) => "this kernel has none, or a seccomp filter hides it".into(),
        Some(libc::EAGAIN) => "sysctl fs.aio-max-nr is used up".into(),
        _ => error.to_string(),
    }
}
