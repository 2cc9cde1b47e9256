//! What a stream has to say beside any job: how it was set up, what was moved, where the time went and
//! what to change. Every format shows the same sections.

use iobound_record::{
    Measurement, Scenario, StoreRequests, Stream, StreamSettings, StreamSide, StreamTuning, units,
};

use crate::report::figure::time;

/// Most rows of a table; a stream may have 64 writers on each output.
const ROWS_MOST: usize = 64;

/// A part of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// What it is about.
    pub title: &'static str,
    /// Names and values.
    pub facts: Vec<(String, String)>,
    /// Rows of figures.
    pub table: Option<Table>,
    /// Sentences.
    pub says: Vec<String>,
}

/// Rows of figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Names of the columns; those of numbers begin with `>`.
    pub head: Vec<&'static str>,
    /// Cells.
    pub rows: Vec<Vec<String>>,
}

/// The sections of a scenario; none where it is neither a stream nor a workload of objects.
pub fn sections(scenario: &Scenario) -> Vec<Section> {
    if let (Some(objects), Some(measured)) = (&scenario.objects, &scenario.measurement) {
        return super::objects::sections(objects, measured);
    }
    let (Some(stream), Some(measured)) = (&scenario.stream, &scenario.measurement) else {
        return Vec::new();
    };
    let mut sections = vec![
        configuration(scenario, stream),
        transfer(stream),
        throughput(stream, measured),
        latency(measured),
        utilisation(stream, measured),
        bottleneck(stream),
        writers(stream),
    ];
    sections.extend(stream.tuning.as_ref().map(tuning));
    sections
}

/// A name and its value.
pub fn fact(name: &str, value: impl Into<String>) -> (String, String) {
    (name.into(), value.into())
}

/// Bytes as both families of units have them.
fn amount(bytes: u64) -> String {
    format!("{} ({:.2} GB)", units::bytes(bytes), bytes as f64 / 1e9)
}

fn configuration(scenario: &Scenario, stream: &Stream) -> Section {
    let settings = &stream.settings;
    let outputs = stream.outputs.len();
    let each = if outputs > 1 { " each output" } else { "" };
    let mut facts = vec![
        fact("total size", format!("{}{each}", amount(stream.size_bytes))),
        fact("buffer size", units::bytes(settings.buffer_bytes)),
        fact("buffers", buffers(stream)),
        fact("total pool", units::bytes(stream.memory_bytes)),
        fact("threads", threads(settings)),
    ];
    for output in &stream.outputs {
        let how = match (output.kind.as_str(), output.direct) {
            ("file" | "device", true) => ", direct I/O",
            ("file" | "device", false) => ", THROUGH THE PAGE CACHE (--no-direct)",
            _ if output.requests.is_some() => ", parts of an upload; direct I/O does not apply",
            _ => "",
        };
        facts.push(fact("output", format!("{} ({}{how})", output.target, output.kind)));
    }
    facts.push(fact(
        "data",
        format!(
            "dedup {} : 1, compress {} : 1, seed {}",
            scenario.job.dedup_ratio, scenario.job.compress_ratio, stream.seed
        ),
    ));
    facts.push(fact("NUMA", stream.numa.clone()));
    Section { title: "Configuration", facts, ..Section::default() }
}

fn buffers(stream: &Stream) -> String {
    let used = stream.settings.buffers;
    match stream.buffers_allowed > used {
        true => format!("{used} (of {} allowed: more would only wait)", stream.buffers_allowed),
        false => used.to_string(),
    }
}

fn threads(settings: &StreamSettings) -> String {
    let in_flight = format!("{} in flight each", settings.depth);
    match settings.producers {
        0 => format!("{} that fill and write, {in_flight}", settings.writers),
        producers => format!("{producers} that fill, {} that write, {in_flight}", settings.writers),
    }
}

fn transfer(stream: &Stream) -> Section {
    let mut facts = vec![
        fact("generated", amount(stream.generated_bytes)),
        fact("written", amount(stream.written_bytes)),
        fact("total time", units::duration(stream.writing_ns + stream.finishing_ns)),
    ];
    if stream.finishing_ns > 0 {
        facts.push(fact(finishing(stream), units::duration(stream.finishing_ns)));
    }
    for output in &stream.outputs {
        facts.push(fact(&output.target, output.left.clone()));
        facts.extend(output.requests.as_ref().map(|requests| fact("requests", asked(requests))));
    }
    if let Some(read) = &stream.read_back {
        facts.push(fact(
            "read back",
            format!("{} at {}", amount(read.bytes), units::bandwidth(read.bandwidth_bytes_per_s)),
        ));
    }
    Section { title: "Data transfer", facts, ..Section::default() }
}

