//! io_uring with everything registered that the kernel grants.
//!
//! This file holds the engine's only pushes to a ring. Features are asked for one by one and what
//! was granted is recorded, so that two results are never compared under different terms unseen.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use io_uring::types::{Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue, types};

use super::{Backend, Completion, Grants, Io, Op, Resources};

pub(crate) struct Uring {
    ring: IoUring,
    files: Vec<RawFd>,
    registered_files: bool,
    registered_buffers: bool,
    in_flight: u32,
    queued: u32,
}

/// Step of waiting on kernels that cannot wait with a time-out.
const NAP: Duration = Duration::from_micros(50);

type Setup = fn(&mut io_uring::Builder);

/// Ring set-ups, the cheapest to run first, each with the kernel that brought it.
const SETUPS: [(&str, Setup); 3] = [
    // 6.1: completions are run by the thread that waits for them, not by an interrupt of it.
    ("defer_taskrun", |builder| {
        builder.setup_single_issuer().setup_defer_taskrun();
    }),
    // 5.19: no inter-processor interrupt a completion.
    ("coop_taskrun", |builder| {
        builder.setup_coop_taskrun();
    }),
    ("plain", |_| {}),
];

impl Uring {
    /// Must be called by the thread that will submit: a single-issuer ring belongs to its maker.
    ///
    /// # Errors
    /// The kernel's, when it gives no ring at all: `EPERM` where a sysctl or seccomp forbids it,
    /// `ENOSYS` without io_uring, `ENOMEM` over the locked-memory limit of kernels before 5.12.
    pub(crate) fn new(resources: &Resources) -> io::Result<(Self, Grants)> {
        let mut grants = Grants::default();
        let mut made = Err(io::Error::from_raw_os_error(libc::ENOSYS));
        for (name, setup) in SETUPS {
            let mut builder = IoUring::builder();
            builder.dontfork();
            setup(&mut builder);
            made = builder.build(resources.depth.next_power_of_two());
            match &made {
                Ok(_) => {
                    grants.granted.push(name.into());
                    break;
                }
                Err(error) => grants.refused.push(format!("{name}: {error}")),
            }
        }
        let ring = made?;
        let registered_files = Self::register(&mut grants, "registered_files", || {
            ring.submitter().register_files(resources.files)
        });
        let registered_buffers = Self::register(&mut grants, "registered_buffers", || {
            let buffers = resources.buffers;
            let vectors: Vec<libc::iovec> = (0..buffers.count() as u32)
                .map(|slot| libc::iovec { iov_base: buffers.pointer(slot).cast(), iov_len: buffers.len() })
                .collect();
            // SAFETY: the buffers outlive this ring (the worker drops its backend first).
            unsafe { ring.submitter().register_buffers(&vectors) }
        });
        let files = resources.files.to_vec();
        Ok((Uring { ring, files, registered_files, registered_buffers, in_flight: 0, queued: 0 }, grants))
    }

    fn register(grants: &mut Grants, name: &str, register: impl FnOnce() -> io::Result<()>) -> bool {
        match register() {
            Ok(()) => grants.granted.push(name.into()),
            Err(error) => {
                let why = match error.raw_os_error() {
                    Some(libc::ENOMEM) => "over the memlock limit (raise 'ulimit -l')".to_string(),
                    _ => error.to_string(),
                };
                grants.refused.push(format!("{name}: {why}"));
                return false;
            }
        }
        true
    }

    #[inline(always)]
    fn entry(&self, io: &Io) -> squeue::Entry {
        /// Builds an opcode on a registered or a plain file.
        macro_rules! on_file {
            ($file:ident => $opcode:expr) => {
                if self.registered_files {
                    let $file = Fixed(io.file);
                    $opcode.build()
                } else {
                    let $file = Fd(self.files[io.file as usize]);
                    $opcode.build()
                }
            };
        }
        let index = io.slot as u16;
        match io.op {
            Op::Read if self.registered_buffers => {
                on_file!(fd => opcode::ReadFixed::new(fd, io.buffer, io.len, index).offset(io.offset))
            }
            Op::Read => on_file!(fd => opcode::Read::new(fd, io.buffer, io.len).offset(io.offset)),
            Op::Write if self.registered_buffers => {
                on_file!(fd => opcode::WriteFixed::new(fd, io.buffer, io.len, index).offset(io.offset))
            }
            Op::Write => on_file!(fd => opcode::Write::new(fd, io.buffer, io.len).offset(io.offset)),
            Op::Fsync => on_file!(fd => opcode::Fsync::new(fd)),
            Op::Fdatasync => {
                on_file!(fd => opcode::Fsync::new(fd).flags(types::FsyncFlags::DATASYNC))
            }
        }
    }
}

impl Backend for Uring {
    #[inline(always)]
    fn push(&mut self, io: &Io) {
        let entry = self.entry(io).user_data(u64::from(io.slot));
        // SAFETY: `Io` guarantees that its buffer stays valid and untouched until its completion was
        // reaped; the ring has at least as many entries as operations may be queued.
        unsafe { self.ring.submission().push(&entry) }.expect("the ring holds the whole depth");
        self.queued += 1;
    }

    #[inline(always)]
    fn submit(&mut self, min_complete: u32, timeout: Option<Duration>) -> io::Result<()> {
        self.in_flight += self.queued;
        self.queued = 0;
        let min = min_complete.min(self.in_flight);
        let submitter = self.ring.submitter();
        let result = match timeout {
            None => submitter.submit_and_wait(min as usize),
            // Waiting with a time-out came with 5.11.
            Some(timeout) if !self.ring.params().is_feature_ext_arg() => {
                std::thread::sleep(timeout.min(NAP));
                submitter.submit_and_wait(0)
            }
            Some(timeout) => {
                let time = Timespec::from(timeout);
                submitter.submit_with_args(min.max(1) as usize, &SubmitArgs::new().timespec(&time))
            }
        };
        match result {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // A signal, the time-out, or a completion queue to be reaped first.
                Some(libc::EINTR | libc::ETIME | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(error),
            },
        }
    }

    #[inline(always)]
    fn reap(&mut self, completions: &mut Vec<Completion>) {
        let before = completions.len();
        completions.extend(
            self.ring
                .completion()
                .map(|entry| Completion { slot: entry.user_data() as u32, result: entry.result() }),
        );
        self.in_flight -= (completions.len() - before) as u32;
    }
}
