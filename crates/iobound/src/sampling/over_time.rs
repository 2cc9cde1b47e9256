//! A scenario's samples over time, in a bounded number of stretches.

use iobound_record::{Moment, Sample};

/// Stretches of a scenario: as many as a chart on a phone has room for. A longer scenario has longer ones.
const STRETCHES_MAX: usize = 240;
/// What is left at a scenario's end, or before its first whole interval, says little alone: an operation more
/// or less moves its rate. It joins its neighbour.
const ALONE_MIN_NS: u64 = 250_000_000;

/// One stretch.
#[derive(Clone, Debug, Default)]
struct Stretch {
    length_ns: u64,
    dirty_bytes: u64,
    writeback_bytes: u64,
    /// Bytes that each device moved, in the order in which devices were first seen.
    device_bytes: Vec<f64>,
}

impl Stretch {
    fn join(&mut self, next: &Stretch) {
        self.length_ns += next.length_ns;
        self.dirty_bytes = self.dirty_bytes.max(next.dirty_bytes);
        self.writeback_bytes = self.writeback_bytes.max(next.writeback_bytes);
        let devices = self.device_bytes.len().max(next.device_bytes.len());
        self.device_bytes.resize(devices, 0.0);
        self.device_bytes.iter_mut().zip(&next.device_bytes).for_each(|(sum, bytes)| *sum += bytes);
    }
}

/// The stretches so far.
#[derive(Clone, Debug)]
pub(super) struct OverTime {
    stretches: Vec<Stretch>,
    /// Intervals of a whole stretch.
    intervals_each: u32,
    /// Intervals in the last one.
    in_last: u32,
}

impl Default for OverTime {
    fn default() -> Self {
        OverTime { stretches: Vec::new(), intervals_each: 1, in_last: 0 }
    }
}

impl OverTime {
    /// Adds an interval; `place` gives the number of each of its devices.
    pub(super) fn add(&mut self, sample: &Sample, places: &[usize]) {
        let seconds = sample.interval_ns as f64 / 1e9;
        let mut device_bytes = vec![0.0; places.iter().max().map_or(0, |most| most + 1)];
        for (device, &place) in sample.devices.iter().zip(places) {
            if let Some(rates) = &device.rates {
                device_bytes[place] = (rates.read_bytes_per_s + rates.write_bytes_per_s) * seconds;
            }
        }
        let next = Stretch {
            length_ns: sample.interval_ns,
            dirty_bytes: sample.host.dirty_bytes.unwrap_or(0),
            writeback_bytes: sample.host.writeback_bytes.unwrap_or(0),
            device_bytes,
        };
        match self.stretches.last_mut().filter(|_| self.in_last < self.intervals_each) {
            Some(last) => {
                last.join(&next);
                self.in_last += 1;
            }
            None => {
                self.stretches.push(next);
                self.in_last = 1;
            }
        }
        if self.stretches.len() > STRETCHES_MAX {
            self.halve();
        }
    }

    /// Two become one; of an odd number the last stays as it is, and is filled up.
    fn halve(&mut self) {
        let odd = self.stretches.len() % 2 == 1;
        self.stretches = self
            .stretches
            .chunks(2)
            .map(|pair| {
                let mut one = pair[0].clone();
                pair[1..].iter().for_each(|next| one.join(next));
                one
            })
            .collect();
        if !odd {
            self.in_last += self.intervals_each;
        }
        self.intervals_each *= 2;
    }

    /// Of the devices at `kept`, in that order.
    pub(super) fn moments(&self, kept: &[usize]) -> Vec<Moment> {
        let mut stretches: Vec<Stretch> = Vec::new();
        for next in &self.stretches {
            match stretches.last_mut() {
                Some(last) if next.length_ns < ALONE_MIN_NS || last.length_ns < ALONE_MIN_NS => {
                    last.join(next)
                }
                _ => stretches.push(next.clone()),
            }
        }
        let mut end_ns = 0;
        let moment = |stretch: &Stretch| {
            end_ns += stretch.length_ns;
            let seconds = stretch.length_ns.max(1) as f64 / 1e9;
            let rate =
                |&place: &usize| stretch.device_bytes.get(place).map_or(0.0, |bytes| bytes / seconds) as u64;
            Moment {
                end_ns,
                dirty_bytes: stretch.dirty_bytes,
                writeback_bytes: stretch.writeback_bytes,
                device_bytes_per_s: kept.iter().map(rate).collect(),
            }
        };
        stretches.iter().map(moment).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::{DeviceSample, HostSample, Rates};

    fn second(rate: f64, dirty: u64) -> Sample {
        let rates = Rates { read_bytes_per_s: rate, ..Rates::default() };
        Sample {
            interval_ns: 1_000_000_000,
            devices: vec![DeviceSample { rates: Some(rates), ..DeviceSample::default() }],
            host: HostSample { dirty_bytes: Some(dirty), ..HostSample::default() },
            ..Sample::default()
        }
    }

    #[test]
    fn an_hour_is_a_few_stretches_that_hold_every_byte() {
        let mut over_time = OverTime::default();
        for i in 0..3600 {
            over_time.add(&second(f64::from(i), u64::from(i == 1234)), &[1]);
        }
        let moments = over_time.moments(&[1]);
        assert!((STRETCHES_MAX / 2..=STRETCHES_MAX).contains(&moments.len()), "{}", moments.len());
        assert_eq!(moments.last().unwrap().end_ns, 3_600_000_000_000);
        assert_eq!(moments.iter().map(|moment| moment.dirty_bytes).max(), Some(1));
        let mut began = 0;
        let bytes: f64 = moments
            .iter()
            .map(|moment| {
                let seconds = (moment.end_ns - std::mem::replace(&mut began, moment.end_ns)) as f64 / 1e9;
                moment.device_bytes_per_s[0] as f64 * seconds
            })
            .sum();
        assert!((bytes / (3599.0 * 3600.0 / 2.0) - 1.0).abs() < 1e-3, "{bytes}");
        // All but the last are equally long.
        let lengths: Vec<u64> = moments.windows(2).map(|pair| pair[1].end_ns - pair[0].end_ns).collect();
        assert!(lengths[..lengths.len() - 1].iter().all(|length| *length == lengths[0]), "{lengths:?}");
    }

    #[test]
    fn ends_join_their_neighbours() {
        let mut over_time = OverTime::default();
        for ms in [20, 1000, 1000, 3] {
            over_time.add(&Sample { interval_ns: ms * 1_000_000, ..second(1e6, 0) }, &[0]);
        }
        let ends: Vec<u64> = over_time.moments(&[0]).iter().map(|moment| moment.end_ns / 1_000_000).collect();
        assert_eq!(ends, [1020, 2023]);
    }

    #[test]
    fn a_device_that_comes_later_has_nothing_before() {
        let mut over_time = OverTime::default();
        over_time.add(&second(5.0, 0), &[0]);
        over_time.add(&second(7.0, 0), &[1]);
        let rates: Vec<Vec<u64>> =
            over_time.moments(&[0, 1]).into_iter().map(|m| m.device_bytes_per_s).collect();
        assert_eq!(rates, [[5, 0], [0, 7]]);
    }
}
