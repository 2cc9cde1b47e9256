//! Finding settings by measuring: from a table by processors to the best that can be seen.
//!
//! The search climbs: it tries the neighbours of the best so far (buffer size, depth, writers, who
//! fills), keeps what is faster, and ends when none is. The best few are then measured again in turns,
//! because a rate that was the highest of twenty is also the luckiest, and of those that are as good the
//! one that costs least is taken.

use iobound_engine::stream::{Mode, Settings};
use iobound_record::units;

/// Most settings that are tried.
const TRIALS_MOST: usize = 40;
/// A neighbour must be this much faster to be better: less is what short tries vary by.
const BETTER: f64 = 1.01;
/// How many are measured again, and how often.
const FINALISTS: usize = 3;
const ROUNDS: usize = 3;
/// What is behind the best by more in its first try is not measured again.
const FINAL_WITHIN: f64 = 0.90;
/// As good as the best: what repeats vary by.
const AS_GOOD: f64 = 0.98;
/// More in flight than the target takes in this time only waits.
const IN_FLIGHT_SECONDS: f64 = 0.25;
/// A larger pool writes nothing faster and takes seconds to map, each try: where the table's is larger (from
/// 17 processors on), it is cut to this.
const MEMORY_MOST: u64 = 2 << 30;

const BUFFERS: [u64; 7] = [256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20];
/// Parts of an upload.
const PARTS: [u64; 5] = [5 << 20, 8 << 20, 16 << 20, 32 << 20, 64 << 20];
const DEPTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];
const WRITERS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

/// What the user fixed; the rest is searched.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fixed {
    /// Bytes of a buffer.
    pub buffer_bytes: Option<u64>,
    /// Buffers.
    pub buffers: Option<u32>,
    /// Writers.
    pub writers: Option<u32>,
    /// In flight a writer.
    pub depth: Option<u32>,
    /// Who fills.
    pub mode: Option<Mode>,
    /// Most threads that fill.
    pub max_threads: Option<u32>,
    /// Buffers must be multiples of this.
    pub granule: u64,
    /// The target is an object store.
    pub remote: Option<Remote>,
}

/// What is other on an object store: a buffer is a part of an upload, each writer has one on its way, and
/// how many go at once has nothing to do with the processors here.
#[derive(Clone, Copy, Debug)]
pub struct Remote {
    /// The smallest part.
    pub least_bytes: u64,
    /// The largest that makes sense.
    pub most_bytes: u64,
}

/// What one try showed.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Bytes per second.
    pub rate: f64,
    /// Processor time for each byte.
    pub cpu_ns_per_byte: f64,
}

/// A setting and what its tries showed.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The setting.
    pub settings: Settings,
    /// Each try.
    pub seen: Vec<Seen>,
}

impl Tried {
    /// The middle of its rates.
    pub fn rate(&self) -> f64 {
        median(self.seen.iter().map(|seen| seen.rate))
    }

    /// The middle of its costs.
    pub fn cpu_ns_per_byte(&self) -> f64 {
        median(self.seen.iter().map(|seen| seen.cpu_ns_per_byte))
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

/// What a search came to.
#[derive(Clone, Debug)]
pub struct Found {
    /// The best.
    pub settings: Settings,
    /// Everything tried, in order.
    pub tried: Vec<Tried>,
}

/// The table of seed 004 by processors: writers, buffers, bytes of a buffer.
pub fn table(cpus: u32) -> (u32, u32, u64) {
    match cpus {
        0..=8 => (4, 128, 4 << 20),
        9..=16 => (8, 256, 8 << 20),
        17..=32 => (12, 512, 8 << 20),
        33..=64 => (16, 512, 8 << 20),
        _ => (32, 1024, 8 << 20),
    }
}

/// Searches; `measure` tries one setting, for longer the second time. None from it ends the search.
pub fn search<E>(
    cpus: u32,
    fixed: &Fixed,
    mut measure: impl FnMut(&Settings, bool) -> Result<Option<Seen>, E>,
) -> Result<Found, E> {
    let mut search = Search { fixed, cpus, tried: Vec::new() };
    for settings in search.starts() {
        if !search.try_one(&settings, &mut measure)? {
            return Ok(search.found());
        }
    }
    while let Some(best) = search.best().map(|tried| tried.settings) {
        let before = search.rate_of_best();
        let mut improved = false;
        for neighbour in search.neighbours(&best) {
            if !search.try_one(&neighbour, &mut measure)? {
                return Ok(search.found());
            }
            if search.rate_of_best() > before * BETTER {
                improved = true;
                break;
            }
        }
        if !improved {
            break;
        }
    }
    search.settle(&mut measure)?;
    Ok(search.found())
}

struct Search<'a> {
    fixed: &'a Fixed,
    cpus: u32,
    tried: Vec<Tried>,
}

impl Search<'_> {
    fn best(&self) -> Option<&Tried> {
        self.tried.iter().max_by(|a, b| a.rate().total_cmp(&b.rate()))
    }

