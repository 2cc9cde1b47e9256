//! The bodies of the fuzz targets on a stable toolchain: over the seed corpus, over what small
//! changes make of it, and over arbitrary bytes.

use std::path::{Path, PathBuf};

use iobound_jobfile::fuzz_bodies::{Body, TARGETS};
use iobound_jobfile::option_names;
use proptest::prelude::*;

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut seeds: Vec<_> = std::fs::read_dir(&directory)
        .unwrap_or_else(|e| panic!("{}: {e}", directory.display()))
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect();
    seeds.sort();
    assert!(seeds.len() >= 4, "{} has no seeds", directory.display());
    seeds
}

fn body(target: &str) -> Body {
    TARGETS.iter().find(|(name, _)| *name == target).expect("a target").1
}

#[test]
fn every_seed_and_every_cut_of_it() {
    for (target, body) in TARGETS {
        for (path, seed) in corpus(target) {
            eprintln!("{}", path.display());
            body(&seed);
            for end in 0..seed.len() {
                body(&seed[..end]);
            }
        }
    }
}

/// Lines that look like options, of names that exist and values that often do.
fn option_line() -> impl Strategy<Value = String> {
    let name = proptest::sample::select(option_names().collect::<Vec<_>>());
    let value = prop_oneof![
        "[0-9]{1,20}[kmgtpzs%]?",
        "-?[0-9a-z.:,/%-]{0,12}",
        "[0-9]{1,3}k/[0-9]{1,3}:[0-9]{1,3}k",
        "(1|0|none|read|randrw|crc32c|zipf:[0-9].[0-9]|dsync)",
        ".{0,12}",
    ];
    let line = (name, value).prop_map(|(name, value)| format!("{name}={value}"));
    prop_oneof![
        12 => line.clone(),
        2 => line.prop_map(|line| format!("#iobound: {line}")),
        1 => "[a-z_]{1,12}",
        1 => "\\[(global|/dev/)?[a-z ]{0,8}\\]",
        1 => "include [a-z.]{1,8}",
    ]
}

fn toml_line() -> impl Strategy<Value = String> {
    let name = proptest::sample::select(option_names().collect::<Vec<_>>());
    let value = prop_oneof![
        "[0-9]{1,12}",
        "\"[0-9a-z:/,%.]{0,12}\"",
        "(true|false)",
        "[0-9].[0-9]{1,3}",
        "\\[1, \"a\"\\]"
    ];
    prop_oneof![
        8 => (name, value).prop_map(|(name, value)| format!("{name} = {value}")),
        1 => Just("[[job]]\nname = \"x\"".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes(data in prop::collection::vec(any::<u8>(), 0..200)) {
        for (_, body) in TARGETS {
            body(&data);
        }
    }

    #[test]
    fn arbitrary_text(text in "\\PC{0,40}") {
        for (_, body) in TARGETS {
            body(text.as_bytes());
        }
    }

    #[test]
    fn lines_like_options(lines in prop::collection::vec(option_line(), 0..12)) {
        body("jobfile_fio")(format!("[a]\n{}\n", lines.join("\n")).as_bytes());
    }

    #[test]
    fn one_option_of_each_kind(line in option_line()) {
        body("jobfile_fio")(format!("[a]\n{line}\n").as_bytes());
    }

    #[test]
    fn lines_like_toml(lines in prop::collection::vec(toml_line(), 0..6)) {
        body("jobfile_toml")(format!("[[job]]\nname = \"a\"\n{}\n", lines.join("\n")).as_bytes());
    }
}
