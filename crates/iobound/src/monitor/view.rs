//! What the screen shows, apart from how it is painted.

use std::collections::VecDeque;
use std::time::Duration;

use iobound_record::{DeviceSample, Layer, Rates, Sample, units};

use super::keys::Act;

/// Points of the history that are kept: more than any terminal is wide.
const HISTORY_MOST: usize = 1000;

/// Unit of bandwidths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    MiB,
    MB,
}

impl Unit {
    pub(super) fn name(self) -> &'static str {
        match self {
            Unit::MiB => "MiB/s",
            Unit::MB => "MB/s",
        }
    }

    pub(super) fn of(self, bytes_per_s: f64) -> f64 {
        match self {
            Unit::MiB => bytes_per_s / units::MIB as f64,
            Unit::MB => bytes_per_s / 1e6,
        }
    }
}

/// Order of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Arrays with their members below them.
    Tree,
    Read,
    Write,
    Total,
    Iops,
    Queue,
    Utilisation,
}

const ORDERS: [Order; 7] =
    [Order::Tree, Order::Read, Order::Write, Order::Total, Order::Iops, Order::Queue, Order::Utilisation];

impl Order {
    pub(super) fn name(self) -> &'static str {
        match self {
            Order::Tree => "tree",
            Order::Read => "read",
            Order::Write => "write",
            Order::Total => "total",
            Order::Iops => "IOPS",
            Order::Queue => "queue",
            Order::Utilisation => "util",
        }
    }

    fn key(self, rates: &Rates) -> f64 {
        match self {
            Order::Tree => 0.0,
            Order::Read => rates.read_bytes_per_s,
            Order::Write => rates.write_bytes_per_s,
            Order::Total => rates.bytes_per_s(),
            Order::Iops => rates.iops(),
            Order::Queue => rates.queue,
            Order::Utilisation => rates.utilisation,
        }
    }
}

/// The state of the screen.
pub(super) struct View {
    pub sample: Option<Sample>,
    /// Bytes a second of the total, latest last.
    pub history: VecDeque<f64>,
    pub unit: Unit,
    pub order: Order,
    pub paused: bool,
    /// All devices, and not only those that were named.
    pub everything: bool,
    pub interval: Duration,
    pub scroll: usize,
    /// Whether there are named devices to go back to.
    named: bool,
    /// Whether devices that never did anything are shown.
    idle: bool,
    /// Devices that did something since the start.
    seen: Vec<String>,
}

impl View {
    pub(super) fn new(all: bool, named: bool, interval: Duration) -> View {
        View {
            sample: None,
            history: VecDeque::new(),
            unit: Unit::MiB,
            order: Order::Tree,
            paused: false,
            everything: !named,
            interval,
            scroll: 0,
            named,
            idle: all || named,
            seen: Vec::new(),
        }
    }

    /// Takes in an interval; while paused only the history goes on.
    pub(super) fn take(&mut self, sample: &Sample) {
        if self.history.len() == HISTORY_MOST {
            self.history.pop_front();
        }
        self.history.push_back(sample.total.bytes_per_s());
        for device in &sample.devices {
            if device.rates.is_some_and(|rates| rates.iops() > 0.0 || rates.in_flight > 0)
                && !self.seen.contains(&device.device)
            {
                self.seen.push(device.device.clone());
            }
        }
        if !self.paused {
            self.sample = Some(sample.clone());
        }
    }

    pub(super) fn act(&mut self, act: Act) {
        match act {
            Act::Quit => {}
            Act::Pause => self.paused = !self.paused,
            Act::Unit => self.unit = if self.unit == Unit::MiB { Unit::MB } else { Unit::MiB },
            Act::Everything if self.named => {
                self.everything = !self.everything;
                self.history.clear();
                self.sample = None;
                self.paused = false;
            }
            // Every device is watched already: show or hide the idle ones.
            Act::Everything => self.idle = !self.idle,
            Act::Sort(step) => {
                let at = ORDERS.iter().position(|order| *order == self.order).unwrap_or(0);
                let next = (at as isize + step).rem_euclid(ORDERS.len() as isize);
                self.order = ORDERS[next as usize];
            }
            Act::Scroll(step) => self.scroll = self.scroll.saturating_add_signed(step),
        }
    }

