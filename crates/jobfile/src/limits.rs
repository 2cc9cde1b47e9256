//! Bounds on what a job file may cost to read, so that no input exhausts memory or time.

/// Largest job file, and the most that a job file and all its includes read together, bytes.
pub const FILE_BYTES_MAX: u64 = 1 << 20;
/// Longest line, bytes, before and after `${VAR}` is replaced: fio's own `OPT_LEN_MAX`, past which
/// fio reads the rest of a line as another option.
pub const LINE_BYTES_MAX: usize = 4096;
/// How deep files may include files.
pub const INCLUDE_DEPTH_MAX: usize = 16;
/// Most job sections of one file.
pub const JOBS_MAX: usize = 1024;

/// Errors reported for one file; a file with more is not worth reading to its end.
pub(crate) const ERRORS_MAX: usize = 100;
/// Files or devices of one job.
pub(crate) const FILES_MAX: usize = 1024;
/// All names of one job's files together, bytes: each job has a copy of those of [global].
pub(crate) const FILE_NAMES_BYTES_MAX: usize = 32 << 10;
/// Entries of one `bssplit`: fio's `BSSPLIT_MAX`.
pub(crate) const BSSPLIT_MAX: usize = 64;
/// Largest processor number, the kernel's `NR_CPUS` at its largest less one.
pub(crate) const CPU_MAX: u32 = 8191;
/// Options of one job kept verbatim for the real fio.
pub(crate) const KEPT_MAX: usize = 256;
/// Longest name for which a nearest option is looked up; longer text is no misspelt option.
pub(crate) const NEAREST_NAME_MAX: usize = 48;
/// Longest part of a value that an error repeats, characters.
pub(crate) const QUOTED_MAX: usize = 80;
