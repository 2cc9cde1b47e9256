//! The outputs of a stream: told apart, guarded, made, opened, and left as they should be.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use iobound_engine::Control;
use iobound_engine::stream::{FileOutlet, NullOutlet, Outlet, PipeOutlet};
use iobound_host::System;
use iobound_host::guard::{self, Intent, Lock, Policy, Target, TargetKind, Wants};
use iobound_record::{EngineChoice, units};
use object_store::ObjectStoreExt;

use super::options::Options;
use crate::exit::{Failure, REFUSED};
use crate::object::{Address, ObjectOutlet, Store};
use crate::stop::Stop;

/// How often a FIFO without a reader is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// `O_NONBLOCK` and `ENXIO` by the kernel's own numbers, as this room has no libc.
const O_NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits() as i32;

/// One output, ready to be written. Dropping it gives up its lock.
pub(super) struct Ready {
    /// As named by the user.
    pub(super) named: String,
    kind: Kind,
    _lock: Option<Lock>,
    _claim: Option<Target>,
}

enum Kind {
    Null(NullOutlet),
    Pipe(PipeOutlet),
    File { outlet: FileOutlet, made: bool },
    Device { outlet: FileOutlet, bytes: u64 },
    Object(Box<ObjectOutlet>),
}

impl Ready {
    /// Tells what an output is, asks the guard, makes a file that is missing, locks and opens it.
    ///
    /// # Errors
    /// Why it cannot be written; nothing is left behind then.
    pub(super) fn new(
        named: &str,
        options: &Options,
        engine: EngineChoice,
        stop: &Stop,
        control: &Arc<Control>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Ready, Failure> {
        let plain = |kind| Ok(Ready { named: named.into(), kind, _lock: None, _claim: None });
        if named == "null:" {
            return plain(Kind::Null(NullOutlet));
        }
        if named == "-" {
            let file = stdout(options)?;
            let pipe = PipeOutlet::new(file, Arc::clone(control)).map_err(Failure::broke)?;
            return plain(Kind::Pipe(pipe));
        }
        let local = local_path(named)?;
        if local.is_none()
            && let Some(address) = Address::parse(named)?
        {
            let outlet = object(&address, options, stop, control, say)?;
            return plain(Kind::Object(Box::new(outlet)));
        }
        let path = local.as_deref().unwrap_or(Path::new(named));
        if std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo()) {
            let file = fifo(path, stop, say)?;
            let pipe = PipeOutlet::new(file, Arc::clone(control)).map_err(Failure::broke)?;
            return plain(Kind::Pipe(pipe));
        }
        storage(named, path, options, engine, say)
    }

    /// Where the stream goes.
    pub(super) fn outlet(&self) -> &dyn Outlet {
        match &self.kind {
            Kind::Null(outlet) => outlet,
            Kind::Pipe(outlet) => outlet,
            Kind::File { outlet, .. } | Kind::Device { outlet, .. } => outlet,
            Kind::Object(outlet) => outlet.as_ref(),
        }
    }

    /// The object, if it is one.
    pub(super) fn object(&self) -> Option<&ObjectOutlet> {
        match &self.kind {
            Kind::Object(outlet) => Some(outlet),
            _ => None,
        }
    }

    /// The file or device, if it is one.
    pub(super) fn file(&self) -> Option<&FileOutlet> {
        match &self.kind {
            Kind::File { outlet, .. } | Kind::Device { outlet, .. } => Some(outlet),
            Kind::Null(_) | Kind::Pipe(_) | Kind::Object(_) => None,
        }
    }

    /// The path of a file that this stream made.
    pub(super) fn made(&self) -> Option<&Path> {
        match &self.kind {
            Kind::File { outlet, made: true } => Some(outlet.path()),
            _ => None,
        }
    }

