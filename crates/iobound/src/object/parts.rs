//! The parts of an upload: how large they may be, and how many go at once.

use iobound_record::units;

use super::address::Address;
use crate::exit::Failure;
use crate::stream::Options;

/// Part size and number at once when nothing is said: what Amazon's own guidance ends at for one client
/// (8 to 16 MB in each request, about 85 to 90 MB/s each:
/// <https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance-guidelines.html>).
const PART_DEFAULT: u64 = 8 << 20;
const AT_ONCE_DEFAULT: u32 = 8;
/// Parts that grow with the object do so in these steps.
const STEP: u64 = 1 << 20;
const PART_MOST: u64 = 1 << 30;

/// The smallest part with which `size` bytes can be uploaded to all of `addresses`.
pub(crate) fn least_part(addresses: &[&Address], size: u64) -> u64 {
    let needed = |address: &&Address| {
        let (least, most_parts) = address.scheme.part_limits();
        size.div_ceil(most_parts).next_multiple_of(STEP).max(least)
    };
    addresses.iter().map(needed).max().unwrap_or(0)
}

/// The options with what object stores need: a buffer is a part, and a writer has one part on its way.
///
/// # Errors
/// Parts that a store does not take, with those that it would.
pub(crate) fn adjusted(options: &Options, addresses: &[&Address], ordered: bool) -> Result<Options, Failure> {
    let mut options = options.clone();
    if addresses.is_empty() {
        return Ok(options);
    }
    let size = options.size;
    for address in addresses {
        check(address, size, options.buffer_bytes)?;
    }
    if options.buffer_bytes.is_none() && !options.auto {
        options.buffer_bytes = Some(least_part(addresses, size).max(PART_DEFAULT));
    }
    options.depth = Some(options.depth.unwrap_or(1));
    if options.auto {
        return Ok(options);
    }
    if options.writers.is_none() && !ordered {
        let most = options.buffers.unwrap_or(u32::MAX).min(options.max_threads.unwrap_or(u32::MAX));
        options.writers = Some(AT_ONCE_DEFAULT.min(most.max(1)));
    }
    if options.buffers.is_none() {
        // One more to fill for each writer, and two for those who only fill.
        let (writers, depth) = (options.writers.unwrap_or(1), options.depth.unwrap_or(1));
        options.buffers = Some(writers.saturating_mul(depth.saturating_add(1)).saturating_add(2));
    }
    Ok(options)
}

fn check(address: &Address, size: u64, part: Option<u64>) -> Result<(), Failure> {
    let (least, most_parts) = address.scheme.part_limits();
    let smallest = least_part(&[address], size);
    let usage = |words: String| Err(Failure::usage(words));
    if smallest > PART_MOST {
        return usage(format!(
            "--size {size}: {address} takes at most {most_parts} parts of 1 GiB each; use --size {} or less",
            most_parts * PART_MOST
        ));
    }
    match part {
        Some(part) if part < least && part < size => usage(format!(
            "--buffer-size {part}: a part of {} has at least {least} bytes ({}), all but the last; use \
             --buffer-size {smallest} or more",
            address.scheme.as_str(),
            units::bytes(least)
        )),
        Some(part) if size.div_ceil(part) > most_parts => usage(format!(
            "--buffer-size {part}: {size} bytes are {} parts of that size, and an object has at most \
             {most_parts}; use --buffer-size {smallest} or more, or --size {} or less",
            size.div_ceil(part),
            most_parts * part
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address() -> Address {
        Address::parse("s3://bucket/key").unwrap().unwrap()
    }

    fn with(size: u64, part: Option<u64>) -> Result<Options, String> {
        let options = Options { size, buffer_bytes: part, ..Options::default() };
        adjusted(&options, &[&address()], false).map_err(|failure| failure.words)
    }

    #[test]
    fn parts_grow_with_the_object() {
        let part = |size| with(size, None).unwrap().buffer_bytes.unwrap();
        assert_eq!(part(1), 8 << 20);
        assert_eq!(part(10_000 * (8 << 20)), 8 << 20);
        assert_eq!(part(10_000 * (8 << 20) + 1), 9 << 20);
        assert_eq!(part(1_000_000_000_000), 96 << 20);
        for size in [1u64, 5 << 30, 1_000_000_000_000, 10_000 << 30] {
            assert!(size.div_ceil(part(size)) <= 10_000, "{size}");
        }
    }

    #[test]
    fn parts_that_a_store_refuses_are_refused_first() {
        let refused = with(100 << 20, Some(1 << 20)).unwrap_err();
        assert!(refused.contains("5242880") && refused.contains("(5 MiB)"), "{refused}");
        assert!(with(1 << 20, Some(1 << 20)).is_ok(), "the last part may be short");
        let refused = with(1_000_000_000_000, Some(8 << 20)).unwrap_err();
        assert!(refused.contains("119210 parts") && refused.contains("100663296"), "{refused}");
        assert!(with(u64::MAX / 4, None).unwrap_err().contains("10737418240000 or less"));
    }

    #[test]
    fn each_writer_has_a_part_on_its_way_and_one_to_fill() {
        let options = with(1 << 30, None).unwrap();
        let settings = options.settings(false, 2).unwrap();
        assert_eq!((settings.writers, settings.depth), (8, 1));
        assert_eq!(settings.memory_bytes(), 2 * 8 * (8 << 20));
    }
}
