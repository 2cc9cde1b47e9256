//! `iobound calibrate`: the tool's own limits on this machine.

use std::time::Duration;

use iobound_record::{Calibration, units};

use crate::exit::{self, Failure};

/// Options of `iobound calibrate`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    /// How long each figure is measured
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = units::parse_duration_ns)]
    each: u64,
}

/// Measures and prints.
///
/// # Errors
/// Memory that cannot be had.
pub fn run(args: &Args) -> Result<u8, Failure> {
    let each = Duration::from_nanos(args.each.clamp(10_000_000, 60_000_000_000));
    let calibration = iobound_engine::calibrate(each)?;
    if args.json {
        let json = serde_json::to_string_pretty(&calibration).map_err(Failure::broke)?;
        super::print(&(json + "\n"));
    } else {
        super::print(&render(&calibration));
    }
    Ok(exit::DONE)
}

fn render(c: &Calibration) -> String {
    let of_store = 100.0 * c.fill_bytes_per_s_per_core / c.store_bytes_per_s_per_core;
    let row = |name: &str, value: String| format!("  {name:<44} {value}\n");
    let gb = |bytes: f64| {
        format!(
            "{} GB/s ({} GiB/s)",
            units::significant(bytes / 1e9),
            units::significant(bytes / units::GIB as f64)
        )
    };
    let mut text = String::from(
        "What iobound itself can do here; a result near one of these is the tool's, not the device's.\n\n",
    );
    text += &row(
        "null engine, one core, every latency recorded",
        format!("{} IOPS", units::count(c.null_iops_per_core)),
    );
    text += &row(
        &format!("null engine, {} cores", c.cores),
        format!("{} IOPS", units::count(c.null_iops_all_cores)),
    );
    text += &row(
        "fill into memory, one core",
        format!("{}, {of_store:.0}% of the store limit", gb(c.fill_bytes_per_s_per_core)),
    );
    text += &row(&format!("fill into memory, {} cores", c.cores), gb(c.fill_bytes_per_s_all_cores));
    text += &row("fill within the L2 cache, one core", gb(c.fill_cached_bytes_per_s_per_core));
    text += &row("store limit: a constant into memory, one core", gb(c.store_bytes_per_s_per_core));
    text += &row(&format!("reading the time ({})", c.clock), format!("{:.1} ns", c.clock_read_ns));
    text += &row("reading the time (clock_gettime)", format!("{:.1} ns", c.clock_gettime_ns));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_its_unit() {
        let calibration = Calibration {
            null_iops_per_core: 33e6,
            null_iops_all_cores: 66e6,
            fill_bytes_per_s_per_core: 20e9,
            fill_bytes_per_s_all_cores: 38e9,
            fill_cached_bytes_per_s_per_core: 60e9,
            store_bytes_per_s_per_core: 25e9,
            clock_read_ns: 12.0,
            clock: "tsc".into(),
            clock_gettime_ns: 29.0,
            cores: 2,
        };
        insta::assert_snapshot!(render(&calibration));
    }
}
