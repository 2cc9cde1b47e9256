//! The memory of Python's buffers, held and cut into pieces. The only file of this room with `unsafe`.
//!
//! PyO3 wraps the buffer protocol from Python 3.11 on, when it came into the stable ABI. The functions and the
//! struct are the same since 3.0, so they are declared here and one wheel serves 3.9 and later.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::ffi::{self, Py_ssize_t, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rustix::mm::{Advice, madvise};

/// `Py_buffer` of `cpython/object.h`.
#[repr(C)]
struct View {
    buf: *mut c_void,
    obj: *mut PyObject,
    len: Py_ssize_t,
    itemsize: Py_ssize_t,
    readonly: c_int,
    ndim: c_int,
    format: *mut c_char,
    shape: *mut Py_ssize_t,
    strides: *mut Py_ssize_t,
    suboffsets: *mut Py_ssize_t,
    internal: *mut c_void,
}

/// `PyBUF_FULL_RO`: everything an exporter can say, so that what does not fit is refused in our words.
const FULL_RO: c_int = 0x011C;
/// A huge page, on x86-64 and most others.
const HUGE: usize = 2 << 20;
/// Numbers whose every bit pattern is a value: what random bytes may be laid over.
const NUMBERS: &[u8] = b"cbBhHiIlLqQnNefdg";

unsafe extern "C" {
    fn PyObject_GetBuffer(exporter: *mut PyObject, view: *mut View, flags: c_int) -> c_int;
    fn PyBuffer_Release(view: *mut View);
    fn PyBuffer_IsContiguous(view: *const View, order: c_char) -> c_int;
}

/// Who keeps the memory where it is.
enum Keeper {
    /// An export: the owner can neither resize nor free it meanwhile.
    Export(Box<View>),
    /// Bytes that nobody else has seen yet.
    Fresh { _bytes: Py<PyBytes> },
}

/// Writable memory of a Python object, held until this is dropped.
pub struct Memory {
    start: *mut u8,
    len: usize,
    keeper: Keeper,
}

