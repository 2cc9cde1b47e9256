pub(crate) mod hosts;

use iobound_record::{Check, Context, Outcome, Probe, Role, Watched};

use super::*;
use hosts::{context, ec2, lvm, quiet};

fn held(probe: &Probe, context: Option<&Context>, watched: &Watched, targets: &[Target]) -> Vec<Check> {
    check(&CheckInput { probe, context, watched: Some(watched), targets })
}

/// The clean EC2 host against its context, after a change.
fn ec2_with(change: impl FnOnce(&mut Probe, &mut Context, &mut Watched)) -> Vec<Check> {
    let (mut probe, mut context, mut watched) = (ec2(), context(), quiet(&ec2()));
    change(&mut probe, &mut context, &mut watched);
    held(&probe, Some(&context), &watched, &[])
}

/// What is not a pass, one line each.
fn bad(checks: &[Check]) -> Vec<String> {
    let line = |c: &Check| format!("{:?} {} {}: {}", c.outcome, c.id, c.subject, c.value);
    checks.iter().filter(|c| c.outcome != Outcome::Pass).map(line).collect()
}

/// A planted fault gives this row and no other.
#[track_caller]
fn finds(expected: &str, change: impl FnOnce(&mut Probe, &mut Context, &mut Watched)) -> Check {
    let checks = ec2_with(change);
    let found = bad(&checks);
    assert!(found.len() == 1 && found[0].starts_with(expected), "wanted {expected:?}: {found:#?}");
    let check = checks.into_iter().find(|c| c.outcome != Outcome::Pass).unwrap();
    assert!(!check.why.is_empty() && !check.mend.is_empty() && !check.expected.is_empty(), "{check:?}");
    check
}

/// The same where several rows are due.
#[track_caller]
fn finds_among(expected: &str, change: impl FnOnce(&mut Probe, &mut Context, &mut Watched)) {
    let found = bad(&ec2_with(change));
    assert!(found.iter().any(|line| line.starts_with(expected)), "wanted {expected:?}: {found:#?}");
}

#[test]
fn a_clean_ec2_host_raises_nothing() {
    let checks = ec2_with(|_, _, _| {});
    assert_eq!(bad(&checks), Vec::<String>::new());
    let lines: Vec<String> = checks.iter().map(|c| format!("{} {}: {}", c.id, c.subject, c.value)).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_clean_host_without_a_context_raises_nothing() {
    let targets = [Target { path: "/data/x".into(), ..Target::default() }];
    assert_eq!(bad(&held(&ec2(), None, &quiet(&ec2()), &targets)), Vec::<String>::new());
    let targets = [Target { path: "/data".into(), role: Some(Role::Data), ..Target::default() }];
    assert_eq!(bad(&held(&ec2(), None, &quiet(&ec2()), &targets)), Vec::<String>::new());
    assert_eq!(bad(&held(&lvm(), None, &quiet(&lvm()), &targets)), Vec::<String>::new());
}

#[test]
fn a_degraded_array() {
    let check = finds("Fail array-state md0: degraded (7 of 8) [UUUUUUU_]", |probe, _, _| {
        probe.arrays[0].degraded = 1;
        probe.arrays[0].slots = "[UUUUUUU_]".into();
        probe.arrays[0].members[7].state = "faulty".into();
        probe.arrays[0].members[7].slot = None;
    });
    assert!(check.mend.contains("mdadm /dev/md0 --remove /dev/nvme8n1"), "{}", check.mend);
}

#[test]
fn a_resync_under_way() {
    let check = finds("Fail array-sync md1: resync 12.5% done at 100 MiB/s", |probe, _, _| {
        probe.arrays[1].sync_action = "resync".into();
        probe.arrays[1].sync_done = Some(0.125);
        probe.arrays[1].sync_bytes_per_s = Some(100 << 20);
    });
    assert!(check.mend.contains("mdadm --wait /dev/md1"));
    finds("Fail array-sync md0: check", |probe, _, _| probe.arrays[0].sync_action = "check".into());
}

#[test]
fn an_array_of_another_shape() {
    finds_among("Warn array-layout md0: raid10 of 8, chunk 512 KiB", |p, _, _| {
        p.arrays[0].chunk_bytes = 512 << 10
    });
    finds_among("Fail array-layout md0: raid0 of 8", |p, _, _| p.arrays[0].level = "raid0".into());
    finds_among("Fail array-layout md0: raid10 of 6", |p, _, _| p.arrays[0].raid_disks = 6);
    finds_among("Fail array-state md0: inactive", |p, _, _| p.arrays[0].state = "inactive".into());
}

#[test]
fn nothing_mounted() {
    let checks = ec2_with(|probe, _, _| {
        probe.filesystems.retain(|fs| fs.mount != "/wal");
        probe.arrays.remove(1);
    });
    let found = bad(&checks);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert_eq!(found[0], "Fail array-present md1: not found");
    assert_eq!(found[1], "Fail mount /wal: nothing is mounted there");
}

#[test]
fn disks_of_another_host() {
    let check = finds("Fail disks data: 2 of 8 missing: vol-0aa vol-0bb", |_, context, _| {
        let mut serials: Vec<String> = (1..=6).map(|n| format!("vol-0data{n}")).collect();
        serials.extend(["vol-0aa".to_owned(), "vol-0bb".to_owned()]);
        context.volumes[0].serials = serials;
    });
    assert!(check.mend.contains("lsblk"));
    assert_eq!(
        bad(&ec2_with(|_, context, _| {
            context.volumes[0].serials = (1..=8).map(|n| format!("vol-0data{n}")).collect();
        })),
        Vec::<String>::new()
    );
    finds("Warn instance host: c8g.2xlarge", |probe, _, _| {
        probe.cloud.as_mut().unwrap().instance_type = "c8g.2xlarge".into();
    });
    finds("Warn vcpus host: 4", |probe, _, _| probe.processor.cpus_online = 4);
}

#[test]
fn wrong_read_ahead() {
    let check = finds("Warn read-ahead /data: 4 MiB on md0", |probe, _, _| {
        hosts::device(probe, "md0").read_ahead_bytes = 4 << 20
    });
    assert!(
        check.mend.starts_with("echo 64 | sudo tee /sys/block/md0/queue/read_ahead_kb"),
        "{}",
        check.mend
    );
    finds("Warn read-ahead /wal: 128 KiB on md1", |probe, _, _| {
        hosts::device(probe, "md1").read_ahead_bytes = 128 << 10
    });
}

#[test]
fn mount_options() {
    let set = |options: &'static str| {
        move |probe: &mut Probe, _: &mut Context, _: &mut Watched| {
            probe.filesystems[0].options = options.into()
        }
    };
    let check = finds("Warn mount-atime /data: without noatime", set("rw,relatime"));
    assert!(check.mend.starts_with("sudo mount -o remount,noatime"), "{}", check.mend);
    finds("Warn mount-atime /data: strictatime", set("rw,noatime,nodiratime,strictatime"));
    finds("Fail mount-barriers /data: nobarrier", set("rw,noatime,nodiratime,nobarrier"));
    finds("Fail mount-writable /data: ro", set("ro,noatime,nodiratime"));
    finds("Fail mount-sync /data: sync", set("rw,noatime,sync"));
    finds("Warn mount-discard /data: discard", set("rw,noatime,discard"));
    finds("Warn mount-journal /data: data=writeback", set("rw,noatime,data=writeback"));
    finds("Warn mount /data: ext4 on md0", |probe, _, _| probe.filesystems[0].kind = "ext4".into());
}

