//! Aligned memory for I/O: one mapping per thread, one buffer per slot.

use std::io;
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Every buffer starts on a page, which satisfies O_DIRECT on any device.
pub(crate) const ALIGNMENT: usize = 4096;
/// Mappings of at least this size ask for huge pages.
const HUGE_PAGE: usize = 2 << 20;

/// `count` buffers of `len` bytes in one mapping, each aligned to [`ALIGNMENT`].
pub(crate) struct Buffers {
    base: NonNull<u8>,
    mapped: usize,
    stride: usize,
    len: usize,
    count: usize,
}

// SAFETY: the mapping is owned by this value alone; moving it to another thread moves that
// ownership.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Maps and touches all buffers, so that no page fault falls into a measurement.
    ///
    /// # Errors
    /// The kernel's, when memory is not to be had.
    pub(crate) fn new(count: usize, len: usize) -> io::Result<Self> {
        let stride = len.next_multiple_of(ALIGNMENT);
        let mapped = stride.checked_mul(count).filter(|&n| n > 0).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: a fresh anonymous mapping aliases nothing.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                mapped,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }?;
        let base = NonNull::new(base.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let buffers = Buffers { base, mapped, stride, len, count };
        if mapped >= HUGE_PAGE {
            // Only advice: without huge pages everything works the same.
            // SAFETY: the range is the mapping just made.
            let _ = unsafe { madvise(base.as_ptr().cast(), mapped, Advice::LinuxHugepage) };
        }
        for page in (0..mapped).step_by(ALIGNMENT) {
            // SAFETY: `page` lies inside the mapping.
            unsafe { base.as_ptr().add(page).write_volatile(0) };
        }
        Ok(buffers)
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Bytes of one buffer.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Start of buffer `slot`, for the kernel.
    #[inline(always)]
    pub(crate) fn pointer(&self, slot: u32) -> *mut u8 {
        debug_assert!((slot as usize) < self.count);
        // SAFETY: slots are below `count`, so the address lies inside the mapping.
        unsafe { self.base.as_ptr().add(slot as usize * self.stride) }
    }

    /// The first `len` bytes of buffer `slot`. The caller must have no operation in flight on it.
    pub(crate) fn slice_mut(&mut self, slot: u32, len: usize) -> &mut [u8] {
        assert!((slot as usize) < self.count && len <= self.stride);
        // SAFETY: bounds were checked, the mapping is initialised (zeroed, then written), and
        // `&mut self` keeps other slices away; the worker only asks for slots it has not in flight.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(slot), len) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and backends are dropped before buffers (see `worker`).
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.mapped) };
    }
}
