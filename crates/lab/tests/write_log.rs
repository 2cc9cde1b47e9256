//! A drive's write log tells an honest drive from one that ignores flushes, also across a power cut.

use std::path::Path;

use iobound_lab::vm::{Flush, Vm, VmSpec, VolumeSpec};
use iobound_lab::{LabError, require};

/// dm-log-writes: the entry's flags (Documentation/admin-guide/device-mapper/log-writes.rst).
const FLUSH: u64 = 1;
const FUA: u64 = 2;
const DISCARD: u64 = 4;
const MAGIC: u64 = 0x006a_7366_7773_6872;

/// Writes, and marks that make what came before them safe.
#[derive(Debug, Default)]
struct Counts {
    writes: u64,
    marks: u64,
}

fn read_log(path: &Path) -> Counts {
    let log = std::fs::read(path).unwrap();
    let word = |at: usize| u64::from_le_bytes(log[at..at + 8].try_into().unwrap());
    assert_eq!(word(0), MAGIC, "the log's head");
    let (entries, sector) = (word(16), 512);
    let mut counts = Counts::default();
    let mut at = sector;
    for _ in 0..entries {
        let (sectors, flags) = (word(at + 8) as usize, word(at + 16));
        counts.marks += u64::from(flags & (FLUSH | FUA) != 0);
        counts.writes += u64::from(sectors > 0 && flags & DISCARD == 0);
        at += sector + if flags & DISCARD == 0 { sectors * sector } else { 0 };
    }
    counts
}

#[test]
fn a_write_log_has_flushes_only_from_an_honest_drive() {
    let dir = std::env::temp_dir().join(format!("iobound-write-log-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (honest, lying) = (dir.join("honest.log"), dir.join("lying.log"));
    let drive = |name: &str, flush, log: &Path| VolumeSpec::new(name, 64 << 20).flush(flush).write_log(log);
    let spec = VmSpec::new().volume(drive("honest", Flush::Honest, &honest)).volume(drive(
        "lying",
        Flush::Ignored,
        &lying,
    ));
    let vm = Vm::boot(spec).map_err(|error| match error {
        LabError::Skip(_) => error,
        other => panic!("{other}"),
    });
    let Some(vm) = require(vm) else { return };
    for name in ["honest", "lying"] {
        let device = vm.spec().volumes.iter().find(|volume| volume.name == name).unwrap().device();
        // A write and a flush, ten times; then ten that are to be safe by themselves (O_DSYNC, which the
        // kernel may turn into FUA).
        vm.check(&format!(
            "for i in 1 2 3 4 5 6 7 8 9 10; do dd if=/dev/urandom of={device} bs=4k count=1 seek=$i oflag=direct \
             conv=fsync,notrunc status=none; done"
        ))
        .unwrap();
    }
    vm.power_cut().unwrap();
    let (first, other) = (read_log(&honest), read_log(&lying));
    println!("flush: honest {first:?}, lying {other:?}");
    assert!(first.writes >= 10 && first.marks >= 10, "{first:?}");
    assert!(other.writes >= 10 && other.marks == 0, "{other:?}");

    vm.start_again().unwrap();
    let device = vm.spec().volumes[0].device();
    vm.check(&format!(
        "dd if=/dev/urandom of={device} bs=4k count=10 oflag=direct,dsync conv=notrunc status=none"
    ))
    .unwrap();
    vm.power_cut().unwrap();
    let later = read_log(&honest);
    println!("dsync: honest {later:?}");
    assert!(later.writes >= first.writes + 10, "the log goes on after a power cut: {later:?}");
    assert!(later.marks >= first.marks + 10, "writes with FUA are marked: {later:?}");
    drop(vm);
    std::fs::remove_dir_all(&dir).unwrap();
}
