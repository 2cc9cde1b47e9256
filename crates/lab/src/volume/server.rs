//! The process behind a volume: a file served over FUSE whose every operation waits for its turn.
//!
//! A loop device in direct mode on that file passes each request of the block layer on, whoever made
//! it: direct I/O, write-back, a file system's journal. Data is read or written as soon as a request
//! comes, in the order in which they come; only the answer waits. So no data is held in a buffer that
//! another request could overwrite (which is how QEMU 7.2's FUSE export corrupts data).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyWrite, Request, WriteFlags,
};
use rustix::fs::FallocateFlags;

use super::pace::{Limits, Pace};
use crate::LabError;

/// The one file of the mount.
pub const FILE_NAME: &str = "volume";
const FILE: INodeNo = INodeNo(2);
/// Attributes never change.
const TTL: Duration = Duration::from_secs(3600);
/// Requests in flight: the kernel's default of 12 would be the limit instead of the volume's.
const IN_FLIGHT_MAX: u16 = 1024;
/// Left on the host's file system: below it, writing to new places fails as a full disk does.
const FREE_MIN: u64 = 256 << 20;
/// How often the host's free space is looked at.
const FREE_LOOK: Duration = Duration::from_millis(200);

type Answer = Box<dyn FnOnce() + Send>;

/// An answer that waits; the earliest first.
struct Waiting {
    due_ns: u64,
    number: u64,
    answer: Answer,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}
impl Eq for Waiting {}
impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.due_ns, self.number).cmp(&(other.due_ns, other.number))
    }
}

#[derive(Default)]
struct Queue {
    pace: Pace,
    waiting: BinaryHeap<Reverse<Waiting>>,
    next: u64,
}

