//! What the names of a context mean.

use std::collections::BTreeMap;

use iobound_record::{Array, Context, VolumeGroup};

use super::Found;
use super::words::{nearest_to, quoted};

/// More volumes than this in a group is a slip of the pen: EC2 attaches at most 128, Azure 64.
pub(super) const COUNT_MAX: u32 = 1024;

/// What a name stands for.
#[derive(Clone, Copy)]
pub(super) enum Named<'a> {
    /// All volumes of a group.
    Group(&'a VolumeGroup),
    /// One of several volumes of a group.
    Volume(&'a VolumeGroup),
    /// An array.
    Array(&'a Array),
}

/// Names of a group's volumes; none for a count that is itself an error, since 4 billion names would
/// take the machine down before anybody read the message.
pub(super) fn volume_names(group: &VolumeGroup) -> Vec<String> {
    if group.count.0 <= COUNT_MAX { group.volume_names() } else { Vec::new() }
}

/// What a name stands for; None when nothing has it.
pub(super) fn named<'a>(context: &'a Context, name: &str) -> Option<Named<'a>> {
    if let Some(group) = context.volumes.iter().find(|group| group.name == name) {
        return Some(Named::Group(group));
    }
    if let Some(array) = context.arrays.iter().find(|array| array.name == name) {
        return Some(Named::Array(array));
    }
    let within = |group: &&VolumeGroup| {
        let number = name.strip_prefix(group.name.as_str()).and_then(|rest| rest.strip_prefix('-'));
        let number = number.filter(|digits| !digits.starts_with(['0', '+'])).and_then(|n| n.parse().ok());
        group.count.0 > 1 && number.is_some_and(|n: u32| (1..=group.count.0.min(COUNT_MAX)).contains(&n))
    };
    context.volumes.iter().find(within).map(Named::Volume)
}

/// Single volumes and arrays that a name comes to: a group's volumes, else itself.
pub(super) fn units(context: &Context, name: &str) -> Vec<String> {
    match named(context, name) {
        Some(Named::Group(group)) => volume_names(group),
        Some(_) => vec![name.to_owned()],
        None => Vec::new(),
    }
}

/// Every unit that is a member of an array, with that array's name.
pub(super) fn owners(context: &Context) -> BTreeMap<String, &str> {
    let mut owners = BTreeMap::new();
    for array in &context.arrays {
        for unit in array.members.iter().flat_map(|member| units(context, member)) {
            owners.entry(unit).or_insert(array.name.as_str());
        }
    }
    owners
}

/// What to do about a name that nothing has.
pub(super) fn unknown(context: &Context, name: &str) -> (String, String) {
    let known: Vec<&str> = context
        .volumes
        .iter()
        .map(|group| group.name.as_str())
        .chain(context.arrays.iter().map(|array| array.name.as_str()))
        .collect();
    let remedy = match nearest_to(name, known.iter().copied()) {
        Some(near) => format!("did you mean {}?", quoted(near)),
        None if known.is_empty() => "write the [[volume]] first".to_owned(),
        None => format!("known names: {}", known.join(", ")),
    };
    (format!("no volume or array is named {}", quoted(name)), remedy)
}

/// No two things of one name.
pub(super) fn unique(found: &mut Found, context: &Context) {
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    let mut take = |name: String, place: String| {
        if name.is_empty() {
            return;
        }
        if let Some(first) = taken.get(&name) {
            let what = format!("{} is already the name of {first}", quoted(&name));
            found.error(format!("{place}.name"), what, "rename one of them");
        } else {
            taken.insert(name, place);
        }
    };
    for group in &context.volumes {
        take(group.name.clone(), format!("volume.{}", group.name));
        // A group of one has its own name as its volume's.
        for volume in volume_names(group).into_iter().filter(|volume| *volume != group.name) {
            take(volume, format!("volume.{}", group.name));
        }
    }
    for array in &context.arrays {
        take(array.name.clone(), format!("array.{}", array.name));
    }
}