// SAFETY: the memory does not move while the keeper lives, and is only touched in pieces that do not overlap.
// The keeper itself is only touched attached to the interpreter.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Holds the memory of any object with a writable, contiguous buffer of numbers.
    ///
    /// # Errors
    /// `TypeError` for an object without a buffer or with one of references, `ValueError` for one that is
    /// read-only or has gaps, and whatever the object itself says, as when it is closed.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Memory> {
        let mut view = Box::new(View {
            buf: ptr::null_mut(),
            obj: ptr::null_mut(),
            len: 0,
            itemsize: 0,
            readonly: 0,
            ndim: 0,
            format: ptr::null_mut(),
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            suboffsets: ptr::null_mut(),
            internal: ptr::null_mut(),
        });
        // SAFETY: a live object, a view that stays where it is, and the interpreter is attached.
        if unsafe { PyObject_GetBuffer(object.as_ptr(), &raw mut *view, FULL_RO) } != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        let start = view.buf.cast();
        let len = usize::try_from(view.len).unwrap_or(0);
        // Made before the checks, so that a refusal releases the view.
        let memory = Memory { start, len, keeper: Keeper::Export(view) };
        memory.check()?;
        Ok(memory)
    }

    /// `len` new bytes, which become a Python object's when they are filled; their content is undefined
    /// until then, so the object must not be handed out before.
    ///
    /// # Errors
    /// `MemoryError`.
    pub fn fresh<'py>(py: Python<'py>, len: u64) -> PyResult<(Memory, Bound<'py, PyBytes>)> {
        let no_room = |_| PyMemoryError::new_err(format!("no memory for {len} bytes"));
        let size = Py_ssize_t::try_from(len).map_err(no_room)?;
        // SAFETY: a null pointer asks for memory without content; the result is a new reference or null.
        let bytes = unsafe {
            let object = ffi::PyBytes_FromStringAndSize(ptr::null(), size);
            Bound::from_owned_ptr_or_err(py, object)?.cast_into_unchecked::<PyBytes>()
        };
        // SAFETY: a bytes object, of which nobody else knows, may be written until it is handed out.
        let start = unsafe { ffi::PyBytes_AsString(bytes.as_ptr()) }.cast();
        want_huge_pages(start, size.unsigned_abs());
        let keeper = Keeper::Fresh { _bytes: bytes.clone().unbind() };
        Ok((Memory { start, len: size.unsigned_abs(), keeper }, bytes))
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Cuts the first `len` bytes into pieces for threads to take; the first is shorter by `lead`.
    pub fn cut(self, len: usize, piece: usize, lead: usize) -> Pieces {
        let piece = piece.max(lead + 1);
        Pieces { len: len.min(self.len), piece, lead, next: AtomicUsize::new(0), memory: self }
    }

    fn check(&self) -> PyResult<()> {
        let Keeper::Export(view) = &self.keeper else { return Ok(()) };
        if view.readonly != 0 {
            return Err(PyValueError::new_err(
                "Buffer must be writable: bytes and read-only views are not; use a bytearray, or \
                 get_chunk() for new bytes",
            ));
        }
        // SAFETY: a view that its exporter filled.
        if unsafe { PyBuffer_IsContiguous(&raw const **view, b'C' as c_char) } == 0 {
            return Err(PyValueError::new_err(
                "Buffer must be C-contiguous: this one has gaps or another order; fill a contiguous one and \
                 copy from it",
            ));
        }
        // SAFETY: the format is null or a string that lives as long as the view.
        let format = (!view.format.is_null()).then(|| unsafe { CStr::from_ptr(view.format) });
        match format.map(CStr::to_bytes) {
            Some(format) if !is_number(format) => Err(PyTypeError::new_err(format!(
                "Buffer must hold numbers, not elements of format '{}': generated bytes would not be valid \
                 ones; view it as bytes, if that is meant",
                String::from_utf8_lossy(format)
            ))),
            _ => Ok(()),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Keeper::Export(view) = &mut self.keeper {
            // Without an interpreter to attach to, there is no owner to give it back to.
            // SAFETY: taken once by `PyObject_GetBuffer`, released once, attached.
            Python::try_attach(|_| unsafe { PyBuffer_Release(&raw mut **view) });
        }
    }
}

/// Asks for huge pages in new memory of `len` bytes: the kernel's work for each small page takes many times
/// longer than filling it.
pub fn want_huge_pages(start: *mut u8, len: usize) {
    let skip = start.align_offset(HUGE);
    let whole = len.saturating_sub(skip) / HUGE * HUGE;
    if whole > 0 {
        // SAFETY: whole pages within one allocation; the advice changes no content. A kernel without them
        // refuses, and small ones do.
        let _ = unsafe { madvise(start.wrapping_add(skip).cast(), whole, Advice::LinuxHugepage) };
    }
}

/// Whether elements of this `struct` format are plain numbers, real or complex.
fn is_number(format: &[u8]) -> bool {
    let native = format.strip_prefix(b"@").or(format.strip_prefix(b"=")).unwrap_or(format);
    let ordered = native
        .strip_prefix(b"<")
        .or(native.strip_prefix(b">"))
        .or(native.strip_prefix(b"!"))
        .unwrap_or(native);
    match ordered {
        [kind] => NUMBERS.contains(kind),
        [b'Z', kind] => b"fdg".contains(kind),
        _ => false,
    }
}

/// Memory that several threads share, each taking pieces of its own.
pub struct Pieces {
    memory: Memory,
    len: usize,
    piece: usize,
    lead: usize,
    next: AtomicUsize,
}

impl Pieces {
    /// Calls `fill` with pieces that no other thread has or had, until none is left: where each begins, and
    /// its bytes.
    pub fn take_all(&self, mut fill: impl FnMut(usize, &mut [u8])) {
        // Looked at first, so that the cursor stops soon after the end.
        while !self.is_taken() {
            let cursor = self.next.fetch_add(self.piece, Relaxed);
            let start = cursor.saturating_sub(self.lead);
            let end = (cursor + self.piece - self.lead).min(self.len);
            if start < end {
                // SAFETY: within the memory, which is held, and the cursor gives every range once.
                fill(start, unsafe {
                    std::slice::from_raw_parts_mut(self.memory.start.add(start), end - start)
                });
            }
        }
    }

    /// Whether every piece was taken.
    pub fn is_taken(&self) -> bool {
        self.next.load(Relaxed) >= self.len + self.lead
    }

    /// Bytes of all pieces.
    pub fn len(&self) -> usize {
        self.len
    }
}