    /// In the record's word.
    pub(super) fn kind(&self) -> &'static str {
        match &self.kind {
            Kind::Object(outlet) => outlet.store.address.scheme.as_str(),
            Kind::Null(_) => "null",
            Kind::Pipe(_) => "pipe",
            Kind::File { .. } => "file",
            Kind::Device { .. } => "device",
        }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null(_))
    }

    /// Whether what was written can be tried out and read again.
    pub(super) fn is_pipe(&self) -> bool {
        matches!(self.kind, Kind::Pipe(_))
    }

    /// Bytes that may be written to try settings, where `size` will be written.
    pub(super) fn scratch(&self, size: u64) -> u64 {
        /// Enough for a second of any one device.
        const LEAST: u64 = 2 << 30;
        match &self.kind {
            Kind::Null(_) => u64::MAX >> 1,
            Kind::Pipe(_) => 0,
            // As many parts of the smallest size as an upload may have.
            Kind::Object(outlet) => {
                let (least, most_parts) = outlet.store.address.scheme.part_limits();
                size.max(LEAST).min(least * most_parts).max(size)
            }
            Kind::Device { bytes, .. } => size.max(LEAST).min(*bytes),
            Kind::File { outlet, .. } => {
                let free = guard::free_space(outlet.path()).map_or(0, |space| space.available_bytes);
                size.max(LEAST).min((free / 4).max(size))
            }
        }
    }

    /// Gives the output room for `bytes`.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn reserve(&self, bytes: u64, stop: &Stop) -> Result<(), Failure> {
        match &self.kind {
            Kind::File { outlet, .. } => Ok(outlet.reserve(bytes)?),
            Kind::Object(outlet) => outlet.begin(|| !stop.is_asked()),
            _ => Ok(()),
        }
    }

    /// Leaves the output with the first `whole` bytes of the stream; what is there now, in words.
    pub(super) fn leave(&self, whole: u64, size: u64) -> String {
        let done = whole == size;
        match &self.kind {
            Kind::Null(_) => "nothing was kept".into(),
            Kind::Object(outlet) if done => {
                format!("the object is whole: {size} bytes in {} parts", outlet.parts())
            }
            Kind::Object(outlet) => outlet.discard(),
            Kind::Pipe(_) if done => format!("all {} went to the reader", units::bytes(size)),
            Kind::Pipe(_) => format!("the reader has the first {} at least", units::bytes(whole)),
            Kind::Device { .. } if done => {
                format!("the first {size} bytes of the device hold the stream")
            }
            Kind::Device { .. } => format!(
                "the first {whole} bytes of the device hold the stream, what follows is partly overwritten"
            ),
            Kind::File { .. } if done => format!("the file is whole: {size} bytes"),
            Kind::File { outlet, .. } => match outlet.cut(whole) {
                Ok(()) => format!("the file holds the first {whole} of {size} bytes and was cut there"),
                Err(error) => {
                    format!("the first {whole} of {size} bytes are right, the rest is not: {error}")
                }
            },
        }
    }

    /// Takes away a file that this stream made and could not finish, or says what is left of another's.
    pub(super) fn discard(&self, whole: u64) -> String {
        match (&self.kind, self.made()) {
            (_, Some(path)) => match std::fs::remove_file(path) {
                Ok(()) => "the partial file was removed".into(),
                Err(error) => format!("the partial file is still there ({error}): remove it by hand"),
            },
            (Kind::File { outlet, .. }, _) => {
                let _ = outlet.cut(whole);
                format!("{} was there before and now holds the first {whole} bytes", self.named)
            }
            (Kind::Object(outlet), _) => outlet.discard(),
            (Kind::Device { .. }, _) => format!("the device holds the first {whole} bytes of the stream"),
            _ => "nothing is left behind".into(),
        }
    }

    /// The file is the user's from now on.
    pub(super) fn release(&self) {
        if let Some(path) = self.made() {
            let _ = File::open(path).map(guard::unmark);
        }
    }
}

/// The path of a `file://` address, which is a file like any other.
fn local_path(named: &str) -> Result<Option<PathBuf>, Failure> {
    if !named.starts_with("file://") {
        return Ok(None);
    }
    let url = reqwest::Url::parse(named).ok();
    let path = url.and_then(|url| url.to_file_path().ok()).filter(|path| path.file_name().is_some());
    path.map(Some).ok_or_else(|| Failure::usage(format!("{named}: names no file; use file:///DIR/FILE")))
}

