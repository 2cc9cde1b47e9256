//! `--until-steady`: ends a job when its figure is known.

use std::sync::{Mutex, MutexGuard, PoisonError};

use iobound_engine::Observer;
use iobound_model::statistics::{Figure, Known, known_for};
use iobound_record::{EndedSteady, Interval, Job, Measurement, Metric, units};

use crate::exit::Failure;

/// Longest interval of a series that is watched: 25 of them are the rule's least time of 5 s, and each holds
/// whole slices of the kernel's throttle (100 ms, or 20 ms on SSDs: `block/blk-throttle.c`), which other
/// lengths would cut unevenly and so seem noisy.
pub const INTERVAL_NS: u64 = 200_000_000;

/// Watches the series of a job for another observer, which it passes everything on to.
pub struct Settling<'a> {
    inner: &'a dyn Observer,
    figures: Vec<Figure>,
    tolerance: f64,
    known: Mutex<Option<Known>>,
}

impl<'a> Settling<'a> {
    /// For a job whose figure is `metric`'s.
    pub fn new(inner: &'a dyn Observer, metric: Metric, job: &Job, tolerance: f64) -> Self {
        let mut figures = vec![Figure::of(metric)];
        if job.is_paced() {
            // The rate is what was asked for; what it costs is the question.
            figures.push(Figure::MeanLatency);
        }
        Settling { inner, figures, tolerance, known: Mutex::new(None) }
    }

    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says in the measurement why it ended, where this ended it.
    pub fn mark(&self, measured: Result<Measurement, Failure>) -> Result<Measurement, Failure> {
        let mut measurement = measured?;
        if let Some(known) = *self.known()
            && !measurement.interrupted
        {
            measurement.ended_steady = Some(EndedSteady {
                after_ns: known.after_ns,
                within: known.within,
                asked: self.tolerance,
                warm_up_ns: known.warm_up_ns,
            });
        }
        Ok(measurement)
    }
}

impl Observer for Settling<'_> {
    fn begin(&self) {
        self.inner.begin();
    }

    fn end(&self) {
        self.inner.end();
    }

    fn may_end_early(&self) -> bool {
        true
    }

    fn is_enough(&self, series: &[Interval]) -> bool {
        let each = self.figures.iter().map(|&figure| known_for(series, figure, self.tolerance));
        let all: Option<Vec<Known>> = each.collect();
        let least = all.into_iter().flatten().max_by(|a, b| a.within.total_cmp(&b.within));
        *self.known() = least;
        least.is_some()
    }
}

/// `known to 1.3% after 6.25 s`, or that it was not.
pub fn words(ended: &EndedSteady) -> String {
    let warm_up = match ended.warm_up_ns {
        0 => String::new(),
        ns => format!(", of which {} warm-up", units::duration(ns)),
    };
    format!("known to {:.1}% after {}{warm_up}", 100.0 * ended.within, units::duration(ended.after_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::DirectionStats;

    fn series(count: u64, rate: impl Fn(u64) -> f64) -> Vec<Interval> {
        let read = |number| DirectionStats { ios: 100, iops: rate(number), ..DirectionStats::default() };
        (0..count)
            .map(|number| Interval {
                start_ns: number * INTERVAL_NS,
                length_ns: INTERVAL_NS,
                read: Some(read(number)),
                ..Interval::default()
            })
            .collect()
    }

    #[test]
    fn it_ends_when_known_and_says_so() {
        let settling = Settling::new(&(), Metric::Iops, &Job::default(), 0.02);
        assert!(!settling.is_enough(&series(20, |_| 3000.0)));
        assert_eq!(settling.mark(Ok(Measurement::default())).unwrap().ended_steady, None);
        assert!(settling.is_enough(&series(29, |_| 3000.0)));
        let ended = settling.mark(Ok(Measurement::default())).unwrap().ended_steady.unwrap();
        assert_eq!(words(&ended), "known to 0.0% after 5.80 s");
    }

    #[test]
    fn a_falling_rate_is_not_enough() {
        let settling = Settling::new(&(), Metric::Iops, &Job::default(), 0.02);
        assert!(!settling.is_enough(&series(40, |number| 3000.0 - 20.0 * number as f64)));
    }

    #[test]
    fn an_interrupted_job_did_not_end_by_itself() {
        let settling = Settling::new(&(), Metric::Iops, &Job::default(), 0.02);
        assert!(settling.is_enough(&series(29, |_| 3000.0)));
        let cut = Measurement { interrupted: true, ..Measurement::default() };
        assert_eq!(settling.mark(Ok(cut)).unwrap().ended_steady, None);
    }
}
