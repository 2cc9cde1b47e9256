//! Captured machines, unpacked into a temporary directory.
//!
//! A `.tree` file is composed from the documented formats of `/proc` and `/sys`:
//!
//! ```text
//! # a comment
//! block DIRECTORY MAJOR:MINOR | ATTRIBUTE=VALUE | ...   a device under /sys/devices, `-` for no number
//! on UPPER LOWER                                        UPPER is built on LOWER: slaves and holders
//! file PATH                                             the lines that follow, indented by a tab
//! ```
//!
//! `\xNN` in a value or line is that byte, so that what is no text can be told too. What a real machine
//! answers by statvfs(2) and from superblocks, a tree has in `file /geometry` (see `probe/geometry.rs`).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Unpacks `tests/trees/NAME.tree`.
pub fn unpack(name: &str) -> TempDir {
    // Other rooms' tests use these trees too.
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../host/tests/trees/{name}.tree"));
    let text = fs::read_to_string(&source).unwrap_or_else(|e| panic!("{}: {e}", source.display()));
    let root = tempfile::tempdir().unwrap();
    let mut file: Option<PathBuf> = None;
    for line in text.lines() {
        if let Some(content) = line.strip_prefix('\t') {
            let path = file.as_ref().expect("an indented line belongs to a file");
            let before = fs::read(path).unwrap();
            fs::write(path, [before, bytes(content), b"\n".to_vec()].concat()).unwrap();
            continue;
        }
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "" | "#" => {}
            "block" => block(root.path(), rest),
            "on" => {
                let (upper, lower) = rest.split_once(' ').unwrap();
                let class = root.path().join("sys/class/block");
                put(&class.join(upper).join("slaves").join(lower), "");
                put(&class.join(lower).join("holders").join(upper), "");
            }
            "file" => {
                let path = root.path().join(rest.trim_start_matches('/'));
                put(&path, "");
                file = Some(path);
            }
            _ => panic!("{}: {line}", source.display()),
        }
    }
    root
}

fn put(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes(content)).unwrap();
}

/// Undoes `\xNN`.
fn bytes(text: &str) -> Vec<u8> {
    let mut parts = text.split("\\x");
    let mut plain = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        plain.push(u8::from_str_radix(&part[..2], 16).unwrap());
        plain.extend(&part.as_bytes()[2..]);
    }
    plain
}

fn block(root: &Path, rest: &str) {
    let mut parts = rest.split(" | ");
    let (directory, number) = parts.next().unwrap().split_once(' ').unwrap();
    let name = Path::new(directory).file_name().unwrap();
    let place = root.join("sys/devices").join(directory);
    fs::create_dir_all(place.join("slaves")).unwrap();
    fs::create_dir_all(place.join("holders")).unwrap();
    let class = root.join("sys/class/block");
    fs::create_dir_all(&class).unwrap();
    symlink(Path::new("../../devices").join(directory), class.join(name)).unwrap();
    if number != "-" {
        let numbers = root.join("sys/dev/block");
        fs::create_dir_all(&numbers).unwrap();
        symlink(Path::new("../../devices").join(directory), numbers.join(number)).unwrap();
        put(&place.join("dev"), &format!("{number}\n"));
    }
    for attribute in parts {
        let (key, value) = attribute.split_once('=').unwrap();
        put(&place.join(key), &format!("{value}\n"));
    }
}
