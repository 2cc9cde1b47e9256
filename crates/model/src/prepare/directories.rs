//! Stage 05: the directories of the database.

use iobound_record::{Directory, FileSystemSpec, Interests, Op, Stage, Step, StepState};

use super::arrays::change;
use super::builder::Builder;
use super::filesystems::mount_id;
use super::os::settled;

/// Mode of a directory that says nothing else, and of those above it.
const MODE: u32 = 0o755;

/// A directory and those above it, from the mount point down, relative to it.
fn chain(directory: &Directory) -> Vec<String> {
    let parts: Vec<&str> = directory.path.split('/').collect();
    (1..=parts.len()).map(|length| parts[..length].join("/")).collect()
}

/// Every directory that is ours, relative to the mount point.
pub(super) fn paths(spec: &FileSystemSpec) -> Vec<String> {
    let mut all: Vec<String> = spec.directories.iter().flat_map(chain).collect();
    all.sort();
    all.dedup();
    all
}

/// What must be known for them.
pub(super) fn interests(spec: &FileSystemSpec, wanted: &mut Interests) {
    wanted.directories.extend(paths(spec).iter().map(|path| format!("{}/{path}", spec.mount)));
    for directory in &spec.directories {
        let (user, group) = owner(directory);
        wanted.accounts.extend([user, format!(":{group}")]);
    }
}

/// User and group; a user alone stands for the group of the same name.
fn owner(directory: &Directory) -> (String, String) {
    match directory.owner.split_once(':') {
        Some((user, group)) => (user.to_owned(), group.to_owned()),
        None if directory.owner.is_empty() => ("root".into(), "root".into()),
        None => (directory.owner.clone(), directory.owner.clone()),
    }
}

pub(super) fn mode(directory: &Directory) -> u32 {
    u32::from_str_radix(&directory.mode, 8).unwrap_or(MODE)
}

pub(super) fn add(builder: &mut Builder) {
    for spec in builder.context().filesystems.iter().filter(|spec| !spec.directories.is_empty()) {
        // Those above first, or they would be made on the way with another owner.
        let mut directories: Vec<&Directory> = spec.directories.iter().collect();
        directories.sort_by(|a, b| a.path.cmp(&b.path));
        for directory in directories {
            one(builder, spec, directory);
        }
    }
}

fn one(builder: &mut Builder, spec: &FileSystemSpec, directory: &Directory) {
    let ground = builder.ground();
    let path = format!("{}/{}", spec.mount, directory.path);
    let (user, group) = owner(directory);
    let mut step = Step {
        id: format!("directory-{}-{}", spec.on, directory.path.replace('/', "-")),
        stage: Stage::Db,
        title: format!("directory {path}"),
        needs: vec![mount_id(spec)],
        ..Step::default()
    };
    // Before its file system is there, what is seen in its place is another's.
    let is_mounted = builder
        .probe()
        .mounted_at(&spec.mount)
        .is_some_and(|fs| fs.device == builder.member(&spec.on).device);
    let wanted = format!("{user}:{group} {:04o}", mode(directory));
    let now = ground.directories.get(&path).filter(|_| is_mounted);
    let current = now.map_or_else(String::new, |facts| format!("{} {:04o}", facts.owner, facts.mode));
    step.changes.push(change(&path, &current, &wanted));
    let known = |name: &str| name == "root" || ground.accounts.contains(name);
    if !known(&user) || !(group == "root" || known(&format!(":{group}"))) {
        let why =
            format!("there is no {user}:{group} on this host yet: install the database, then apply again");
        step.state = StepState::Skipped { why };
        builder.push(step);
        return;
    }
    if let Some(facts) = now {
        if current != wanted {
            let why = format!("it is {} {:04o} and was made by somebody else", facts.owner, facts.mode);
            step.state = StepState::Skipped { why };
        } else {
            step.state = StepState::Done;
        }
        builder.push(step);
        return;
    }
    let owner = format!("{user}:{group}");
    let chain = chain(directory);
    for (at, part) in chain.iter().enumerate() {
        let path = format!("{}/{part}", spec.mount);
        let is_last = at + 1 == chain.len();
        if !is_last && is_mounted && ground.directories.contains_key(&path) {
            continue;
        }
        let (owner, mode) =
            if is_last { (owner.clone(), mode(directory)) } else { ("root:root".into(), MODE) };
        step.ops.push(Op::MakeDirectory { path, owner, mode });
    }
    builder.push(settled(step));
}
