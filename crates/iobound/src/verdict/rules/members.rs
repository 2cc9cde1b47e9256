//! Members of an array that do not pull their weight.

use iobound_model::statistics::median;
use iobound_record::{DeviceSummary, Finding, Severity, units};

use super::{Case, finding, mean_await};

/// A member whose operations take this many times the others' holds the whole array to its pace; equal
/// volumes of one kind differ by tens of percent.
const SLOW_FACTOR: f64 = 2.0;
/// And has this many times the others' queue: what takes long but is seldom asked holds nothing up.
const QUEUE_FACTOR: f64 = 2.0;
/// Fewer operations a second say little about a member.
const IOPS_MIN: f64 = 10.0;
/// A member with this many times the others' bytes is where the load really goes.
const SHARE_FACTOR: f64 = 1.5;
/// Less than this is no load to speak of.
const BYTES_MIN: f64 = units::MIB as f64;

/// The member that the others wait for.
pub(super) fn slowest<'a>(case: &Case<'a>) -> Option<(&'a DeviceSummary, f64)> {
    case.member_groups().into_iter().find_map(|group| {
        let busy: Vec<&DeviceSummary> = group
            .iter()
            .copied()
            .filter(|device| device.read_iops.mean + device.write_iops.mean >= IOPS_MIN)
            .collect();
        let slowest = busy
            .iter()
            .copied()
            .max_by(|a, b| mean_await(a).unwrap_or(0.0).total_cmp(&mean_await(b).unwrap_or(0.0)))?;
        let rest: Vec<&DeviceSummary> =
            busy.iter().copied().filter(|device| device.device != slowest.device).collect();
        let awaits: Vec<f64> = rest.iter().filter_map(|device| mean_await(device)).collect();
        let queues: Vec<f64> = rest.iter().map(|device| device.queue.mean).collect();
        let typical = median(&awaits).filter(|typical| *typical > 0.0)?;
        let is_slow = mean_await(slowest)? >= SLOW_FACTOR * typical;
        let is_full = slowest.queue.mean >= QUEUE_FACTOR * median(&queues)?;
        (is_slow && is_full).then_some((slowest, typical))
    })
}

pub(super) fn slow_member(case: &Case<'_>) -> Option<Finding> {
    let (slow, typical) = slowest(case)?;
    let own = mean_await(slow)?;
    Some(finding(
        "slow-member",
        Severity::Warning,
        "One member of the array is slower than the others: a stripe is done when its last part is, so it sets the pace of all.",
        format!(
            "{}: {} takes {} an operation with {:.1} in its queue, the others {}; it did {} IOPS",
            case.name(),
            slow.device,
            units::duration(own as u64),
            slow.queue.mean,
            units::duration(typical as u64),
            units::count(slow.read_iops.mean + slow.write_iops.mean)
        ),
        format!(
            "look at {0} alone: its provisioned limits, its health (smartctl -a /dev/{0}) and the kernel's log; replace it",
            slow.device
        ),
    ))
}

/// Writes that pile up on some members: a layout that crowds them.
pub(super) fn uneven_members(case: &Case<'_>) -> Option<Finding> {
    let groups = case.member_groups();
    let found = groups.into_iter().find_map(|group| {
        let bytes: Vec<f64> = group.iter().map(|device| device.write_bytes_per_s.mean).collect();
        let most = group
            .iter()
            .copied()
            .max_by(|a, b| a.write_bytes_per_s.mean.total_cmp(&b.write_bytes_per_s.mean))?;
        let typical = median(&bytes)?;
        let uneven = typical >= BYTES_MIN && most.write_bytes_per_s.mean >= SHARE_FACTOR * typical;
        uneven.then_some((most, typical))
    })?;
    let (most, typical) = found;
    Some(finding(
        "uneven-members",
        Severity::Note,
        "Writes crowd one member of the array while others have room.",
        format!(
            "{}: {} wrote {}, the others {} each",
            case.name(),
            most.device,
            units::bandwidth(most.write_bytes_per_s.mean),
            units::bandwidth(typical)
        ),
        "compare the file system's stripe unit and width with the array's chunk (xfs_info, tune2fs -l), and spread hot files",
    ))
}
