//! What the real tools do to a host, as far as preparing uses them. Each writes piece by piece, so a cut
//! can fall in the middle.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use iobound_record::DeviceSort;

use crate::host::{Block, Content, SimulatedHost, State, disk};

pub enum Failed {
    Said(String),
    Cut(io::Error),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Failed::Cut(error)
    }
}

type Outcome = Result<String, Failed>;

fn no(words: impl Into<String>) -> Failed {
    Failed::Said(words.into())
}

fn device(host: &SimulatedHost, node: &str) -> Result<String, Failed> {
    host.state.borrow().device(node).ok_or_else(|| no(format!("{node}: no such device")))
}

fn put(host: &SimulatedHost, name: &str, content: Content) -> Result<(), Failed> {
    host.tick()?;
    host.state.borrow_mut().blocks.get_mut(name).unwrap().content = content;
    Ok(())
}

fn content(host: &SimulatedHost, name: &str) -> Content {
    host.state.borrow().blocks[name].content.clone()
}

/// As the tools do: they refuse what is in use, and what has a signature.
fn is_free(host: &SimulatedHost, name: &str) -> Result<(), Failed> {
    let state = host.state.borrow();
    if !state.above(name).is_empty() || state.mounts.iter().any(|mount| mount.1 == name) {
        return Err(no(format!("{name} is busy")));
    }
    match state.blocks[name].content {
        Content::Empty | Content::Junk => Ok(()),
        _ => Err(no(format!("{name} holds something"))),
    }
}

fn value<'a>(argv: &[&'a str], key: &str) -> Option<&'a str> {
    let with_equals = argv.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    with_equals.or_else(|| argv.iter().position(|word| *word == key).map(|at| argv[at + 1]))
}

pub fn run(host: &SimulatedHost, argv: &[&str]) -> Outcome {
    match argv {
        ["apt-get" | "env" | "systemctl" | "udevadm" | "update-initramfs" | "blockdev", ..] => {
            Ok(String::new())
        }
        ["mdadm", "--create", node, rest @ ..] => md_create(host, node, rest),
        ["mdadm", "--stop", node] => remove_block(host, node),
        ["mdadm", "--examine", "--export", node] => match content(host, &device(host, node)?) {
            Content::MdMember(uuid) => Ok(format!("MD_LEVEL=x\nMD_UUID={uuid}\n")),
            _ => Err(no("no md superblock")),
        },
        ["mdadm", "--zero-superblock", node] => {
            put(host, &device(host, node)?, Content::Junk).map(|()| String::new())
        }
        ["pvcreate", "--uuid", uuid, "--norestorefile", node] => {
            let name = device(host, node)?;
            is_free(host, &name)?;
            let (uuid, group) = (uuid.to_string(), String::new());
            put(host, &name, Content::Pv { uuid, group }).map(|()| String::new())
        }
        ["vgcreate", "--addtag", tag, group, nodes @ ..] => vgcreate(host, tag, group, nodes),
        ["lvcreate", rest @ ..] => lvcreate(host, rest),
        ["vgs", .., group] => host.state.borrow().groups.get(*group).cloned().ok_or_else(|| no("not found")),
        ["lvs", .., group] => {
            let state = host.state.borrow();
            let names =
                state.blocks.values().filter_map(|block| block.uuid.strip_prefix(&format!("{group}/")));
            Ok(names.collect::<Vec<_>>().join("\n"))
        }
        ["pvs", .., node] => match content(host, &device(host, node)?) {
            Content::Pv { uuid, group } => Ok(format!("  {uuid} {group}\n")),
            _ => Err(no("no physical volume")),
        },
        ["lvremove", "--yes", name] => remove_block(host, &format!("/dev/{name}")),
        ["vgremove", group] => {
            host.tick()?;
            let mut state = host.state.borrow_mut();
            state.groups.remove(*group);
            for block in state.blocks.values_mut() {
                if let Content::Pv { group: of, .. } = &mut block.content
                    && of == group
                {
                    of.clear();
                }
            }
            Ok(String::new())
        }
        ["pvremove", "--force", "--force", "--yes", node] | ["pvremove", node] => {
            put(host, &device(host, node)?, Content::Junk).map(|()| String::new())
        }
        ["mkfs.xfs" | "mke2fs", ..] => mkfs(host, argv),
        ["mount", "-o", options, target] => {
            host.tick()?;
            let mut state = host.state.borrow_mut();
            let mount =
                state.mounts.iter_mut().find(|mount| mount.0 == *target).ok_or_else(|| no("not mounted"))?;
            mount.2 = options.trim_start_matches("remount,").into();
            Ok(String::new())
        }
        ["mount", "-t", _, "-o", options, node, target] => mount(host, &device(host, node)?, target, options),
        ["mount", target] => {
            let (uuid, options) = from_fstab(&host.state.borrow(), target)?;
            let is = |content: &Content| matches!(content, Content::Fs { uuid: is, .. } if *is == uuid);
            let found =
                host.state.borrow().blocks.iter().find(|(_, b)| is(&b.content)).map(|(name, _)| name.clone());
            mount(host, &found.ok_or_else(|| no("can't find UUID"))?, target, &options)
        }
        ["umount", target] => {
            host.tick()?;
            let mut state = host.state.borrow_mut();
            let at =
                state.mounts.iter().rposition(|mount| mount.0 == *target).ok_or_else(|| no("not mounted"))?;
            state.mounts.remove(at);
            Ok(String::new())
        }
        _ => panic!("the simulated host has no {argv:?}"),
    }
}

