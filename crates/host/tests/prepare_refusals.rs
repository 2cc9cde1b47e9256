//! Ways to lose data, tried for real: each is a loop device that a plan says is a disk to be wiped, and the
//! whole of `apply` is let loose on it. Not a byte may change, except where the disk was named and only
//! its content stood against it. (What a loop device cannot be is in the program's `prepare` tests.)

mod fixtures;

use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

use fixtures::{Loop, has, may_use_loops, private_mounts, run, try_run};
use iobound_host::prepare::{Journal, LiveMachine, Machine, Planner, Ran, apply};
use iobound_host::{ProbeOptions, System};
use iobound_record::{
    Device, DeviceSort, Evidence, EvidenceKind, Ground, Interests, Member, Op, Plan, Probe, Step, StepState,
};

const MIB: u64 = 1 << 20;
const SERIAL: &str = "the-disk";

/// This machine, on which one loop device passes for a disk with a serial number.
struct Pretending {
    live: LiveMachine,
    device: String,
}

impl Machine for Pretending {
    fn probe(&self) -> io::Result<Probe> {
        let device = Device {
            name: self.device.clone(),
            serial: SERIAL.into(),
            sort: DeviceSort::Disk,
            ..Device::default()
        };
        Ok(Probe { devices: vec![device], ..Probe::default() })
    }
    fn ground(&self, _: &Interests) -> Ground {
        Ground::default()
    }
    fn evidence(&self, device: &str) -> Vec<Evidence> {
        self.live.evidence(device)
    }
    fn filesystem(&self, node: &str) -> Option<(String, String)> {
        self.live.filesystem(node)
    }
    fn run(&self, argv: &[String]) -> io::Result<Ran> {
        self.live.run(argv)
    }
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        self.live.read(path)
    }
    fn write(&self, _: &str, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
    fn remove(&self, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
    fn set(&self, _: &str, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
    fn make_directory(&self, _: &str, _: &str, _: u32) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
    fn remove_directory(&self, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
    fn entries(&self, path: &str) -> io::Result<Option<Vec<(String, bool)>>> {
        self.live.entries(path)
    }
    fn zero_ends(&self, node: &str) -> io::Result<()> {
        self.live.zero_ends(node)
    }
    fn users_of(&self, mount: &str) -> Vec<String> {
        self.live.users_of(mount)
    }
}

/// A plan that has seen no reason not to: as if everything had changed since.
struct Careless {
    device: String,
    named: bool,
    asked: Cell<u32>,
}

impl Planner for Careless {
    fn interests(&self, _: &Probe) -> Interests {
        Interests::default()
    }
    fn plan(&self, _: &Probe, _: &Ground) -> Plan {
        let node = format!("/dev/{}", self.device);
        let member = Member { device: self.device.clone(), node, serial: SERIAL.into(), ..Member::default() };
        // Asked before the step and after it.
        self.asked.set(self.asked.get() + 1);
        let state = if self.asked.get() > 1 { StepState::Done } else { StepState::Pending };
        let step = Step {
            id: "wipe".into(),
            state,
            destroys: vec![member.clone()],
            ops: vec![Op::ZeroEnds { member }],
            ..Step::default()
        };
        Plan { steps: vec![step], ..Plan::default() }
    }
    fn destroy(&self, _: &Probe) -> Vec<String> {
        if self.named { vec![self.device.clone()] } else { Vec::new() }
    }
}

/// What `apply` says; empty when it did it.
fn tried(device: &str, named: bool) -> String {
    let machine = Pretending {
        live: LiveMachine::new(ProbeOptions { offline: true, ..ProbeOptions::default() }),
        device: device.to_owned(),
    };
    let dir = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(dir.path(), "m").unwrap();
    let planner = Careless { device: device.to_owned(), named, asked: Cell::new(0) };
    let done = apply(&machine, &planner, &mut journal, ("c", "h"), &|| false, &mut |_| {});
    done.err().map(|error| error.to_string()).unwrap_or_default()
}

/// A device that must not be touched: `apply` refuses for the reason given, named or not, and every byte
/// stays.
fn never(device: &Loop, name: &str, kind: EvidenceKind, said: &str) {
    let before = fs::read(&device.node).unwrap();
    let seen = iobound_host::prepare::evidence_of(&System::live(), name);
    assert!(seen.iter().any(|seen| seen.kind == kind), "{kind:?}: {seen:?}");
    for named in [false, true] {
        let told = tried(name, named);
        assert!(told.contains(said), "{said} ({named}): {told}");
    }
    assert!(fs::read(&device.node).unwrap() == before, "{said}: bytes changed");
}

/// A device whose content alone stands against it: refused unless it is named.
fn unless_named(device: &Loop, kind: EvidenceKind, said: &str) {
    let before = fs::read(&device.node).unwrap();
    let seen = iobound_host::prepare::evidence_of(&System::live(), &device.name);
    assert!(seen.iter().any(|seen| seen.kind == kind), "{kind:?}: {seen:?}");
    let told = tried(&device.name, false);
    assert!(told.contains(said), "{said}: {told}");
    assert!(fs::read(&device.node).unwrap() == before, "{said}: bytes changed");
    assert_eq!(tried(&device.name, true), "", "{said}");
    let left = iobound_host::prepare::evidence_of(&System::live(), &device.name);
    assert!(left.is_empty(), "{said}: {left:?}");
}

#[test]
fn what_is_on_a_disk() {
    if !may_use_loops() {
        return;
    }
    // Tool, arguments before the device, size, and what must be said.
    let by_tools: &[(&str, &[&str], u64, &str)] = &[
        ("mkfs.ext4", &["-q"], 16, "ext4"),
        ("mkfs.ext3", &["-q"], 16, "ext3"),
        ("mkfs.xfs", &["-q"], 320, "xfs"),
        ("mkfs.btrfs", &["-q"], 128, "btrfs"),
        ("mkfs.vfat", &[], 16, "FAT"),
        ("mkswap", &[], 16, "swap"),
        ("pvcreate", &["-q", "--devices"], 16, "LVM2"),
    ];
    for (tool, arguments, mib, said) in by_tools {
        if !has(tool) {
            continue;
        }
        let device = Loop::new(mib * MIB);
        let mut words = arguments.to_vec();
        if *tool == "pvcreate" {
            words.push(device.path());
        }
        words.push(device.path());
        if !try_run(tool, &words).status.success() {
            fixtures::skip(&format!("{tool} does not work here"));
            continue;
        }
        unless_named(&device, EvidenceKind::Signature, said);
    }
}

/// Another look at a disk, or a program being started that has not yet closed what it inherited: over in a
/// moment, and no reason to stop in the midst of `apply`.
#[test]
fn a_disk_that_is_held_for_a_moment() {
    if !may_use_loops() {
        return;
    }
    let device = Loop::new(MIB);
    File::options().write(true).open(&device.node).unwrap().write_all_at(b"data", 0).unwrap();
    let machine = LiveMachine::new(ProbeOptions { offline: true, ..ProbeOptions::default() });
    let flags = rustix::fs::OFlags::EXCL.bits() as i32;
    let hold = || File::options().read(true).custom_flags(flags).open(&device.node).unwrap();

    let held = hold();
    let refused = machine.zero_ends(device.path()).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(rustix::io::Errno::BUSY.raw_os_error()), "{refused}");
    assert!(fs::read(&device.node).unwrap().starts_with(b"data"), "written to while somebody had it");

    let soon = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(60));
        drop(held);
    });
    machine.zero_ends(device.path()).unwrap();
    soon.join().unwrap();
    assert!(fs::read(&device.node).unwrap().iter().all(|byte| *byte == 0));
}

