//! What is asked of a stream, checked: every value that means nothing is refused here, with the nearest
//! that would.

use std::path::PathBuf;

use iobound_engine::stream::{Mode, Settings};
use iobound_fill::{FillSpec, Filler};
use iobound_record::units;

use crate::exit::Failure;

/// Buffers are multiples of a page, which direct I/O takes on any device.
pub const PAGE: u64 = 4096;
/// The kernel writes at most 2 GiB less a page at once; the largest power of two below.
const BUFFER_MOST: u64 = 1 << 30;
/// What one ring can register.
const BUFFERS_MOST: u32 = 16_384;
const WRITERS_MOST: u32 = 64;
const DEPTH_MOST: u32 = 1024;
const THREADS_MOST: u32 = 1024;
const REPEATS_MOST: u32 = 1000;
/// The seed's own: 250 buffers of 4 MiB, one writer.
const BUFFER_DEFAULT: u64 = 4 << 20;
const BUFFERS_DEFAULT: u32 = 250;
/// Enough for one writer to keep most devices busy; `--auto` measures.
const DEPTH_DEFAULT: u32 = 8;
/// Producers beside writers when nothing is said: two fill faster than any one device writes.
const PRODUCERS_DEFAULT: u32 = 2;

/// Where threads and buffers go on a machine of several NUMA nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NumaMode {
    /// Near the target, where there are several nodes and the target's is known.
    #[default]
    Auto,
    /// Near the target, and an error where that cannot be done.
    Force,
    /// Where the kernel puts them.
    Disabled,
}

/// Everything that a stream can be told.
#[derive(Clone, Debug)]
pub struct Options {
    /// Search for the best settings first.
    pub auto: bool,
    /// Bytes for each output.
    pub size: u64,
    /// Paths, `-` for standard output, `null:` for nothing.
    pub outputs: Vec<String>,
    /// Bytes of a buffer.
    pub buffer_bytes: Option<u64>,
    /// Buffers of each output.
    pub buffers: Option<u32>,
    /// Writers of each output.
    pub writers: Option<u32>,
    /// Writes that each writer has in flight.
    pub depth: Option<u32>,
    /// Who fills; None lets the stream choose.
    pub mode: Option<Mode>,
    /// Units over unique units.
    pub dedup_ratio: f64,
    /// Size before over size after compression.
    pub compress_ratio: f64,
    /// Past the page cache.
    pub direct: bool,
    /// Placement.
    pub numa: NumaMode,
    /// Most threads that make data, of each output.
    pub max_threads: Option<u32>,
    /// Read everything back and compare.
    pub read_back: bool,
    /// How often to write it all.
    pub repeat: u32,
    /// Seed of the content; None takes a new one.
    pub seed: Option<u64>,
    /// Existing files may be written.
    pub overwrite: bool,
    /// Devices that may be written.
    pub destroy_data: Vec<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            auto: false,
            size: 10_000_000_000,
            outputs: vec!["benchmark_output.bin".into()],
            buffer_bytes: None,
            buffers: None,
            writers: None,
            depth: None,
            mode: None,
            dedup_ratio: 1.0,
            compress_ratio: 1.0,
            direct: true,
            numa: NumaMode::Auto,
            max_threads: None,
            read_back: false,
            repeat: 1,
            seed: None,
            overwrite: false,
            destroy_data: Vec::new(),
        }
    }
}

impl Options {
    /// Refuses what means nothing, before anything is touched.
    ///
    /// # Errors
    /// Which option, why, and what would do.
    pub fn check(&self) -> Result<(), Failure> {
        if self.size == 0 {
            return Err(usage("--size 0: there is nothing to write; use 1 byte or more, for example 10GB"));
        }
        // A file's length is a signed number.
        if i64::try_from(self.size).is_err() {
            return Err(usage(format!(
                "--size {}: no file can be this long; the longest is 8 EiB less a byte",
                self.size
            )));
        }
        if self.outputs.is_empty() {
            return Err(usage("--output: name at least one"));
        }
        if let Some(bytes) = self.buffer_bytes {
            check_buffer(bytes, PAGE)?;
        }
        within("--buffer-count", self.buffers, 1, BUFFERS_MOST)?;
        within("--num-writers", self.writers, 1, WRITERS_MOST)?;
        within("--depth", self.depth, 1, DEPTH_MOST)?;
        within("--max-threads", self.max_threads, 1, THREADS_MOST)?;
        within("--repeat", Some(self.repeat), 1, REPEATS_MOST)?;
        self.filler(0)?;
        if let (Some(buffers), Some(writers)) = (self.buffers, self.writers)
            && buffers < writers
        {
            return Err(usage(format!(
                "--buffer-count {buffers} is fewer than --num-writers {writers}: each writer needs one; \
                 use {writers} buffers or more, or at most {buffers} writers"
            )));
        }
        Ok(())
    }

