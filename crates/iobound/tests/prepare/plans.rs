//! What a plan says.

use iobound::prepare::plan_text;
use iobound_record::{ArrayManager, Bytes, FileSystemKind, Level, Plan};

use crate::contexts::{self, filesystem, group, planner, serials};
use crate::properties::{host, plan_of};

fn commands(plan: &Plan) -> String {
    plan.steps
        .iter()
        .flat_map(|step| &step.ops)
        .map(|op| iobound_model::prepare::command_line(op) + "\n")
        .collect()
}

#[test]
fn the_seeds_layout() {
    let mut context = contexts::one(ArrayManager::Mdadm, Level::Raid10, 4, FileSystemKind::Xfs);
    context.volumes.push(group("w", &serials(4, 4)));
    context.arrays.push(contexts::array("wal", ArrayManager::Mdadm, Level::Raid10, &["w"]));
    context.arrays[1].chunk = Some(Bytes(256 << 10));
    context.filesystems.push(filesystem("wal", FileSystemKind::Xfs));
    let plan = plan_of(&host(8), &planner(&context));
    assert!(plan.may_be_applied(), "{}", plan_text(&plan));
    insta::assert_snapshot!(plan_text(&plan));
}

#[test]
fn seed_002_by_lvm() {
    for (kib, kind) in [(64, FileSystemKind::Ext3), (256, FileSystemKind::Ext4)] {
        let mut context = contexts::one(ArrayManager::Lvm, Level::Raid0, 4, kind);
        context.arrays[0].device = "/dev/vg0/lv0".into();
        context.arrays[0].chunk = Some(Bytes(kib << 10));
        let said = commands(&plan_of(&host(4), &planner(&context)));
        let lvcreate = format!("--stripes 4 --stripesize {kib}k --extents 100%FREE --name lv0 vg0");
        assert!(said.contains(&lvcreate), "{said}");
        let stride = kib / 4;
        assert!(said.contains(&format!("stride={stride},stripe-width={}", stride * 4)), "{said}");
    }
}

#[test]
fn a_log_has_stripes_of_256k_at_most() {
    let mut context = contexts::one(ArrayManager::Mdadm, Level::Raid0, 4, FileSystemKind::Xfs);
    context.arrays[0].chunk = Some(Bytes(512 << 10));
    assert!(commands(&plan_of(&host(4), &planner(&context))).contains("-d su=512k,sw=4 -l su=32k"));
}

#[test]
fn odd_fstabs() {
    let context = contexts::one(ArrayManager::Mdadm, Level::Raid0, 2, FileSystemKind::Xfs);
    for (fstab, said) in [
        ("/dev/sdb\t/mnt/data/  ext4 defaults 0 0\r\n", "line 1 of /etc/fstab mounts /dev/sdb on /mnt/data"),
        (
            "# x\nA /mnt/data xfs\nB /mnt//data xfs",
            "lines 2 and 3 of /etc/fstab both mount something on /mnt/data",
        ),
    ] {
        let host = host(2);
        host.state.borrow_mut().files.insert("/etc/fstab".into(), fstab.into());
        let plan = plan_of(&host, &planner(&context));
        assert!(plan.problems.iter().any(|problem| problem.contains(said)), "{:?}", plan.problems);
    }
}

#[test]
fn words_that_may_not_reach_a_command() {
    let good = contexts::one(ArrayManager::Mdadm, Level::Raid0, 2, FileSystemKind::Xfs);
    type Spoil = fn(&mut iobound_record::Context);
    let bad: [(&str, Spoil); 9] = [
        ("no place to mount", |c| c.filesystems[0].mount = "/etc".into()),
        ("no place to mount", |c| c.filesystems[0].mount = "/data\n/dev/sda / ext4".into()),
        ("no name for an array", |c| c.arrays[0].name = "--force".into()),
        ("cannot appear as", |c| c.arrays[0].device = "/dev/sda".into()),
        ("no mount option", |c| c.filesystems[0].options = vec!["noatime 0 0\nx".into()]),
        ("no directory below", |c| c.filesystems[0].directories[0].path = "../../etc".into()),
        ("no user or user:group", |c| c.filesystems[0].directories[0].owner = "-R".into()),
        ("no I/O scheduler", |c| c.filesystems[0].scheduler = Some("none\"; RUN+=\"/x".into())),
        ("no serial number", |c| c.volumes[0].serials[0] = "*".into()),
    ];
    for (said, spoil) in bad {
        let mut context = good.clone();
        spoil(&mut context);
        let plan = plan_of(&host(2), &planner(&context));
        assert!(
            plan.steps.is_empty() && plan.problems.iter().any(|p| p.contains(said)),
            "{said}: {:?}",
            plan.problems
        );
    }
}

#[test]
fn missing_programs_are_named_with_their_packages() {
    let host = host(2);
    host.state.borrow_mut().programs = ["apt-get"].map(String::from).into();
    let context = contexts::one(ArrayManager::Mdadm, Level::Raid0, 2, FileSystemKind::Xfs);
    let said = commands(&plan_of(&host, &planner(&context)));
    assert!(said.contains("apt-get install -y --no-install-recommends mdadm xfsprogs"), "{said}");
    host.state.borrow_mut().programs = ["dnf", "mdadm"].map(String::from).into();
    assert!(commands(&plan_of(&host, &planner(&context))).contains("dnf install -y xfsprogs"));
}