#[test]
fn a_misaligned_file_system() {
    finds("Warn filesystem-alignment /data: su 512 KiB, width 2 MiB", |probe, _, _| {
        probe.filesystems[0].stripe_unit_bytes = Some(512 << 10);
        probe.filesystems[0].stripe_width_bytes = Some(2 << 20);
    });
}

#[test]
fn no_stripe_at_all() {
    finds("Warn filesystem-alignment /data: no stripe", |probe, _, _| {
        probe.filesystems[0].stripe_unit_bytes = Some(0);
        probe.filesystems[0].stripe_width_bytes = Some(0);
    });
    let found = bad(&ec2_with(|probe, _, _| {
        probe.filesystems[0].stripe_unit_bytes = None;
        probe.filesystems[0].stripe_width_bytes = None;
    }));
    assert_eq!(found, ["Unknown filesystem-alignment /data: not known"]);
}

#[test]
fn a_misaligned_partition() {
    let mut probe = hosts::plain();
    let targets = [Target { path: "/srv".into(), ..Target::default() }];
    assert_eq!(bad(&held(&probe, None, &quiet(&probe), &targets)), Vec::<String>::new());
    hosts::device(&mut probe, "vdb1").start_bytes = 63 * 512;
    let found = bad(&held(&probe, None, &quiet(&probe), &targets));
    assert_eq!(found, ["Fail partition-alignment vdb1: starts at 32256 bytes"]);
}

#[test]
fn io_of_others() {
    let busy = |iops, bytes, share| {
        move |_: &mut Probe, _: &mut Context, watched: &mut Watched| {
            let traffic = &mut watched.traffic[1];
            (traffic.iops, traffic.bytes_per_s, traffic.busy) = (iops, bytes, share);
        }
    };
    finds("Warn other-io nvme1n1: 100 IOPS", busy(100.0, 819_200.0, 0.04));
    finds("Fail other-io nvme1n1: 1500 IOPS", busy(1500.0, 12e6, 0.4));
    finds("Fail other-io nvme1n1: 20 IOPS", busy(20.0, 1e5, 0.9));
    assert_eq!(bad(&ec2_with(busy(3.0, 12_288.0, 0.0))), Vec::<String>::new());
}

