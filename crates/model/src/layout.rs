//! What an array of a context amounts to: capacity, stripe, alignment.

use iobound_record::{Array, ArrayManager, Context, Level};
use thiserror::Error;

/// An array or volume, seen from the file system on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Layout {
    /// Members of the outermost array; 1 for a volume.
    pub members: u32,
    /// Bytes that can be used, before what mdadm and LVM keep for themselves (up to 128 MiB a member:
    /// data offset in mdadm's super1.c; one extent in LVM).
    pub usable_bytes: u64,
    /// Bytes of larger members that stay unused.
    pub unused_bytes: u64,
    /// What goes to one disk before the next: su, ext4's stride in bytes. None without stripes.
    pub stripe_unit_bytes: Option<u64>,
    /// Disks that hold data in one stripe: sw.
    pub data_disks: u32,
}

impl Layout {
    /// A whole stripe, su x sw: ext4's stripe width in bytes. 0 without stripes.
    pub fn stripe_width_bytes(&self) -> u64 {
        self.stripe_unit_bytes.unwrap_or(0) * u64::from(self.data_disks)
    }
}

/// Why an array amounts to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// Named, but not there.
    #[error("'{name}' is neither a volume nor an array of this context")]
    Unknown {
        /// The name.
        name: String,
    },
    /// It is a member of itself.
    #[error("array '{name}' contains itself")]
    Circular {
        /// The array.
        name: String,
    },
    /// A level needs more.
    #[error("{level} of array '{name}' needs at least {least} members, and it has {members}")]
    TooFew {
        /// The array.
        name: String,
        /// Its level.
        level: &'static str,
        /// Fewest.
        least: u32,
        /// What it has.
        members: u32,
    },
    /// A level that stripes needs to know by how much.
    #[error("array '{name}' stripes, so it needs a chunk (mdadm) or stripe size (LVM), such as \"64KiB\"")]
    NoChunk {
        /// The array.
        name: String,
    },
}

/// What an array, volume group (of one) or volume of this name amounts to.
///
/// # Errors
/// As [`LayoutError`] says.
pub fn layout(context: &Context, name: &str) -> Result<Layout, LayoutError> {
    inside(context, name, &mut Vec::new())
}

fn inside(context: &Context, name: &str, within: &mut Vec<String>) -> Result<Layout, LayoutError> {
    if let Some(group) = context.volumes.iter().find(|group| group.volume_names().iter().any(|v| v == name)) {
        let size = group.size.0;
        return Ok(Layout { members: 1, usable_bytes: size, data_disks: 1, ..Layout::default() });
    }
    let array = context
        .arrays
        .iter()
        .find(|array| array.name == name)
        .ok_or_else(|| LayoutError::Unknown { name: name.to_owned() })?;
    if within.iter().any(|outer| outer == name) {
        return Err(LayoutError::Circular { name: name.to_owned() });
    }
    within.push(name.to_owned());
    let members = member_names(context, array)
        .iter()
        .map(|member| inside(context, member, within))
        .collect::<Result<Vec<_>, _>>()?;
    within.pop();
    put_together(array, &members)
}

/// Names of an array's members, with volume groups written out as their volumes.
pub fn member_names(context: &Context, array: &Array) -> Vec<String> {
    let names = array.members.iter().flat_map(|name| {
        match context.volumes.iter().find(|group| group.name == *name) {
            Some(group) => group.volume_names(),
            None => vec![name.clone()],
        }
    });
    names.collect()
}

/// Whether a level has a chunk.
pub fn is_striped(level: Level) -> bool {
    !matches!(level, Level::Raid1 | Level::Linear)
}

fn put_together(array: &Array, members: &[Layout]) -> Result<Layout, LayoutError> {
    let count = members.len() as u32;
    // LVM has no device for a stripe of one, but takes it as linear.
    let least = array.level.members_min();
    if count < least {
        let level = array.level.name();
        return Err(LayoutError::TooFew { name: array.name.clone(), level, least, members: count });
    }
    let sizes = || members.iter().map(|member| member.usable_bytes);
    let smallest = sizes().min().unwrap_or(0);
    let all: u64 = sizes().sum();
    let copies_of_smallest = |disks: u64| smallest.saturating_mul(disks);
    let n = u64::from(count);
    let (usable, used) = match array.level {
        // mdadm's RAID0 goes on over the members that have room left, in narrower stripes
        // (create_strip_zones, drivers/md/raid0.c); LVM does not.
        Level::Raid0 if array.manager == ArrayManager::Mdadm => (all, all),
        Level::Raid0 => (copies_of_smallest(n), copies_of_smallest(n)),
        Level::Linear => (all, all),
        Level::Raid1 => (smallest, copies_of_smallest(n)),
        // Two copies each (near=2), also over an odd number of members.
        Level::Raid10 => (copies_of_smallest(n) / 2, copies_of_smallest(n)),
        Level::Raid5 => (copies_of_smallest(n - 1), copies_of_smallest(n)),
        Level::Raid6 => (copies_of_smallest(n - 2), copies_of_smallest(n)),
    };
    let data_disks = match array.level {
        Level::Raid0 => count,
        Level::Raid1 | Level::Linear => 1,
        // Over an odd number the pattern repeats after all members: raid10_nr_stripes,
        // drivers/md/raid10.c.
        Level::Raid10 if count.is_multiple_of(2) => count / 2,
        Level::Raid10 => count,
        Level::Raid5 => count - 1,
        Level::Raid6 => count - 2,
    };
    let inner = members[0];
    let (stripe_unit_bytes, data_disks) = match (is_striped(array.level), array.chunk) {
        (true, None) => return Err(LayoutError::NoChunk { name: array.name.clone() }),
        // A mirror, or a row, of arrays has the stripe of the arrays.
        (false, _) => (inner.stripe_unit_bytes, inner.data_disks),
        (true, Some(chunk)) => {
            let whole = inner.stripe_width_bytes();
            // A chunk of whole inner stripes (RAID50 done right): the file system should fill those.
            if whole > 0 && chunk.0.is_multiple_of(whole) {
                (inner.stripe_unit_bytes, inner.data_disks * data_disks)
            } else {
                (Some(chunk.0), data_disks)
            }
        }
    };
    Ok(Layout {
        members: count,
        usable_bytes: usable,
        unused_bytes: all.saturating_sub(used),
        stripe_unit_bytes,
        data_disks,
    })
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
