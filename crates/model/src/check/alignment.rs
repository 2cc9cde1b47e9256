//! Whether blocks of one layer begin where blocks of the layer below begin.

use iobound_record::{Check, Device, DeviceSort, MdArray, MountedFileSystem, Outcome, units};

use super::row::{Row, node, shell};
use super::scope::{Place, Scope};

/// Flash and cloud volumes work in pages of 4 KiB also where they tell of sectors of 512 bytes.
const PAGE: u64 = 4096;
/// Levels where a write of less than a stripe costs reads.
const PARITY: [&str; 3] = ["raid4", "raid5", "raid6"];

pub(super) fn rules(scope: &Scope<'_>) -> Vec<Check> {
    let devices = scope.devices();
    let partitions = devices.iter().filter(|device| device.sort == DeviceSort::Partition);
    let mut checks: Vec<Check> = partitions.map(|partition| start(scope, partition)).collect();
    checks.extend(scope.places.iter().filter_map(|place| filesystem(scope, place)));
    checks
}

fn start(scope: &Scope<'_>, partition: &Device) -> Check {
    let disk = scope.probe.device(&partition.disk);
    let block = disk.map_or(PAGE, |disk| u64::from(disk.physical_block_bytes).max(PAGE));
    let stripe = disk.map_or(0, |disk| match disk.sort {
        DeviceSort::Md | DeviceSort::Lvm => disk.minimum_io_bytes,
        _ => 0,
    });
    let off = partition.start_bytes % block;
    let off_stripe = if stripe > block { partition.start_bytes % stripe } else { 0 };
    let row = Row::new("partition-alignment", &partition.name)
        .value(format!("starts at {}", start_words(partition.start_bytes)))
        .expected(format!("a multiple of {}", units::bytes(block.max(stripe))))
        .mend(format!(
            "sudo parted {} align-check optimal N   # then make the partition anew at 1MiB",
            node(&partition.disk)
        ));
    if off != 0 || partition.misaligned_bytes != 0 {
        row.why("each block lies across two of the disk's: a small write reads both and writes both")
            .is(Outcome::Fail)
    } else if off_stripe != 0 {
        row.why("each chunk of the file system lies across two members").is(Outcome::Warn)
    } else {
        row.is(Outcome::Pass)
    }
}

fn start_words(bytes: u64) -> String {
    if bytes.is_multiple_of(1024) { units::bytes(bytes) } else { format!("{bytes} bytes") }
}

/// What lies under a file system as stripes.
struct Stripes {
    name: String,
    chunk_bytes: u64,
    data_disks: u64,
    parity: bool,
}

fn stripes(scope: &Scope<'_>, place: &Place<'_>) -> Option<Stripes> {
    let top = place.top.first()?;
    // A partition of an array is as striped as the array.
    let name = if top.sort == DeviceSort::Partition { &top.disk } else { &top.name };
    if let Some(md) = scope.md(name) {
        let found = Stripes {
            name: md.name.clone(),
            chunk_bytes: md.chunk_bytes,
            data_disks: data_disks(md)?,
            parity: PARITY.contains(&md.level.as_str()),
        };
        return Some(found).filter(|stripes| stripes.chunk_bytes > 0);
    }
    let lv = scope.probe.logical_volumes.iter().find(|lv| &lv.device == name)?;
    let first = lv.segments.first().filter(|segment| segment.kind == "striped" && segment.stripes > 1)?;
    Some(Stripes {
        name: format!("{}/{}", lv.group, lv.name),
        chunk_bytes: first.stripe_bytes,
        data_disks: first.stripes.into(),
        parity: false,
    })
}

/// Members that hold different data. RAID10's layout number is near copies, far copies, and how far
/// (md(4), and `raid10_set_layout` in drivers/md/raid10.c).
fn data_disks(md: &MdArray) -> Option<u64> {
    let disks = u64::from(md.raid_disks);
    match md.level.as_str() {
        "raid0" => Some(disks),
        "raid4" | "raid5" => disks.checked_sub(1),
        "raid6" => disks.checked_sub(2),
        "raid10" => {
            let layout: u64 = md.layout.trim().parse().unwrap_or(0x102);
            let copies = (layout & 0xff).max(1) * ((layout >> 8) & 0xff).max(1);
            Some((disks / copies).max(1))
        }
        _ => None,
    }
}

fn filesystem(scope: &Scope<'_>, place: &Place<'_>) -> Option<Check> {
    let fs = place.fs?;
    if !["xfs", "ext4", "ext3", "ext2"].contains(&fs.kind.as_str()) {
        return None;
    }
    let stripes = stripes(scope, place)?;
    let width = stripes.chunk_bytes * stripes.data_disks;
    let row =
        Row::new("filesystem-alignment", &fs.mount).expected(words(Some(stripes.chunk_bytes), Some(width)));
    let (unit, swidth) = (fs.stripe_unit_bytes, fs.stripe_width_bytes);
    if unit.is_none() && swidth.is_none() {
        return Some(
            row.unknown("the file system does not tell its stripe; run as root to read its superblock"),
        );
    }
    let row = row.value(words(unit, swidth)).mend(mend(fs, &stripes));
    let fits = |value: Option<u64>, wanted: u64| value.is_none_or(|value| value == wanted);
    if fits(unit, stripes.chunk_bytes) && fits(swidth, width) {
        return Some(row.is(Outcome::Pass));
    }
    let told = unit.unwrap_or(0) != 0 || swidth.unwrap_or(0) != 0;
    let (outcome, why) = match (stripes.parity, told) {
        (true, _) => (Outcome::Fail, "writes that cover no whole stripe read it first to compute parity"),
        (false, true) => (
            Outcome::Warn,
            "the allocator aligns to another stripe than the array has: requests touch one member more",
        ),
        (false, false) => (Outcome::Warn, "the allocator does not know the stripe and may crowd one member"),
    };
    Some(row.why(format!("{why} ({})", stripes.name)).is(outcome))
}

fn words(unit: Option<u64>, width: Option<u64>) -> String {
    match (unit, width) {
        (Some(0), None | Some(0)) | (None, Some(0)) => "no stripe".into(),
        (Some(unit), Some(width)) => format!("su {}, width {}", units::bytes(unit), units::bytes(width)),
        (Some(unit), None) => format!("su {}", units::bytes(unit)),
        (None, Some(width)) => format!("width {}", units::bytes(width)),
        (None, None) => "not known".into(),
    }
}

/// What mends it: ext4 can be told later, XFS at its next mount, and only whole allocations after.
fn mend(fs: &MountedFileSystem, stripes: &Stripes) -> String {
    let width = stripes.chunk_bytes * stripes.data_disks;
    let device = node(&fs.device);
    match fs.kind.as_str() {
        "xfs" => format!(
            "sudo umount {0} && sudo mount -o sunit={1},swidth={2} {3} {0}   # new files; or mkfs.xfs -d su={4}k,sw={5}",
            shell(&fs.mount),
            stripes.chunk_bytes / 512,
            width / 512,
            device,
            stripes.chunk_bytes / 1024,
            stripes.data_disks
        ),
        _ => {
            let block = fs.block_bytes.max(1024);
            format!(
                "sudo tune2fs -E stride={},stripe-width={} {device}",
                stripes.chunk_bytes / block,
                width / block
            )
        }
    }
}