#[test]
fn the_wrong_scheduler() {
    let check = finds("Warn scheduler nvme3n1: bfq", |probe, _, _| {
        hosts::device(probe, "nvme3n1").scheduler = "bfq".into()
    });
    assert_eq!(check.mend, "echo none | sudo tee /sys/block/nvme3n1/queue/scheduler");
    let mut probe = hosts::plain();
    let targets = [Target { path: "/srv".into(), ..Target::default() }];
    // A virtual disk that claims to spin.
    hosts::device(&mut probe, "vdb").rotational = Some(true);
    assert_eq!(bad(&held(&probe, None, &quiet(&probe), &targets)), Vec::<String>::new());
    probe.machine.hypervisor.clear();
    hosts::device(&mut probe, "vdb").transport = "scsi".into();
    assert_eq!(bad(&held(&probe, None, &quiet(&probe), &targets)), ["Warn scheduler vdb: none"]);
}

#[test]
fn dirty_limits_do_the_arithmetic() {
    let mut probe = hosts::plain();
    probe.memory.total_bytes = 512 << 30;
    probe.memory.available_bytes = 500 << 30;
    let targets = [Target { path: "/srv".into(), ..Target::default() }];
    let checks = held(&probe, None, &quiet(&probe), &targets);
    assert_eq!(bad(&checks), ["Warn dirty-limit host: dirty_ratio 20, 100.0 GiB of 500.0 GiB"]);
    let check = finds("Warn dirty-limit host: dirty_ratio 20, 3.0 GiB of 15.0 GiB", |probe, context, _| {
        hosts::defaults(probe);
        context.os = Default::default();
    });
    assert_eq!(check.why, "a sync may wait for 3072 MiB / 500 MiB/s of /data = 6.14 s of other writes");
    finds("Warn dirty-limit host: dirty_bytes 64 MiB", |probe, _, _| {
        probe.sysctl.insert("vm.dirty_bytes".into(), (64u64 << 20).to_string());
    });
    let found = bad(&ec2_with(|probe, context, _| {
        hosts::defaults(probe);
        context.os.dirty_bytes = None;
        context.os.dirty_background_bytes = None;
        context.os.dirty_ratio = Some(4);
    }));
    assert_eq!(found[0], "Warn dirty-limit host: dirty_ratio 20, 3.0 GiB of 15.0 GiB");
}

#[test]
fn io_uring_off() {
    let check = finds("Warn io-uring host: refused", |probe, _, _| {
        probe.limits.io_uring = Some(false);
        probe.sysctl.insert("kernel.io_uring_disabled".into(), "2".into());
    });
    assert_eq!(check.mend, "sudo sysctl -w kernel.io_uring_disabled=0");
    let untried = |probe: &mut Probe, _: &mut Context, _: &mut Watched| {
        probe.limits.io_uring = None;
        probe.sysctl.remove("kernel.io_uring_disabled");
    };
    assert_eq!(bad(&ec2_with(untried)), ["Unknown io-uring host: not known"]);
}

#[test]
fn clock_sources() {
    let set = |name: &'static str| {
        move |p: &mut Probe, _: &mut Context, _: &mut Watched| p.machine.clocksource = name.into()
    };
    let check = finds("Warn clock host: hpet", set("hpet"));
    assert!(check.mend.starts_with("echo arch_sys_counter"), "{}", check.mend);
    finds("Warn clock host: acpi_pm", set("acpi_pm"));
    finds("Fail clock host: jiffies", set("jiffies"));
    assert_eq!(bad(&ec2_with(set("kvm-clock"))), Vec::<String>::new());
    assert_eq!(bad(&ec2_with(set("sundial"))), ["Unknown clock host: sundial"]);
}

#[test]
fn the_kernels_log() {
    let say = |line: &'static str| {
        move |_: &mut Probe, _: &mut Context, watched: &mut Watched| {
            watched.kernel_log = Some(vec![line.into()])
        }
    };
    finds(
        "Warn kernel-log host: 1 line: nvme nvme3: I/O 12 QID 2 timeout",
        say("nvme nvme3: I/O 12 QID 2 timeout, aborting"),
    );
    finds(
        "Warn kernel-log host: 1 line: CPU1: Core temperature above",
        say("CPU1: Core temperature above threshold, cpu clock throttled"),
    );
    assert_eq!(
        bad(&ec2_with(say("blk_update_request: I/O error, dev loop7, sector 8"))),
        Vec::<String>::new()
    );
    assert_eq!(bad(&ec2_with(say("Buffer I/O error on dev dm-9, logical block 3"))), Vec::<String>::new());
    assert_eq!(bad(&ec2_with(|_, _, w| w.kernel_log = None)), ["Unknown kernel-log host: not known"]);
}

