//! Single drives: one that takes its time, and one that was partitioned as twenty years ago.

use iobound_lab::vm::{VmSpec, VolumeSpec};
use iobound_record::units::MIB;

use crate::guest::Guest;

/// What is asked of the slow drive.
const DELAY_MS: u32 = 5;

#[test]
fn a_slow_drive_and_a_crooked_partition() {
    let slow = VolumeSpec::new("slow", 64 * MIB).delay_ms(DELAY_MS);
    let crooked = VolumeSpec::new("crooked", 256 * MIB);
    let Some(guest) = Guest::boot_spec(VmSpec::new().volume(slow.clone()).volume(crooked.clone())) else {
        return;
    };
    takes_its_time(&guest, &slow);
    crooked_partition_is_found(&guest, &crooked);
}

/// One operation at a time takes longer by what was asked for, and by up to two ticks of the guest's clock, in
/// which device-mapper counts; and iobound sees what fio sees.
fn takes_its_time(guest: &Guest, slow: &VolumeSpec) {
    /// CONFIG_HZ of Debian's kernel is 250.
    const TICK_MS: f64 = 4.0;
    /// To wake up, translated, on a busy machine.
    const WAKE_MS: f64 = 2.0;
    let device = slow.device();
    let fio_ms = |device: &str| {
        1e3 / guest.fio(&format!("--filename={device} --rw=randread --bs=8k --iodepth=1 --runtime=6")).0
    };
    let bare_ms = fio_ms(&format!("/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_{}", slow.serial));
    let asked = f64::from(DELAY_MS);
    let mut tries = Vec::new();
    for _ in 0..3 {
        let theirs_ms = fio_ms(&device);
        let run = guest.measure_with(
            &format!(
                "[a]\nfilename={device}\ndirect=1\ntime_based\nruntime=6\nrw=randread\nbs=8k\niodepth=1"
            ),
            &format!("--destroy-data {device}"),
        );
        let ours_ms = run.scenarios[0].measurement.as_ref().expect("it measured").read.latency_ns.mean / 1e6;
        guest.say(&format!(
            "{DELAY_MS} ms asked: without {bare_ms:.2} ms, with: iobound {ours_ms:.2} ms, fio {theirs_ms:.2} ms"
        ));
        let added = ours_ms - bare_ms;
        if added > asked
            && added < asked + 2.0 * TICK_MS + WAKE_MS
            && (ours_ms / theirs_ms - 1.0).abs() < 0.10
        {
            return;
        }
        tries.push((ours_ms, theirs_ms));
    }
    panic!("{DELAY_MS} ms asked, {bare_ms} ms without; iobound and fio read {tries:?}");
}

/// A partition that starts at sector 63, where DOS put it.
fn crooked_partition_is_found(guest: &Guest, crooked: &VolumeSpec) {
    let device = crooked.device();
    guest.ok(&format!(
        "echo 'start=63, type=83' | sfdisk --quiet --no-reread {device} && blockdev --rereadpt {device}; \
         udevadm settle && mkfs.ext4 -q {device}-part1 && mount {device}-part1 /mnt"
    ));
    let output = guest.run("iobound check --json --offline --watch 0s --data /mnt");
    let json: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    let row =
        json["checks"].as_array().expect("checks").iter().find(|row| row["id"] == "partition-alignment");
    let row = row.expect("the partition is looked at");
    guest.say(&format!("partition at sector 63: {row}"));
    assert!(row["outcome"] == "fail" && output.code == 1, "{row}");
    guest.ok("umount /mnt");
}
