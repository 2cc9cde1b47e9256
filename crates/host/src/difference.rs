//! Two probes of one machine, compared: what is set up otherwise than before.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use iobound_record::{Device, DeviceSort, Probe};
use serde_json::Value;

/// What moves by itself, or depends on who asks. Paths within the record, `*` for the entry of a list.
const MOVES: [&str; 22] = [
    "schema",
    "taken",
    "notes",
    // Of the process that asked, not of the machine.
    "limits",
    "processor.cpus_allowed",
    // A reboot changes these, and no setting.
    "machine.boot_id",
    "cloud.source",
    "memory.available_bytes",
    "memory.dirty_bytes",
    "memory.writeback_bytes",
    "filesystems.*.free_bytes",
    "arrays.*.sync_action",
    "arrays.*.sync_done",
    "arrays.*.sync_bytes_per_s",
    // Names and numbers are given out in the order in which devices appear.
    "devices.*.name",
    "devices.*.number",
    "devices.*.paths",
    "devices.*.wwn",
    "arrays.*.name",
    "arrays.*.members",
    "logical_volumes.*.device",
    "logical_volumes.*.name",
];

/// The kernel keeps some memory to itself, not the same at every boot.
const MEMORY_MOVES: f64 = 0.01;

/// What differs, a sentence each; empty when the machine is set up as it was.
///
/// Disks are told by serial number, arrays by UUID, volumes by name, so that new kernel names after a
/// reboot are no difference. What was not looked at in one of the two (not root, say) is none either.
pub fn difference(before: &Probe, after: &Probe) -> Vec<String> {
    let (was, is) = (Parts::of(before), Parts::of(after));
    let mut found = Vec::new();
    let entries: BTreeSet<&Key> = was.entries.keys().chain(is.entries.keys()).collect();
    for entry in entries {
        match (was.entries.get(entry), is.entries.get(entry)) {
            (Some(a), Some(b)) => {
                for what in a.facts.keys().chain(b.facts.keys()).collect::<BTreeSet<_>>() {
                    let (a_fact, b_fact) = (a.facts.get(what), b.facts.get(what));
                    found.extend(
                        changed(entry, what, a_fact, b_fact).map(|told| format!("{}{told}", a.shown)),
                    );
                }
            }
            (Some(a), None) => found.push(format!("{}is gone", a.shown)),
            (None, Some(b)) => found.push(format!("{}is new", b.shown)),
            (None, None) => {}
        }
    }
    found
}

/// Part of the record, and the lasting name of the entry in it; empty for parts that are no lists.
type Key = (String, String);

/// One thing: a device, an array, the memory.
struct Entry {
    /// How people know it, with a space after; empty for the machine itself.
    shown: String,
    /// Facts by path below it.
    facts: BTreeMap<String, Value>,
}

#[derive(Default)]
struct Parts {
    entries: BTreeMap<Key, Entry>,
}

impl Parts {
    fn of(probe: &Probe) -> Parts {
        let names = lasting_names(probe);
        let mut parts = Parts::default();
        let Ok(Value::Object(document)) = serde_json::to_value(probe) else { return parts };
        for (part, value) in document {
            let noun = match part.as_str() {
                "devices" => "",
                "arrays" => "array ",
                "logical_volumes" => "logical volume ",
                "filesystems" => "file system ",
                _ => {
                    parts.entry((part.clone(), String::new()), String::new(), &part, &value, &names);
                    continue;
                }
            };
            let Value::Array(list) = value else { continue };
            for item in &list {
                let (lasting, shown) = named(&part, item, &names);
                let below = format!("{part}.*");
                parts.entry((part.clone(), lasting), format!("{noun}{shown}: "), &below, item, &names);
            }
        }
        parts
    }

    fn entry(&mut self, key: Key, shown: String, path: &str, value: &Value, names: &Names) {
        let mut facts = BTreeMap::new();
        flatten(path, "", value, names, &mut facts);
        if !facts.is_empty() {
            self.entries.insert(key, Entry { shown, facts });
        }
    }
}

