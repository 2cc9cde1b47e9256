//! `iobound stream`: generated data, written at the storage's own speed.

use std::path::PathBuf;

use iobound_engine::stream::Mode;
use iobound_record::units;

use super::run::{exit_code, failed_operations, look};
use crate::exit::{self, Failure};
use crate::fresh;
use crate::progress::Progress;
use crate::report::terminal::render_with;
use crate::stop::Stop;
use crate::store::Store;
use crate::stream::{NumaMode, Options, Surroundings, parse_buffer_size, write};

/// Options of `iobound stream`.
#[derive(clap::Args, Debug)]
#[command(after_help = super::objects::ENVIRONMENT)]
pub struct Args {
    /// Find the fastest settings first: start from the table by processors, then measure on the target
    #[arg(long)]
    auto: bool,
    /// Data to write to each output: 10GB, 500MB, 1TiB (GB is 10^9, GiB and g are 2^30)
    #[arg(long, short, value_name = "SIZE", default_value = "10GB", value_parser = units::parse_bytes,
          allow_negative_numbers = true)]
    size: u64,
    /// File, device, FIFO, '-' for standard output, 'null:' for nothing, or an object: s3://BUCKET/KEY,
    /// gs://BUCKET/KEY, az://CONTAINER/KEY; repeat it to write several at once
    #[arg(long, short, value_name = "PATH", default_value = "benchmark_output.bin")]
    output: Vec<String>,
    /// Size of a buffer, written as one; a multiple of 4096. Here 4MB is 4 MiB. Of an object each buffer is a
    /// part: 5MiB or more, and at most 10,000 of them [default: 4MiB, of an object 8MiB or more]
    #[arg(long, value_name = "SIZE", value_parser = parse_buffer_size, allow_negative_numbers = true)]
    buffer_size: Option<u64>,
    /// Buffers in the pool of each output at most [default: 250]
    #[arg(long, value_name = "N")]
    buffer_count: Option<u32>,
    /// Threads that write to each output, 1 to 64; of an object the parts on their way at once [default: 1, of
    /// an object 8]
    #[arg(long, value_name = "N")]
    num_writers: Option<u32>,
    /// Writes that each writer has in flight at most [default: 8, of an object 1]
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// Who fills buffers: the writers themselves, or producers beside them [default: fused]
    #[arg(long, value_enum)]
    mode: Option<ModeName>,
    /// Units over unique units: 1.0 has no duplicates
    #[arg(long, value_name = "RATIO", default_value_t = 1.0, allow_negative_numbers = true)]
    dedup_ratio: f64,
    /// Size before over after compression: 1.0 cannot be compressed
    #[arg(long, value_name = "RATIO", default_value_t = 1.0, allow_negative_numbers = true)]
    compress_ratio: f64,
    /// Write through the page cache (without it O_DIRECT, or nothing)
    #[arg(long)]
    no_direct: bool,
    /// Threads and buffers on the NUMA node nearest to the target
    #[arg(long, value_enum, default_value = "auto")]
    numa_mode: NumaName,
    /// Most threads that make data for each output [default: 2 producers, or each writer]
    #[arg(long, value_name = "N")]
    max_threads: Option<u32>,
    /// Read everything back afterwards and compare every byte; an object by ranges, as many at once as parts
    #[arg(long)]
    read_back: bool,
    /// Write it all this often
    #[arg(long, value_name = "N", default_value_t = 1)]
    repeat: u32,
    /// Seed of the content: the same seed and size give the same bytes [default: a new one]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Directory for run.json [default: ./iobound-<time>]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Allow writing to existing files and objects
    #[arg(long)]
    overwrite: bool,
    /// Allow destroying what is on this block device; once for each device
    #[arg(long, value_name = "DEVICE")]
    destroy_data: Vec<PathBuf>,
    /// Show nothing while running
    #[arg(long, short)]
    quiet: bool,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum ModeName {
    /// A thread writes what it filled
    Fused,
    /// Producers fill, writers write
    Split,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum NumaName {
    /// Where there are several nodes and the target's is known
    Auto,
    /// Or else an error
    Force,
    /// Leave it to the kernel
    Disabled,
}

impl Args {
    fn options(&self) -> Options {
        Options {
            auto: self.auto,
            size: self.size,
            outputs: self.output.clone(),
            buffer_bytes: self.buffer_size,
            buffers: self.buffer_count,
            writers: self.num_writers,
            depth: self.depth,
            mode: self.mode.map(|mode| match mode {
                ModeName::Fused => Mode::Fused,
                ModeName::Split => Mode::Split,
            }),
            dedup_ratio: self.dedup_ratio,
            compress_ratio: self.compress_ratio,
            direct: !self.no_direct,
            numa: match self.numa_mode {
                NumaName::Auto => NumaMode::Auto,
                NumaName::Force => NumaMode::Force,
                NumaName::Disabled => NumaMode::Disabled,
            },
            max_threads: self.max_threads,
            read_back: self.read_back,
            repeat: self.repeat,
            seed: self.seed,
            overwrite: self.overwrite,
            destroy_data: self.destroy_data.clone(),
        }
    }
}

/// Streams, prints, and returns the exit code.
///
/// # Errors
/// Bad usage, a refusal, or a stream that broke.
pub fn run(args: Args) -> Result<u8, Failure> {
    let options = args.options();
    options.check()?;
    let stop = Stop::on_signals().map_err(Failure::broke)?;
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("iobound-{}", fresh::run_id())));
    let is_new = !out.exists();
    let store = Store::new(&out)?;
    let record = store.record();
    let surroundings = Surroundings { stop, progress: Progress::new(args.quiet), store: Some(store) };
    let written = write(&options, surroundings);
    let kept = written.as_ref().is_ok_and(|written| !written.run.scenarios.is_empty());
    if !kept && is_new {
        // A stream without a result leaves no directory that looks like one.
        let _ = std::fs::remove_file(out.join(crate::sampling::SAMPLES));
        let _ = std::fs::remove_dir(&out);
    }
    let written = written?;
    if kept {
        let text = render_with(&written.run, look(), &[record]);
        // Standard output may be where the stream went.
        if options.outputs.iter().any(|output| output == "-") {
            eprint!("{text}")
        } else {
            super::print(&text)
        }
    }
    if let Some(failure) = written.failure {
        return Err(failure);
    }
    if written.run.interrupted {
        let left = written.run.scenarios.last().and_then(|scenario| scenario.stream.as_ref());
        let left: Vec<String> = left
            .iter()
            .flat_map(|stream| &stream.outputs)
            .map(|output| format!("{}: {}", output.target, output.left))
            .collect();
        let left = if left.is_empty() { "nothing was written".into() } else { left.join("; ") };
        eprintln!("iobound: interrupted; {left}");
        return Ok(exit::BROKE);
    }
    failed_operations(&written.run);
    Ok(exit_code(&written.run))
}
