//! `/proc/mdstat`, for machines whose `/sys` does not show an array's directory.
//!
//! Written by `md_seq_show` and `status_resync` in drivers/md/md.c:
//!
//! ```text
//! md0 : active raid10 nvme4n1[3] nvme3n1[2](F) nvme2n1[1] nvme1n1[0]
//!       209582080 blocks super 1.2 64K chunks 2 near-copies [4/3] [UU_U]
//!       [==>..................]  resync = 12.6% (26477824/209582080) finish=15.3min speed=199128K/sec
//! ```

use iobound_record::{MdArray, MdMember};

/// The arrays it tells of. Lines that do not fit are passed over.
pub(crate) fn parse(text: &str) -> Vec<MdArray> {
    let mut arrays: Vec<MdArray> = Vec::new();
    for line in text.lines() {
        let heading = line.split_once(" : ").filter(|_| !line.starts_with(char::is_whitespace));
        if let Some((name, rest)) = heading {
            arrays.extend(headed(name.trim(), rest));
        } else if line.starts_with(char::is_whitespace)
            && let Some(array) = arrays.last_mut()
        {
            detail(array, line.trim());
        }
    }
    for array in &mut arrays {
        // A disk that took another's place keeps a number past the slots; which slot is not told.
        let slots = array.raid_disks;
        array.members.iter_mut().for_each(|m| m.slot = m.slot.filter(|slot| slots == 0 || *slot < slots));
    }
    arrays
}

fn headed(name: &str, rest: &str) -> Option<MdArray> {
    if !name.starts_with("md") {
        return None;
    }
    let mut words = rest.split_ascii_whitespace().peekable();
    let mut array = MdArray { name: name.to_owned(), sync_action: "idle".into(), ..MdArray::default() };
    array.state = words.next()?.to_owned();
    while let Some(mark) = words.next_if(|word| word.starts_with('(')) {
        // `(read-only)`, `(auto-read-only)`
        array.state = mark.trim_matches(['(', ')']).to_owned();
    }
    if array.state != "inactive" {
        array.level = words.next_if(|word| !word.contains('[')).unwrap_or_default().to_owned();
    }
    array.members = words.filter_map(member).collect();
    array.members.sort_by_key(|member| (member.slot.is_none(), member.slot, member.device.clone()));
    Some(array)
}

/// `nvme3n1[2](F)`: the number is that of the descriptor, and the slot unless it failed or is spare.
fn member(word: &str) -> Option<MdMember> {
    let (device, rest) = word.split_once('[')?;
    let (number, marks) = rest.split_once(']')?;
    let state = match marks {
        _ if marks.contains("(F)") => "faulty",
        _ if marks.contains("(S)") => "spare",
        _ => "in_sync",
    };
    let slot = number.parse().ok().filter(|_| state == "in_sync");
    Some(MdMember { device: device.to_owned(), slot, state: state.to_owned() })
}

fn detail(array: &mut MdArray, line: &str) {
    for (action, word) in
        [("resync", "resync"), ("recover", "recovery"), ("check", "check"), ("reshape", "reshape")]
    {
        // `resync = 12.6%`, but also `resync=DELAYED`, `resync=PENDING`.
        if line.contains(&format!("{word} =")) || line.contains(&format!("{word}=")) {
            array.sync_action = action.into();
            progress(array, line);
            return;
        }
    }
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).copied().unwrap_or_default();
        match *word {
            "super" => array.metadata = next.to_owned(),
            word if next.starts_with("chunk") => chunk(array, word),
            word => slots(array, word),
        }
    }
}

/// `64K`, and `512k` in the raid5 family.
fn chunk(array: &mut MdArray, word: &str) {
    let kib = word.strip_suffix(['K', 'k']).and_then(|kib| kib.parse::<u64>().ok());
    array.chunk_bytes = kib.and_then(|kib| kib.checked_mul(1024)).unwrap_or(array.chunk_bytes);
}

/// `[4/3]` and `[UU_U]`.
fn slots(array: &mut MdArray, word: &str) {
    let Some(inside) = word.strip_prefix('[').and_then(|word| word.strip_suffix(']')) else { return };
    if let Some((all, working)) = inside.split_once('/') {
        if let (Ok(all), Ok(working)) = (all.parse::<u32>(), working.parse::<u32>()) {
            (array.raid_disks, array.degraded) = (all, all.saturating_sub(working));
        }
    } else if !inside.is_empty() && inside.bytes().all(|c| c == b'U' || c == b'_') {
        array.slots = word.to_owned();
    }
}

fn progress(array: &mut MdArray, line: &str) {
    // The fraction is exact, the percentage rounded.
    let fraction = line.split_once('(').and_then(|(_, rest)| rest.split_once(')')?.0.split_once('/'));
    if let Some((done, all)) = fraction
        && let (Ok(done), Ok(all)) = (done.parse::<f64>(), all.parse::<f64>())
        && all > 0.0
    {
        array.sync_done = Some((done / all).clamp(0.0, 1.0));
    }
    let speed =
        line.split_once("speed=").and_then(|(_, rest)| rest.split_once("K/sec")?.0.parse::<u64>().ok());
    array.sync_bytes_per_s = speed.and_then(|kib| kib.checked_mul(1024));
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Personalities : [raid1] [raid10] [raid6] [raid5] [raid4]
md127 : inactive sdx[2](S) sdy[0](S)
      1953260976 blocks super 1.2

md0 : active raid10 nvme4n1[3] nvme3n1[4](F) nvme2n1[1] nvme1n1[0]
      209582080 blocks super 1.2 64K chunks 2 near-copies [4/3] [UU_U]
      [==>..................]  recovery = 12.6% (26477824/209582080) finish=15.3min speed=199128K/sec
      bitmap: 0/2 pages [0KB], 65536KB chunk

md5 : active (auto-read-only) raid5 sdc1[3] sdb1[1] sda1[0]
      976508928 blocks level 5, 512k chunk, algorithm 2 [3/3] [UUU]
      \tresync=PENDING

md1 : active raid0 sde[1] sdd[0]
      2095104 blocks super 1.2 512k chunks

unused devices: <none>
";

    #[test]
    fn arrays_in_every_state() {
        let arrays = parse(TEXT);
        let names: Vec<&str> = arrays.iter().map(|a| a.name.as_str()).collect();
        assert_eq!(names, ["md127", "md0", "md5", "md1"]);
        let [inactive, degraded, read_only, plain] = &arrays[..] else { panic!() };
        assert_eq!((inactive.state.as_str(), inactive.level.as_str()), ("inactive", ""));
        assert_eq!((degraded.level.as_str(), degraded.chunk_bytes), ("raid10", 64 << 10));
        assert_eq!((degraded.slots.as_str(), degraded.raid_disks, degraded.degraded), ("[UU_U]", 4, 1));
        assert_eq!((degraded.sync_action.as_str(), degraded.metadata.as_str()), ("recover", "1.2"));
        assert!((degraded.sync_done.unwrap() - 0.12634).abs() < 1e-4);
        assert_eq!(degraded.sync_bytes_per_s, Some(199_128 * 1024));
        let faulty = degraded.members.last().unwrap();
        assert_eq!((faulty.device.as_str(), faulty.slot, faulty.state.as_str()), ("nvme3n1", None, "faulty"));
        assert_eq!((read_only.state.as_str(), read_only.chunk_bytes), ("auto-read-only", 512 << 10));
        assert_eq!((read_only.sync_action.as_str(), read_only.sync_done), ("resync", None));
        assert_eq!((plain.chunk_bytes, plain.members.len()), (512 << 10, 2));
    }
}
