//! Volumes as a person writes them: `data=3000iops,125MiBps,50GiB,fs=xfs`.

use std::path::PathBuf;

use iobound_record::units;

use crate::LabError;

/// Names become directories and parts of device names.
const NAME_LENGTH_MAX: usize = 20;
/// Smaller than this and no file system fits; a size of 0 is a mistake.
const SIZE_MIN: u64 = 16 << 20;
/// More than any disk that a person tries this on; beyond it a unit has slipped.
const SIZE_MAX: u64 = 16 << 40;
/// Above these a volume here would be slower than its own limit.
const IOPS_MAX: u64 = 1_000_000;
const BYTES_PER_S_MAX: u64 = 64 << 30;
/// Below this the check of the volume itself would take minutes.
const BYTES_PER_S_MIN: u64 = 64 << 10;
const LATENCY_MAX_NS: u64 = 10_000_000_000;

/// A file system to make on a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filesystem {
    /// mkfs.ext4
    Ext4,
    /// mkfs.xfs, 300 MiB at least
    Xfs,
}

impl Filesystem {
    /// Its name, as `mount -t` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Filesystem::Ext4 => "ext4",
            Filesystem::Xfs => "xfs",
        }
    }
}

/// A volume that was asked for; every word of it is sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Its name.
    pub name: String,
    /// Bytes.
    pub size_bytes: u64,
    /// Operations per second, reads and writes together, in units of 256 KiB.
    pub iops: Option<u64>,
    /// Bytes per second, reads and writes together.
    pub bytes_per_s: Option<u64>,
    /// Added to each operation.
    pub latency_ns: u64,
    /// A file system to make.
    pub filesystem: Option<Filesystem>,
    /// Where to mount it.
    pub mount: Option<PathBuf>,
    /// Whether a flush is answered without being done.
    pub ignores_flush: bool,
}

impl std::str::FromStr for Wish {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Self, LabError> {
        parse(text).map_err(|why| {
            LabError::Usage(format!(
                "--volume {text}: {why}; for example data=3000iops,125MiBps,50GiB,fs=xfs"
            ))
        })
    }
}

fn parse(text: &str) -> Result<Wish, String> {
    let (name, words) = text.split_once('=').ok_or("there is no NAME= at its start")?;
    check_name(name)?;
    let mut wish = Wish {
        name: name.into(),
        size_bytes: 0,
        iops: None,
        bytes_per_s: None,
        latency_ns: 0,
        filesystem: None,
        mount: None,
        ignores_flush: false,
    };
    let mut seen = Vec::new();
    for word in words.split(',') {
        let kind = read_word(word.trim(), &mut wish)?;
        if seen.contains(&kind) {
            return Err(format!("its {kind} is said twice"));
        }
        seen.push(kind);
    }
    if !seen.contains(&"size") {
        return Err("it has no size".into());
    }
    if wish.mount.is_some() && wish.filesystem.is_none() {
        return Err("mount= needs a file system (fs=xfs or fs=ext4)".into());
    }
    if wish.filesystem == Some(Filesystem::Xfs) && wish.size_bytes < 300 << 20 {
        return Err("XFS needs 300 MiB at least".into());
    }
    Ok(wish)
}

fn check_name(name: &str) -> Result<(), String> {
    let is_sound = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        && name.len() <= NAME_LENGTH_MAX;
    match is_sound {
        true => Ok(()),
        false => Err(format!("'{name}' is no name: up to {NAME_LENGTH_MAX} letters, digits, - and _")),
    }
}

/// Takes one word in, and says what it was about.
fn read_word(word: &str, wish: &mut Wish) -> Result<&'static str, String> {
    if let Some((key, value)) = word.split_once('=') {
        return read_setting(key, value, wish);
    }
    let lower = word.to_ascii_lowercase();
    if let Some(number) = lower.strip_suffix("iops") {
        let iops = number.trim().replace('_', "").parse::<u64>();
        let iops = iops.map_err(|_| format!("'{word}' is no whole number of operations"))?;
        wish.iops = Some(within(word, iops, 1, IOPS_MAX)?);
        return Ok("iops");
    }
    for rate in ["ps", "/s"] {
        if let Some(bytes) = lower.strip_suffix(rate) {
            // "mib" and not "m": of a rate, a bare letter would leave open which of the two it is.
            let unit = bytes.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim();
            if unit.len() < 2 || !unit.ends_with('b') {
                return Err(format!("'{word}' is no rate; write MiBps or MBps"));
            }
            let bytes = units::parse_bytes(bytes).map_err(|error| error.to_string())?;
            wish.bytes_per_s = Some(within(word, bytes, BYTES_PER_S_MIN, BYTES_PER_S_MAX)?);
            return Ok("bandwidth");
        }
    }
    if lower == "noflush" {
        wish.ignores_flush = true;
        return Ok("flush");
    }
    if !lower.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        return Err(format!(
            "'{word}' is not known; there are Niops, NMiBps, a size, fs=, mount=, latency=, noflush"
        ));
    }
    let size = units::parse_bytes(word).map_err(|error| error.to_string())?;
    if lower.bytes().all(|c| c.is_ascii_digit()) {
        return Err(format!("'{word}' has no unit: iops, MiBps, GiB ..."));
    }
    wish.size_bytes = within(word, size, SIZE_MIN, SIZE_MAX)?;
    if !size.is_multiple_of(4096) {
        return Err(format!("'{word}' is no multiple of 4 KiB"));
    }
    Ok("size")
}

