//! Traps that need real arrays: a slow member, a lost one, a stripe that does not fit. (Those that need none
//! are in `tests/traps/`.)

use iobound_lab::vm::{VmSpec, VolumeSpec};
use iobound_record::{Finding, Run, Severity};

use crate::guest::{BYTES_PER_S, Guest, IOPS, VOLUME_BYTES};

const MEMBERS: [&str; 4] = ["one", "two", "three", "slow"];
/// What the slow one has of the others' operations.
const SLOWER: u64 = 4;
const READS: &str = "ioengine=io_uring\nrw=randread\nbs=4k\niodepth=16\ndirect=1\ntime_based\nruntime=6";

fn named<'a>(guest: &Guest, run: &'a Run, id: &str) -> &'a Finding {
    let finding = run.findings.iter().find(|finding| finding.id == id);
    let finding = finding.unwrap_or_else(|| panic!("{id} was not found among {:#?}", run.findings));
    guest.say(&format!("found {id}: {}", finding.evidence));
    finding
}

#[test]
fn arrays_that_mislead() {
    let mut spec = VmSpec::new();
    for name in MEMBERS {
        let iops = if name == "slow" { IOPS / SLOWER } else { IOPS };
        spec = spec.volume(VolumeSpec::new(name, VOLUME_BYTES).iops(iops).bytes_per_s(BYTES_PER_S));
    }
    let Some(guest) = Guest::boot_spec(spec) else { return };
    let disks = MEMBERS.map(|name| format!("/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_{name}")).join(" ");

    // Every stripe has a part on the slow one.
    guest.ok(&format!("mdadm --create /dev/md0 --run --level=0 --chunk=64 --raid-devices=4 {disks}"));
    let run = guest.measure(&format!("[a]\nfilename=/dev/md0\n{READS}"));
    let found = named(&guest, &run, "slow-member");
    assert_eq!(found.severity, Severity::Warning);
    let slow = guest.ok("basename $(readlink -f /dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_slow)");
    assert!(found.evidence.contains(slow.trim()), "{} is the slow one: {found:?}", slow.trim());

    // Mirrors, made by somebody who did not look at the chunk, and one of them lost.
    guest.ok("mdadm --stop /dev/md0");
    guest.ok(&format!(
        "mdadm --create /dev/md1 --run --assume-clean --level=10 --chunk=64 --raid-devices=4 {disks} && \
         mkfs.xfs -q -f -K -d su=32k,sw=3 /dev/md1 && mkdir -p /data && mount /dev/md1 /data"
    ));
    let job = format!("[a]\ndirectory=/data\nsize=16m\noverwrite=1\n{READS}");
    let run = guest.measure(&job);
    assert_eq!(named(&guest, &run, "check-filesystem-alignment").severity, Severity::Warning);
    assert!(run.findings.iter().all(|finding| finding.id != "check-array-state"), "{:#?}", run.findings);
    guest.ok("mdadm /dev/md1 --fail /dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_two");
    let run = guest.measure(&job);
    let found = named(&guest, &run, "check-array-state");
    assert!(found.severity == Severity::Warning && found.evidence.contains("3 of 4"), "{found:?}");
    let touched = &run.scenarios[0].verdict.findings;
    assert!(touched.iter().any(|id| id == "check-array-state"), "{touched:?}");
}
