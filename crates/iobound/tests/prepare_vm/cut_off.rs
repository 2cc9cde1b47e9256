//! `apply` that does not come to its end: Ctrl-C at every step, and a disk that is pulled while a file system
//! is made on it.

use super::layouts::group;
use super::{Guest, machine};

/// What Ctrl-C on a terminal does: the signal goes to the whole foreground process group.
const WITH_CTRL_C: &str = r#"
setsid sh -c 'exec iobound prepare "$@" >/srv/log 2>&1 </dev/null' sh "$@" &
group=$!
# At the step whose number is asked: in it, or after its end.
until [ "$(grep -c "^$word " /srv/log 2>/dev/null)" -ge "$number" ]; do
    kill -0 $group 2>/dev/null || break
    sleep 0.02
done
/bin/kill -s INT -- -$group
wait $group
echo "code $?"
cat /srv/log
"#;

fn with_ctrl_c(guest: &Guest, word: &str, number: usize, command: &str) -> String {
    guest.file("/srv/ctrl-c.sh", WITH_CTRL_C);
    guest.check(&format!("rm -f /srv/log; word={word} number={number} sh /srv/ctrl-c.sh {command}"))
}

/// How many steps stand in the journal, each whole: its lines are JSON, and what began ended.
fn journaled(guest: &Guest) -> (usize, usize) {
    let text = guest.check("cat /var/lib/iobound/prepare/journal.jsonl");
    let events: Vec<String> = text
        .lines()
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).expect("a line of the journal is JSON");
            line["event"].as_str().expect("an event has a name").to_owned()
        })
        .collect();
    assert!(text.ends_with('\n'), "the last line is half written");
    let count = |name: &str| events.iter().filter(|event| *event == name).count();
    (count("begun") - count("undone"), count("done") + count("kept"))
}

#[test]
fn ctrl_c_stops_after_the_step_wherever_it_falls() {
    let Some((vm, _turn)) = machine() else { return };
    let guest = Guest { vm };
    let text = format!(
        "schema = 1\nname = \"three\"\n{}[[array]]\nname = \"set\"\nlevel = \"raid0\"\nchunk = \"64KiB\"\n\
         members = [\"d\"]\ndevice = \"/dev/md3\"\n[[filesystem]]\non = \"set\"\nkind = \"xfs\"\n\
         mount = \"/data\"\nread_ahead = \"64KiB\"\n[os]\nswappiness = 7\n",
        group("d", &["vol12", "vol13"])
    );
    guest.file("/srv/three.toml", &text);
    let before = guest.state();
    guest.check("rm -f /var/lib/iobound/prepare/journal.jsonl");
    let apply = "apply --context /srv/three.toml --yes";
    // In the first step that is left, each time: so once in every step.
    let (mut stops, mut steps) = (0, 0);
    loop {
        let said = with_ctrl_c(&guest, "doing", 1, apply);
        let (stand, _) = journaled(&guest);
        if said.contains("code 0") {
            assert!(said.contains("applied:"), "{said}");
            break;
        }
        stops += 1;
        assert!(said.contains("code 4") && said.contains("stopped before step"), "{said}");
        // Every step that it began it finished; mostly that is one.
        let done = said.matches("\ndone ").count();
        assert_eq!(said.matches("\ndoing ").count(), done, "{said}");
        steps += done;
        assert_eq!(stand, steps, "{said}");
        assert!(done > 0 && stops < 20, "{said}");
    }
    assert!(stops >= 3, "only {stops} stops");
    println!("stopped {stops} times in {steps} steps");
    assert_eq!(guest.check("findmnt -n -o FSTYPE /data"), "xfs\n");
    assert!(guest.prepare(apply, 0).contains("already so: nothing to do"));
    // Undoing is stopped once, and goes on.
    let said = with_ctrl_c(&guest, "done", 1, "undo --context /srv/three.toml --yes");
    assert!(said.contains("code 4") && said.contains("stopped before step"), "{said}");
    println!("{}", guest.prepare("undo --context /srv/three.toml --yes", 0));
    assert_eq!(guest.state(), before);
}

/// Waits until mkfs has begun to write, holds it, pulls the disk below it, and lets it go on.
const PULL: &str = "
until pid=$(pidof mkfs.xfs); do :; done
kill -STOP $pid
while :; do
    wrote=0
    while read -r name value; do [ $name = write_bytes: ] && wrote=$value; done </proc/$pid/io
    [ $wrote -gt 0 ] && break
    kill -CONT $pid
    turns=0
    while [ $turns -lt 500 ]; do turns=$((turns + 1)); done
    kill -STOP $pid
done
disk=$(basename $(readlink -f /dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_vol15))
echo 1 >/sys/block/$disk/device/device/remove
kill -CONT $pid
echo pulled $disk from under mkfs, which had written $wrote bytes
";

