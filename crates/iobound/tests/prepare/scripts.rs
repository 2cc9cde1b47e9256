//! The scripts: sound by shellcheck, and without a name of a disk.

use std::fs;
use std::process::Command;

use iobound_host::prepare::{Machine, Planner};
use iobound_lab::{LabError, require};
use iobound_model::prepare::{Input, scripts};
use iobound_record::{ArrayManager, Context, FileSystemKind, Level};

use crate::contexts::{self, planner};
use crate::properties::host;

fn of(context: &Context) -> std::collections::BTreeMap<String, String> {
    let (host, planner) = (host(8), planner(context));
    let probe = host.probe().unwrap();
    let ground = host.ground(&planner.interests(&probe));
    scripts(&Input { context, probe: &probe, ground: &ground, destroy: &[] })
}

fn contexts() -> [Context; 3] {
    [
        contexts::one(ArrayManager::Mdadm, Level::Raid10, 8, FileSystemKind::Xfs),
        contexts::one(ArrayManager::Lvm, Level::Raid0, 4, FileSystemKind::Ext3),
        Context {
            arrays: Vec::new(),
            filesystems: vec![contexts::filesystem("v", FileSystemKind::Ext4)],
            ..contexts::one(ArrayManager::Mdadm, Level::Raid0, 1, FileSystemKind::Ext4)
        },
    ]
}

#[test]
fn shellcheck_finds_nothing() {
    let found = Command::new("shellcheck").arg("--version").output();
    if require(found.map_err(|_| LabError::Skip("shellcheck is not installed".into()))).is_none() {
        return;
    }
    for context in contexts() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in of(&context) {
            fs::write(dir.path().join(name), text).unwrap();
        }
        let paths: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(paths.len() >= 5, "{paths:?}");
        let checked = Command::new("shellcheck").args(&paths).output().unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    }
}

#[test]
fn disks_are_found_by_serial() {
    for context in contexts() {
        for (name, text) in of(&context) {
            assert!(text.starts_with("#!/usr/bin/env bash\n# iobound prepare"), "{name}");
            assert!(text.contains("set -euo pipefail"), "{name}");
            assert!(!text.contains("/dev/nvme"), "{name}: {text}");
        }
    }
}

#[test]
fn the_array_script() {
    let context = contexts::one(ArrayManager::Mdadm, Level::Raid1, 2, FileSystemKind::Xfs);
    let all = of(&context);
    let body = |name: &str| {
        let text = &all[name];
        text[text.find("\n# v-1\n").or_else(|| text.find("\n\n# ")).unwrap()..].to_owned()
    };
    insta::assert_snapshot!(format!("{}\n-----{}", body("02-raid-setup.sh"), body("03-disk-tuning.sh")));
}
