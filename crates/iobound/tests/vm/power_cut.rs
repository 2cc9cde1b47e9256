//! The power of a whole machine is cut while records are written to two drives with volatile caches: one
//! that flushes, and one that answers flushes and does nothing. Acknowledgements leave the machine as they
//! are made.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use iobound_lab::vm::{Event, Flush, GuestCommand, Running, VmSpec, VolumeSpec};
use iobound_lab::write_log::{PowerCut, WriteLog};
use iobound_record::units::MIB;

use crate::guest::Guest;

const SIZE: u64 = 16 * MIB;
/// Acknowledgements to wait for before the power goes.
const ACKS: usize = 200;
const WAIT: Duration = Duration::from_secs(120);

#[test]
fn a_power_cut_tells_an_honest_drive_from_a_liar() {
    let scratch = tempfile::tempdir().unwrap();
    let log_of = |name: &str| scratch.path().join(format!("{name}.log"));
    let volume = |name: &str, flush| VolumeSpec::new(name, SIZE).flush(flush).write_log(log_of(name));
    let honest = volume("honest", Flush::Honest);
    let liar = volume("liar", Flush::Ignored);
    let Some(guest) = Guest::boot_spec(VmSpec::new().volume(honest.clone()).volume(liar.clone())) else {
        return;
    };
    let mut writers = [Writer::start(&guest, &honest), Writer::start(&guest, &liar)];
    writers.iter_mut().for_each(|writer| writer.read_until(ACKS));
    guest.vm.power_cut().unwrap();
    writers.iter_mut().for_each(Writer::read_rest);
    guest.say(&format!("power cut after {} and {} acknowledgements", writers[0].acks(), writers[1].acks()));

    for (volume, writer, code, word) in [(&honest, &writers[0], 0, "honest"), (&liar, &writers[1], 1, "lies")]
    {
        let log = WriteLog::read(&log_of(&volume.name)).unwrap();
        let acks = scratch.path().join(format!("{}.acks", volume.name));
        std::fs::write(&acks, &writer.received).unwrap();
        for cut in [PowerCut::LoseUnflushed, PowerCut::Subset { seed: 7, torn: true }] {
            let image = after(scratch.path(), &log, cut);
            let output = Command::new(env!("CARGO_BIN_EXE_iobound"))
                .args(["durability", "verify", "--target"])
                .arg(&image)
                .arg("--acks")
                .arg(&acks)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            guest.say(&format!("{} ({cut:?}): {}", volume.name, said.lines().next().unwrap_or_default()));
            assert_eq!(output.status.code(), Some(code), "{}: {output:?}", volume.name);
            assert!(said.to_lowercase().contains(word), "{}: {said}", volume.name);
        }
    }
}

/// A drive that was all zeroes, as the cut leaves it.
fn after(scratch: &Path, log: &WriteLog, cut: PowerCut) -> PathBuf {
    let base = scratch.join("base");
    std::fs::File::create(&base).unwrap().set_len(SIZE).unwrap();
    let image = scratch.join("image");
    let _ = std::fs::remove_file(&image);
    cut.apply(log, &base, &image).unwrap();
    image
}

/// A writer in the guest whose acknowledgements leave it as they are made: its log is in memory, and read out all the
/// while.
struct Writer {
    running: Running,
    received: Vec<u8>,
    errors: Vec<u8>,
}

impl Writer {
    fn start(guest: &Guest, volume: &VolumeSpec) -> Writer {
        let device = volume.device();
        let script = format!(
            "iobound durability write --target {device} --destroy-data {device} --acks /run/{0}.acks --acks-on-same-storage \
             --sync fdatasync >/dev/null & exec tail -c +1 -F /run/{0}.acks 2>/dev/null",
            volume.name
        );
        let running = guest.vm.start(&GuestCommand::shell(script)).unwrap();
        Writer { running, received: Vec::new(), errors: Vec::new() }
    }

    /// Lines received: a few of the start, then one an acknowledgement.
    fn acks(&self) -> usize {
        self.received.iter().filter(|&&byte| byte == b'\n').count()
    }

    fn read_until(&mut self, acks: usize) {
        let deadline = Instant::now() + WAIT;
        while self.acks() < acks {
            match self.running.next_event(Some(deadline)) {
                Ok(Some(event)) => self.take(event),
                other => panic!("{other:?}; errors: {}", String::from_utf8_lossy(&self.errors)),
            }
        }
    }

    /// What had left the machine when its power went.
    fn read_rest(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(2);
        while let Ok(Some(event)) = self.running.next_event(Some(deadline)) {
            self.take(event);
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Stdout(bytes) => self.received.extend(bytes),
            Event::Stderr(bytes) => self.errors.extend(bytes),
            Event::Ended(code) => {
                panic!("the writer ended with {code}: {}", String::from_utf8_lossy(&self.errors))
            }
        }
    }
}
