//! Contexts to try: each level, by mdadm and LVM, nested, on bare disks.

use iobound::prepare::ContextPlanner;
use iobound_record::{
    Array, ArrayManager, Bytes, Context, Count, Directory, FileSystemKind, FileSystemSpec, Level, OsSettings,
    VolumeGroup,
};

pub const SIZE: u64 = 1 << 30;

pub fn group(name: &str, serials: &[String]) -> VolumeGroup {
    VolumeGroup {
        name: name.into(),
        count: Count(serials.len() as u32),
        kind: "virtual".into(),
        size: Bytes(SIZE),
        serials: serials.to_vec(),
        ..VolumeGroup::default()
    }
}

pub fn serials(from: usize, count: usize) -> Vec<String> {
    (from..from + count).map(|number| format!("vol{number}")).collect()
}

pub fn array(name: &str, manager: ArrayManager, level: Level, members: &[&str]) -> Array {
    let chunk = !matches!(level, Level::Raid1 | Level::Linear);
    Array {
        name: name.into(),
        manager,
        level,
        chunk: chunk.then_some(Bytes(64 << 10)),
        members: members.iter().map(ToString::to_string).collect(),
        device: String::new(),
    }
}

pub fn filesystem(on: &str, kind: FileSystemKind) -> FileSystemSpec {
    FileSystemSpec {
        on: on.into(),
        kind,
        mount: format!("/mnt/{on}"),
        read_ahead: Some(Bytes(64 << 10)),
        scheduler: Some("mq-deadline".into()),
        nr_requests: Some(128),
        directories: vec![
            Directory { path: "pg/data".into(), owner: "postgres".into(), mode: "0700".into() },
            Directory { path: "other".into(), owner: "nobody-here".into(), mode: String::new() },
        ],
        ..FileSystemSpec::default()
    }
}

pub fn os() -> OsSettings {
    OsSettings {
        dirty_bytes: Some(Bytes(64 << 20)),
        dirty_background_ratio: Some(1),
        swappiness: Some(1),
        transparent_hugepage: Some("never".into()),
        nofile: Some(65536),
        ..OsSettings::default()
    }
}

pub fn one(manager: ArrayManager, level: Level, members: usize, kind: FileSystemKind) -> Context {
    Context {
        schema: 1,
        name: "test".into(),
        volumes: vec![group("v", &serials(0, members))],
        arrays: vec![array("data", manager, level, &["v"])],
        filesystems: vec![filesystem("data", kind)],
        os: os(),
        ..Context::default()
    }
}

pub fn planner(context: &Context) -> ContextPlanner {
    ContextPlanner { context: context.clone(), named: Vec::new() }
}