    fn rate_of_best(&self) -> f64 {
        self.best().map_or(0.0, Tried::rate)
    }

    /// Where the search begins: the table, and what is best on most targets and on none.
    fn starts(&self) -> Vec<Settings> {
        let (writers, buffers, buffer_bytes) = table(self.cpus);
        let of_table = Settings { mode: Mode::Split, buffer_bytes, buffers, writers, producers: 1, depth: 1 };
        let fused = |writers, buffer_bytes, depth| Settings {
            mode: Mode::Fused,
            buffer_bytes,
            buffers,
            writers,
            producers: 0,
            depth,
        };
        let mut starts = vec![
            self.sound(of_table),
            self.sound(fused(1, 4 << 20, 8)),
            self.sound(fused(self.cpus.clamp(1, 64), 1 << 20, 4)),
            self.sound(fused(self.cpus.clamp(1, 64), BUFFERS[0], 1)),
        ];
        let mut seen = Vec::new();
        starts.retain(|settings| {
            let new = !seen.contains(settings);
            seen.push(*settings);
            new
        });
        starts
    }

    /// The setting with what is fixed, and whatever follows from it.
    fn sound(&self, mut settings: Settings) -> Settings {
        let fixed = self.fixed;
        settings.mode = fixed.mode.unwrap_or(settings.mode);
        settings.writers = fixed.writers.unwrap_or(settings.writers).clamp(1, 64);
        settings.depth = fixed.depth.unwrap_or(settings.depth).max(1);
        let granule = fixed.granule.max(1);
        if let Some(remote) = fixed.remote {
            settings.buffer_bytes = settings.buffer_bytes.min(remote.most_bytes).max(remote.least_bytes);
        }
        settings.buffer_bytes = fixed.buffer_bytes.unwrap_or(settings.buffer_bytes).next_multiple_of(granule);
        let most = fixed.max_threads.unwrap_or(u32::MAX);
        if settings.mode == Mode::Fused && most < settings.writers {
            match fixed.mode {
                Some(_) => settings.writers = most.max(1),
                None => settings.mode = Mode::Split,
            }
        }
        let in_flight = settings.writers * settings.depth;
        settings.producers = match settings.mode {
            Mode::Fused => 0,
            Mode::Split => settings.producers.max(1).min(most),
        };
        let enough = match settings.mode {
            // One is filled while the others are in flight.
            Mode::Fused => settings.writers * (settings.depth + 1),
            Mode::Split => {
                let most = u32::try_from(MEMORY_MOST / settings.buffer_bytes.max(1)).unwrap_or(u32::MAX);
                settings.buffers.min(most).max(in_flight + 2 * settings.producers)
            }
        };
        settings.buffers = fixed.buffers.unwrap_or(enough);
        settings
    }