/// The lasting name of a list's entry, and the one to show.
fn named(part: &str, item: &Value, names: &Names) -> (String, String) {
    let text = |field: &str| item[field].as_str().unwrap_or_default().to_owned();
    match part {
        "filesystems" => (text("mount"), format!("at {}", text("mount"))),
        "logical_volumes" => {
            let name = format!("{}/{}", text("group"), text("name"));
            (name.clone(), name)
        }
        _ => {
            let name = text("name");
            (names.get(&name).cloned().unwrap_or_else(|| name.clone()), name)
        }
    }
}

/// Lasting names by kernel name.
type Names = HashMap<String, String>;

fn lasting_names(probe: &Probe) -> Names {
    let mut names = Names::new();
    let mut taken: HashMap<String, usize> = HashMap::new();
    let whole = probe.devices.iter().filter(|device| device.sort != DeviceSort::Partition);
    for device in whole {
        let name = lasting_name(probe, device);
        // Two paths to one SCSI disk have one serial number.
        let count = taken.entry(name.clone()).and_modify(|n| *n += 1).or_insert(1);
        let name = if *count == 1 { name } else { format!("{name} ({count})") };
        names.insert(device.name.clone(), name);
    }
    for device in probe.devices.iter().filter(|device| device.sort == DeviceSort::Partition) {
        let disk = names.get(&device.disk).cloned().unwrap_or_else(|| device.disk.clone());
        let number = device.name.strip_prefix(&device.disk).unwrap_or(&device.name);
        names.insert(device.name.clone(), format!("{disk} {}", number.trim_start_matches('p')));
    }
    names
}

fn lasting_name(probe: &Probe, device: &Device) -> String {
    let array = probe.arrays.iter().find(|array| array.name == device.name);
    match array {
        Some(array) if !array.uuid.is_empty() => format!("array {}", array.uuid),
        _ if !device.serial.is_empty() => format!("serial {}", device.serial),
        _ if !device.wwn.is_empty() => format!("wwn {}", device.wwn),
        _ if !device.label.is_empty() => format!("label {}", device.label),
        _ => device.name.clone(),
    }
}

/// Puts every fact below a value down by its path. Lists become one text, sorted: their order is that of
/// appearance.
fn flatten(path: &str, within: &str, value: &Value, names: &Names, facts: &mut BTreeMap<String, Value>) {
    if MOVES.contains(&path) {
        return;
    }
    let is_device = ["disk", "below", "above", "device", "devices"]
        .iter()
        .any(|field| path.ends_with(&format!(".{field}")));
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let within = if within.is_empty() { name.clone() } else { format!("{within}.{name}") };
                flatten(&format!("{path}.{name}"), &within, value, names, facts);
            }
        }
        Value::Array(list) => {
            let mut words: Vec<String> = list.iter().map(|item| words_of(item, names, is_device)).collect();
            words.sort();
            facts.insert(within.to_owned(), Value::String(words.join(", ")));
        }
        other if is_device => {
            facts.insert(within.to_owned(), Value::String(words_of(other, names, true)));
        }
        other => {
            facts.insert(within.to_owned(), other.clone());
        }
    }
}