/// What the end of a stream waits for.
fn finishing(stream: &Stream) -> &'static str {
    if stream.outputs.iter().any(|output| output.requests.is_some()) {
        "of that, completing it"
    } else {
        "of that, final sync"
    }
}

/// Requests to a store, and those that were tried again.
pub fn asked(requests: &StoreRequests) -> String {
    let failed: Vec<String> =
        requests.failed.iter().map(|(kind, count)| format!("{count} x {kind}")).collect();
    match failed.is_empty() {
        true => format!("{}, none tried again", requests.sent),
        false => format!("{}, of which failed and tried again: {}", requests.sent, failed.join(", ")),
    }
}

fn throughput(stream: &Stream, measured: &Measurement) -> Section {
    let over = |bytes: u64, ns: u64| if ns == 0 { 0.0 } else { bytes as f64 / (ns as f64 / 1e9) };
    let mut facts = vec![fact("write", units::bandwidth(measured.write.bandwidth_bytes_per_s))];
    if stream.finishing_ns > 0 {
        let without = over(measured.write.bytes, stream.writing_ns);
        let name = if finishing(stream).ends_with("sync") { "without the sync" } else { "parts alone" };
        facts.push(fact(name, units::bandwidth(without)));
    }
    facts.push(fact(
        "generation",
        units::bandwidth(over(stream.generated_bytes, stream.writing_ns + stream.finishing_ns)),
    ));
    let side = &stream.producers;
    if side.filling_ns > 0 {
        let each = over(stream.generated_bytes, side.filling_ns);
        facts.push(fact("while filling", format!("{} a thread", units::bandwidth(each))));
    }
    let used = (measured.cpu.user_ns + measured.cpu.system_ns) as f64;
    if measured.write.bytes > 0 {
        let each = used / measured.write.bytes as f64;
        facts.push(fact("processor", format!("{each:.3} s for each GB")));
    }
    Section { title: "Throughput", facts, ..Section::default() }
}

fn latency(measured: &Measurement) -> Section {
    let latency = &measured.write.latency_ns;
    let facts = vec![
        fact("average", time(latency.mean as u64)),
        fact(
            "percentiles",
            format!(
                "p50 {}, p90 {}, p99 {}, p99.9 {}, most {}",
                time(latency.p50),
                time(latency.p90),
                time(latency.p99),
                time(latency.p99_9),
                time(latency.max)
            ),
        ),
        fact("writes", units::count(measured.write.ios as f64)),
    ];
    Section { title: "Latency of a write", facts, ..Section::default() }
}

fn utilisation(stream: &Stream, measured: &Measurement) -> Section {
    let percent = |side: &StreamSide, ns: u64| format!("{:.1}%", 100.0 * side.share(ns));
    let (producers, writers) = (&stream.producers, &stream.writers);
    let mut facts = Vec::new();
    if stream.settings.producers == 0 {
        facts.push(fact("filling", percent(writers, writers.filling_ns)));
        facts.push(fact("waiting for the target", waiting(writers, writers.target_ns)));
    } else {
        let busy = producers.all_ns.saturating_sub(producers.pool_ns);
        facts.push(fact(
            "producers",
            format!(
                "{} busy (waiting for a free buffer: {})",
                percent(producers, busy),
                waiting(producers, producers.pool_ns)
            ),
        ));
        let busy = writers.all_ns.saturating_sub(writers.pool_ns);
        facts.push(fact(
            "writers",
            format!(
                "{} busy (waiting for data: {})",
                percent(writers, busy),
                waiting(writers, writers.pool_ns)
            ),
        ));
    }
    let in_flight =
        measured.write.latency_ns.mean * measured.write.ios as f64 / stream.writing_ns.max(1) as f64;
    let most = stream.settings.writers * stream.settings.depth * stream.outputs.len() as u32;
    facts.push(fact("in flight", format!("{in_flight:.1} of {most} writes on average")));
    if measured.runtime_ns > 0 {
        let used = (measured.cpu.user_ns + measured.cpu.system_ns) as f64;
        facts.push(fact("processors", format!("{:.2} in use", used / measured.runtime_ns as f64)));
    }
    Section { title: "Utilisation", facts, ..Section::default() }
}

/// Time that one thread of a side spent waiting, on average.
fn waiting(side: &StreamSide, ns: u64) -> String {
    let each = ns / u64::from(side.threads.max(1));
    format!("{:.2} s, {:.1}%", each as f64 / 1e9, 100.0 * side.share(ns))
}

