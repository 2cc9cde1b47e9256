//! What a power cut leaves: logs of writes, replayed.
//!
//! QEMU's `blklogwrites` filter passes writes on to a drive and also writes each of them, and each
//! flush, to a log in the format of the kernel's dm-log-writes (Documentation/admin-guide/device-mapper/
//! log-writes.rst; `drivers/md/dm-log-writes.c`). From the drive as it was before and the log,
//! [`PowerCut::apply`] makes the drive as a power cut would leave it if it had a volatile cache: what was
//! flushed is there, of the rest nothing, or a part that a seed chooses.
//!
//! # Recipe, without a virtual machine
//! [`VolatileDrive`] does all of it: a `qemu-storage-daemon` shows the drive as one file over FUSE, the
//! fsync of that file is a flush of the drive, and killing the daemon is the end of the log.
//!
//! # Recipe, with one
//! 1. Make an image, and keep a copy of it: the base.
//! 2. Give the machine a drive through the filter; the log file starts empty:
//!    ```text
//!    -blockdev driver=file,node-name=image,filename=drive.img,cache.no-flush=on
//!    -blockdev driver=file,node-name=log,filename=drive.log
//!    -blockdev driver=blklogwrites,node-name=logged,file=image,log=log,log-sector-size=512
//!    -device nvme,drive=logged,serial=1
//!    ```
//!    `cache.no-flush=on` on the *image* only saves time: the filter logs the flush before. On the *filter*
//!    itself (`node-name=logged,...,cache.no-flush=on`) it is the liar: the guest's flush is answered
//!    and never reaches the log. A drive without a volatile cache (`write-cache=off` of `virtio-blk`)
//!    is sent no flush by the guest's kernel and would look like a liar: leave the cache on.
//! 3. In the guest run `iobound durability write --target DEVICE --acks 10.0.2.2:PORT` (user networking's
//!    host), on the host `iobound durability serve`. Kill QEMU with SIGKILL in the midst of it.
//!    With several writes in flight the log may have a hole where one was not finished
//!    ([`LogError::Hole`]): nothing can be said of such a cut; make another.
//! 4. `WriteLog::read(log)`, `PowerCut::...apply(&log, base, image)` and then
//!    `iobound durability verify --target image --acks LOG` (the boot differs from the guest's), or start
//!    the machine on the image first and verify inside, file system recovery included.

mod cut;
mod drive;
mod parse;

pub use cut::PowerCut;
pub use drive::{Drive, VolatileDrive};
pub use parse::{Entry, LogError, WriteLog, flags};
