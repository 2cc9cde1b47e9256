//! `iobound prepare` on a real kernel with real mdadm, LVM, XFS and ext, in the virtual machine.

mod cut_off;
mod layouts;
mod levels;
mod refusals;

use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};
use std::time::Duration;

use iobound_lab::vm::{GuestCommand, Output, Vm, VmSpec, VolumeSpec};
use iobound_lab::{LabError, require};

const VOLUMES: usize = 16;
/// Small, since mirrors are brought in step, and yet more than the 300 MB that XFS asks for on two of them.
pub const VOLUME_BYTES: u64 = 384 << 20;

/// Translated machines mostly keep one processor busy each: two at once take little more time than one.
const MACHINES: usize = 2;

/// One of the machines, for one test at a time, with the program in it. None when this host has none.
fn machine() -> Option<(&'static Vm, MutexGuard<'static, ()>)> {
    static BOOTED: [OnceLock<Result<Vm, String>>; MACHINES] = [const { OnceLock::new() }; MACHINES];
    static TURNS: [Mutex<()>; MACHINES] = [const { Mutex::new(()) }; MACHINES];
    let (place, turn) = loop {
        let free = TURNS.iter().enumerate().find_map(|(place, turn)| match turn.try_lock() {
            Ok(turn) => Some((place, turn)),
            Err(TryLockError::Poisoned(error)) => Some((place, error.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        });
        match free {
            Some(free) => break free,
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    let vm = BOOTED[place].get_or_init(|| {
        let drive = VolumeSpec::new("vol", VOLUME_BYTES);
        let vm = Vm::boot(VmSpec::new().volumes(VOLUMES, &drive)).map_err(|error| match error {
            LabError::Skip(reason) => reason,
            error => panic!("the virtual machine did not boot: {error}"),
        })?;
        vm.push_program(env!("CARGO_BIN_EXE_iobound").as_ref(), "/usr/local/bin/iobound").unwrap();
        Ok(vm)
    });
    let vm = require(vm.as_ref().map_err(|reason| LabError::Skip(reason.clone())))?;
    Some((vm, turn))
}

/// A machine of its own to act on, and the context under test.
pub struct Guest<'a> {
    vm: &'a Vm,
}

impl Guest<'_> {
    /// Puts a file into the machine.
    pub fn file(&self, path: &str, text: &str) {
        let written = self.vm.run(GuestCommand::program(["tee", path]).stdin(text)).unwrap();
        assert_eq!(written.code, 0, "{}", written.stderr);
    }

    /// Runs a line. Translated, and on a machine that does other work too, one may take minutes.
    pub fn run(&self, line: &str) -> Output {
        self.vm.run(GuestCommand::shell(line).time_limit(Duration::from_secs(1200))).unwrap()
    }

    /// Runs a line that must succeed.
    pub fn check(&self, line: &str) -> String {
        self.run(line).expect_success(line).unwrap()
    }

    /// Runs `iobound prepare`, with the code that it must end with.
    pub fn prepare(&self, arguments: &str, code: i32) -> String {
        let output = self.run(&format!("iobound prepare {arguments}"));
        let said = format!("{}{}", output.stdout, output.stderr);
        assert_eq!(output.code, code, "iobound prepare {arguments}\n{said}");
        said
    }

    /// What `prepare` changes, as text: must be the same before and after.
    pub fn state(&self) -> String {
        self.check(
            "for f in /etc/fstab /etc/mdadm/mdadm.conf; do echo == $f; md5sum <$f; done; \
             ls -A /etc/sysctl.d /etc/tmpfiles.d /etc/security/limits.d /etc/udev/rules.d; \
             cat /proc/mdstat | grep ^md; sysctl vm.dirty_bytes vm.dirty_ratio vm.dirty_background_bytes \
               vm.dirty_background_ratio vm.swappiness vm.dirty_writeback_centisecs; \
             cat /sys/kernel/mm/transparent_hugepage/enabled; \
             for w in scheduler nr_requests read_ahead_kb; do grep -H . /sys/block/nvme*/queue/$w; done; \
             ls -d /data /wal 2>&1; findmnt -rn -o TARGET,SOURCE -t xfs,ext4,ext3; pvs --noheadings; vgs --noheadings; \
             wipefs -n /dev/nvme[1-9]*n1; for end in head tail; do $end -q -c 1M /dev/nvme[1-9]*n1 | md5sum; done",
        )
    }
}
