//! A context as a file that a person goes on writing in.

use iobound_model::context::Detected;
use iobound_record::{Context, VolumeGroup};

use crate::exit::Failure;

/// What nobody can read from a host, and a person should fill in.
const LIMITS: [(&str, &str); 4] = [
    ("iops", "3000"),
    ("bandwidth", "\"125MiB/s\""),
    ("latency", "\"600us\""),
    ("sync_latency", "\"1.8ms\""),
];
/// The same of the machine.
const MACHINE_LIMITS: &str = "\
# [instance.sustained]          # what the machine may move to all its volumes together
# iops = 12000                  # not known: fill in from the cloud's table of instances
# bandwidth = \"312.5MB/s\"       # not known
";

/// A detected context as TOML: what was found, remarks, and in comments what could not be known.
///
/// # Errors
/// What was found does not make TOML.
pub fn as_toml(detected: &Detected) -> Result<String, Failure> {
    let context = &detected.context;
    let mut text =
        String::from("# Made by 'iobound context detect'. What a host cannot tell is in comments.\n");
    text += &comments(detected, "");
    let head = Context { instance: Default::default(), os: Default::default(), ..parts(context) };
    text += &format!("\n{}", section(&head, &["schema", "name", "description"])?);
    text += &format!("\n{}", whole(&Context { instance: context.instance.clone(), ..empty() }, "instance")?);
    if context.instance.sustained.is_none() && !context.instance.cloud.is_empty() {
        text += &format!("\n{MACHINE_LIMITS}");
    }
    for group in &context.volumes {
        text += &format!("\n{}", comments(detected, &format!("volume.{}", group.name)));
        text += &whole(&Context { volumes: vec![group.clone()], ..empty() }, "volume")?;
        text += &not_known(group);
    }
    for array in &context.arrays {
        text += &format!("\n{}", comments(detected, &format!("array.{}", array.name)));
        text += &whole(&Context { arrays: vec![array.clone()], ..empty() }, "array")?;
    }
    for spec in &context.filesystems {
        text += &format!("\n{}", comments(detected, &format!("filesystem.{}", spec.mount)));
        let entry = whole(&Context { filesystems: vec![spec.clone()], ..empty() }, "filesystem")?;
        let role = comments(detected, &format!("filesystem.{}.role", spec.mount));
        text += &entry.replace("\nrole = ", &format!("\n{role}role = "));
    }
    text += &format!(
        "\n# As the kernel is set now.\n{}",
        whole(&Context { os: context.os.clone(), ..empty() }, "os")?
    );
    Ok(text)
}

fn parts(context: &Context) -> Context {
    Context { volumes: vec![], arrays: vec![], filesystems: vec![], ..context.clone() }
}

fn empty() -> Context {
    Context::default()
}

fn comments(detected: &Detected, place: &str) -> String {
    let here = detected.comments.iter().filter(|(at, _)| at == place);
    here.map(|(_, words)| format!("# {}\n", words.replace(char::is_control, " "))).collect()
}

fn not_known(group: &VolumeGroup) -> String {
    let absent = [
        group.iops.is_none(),
        group.bandwidth.is_none(),
        group.latency.is_none(),
        group.sync_latency.is_none(),
    ];
    let lines = LIMITS.iter().zip(absent).filter(|(_, absent)| *absent);
    lines
        .map(|((field, example), _)| format!("# {field} = {example}   # not known: fill in or measure\n"))
        .collect()
}

/// Only these keys of a context.
fn section(context: &Context, keys: &[&str]) -> Result<String, Failure> {
    let mut table = toml::Table::try_from(context).map_err(Failure::broke)?;
    table.retain(|key, _| keys.contains(&key));
    toml::to_string(&table).map_err(Failure::broke)
}

/// One key of a context with everything below it.
fn whole(context: &Context, key: &str) -> Result<String, Failure> {
    section(context, &[key])
}

/// The text of a context under a new name, with its comments.
///
/// # Errors
/// The text has no name to replace.
pub fn renamed(text: &str, from: &str, to: &str) -> Result<String, Failure> {
    let old = format!("name = \"{from}\"");
    let line = text
        .lines()
        .take_while(|line| !line.starts_with('['))
        .find(|line| line.trim() == old)
        .ok_or_else(|| Failure::usage(format!("its line {old} was not found; copy the file by hand")))?;
    Ok(text.replacen(line, &format!("name = \"{to}\""), 1))
}
