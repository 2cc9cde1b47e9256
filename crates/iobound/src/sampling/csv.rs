//! Samples as a table: one row a device and interval, and one for the total with the machine's figures.

use std::fmt::Write;

use iobound_record::{HostSample, Rates, Sample};

/// Columns of every row. Units are in the names; a cell is empty where nothing is known.
const COLUMNS: &str = "time_s,interval_s,device,layer,parents,in_total,read_iops,write_iops,\
read_bytes_per_s,write_bytes_per_s,read_merges_per_s,write_merges_per_s,in_flight,queue,\
read_await_ms,write_await_ms,utilisation_percent,discard_iops,discard_bytes_per_s,flush_iops,\
dirty_bytes,writeback_bytes,cpu_user_percent,cpu_system_percent,cpu_iowait_percent,\
cpu_steal_percent,psi_io_some_percent,psi_io_full_percent,psi_cpu_some_percent,\
psi_memory_some_percent,psi_memory_full_percent";

/// Cells of the rates, and of the machine.
const RATE_CELLS: usize = 14;
const HOST_CELLS: usize = 11;

/// The header line; with a last column for the running scenario, if there are scenarios.
pub fn header(scenarios: bool) -> String {
    format!("{COLUMNS}{}\n", if scenarios { ",scenario" } else { "" })
}

/// Adds the rows of one interval.
pub fn append(out: &mut String, sample: &Sample, scenario: Option<&str>) {
    let time = sample.time_ns as f64 / 1e9;
    let interval = sample.interval_ns as f64 / 1e9;
    for device in &sample.devices {
        let parents = device.parents.join("+");
        let in_total = u8::from(device.in_total);
        let layer = device.layer.as_str();
        let _ = write!(out, "{time:.3},{interval:.3},{},{layer},{parents},{in_total}", device.device);
        match &device.rates {
            Some(rates) => append_rates(out, rates),
            None => empty(out, RATE_CELLS),
        }
        empty(out, HOST_CELLS);
        end(out, scenario);
    }
    let _ = write!(out, "{time:.3},{interval:.3},total,total,,0");
    append_rates(out, &sample.total);
    append_host(out, &sample.host);
    end(out, scenario);
}

fn append_rates(out: &mut String, rates: &Rates) {
    let _ = write!(
        out,
        ",{:.2},{:.2},{:.0},{:.0},{:.2},{:.2},{},{:.3}",
        rates.read_iops,
        rates.write_iops,
        rates.read_bytes_per_s,
        rates.write_bytes_per_s,
        rates.read_merges_per_s,
        rates.write_merges_per_s,
        rates.in_flight,
        rates.queue,
    );
    for time in [rates.read_await_ns, rates.write_await_ns] {
        cell(out, time.map(|ns| ns as f64 / 1e6), 3);
    }
    cell(out, Some(rates.utilisation * 100.0), 2);
    cell(out, rates.discard_iops, 2);
    cell(out, rates.discard_bytes_per_s, 0);
    cell(out, rates.flush_iops, 2);
}

fn append_host(out: &mut String, host: &HostSample) {
    for bytes in [host.dirty_bytes, host.writeback_bytes] {
        cell(out, bytes.map(|bytes| bytes as f64), 0);
    }
    let shares = [
        host.cpu_user,
        host.cpu_system,
        host.cpu_iowait,
        host.cpu_steal,
        host.psi_io_some,
        host.psi_io_full,
        host.psi_cpu_some,
        host.psi_memory_some,
        host.psi_memory_full,
    ];
    shares.into_iter().for_each(|share| cell(out, share.map(|share| share * 100.0), 2));
}

fn cell(out: &mut String, value: Option<f64>, decimals: usize) {
    out.push(',');
    if let Some(value) = value {
        let _ = write!(out, "{value:.decimals$}");
    }
}

fn empty(out: &mut String, cells: usize) {
    out.extend(std::iter::repeat_n(',', cells));
}

fn end(out: &mut String, scenario: Option<&str>) {
    if let Some(scenario) = scenario {
        out.push(',');
        // Names come from job files: a comma or a quote must not shift the columns.
        if scenario.contains([',', '"', '\n']) {
            let _ = write!(out, "\"{}\"", scenario.replace('"', "\"\""));
        } else {
            out.push_str(scenario);
        }
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::{DeviceSample, Layer};

    fn sample() -> Sample {
        let rates = Rates {
            read_iops: 10.5,
            read_bytes_per_s: 43008.0,
            queue: 1.25,
            read_await_ns: Some(1_500_000),
            utilisation: 0.5,
            flush_iops: Some(2.0),
            ..Rates::default()
        };
        let device = DeviceSample {
            device: "nvme1n1".into(),
            layer: Layer::Disk,
            parents: vec!["md0".into()],
            in_total: true,
            rates: Some(rates),
        };
        let gone = DeviceSample { device: "nvme2n1".into(), rates: None, ..device.clone() };
        let host = HostSample { dirty_bytes: Some(4096), cpu_iowait: Some(0.25), ..HostSample::default() };
        Sample {
            time_ns: 2_000_000_000,
            interval_ns: 1_000_000_000,
            devices: vec![device, gone],
            total: rates,
            host,
            processes: None,
        }
    }

    #[test]
    fn every_row_has_every_column() {
        for scenario in [None, Some("reads")] {
            let mut text = header(scenario.is_some());
            append(&mut text, &sample(), scenario);
            let cells: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
            assert_eq!(cells, [cells[0]; 4], "{text}");
        }
    }

    #[test]
    fn known_rows() {
        let mut text = String::new();
        append(&mut text, &sample(), Some("a,b"));
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(
            rows[0],
            "2.000,1.000,nvme1n1,disk,md0,1,10.50,0.00,43008,0,0.00,0.00,0,1.250,1.500,,50.00,,,2.00,,,,,,,,,,,,\"a,b\""
        );
        assert_eq!(rows[1], format!("2.000,1.000,nvme2n1,disk,md0,1{},\"a,b\"", ",".repeat(25)));
        assert!(rows[2].contains(",2.00,4096,,,,25.00,,"), "{}", rows[2]);
    }
}
