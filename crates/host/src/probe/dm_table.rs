//! The kernel's own table of a device-mapper device, through `DM_TABLE_STATUS`.
//!
//! include/uapi/linux/dm-ioctl.h; the targets' parameters: Documentation/admin-guide/device-mapper.
//! Asking changes nothing: with DM_STATUS_TABLE_FLAG it returns what `dmsetup table` prints.

use std::fs::File;
use std::io;

use iobound_record::{Device, LvmSegment};
use rustix::ioctl::{self, Ioctl, IoctlOutput, Opcode, opcode};

use crate::block::SECTOR_BYTES;

/// `struct dm_ioctl`.
#[repr(C)]
struct Header {
    version: [u32; 3],
    data_size: u32,
    data_start: u32,
    target_count: u32,
    open_count: i32,
    flags: u32,
    event_nr: u32,
    padding: u32,
    dev: u64,
    name: [u8; 128],
    uuid: [u8; 129],
    data: [u8; 7],
}
const HEADER: usize = 312;
const _: () = assert!(size_of::<Header>() == HEADER);

/// `struct dm_target_spec`: start and length in sectors, status, offset of the next, type.
const SPEC: usize = 40;
/// Tables of a few hundred segments; more is cut, and told so.
const BUFFER: usize = 64 << 10;
/// Interface 4.0.0, which every kernel since 2.6 answers.
const VERSION: [u32; 3] = [4, 0, 0];
const DM_STATUS_TABLE_FLAG: u32 = 1 << 4;
const DM_BUFFER_FULL_FLAG: u32 = 1 << 8;
const DM_TABLE_STATUS: Opcode = opcode::read_write::<Header>(0xfd, 12);

/// The buffer of one request: the header, then room for the answer. Aligned as the header wants it.
#[repr(C, align(8))]
struct Request([u8; BUFFER]);

struct TableStatus<'a>(&'a mut Request);

// SAFETY: the request reads and writes a `struct dm_ioctl` and what follows it, no further than the
// `data_size` in it, which `request` sets to the size of the whole buffer.
unsafe impl Ioctl for TableStatus<'_> {
    type Output = ();
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        DM_TABLE_STATUS
    }

    fn as_ptr(&mut self) -> *mut core::ffi::c_void {
        (&raw mut *self.0).cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, _: *mut core::ffi::c_void) -> rustix::io::Result<()> {
        Ok(())
    }
}

/// The segments of a device, by the kernel's table. Needs root.
///
/// # Errors
/// Without the right, or without device mapper's control node (a container).
pub(super) fn of(name: &str, number: &str, devices: &[Device]) -> io::Result<Vec<LvmSegment>> {
    let control = File::options().read(true).write(true).open("/dev/mapper/control")?;
    let mut request = Box::new(request(number).ok_or_else(|| io::Error::other("it has no device number"))?);
    // SAFETY: `TableStatus` describes the request truly, see there; the control node takes it.
    unsafe { ioctl::ioctl(&control, TableStatus(&mut request)) }?;
    let answer = &request.0;
    if word(answer, 28) & DM_BUFFER_FULL_FLAG != 0 {
        return Err(io::Error::other(format!("the table of {name} is larger than {BUFFER} bytes")));
    }
    let named = |number: &str| {
        let device = devices.iter().find(|device| device.number == number);
        device.map_or_else(|| number.to_owned(), |device| device.name.clone())
    };
    Ok(parse(answer, &named))
}

/// Fills in the header: version, sizes, flags and the device, in the order of [`Header`].
fn request(number: &str) -> Option<Request> {
    let (major, minor) = number.split_once(':')?;
    let device = rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?);
    let mut request = Request([0; BUFFER]);
    let mut put = |at: usize, value: u32| request.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    put(0, VERSION[0]);
    put(4, VERSION[1]);
    put(8, VERSION[2]);
    put(12, BUFFER as u32);
    put(16, HEADER as u32);
    put(28, DM_STATUS_TABLE_FLAG);
    // huge_encode_dev, include/linux/kdev_t.h, which is what makedev gives.
    request.0[40..48].copy_from_slice(&device.to_ne_bytes());
    Some(request)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
}

/// Reads the answer: a chain of targets from `data_start` on, each with its parameters as text.
fn parse(answer: &[u8], named: &dyn Fn(&str) -> String) -> Vec<LvmSegment> {
    let base = word(answer, 16) as usize;
    let count = word(answer, 20);
    let mut found = Vec::new();
    let mut at = base;
    for _ in 0..count {
        let Some(spec) = at.checked_add(SPEC).and_then(|end| answer.get(at..end)) else { break };
        let text = |bytes: &[u8]| {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        };
        let size_bytes = long_native(spec, 8).saturating_mul(SECTOR_BYTES);
        let parameters = text(&answer[at + SPEC..]);
        found.push(segment(&text(&spec[24..]), &parameters, size_bytes, named));
        // `next` counts from the start of the data, not from this target.
        let next = base.saturating_add(word(spec, 20) as usize);
        if next <= at {
            break;
        }
        at = next;
    }
    found
}

