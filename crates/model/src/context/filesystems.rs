//! File systems: what they lie on, where they are mounted, how they are tuned.

use iobound_record::{Context, Directory, FileSystemSpec, Role};

use super::arrays::owner_of;
use super::names::{Named, named, unknown};
use super::words::{is_option, is_plain, path_fault, quoted};
use super::{Found, names};

/// Not to be mounted over: the system lives there.
const SYSTEM_TREES: [&str; 10] =
    ["/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr"];
/// Not to be mounted over, but a directory below will do.
const SYSTEM_PLACES: [&str; 8] = ["/home", "/opt", "/root", "/run", "/tmp", "/var", "/var/lib", "/var/log"];
const SCHEDULERS: [&str; 7] = ["none", "mq-deadline", "kyber", "bfq", "noop", "deadline", "cfq"];
/// Read-ahead is kept in pages.
const PAGE: u64 = 4096;
const READ_AHEAD_MAX: u64 = 1 << 30;
const NR_REQUESTS: std::ops::RangeInclusive<u32> = 4..=65_536;

pub(super) fn filesystems(found: &mut Found, context: &Context) {
    for (index, spec) in context.filesystems.iter().enumerate() {
        let place = format!("filesystem.{}", if spec.mount.is_empty() { &spec.on } else { &spec.mount });
        lies_on(found, &place, context, spec);
        mount(found, &place, &spec.mount);
        for other in &context.filesystems[..index] {
            not_the_same(found, &place, context, spec, other);
        }
        options(found, &place, &spec.options);
        tuning(found, &place, spec);
        for directory in &spec.directories {
            self::directory(found, &format!("{place}.directories"), directory);
        }
    }
}

fn lies_on(found: &mut Found, place: &str, context: &Context, spec: &FileSystemSpec) {
    let place = format!("{place}.on");
    match named(context, &spec.on) {
        None => {
            let (what, remedy) = unknown(context, &spec.on);
            found.error(place, what, remedy);
        }
        Some(Named::Group(group)) if group.count.0 != 1 => {
            let what = format!("{} is a group of {} volumes", quoted(&spec.on), group.count.0);
            let first = format!("{}-1", group.name);
            found.error(place, what, format!("name one of them ({}), or an array of them", quoted(&first)));
        }
        Some(_) => {
            if let Some(owner) = owner_of(context, &spec.on) {
                let what = format!("{} is a member of array {}", quoted(&spec.on), quoted(owner));
                found.error(place, what, "put the file system on the array");
            }
        }
    }
}

fn mount(found: &mut Found, place: &str, mount: &str) {
    let place = format!("{place}.mount");
    let Some(path) = mount.strip_prefix('/') else {
        let what =
            if mount.is_empty() { "is missing".into() } else { format!("{} is relative", quoted(mount)) };
        found.error(place, what, "give the whole path: \"/data\"");
        return;
    };
    let plain = mount.trim_end_matches('/');
    let below = |tree: &str| plain == tree || plain.starts_with(&format!("{tree}/"));
    let system =
        plain.is_empty() || SYSTEM_PLACES.contains(&plain) || SYSTEM_TREES.iter().any(|tree| below(tree));
    if system {
        let what = format!("{} belongs to the system", quoted(mount));
        found.error(place, what, "mount on a directory of its own: \"/data\"");
    } else if let Some(fault) = path_fault(path) {
        found.error(place, format!("{} {fault}", quoted(mount)), "use a plain path: \"/data\"");
    }
}

fn not_the_same(
    found: &mut Found,
    place: &str,
    context: &Context,
    one: &FileSystemSpec,
    two: &FileSystemSpec,
) {
    if !one.mount.is_empty() && one.mount.trim_end_matches('/') == two.mount.trim_end_matches('/') {
        let what = format!("{} is the mount point of another file system too", quoted(&one.mount));
        found.error(format!("{place}.mount"), what, "give each its own");
    }
    let of = names::units(context, &one.on);
    if !of.is_empty() && names::units(context, &two.on).iter().any(|unit| of.contains(unit)) {
        let what = format!("{} already holds {}", quoted(&one.on), quoted(&two.mount));
        found.error(format!("{place}.on"), what, "one file system to an array or volume");
    }
    // Two data volumes may be meant; two logs are not: no job would know which.
    if one.role == Some(Role::Wal) && two.role == Some(Role::Wal) {
        found.warning(format!("{place}.role"), "a second file system is 'wal'", "jobs take the first");
    }
}

