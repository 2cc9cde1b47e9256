//! Seed 001's layout, built by `prepare` from sixteen volumes at a tenth of gp3, and everything that may
//! happen to it.

use iobound_host::difference;
use iobound_record::Outcome;

use crate::database;
use crate::guest::{BYTES_PER_S, Guest, IOPS, bad_ones};

const MEMBERS: f64 = 8.0;
/// What issue 3 asks: of the array's arithmetic, and of fio beside it.
const ARITHMETIC_PERCENT: f64 = 5.0;
const FIO_PERCENT: f64 = 3.0;

fn names() -> Vec<String> {
    let of = |role: &str| (1..=8).map(|i| format!("{role}{i}")).collect::<Vec<_>>();
    [of("data"), of("wal")].concat()
}

#[test]
fn sixteen_volumes_become_the_seeds_layout_and_go_back() {
    let names = names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let Some(guest) = Guest::boot(&names) else { return };
    let context = guest.put_context("lab.16disk.raid10", "512MiB");
    let first = guest.probe();
    assert_eq!(first.devices.iter().filter(|device| names.contains(&device.serial.as_str())).count(), 16);

    plan_changes_nothing(&guest, &context, &first);
    guest.ok(&format!("iobound prepare apply --yes --offline --context {context}"));
    guest.say("applied");
    let again = guest.ok(&format!("iobound prepare apply --yes --offline --context {context}"));
    guest.say(&format!("again: {}", again.lines().last().unwrap_or_default()));
    in_step(&guest);
    tells_its_own_layout(&guest);
    nothing_is_wrong(&guest, &context);

    measures_as_its_arithmetic(&guest);
    database::ten_scenarios(&guest, &context);
    faults_are_found(&guest, &context);

    guest.vm.reboot().unwrap();
    guest.say("rebooted");
    nothing_is_wrong(&guest, &context);
    let status = guest.ok(&format!("iobound prepare status --offline --context {context}"));
    guest.say(&format!("status: {}", status.lines().last().unwrap_or_default()));

    guest.ok(&format!("iobound prepare undo --yes --offline --context {context}"));
    guest.say("undone");
    let last = guest.probe();
    assert_eq!(difference(&first, &last), Vec::<String>::new(), "undo left something");
    // And nothing comes back with the next boot.
    guest.vm.reboot().unwrap();
    assert_eq!(difference(&first, &guest.probe()), Vec::<String>::new(), "something came back by itself");
}

fn plan_changes_nothing(guest: &Guest, context: &str, first: &iobound_record::Probe) {
    let plan = guest.ok(&format!("iobound prepare plan --offline --context {context}"));
    for word in ["mdadm --create", "mkfs.xfs", "su=64k,sw=4", "su=256k,sw=4", "/etc/fstab"] {
        assert!(plan.contains(word), "the plan does not say {word}:\n{plan}");
    }
    assert_eq!(difference(first, &guest.probe()), Vec::<String>::new(), "plan changed something");
    guest.say("planned");
}

/// Waits until the mirrors are in step.
fn in_step(guest: &Guest) {
    guest.ok("mdadm --wait /dev/md0 /dev/md1; cat /proc/mdstat");
    guest.say("mirrors in step");
}

fn nothing_is_wrong(guest: &Guest, context: &str) {
    let (code, checks) = guest.checks(context);
    let failed: Vec<&str> =
        checks.iter().filter(|check| check.outcome == Outcome::Fail).map(|check| check.id.as_str()).collect();
    assert!(code == 0 && failed.is_empty(), "{:#?}", bad_ones(&checks));
    let array = checks.iter().find(|check| check.id == "array-state" && check.subject.contains("md0"));
    assert!(array.is_some_and(|check| check.value.contains("[UUUUUUUU]")), "{array:?}");
    guest.say(&format!("checked: {} looked at, {:?}", checks.len(), bad_ones(&checks)));
}

