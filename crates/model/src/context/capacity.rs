//! What an array or a volume of a context holds.

use iobound_record::{Array, ArrayManager, Context, Level, VolumeGroup};

use super::names::{self, Named};

/// Arrays upon arrays deeper than this are a cycle.
const DEPTH_MAX: u32 = 16;

/// Bytes that an array, a volume or a group (one of its volumes) holds, without the managers' own
/// metadata. None for an unknown name or a cycle of arrays.
pub fn capacity(context: &Context, name: &str) -> Option<u64> {
    capacity_within(context, name, DEPTH_MAX)
}

fn capacity_within(context: &Context, name: &str, depth: u32) -> Option<u64> {
    match names::named(context, name)? {
        Named::Group(group) | Named::Volume(group) => Some(group.size.0),
        Named::Array(array) => {
            let depth = depth.checked_sub(1)?;
            let units = members(context, array);
            let sizes: Option<Vec<u64>> =
                units.iter().map(|unit| capacity_within(context, unit, depth)).collect();
            usable(array, &sizes?)
        }
    }
}

/// Single volumes and arrays that an array is made of.
pub fn members(context: &Context, array: &Array) -> Vec<String> {
    array.members.iter().flat_map(|member| names::units(context, member)).collect()
}

/// The volumes at the bottom of an array or volume, each with its group.
pub fn leaves<'a>(context: &'a Context, name: &str) -> Vec<(String, &'a VolumeGroup)> {
    leaves_within(context, name, DEPTH_MAX)
}

fn leaves_within<'a>(context: &'a Context, name: &str, depth: u32) -> Vec<(String, &'a VolumeGroup)> {
    match names::named(context, name) {
        None => Vec::new(),
        Some(Named::Volume(group)) => vec![(name.to_owned(), group)],
        Some(Named::Group(group)) => {
            names::volume_names(group).into_iter().map(|volume| (volume, group)).collect()
        }
        Some(Named::Array(array)) => {
            let Some(depth) = depth.checked_sub(1) else { return Vec::new() };
            members(context, array).iter().flat_map(|unit| leaves_within(context, unit, depth)).collect()
        }
    }
}

/// What members of these sizes hold together.
pub(super) fn usable(array: &Array, sizes: &[u64]) -> Option<u64> {
    let count = sizes.len() as u64;
    let least = *sizes.iter().min()?;
    let sum = || sizes.iter().try_fold(0u64, |sum, size| sum.checked_add(*size));
    match (array.manager, array.level) {
        (_, Level::Linear) => sum(),
        // md goes on striping over those that have room left; LVM stripes over all or not at all.
        (ArrayManager::Mdadm, Level::Raid0) => sum(),
        (ArrayManager::Lvm, Level::Raid0) => least.checked_mul(count),
        (_, Level::Raid1) => Some(least),
        (_, Level::Raid10) => least.checked_mul(count).map(|all| all / 2),
        (_, Level::Raid5) => least.checked_mul(count.saturating_sub(1)),
        (_, Level::Raid6) => least.checked_mul(count.saturating_sub(2)),
    }
}
