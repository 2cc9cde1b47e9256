//! What a person reads of captured machines, at 80 columns.

use iobound_host::{ProbeOptions, System, probe};

#[path = "../../../../host/tests/trees/mod.rs"]
mod trees;

use super::*;

fn shown(tree: &str, width: usize) -> String {
    let root = trees::unpack(tree);
    let probe = probe(&System::captured(root.path()), &ProbeOptions::default());
    render(&probe, Look { width, colour: false, unicode: false })
}

macro_rules! machines {
    ($($name:ident: $tree:literal,)*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(shown($tree, 80));
        }
    )*};
}

machines! {
    sixteen_volumes: "ec2-16-gp3",
    azure: "azure-lvm",
    laptop: "laptop",
    container: "container",
    nvme_multipath: "nvme-multipath",
    oddities: "oddities",
    broken: "broken",
}

#[test]
fn nothing_is_known() {
    insta::assert_snapshot!(render(&Probe::default(), Look { width: 80, colour: false, unicode: false }));
}

/// Serial numbers and mount points are other people's text: none of it may steer the terminal.
#[test]
fn no_control_characters() {
    for tree in ["broken", "oddities", "ec2-16-gp3"] {
        for width in [0, 60, 80, 200] {
            let text = shown(tree, width);
            assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{tree}: {text}");
        }
    }
}

#[test]
fn lines_fit() {
    for tree in ["ec2-16-gp3", "azure-lvm", "laptop", "container", "nvme-multipath"] {
        for width in [80, 100] {
            let text = shown(tree, width);
            let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > width).collect();
            assert!(long.is_empty(), "{tree} at {width}: {long:?}");
        }
    }
}