/// Written by hand, since their tools are rarely at hand: magic, and where it lies.
#[test]
fn signs_of_what_has_no_tool_here() {
    if !may_use_loops() {
        return;
    }
    let md = [0xa92b_4efc_u32.to_le_bytes(), 1u32.to_le_bytes()].concat();
    let signs: [(&[u8], u64, &str); 5] = [
        (&md, 4096, "md RAID member (1.2)"),
        (b"LUKS\xba\xbe\0\x02", 0, "LUKS"),
        (&0x00ba_b10c_u64.to_le_bytes(), 128 << 10, "ZFS"),
        (b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81", 4096 + 24, "bcache"),
        (b"ORCLDISK", 32, "Oracle ASM"),
    ];
    for (bytes, at, said) in signs {
        let device = Loop::new(16 * MIB);
        File::options().write(true).open(&device.node).unwrap().write_all_at(bytes, at).unwrap();
        unless_named(&device, EvidenceKind::Signature, said);
    }
    for (at, said) in [(700_000, "first MiB"), (16 * MIB - 5, "last MiB")] {
        let device = Loop::new(16 * MIB);
        File::options().write(true).open(&device.node).unwrap().write_all_at(b"data", at).unwrap();
        unless_named(&device, EvidenceKind::UnknownData, said);
    }
}

#[test]
fn partition_tables() {
    if !may_use_loops() || !has("sfdisk") {
        return;
    }
    for (label, said) in [("gpt", "GPT"), ("dos", "MBR")] {
        let device = Loop::new(16 * MIB);
        let line = format!(
            "printf 'label: {label}\\n,4M\\n' | sfdisk -q --no-reread --no-tell-kernel {}",
            device.path()
        );
        run("sh", &["-c", &line]);
        unless_named(&device, EvidenceKind::PartitionTable, said);
    }
}

#[test]
fn what_uses_a_disk() {
    if !may_use_loops() {
        return;
    }
    private_mounts();
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().to_str().unwrap();
    let device = Loop::new(16 * MIB);
    run("mkfs.ext4", &["-q", device.path()]);
    run("mount", &[device.path(), at]);
    never(&device, &device.name, EvidenceKind::Mounted, "is mounted on");
    // A file on it that another disk shows.
    run("umount", &[at]);

    let lower = Loop::new(16 * MIB);
    let upper = lower.stacked();
    run("mkfs.ext4", &["-q", upper.path()]);
    run("mount", &[upper.path(), at]);
    never(&lower, &lower.name, EvidenceKind::Mounted, "is mounted on");
    run("umount", &[at]);
    never(&lower, &lower.name, EvidenceKind::Held, "it is attached as");

    let read_only = Loop::read_only(MIB);
    never(&read_only, &read_only.name, EvidenceKind::ReadOnly, "takes no writes");

    let busy = Loop::new(MIB);
    let flags = rustix::fs::OFlags::EXCL.bits() as i32;
    let held = File::options().read(true).write(true).custom_flags(flags).open(&busy.node).unwrap();
    never(&busy, &busy.name, EvidenceKind::Busy, "another program holds it");
    drop(held);
}

#[test]
fn swap_in_use() {
    if !may_use_loops() || !has("mkswap") {
        return;
    }
    let device = Loop::new(16 * MIB);
    run("mkswap", &[device.path()]);
    if !try_run("swapon", &[device.path()]).status.success() {
        fixtures::skip("swapon is not allowed here");
        return;
    }
    never(&device, &device.name, EvidenceKind::Swap, "is swap space in use");
    run("swapoff", &[device.path()]);
}

/// The disk below this very machine's root, and one that is gone: looked at, never touched.
#[test]
fn the_roots_own_disk_and_a_disk_that_is_gone() {
    if !may_use_loops() {
        return;
    }
    let stack = System::live().stack_of(&PathBuf::from("/")).unwrap();
    for device in stack.top.iter().chain(&stack.members) {
        let seen = iobound_host::prepare::evidence_of(&System::live(), &device.name);
        let is_kept = seen.iter().any(|seen| !seen.kind.is_overruled_by_name());
        assert!(is_kept, "{}: {seen:?}", device.name);
    }
    let seen = iobound_host::prepare::evidence_of(&System::live(), "no-such-disk");
    assert_eq!(seen[0].kind, EvidenceKind::Gone);
    assert!(tried("no-such-disk", true).contains("no-such-disk is gone"));
}
