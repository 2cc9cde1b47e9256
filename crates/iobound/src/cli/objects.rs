//! `iobound objects`: PUT, GET, LIST and DELETE in a chosen mix.

use std::path::PathBuf;
use std::time::Duration;

use iobound_record::units;

use super::run::{exit_code, failed_operations, look};
use crate::exit::{self, Failure};
use crate::fresh;
use crate::object::workload::{Mix, Options, run as work};
use crate::progress::Progress;
use crate::report::terminal::render_with;
use crate::stop::Stop;
use crate::store::Store;
use crate::stream::Surroundings;

/// Options of `iobound objects`.
#[derive(clap::Args, Debug)]
#[command(after_help = ENVIRONMENT)]
pub struct Args {
    /// Where: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX. All objects are made under a
    /// new prefix below it, and removed at the end
    #[arg(value_name = "URL")]
    place: String,
    /// Shares of the operations; what is left out is not done
    #[arg(long, value_name = "KIND=SHARE,..", default_value = "put=20,get=55,list=5,delete=20")]
    mix: Mix,
    /// Bytes of each object: 64KiB, 1MiB, 4MB
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = units::parse_bytes,
          allow_negative_numbers = true)]
    object_size: u64,
    /// Requests in flight, 1 to 256
    #[arg(long, value_name = "N", default_value_t = 16)]
    concurrency: u32,
    /// Measured time
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = units::parse_duration_ns,
          allow_negative_numbers = true)]
    runtime: u64,
    /// Objects put before the measured time [default: 4 for each request in flight]
    #[arg(long, value_name = "N")]
    objects: Option<u64>,
    /// Seed of the content and of the order of operations [default: a new one]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Directory for run.json [default: ./iobound-<time>]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Show nothing while running
    #[arg(long, short)]
    quiet: bool,
}

/// What says who asks and where.
pub(super) const ENVIRONMENT: &str = "\
Object stores are configured by the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, \
AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL (plain HTTP only where it begins with http://), \
AWS_VIRTUAL_HOSTED_STYLE_REQUEST, AWS_UNSIGNED_PAYLOAD; GOOGLE_SERVICE_ACCOUNT; \
AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY. A request that fails on the way, or is answered \
503 or 429, is tried again with growing pauses for 15 s; each is counted, and its time is in the latency.";

/// Works, prints, and returns the exit code.
///
/// # Errors
/// Bad usage, or a store that cannot be worked with.
pub fn run(args: Args) -> Result<u8, Failure> {
    let options = Options {
        place: args.place,
        mix: args.mix,
        object_bytes: args.object_size,
        concurrency: args.concurrency,
        runtime: Duration::from_nanos(args.runtime),
        prepared: args.objects,
        seed: args.seed,
    };
    options.check()?;
    let stop = Stop::on_signals().map_err(Failure::broke)?;
    let out = args.out.unwrap_or_else(|| PathBuf::from(format!("iobound-{}", fresh::run_id())));
    let is_new = !out.exists();
    let store = Store::new(&out)?;
    let record = store.record();
    let surroundings = Surroundings { stop, progress: Progress::new(args.quiet), store: Some(store) };
    let written = work(&options, surroundings);
    if written.is_err() && is_new {
        let _ = std::fs::remove_dir(&out);
    }
    let run = written?.run;
    super::print(&render_with(&run, look(), &[record]));
    failed_operations(&run);
    if run.interrupted {
        let left = run.scenarios.iter().filter_map(|scenario| scenario.objects.as_ref());
        left.for_each(|objects| eprintln!("iobound: interrupted; {}", objects.left));
        return Ok(exit::BROKE);
    }
    Ok(exit_code(&run))
}