fn long_native(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_ne_bytes)
}

/// One target's parameters.
pub(super) fn segment(
    kind: &str,
    parameters: &str,
    size_bytes: u64,
    named: &dyn Fn(&str) -> String,
) -> LvmSegment {
    let words: Vec<&str> = parameters.split_ascii_whitespace().collect();
    let sectors = |word: Option<&&str>| {
        word.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0).saturating_mul(SECTOR_BYTES)
    };
    let is_device = |word: &str| word.parse::<crate::block::DeviceNumber>().is_ok();
    let (kind, stripe_bytes) = match kind {
        // `striped: <stripes> <chunk> [<device> <offset>]...`
        "striped" => ("striped", sectors(words.get(1))),
        // `raid: <level> <parameters> <chunk> ... <devices> [<metadata> <data>]...`
        "raid" => {
            let level = words.first().copied().unwrap_or("raid");
            // lvm2 calls what the kernel calls raid10 by the same name, raid5_ls and the like too.
            (level, sectors(words.get(2)))
        }
        other => (other, 0),
    };
    let listed: Vec<&str> = words.iter().copied().filter(|word| is_device(word)).collect();
    // RAID names metadata before data for each; `-` stands for a device that is missing.
    let has_metadata = words.first().is_some_and(|word| word.starts_with("raid"));
    let devices: Vec<String> = if has_metadata {
        listed.iter().skip(1).step_by(2).map(|number| named(number)).collect()
    } else {
        listed.iter().map(|number| named(number)).collect()
    };
    LvmSegment {
        kind: kind.to_owned(),
        stripes: u32::try_from(devices.len()).unwrap_or(u32::MAX),
        stripe_bytes,
        size_bytes,
        devices,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: &str, parameters: &str) -> (String, u32, u64, String) {
        let s = segment(kind, parameters, 0, &|number| format!("dm-{}", &number[4..]));
        (s.kind, s.stripes, s.stripe_bytes, s.devices.join(" "))
    }

    #[test]
    fn parameters_of_targets() {
        let row = |k: &str, n, b, d: &str| (k.to_owned(), n, b, d.to_owned());
        assert_eq!(told("linear", "253:1 2048"), row("linear", 1, 0, "dm-1"));
        assert_eq!(told("striped", "2 128 253:1 2048 253:2 2048"), row("striped", 2, 64 << 10, "dm-1 dm-2"));
        assert_eq!(
            told("raid", "raid10 3 128 region_size 1024 2 253:1 253:2 253:3 253:4"),
            row("raid10", 2, 64 << 10, "dm-2 dm-4")
        );
        assert_eq!(told("raid", ""), row("raid", 0, 0, ""));
        assert_eq!(told("zero", ""), row("zero", 0, 0, ""));
    }

    /// Puts an answer together as the kernel would.
    fn answer(targets: &[(&str, &str, u64)]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        bytes[16..20].copy_from_slice(&(HEADER as u32).to_ne_bytes());
        bytes[20..24].copy_from_slice(&(targets.len() as u32).to_ne_bytes());
        for (kind, parameters, sectors) in targets {
            let next = (bytes.len() - HEADER + SPEC + (parameters.len() + 8) / 8 * 8) as u32;
            let mut spec = [0; SPEC];
            spec[8..16].copy_from_slice(&sectors.to_ne_bytes());
            spec[20..24].copy_from_slice(&next.to_ne_bytes());
            spec[24..24 + kind.len()].copy_from_slice(kind.as_bytes());
            bytes.extend(spec);
            bytes.extend(parameters.as_bytes());
            bytes.resize(HEADER + next as usize, 0);
        }
        bytes
    }

    #[test]
    fn an_answer_of_two_targets() {
        let bytes = answer(&[("striped", "2 128 8:0 0 8:16 0", 100), ("linear", "8:32 0", 50)]);
        let found = parse(&bytes, &str::to_owned);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].size_bytes, found[0].devices.join(" ")), (51_200, "8:0 8:16".into()));
        assert_eq!((found[1].kind.as_str(), found[1].size_bytes), ("linear", 25_600));
    }

    proptest::proptest! {
        #[test]
        fn any_answer_is_read(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..600)) {
            parse(&bytes, &str::to_owned);
        }
    }
}
