//! A probe as a person reads it: what matters to storage, equal disks in one row, and what could not
//! be read at the end.

mod disks;
mod row;
mod volumes;

use iobound_record::{Probe, ProcessLimits, units};

use super::terminal::Look;
use super::terminal::text::Page;
use row::{fact, facts, join};

/// Narrower than this nothing useful fits.
const WIDTH_MIN: usize = 60;

/// The probe as text. Ends with a newline.
pub fn render(probe: &Probe, look: Look) -> String {
    let mut page = Page::new(Look { width: look.width.max(WIDTH_MIN), ..look });
    machine(probe, &mut page);
    kernel(probe, &mut page);
    disks::disks(probe, &mut page);
    disks::parts(probe, &mut page);
    volumes::arrays(probe, &mut page);
    volumes::logical_volumes(probe, &mut page);
    volumes::filesystems(probe, &mut page);
    notes(probe, &mut page);
    page.finish()
}

/// A heading after an empty line; none before the first.
fn section(page: &mut Page, title: &str) {
    if !page.is_empty() {
        page.blank();
    }
    page.heading(title);
}

/// `text`, or a word for nothing.
fn or<'a>(text: &'a str, nothing: &'a str) -> &'a str {
    if text.is_empty() { nothing } else { text }
}

fn machine(probe: &Probe, page: &mut Page) {
    section(page, "Machine");
    let (machine, processor) = (&probe.machine, &probe.processor);
    facts(page, "host", &[&machine.hostname, &machine.distribution]);
    facts(page, "kernel", &[&machine.kernel, &machine.architecture]);
    let hypervisor = fact("hypervisor", &machine.hypervisor);
    let container = fact("in a container:", &machine.container);
    facts(page, "hardware", &[&machine.product, &hypervisor, &container]);
    if let Some(cloud) = &probe.cloud {
        let place = join(&[&cloud.region, &cloud.zone], " ");
        let kind = join(&[&cloud.provider, &cloud.instance_type], " ");
        facts(page, "cloud", &[&kind, &cloud.instance_id, &place, &format!("told by the {}", cloud.source)]);
    }
    let online = match processor.cpus_online {
        0 => String::new(),
        1 => "1 processor".to_owned(),
        count => format!("{count} processors"),
    };
    let narrowed = match processor.cpus_allowed {
        allowed if allowed < processor.cpus_online => format!("{allowed} of them for this process"),
        _ => String::new(),
    };
    let nodes = if processor.nodes.len() > 1 {
        format!("{} NUMA nodes", processor.nodes.len())
    } else {
        String::new()
    };
    let governors = fact("governor", &processor.governors.join(" and "));
    facts(page, "processors", &[&online, &processor.model, &narrowed, &governors, &nodes]);
    memory(probe, page);
    let others: Vec<&str> =
        machine.clocksources.iter().map(String::as_str).filter(|name| *name != machine.clocksource).collect();
    let others = if others.is_empty() { String::new() } else { format!("could be {}", others.join(" or ")) };
    facts(page, "clock", &[&machine.clocksource, &others]);
}

fn memory(probe: &Probe, page: &mut Page) {
    let memory = &probe.memory;
    if memory.total_bytes == 0 {
        return;
    }
    let swap = match memory.swap_bytes {
        0 => "no swap".to_owned(),
        bytes => format!("swap {}", units::bytes(bytes)),
    };
    let available = format!("{} available", units::bytes(memory.available_bytes));
    facts(page, "memory", &[&units::bytes(memory.total_bytes), &available, &swap]);
}

fn kernel(probe: &Probe, page: &mut Page) {
    section(page, "Kernel");
    let value = |name: &str| probe.sysctl.get(name).map(String::as_str).unwrap_or_default();
    let dirty = |bytes: &str, ratio: &str| match (value(bytes), value(ratio)) {
        ("", "" | "0") => String::new(),
        ("" | "0", ratio) => format!("{ratio}% of memory"),
        (bytes, _) => bytes.parse().map(units::bytes).unwrap_or_else(|_| bytes.to_owned()),
    };
    let background = dirty("vm.dirty_background_bytes", "vm.dirty_background_ratio");
    let limit = dirty("vm.dirty_bytes", "vm.dirty_ratio");
    let waiting = format!("{} waiting", units::bytes(probe.memory.dirty_bytes));
    facts(
        page,
        "dirty data",
        &[&fact("written back from", &background), &fact("writers wait at", &limit), &waiting],
    );
    facts(
        page,
        "memory",
        &[
            &fact("swappiness", value("vm.swappiness")),
            &fact("overcommit", value("vm.overcommit_memory")),
            &fact("huge pages", value("vm.nr_hugepages")),
            &fact("transparent huge pages", &probe.transparent_hugepage),
            &fact("zone reclaim", value("vm.zone_reclaim_mode")),
            &fact("NUMA balancing", value("kernel.numa_balancing")),
        ],
    );
    limits(&probe.limits, page);
}

fn limits(limits: &ProcessLimits, page: &mut Page) {
    let io_uring = match limits.io_uring {
        Some(true) => "io_uring works".to_owned(),
        Some(false) => "io_uring may not be used".to_owned(),
        None => "io_uring not tried".to_owned(),
    };
    let files = limits.nofile.map(|n| format!("{} open files", units::count(n as f64))).unwrap_or_default();
    let locked = limits.memlock_bytes.map(|b| format!("{} locked", units::bytes(b))).unwrap_or_default();
    let memory = limits.memory_bytes.map(|b| format!("{} of memory", units::bytes(b))).unwrap_or_default();
    let cpus = limits.cpus.map(|n| format!("{} processors' time", units::significant(n))).unwrap_or_default();
    let user = if limits.root { "root" } else { "not root" };
    facts(page, "we may use", &[user, &io_uring, &files, &locked, &memory, &cpus]);
    if !limits.io_uring_refusal.is_empty() {
        facts(page, "", &[&limits.io_uring_refusal]);
    }
    for line in &limits.io {
        facts(page, "I/O limit", &[line]);
    }
}

fn notes(probe: &Probe, page: &mut Page) {
    if probe.notes.is_empty() {
        return;
    }
    section(page, "Notes");
    for note in &probe.notes {
        page.bullet(note);
    }
}

#[cfg(test)]
mod tests;