fn bottleneck(stream: &Stream) -> Section {
    let says = stream.analysis.iter().chain(&stream.advice).cloned().collect();
    Section { title: "Bottleneck analysis", says, ..Section::default() }
}

fn writers(stream: &Stream) -> Section {
    let head = vec![
        "#", "output", ">writes", ">MiB/s", ">(MB/s)", ">mean", ">p99", ">filling", ">waiting", ">errors",
    ];
    let rows = stream.per_writer.iter().take(ROWS_MOST).enumerate().map(|(index, writer)| {
        let share = |ns: u64| format!("{:.0}%", 100.0 * ns as f64 / writer.all_ns.max(1) as f64);
        let target = stream.outputs.get(writer.output as usize).map_or("", |output| output.target.as_str());
        vec![
            (index + 1).to_string(),
            target.into(),
            units::count(writer.writes as f64),
            units::significant(writer.bandwidth_bytes_per_s / units::MIB as f64),
            units::significant(writer.bandwidth_bytes_per_s / 1e6),
            time(writer.latency_ns.mean as u64),
            time(writer.latency_ns.p99),
            share(writer.filling_ns),
            share(writer.pool_ns + writer.target_ns),
            writer.errors.to_string(),
        ]
    });
    let table = Some(Table { head, rows: rows.collect() });
    let left_out = stream.per_writer.len().saturating_sub(ROWS_MOST);
    let says = if left_out > 0 { vec![format!("and {left_out} more, in the record")] } else { Vec::new() };
    Section { title: "Each writer", table, says, ..Section::default() }
}

fn tuning(tuning: &StreamTuning) -> Section {
    let head = vec![
        "",
        "mode",
        ">writers",
        ">producers",
        ">depth",
        ">buffer",
        ">MiB/s",
        ">(MB/s)",
        ">s of processor a GB",
        ">tries",
    ];
    let rows = tuning.trials.iter().map(|trial| {
        let settings = &trial.settings;
        vec![
            if trial.chosen { "chosen".into() } else { String::new() },
            settings.mode.clone(),
            settings.writers.to_string(),
            settings.producers.to_string(),
            settings.depth.to_string(),
            units::bytes(settings.buffer_bytes),
            units::significant(trial.bandwidth_bytes_per_s / units::MIB as f64),
            units::significant(trial.bandwidth_bytes_per_s / 1e6),
            format!("{:.3}", trial.cpu_ns_per_byte),
            trial.tries.to_string(),
        ]
    });
    let says = vec![
        tuning.says.clone(),
        format!(
            "{} were written to find that, in {}.",
            units::bytes(tuning.bytes),
            units::duration(tuning.runtime_ns)
        ),
    ];
    Section {
        title: "Settings tried",
        table: Some(Table { head, rows: rows.collect() }),
        says,
        ..Section::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::{StreamOutput, StreamReadBack, StreamTrial, StreamWriter};

    #[test]
    fn every_section_of_the_seed_is_there() {
        let tuning = StreamTuning { trials: vec![StreamTrial::default()], ..StreamTuning::default() };
        let stream = Stream {
            size_bytes: 10_000_000_000,
            outputs: vec![StreamOutput {
                target: "a".into(),
                kind: "file".into(),
                ..StreamOutput::default()
            }],
            per_writer: vec![StreamWriter::default(); 70],
            read_back: Some(StreamReadBack::default()),
            tuning: Some(tuning),
            ..Stream::default()
        };
        let scenario = Scenario {
            stream: Some(Box::new(stream)),
            measurement: Some(Measurement::default()),
            ..Scenario::default()
        };
        let sections = sections(&scenario);
        let titles: Vec<&str> = sections.iter().map(|section| section.title).collect();
        assert_eq!(
            titles,
            [
                "Configuration",
                "Data transfer",
                "Throughput",
                "Latency of a write",
                "Utilisation",
                "Bottleneck analysis",
                "Each writer",
                "Settings tried"
            ]
        );
        let says = |title: &str, words: &str| {
            let section = sections.iter().find(|section| section.title == title).unwrap();
            assert!(format!("{section:?}").contains(words), "{section:?}");
        };
        says("Configuration", "9.3 GiB (10.00 GB)");
        says("Configuration", "THROUGH THE PAGE CACHE");
        says("Each writer", "and 6 more");
        says("Data transfer", "read back");
    }

    #[test]
    fn other_scenarios_have_none() {
        let measurement = Some(Measurement::default());
        assert!(sections(&Scenario { measurement, ..Scenario::default() }).is_empty());
    }
}
