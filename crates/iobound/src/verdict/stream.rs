//! What held a stream back, and what to change.

use iobound_record::{Measurement, Scenario, Stream, StreamSide, units};

/// A side that waits for the other for this share of its time is held up by it (seed 004 calls a
/// producer that is busy for less than four fifths "waiting").
const WAITS: f64 = 0.20;
/// Processors in use from which on there is nothing left to speed anything up with.
const ALL_PROCESSORS: f64 = 0.90;
/// So much of what may be in flight is, on average, when the target is always kept busy.
const KEPT_FULL: f64 = 0.75;

/// Says of a stream what bound it.
pub(super) fn analyse(stream: &mut Stream, measurement: &Measurement, cpus: u32) {
    let kinds: Vec<&str> = stream.outputs.iter().map(|output| output.kind.as_str()).collect();
    let (producers, writers) = (stream.producers, stream.writers);
    let fused = stream.settings.producers == 0;
    let waits = if fused { writers.share(writers.target_ns) } else { producers.share(producers.pool_ns) };
    let starved = if fused { 0.0 } else { writers.share(writers.pool_ns) };
    let processors = processors_in_use(measurement);
    let target = if kinds.contains(&"pipe") { "reader" } else { "storage" };
    stream.bottleneck = match () {
        () if measurement.write.ios == 0 => "none",
        () if kinds.iter().all(|kind| *kind == "null") => "generator",
        () if waits >= WAITS => target,
        () if processors >= ALL_PROCESSORS * f64::from(cpus.max(1)) => "processor",
        () if starved >= WAITS || fused => "generator",
        () => "balanced",
    }
    .into();
    stream.analysis = analysis(stream, fused, waits, starved, processors, cpus);
    stream.advice = advice(stream, measurement, fused);
}

fn processors_in_use(measurement: &Measurement) -> f64 {
    let used = measurement.cpu.user_ns + measurement.cpu.system_ns;
    used as f64 / measurement.runtime_ns.max(1) as f64
}

fn analysis(
    stream: &Stream,
    fused: bool,
    waits: f64,
    starved: f64,
    processors: f64,
    cpus: u32,
) -> Vec<String> {
    let percent = |share: f64| format!("{:.0}%", 100.0 * share);
    let who = if fused { "The threads wait" } else { "The producers wait" };
    match stream.bottleneck.as_str() {
        "storage" => vec![format!(
            "The storage is the bottleneck. {who} for it {} of their time; making data takes {}.",
            percent(waits),
            percent(filling(stream))
        )],
        "reader" => vec![format!(
            "The reader of the pipe is the bottleneck: {} of the time is spent waiting for it.",
            percent(waits)
        )],
        "processor" => vec![format!(
            "The processors are the bottleneck: {processors:.1} of {cpus} are in use, and the target is \
             hardly waited for."
        )],
        "generator" if stream.outputs.iter().all(|output| output.kind == "null") => {
            vec!["Nothing is written: this is what the tool itself can do here.".into()]
        }
        "generator" if fused => vec![format!(
            "Making and handing over data is the bottleneck: the target is waited for only {} of the time.",
            percent(waits)
        )],
        "generator" => vec![format!(
            "Making data is the bottleneck: the writers wait for it {} of their time.",
            percent(starved)
        )],
        "balanced" => vec![format!(
            "Balanced: the producers wait {} of their time and the writers {}.",
            percent(waits),
            percent(starved)
        )],
        _ => vec!["Nothing was written.".into()],
    }
}

fn filling(stream: &Stream) -> f64 {
    let StreamSide { filling_ns, .. } = stream.producers;
    stream.producers.share(filling_ns)
}

/// Writes in flight on average, by Little's law, over those that may be.
fn in_flight(stream: &Stream, measurement: &Measurement) -> (f64, f64) {
    let sum = measurement.write.latency_ns.mean * measurement.write.ios as f64;
    let average = sum / stream.writing_ns.max(1) as f64;
    let most = f64::from(stream.settings.writers * stream.settings.depth) * stream.outputs.len() as f64;
    (average, most)
}

