//! A table an interval, for pipes and terminals that cannot be painted on.

use std::fmt::Write;

use iobound_record::{Rates, Sample, units};

use super::paint::host_line;
use super::view::in_tree;

const HEAD: &str = "device              read MiB/s  write MiB/s  total MiB/s      r/s      w/s   queue  \
r_await ms  w_await ms  util %";

/// Adds one interval; idle devices only when asked for.
pub(super) fn append(out: &mut String, sample: &Sample, idle: bool) {
    let _ = writeln!(out, "{:.1} s  {}\n{HEAD}", sample.time_ns as f64 / 1e9, host_line(&sample.host));
    for (depth, device) in in_tree(sample) {
        let name = format!("{}{}", "  ".repeat(depth), device.device);
        match &device.rates {
            Some(rates) if idle || rates.iops() > 0.0 || rates.in_flight > 0 => row(out, &name, rates),
            Some(_) => {}
            None => {
                let _ = writeln!(out, "{name:<18} {:>11}", "-");
            }
        }
    }
    row(out, "total", &sample.total);
    out.push('\n');
}

fn row(out: &mut String, name: &str, rates: &Rates) {
    let mib = |bytes: f64| bytes / units::MIB as f64;
    let ms = |time: Option<u64>| time.map_or("-".into(), |ns| format!("{:.2}", ns as f64 / 1e6));
    let _ = writeln!(
        out,
        "{name:<18} {:>11.2} {:>12.2} {:>12.2} {:>8.1} {:>8.1} {:>7.2} {:>11} {:>11} {:>7.1}",
        mib(rates.read_bytes_per_s),
        mib(rates.write_bytes_per_s),
        mib(rates.bytes_per_s()),
        rates.read_iops,
        rates.write_iops,
        rates.queue,
        ms(rates.read_await_ns),
        ms(rates.write_await_ns),
        rates.utilisation * 100.0,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::{DeviceSample, HostSample};

    #[test]
    fn columns_stand_below_their_names() {
        let rates = Rates {
            read_iops: 12_345.6,
            read_bytes_per_s: 3e9,
            write_bytes_per_s: 1e6,
            queue: 31.25,
            read_await_ns: Some(2_530_000),
            utilisation: 1.0,
            ..Rates::default()
        };
        let device =
            |name: &str, rates| DeviceSample { device: name.into(), rates, ..DeviceSample::default() };
        let sample = Sample {
            time_ns: 12_000_000_000,
            devices: vec![
                device("nvme10n1", Some(rates)),
                device("idle", Some(Rates::default())),
                device("gone", None),
            ],
            total: rates,
            host: HostSample { dirty_bytes: Some(4096), cpu_iowait: Some(0.5), ..HostSample::default() },
            ..Sample::default()
        };
        let mut text = String::new();
        append(&mut text, &sample, false);
        insta::assert_snapshot!(text);
    }
}