fn options(found: &mut Found, place: &str, options: &[String]) {
    let place = format!("{place}.options");
    for (index, option) in options.iter().enumerate() {
        if !is_option(option) {
            let what = format!("{} is no single mount option", quoted(option));
            found.error(&place, what, "one option an entry, no commas, spaces or quotes: [\"noatime\"]");
        } else if options[..index].contains(option) {
            found.warning(&place, format!("{} stands twice", quoted(option)), "leave one out");
        } else if ["nobarrier", "barrier=0", "barrier=none"].contains(&option.as_str()) {
            found.warning(
                &place,
                format!("{} gives up what was synced at a power cut", quoted(option)),
                "leave it out; a commit is then what it says",
            );
        }
    }
    let atime = ["noatime", "relatime", "strictatime"];
    let several: Vec<&str> = options.iter().map(String::as_str).filter(|o| atime.contains(o)).collect();
    if several.len() > 1 && several.iter().any(|option| *option != several[0]) {
        found.error(&place, format!("{} contradict each other", several.join(" and ")), "leave one of them");
    }
}

fn tuning(found: &mut Found, place: &str, spec: &FileSystemSpec) {
    if let Some(bytes) = spec.read_ahead.map(|size| size.0)
        && (!bytes.is_multiple_of(PAGE) || bytes > READ_AHEAD_MAX)
    {
        found.error(
            format!("{place}.read_ahead"),
            format!("{bytes} bytes is no read-ahead"),
            "use whole pages of 4 KiB, up to 1 GiB: \"64KiB\"",
        );
    }
    if let Some(scheduler) = &spec.scheduler {
        let place = format!("{place}.scheduler");
        if !is_plain(scheduler) {
            found.error(place, format!("{} is no word", quoted(scheduler)), "use none or mq-deadline");
        } else if !SCHEDULERS.contains(&scheduler.as_str()) {
            let what = format!("{} is no scheduler that iobound knows", quoted(scheduler));
            found.warning(place, what, format!("known: {}", SCHEDULERS.join(", ")));
        }
    }
    if spec.nr_requests.is_some_and(|requests| !NR_REQUESTS.contains(&requests)) {
        let remedy = format!("use {} to {}", NR_REQUESTS.start(), NR_REQUESTS.end());
        found.error(format!("{place}.nr_requests"), "is out of range", remedy);
    }
}

fn directory(found: &mut Found, place: &str, directory: &Directory) {
    if directory.path.starts_with('/') {
        let what = format!("{} is absolute", quoted(&directory.path));
        found.error(place, what, "give it relative to the mount point");
    } else if let Some(fault) = path_fault(&directory.path) {
        found.error(place, format!("{} {fault}", quoted(&directory.path)), "use a plain path: \"pgdata/16\"");
    }
    let owner_fits = || {
        let mut parts = directory.owner.split(':');
        let all_plain = parts.clone().all(|part| is_plain(part) && !part.starts_with(['-', '.']));
        all_plain && parts.by_ref().count() <= 2
    };
    if !directory.owner.is_empty() && !owner_fits() {
        let what = format!("owner {} is neither user nor user:group", quoted(&directory.owner));
        found.error(place, what, "write postgres or postgres:postgres");
    }
    let digits = directory.mode.trim_start_matches('0');
    let mode_fits = directory.mode.len() <= 5
        && directory.mode.chars().all(|c| ('0'..='7').contains(&c))
        && (3..=4).contains(&digits.len());
    if !directory.mode.is_empty() && !mode_fits {
        let what = format!("mode {} is not octal", quoted(&directory.mode));
        found.error(place, what, "write for example 0700");
    }
}