    /// The rows with their depth, in order.
    pub(super) fn rows(&self) -> Vec<(usize, &DeviceSample)> {
        let Some(sample) = &self.sample else { return Vec::new() };
        let mut rows: Vec<(usize, &DeviceSample)> = in_tree(sample)
            .into_iter()
            .filter(|(_, device)| self.idle || self.seen.contains(&device.device))
            .collect();
        if self.order != Order::Tree {
            let key =
                |device: &DeviceSample| device.rates.as_ref().map_or(-1.0, |rates| self.order.key(rates));
            rows.sort_by(|a, b| key(b.1).total_cmp(&key(a.1)));
            rows.iter_mut().for_each(|(depth, _)| *depth = 0);
        }
        rows
    }
}

/// Devices with their depth below the topmost; the sampler lists members right below what is built on
/// them.
pub(super) fn in_tree(sample: &Sample) -> Vec<(usize, &DeviceSample)> {
    let mut depths: Vec<(&str, usize)> = Vec::with_capacity(sample.devices.len());
    let mut rows = Vec::with_capacity(sample.devices.len());
    for device in &sample.devices {
        let above = device.parents.iter().filter_map(|parent| {
            depths.iter().find(|(name, _)| *name == parent.as_str()).map(|(_, depth)| depth + 1)
        });
        let depth = if device.layer == Layer::Partition { 1 } else { above.min().unwrap_or(0) };
        depths.push((device.device.as_str(), depth));
        rows.push((depth, device));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, parent: Option<&str>, write: f64) -> DeviceSample {
        let rates = Rates {
            write_iops: write / 65_536.0,
            write_bytes_per_s: write,
            write_await_ns: (write > 0.0).then_some(1_234_000),
            queue: write / 1e8,
            in_flight: u64::from(write > 0.0),
            utilisation: (write / 2e8).min(1.0),
            ..Rates::default()
        };
        DeviceSample {
            device: name.into(),
            layer: if parent.is_some() { Layer::Disk } else { Layer::Upper },
            parents: parent.map(str::to_owned).into_iter().collect(),
            in_total: parent.is_some(),
            rates: Some(rates),
        }
    }

    #[test]
    fn sorted_and_back_to_the_tree() {
        let mut view = View::new(false, true, Duration::from_secs(1));
        let devices = vec![
            device("md0", None, 30e6),
            device("sda", Some("md0"), 10e6),
            device("sdb", Some("md0"), 20e6),
        ];
        view.take(&Sample { devices, ..Sample::default() });
        let rows = |view: &View| -> Vec<(usize, String)> {
            view.rows().iter().map(|(depth, device)| (*depth, device.device.clone())).collect()
        };
        assert_eq!(rows(&view), [(0, "md0".into()), (1, "sda".into()), (1, "sdb".into())]);
        view.act(Act::Sort(2));
        assert_eq!(rows(&view), [(0, "md0".into()), (0, "sdb".into()), (0, "sda".into())]);
        view.act(Act::Sort(-2));
        assert_eq!(view.order, Order::Tree);
    }

    #[test]
    fn idle_devices_are_hidden_until_asked_for() {
        let mut view = View::new(false, false, Duration::from_secs(1));
        view.take(&Sample {
            devices: vec![device("sda", None, 0.0), device("sdb", None, 1e6)],
            ..Sample::default()
        });
        assert_eq!(view.rows().len(), 1);
        view.act(Act::Everything);
        assert_eq!(view.rows().len(), 2);
    }

    #[test]
    fn a_paused_screen_stands_still() {
        let mut view = View::new(true, false, Duration::from_secs(1));
        view.take(&Sample { time_ns: 1, ..Sample::default() });
        view.act(Act::Pause);
        view.take(&Sample { time_ns: 2, ..Sample::default() });
        assert_eq!(view.sample.as_ref().unwrap().time_ns, 1);
        assert_eq!(view.history.len(), 2);
    }
}
