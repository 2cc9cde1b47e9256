use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use iobound_fill::{FillSpec, Filler};
use iobound_record::EngineChoice;
use proptest::prelude::*;

use super::*;
use crate::backend::faulty::{Fault, Faulty, Medium};
use crate::backend::{Null, Op};
use crate::control::Control;
use crate::error::EngineError;
use crate::stream::ring::Ring;

const KIB: u64 = 1024;

fn source() -> Source {
    Source { filler: Filler::new(FillSpec { seed: 5, ..FillSpec::default() }).unwrap(), stream: 3 }
}

fn content(len: u64) -> Vec<u8> {
    let mut bytes = vec![0; len as usize];
    source().fill(0, &mut bytes);
    bytes
}

fn extent(to: u64) -> Extent {
    Extent { from: 0, to, longest_ns: None, interval_ns: 1_000_000_000, finish: true }
}

fn settings(mode: Mode, writers: u32, producers: u32, depth: u32, buffers: u32) -> Settings {
    Settings { mode, buffer_bytes: 64 * KIB, buffers, writers, producers, depth }
}

fn stream_to(outlet: &dyn Outlet, settings: &Settings, to: u64) -> Streamed {
    let output = Output { outlet, source: source(), cpus: None };
    run(&[output], settings, &extent(to), &Control::default(), &Gauges::default(), &()).unwrap()
}

/// An outlet on a device in memory that misbehaves on request.
struct Memory {
    medium: Medium,
    faults: Vec<Fault>,
    granule: u64,
}

impl Memory {
    fn new(len: u64, faults: &[Fault]) -> Memory {
        Memory {
            medium: Medium::new(Mutex::new(vec![0; len as usize])),
            faults: faults.into(),
            granule: 4096,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        self.medium.lock().unwrap().clone()
    }
}

impl Outlet for Memory {
    fn sink(&self, pool: &Pool, _depth: u32) -> Result<(Box<dyn Sink + '_>, Granted), EngineError> {
        let mut faulty = Faulty::new(&self.medium, &self.faults);
        faulty.reversed = true;
        Ok((Box::new(Ring::new(faulty, pool)), Granted::default()))
    }

    fn granule(&self) -> u64 {
        self.granule
    }

    fn finish(&self, position: u64, rest: &[u8]) -> io::Result<()> {
        let at = position as usize;
        self.medium.lock().unwrap()[at..at + rest.len()].copy_from_slice(rest);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_settings_write_the_same_bytes(
        len in 1u64..3_000_000, fused: bool, writers in 1u32..4, producers in 1u32..3, depth in 1u32..5,
        buffers in 4u32..12, short in 0u64..8,
    ) {
        let mode = if fused { Mode::Fused } else { Mode::Split };
        let outlet = Memory::new(len, &[Fault::Short(Op::Write, short)]);
        let streamed = stream_to(&outlet, &settings(mode, writers, producers, depth, buffers), len);
        prop_assert!(outlet.bytes() == content(len));
        prop_assert_eq!(streamed.outputs[0].whole_to, len);
        prop_assert_eq!(streamed.outputs[0].generated_bytes, len);
        let whole = len / 4096 * 4096;
        prop_assert_eq!(streamed.measurement.write.bytes, whole);
        prop_assert_eq!(streamed.measurement.write.ios, whole.div_ceil(64 * KIB));
        prop_assert_eq!(streamed.writers.len(), writers as usize);
    }
}

#[test]
fn a_failed_write_ends_the_stream_and_says_how_far_it_is_whole() {
    for mode in [Mode::Fused, Mode::Split] {
        let outlet = Memory::new(8 << 20, &[Fault::ErrorsFrom(Op::Write, 5, libc::ENOSPC)]);
        let streamed = stream_to(&outlet, &settings(mode, 1, 1, 2, 6), 8 << 20);
        let output = &streamed.outputs[0];
        let failure = output.failure.as_ref().unwrap();
        assert_eq!(failure.error.raw_os_error(), Some(libc::ENOSPC));
        assert_eq!((failure.position, output.whole_to), (5 * 64 * KIB, 5 * 64 * KIB), "{mode:?}");
        assert_eq!(outlet.bytes()[..5 << 16], content(5 << 16));
        assert!(streamed.measurement.errors >= 1);
    }
}

/// Completes each write only after a while, as a device does.
struct Slow;

impl Outlet for Slow {
    fn sink(&self, pool: &Pool, _depth: u32) -> Result<(Box<dyn Sink + '_>, Granted), EngineError> {
        struct SlowSink(Ring<Null>);
        impl Sink for SlowSink {
            fn put(&mut self, chunk: Chunk) -> io::Result<()> {
                self.0.put(chunk)
            }
            fn done(
                &mut self,
                least: u32,
                longest: Option<Duration>,
                done: &mut Vec<Done>,
            ) -> io::Result<()> {
                std::thread::sleep(Duration::from_millis(2));
                self.0.done(least, longest, done)
            }
        }
        Ok((Box::new(SlowSink(Ring::new(Null::new(pool.buffers()), pool))), Granted::default()))
    }