fn read_setting(key: &str, value: &str, wish: &mut Wish) -> Result<&'static str, String> {
    match key {
        "fs" => {
            wish.filesystem = match value {
                "ext4" => Some(Filesystem::Ext4),
                "xfs" => Some(Filesystem::Xfs),
                "none" => None,
                _ => return Err(format!("fs={value}: one of xfs, ext4, none")),
            };
            Ok("file system")
        }
        "mount" if value.starts_with('/') && value.len() > 1 => {
            wish.mount = Some(value.into());
            Ok("mount point")
        }
        "mount" => Err(format!("mount={value}: a path from /")),
        "latency" => {
            let latency = units::parse_duration_ns(value).map_err(|error| error.to_string())?;
            wish.latency_ns = within(value, latency, 1, LATENCY_MAX_NS)?;
            Ok("latency")
        }
        _ => Err(format!("'{key}=' is not known; there are fs=, mount=, latency=")),
    }
}

fn within(word: &str, value: u64, least: u64, most: u64) -> Result<u64, String> {
    if value < least {
        return Err(format!("'{word}' is too little: {least} at least"));
    }
    if value > most {
        return Err(format!("'{word}' is too much: {most} at most"));
    }
    Ok(value)
}

/// Refuses two volumes of one name or mount point.
///
/// # Errors
/// Usage.
pub fn check_apart(wishes: &[Wish]) -> Result<(), LabError> {
    for (i, wish) in wishes.iter().enumerate() {
        for earlier in &wishes[..i] {
            if earlier.name == wish.name {
                return Err(LabError::Usage(format!("two volumes are named {}", wish.name)));
            }
            if wish.mount.is_some() && earlier.mount == wish.mount {
                return Err(LabError::Usage(format!(
                    "volumes {} and {} have one mount point",
                    earlier.name, wish.name
                )));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_is_read_in_any_order() {
        let wish: Wish = "data=50GiB,3000iops,fs=xfs,125MiBps,latency=500us,mount=/mnt/a".parse().unwrap();
        assert_eq!((wish.size_bytes, wish.iops, wish.bytes_per_s), (50 << 30, Some(3000), Some(125 << 20)));
        assert_eq!((wish.filesystem, wish.latency_ns), (Some(Filesystem::Xfs), 500_000));
        assert_eq!("a=1GiB,125MBps".parse::<Wish>().unwrap().bytes_per_s, Some(125_000_000));
        assert_eq!("a=1GiB,12.5MiB/s".parse::<Wish>().unwrap().bytes_per_s, Some(13_107_200));
        assert!("a=1g,noflush".parse::<Wish>().unwrap().ignores_flush);
    }

    #[test]
    fn what_is_not_sound_is_refused_with_the_reason() {
        for (text, why) in [
            ("3000iops,1GiB", "no NAME="),
            ("=1GiB", "is no name"),
            ("../x=1GiB", "is no name"),
            ("-x=1GiB", "is no name"),
            ("a=3000iops", "no size"),
            ("a=", "is not known"),
            ("a=0GiB", "too little"),
            ("a=1GiB,0iops", "too little"),
            ("a=1GiB,-5iops", "no whole number"),
            ("a=1GiB,1.5iops", "no whole number"),
            ("a=1GiB,99999999iops", "too much"),
            ("a=1GiB,0MiBps", "too little"),
            ("a=1GiB,9999TiBps", "too much"),
            ("a=1GiB,125Mps", "write MiBps"),
            ("a=1GiB,125bps", "write MiBps"),
            ("a=1GiB,3000", "has no unit"),
            ("a=900PiB", "too much"),
            ("a=1GiB,2GiB", "said twice"),
            ("a=1GiB,fast", "is not known"),
            ("a=1GiB,speed=9", "is not known"),
            ("a=1GiB,fs=zfs", "one of"),
            ("a=1GiB,mount=/mnt", "needs a file system"),
            ("a=1GiB,fs=xfs,mount=mnt", "from /"),
            ("a=100MiB,fs=xfs", "300 MiB"),
            ("a=1GiB,latency=1h", "too much"),
            ("a=16777217b", "multiple of 4 KiB"),
        ] {
            let said = text.parse::<Wish>().map(drop).expect_err(text).to_string();
            assert!(said.contains(why), "{text}: {said}");
        }
    }

    #[test]
    fn volumes_are_apart() {
        let wishes = |texts: [&str; 2]| texts.map(|text| text.parse::<Wish>().unwrap());
        check_apart(&wishes(["a=1g", "b=1g"])).unwrap();
        assert!(check_apart(&wishes(["a=1g", "a=2g"])).is_err());
        assert!(check_apart(&wishes(["a=1g,fs=xfs,mount=/m", "b=1g,fs=xfs,mount=/m"])).is_err());
    }
}