fn words_of(value: &Value, names: &Names, is_device: bool) -> String {
    match value {
        Value::String(text) if is_device => names.get(text).unwrap_or(text).clone(),
        Value::String(text) => text.clone(),
        // A segment or a NUMA node within a list.
        Value::Object(fields) => {
            let told = |(name, value): (&String, &Value)| match value {
                Value::Array(list) => {
                    let devices: Vec<String> = list.iter().map(|item| words_of(item, names, true)).collect();
                    format!("{name} {}", devices.join("+"))
                }
                other => format!("{name} {}", words_of(other, names, false)),
            };
            // Memory of a node moves a little with each boot, as that of the machine does.
            fields.iter().filter(|(name, _)| *name != "memory_bytes").map(told).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

/// A difference in words; None when there is none, or when one of the two did not look.
fn changed((part, _): &Key, what: &str, was: Option<&Value>, is: Option<&Value>) -> Option<String> {
    let path = if part == "sysctl" { what.to_owned() } else { format!("{part} {what}") };
    let subject = match part.as_str() {
        "devices" | "arrays" | "logical_volumes" | "filesystems" => what,
        _ => path.trim(),
    };
    let told = |value: &Value| match value {
        Value::String(text) if text.is_empty() => "nothing".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match (was?, is?) {
        (Value::Null, _) | (_, Value::Null) => None,
        (a, b) if a == b => None,
        (a, b) if part == "cloud" && (a == "" || b == "") => None,
        (a, b) if part == "memory" && what == "total_bytes" && near(a, b) => None,
        (a, b) if part == "arrays" && what == "state" && works(a) && works(b) => None,
        (a, b) => Some(format!("{subject} was {}, is {}", told(a), told(b))),
    }
}

fn near(a: &Value, b: &Value) -> bool {
    let (a, b) = (a.as_f64().unwrap_or(0.0), b.as_f64().unwrap_or(0.0));
    (a - b).abs() <= MEMORY_MOVES * a.max(b)
}

/// States that take turns as writes come and go: md.rst, array_state.
fn works(state: &Value) -> bool {
    ["clean", "active", "active-idle", "write-pending"].iter().any(|word| state == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::{MdArray, MountedFileSystem};

    fn machine() -> Probe {
        let disk = |name: &str, serial: &str, above: &[&str]| Device {
            name: name.into(),
            number: format!("259:{}", name.len()),
            serial: serial.into(),
            read_ahead_bytes: 128 << 10,
            holds: Some(String::new()),
            above: above.iter().map(|name| (*name).to_owned()).collect(),
            ..Device::default()
        };
        let mut probe = Probe {
            devices: vec![disk("nvme0n1", "A", &["nvme0n1p1"]), disk("nvme1n1", "B", &[])],
            ..Probe::default()
        };
        probe.devices.push(Device {
            name: "nvme0n1p1".into(),
            sort: DeviceSort::Partition,
            disk: "nvme0n1".into(),
            below: vec!["nvme0n1".into()],
            ..Device::default()
        });
        probe.filesystems.push(MountedFileSystem {
            mount: "/".into(),
            device: "nvme0n1p1".into(),
            free_bytes: 5,
            ..MountedFileSystem::default()
        });
        probe.sysctl.insert("vm.dirty_bytes".into(), "0".into());
        probe.memory.total_bytes = 1_000_000;
        probe
    }

    #[test]
    fn what_moves_by_itself_is_no_difference() {
        let before = machine();
        let mut after = machine();
        after.taken = "later".into();
        after.machine.boot_id = "other".into();
        after.memory.total_bytes = 1_000_500;
        after.memory.dirty_bytes = 77;
        after.filesystems[0].free_bytes = 4;
        after.limits.root = true;
        after.devices[1].holds = None;
        after.notes.push("a note".into());
        assert_eq!(difference(&before, &after), Vec::<String>::new());
    }

    #[test]
    fn disks_may_change_names() {
        let before = machine();
        let swapped = serde_json::to_string(&before)
            .unwrap()
            .replace("nvme0n1", "nvmeXn1")
            .replace("nvme1n1", "nvme0n1")
            .replace("nvmeXn1", "nvme1n1");
        let mut after: Probe = serde_json::from_str(&swapped).unwrap();
        assert_eq!(difference(&before, &after), Vec::<String>::new());
        after.devices.reverse();
        assert_eq!(difference(&before, &after), Vec::<String>::new());
    }

    #[test]
    fn settings_are() {
        let before = machine();
        let mut after = machine();
        after.sysctl.insert("vm.dirty_bytes".into(), "1048576".into());
        after.devices[1].read_ahead_bytes = 64 << 10;
        after.devices[1].holds = Some("linux_raid_member".into());
        after.devices[1].above.push("md0".into());
        after.devices.push(Device { name: "md0".into(), sort: DeviceSort::Md, ..Device::default() });
        after.arrays.push(MdArray { name: "md0".into(), ..MdArray::default() });
        after.transparent_hugepage = "never".into();
        after.filesystems.clear();
        insta::assert_snapshot!(difference(&before, &after).join("\n"), @r"
        array md0: is new
        md0: is new
        nvme1n1: above was nothing, is md0
        nvme1n1: holds was nothing, is linux_raid_member
        nvme1n1: read_ahead_bytes was 131072, is 65536
        file system at /: is gone
        vm.dirty_bytes was 0, is 1048576
        transparent_hugepage was nothing, is never
        ");
    }
}
