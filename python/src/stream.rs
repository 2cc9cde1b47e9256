//! Streams to and from files, in process; `iobound/streams.py` gives them their names.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use iobound::exit::Failure;
use iobound::stream::{
    Expected, NumaMode, Options, ReadOptions, Stop, Surroundings, parse_buffer_size, read, write,
};
use iobound_engine::stream::Mode;
use iobound_record::units;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arguments::{self, Count};

/// How soon Ctrl-C is seen.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A size: bytes, or a text with a unit.
pub enum Size {
    Bytes(u64),
    Text(String),
}

impl<'py> FromPyObject<'_, 'py> for Size {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<String>() {
            Ok(text) => Ok(Size::Text(text)),
            Err(_) => {
                object.extract::<Count>().map(|count| Size::Bytes(count.0)).map_err(|error| match error
                    .is_instance_of::<PyTypeError>(
                    object.py(),
                ) {
                    true => PyTypeError::new_err("a size is a number of bytes, or a text like '10GB'"),
                    false => error,
                })
            }
        }
    }
}

impl Size {
    fn bytes(self, parse: fn(&str) -> Result<u64, units::UnitError>) -> PyResult<u64> {
        match self {
            Size::Bytes(bytes) => Ok(bytes),
            Size::Text(text) => parse(&text).map_err(|error| PyValueError::new_err(error.to_string())),
        }
    }
}

/// A small number, whose range the stream checks itself.
fn small(count: Option<Count>) -> Option<u32> {
    count.map(|count| u32::try_from(count.0).unwrap_or(u32::MAX))
}

/// Writes a stream. Returns its record as JSON, and what broke it: exit code and words.
#[pyfunction]
#[pyo3(signature = (path, size, *, seed, dedup_ratio, compress_ratio, buffer_size, buffer_count, num_writers,
                    depth, mode, direct, numa_mode, max_threads, auto, read_back, overwrite, destroy_data))]
#[allow(clippy::too_many_arguments, reason = "one argument for each option")]
pub fn write_file(
    py: Python<'_>,
    path: String,
    size: Size,
    seed: Option<Count>,
    dedup_ratio: f64,
    compress_ratio: f64,
    buffer_size: Option<Size>,
    buffer_count: Option<Count>,
    num_writers: Option<Count>,
    depth: Option<Count>,
    mode: Option<&str>,
    direct: bool,
    numa_mode: &str,
    max_threads: Option<Count>,
    auto: bool,
    read_back: bool,
    overwrite: bool,
    destroy_data: Vec<PathBuf>,
) -> PyResult<(String, Option<(u8, String)>)> {
    let options = Options {
        auto,
        size: size.bytes(units::parse_bytes)?,
        outputs: vec![path],
        buffer_bytes: buffer_size.map(|size| size.bytes(parse_buffer_size)).transpose()?,
        buffers: small(buffer_count),
        writers: small(num_writers),
        depth: small(depth),
        mode: match mode {
            None => None,
            Some("fused") => Some(Mode::Fused),
            Some("split") => Some(Mode::Split),
            Some(other) => return Err(no_choice("mode", other, "'fused' or 'split'")),
        },
        dedup_ratio,
        compress_ratio,
        direct,
        numa: match numa_mode {
            "auto" => NumaMode::Auto,
            "force" => NumaMode::Force,
            "disabled" => NumaMode::Disabled,
            other => return Err(no_choice("numa_mode", other, "'auto', 'force' or 'disabled'")),
        },
        max_threads: small(max_threads),
        read_back,
        seed: seed.map(|seed| seed.0),
        overwrite,
        destroy_data,
        ..Options::default()
    };
    let written = until_signal(py, |stop| write(&options, Surroundings::silent_until(stop)))??;
    let record = serde_json::to_string(&written.run).map_err(|error| failure(py, Failure::broke(error)))?;
    Ok((record, written.failure.map(|failure| (failure.code, failure.words))))
}

/// Reads a file through. Returns bytes, seconds, and the comparison as JSON where `seed` is given.
#[pyfunction]
#[pyo3(signature = (path, *, size, seed, dedup_ratio, compress_ratio, direct, max_threads))]
#[allow(clippy::too_many_arguments, reason = "one argument for each option")]
pub fn read_file(
    py: Python<'_>,
    path: PathBuf,
    size: Option<Size>,
    seed: Option<Count>,
    dedup_ratio: f64,
    compress_ratio: f64,
    direct: bool,
    max_threads: Option<Count>,
) -> PyResult<(u64, f64, Option<String>)> {
    let expected = match seed {
        Some(Count(seed)) => Some(Expected { filler: arguments::filler(seed, dedup_ratio, compress_ratio)? }),
        None => None,
    };
    let threads = arguments::crew(max_threads, "disabled", None)?.threads;
    let options = ReadOptions {
        path,
        size: size.map(|size| size.bytes(units::parse_bytes)).transpose()?,
        direct,
        threads: max_threads.map(|_| threads as u32),
        expected,
    };
    let found = until_signal(py, |stop| read(&options, &stop))??;
    let outcome = found.outcome.map(|outcome| serde_json::to_string(&outcome)).transpose();
    let outcome = outcome.map_err(|error| failure(py, Failure::broke(error)))?;
    Ok((found.bytes, found.runtime_ns as f64 / 1e9, outcome))
}

/// Runs `task` beside the interpreter until it is done. A signal whose handler raises (Ctrl-C) stops it, and is
/// raised when it has ended; handlers stay Python's.
fn until_signal<T: Send>(
    py: Python<'_>,
    task: impl FnOnce(Arc<Stop>) -> Result<T, Failure> + Send,
) -> PyResult<PyResult<T>> {
    let stop = Arc::new(Stop::default());
    let (result, raised) = py.detach(|| {
        let (over, is_over) = channel::<()>();
        std::thread::scope(|scope| {
            let asked = Arc::clone(&stop);
            let running = scope.spawn(move || {
                // Dropped at the end, also of a panic.
                let _over = over;
                task(asked)
            });
            let mut raised = None;
            while let Err(RecvTimeoutError::Timeout) = is_over.recv_timeout(LOOK_AGAIN) {
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    stop.ask();
                    raised.get_or_insert(error);
                }
            }
            (running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), raised)
        })
    });
    match raised {
        Some(error) => Err(error),
        None => Ok(result.map_err(|error| failure(py, error))),
    }
}

fn no_choice(name: &str, given: &str, choices: &str) -> PyErr {
    PyValueError::new_err(format!("Invalid {name} '{given}': must be {choices}"))
}

/// The package's own error for an exit code.
fn failure(py: Python<'_>, failure: Failure) -> PyErr {
    let made = py
        .import("iobound.errors")
        .and_then(|errors| errors.getattr("of_code")?.call1((failure.code, option_names(&failure.words))));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// The words of the command line with Python's names: `--buffer-size` is `buffer_size` here.
fn option_names(words: &str) -> String {
    let words = words.replace("--no-direct", "direct=False");
    let mut named = String::with_capacity(words.len());
    for (index, part) in words.split("--").enumerate() {
        let name = part.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(part.len());
        match index {
            0 => named.push_str(part),
            _ => {
                named.push_str(&part[..name].replace('-', "_"));
                named.push_str(&part[name..]);
            }
        }
    }
    named
}
