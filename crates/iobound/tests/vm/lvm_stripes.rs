//! Seed 002's layout: a striped logical volume over four volumes, with the rate of each member.

use iobound_host::difference;

use crate::guest::{BYTES_PER_S, Guest, bad_ones};

const MEMBERS: f64 = 4.0;

#[test]
fn four_volumes_become_a_stripe_and_go_back() {
    let Some(guest) = Guest::boot(&["data1", "data2", "data3", "data4"]) else { return };
    let context = guest.put_context("lab.4disk.lvm", "512MiB");
    let first = guest.probe();
    guest.ok(&format!("iobound prepare apply --yes --offline --context {context}"));
    let segments = guest.ok("lvs --noheadings --segments -o lv_name,stripes,stripe_size,segtype");
    assert!(segments.contains("striped") && segments.contains("64.00k"), "{segments}");
    guest.say(&format!("applied: {}", segments.trim()));
    // A new ext4 goes on writing its inode tables behind its user's back, which the checklist rightly tells.
    guest.ok("for i in $(seq 90); do pgrep -x ext4lazyinit >/dev/null || break; sleep 1; done; sync");
    let (code, checks) = guest.checks(&context);
    assert_eq!(code, 0, "{:#?}", bad_ones(&checks));
    let said = guest.ok("iobound ceilings --on /data --iops 300");
    assert!(said.contains("raid0 of 4, chunk 64 KiB"), "{said}");

    let job = "[a]\ndirectory=/data\nsize=256m\ndirect=1\ntime_based\nruntime=6\nramp_time=2\n\
               rw=write\nbs=1m\niodepth=16\noverwrite=1";
    let mut members = Vec::new();
    guest.assert_reaches("sequential write, B/s", MEMBERS * BYTES_PER_S as f64, 5.0, || {
        let run = guest.measure(job);
        let measured = run.scenarios[0].measurement.clone().expect("it measured");
        members = measured.device.clone().map(|traffic| traffic.members).unwrap_or_default();
        measured.bandwidth_bytes_per_s()
    });
    // Each of the four took its quarter.
    let disks: Vec<u64> = members
        .iter()
        .filter(|(name, _)| name.starts_with("nvme"))
        .map(|(_, bytes)| bytes.write_bytes)
        .collect();
    assert_eq!(disks.len(), 4, "{members:?}");
    let mean = disks.iter().sum::<u64>() as f64 / 4.0;
    assert!(disks.iter().all(|&bytes| (bytes as f64 / mean - 1.0).abs() < 0.10), "{disks:?}");

    // The sequential suite says what each of the four did, beside all together.
    guest.ok("iobound run sequential --data /data --size 96m --runtime 5s --quiet --out /var/seq");
    let said = guest.ok("iobound report /var/seq");
    for name in ["copy-write", "disk-write", "disk-read"] {
        let line = said.lines().find(|line| line.contains(&format!("{name}: "))).unwrap_or_default();
        assert!(line.contains("over 4 disks"), "{name}: {said}");
    }
    assert!(guest.ok("iobound compare --layouts /var/seq").contains("4 disks"));
    guest.say("each member beside the total");

    // Data of somebody stands against undoing.
    guest.expect(3, &format!("iobound prepare undo --yes --offline --context {context}"));
    guest.ok("rm /data/a.*");
    guest.ok(&format!("iobound prepare apply --yes --offline --context {context}"));

    guest.vm.reboot().unwrap();
    let (code, checks) = guest.checks(&context);
    assert_eq!(code, 0, "after a reboot: {:#?}", bad_ones(&checks));
    guest.ok(&format!("iobound prepare undo --yes --offline --context {context}"));
    assert_eq!(difference(&first, &guest.probe()), Vec::<String>::new(), "undo left something");
    guest.say("undone");
}