/// Answers at the volume's pace.
struct Turns {
    start: Instant,
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Turns {
    fn start(limits: Limits) -> io::Result<Arc<Self>> {
        let queue = Mutex::new(Queue { pace: Pace::new(limits), ..Queue::default() });
        let turns = Arc::new(Turns { start: Instant::now(), queue, changed: Condvar::new() });
        let shared = Arc::clone(&turns);
        std::thread::Builder::new().name("lab answers".into()).spawn(move || shared.answer_all())?;
        Ok(turns)
    }

    fn locked(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Calls `answer` when an operation of `bytes` that came now is due.
    fn wait(&self, bytes: u64, answer: impl FnOnce() + Send + 'static) {
        let now_ns = self.now_ns();
        let mut queue = self.locked();
        let due_ns = queue.pace.due_ns(now_ns, bytes);
        let number = queue.next;
        queue.next += 1;
        queue.waiting.push(Reverse(Waiting { due_ns, number, answer: Box::new(answer) }));
        self.changed.notify_one();
    }

    fn answer_all(&self) {
        let mut queue = self.locked();
        loop {
            let Some(Reverse(first)) = queue.waiting.peek() else {
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let early = first.due_ns.saturating_sub(self.now_ns());
            if early > 0 {
                let waited = self.changed.wait_timeout(queue, Duration::from_nanos(early));
                queue = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            let Some(Reverse(first)) = queue.waiting.pop() else { continue };
            drop(queue);
            (first.answer)();
            queue = self.locked();
        }
    }
}

/// A file system of one file.
struct SlowFile {
    file: Arc<File>,
    size: u64,
    turns: Arc<Turns>,
    flushes: Option<mpsc::Sender<ReplyEmpty>>,
    free: Mutex<(Instant, u64)>,
}

impl SlowFile {
    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let is_root = inode == INodeNo::ROOT;
        FileAttr {
            ino: inode,
            size: if is_root { 0 } else { self.size },
            blocks: if is_root { 0 } else { self.size / 512 },
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_root { FileType::Directory } else { FileType::RegularFile },
            perm: if is_root { 0o700 } else { 0o600 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }

    /// Refuses to take the host's last space.
    fn check_space(&self) -> io::Result<()> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.0.elapsed() > FREE_LOOK {
            let stat = rustix::fs::fstatvfs(&self.file)?;
            *free = (Instant::now(), stat.f_bavail * stat.f_frsize);
        }
        if free.1 < FREE_MIN { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn write_at(&self, data: &[u8], offset: u64) -> Result<u32, Errno> {
        if offset.checked_add(data.len() as u64).is_none_or(|end| end > self.size) {
            return Err(Errno::EFBIG);
        }
        self.check_space().map_err(|_| Errno::ENOSPC)?;
        self.file.write_all_at(data, offset)?;
        Ok(data.len() as u32)
    }

    fn read_at(&self, offset: u64, size: u32) -> io::Result<Vec<u8>> {
        let end = offset.saturating_add(u64::from(size)).min(self.size);
        let mut data = vec![0; end.saturating_sub(offset) as usize];
        self.file.read_exact_at(&mut data, offset)?;
        Ok(data)
    }
}

impl Filesystem for SlowFile {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Without it each request of the loop device would wait for the one before.
        config.add_capabilities(InitFlags::FUSE_ASYNC_DIO).map_err(|_| io::ErrorKind::Unsupported)?;
        let _ = config.set_max_background(IN_FLIGHT_MAX);
        let _ = config.set_congestion_threshold(IN_FLIGHT_MAX);
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == INodeNo::ROOT && name == FILE_NAME {
            reply.entry(&TTL, &self.attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &self.attributes(inode));
    }

    fn open(&self, _request: &Request, _inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let flags = FopenFlags::FOPEN_DIRECT_IO
            | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
            | FopenFlags::FOPEN_NOFLUSH;
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.read_at(offset, size) {
            Ok(data) => self.turns.wait(u64::from(size), move || reply.data(&data)),
            Err(error) => reply.error(error.into()),
        }
    }

    fn write(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.write_at(data, offset) {
            Ok(written) => self.turns.wait(u64::from(written), move || reply.written(written)),
            Err(errno) => reply.error(errno),
        }
    }

    fn fsync(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        _data: bool,
        reply: ReplyEmpty,
    ) {
        match &self.flushes {
            // Beside the other requests, which it would hold up.
            Some(flushes) => drop(flushes.send(reply)),
            None => reply.ok(),
        }
    }

    fn fallocate(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let flags = FallocateFlags::from_bits_truncate(mode as u32);
        let is_within = offset.checked_add(length).is_some_and(|end| end <= self.size);
        if !flags.contains(FallocateFlags::KEEP_SIZE) || !is_within {
            return reply.error(Errno::EOPNOTSUPP);
        }
        match rustix::fs::fallocate(&self.file, flags, offset, length) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(io::Error::from(error).into()),
        }
    }
}

/// Serves `data` under `mountpoint` until it is unmounted.
///
/// # Errors
/// When the file cannot be opened or FUSE cannot be mounted.
pub fn serve(data: &Path, mountpoint: &Path, limits: Limits, ignores_flush: bool) -> Result<(), LabError> {
    let failed = |error: io::Error| LabError::Failed(format!("{}: {error}", mountpoint.display()));
    let file = Arc::new(File::options().read(true).write(true).open(data).map_err(failed)?);
    let flushes = match ignores_flush {
        true => None,
        false => Some(flush_all(Arc::clone(&file)).map_err(failed)?),
    };
    let volume = SlowFile {
        size: file.metadata().map_err(failed)?.size(),
        turns: Turns::start(limits).map_err(failed)?,
        file,
        flushes,
        free: Mutex::new((Instant::now(), u64::MAX)),
    };
    let mut config = fuser::Config::default();
    config.mount_options = vec![MountOption::FSName("iobound-lab".into()), MountOption::NoExec];
    fuser::mount(volume, mountpoint, &config).map_err(failed)
}

fn flush_all(file: Arc<File>) -> io::Result<mpsc::Sender<ReplyEmpty>> {
    let (sender, flushes) = mpsc::channel::<ReplyEmpty>();
    std::thread::Builder::new().name("lab flushes".into()).spawn(move || {
        for reply in flushes {
            match file.sync_data() {
                Ok(()) => reply.ok(),
                Err(error) => reply.error(error.into()),
            }
        }
    })?;
    Ok(sender)
}
