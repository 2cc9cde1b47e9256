//! A context as a person reads it: the machine, and what is built of its volumes.

use iobound_model::context::{capacity, members};
use iobound_record::{Array, ArrayManager, Cap, Context, FileSystemSpec, VolumeGroup, units};

/// The topology as an indented tree, from each file system down to its volumes. Ends with a newline.
pub fn render(context: &Context) -> String {
    let mut text = format!("{}\n", context.name);
    if !context.description.is_empty() {
        text += &format!("{}\n", context.description);
    }
    text += &instance(context);
    let mut shown: Vec<&str> = Vec::new();
    for spec in &context.filesystems {
        text += &format!("\n{}", filesystem(context, spec));
        text += &below(context, &spec.on, 1, &mut shown);
    }
    for array in context.arrays.iter().rev() {
        if !shown.contains(&array.name.as_str()) {
            text += &format!("\n{}", below(context, &array.name, 0, &mut shown));
        }
    }
    for group in &context.volumes {
        if !shown.contains(&group.name.as_str()) {
            text += &format!("\n{}", volume(group, group.count.0));
        }
    }
    text + &settings(context)
}

fn instance(context: &Context) -> String {
    let instance = &context.instance;
    let mut parts = Vec::new();
    parts.extend(instance.vcpus.map(|cpus| format!("{cpus} vCPU")));
    parts.extend(instance.memory.map(|memory| units::bytes(memory.0)));
    parts.extend(instance.sustained.map(|cap| format!("sustains {}", limits(cap))));
    parts.extend(instance.burst.map(|cap| {
        let time = instance.burst_per_day.map(|time| format!(" for {} a day", minutes(time.0)));
        format!("bursts to {}{}", limits(cap), time.unwrap_or_default())
    }));
    if parts.is_empty() {
        return String::new();
    }
    let name = if instance.name.is_empty() { "machine" } else { &instance.name };
    format!("\n{name}: {}\n", parts.join(", "))
}

fn minutes(ns: u64) -> String {
    match ns / 60_000_000_000 {
        0 => units::duration(ns),
        minutes => format!("{minutes} min"),
    }
}

fn limits(cap: Cap) -> String {
    promises(cap.iops, cap.bandwidth.map(|bandwidth| bandwidth.0))
}

fn promises(iops: Option<u64>, bandwidth: Option<u64>) -> String {
    let iops = iops.map(|iops| format!("{} IOPS", units::count(iops as f64)));
    let bandwidth = bandwidth.map(|bytes| units::bandwidth(bytes as f64));
    let parts: Vec<String> = iops.into_iter().chain(bandwidth).collect();
    if parts.is_empty() { "limits not known".into() } else { parts.join(" and ") }
}

fn filesystem(context: &Context, spec: &FileSystemSpec) -> String {
    let mut parts = vec![spec.kind.name().to_owned()];
    parts.extend(spec.role.map(|role| format!("role {}", role.name())));
    parts.extend(capacity(context, &spec.on).map(units::bytes));
    if !spec.options.is_empty() {
        parts.push(spec.options.join(","));
    }
    parts.extend(spec.read_ahead.map(|size| format!("read-ahead {}", units::bytes(size.0))));
    parts.extend(spec.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")));
    parts.extend(spec.nr_requests.map(|requests| format!("nr_requests {requests}")));
    format!("{}  {}\n", spec.mount, parts.join(", "))
}

fn below<'a>(context: &'a Context, name: &'a str, depth: usize, shown: &mut Vec<&'a str>) -> String {
    let indent = "  ".repeat(depth);
    if let Some(array) = context.arrays.iter().find(|array| array.name == name) {
        // A cycle was reported before; here it must only end.
        if shown.contains(&array.name.as_str()) {
            return String::new();
        }
        shown.push(&array.name);
        let mut text = format!("{indent}{}", array_line(context, array));
        for member in &array.members {
            text += &below(context, member, depth + 1, shown);
        }
        return text;
    }
    let of = |group: &&VolumeGroup| {
        group.name == name || name.strip_prefix(group.name.as_str()).is_some_and(|rest| rest.starts_with('-'))
    };
    let Some(group) = context.volumes.iter().find(of) else { return format!("{indent}{name}: unknown\n") };
    shown.push(&group.name);
    if group.name == name {
        format!("{indent}{}", volume(group, group.count.0))
    } else {
        format!("{indent}{}", volume(&VolumeGroup { name: name.to_owned(), ..group.clone() }, 1))
    }
}

fn array_line(context: &Context, array: &Array) -> String {
    let manager = match array.manager {
        ArrayManager::Mdadm => "mdadm",
        ArrayManager::Lvm => "LVM",
    };
    let mut parts = vec![format!("{manager} {} of {}", array.level.name(), members(context, array).len())];
    parts.extend(array.chunk.map(|chunk| format!("chunk {}", units::bytes(chunk.0))));
    parts.extend(capacity(context, &array.name).map(|bytes| format!("holds {}", units::bytes(bytes))));
    if !array.device.is_empty() {
        parts.push(array.device.clone());
    }
    format!("{}: {}\n", array.name, parts.join(", "))
}

fn volume(group: &VolumeGroup, count: u32) -> String {
    let times = if count == 1 { String::new() } else { format!("{count} x ") };
    let each = if count == 1 { "" } else { " each" };
    let mut parts = vec![format!("{times}{} {}", group.kind, units::bytes(group.size.0))];
    parts.push(format!("{}{each}", promises(group.iops, group.bandwidth.map(|b| b.0))));
    parts.extend(group.latency.map(|time| format!("read {}", units::duration(time.0))));
    parts.extend(group.sync_latency.map(|time| format!("durable write {}", units::duration(time.0))));
    if !group.serials.is_empty() {
        parts.push(format!("serials {}", group.serials.join(" ")));
    }
    if !group.wwns.is_empty() {
        parts.push(format!("WWNs {}", group.wwns.join(" ")));
    }
    format!("{}: {}\n", group.name, parts.join(", "))
}

fn settings(context: &Context) -> String {
    let Ok(os) = toml::Table::try_from(&context.os) else { return String::new() };
    if os.is_empty() {
        return String::new();
    }
    let text = |value: &toml::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let settings: Vec<String> = os.iter().map(|(name, value)| format!("{name} {}", text(value))).collect();
    format!("\nkernel: {}\n", settings.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_layout() {
        let context = crate::contexts::load("c8gb.2xlarge.33.25.8disk.raid10").unwrap();
        insta::assert_snapshot!(render(&context));
    }

    #[test]
    fn what_no_file_system_uses_is_shown_too() {
        let mut context = crate::contexts::load("lab.4disk.lvm").unwrap();
        context.filesystems.clear();
        assert!(render(&context).contains("lv0: LVM raid0 of 4, chunk 64 KiB, holds 4 GiB"));
        context.arrays.clear();
        assert!(render(&context).contains("data: 4 x virtual 1 GiB"));
    }
}
