//! The captured machines, probed, and then detected and checked by the model's rules.

use iobound_host::{ProbeOptions, System, probe, watch};
use iobound_model::check::{CheckInput, Target, check};
use iobound_model::context::{detect, is_usable, validate};
use iobound_record::{Check, Context, Outcome, Probe};

mod trees;

const TREES: [&str; 6] = ["ec2-raid10", "azure-lvm", "laptop", "nvme-multipath", "container", "oddities"];

fn probed(tree: &str) -> Probe {
    let root = trees::unpack(tree);
    probe(&System::captured(root.path()), &ProbeOptions { offline: true, ..ProbeOptions::default() })
}

#[test]
fn what_is_detected_is_sound_and_reads_back() {
    for tree in TREES {
        let found = detect(&probed(tree), &[]).context;
        if found.volumes.is_empty() {
            continue;
        }
        let problems = validate(&found);
        assert!(is_usable(&problems), "{tree}: {problems:#?}\n{found:#?}");
        let text = toml::to_string(&found).unwrap();
        assert_eq!(toml::from_str::<Context>(&text).unwrap(), found, "{tree}");
    }
}

fn checked(tree: &str, path: &str, context: bool) -> Vec<Check> {
    let probe = probed(tree);
    let root = trees::unpack(tree);
    let watched = watch(&System::captured(root.path()), 0.0, || false);
    let context = context.then(|| detect(&probe, &[]).context);
    let targets = [Target { path: path.into(), ..Target::default() }];
    check(&CheckInput {
        probe: &probe,
        context: context.as_ref(),
        watched: Some(&watched),
        targets: &targets,
    })
}

fn bad(checks: &[Check]) -> Vec<String> {
    let bad = checks.iter().filter(|check| check.outcome > Outcome::Unknown);
    bad.map(|check| format!("{:?} {} {}: {}", check.outcome, check.id, check.subject, check.value)).collect()
}

/// A host held against a context made from it is as it should be, but for what is wrong with any host.
#[test]
fn a_clean_host_raises_nothing() {
    for (tree, path) in [("ec2-raid10", "/data"), ("laptop", "/home/me"), ("nvme-multipath", "/mnt")] {
        assert_eq!(bad(&checked(tree, path, false)), Vec::<String>::new(), "{tree}");
    }
    assert_eq!(bad(&checked("ec2-raid10", "/data", true)), Vec::<String>::new());
}

#[test]
fn odd_machines_are_checked_without_harm() {
    for (tree, path) in [
        ("azure-lvm", "/mnt/data one/x"),
        ("container", "/data"),
        ("oddities", "/pool"),
        ("oddities", "/on-loop1"),
    ] {
        assert!(!checked(tree, path, true).is_empty(), "{tree}");
    }
}
