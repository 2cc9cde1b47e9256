//! A device of one's own, which the kernel grants to one at a time.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// How often a device that is held is tried again, and how long after.
const TRIES_AGAIN: u32 = 5;
const PAUSE: Duration = Duration::from_millis(40);

/// Opens the device with `O_EXCL` and what else the options say. Who uses a device stays; another look
/// such as this one is over in a moment, also that which a program being started has inherited and not yet
/// closed. So a busy one is tried again for a fifth of a second.
pub(crate) fn open_exclusively(options: &mut OpenOptions, device: &Path) -> io::Result<File> {
    options.custom_flags(OFlags::EXCL.bits() as i32);
    let mut opened = options.open(device);
    for _ in 0..TRIES_AGAIN {
        if !matches!(&opened, Err(error) if is_busy(error)) {
            break;
        }
        thread::sleep(PAUSE);
        opened = options.open(device);
    }
    opened
}

pub(crate) fn is_busy(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::BUSY.raw_os_error())
}
