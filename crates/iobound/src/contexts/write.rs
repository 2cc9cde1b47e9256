//! A context as a file that a person goes on writing in.

use iobound_model::context::Detected;
use iobound_record::VolumeGroup;

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
    // Serialised whole and taken apart, so that fields keep the order of the shape.
    let whole = toml::to_string(context).map_err(Failure::broke)?;
    let blocks = blocks(&whole);
    let mut text =
        String::from("# Made by 'iobound context detect'. What a host cannot tell is in comments.\n");
    text += &comments(detected, "");
    let mut os = None;
    let (mut volumes, mut arrays) = (context.volumes.iter(), context.arrays.iter());
    let mut filesystems = context.filesystems.iter();
    for block in blocks {
        let header = block.lines().next().unwrap_or_default();
        match header {
            "[instance]" => {
                text += &format!("\n{}", block.replace("name = \"\"\n", ""));
                if context.instance.sustained.is_none() && !context.instance.cloud.is_empty() {
                    text += &format!("\n{MACHINE_LIMITS}");
                }
            }
            "[[volume]]" => {
                let Some(group) = volumes.next() else { continue };
                text += &format!("\n{}{block}", comments(detected, &format!("volume.{}", group.name)));
                text += &not_known(group);
            }
            "[[array]]" => {
                let Some(array) = arrays.next() else { continue };
                text += &format!("\n{}{block}", comments(detected, &format!("array.{}", array.name)));
            }
            "[[filesystem]]" => {
                let Some(spec) = filesystems.next() else { continue };
                text += &format!("\n{}", comments(detected, &format!("filesystem.{}", spec.mount)));
                let role = comments(detected, &format!("filesystem.{}.role", spec.mount));
                text += &block.replace("\nrole = ", &format!("\n{role}role = "));
            }
            // A table goes where the shape has it, and what follows it must not fall into it.
            "[os]" => os = Some(format!("\n# As the kernel is set now.\n{block}")),
            _ => text += &format!("\n{block}"),
        }
    }
    Ok(text + &os.unwrap_or_default())
}

/// The text cut before each header.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks = vec![String::new()];
    for line in text.lines().filter(|line| !line.is_empty()) {
        if line.starts_with('[') {
            blocks.push(String::new());
        }
        if let Some(block) = blocks.last_mut() {
            *block += line;
            block.push('\n');
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contexts::{SHIPPED, load};

    #[test]
    fn what_is_written_reads_back() {
        for shipped in SHIPPED {
            let context = load(shipped.name).unwrap();
            let comments = vec![
                (String::new(), "left out: sda,\nit belongs to the system".to_owned()),
                ("filesystem./data.role".to_owned(), "a guess".to_owned()),
            ];
            let text = as_toml(&Detected { context: context.clone(), comments }).unwrap();
            assert_eq!(toml::from_str::<iobound_record::Context>(&text).unwrap(), context, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_left_to_fill_in() {
        let context = load("nvme").unwrap();
        let comments = vec![("filesystem./data.role".to_owned(), "a guess: by its name".to_owned())];
        insta::assert_snapshot!(as_toml(&Detected { context, comments }).unwrap());
    }

    #[test]
    fn a_new_name() {
        let text = SHIPPED[0].text;
        let fresh = renamed(text, SHIPPED[0].name, "mine").unwrap();
        assert!(fresh.contains("\nname = \"mine\"\n") && fresh.len() < text.len());
        assert!(renamed("[os]\nname = \"x\"", "x", "y").is_err());
    }
}
