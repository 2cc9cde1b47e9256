//! `iobound durability`: is a sync honest on this storage?

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};
use iobound_record::units;

use crate::durability::ack::run_of;
use crate::durability::ack_sink::Place;
use crate::durability::geometry::Pattern;
use crate::durability::options::{Preallocate, Sync};
use crate::durability::{serve, verify, write};
use crate::exit::Failure;
use crate::stop::Stop;

const EXIT_CODES: &str = "\
Exit codes of verify: 0 honest (or the control lost something, as it must); 1 lies: acknowledged writes are \
lost; 4 unknown: nothing was proved; 2 and 3 as everywhere.";

/// Options of `iobound durability`.
#[derive(ClapArgs, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Write sealed records, sync each, acknowledge it elsewhere; until the power is cut
    Write(WriteArgs),
    /// On another machine: keep the acknowledgements that a writer sends
    Serve(ServeArgs),
    /// After the power cut: is everything there that was acknowledged?
    #[command(after_help = EXIT_CODES)]
    Verify(VerifyArgs),
}

#[derive(ClapArgs, Debug)]
struct WriteArgs {
    /// File or block device to write to
    #[arg(long, value_name = "PATH")]
    target: PathBuf,
    /// Where acknowledgements go: 'serve' on another machine, or a file on another volume
    #[arg(long, value_name = "HOST:PORT|FILE")]
    acks: String,
    /// How much of the target is used [default: all of an existing one, 1 GiB of a new file]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes)]
    size: Option<u64>,
    /// Size of a record
    #[arg(long, value_name = "SIZE", default_value = "4k", value_parser = units::parse_bytes)]
    bs: u64,
    /// Threads, each with one write in flight
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: u32,
    /// How each write is made durable
    #[arg(long, value_name = "HOW", default_value = "fdatasync")]
    sync: Sync,
    /// What happens after the last slot
    #[arg(long, value_name = "HOW", default_value = "overwrite")]
    pattern: Pattern,
    /// What is done to a file before [default: write; none with --pattern append]
    #[arg(long, value_name = "HOW")]
    preallocate: Option<Preallocate>,
    /// End by itself after this time; without it, write until stopped
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration_ns)]
    runtime: Option<u64>,
    /// Write through the page cache instead of past it (O_DIRECT)
    #[arg(long)]
    buffered: bool,
    /// Allow writing to an existing file that iobound did not make
    #[arg(long)]
    overwrite: bool,
    /// Allow destroying what is on this block device
    #[arg(long, value_name = "DEVICE")]
    destroy_data: Vec<PathBuf>,
    /// Allow an acknowledgement file on the target's own storage, or in memory
    #[arg(long)]
    acks_on_same_storage: bool,
    /// Show nothing while running
    #[arg(long, short)]
    quiet: bool,
}

#[derive(ClapArgs, Debug)]
struct ServeArgs {
    /// Address to listen on, such as 0.0.0.0:7400. Whoever reaches it can add to the log
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: String,
    /// File that the acknowledgements are added to
    #[arg(long, value_name = "FILE")]
    log: PathBuf,
    /// End when the first run has ended or its connection is gone
    #[arg(long)]
    once: bool,
    /// Show no running count
    #[arg(long, short)]
    quiet: bool,
}

#[derive(ClapArgs, Debug)]
struct VerifyArgs {
    /// What was written to
    #[arg(long, value_name = "PATH")]
    target: PathBuf,
    /// The acknowledgement log
    #[arg(long, value_name = "FILE")]
    acks: PathBuf,
    /// Which run of the log [default: the last]
    #[arg(long, value_name = "NAME", value_parser = parse_run)]
    run: Option<u64>,
    /// The storage lost its power while the run wrote, though this machine did not
    #[arg(long)]
    power_was_cut: bool,
    /// Also write the verdict as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn parse_run(text: &str) -> Result<u64, String> {
    run_of(text).ok_or_else(|| "a run's name has 16 hexadecimal digits, as 'write' printed it".into())
}

/// Runs, prints, and returns the exit code.
///
/// # Errors
/// Bad usage, a refusal, or a run that broke.
pub fn run(args: Args) -> Result<u8, Failure> {
    match args.command {
        Command::Write(args) => {
            let stop = Stop::on_signals().map_err(Failure::broke)?;
            write::write(&args.wish(), &stop)
        }
        Command::Serve(args) => {
            let stop = Stop::on_signals().map_err(Failure::broke)?;
            let ServeArgs { listen, log, once, quiet } = args;
            serve::serve(&serve::Wish { listen, log, once, quiet }, &stop)
        }
        Command::Verify(args) => {
            let VerifyArgs { target, acks, run, power_was_cut, json } = args;
            let (words, code) = verify::verify(&verify::Wish { target, acks, run, power_was_cut, json })?;
            super::print(&words);
            Ok(code)
        }
    }
}

impl WriteArgs {
    fn wish(self) -> write::Wish {
        write::Wish {
            target: self.target,
            acks: Place::of(&self.acks),
            size: self.size,
            bs: self.bs,
            threads: self.threads,
            sync: self.sync,
            pattern: self.pattern,
            preallocate: self.preallocate,
            runtime: self.runtime.map(Duration::from_nanos),
            direct: !self.buffered,
            overwrite: self.overwrite,
            destroy_data: self.destroy_data,
            acks_on_same_storage: self.acks_on_same_storage,
            quiet: self.quiet,
        }
    }
}
