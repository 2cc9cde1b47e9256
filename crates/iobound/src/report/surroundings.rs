//! What a run ran on: the host as it was, the context it was held against, as names and values.

use iobound_record::{Calibration, Cap, Context, Run, TargetFacts, units};

/// The host, its targets and what the tool itself can do there.
pub fn host_lines(run: &Run) -> Vec<(String, String)> {
    let host = &run.host;
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push((name.to_owned(), value));
        }
    };
    add("kernel", host.kernel.clone());
    if host.cpus > 0 {
        add("processor", format!("{} x {}", host.cpus, host.cpu_model));
    }
    if host.memory_bytes > 0 {
        add("memory", units::bytes(host.memory_bytes));
    }
    add("clock source", host.clocksource.clone());
    for target in &host.targets {
        add(&format!("target {}", target.path), target_words(target));
    }
    if let Some(calibration) = &run.calibration {
        add("this tool alone", calibration_words(calibration));
    }
    lines
}

fn target_words(target: &TargetFacts) -> String {
    let members = match target.members.is_empty() {
        true => String::new(),
        false => format!("over {}", target.members.join(", ")),
    };
    let labelled = |label: &str, value: &str| match value {
        "" => String::new(),
        value => format!("{label} {value}"),
    };
    let words = [
        target.filesystem.clone(),
        labelled("on", &target.device),
        members,
        labelled("mounted", &target.mount_options),
        labelled("scheduler", &target.scheduler),
        labelled("write cache", &target.write_cache),
    ];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("; ")
}

fn calibration_words(calibration: &Calibration) -> String {
    format!(
        "{} IOPS without a device on {} cores; data made at {}",
        units::count(calibration.null_iops_all_cores),
        calibration.cores,
        units::bandwidth(calibration.fill_bytes_per_s_all_cores)
    )
}

/// What the hardware promises, as the context says it.
pub fn context_lines(context: &Context) -> Vec<(String, String)> {
    let mut lines = vec![];
    if !context.description.is_empty() {
        lines.push(("what".to_owned(), context.description.clone()));
    }
    let instance = &context.instance;
    if !instance.name.is_empty() {
        lines.push(("instance".into(), instance.name.clone()));
    }
    for (name, cap) in
        [("sustained to all volumes", instance.sustained), ("burst to all volumes", instance.burst)]
    {
        if let Some(cap) = cap {
            lines.push((name.into(), cap_words(&cap)));
        }
    }
    for group in &context.volumes {
        let cap = Cap { iops: group.iops, bandwidth: group.bandwidth };
        let latency = [("read", group.latency), ("sync", group.sync_latency)];
        let latency: String =
            latency.iter().filter_map(|(what, time)| Some(format!(", {what} {}", (*time)?))).collect();
        let words =
            format!("{} x {} of {}, {}{latency}", group.count.0, group.kind, group.size, cap_words(&cap));
        lines.push((format!("volume {}", group.name), words));
    }
    for array in &context.arrays {
        let chunk = array.chunk.map_or(String::new(), |chunk| format!(", chunk {chunk}"));
        let words = format!("{} of {}{chunk}", array.level.name(), array.members.join(", "));
        lines.push((format!("array {}", array.name), words));
    }
    for filesystem in &context.filesystems {
        let role = filesystem.role.map_or("", |role| role.name());
        let words = format!("{} on {} {role}", filesystem.kind.name(), filesystem.on);
        lines.push((format!("file system {}", filesystem.mount), words.trim_end().to_owned()));
    }
    lines
}

fn cap_words(cap: &Cap) -> String {
    let iops = cap.iops.map(|iops| format!("{} IOPS", units::count(iops as f64)));
    let bandwidth = cap.bandwidth.map(|rate| units::bandwidth(rate.0 as f64));
    let words: Vec<String> = [iops, bandwidth].into_iter().flatten().collect();
    if words.is_empty() { "no limit named".into() } else { words.join(", ") }
}