/// An object that may be written, by the rules that hold for files: one that is there is somebody's.
fn object(
    address: &Address,
    options: &Options,
    stop: &Stop,
    control: &Arc<Control>,
    say: &mut dyn FnMut(&str),
) -> Result<ObjectOutlet, Failure> {
    let store = Store::new(address, options.buffer_bytes.unwrap_or(0))?;
    let key = &address.key;
    let mut told = None;
    let look = || {
        let last = store.requests.last().filter(|last| told.as_ref() != Some(last));
        if let Some(last) = last {
            say(&format!("{address}: {last}; trying again"));
            told = Some(last);
        }
        !stop.is_asked()
    };
    let there = async {
        match store.objects.head(key).await {
            Ok(found) => Ok(Some(found.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            // Who may not look may still be allowed to write: the upload will show.
            Err(
                object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. },
            ) => Ok(None),
            Err(error) => Err(error),
        }
    };
    let there = store.wait(there, look)?;
    if let Some(bytes) = there.filter(|_| !options.overwrite) {
        return Err(Failure {
            code: REFUSED,
            words: format!(
                "{address}: there is an object already ({bytes} bytes); name another, or give --overwrite to \
                 replace it"
            ),
        });
    }
    let outlet = ObjectOutlet::new(store, Arc::clone(control));
    // Wrong credentials and a bucket that is not there show now, before anything is made.
    outlet.begin(|| !stop.is_asked())?;
    Ok(outlet)
}

/// A file or device, by the guard's rules.
fn storage(
    named: &str,
    path: &Path,
    options: &Options,
    engine: EngineChoice,
    say: &mut dyn FnMut(&str),
) -> Result<Ready, Failure> {
    let policy = Policy {
        overwrite: options.overwrite,
        destroy_data: options.destroy_data.clone(),
        wants: Wants::File,
    };
    let target = guard::check(&System::live(), path, Intent::Write, &policy)?;
    target.notes.iter().for_each(|note| say(&format!("note: {named}: {note}")));
    let created = target.kind == TargetKind::NewFile;
    let made = match target.kind {
        TargetKind::NewFile => {
            let made = File::options().write(true).create_new(true).mode(0o644).open(path);
            made.map_err(|error| Failure::usage(format!("{named}: cannot be made: {error}")))?;
            // A mark helps a later run to know what a killed one left; a file system without attributes
            // does without.
            let _ = File::open(path).and_then(guard::mark_ours);
            true
        }
        // Ours and left by a run that was killed: taken over, and taken away again should this one fail.
        TargetKind::File { ours, .. } => ours,
        _ => false,
    };
    let ready = (|| {
        let lock = guard::lock(path)?;
        let outlet = FileOutlet::open(path, options.direct, engine)?;
        super::options::check_buffer(options.buffer_bytes.unwrap_or(1 << 30), outlet.granule())?;
        let kind = match &target.kind {
            TargetKind::Device { device, .. } => {
                let bytes = device.size_bytes;
                if options.size > bytes {
                    return Err(Failure::usage(format!(
                        "{named}: has {bytes} bytes, --size asks for {}; use --size {bytes} or less",
                        options.size
                    )));
                }
                Kind::Device { outlet, bytes }
            }
            _ => Kind::File { outlet, made },
        };
        Ok(Ready { named: named.into(), kind, _lock: Some(lock), _claim: None })
    })();
    match ready {
        Ok(ready) => Ok(Ready { _claim: Some(target), ..ready }),
        Err(failure) => {
            // What another run has locked is not ours to take away.
            if created {
                let _ = std::fs::remove_file(path);
            }
            Err(failure)
        }
    }
}

/// Standard output with a description of its own, so that what others hold of it stays as it is.
fn stdout(options: &Options) -> Result<File, Failure> {
    use std::io::IsTerminal;
    let out = io::stdout();
    if out.is_terminal() {
        return Err(Failure::usage(
            "--output -: standard output is a terminal; pipe it into a program, or name a file",
        ));
    }
    let stat = rustix::fs::fstat(&out).map_err(Failure::broke)?;
    let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
    if kind == rustix::fs::FileType::RegularFile && options.direct {
        return Err(Failure::usage(
            "--output -: standard output is a file, which the shell opened without O_DIRECT; name it with \
             --output FILE, or give --no-direct",
        ));
    }
    let own = match kind {
        rustix::fs::FileType::Fifo => File::options().write(true).open("/proc/self/fd/1").ok(),
        _ => None,
    };
    let shared = || -> io::Result<File> { Ok(File::from(out.as_fd().try_clone_to_owned()?)) };
    own.map_or_else(shared, Ok).map_err(Failure::broke)
}

/// A FIFO, once somebody reads it.
fn fifo(path: &Path, stop: &Stop, say: &mut dyn FnMut(&str)) -> Result<File, Failure> {
    let named = path.display();
    let mut said = false;
    loop {
        let opened = File::options().write(true).custom_flags(O_NONBLOCK).open(path);
        match opened {
            Ok(file) => return Ok(file),
            Err(error) if rustix::io::Errno::from_io_error(&error) == Some(rustix::io::Errno::NXIO) => {
                if !said {
                    say(&format!("{named}: waiting for a reader"));
                    said = true;
                }
                if stop.is_asked() {
                    return Err(Failure::broke(format!("{named}: interrupted, nobody read the FIFO")));
                }
                std::thread::sleep(LOOK_AGAIN);
            }
            Err(error) => return Err(Failure::usage(format!("{named}: cannot be opened: {error}"))),
        }
    }
}

/// Refuses one output that is named twice, and files that together do not fit.
///
/// # Errors
/// As said.
pub(super) fn check_together(outputs: &[String], size: u64) -> Result<(), Failure> {
    let place = |named: &String| -> Option<PathBuf> {
        let local = local_path(named).ok().flatten();
        let path = local.as_deref().unwrap_or(Path::new(named));
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new(".")).canonicalize().ok()?;
        path.canonicalize().ok().or_else(|| Some(parent.join(path.file_name()?)))
    };
    let named: Vec<&String> = outputs.iter().filter(|named| *named != "null:").collect();
    let places: Vec<PathBuf> =
        named.iter().map(|named| place(named).unwrap_or_else(|| (*named).into())).collect();
    for (index, one) in places.iter().enumerate() {
        if places[..index].contains(one) {
            return Err(Failure::usage(format!(
                "--output {}: named twice; give each output once",
                named[index]
            )));
        }
    }
    let mut needed: Vec<(u64, u64, u64)> = Vec::new();
    for (place, named) in places.iter().zip(named) {
        if named == "-" || std::fs::metadata(place).is_ok_and(|metadata| !metadata.is_file()) {
            continue;
        }
        let Some(parent) = place.parent() else { continue };
        let Ok(device) = std::fs::metadata(parent).map(|metadata| metadata.dev()) else { continue };
        let Ok(space) = guard::free_space(parent) else { continue };
        // What an existing file holds is freed when it is written anew.
        let held = std::fs::metadata(place).map_or(0, |metadata| metadata.blocks() * 512);
        let missing = size.saturating_sub(held);
        match needed.iter_mut().find(|(known, ..)| *known == device) {
            Some((_, sum, _)) => *sum = sum.saturating_add(missing),
            // File systems of no fixed size (ramfs) say 0 in all.
            None if space.total_bytes > 0 => needed.push((device, missing, space.available_bytes)),
            None => {}
        }
    }
    match needed.iter().find(|(_, needed, free)| needed > free) {
        Some((_, needed, free)) => Err(Failure::usage(format!(
            "--size {size}: {} is needed, {} is free on that file system; lower --size, or free space there",
            units::bytes(*needed),
            units::bytes(*free)
        ))),
        None => Ok(()),
    }
}
