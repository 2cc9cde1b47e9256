//! The screen as a person sees it.

use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use iobound_record::{Layer, ProcessSample};

use super::super::keys::Act;
use super::*;

fn device(name: &str, parent: Option<&str>, rates: Option<Rates>) -> DeviceSample {
    DeviceSample {
        device: name.into(),
        layer: if parent.is_some() { Layer::Disk } else { Layer::Upper },
        parents: parent.map(str::to_owned).into_iter().collect(),
        in_total: parent.is_some(),
        rates,
    }
}

/// Seed 002's four disks, while it writes.
fn sample() -> Sample {
    let disk = |write: f64| Rates {
        write_iops: write / 65_536.0,
        write_bytes_per_s: write,
        in_flight: 12,
        queue: 12.4,
        write_await_ns: Some(5_250_000),
        utilisation: 0.97,
        ..Rates::default()
    };
    let total = Rates { queue: 49.6, ..disk(608_884_296.0) };
    let mut devices = vec![device("dm-0", None, Some(Rates { utilisation: 1.0, ..total }))];
    for name in ["sdc", "sdd", "sde"] {
        devices.push(device(name, Some("dm-0"), Some(disk(152_482_181.0))));
    }
    devices.push(device("sdf", Some("dm-0"), None));
    devices.push(device("a-name-that-is-long", None, Some(Rates::default())));
    Sample {
        time_ns: 7_000_000_000,
        interval_ns: 1_000_000_000,
        devices,
        total,
        host: HostSample {
            dirty_bytes: Some(3 << 30),
            writeback_bytes: Some(93 << 20),
            cpu_user: Some(0.02),
            cpu_system: Some(0.18),
            cpu_iowait: Some(0.41),
            cpu_steal: Some(0.0),
            psi_io_some: Some(0.88),
            ..HostSample::default()
        },
        processes: Some(vec![ProcessSample {
            pid: 4711,
            name: "dd".into(),
            read_bytes_per_s: 0.0,
            write_bytes_per_s: 5e8,
            has_target_open: false,
        }]),
    }
}

fn painted(view: &mut View, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| paint(frame, view)).unwrap();
    let text = terminal.backend().to_string();
    let rows: Vec<&str> = text.lines().map(|line| line.trim_matches('"').trim_end()).collect();
    rows.join("\n")
}

fn view() -> View {
    let mut view = View::new(false, true, Duration::from_secs(1));
    for tenths in 0..10 {
        let mut sample = sample();
        sample.total.write_bytes_per_s *= f64::from(tenths) / 10.0;
        view.take(&sample);
    }
    view.take(&sample());
    view
}

#[test]
fn eighty_columns() {
    insta::assert_snapshot!(painted(&mut view(), 80, 24));
}

#[test]
fn wide_in_powers_of_ten_and_sorted() {
    let mut view = view();
    view.act(Act::Unit);
    view.act(Act::Sort(2));
    view.act(Act::Pause);
    insta::assert_snapshot!(painted(&mut view, 120, 20));
}

#[test]
fn too_small_a_terminal_is_no_reason_to_panic() {
    for (width, height) in [(1, 1), (10, 3), (79, 8), (80, 9), (300, 2)] {
        let mut view = view();
        view.act(Act::Scroll(100));
        painted(&mut view, width, height);
        painted(&mut View::new(false, false, Duration::from_secs(1)), width, height);
    }
}

#[test]
fn more_devices_than_lines() {
    let mut view = View::new(true, false, Duration::from_secs(1));
    let devices = (0..64).map(|n| device(&format!("nvme{n}n1"), None, Some(Rates::default()))).collect();
    view.take(&Sample { devices, ..Sample::default() });
    assert!(painted(&mut view, 80, 24).contains(" more: down"));
    view.act(Act::Scroll(1000));
    let end = painted(&mut view, 80, 24);
    assert!(end.contains("nvme63n1") && !end.contains("more: down"), "{end}");
}