    fn finish(&self, _: u64, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn stopping_keeps_a_whole_beginning_and_drops_the_rest() {
    for mode in [Mode::Fused, Mode::Split] {
        let control = Control::default();
        let output = Output { outlet: &Slow, source: source(), cpus: None };
        let streamed = std::thread::scope(|scope| {
            let stream = scope.spawn(|| {
                let settings = settings(mode, 2, 1, 2, 40);
                run(&[output], &settings, &extent(1 << 40), &control, &Gauges::default(), &()).unwrap()
            });
            std::thread::sleep(Duration::from_millis(150));
            control.stop();
            stream.join().unwrap()
        });
        let (whole, written) = (streamed.outputs[0].whole_to, streamed.measurement.write.bytes);
        assert!(streamed.measurement.interrupted && streamed.measurement.errors == 0);
        assert!(whole > 0 && whole <= written, "{mode:?}: {whole} of {written}");
        // What waited in the pool was dropped, not written out while the person waits.
        if mode == Mode::Split {
            assert!(streamed.outputs[0].generated_bytes > written, "{mode:?}");
        }
        assert!(written - whole < 8 * 64 * KIB, "writers run at most their depth ahead: {mode:?}");
    }
}

#[test]
fn the_time_limit_ends_a_stream_early() {
    let output = Output { outlet: &Slow, source: source(), cpus: None };
    let limited = Extent { longest_ns: Some(100_000_000), finish: false, ..extent(1 << 40) };
    let settings = settings(Mode::Split, 1, 1, 4, 8);
    let streamed = run(&[output], &settings, &limited, &Control::default(), &Gauges::default(), &()).unwrap();
    let ns = streamed.measurement.runtime_ns;
    assert!((100_000_000..1_000_000_000).contains(&ns), "{ns}");
    assert_eq!(streamed.outputs[0].generated_bytes, streamed.measurement.write.bytes);
}

fn fresh_file(directory: &Path) -> PathBuf {
    let path = directory.join("stream.bin");
    fs::write(&path, b"").unwrap();
    path
}

fn engines() -> Vec<EngineChoice> {
    [EngineChoice::IoUring, EngineChoice::Libaio, EngineChoice::Psync]
        .into_iter()
        .filter(|&engine| crate::choose::choose(engine, 4).is_ok())
        .collect()
}

#[test]
fn files_hold_the_stream_to_the_last_byte() {
    let directory = tempfile::tempdir().unwrap();
    for engine in engines() {
        for len in [1, 4095, 4096, 4097, 65_536, 1_000_001] {
            for (direct, mode) in [(true, Mode::Fused), (true, Mode::Split), (false, Mode::Fused)] {
                let path = fresh_file(directory.path());
                // Where the temporary directory refuses direct I/O there is nothing to test.
                let Ok(outlet) = FileOutlet::open(&path, direct, engine) else { continue };
                outlet.reserve(len).unwrap();
                stream_to(&outlet, &settings(mode, 2, 1, 2, 6), len);
                assert!(fs::read(&path).unwrap() == content(len), "{engine} {len} {direct} {mode:?}");
                let found = read_back(&outlet, &source(), len, 2, &Control::default()).unwrap();
                assert_eq!((found.bytes, found.outcome.bad()), (len, 0));
                assert_eq!(found.outcome.checked, len.div_ceil(4096));
            }
        }
    }
}

#[test]
fn reading_back_finds_one_byte() {
    use std::os::unix::fs::FileExt;
    let directory = tempfile::tempdir().unwrap();
    let path = fresh_file(directory.path());
    let len = 5_000_123;
    for engine in engines() {
        let outlet = FileOutlet::open(&path, false, engine).unwrap();
        outlet.reserve(len).unwrap();
        stream_to(&outlet, &settings(Mode::Fused, 1, 1, 2, 6), len);
        let file = fs::File::options().write(true).open(&path).unwrap();
        for at in [0, 777_777, len - 1] {
            let right = content(len)[at as usize];
            file.write_all_at(&[right ^ 1], at).unwrap();
            let found = read_back(&outlet, &source(), len, 1, &Control::default()).unwrap().outcome;
            assert_eq!((found.bad(), found.corrupt), (1, 1), "{engine} at {at}");
            assert!(found.examples[0].contains(&format!("offset {at} ")), "{:?}", found.examples);
            file.write_all_at(&[right], at).unwrap();
        }
        file.write_all_at(&[0; 8192], 40_960).unwrap();
        let found = read_back(&outlet, &source(), len, 1, &Control::default()).unwrap().outcome;
        assert_eq!((found.lost, found.corrupt), (2, 0));
        file.set_len(len - 10_000).unwrap();
        let found = read_back(&outlet, &source(), len, 1, &Control::default()).unwrap().outcome;
        assert!(found.corrupt >= 2 && found.examples.iter().any(|words| words.contains("file ends")));
    }
}

#[test]
fn reading_through_compares_nothing_and_wants_only_to_read() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = fresh_file(directory.path());
    let len = 3_000_001;
    fs::write(&path, vec![7; len as usize]).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    for engine in engines() {
        let outlet = FileOutlet::open_to_read(&path, false, engine).unwrap();
        let found = read_through(&outlet, len, 2, &Control::default()).unwrap();
        assert_eq!((found.bytes, found.outcome), (len, Default::default()), "{engine}");
        let short = read_through(&outlet, len + 9000, 1, &Control::default()).unwrap_err();
        assert!(short.to_string().contains("the file ends there"), "{short}");
    }
}

#[test]
fn a_pipe_gets_the_bytes_in_order() {
    for mode in [Mode::Fused, Mode::Split] {
        let (reader, writer) = std::io::pipe().unwrap();
        let control = Arc::new(Control::default());
        let len = 3_000_001;
        let read = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            io::Read::read_to_end(&mut { reader }, &mut bytes).unwrap();
            bytes
        });
        let outlet =
            PipeOutlet::new(fs::File::from(std::os::fd::OwnedFd::from(writer)), Arc::clone(&control))
                .unwrap();
        let streamed = stream_to(&outlet, &settings(mode, 1, 1, 1, 4), len);
        drop(outlet);
        assert!(read.join().unwrap() == content(len), "{mode:?}");
        assert_eq!(streamed.outputs[0].whole_to, len);
    }
}

#[test]
fn a_pipe_whose_reader_goes_is_an_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    let control = Arc::new(Control::default());
    let outlet =
        PipeOutlet::new(fs::File::from(std::os::fd::OwnedFd::from(writer)), Arc::clone(&control)).unwrap();
    drop(reader);
    let streamed = stream_to(&outlet, &settings(Mode::Split, 1, 1, 1, 4), 100 << 20);
    let failure = streamed.outputs[0].failure.as_ref().unwrap();
    assert_eq!(failure.error.raw_os_error(), Some(libc::EPIPE));
}