    /// What makes the content.
    ///
    /// # Errors
    /// A ratio that is no number, below 1, or more than the data can give.
    pub fn filler(&self, seed: u64) -> Result<Filler, Failure> {
        let spec = FillSpec {
            seed,
            compress_ratio: self.compress_ratio,
            dedup_ratio: self.dedup_ratio,
            ..FillSpec::default()
        };
        Filler::new(spec).map_err(|error| usage(format!("--{}", error.to_string().replacen(' ', "-", 1))))
    }

    /// The settings without a search: what was asked, and defaults for the rest. `ordered` outputs take
    /// one writer, and one producer.
    ///
    /// # Errors
    /// Values that contradict each other.
    pub fn settings(&self, ordered: bool, cpus: u32) -> Result<Settings, Failure> {
        if ordered && self.writers.is_some_and(|writers| writers > 1) {
            return Err(usage(
                "--num-writers: a pipe takes its bytes in order, from one writer; use --num-writers 1",
            ));
        }
        let writers = self.writers.unwrap_or(1);
        let producers = match ordered {
            true => 1,
            false => self.max_threads.unwrap_or(PRODUCERS_DEFAULT.min(cpus.max(1))),
        };
        let mode = self.mode.unwrap_or_else(|| {
            // A reader takes time of its own: filling goes on meanwhile.
            let enough_threads = self.max_threads.is_none_or(|most| most >= writers);
            if enough_threads && !ordered { Mode::Fused } else { Mode::Split }
        });
        if mode == Mode::Fused && self.max_threads.is_some_and(|most| most < writers) {
            return Err(usage(format!(
                "--max-threads {} with --mode fused: each of {writers} writers makes its own data; lower \
                 --num-writers, or use --mode split",
                self.max_threads.unwrap_or(0)
            )));
        }
        let buffers = self.buffers.unwrap_or(BUFFERS_DEFAULT.max(writers));
        if buffers < writers {
            return Err(usage(format!(
                "--buffer-count {buffers} is fewer than {writers} writers: use {writers} or more"
            )));
        }
        let buffer_bytes = self.buffer_bytes.unwrap_or(BUFFER_DEFAULT);
        let depth = if ordered { 1 } else { self.depth.unwrap_or(DEPTH_DEFAULT) };
        Ok(Settings { mode, buffer_bytes, buffers, writers, producers, depth })
    }
}

/// The same settings with no more buffers than `size` bytes have pieces.
pub fn fitted(settings: Settings, size: u64) -> Settings {
    let pieces = size.div_ceil(settings.buffer_bytes).saturating_add(1);
    let enough = u32::try_from(pieces).unwrap_or(u32::MAX).max(settings.writers);
    Settings { buffers: settings.buffers.min(enough), ..settings }
}

/// Refuses a buffer size that is no multiple of `unit`, with the nearest that are.
///
/// # Errors
/// As said.
pub fn check_buffer(bytes: u64, unit: u64) -> Result<(), Failure> {
    if bytes > BUFFER_MOST {
        return Err(usage(format!("--buffer-size {bytes} is above {BUFFER_MOST} (1 GiB), the largest")));
    }
    if bytes == 0 || !bytes.is_multiple_of(unit) {
        let below = bytes / unit * unit;
        let nearest = match below {
            0 => format!("the smallest is {unit}"),
            below => format!("the nearest are {below} and {}", below + unit),
        };
        return Err(usage(format!("--buffer-size {bytes} is not a multiple of {unit}; {nearest}")));
    }
    Ok(())
}

