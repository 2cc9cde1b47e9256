//! Linux native AIO, for hosts that forbid io_uring. Asynchronous only with O_DIRECT: without it
//! `io_submit` blocks for the length of the operation.
//!
//! Syncs run to their end in the submitting thread, as with fio's libaio: few file systems make
//! `IOCB_CMD_FDSYNC` anything but that.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use super::{Backend, Completion, Io, Op, Resources, psync};

/// `struct iocb` of include/uapi/linux/aio_abi.h on little-endian machines.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Iocb {
    data: u64,
    key: u32,
    rw_flags: i32,
    opcode: u16,
    reqprio: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

/// `struct io_event` of the same header.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct IoEvent {
    data: u64,
    object: u64,
    result: i64,
    result2: i64,
}

const IOCB_CMD_PREAD: u16 = 0;
const IOCB_CMD_PWRITE: u16 = 1;

pub(crate) struct Aio {
    context: u64,
    files: Vec<RawFd>,
    /// One control block a slot, at a stable address.
    blocks: Box<[Iocb]>,
    queue: Vec<*mut Iocb>,
    events: Vec<IoEvent>,
    reaped: usize,
    in_flight: u32,
    done: Vec<Completion>,
}

// SAFETY: the raw pointers in `queue` point into `blocks`, which moves with the value (a box: its
// content does not move), and are used by one thread at a time.
unsafe impl Send for Aio {}

impl Aio {
    /// # Errors
    /// The kernel's: `ENOSYS` where AIO is compiled out or filtered, `EAGAIN` beyond
    /// `fs.aio-max-nr`.
    pub(crate) fn new(resources: &Resources) -> io::Result<Self> {
        let mut context = 0u64;
        // SAFETY: `context` is a valid place for the kernel to store the new context's id.
        let returned = unsafe {
            libc::syscall(libc::SYS_io_setup, libc::c_long::from(resources.depth as i32), &mut context)
        };
        if returned < 0 {
            return Err(io::Error::last_os_error());
        }
        let depth = resources.depth as usize;
        Ok(Aio {
            context,
            files: resources.files.to_vec(),
            blocks: vec![Iocb::default(); depth].into_boxed_slice(),
            queue: Vec::with_capacity(depth),
            events: vec![IoEvent::default(); depth],
            reaped: 0,
            in_flight: 0,
            done: Vec::with_capacity(depth),
        })
    }

    fn submit_queue(&mut self) -> io::Result<()> {
        let mut sent = 0;
        while sent < self.queue.len() {
            // SAFETY: every pointer leads to a control block that lives, unmoved, until its event
            // was reaped; `queue[sent..]` has as many as the count says.
            let returned = unsafe {
                libc::syscall(
                    libc::SYS_io_submit,
                    self.context,
                    (self.queue.len() - sent) as libc::c_long,
                    self.queue[sent..].as_mut_ptr(),
                )
            };
            if returned < 0 {
                let error = io::Error::last_os_error();
                match error.raw_os_error() {
                    Some(libc::EINTR) => continue,
                    // The context is full: what is in flight must be reaped first.
                    Some(libc::EAGAIN) if self.in_flight > 0 => break,
                    _ => {}
                }
                // The kernel names no culprit, but it stops at the first: that one failed.
                // SAFETY: as above.
                let block = unsafe { &*self.queue[sent] };
                let result = -error.raw_os_error().unwrap_or(libc::EIO);
                self.done.push(Completion { slot: block.data as u32, result });
                sent += 1;
                continue;
            }
            sent += returned as usize;
            self.in_flight += returned as u32;
        }
        self.queue.drain(..sent);
        Ok(())
    }

    /// Keeps what came before and was not reaped yet.
    fn keep_events(&mut self) {
        let completed = |event: &IoEvent| Completion { slot: event.data as u32, result: event.result as i32 };
        self.done.extend(self.events[..self.reaped].iter().map(completed));
        self.reaped = 0;
    }

    fn wait(&mut self, min: u32, timeout: Option<Duration>) -> io::Result<()> {
        self.keep_events();
        let mut time = timeout.map(|timeout| libc::timespec {
            tv_sec: timeout.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(timeout.subsec_nanos() as i32),
        });
        let time = time.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
        // SAFETY: `events` has room for the count given; `time` is null or a valid timespec.
        let returned = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                libc::c_long::from(min as i32),
                self.events.len() as libc::c_long,
                self.events.as_mut_ptr(),
                time,
            )
        };
        if returned < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        }
        self.reaped = returned as usize;
        self.in_flight -= returned as u32;
        Ok(())
    }
}

impl Backend for Aio {
    fn push(&mut self, io: &Io) {
        if matches!(io.op, Op::Fsync | Op::Fdatasync) {
            // What was queued before it must be with the device before it.
            let result = match self.submit_queue() {
                Ok(()) => psync::run(self.files[io.file as usize], io),
                Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
            };
            self.done.push(Completion { slot: io.slot, result });
            return;
        }
        let block = &mut self.blocks[io.slot as usize];
        *block = Iocb {
            data: u64::from(io.slot),
            opcode: if io.op == Op::Read { IOCB_CMD_PREAD } else { IOCB_CMD_PWRITE },
            fd: self.files[io.file as usize] as u32,
            buffer: io.buffer as u64,
            bytes: u64::from(io.len),
            offset: io.offset as i64,
            ..Iocb::default()
        };
        self.queue.push(block);
    }

    fn submit(&mut self, min_complete: u32, timeout: Option<Duration>) -> io::Result<()> {
        self.submit_queue()?;
        let min = min_complete.saturating_sub(self.done.len() as u32).min(self.in_flight);
        if self.in_flight > 0 {
            self.wait(min, timeout)
        } else if self.done.is_empty()
            && let Some(timeout) = timeout
        {
            std::thread::sleep(timeout);
            Ok(())
        } else {
            Ok(())
        }
    }

    fn reap(&mut self, completions: &mut Vec<Completion>) {
        self.keep_events();
        completions.append(&mut self.done);
    }
}

impl Drop for Aio {
    fn drop(&mut self) {
        // Waits for whatever is in flight, so that buffers may go afterwards.
        // SAFETY: the context is ours and destroyed once.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}