/// Ceilings without a context: how the disks are joined is read off this host.
fn tells_its_own_layout(guest: &Guest) {
    for (place, layout) in
        [("/data", "raid10 of 8, chunk 64 KiB"), ("/dev/md1", "raid10 of 8, chunk 256 KiB")]
    {
        let said = guest.ok(&format!("iobound ceilings --on {place} --iops 300 --mibps 12.5"));
        assert!(said.contains(layout) && said.contains("8 x 300 operations/s"), "{place}:\n{said}");
    }
}

/// The array does what 8 volumes of known limits must, by us and by fio.
fn measures_as_its_arithmetic(guest: &Guest) {
    // Both without a ramp, and as long: the last of what is in flight weighs the same. Written in full before:
    // random writes into a file that is not there yet would scatter its blocks, and the sequential reads after
    // them be bound by operations (76 of 100 MiB/s, seen).
    let whole = "filename=/data/bench.dat\nsize=256m\ndirect=1\nioengine=libaio\noverwrite=1\ntime_based\n\
                 runtime=12\n";
    let ours = |options: &str| {
        let run = guest.measure(&format!("[a]\n{whole}{options}\n"));
        let measured = run.scenarios[0].measurement.clone().expect("it measured");
        (measured.iops(), measured.bandwidth_bytes_per_s())
    };
    let random = MEMBERS / 2.0 * IOPS as f64;
    let write = "rw=randwrite\nbs=8k\niodepth=64\nnumjobs=4";
    guest.assert_reaches("random write, IOPS", random, ARITHMETIC_PERCENT, || ours(write).0);
    let sequential = MEMBERS * BYTES_PER_S as f64;
    let read = "rw=read\nbs=1m\niodepth=16";
    guest.assert_reaches("sequential read, B/s", sequential, ARITHMETIC_PERCENT, || ours(read).1);

    let fio = "--filename=/data/bench.dat --size=256m --runtime=12";
    let beside = |what: &str, pair: &mut dyn FnMut() -> (f64, f64)| {
        let mut last = (0.0, 0.0);
        guest.assert_reaches(&format!("{what}, ours over fio's"), 1.0, FIO_PERCENT, || {
            last = pair();
            last.0 / last.1
        });
        guest.say(&format!("{what}: ours {:.0}, fio {:.0}", last.0, last.1));
    };
    beside("random write", &mut || {
        (ours(write).0, guest.fio(&format!("{fio} --rw=randwrite --bs=8k --iodepth=64 --numjobs=4")).0)
    });
    beside("sequential read", &mut || {
        (ours(read).1, guest.fio(&format!("{fio} --rw=read --bs=1m --iodepth=16")).1)
    });
    guest.ok("rm /data/bench.dat");
}

/// Each thing that goes wrong with an array is found by name.
fn faults_are_found(guest: &Guest, context: &str) {
    guest.ok("blockdev --setra 8192 /dev/md0");
    guest.expect_found(context, "read-ahead", "md0");
    guest.ok("blockdev --setra 128 /dev/md0");

    let member = guest.ok("mdadm --detail /dev/md0 | awk '/active sync/ {print $NF; exit}'");
    let member = member.trim();
    guest.ok(&format!("mdadm /dev/md0 --fail {member}"));
    guest.expect_found(context, "array-state", "md0");
    guest.ok(&format!("mdadm /dev/md0 --remove {member} && mdadm --zero-superblock {member}"));
    guest.ok(&format!("mdadm /dev/md0 --add {member}"));
    guest.expect_found(context, "array-sync", "md0");
    in_step(guest);

    // Made again without the array's geometry, as a script that does not know it would.
    guest.ok("umount /wal && mkfs.xfs -q -f -K -d noalign /dev/md1 && mount /dev/md1 /wal");
    guest.expect_found(context, "filesystem-alignment", "/wal");
    let geometry = "mkfs.xfs -q -f -K -d su=256k,sw=4 -m uuid=$(blkid -s UUID -o value /dev/md1)";
    guest.ok(&format!("umount /wal && {geometry} /dev/md1 && mount /dev/md1 /wal"));
    let uuid = "grep -E '^UUID=[^ ]+ /wal ' /etc/fstab | sed 's/UUID=\\([^ ]*\\) .*/\\1/'";
    guest.ok(&format!("umount /wal && xfs_admin -U $({uuid}) /dev/md1 && mount /wal"));
}
