//! A pipe, or whatever else takes bytes in order, as the end of a stream.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::pool::{Chunk, Pool};
use super::sink::{Done, Granted, Outlet, Sink};
use crate::control::Control;
use crate::error::EngineError;

/// A larger pipe means fewer changes between the two processes; this much every user may have
/// (`/proc/sys/fs/pipe-max-size`).
const PIPE_BYTES: usize = 1 << 20;
/// Longest wait for a reader between two looks at whether to stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// Bytes in order to an open descriptor, which nobody else may hold open: it is made non-blocking.
pub struct PipeOutlet {
    file: File,
    control: Arc<Control>,
}

impl PipeOutlet {
    /// Over a pipe, a FIFO or a character device. `control` ends a wait for a reader that does not read.
    ///
    /// # Errors
    /// The descriptor cannot be set up.
    pub fn new(file: File, control: Arc<Control>) -> io::Result<PipeOutlet> {
        let flags = fcntl_getfl(&file)?;
        fcntl_setfl(&file, flags | OFlags::NONBLOCK)?;
        // Not a pipe, or not allowed: it works as it is.
        let _ = rustix::pipe::fcntl_setpipe_size(&file, PIPE_BYTES);
        Ok(PipeOutlet { file, control })
    }

    fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match (&self.file).write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait()?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn wait(&self) -> io::Result<()> {
        if self.control.is_stopped() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let patience = Timespec { tv_sec: 0, tv_nsec: PATIENCE.subsec_nanos().into() };
        let mut polled = [PollFd::from_borrowed_fd(self.file.as_fd(), PollFlags::OUT)];
        match poll(&mut polled, Some(&patience)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Outlet for PipeOutlet {
    fn sink(&self, _pool: &Pool, _depth: u32) -> Result<(Box<dyn Sink + '_>, Granted), EngineError> {
        Ok((Box::new(PipeSink { outlet: self, done: Vec::new() }), Granted::default()))
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn finish(&self, _position: u64, rest: &[u8]) -> io::Result<()> {
        self.write(rest)
    }
}

struct PipeSink<'a> {
    outlet: &'a PipeOutlet,
    done: Vec<Done>,
}

impl Sink for PipeSink<'_> {
    fn put(&mut self, chunk: Chunk) -> io::Result<()> {
        let result = self.outlet.write(&chunk);
        self.done.push(Done { chunk, result });
        Ok(())
    }

    fn done(&mut self, _least: u32, _longest: Option<Duration>, done: &mut Vec<Done>) -> io::Result<()> {
        done.append(&mut self.done);
        Ok(())
    }
}