#[test]
fn a_heavy_process() {
    let process = iobound_record::WatchedProcess {
        pid: 77,
        name: "pgbench\u{1b}".into(),
        cpus: 3.5,
        io_bytes_per_s: None,
    };
    let check = finds("Warn processes host: pgbench (77): 3.5 cores", |_, _, watched| {
        watched.processes.push(process)
    });
    assert!(check.mend.contains("ps -fp 77"));
}

#[test]
fn a_nearly_full_file_system() {
    finds("Warn free-space /wal: 6 GiB free of 120 GiB", |probe, _, _| {
        probe.filesystems[1].free_bytes = 6 << 30
    });
    finds("Fail free-space /wal: 1 MiB free of 120 GiB", |probe, _, _| {
        probe.filesystems[1].free_bytes = 1 << 20
    });
}

#[test]
fn what_else_is_held_against_it() {
    finds("Warn nr-requests nvme2n1: 4", |probe, _, _| hosts::device(probe, "nvme2n1").nr_requests = 4);
    finds("Warn ephemeral nvme2n1", |probe, _, _| hosts::device(probe, "nvme2n1").ephemeral = true);
    finds("Fail device-writable nvme2n1", |probe, _, _| hosts::device(probe, "nvme2n1").read_only = true);
    finds("Warn governor host: powersave", |probe, _, _| {
        probe.processor.governors = vec!["powersave".into()]
    });
    finds("Warn huge-pages host: always", |probe, context, _| {
        probe.transparent_hugepage = "always".into();
        context.os.transparent_hugepage = Some("never".into());
    });
    finds("Warn swappiness host: 100", |probe, _, _| {
        probe.memory.swap_bytes = 1 << 30;
        probe.sysctl.insert("vm.swappiness".into(), "100".into());
    });
    finds("Warn io-limit control group: 259:1 riops=3000", |probe, _, _| {
        probe.limits.io = vec!["259:1 riops=3000".into(), "8:0 wiops=3".into()];
    });
    finds("Warn cpu-limit control group: 0.50 processors", |probe, _, _| probe.limits.cpus = Some(0.5));
}

#[test]
fn lvm_stripes_against_the_context() {
    let context: Context =
        toml::from_str(include_str!("../../../../../contexts/Standard_DS5_v2.4disk.lvm.toml")).unwrap();
    let against = |probe: &Probe| bad(&held(probe, Some(&context), &quiet(probe), &[]));
    assert_eq!(against(&lvm()), Vec::<String>::new());
    let mut probe = lvm();
    probe.logical_volumes[0].segments[0].stripes = 1;
    probe.logical_volumes[0].segments[0].kind = "linear".into();
    assert!(against(&probe).contains(&"Fail lvm-layout vg0/lv0: linear".to_owned()));
    let mut probe = lvm();
    probe.logical_volumes[0].segments[0].stripe_bytes = 256 << 10;
    assert!(against(&probe).contains(&"Warn lvm-layout vg0/lv0: 4 stripes of 256 KiB".to_owned()));
    let mut probe = lvm();
    probe.logical_volumes.clear();
    assert!(against(&probe)[0].starts_with("Fail lvm-layout lv0: not found"));
}

#[test]
fn nobody_watched() {
    let (probe, context) = (ec2(), context());
    let checks = check(&CheckInput { probe: &probe, context: Some(&context), watched: None, targets: &[] });
    assert!(bad(&checks).iter().all(|line| line.starts_with("Unknown")));
    assert!(checks.iter().filter(|c| c.outcome == Outcome::Unknown).all(|c| !c.why.is_empty()));
}

#[test]
fn a_probe_of_nothing_is_unknown_not_well() {
    let (probe, watched) = (Probe::default(), Watched::default());
    let targets = [Target { path: "/x".into(), ..Target::default() }];
    let checks = held(&probe, None, &watched, &targets);
    assert_eq!(count(&checks, Outcome::Fail), 0);
    assert!(count(&checks, Outcome::Unknown) >= 3);
    let checks = held(&probe, Some(&context()), &watched, &[]);
    assert!(count(&checks, Outcome::Fail) >= 4, "{:#?}", bad(&checks));
}

#[test]
fn commands_are_quoted() {
    let mut probe = hosts::plain();
    probe.filesystems[0].mount = "/srv/a b;reboot".into();
    probe.filesystems[0].options = "rw,relatime,nobarrier".into();
    let targets = [Target { path: "/srv/a b;reboot/x".into(), ..Target::default() }];
    let checks = held(&probe, None, &quiet(&probe), &targets);
    let check = checks.iter().find(|c| c.id == "mount-barriers").unwrap();
    assert_eq!(check.mend, "sudo mount -o remount,barrier=1 '/srv/a b;reboot'");
}