#[test]
fn a_pipe_that_nobody_reads_can_be_stopped() {
    let (_reader, writer) = std::io::pipe().unwrap();
    let control = Arc::new(Control::default());
    let outlet =
        PipeOutlet::new(fs::File::from(std::os::fd::OwnedFd::from(writer)), Arc::clone(&control)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            control.stop();
        });
        let output = Output { outlet: &outlet, source: source(), cpus: None };
        let settings = settings(Mode::Fused, 1, 1, 1, 4);
        let streamed =
            run(&[output], &settings, &extent(1 << 40), &control, &Gauges::default(), &()).unwrap();
        assert!(streamed.measurement.interrupted);
    });
}

#[test]
fn several_outputs_are_written_at_once() {
    let outlets: Vec<Memory> = (0..3).map(|_| Memory::new(1_000_000, &[])).collect();
    for mode in [Mode::Fused, Mode::Split] {
        let outputs: Vec<Output> = outlets
            .iter()
            .enumerate()
            .map(|(index, outlet)| {
                let source = Source { stream: index as u64, ..source() };
                Output { outlet, source, cpus: None }
            })
            .collect();
        let settings = settings(mode, 2, 1, 2, 6);
        let streamed =
            run(&outputs, &settings, &extent(1_000_000), &Control::default(), &Gauges::default(), &())
                .unwrap();
        assert_eq!(streamed.writers.len(), 6);
        for (index, outlet) in outlets.iter().enumerate() {
            let mut expected = vec![0; 1_000_000];
            Source { stream: index as u64, ..source() }.fill(0, &mut expected);
            assert!(outlet.bytes() == expected, "{mode:?} {index}");
        }
    }
}

#[test]
fn a_pool_larger_than_memory_is_refused() {
    let settings = Settings { buffer_bytes: 1 << 40, ..settings(Mode::Split, 1, 1, 1, 1 << 10) };
    let output = Output { outlet: &NullOutlet, source: source(), cpus: None };
    let refused = run(&[output], &settings, &extent(1), &Control::default(), &Gauges::default(), &());
    assert!(matches!(refused, Err(EngineError::Pool { .. })));
}