    fn ladder(&self) -> &'static [u64] {
        if self.fixed.remote.is_some() { &PARTS } else { &BUFFERS }
    }

    fn neighbours(&self, best: &Settings) -> Vec<Settings> {
        let other = match best.mode {
            Mode::Fused => Settings { mode: Mode::Split, producers: 1, buffers: table(self.cpus).1, ..*best },
            Mode::Split => Settings { mode: Mode::Fused, ..*best },
        };
        let mut all = Vec::new();
        for up in [true, false] {
            all.extend(step(&DEPTHS, best.depth, up).map(|depth| Settings { depth, ..*best }));
            all.extend(step(&WRITERS, best.writers, up).map(|writers| Settings { writers, ..*best }));
            all.extend(
                step(self.ladder(), best.buffer_bytes, up)
                    .map(|buffer_bytes| Settings { buffer_bytes, ..*best }),
            );
        }
        // Larger buffers with fewer of them in flight: what a target wants that takes few at once.
        if let Some(buffer_bytes) = step(self.ladder(), best.buffer_bytes, true) {
            let larger = Settings { buffer_bytes, ..*best };
            all.extend(step(&WRITERS, best.writers, false).map(|writers| Settings { writers, ..larger }));
            all.extend(step(&DEPTHS, best.depth, false).map(|depth| Settings { depth, ..larger }));
        }
        all.push(other);
        if best.mode == Mode::Split {
            all.extend(step(&WRITERS, best.producers, true).map(|producers| Settings { producers, ..*best }));
        }
        // Two bounds that bind at once give way only together.
        if let Some(buffer_bytes) = step(self.ladder(), best.buffer_bytes, true) {
            let larger = Settings { buffer_bytes, ..*best };
            all.extend(step(&WRITERS, best.writers, true).map(|writers| Settings { writers, ..larger }));
            let producers = step(&WRITERS, best.producers, true).filter(|_| best.mode == Mode::Split);
            all.extend(producers.map(|producers| Settings { producers, ..larger }));
        }
        let seconds = IN_FLIGHT_SECONDS * self.rate_of_best();
        let little = if self.fixed.remote.is_some() { 256 << 20 } else { 16 << 20 } as f64;
        let sensible = |settings: &Settings| {
            let in_flight = u64::from(settings.writers) * u64::from(settings.depth) * settings.buffer_bytes;
            let known = (self.best().map(|tried| tried.settings.writers).unwrap_or(1)).max(1);
            settings.memory_bytes() <= MEMORY_MOST
                && (in_flight as f64 <= seconds.max(little))
                && (self.fixed.remote.is_some() || settings.writers <= (4 * self.cpus).max(known))
        };
        all.into_iter().map(|settings| self.sound(settings)).filter(sensible).collect()
    }

    /// Tries a setting unless it is known; false when the search must end.
    fn try_one<E>(
        &mut self,
        settings: &Settings,
        measure: &mut impl FnMut(&Settings, bool) -> Result<Option<Seen>, E>,
    ) -> Result<bool, E> {
        if self.tried.iter().any(|tried| tried.settings == *settings) || self.tried.len() >= TRIALS_MOST {
            return Ok(true);
        }
        let Some(seen) = measure(settings, false)? else { return Ok(false) };
        self.tried.push(Tried { settings: *settings, seen: vec![seen] });
        Ok(true)
    }

    /// Measures the best few again, in turns.
    fn settle<E>(
        &mut self,
        measure: &mut impl FnMut(&Settings, bool) -> Result<Option<Seen>, E>,
    ) -> Result<(), E> {
        let least = self.rate_of_best() * FINAL_WITHIN;
        let mut order: Vec<usize> = (0..self.tried.len()).collect();
        order.sort_by(|&a, &b| self.tried[b].rate().total_cmp(&self.tried[a].rate()));
        order.retain(|&index| self.tried[index].rate() >= least);
        order.truncate(FINALISTS);
        // The first try made it a finalist: it was chosen for its luck, and does not count again.
        let mut again: Vec<Vec<Seen>> = vec![Vec::new(); order.len()];
        for _ in 0..ROUNDS {
            for (index, seen) in order.iter().zip(&mut again) {
                let Some(one) = measure(&self.tried[*index].settings, true)? else { return Ok(()) };
                seen.push(one);
            }
        }
        for (index, seen) in order.into_iter().zip(again) {
            self.tried[index].seen = seen;
        }
        Ok(())
    }

    fn found(self) -> Found {
        let finalists = self.tried.iter().any(|tried| tried.seen.len() > 1);
        let settled = |tried: &&Tried| !finalists || tried.seen.len() > 1;
        let best = self.tried.iter().filter(settled).map(Tried::rate).fold(0.0, f64::max);
        let chosen = self
            .tried
            .iter()
            .filter(settled)
            .filter(|tried| tried.rate() >= best * AS_GOOD)
            .min_by(|a, b| a.cpu_ns_per_byte().total_cmp(&b.cpu_ns_per_byte()));
        let settings = chosen.map_or_else(|| self.starts()[0], |tried| tried.settings);
        Found { settings, tried: self.tried }
    }
}

/// The next value of a ladder above or below one that may lie between its rungs.
fn step<T: PartialOrd + Copy>(ladder: &[T], value: T, up: bool) -> Option<T> {
    if up {
        ladder.iter().copied().find(|&rung| rung > value)
    } else {
        ladder.iter().copied().rev().find(|&rung| rung < value)
    }
}

/// A setting in a few words.
pub fn in_words(settings: &Settings) -> String {
    let who = match settings.mode {
        Mode::Fused => "fused".into(),
        Mode::Split => format!("{} producer{}", settings.producers, plural(settings.producers)),
    };
    format!(
        "{} writer{} x depth {} x {}, {who}",
        settings.writers,
        plural(settings.writers),
        settings.depth,
        units::bytes(settings.buffer_bytes)
    )
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

#[cfg(test)]
#[path = "tune_tests.rs"]
mod tests;
