//! The rules of the house, checked on every file that git knows.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file that outgrows this does more than one thing.
const LINES_MAX: usize = 700;

/// Names that say nothing about what is in a file.
const VAGUE: [&str; 8] = ["util", "utils", "helper", "helpers", "common", "manager", "misc", "stuff"];

/// Rooms that may contain `unsafe`, and what for: bytes by SIMD, the ring and its buffers, device
/// ioctls.
const UNSAFE_ROOMS: [&str; 3] = ["fill", "engine", "host"];

/// The one other file that may: Python's buffers are raw memory, filled while the interpreter runs on.
const UNSAFE_FILE: &str = "python/src/buffer.rs";

/// What each room may use of ours, in [dependencies].
const MAY_USE: [(&str, &[&str]); 9] = [
    ("record", &[]),
    ("fill", &[]),
    ("engine", &["record", "fill"]),
    ("host", &["record"]),
    ("jobfile", &["record"]),
    ("model", &["record"]),
    ("iobound", &["record", "fill", "engine", "host", "jobfile", "model", "lab"]),
    ("lab", &["record"]),
    // The same code as a module: data straight from the fill, streams as the program runs them.
    ("python", &["record", "fill", "engine", "host", "iobound"]),
];

/// Rooms outside `crates`.
const ROOMS_BESIDE: [&str; 1] = ["python"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/lab is two levels down").into()
}

/// Every file of the work tree that is tracked or would be, relative to the root; None outside a
/// git checkout.
fn files() -> Option<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .ok()
        .filter(|output| output.status.success());
    let Some(output) = output else {
        iobound_lab::skip("not a git checkout, or git is not installed");
        return None;
    };
    let text = String::from_utf8(output.stdout).expect("file names in UTF-8");
    Some(text.lines().map(PathBuf::from).filter(|path| root().join(path).is_file()).collect())
}

fn has_extension(path: &Path, wanted: &[&str]) -> bool {
    path.extension().is_some_and(|extension| wanted.iter().any(|wanted| *wanted == extension))
}

fn text_of(path: &Path) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_default()
}

/// Fails with all of `broken`, so that one run shows everything there is to mend.
fn assert_none(rule: &str, broken: Vec<String>) {
    assert!(broken.is_empty(), "{rule}:\n  {}", broken.join("\n  "));
}

#[test]
fn files_stay_short() {
    let Some(files) = files() else { return };
    let broken = files.iter().filter(|path| has_extension(path, &["rs", "py", "sh"])).filter_map(|path| {
        let lines = text_of(path).lines().count();
        (lines > LINES_MAX).then(|| format!("{}: {lines} lines", path.display()))
    });
    assert_none(&format!("a file has at most {LINES_MAX} lines"), broken.collect());
}

#[test]
fn names_say_what_is_inside() {
    let Some(files) = files() else { return };
    // Sources only: a corpus of other people's files keeps their names.
    let sources = files.iter().filter(|path| has_extension(path, &["rs", "py", "sh"]));
    let broken = sources
        .filter(|path| path.with_extension("").iter().any(|part| VAGUE.iter().any(|vague| part == *vague)));
    assert_none("no vague names", broken.map(|path| path.display().to_string()).collect());
}

#[test]
fn unsafe_stays_in_its_rooms() {
    let Some(files) = files() else { return };
    let allowed = |path: &Path| {
        path == Path::new(UNSAFE_FILE)
            || UNSAFE_ROOMS.iter().any(|room| path.starts_with(format!("crates/{room}")))
    };
    let mut broken = Vec::new();
    for path in files.iter().filter(|path| has_extension(path, &["rs"]) && !allowed(path)) {
        for (i, line) in text_of(path).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"]
                .iter()
                .any(|word| code.contains(word))
                && !code.contains('"')
            {
                broken.push(format!("{}:{}", path.display(), i + 1));
            }
        }
    }
    assert_none(&format!("unsafe only in fill, engine, host and {UNSAFE_FILE}"), broken);
}

#[test]
fn rooms_use_only_what_stands_to_their_left() {
    let rules: BTreeMap<&str, &[&str]> = MAY_USE.into();
    let mut broken = Vec::new();
    let crates = fs::read_dir(root().join("crates")).unwrap().flatten().map(|room| room.path());
    for room in crates.chain(ROOMS_BESIDE.map(|room| root().join(room))) {
        let name = room.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let manifest = fs::read_to_string(room.join("Cargo.toml")).unwrap_or_default();
        if manifest.is_empty() {
            continue;
        }
        let Some(allowed) = rules.get(name.as_str()) else {
            broken.push(format!("crates/{name}: a new room; say in MAY_USE what it may use"));
            continue;
        };
        let manifest: toml::Table = manifest.parse().unwrap();
        let used = manifest.get("dependencies").and_then(toml::Value::as_table).cloned().unwrap_or_default();
        for used in used.keys() {
            let ours = used.strip_prefix("iobound-").or((used == "iobound").then_some("iobound"));
            let foreign = ours.filter(|used| !allowed.contains(used));
            if let Some(foreign) = foreign {
                broken.push(format!("crates/{name} uses {foreign}"));
            }
        }
        let pure: &[&str] = match name.as_str() {
            "record" => &["serde", "thiserror"],
            "fill" => &[],
            _ => continue,
        };
        for used in used.keys().filter(|used| !pure.contains(&used.as_str())) {
            broken.push(format!("crates/{name} uses {used}; it is pure"));
        }
    }
    assert_none("rooms depend only on rooms to their left", broken);
}

#[test]
fn no_machine_of_ours_is_named() {
    let Some(files) = files() else { return };
    // In parts, or this file would name them.
    let private: Vec<String> = [("/wo", "rk/"), ("/ro", "ot/"), (".pyenv", "/"), ("fire", "cracker")]
        .map(|(a, b)| format!("{a}{b}"))
        .into();
    let mut broken = Vec::new();
    for path in files.iter().filter(|path| has_extension(path, &["rs", "py", "sh", "md", "toml", "json"])) {
        for (i, line) in text_of(path).lines().enumerate() {
            if private.iter().any(|word| line.contains(word.as_str())) {
                broken.push(format!("{}:{}: {}", path.display(), i + 1, line.trim()));
            }
        }
    }
    assert_none("no path or host of a developer's machine", broken);
}