fn within(option: &str, value: Option<u32>, least: u32, most: u32) -> Result<(), Failure> {
    match value {
        Some(value) if !(least..=most).contains(&value) => {
            Err(usage(format!("{option} {value}: use {least} to {most}")))
        }
        _ => Ok(()),
    }
}

fn usage(words: impl std::fmt::Display) -> Failure {
    Failure::usage(words)
}

/// Reads a buffer size: as [`units::parse_bytes`], but `4MB` is 4 MiB, as memory is counted and as the
/// tools that came before have it.
///
/// # Errors
/// Text that is no size.
pub fn parse_buffer_size(text: &str) -> Result<u64, units::UnitError> {
    let lower = text.trim().to_ascii_lowercase();
    let decimal = ["kb", "mb", "gb"].iter().any(|unit| lower.ends_with(unit));
    if decimal { units::parse_bytes(lower.trim_end_matches('b')) } else { units::parse_bytes(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl Fn(&mut Options)) -> String {
        let mut options = Options::default();
        change(&mut options);
        options.check().expect_err("refused").words
    }

    #[test]
    fn the_defaults_are_sound() {
        assert!(Options::default().check().is_ok());
        let settings = Options::default().settings(false, 2).unwrap();
        assert_eq!((settings.buffer_bytes, settings.buffers, settings.writers), (4 << 20, 250, 1));
    }

    #[test]
    fn what_means_nothing_is_refused_with_what_would() {
        assert!(refused(|o| o.size = 0).contains("1 byte or more"));
        assert!(refused(|o| o.size = u64::MAX).contains("8 EiB"));
        assert!(refused(|o| o.buffer_bytes = Some(5000)).contains("4096 and 8192"));
        assert!(refused(|o| o.buffer_bytes = Some(100)).contains("the smallest is 4096"));
        assert!(refused(|o| o.buffer_bytes = Some(0)).contains("4096"));
        assert!(refused(|o| o.buffer_bytes = Some(2 << 30)).contains("1 GiB"));
        assert!(refused(|o| (o.buffers, o.writers) = (Some(3), Some(8))).contains("8 buffers or more"));
        assert!(refused(|o| o.writers = Some(0)).contains("1 to 64"));
        assert!(refused(|o| o.writers = Some(65)).contains("1 to 64"));
        assert!(refused(|o| o.depth = Some(0)).contains("--depth 0"));
        assert!(refused(|o| o.compress_ratio = 0.5).contains("--compress-ratio 0.5 is below 1"));
        assert!(refused(|o| o.dedup_ratio = f64::NAN).contains("--dedup-ratio NaN is not a number"));
        assert!(refused(|o| o.dedup_ratio = f64::INFINITY).contains("--dedup-ratio"));
        assert!(refused(|o| o.repeat = 0).contains("--repeat"));
    }

    #[test]
    fn a_buffers_megabyte_is_that_of_memory() {
        assert_eq!(parse_buffer_size("8MB"), Ok(8 << 20));
        assert_eq!(parse_buffer_size("64kb"), Ok(64 << 10));
        assert_eq!(parse_buffer_size("8388608"), Ok(8 << 20));
        assert_eq!(parse_buffer_size("4MiB"), Ok(4 << 20));
        assert!(parse_buffer_size("4XB").is_err() && parse_buffer_size("-4k").is_err());
    }

    #[test]
    fn few_threads_or_a_pipe_split_the_work() {
        let options = Options { max_threads: Some(1), writers: Some(4), ..Options::default() };
        assert_eq!(options.settings(false, 2).unwrap().mode, Mode::Split);
        assert_eq!(Options::default().settings(true, 2).unwrap().producers, 1);
        let two = Options { writers: Some(2), ..Options::default() };
        assert!(two.settings(true, 2).is_err());
        let contradiction = Options { mode: Some(Mode::Fused), ..options };
        assert!(contradiction.settings(false, 2).is_err());
    }

    #[test]
    fn a_short_stream_takes_a_small_pool() {
        let settings = Options::default().settings(false, 2).unwrap();
        assert_eq!(fitted(settings, 1).buffers, 2);
        assert_eq!(fitted(settings, u64::MAX).buffers, 250);
    }
}