#[test]
fn a_disk_is_pulled_while_mkfs_is_at_it() {
    let Some((vm, _turn)) = machine() else { return };
    let guest = Guest { vm };
    let text = format!(
        "schema = 1\nname = \"pulled\"\n{}[[array]]\nname = \"set\"\nlevel = \"raid0\"\nchunk = \"64KiB\"\n\
         members = [\"d\"]\ndevice = \"/dev/md3\"\n[[filesystem]]\non = \"set\"\nkind = \"xfs\"\n\
         mount = \"/data\"\n[os]\nswappiness = 7\n",
        group("d", &["vol14", "vol15"])
    );
    guest.file("/srv/pulled.toml", &text);
    guest.file("/srv/pull.sh", PULL);
    let before = guest.state();
    let said = guest.run(
        "sh /srv/pull.sh >/srv/pull.log 2>&1 & iobound prepare apply --context /srv/pulled.toml --yes; code=$?; \
         wait; cat /srv/pull.log; exit $code",
    );
    let told = format!("{}{}", said.stdout, said.stderr);
    println!("{told}");
    assert!(said.code == 4 && told.contains("pulled nvme"), "{told}");
    // The step, and the disk by what it is known by.
    let failure = told.lines().find(|line| line.contains("failed:")).expect("a step failed");
    assert!(failure.contains("mkfs-set") && failure.contains("serial vol15"), "{told}");
    assert!(failure.contains("is gone: pulled out"), "{told}");

    // Undo goes back as far as can be. Half an array cannot be looked into: it is left until it is given up.
    let undo = "undo --context /srv/pulled.toml --yes";
    let told = guest.prepare(undo, 3);
    println!("{told}");
    assert!(told.contains("kept       array /dev/md3") && told.contains("does not run"), "{told}");
    assert_eq!(guest.check("sysctl -n vm.swappiness"), "60\n");
    let told = guest.prepare(&format!("{undo} --destroy-data vol14"), 0);
    println!("{told}");
    assert!(told.contains("serial vol15") && told.contains("what is on it stays"), "{told}");
    assert_eq!(guest.check("cat /proc/mdstat | grep -c ^md || true"), "0\n");
    guest.check("d=/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_vol14; ! wipefs -n $d | grep .");

    // The disk comes back with a label of an array that is no more: refused, unless it is given up by name.
    guest.check("echo 1 >/sys/bus/pci/rescan; udevadm settle; sleep 1; udevadm settle");
    let told = guest.prepare("apply --context /srv/pulled.toml --yes", 3);
    assert!(told.contains("vol15"), "{told}");
    guest.run("mdadm -Ss 2>/dev/null; true");
    guest.prepare("apply --context /srv/pulled.toml --yes --destroy-data vol15", 0);
    assert_eq!(guest.check("findmnt -n -o FSTYPE /data"), "xfs\n");
    guest.prepare("undo --context /srv/pulled.toml --yes", 0);
    assert_eq!(guest.state(), before);
}

/// How an array or a volume is put away, so that what it holds cannot be seen, and how it comes back.
const PUT_AWAY: [(&str, &str); 2] =
    [("mdadm --stop /dev/md3", "mdadm --assemble --scan"), ("vgchange -qq -an vg3", "vgchange -qq -ay vg3")];

/// A file that reached the disk, though only the journal of its file system, is not undone unseen.
#[test]
fn what_cannot_be_seen_is_not_destroyed() {
    let Some((vm, _turn)) = machine() else { return };
    let guest = Guest { vm };
    let before = guest.state();
    for (away, back) in PUT_AWAY {
        let array = match away.contains("vg3") {
            true => "manager = \"lvm\"\nlevel = \"raid0\"\nchunk = \"64KiB\"\ndevice = \"/dev/vg3/lv3\"",
            false => "level = \"raid1\"\ndevice = \"/dev/md3\"",
        };
        let text = format!(
            "schema = 1\nname = \"kept\"\n{}[[array]]\nname = \"set\"\n{array}\nmembers = [\"d\"]\n\
             [[filesystem]]\non = \"set\"\nkind = \"xfs\"\nmount = \"/data\"\n",
            group("d", &["vol12", "vol13"])
        );
        guest.file("/srv/kept.toml", &text);
        guest.prepare("apply --context /srv/kept.toml --yes", 0);
        guest.check(&format!(
            "echo precious >/data/theirs && sync /data/theirs && xfs_io -x -c 'shutdown -f' /data && umount /data \
             && {away} && udevadm settle"
        ));
        let told = guest.prepare("undo --context /srv/kept.toml --yes", 3);
        assert!(told.contains("does not run"), "{away}: {told}");
        guest.check(&format!("{back}; udevadm settle"));
        let told = guest.prepare("undo --context /srv/kept.toml --yes", 3);
        assert!(told.contains("theirs, which iobound did not make"), "{away}: {told}");
        // The way to mount it is undone already, and its name in mdadm.conf.
        let mount = "mount $(blkid -t TYPE=xfs -o device | head -1) /mnt";
        guest.check(mount);
        assert_eq!(guest.check("cat /mnt/theirs"), "precious\n", "after {away}");
        guest.check("rm /mnt/theirs && umount /mnt");
        guest.prepare("undo --context /srv/kept.toml --yes", 0);
    }
    assert_eq!(guest.state(), before);
}