fn md_create(host: &SimulatedHost, node: &str, rest: &[&str]) -> Outcome {
    let uuid = value(rest, "--uuid").unwrap().to_owned();
    let nodes = rest.iter().filter(|word| word.starts_with("/dev/"));
    let members = nodes.map(|node| device(host, node)).collect::<Result<Vec<_>, _>>()?;
    assert_eq!(value(rest, "--raid-devices").unwrap(), members.len().to_string());
    for member in &members {
        is_free(host, member)?;
    }
    for member in &members {
        put(host, member, Content::MdMember(uuid.clone()))?;
    }
    host.tick()?;
    let mut state = host.state.borrow_mut();
    let number = (0..).find(|number| !state.blocks.contains_key(&format!("md{number}"))).unwrap();
    let size = members.iter().map(|member| state.blocks[member].size).min().unwrap();
    let name = node
        .strip_prefix("/dev/")
        .filter(|name| !name.contains('/'))
        .map_or(format!("md{number}"), str::to_owned);
    let block = Block {
        sort: DeviceSort::Md,
        node: node.into(),
        level: value(rest, "--level").unwrap().into(),
        chunk: value(rest, "--chunk").map_or(0, |kib| kib.parse::<u64>().unwrap() << 10),
        below: members,
        uuid,
        ..disk("", size)
    };
    state.blocks.insert(name, block);
    Ok(String::new())
}

fn vgcreate(host: &SimulatedHost, tag: &str, group: &str, nodes: &[&str]) -> Outcome {
    for node in nodes {
        let name = device(host, node)?;
        let Content::Pv { uuid, .. } = content(host, &name) else { return Err(no("no physical volume")) };
        host.tick()?;
        host.state.borrow_mut().blocks.get_mut(&name).unwrap().content =
            Content::Pv { uuid, group: group.to_owned() };
    }
    host.state.borrow_mut().groups.insert(group.to_owned(), tag.to_owned());
    Ok(String::new())
}

fn lvcreate(host: &SimulatedHost, rest: &[&str]) -> Outcome {
    host.tick()?;
    let [.., volume, group] = rest else { panic!("{rest:?}") };
    let mut state = host.state.borrow_mut();
    let is_in = |content: &Content| matches!(content, Content::Pv { group: of, .. } if of == group);
    let below: Vec<String> =
        state.blocks.iter().filter(|(_, b)| is_in(&b.content)).map(|(n, _)| n.clone()).collect();
    let number = (0..).find(|number| !state.blocks.contains_key(&format!("dm-{number}"))).unwrap();
    let chunk =
        value(rest, "--stripesize").map_or(0, |k| k.trim_end_matches('k').parse::<u64>().unwrap() << 10);
    let block = Block {
        sort: DeviceSort::Lvm,
        node: format!("/dev/{group}/{volume}"),
        level: value(rest, "--type").unwrap_or("striped").into(),
        chunk,
        below,
        uuid: format!("{group}/{volume}"),
        ..disk("", 1 << 30)
    };
    state.blocks.insert(format!("dm-{number}"), block);
    Ok(String::new())
}

fn remove_block(host: &SimulatedHost, node: &str) -> Outcome {
    let name = device(host, node)?;
    {
        let state = host.state.borrow();
        if !state.above(&name).is_empty() || state.mounts.iter().any(|mount| mount.1 == name) {
            return Err(no(format!("{node} is in use")));
        }
    }
    host.tick()?;
    host.state.borrow_mut().blocks.remove(&name);
    Ok(String::new())
}

fn mkfs(host: &SimulatedHost, argv: &[&str]) -> Outcome {
    let name = device(host, argv.last().unwrap())?;
    is_free(host, &name)?;
    let number = |text: &str| text.trim_end_matches('k').parse::<u64>().unwrap();
    let (kind, uuid, stripe) = match argv[0] {
        "mkfs.xfs" => {
            let stripe = value(argv, "-d").map_or((0, 0), |words| {
                let (su, sw) = words.split_once(",sw=").unwrap();
                let su = number(su.trim_start_matches("su=")) << 10;
                (su, su * number(sw))
            });
            ("xfs", value(argv, "-m").unwrap().trim_start_matches("uuid="), stripe)
        }
        _ => {
            let stripe = value(argv, "-E").map_or((0, 0), |words| {
                let (stride, width) = words.split_once(",stripe-width=").unwrap();
                (number(stride.trim_start_matches("stride=")) << 12, number(width) << 12)
            });
            (value(argv, "-t").unwrap(), value(argv, "-U").unwrap(), stripe)
        }
    };
    // First blocks that say nothing, the superblock last.
    put(host, &name, Content::Junk)?;
    let (kind, uuid) = (kind.to_owned(), uuid.to_owned());
    let fs = Content::Fs { kind, uuid, stripe, directories: BTreeMap::new(), files: BTreeSet::new() };
    put(host, &name, fs).map(|()| String::new())
}

fn from_fstab(state: &State, target: &str) -> Result<(String, String), Failed> {
    let text = String::from_utf8_lossy(&state.files["/etc/fstab"]).into_owned();
    let entry = iobound_model::prepare::parse_fstab(&text).into_iter().find(|entry| entry.mount == target);
    let entry = entry.ok_or_else(|| no("not in fstab"))?;
    Ok((entry.source.trim_start_matches("UUID=").to_owned(), entry.options))
}

fn mount(host: &SimulatedHost, name: &str, target: &str, options: &str) -> Outcome {
    if !host.state.borrow().directories.contains_key(target) {
        return Err(no("mount point does not exist"));
    }
    host.tick()?;
    host.state.borrow_mut().mounts.push((target.into(), name.to_owned(), options.into()));
    Ok(String::new())
}
