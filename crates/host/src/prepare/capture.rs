//! What a step will change, recorded before it does.

use std::collections::BTreeMap;
use std::io;

use iobound_record::{Op, Step, Undo};

use super::file_lines::addition;
use super::machine::{Machine, current_value};

/// How to go back from each operation of a step; None where there is nothing to go back from.
///
/// # Errors
/// A former value cannot be read, or is no text: then it could not be brought back.
pub(super) fn capture(machine: &dyn Machine, step: &Step) -> io::Result<Vec<Option<Undo>>> {
    // Files as they will be after the operations before.
    let mut files: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    let mut all = Vec::new();
    for op in &step.ops {
        all.push(match op {
            Op::Run { undo, .. } => undo.clone(),
            Op::WriteFile { path, text } => Some(Undo::File {
                path: path.clone(),
                wrote: text.clone(),
                before: machine.read(path)?.map(|bytes| as_text(path, bytes)).transpose()?,
            }),
            Op::Set { path, value, restore } => {
                let before = current_value(machine, path)?.ok_or_else(|| {
                    io::Error::new(io::ErrorKind::NotFound, format!("this kernel has no {path}"))
                })?;
                let (path, set) = (path.clone(), value.clone());
                Some(Undo::Value { path, set, before, restore: restore.clone() })
            }
            Op::AddLines { path, lines } => {
                let existed = machine.read(path)?.is_some();
                let before = match files.get(path.as_str()) {
                    Some(text) => text.clone(),
                    None => machine.read(path)?.unwrap_or_default(),
                };
                let added = addition(&before, lines);
                files.insert(path, [before, added.clone().into_bytes()].concat());
                Some(Undo::Lines { path: path.clone(), added, existed })
            }
            Op::MakeDirectory { path, .. } => match machine.entries(path)? {
                Some(_) => None,
                None => Some(Undo::Directory { path: path.clone() }),
            },
            Op::ZeroEnds { .. } => None,
        });
    }
    Ok(all)
}

fn as_text(path: &str, bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{path} is no text, so it would not come back as it was"),
        )
    })
}