fn advice(stream: &Stream, measurement: &Measurement, fused: bool) -> Vec<String> {
    let mut advice = Vec::new();
    let settings = &stream.settings;
    let searched = stream.tuning.is_some();
    match stream.bottleneck.as_str() {
        "storage" => {
            let (average, most) = in_flight(stream, measurement);
            if searched {
                advice.push("No other setting that was tried is faster; faster storage would help.".into());
            } else if average >= KEPT_FULL * most {
                advice.push(format!(
                    "All {most:.0} writes that may be in flight are: try --depth {}, or --num-writers {}; \
                     if that changes nothing, this is what the storage can do. --auto tries it.",
                    2 * settings.depth,
                    2 * settings.writers
                ));
            } else {
                advice
                    .push("This is what the storage can do with these settings; --auto tries others.".into());
            }
        }
        "reader" => advice.push("A faster reader would help; nothing here is in its way.".into()),
        "processor" => advice.push(format!(
            "Larger buffers cost less: try --buffer-size {}; or a machine with more processors.",
            units::bytes_fio(2 * settings.buffer_bytes)
        )),
        "generator" if stream.outputs.iter().all(|output| output.kind == "null") => {}
        "generator" if fused => {
            advice.push(format!("More threads that fill: try --num-writers {}.", 2 * settings.writers));
        }
        "generator" => advice.push(format!(
            "More threads that fill: try --max-threads {}, or --mode fused.",
            2 * settings.producers
        )),
        _ => {}
    }
    if stream.outputs.iter().any(|output| output.kind == "file" && !output.direct) {
        advice.push(
            "Leave --no-direct out to measure the storage rather than the page cache in front of it.".into(),
        );
    }
    advice
}

/// The verdict in a sentence.
pub(super) fn says(scenario: &Scenario, stream: &Stream) -> String {
    let mut says = stream.analysis.first().cloned().unwrap_or_default();
    if let Some(stop) = says.find(". ") {
        says.truncate(stop);
    }
    let says = says.trim_end_matches('.').to_owned();
    let broken: Vec<&str> = stream.outputs.iter().filter_map(|output| output.error.as_deref()).collect();
    match (broken.is_empty(), scenario.measurement.as_ref()) {
        (false, _) => format!("not whole: {}", broken.join("; ")),
        (true, Some(measured)) if measured.interrupted => {
            let left: Vec<&str> = stream.outputs.iter().map(|output| output.left.as_str()).collect();
            format!("interrupted: {}", left.join("; "))
        }
        _ => says,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::{CpuTime, DirectionStats, StreamOutput, StreamSettings};

    fn stream(producers: u32, shares: (u64, u64), target: u64, kind: &str) -> (Stream, Measurement) {
        let side = |pool_ns: u64, target_ns: u64| StreamSide {
            threads: 1,
            all_ns: 100,
            filling_ns: 100 - pool_ns.max(target_ns),
            pool_ns,
            target_ns,
        };
        let settings = StreamSettings { producers, writers: 1, depth: 8, ..StreamSettings::default() };
        let writers = side(shares.1, target);
        let stream = Stream {
            producers: if producers == 0 { writers } else { side(shares.0, 0) },
            writers,
            settings,
            writing_ns: 100,
            outputs: vec![StreamOutput { kind: kind.into(), direct: true, ..StreamOutput::default() }],
            ..Stream::default()
        };
        let write = DirectionStats { ios: 10, ..DirectionStats::default() };
        (stream, Measurement { write, runtime_ns: 100, ..Measurement::default() })
    }

    fn bound(producers: u32, shares: (u64, u64), target: u64, kind: &str, cpu_ns: u64) -> Stream {
        let (mut stream, mut measurement) = stream(producers, shares, target, kind);
        measurement.cpu = CpuTime { user_ns: cpu_ns, ..CpuTime::default() };
        analyse(&mut stream, &measurement, 2);
        stream
    }

    #[test]
    fn whoever_is_waited_for_is_the_bottleneck() {
        for (found, expected) in [
            (bound(1, (80, 2), 90, "file", 50), "storage"),
            (bound(1, (1, 60), 10, "file", 50), "generator"),
            (bound(1, (5, 5), 50, "file", 50), "balanced"),
            (bound(1, (5, 5), 2, "file", 195), "processor"),
            (bound(0, (0, 0), 70, "file", 50), "storage"),
            (bound(0, (0, 0), 3, "file", 99), "generator"),
            (bound(0, (0, 0), 3, "device", 198), "processor"),
            (bound(1, (70, 0), 0, "pipe", 50), "reader"),
            (bound(0, (0, 0), 0, "null", 200), "generator"),
        ] {
            assert_eq!(found.bottleneck, expected, "{found:?}");
            assert!(!found.analysis.is_empty());
        }
    }

    #[test]
    fn advice_names_what_to_change() {
        let kept_full = {
            let (mut stream, mut measurement) = stream(1, (80, 0), 90, "file");
            measurement.write.latency_ns.mean = 80.0;
            analyse(&mut stream, &measurement, 2);
            stream
        };
        assert!(kept_full.advice[0].contains("--depth 16"), "{:?}", kept_full.advice);
        assert!(bound(1, (1, 60), 0, "file", 1).advice[0].contains("--max-threads 2"));
        assert!(bound(0, (0, 0), 3, "file", 1).advice[0].contains("--num-writers 2"));
        let (mut buffered, measurement) = stream(1, (80, 0), 90, "file");
        buffered.outputs[0].direct = false;
        analyse(&mut buffered, &measurement, 2);
        assert!(buffered.advice.iter().any(|words| words.contains("--no-direct")));
    }
}
