//! Power cuts on a drive with a volatile cache, whose every write and flush is known.

use std::path::PathBuf;

use iobound_lab::require;
use iobound_lab::write_log::{Drive, PowerCut, VolatileDrive, WriteLog};

use crate::program::{Background, directory, run, text, wait_for_acks};

/// Of the drive: small, so that records are overwritten many times.
const SIZE: u64 = 2 << 20;
/// Enough for every slot to be written again.
const ACKS: usize = 700;

/// A run that its drive's power cut ended.
struct CutRun {
    drive: VolatileDrive,
    log: WriteLog,
    acks: PathBuf,
    _directory: tempfile::TempDir,
}

/// Writes, and cuts the power in the midst of it. The drive alone loses it: the writer sees it vanish.
fn cut_run(nature: Drive, options: &[&str]) -> Option<CutRun> {
    let mut drive = require(VolatileDrive::new(nature, SIZE))?;
    let directory = directory();
    let acks = directory.path().join("acks");
    let path = drive.path();
    let mut arguments = vec!["write", "--target", text(&path), "--acks", text(&acks), "--overwrite"];
    arguments.extend(options);
    let writer = Background::start(directory.path(), "writer", &arguments);
    wait_for_acks(&acks, ACKS);
    let log = drive.cut().unwrap();
    let (code, told) = writer.finish();
    assert_eq!(code, Some(4), "{told}");
    assert!(told.contains("vanished"), "{told}");
    Some(CutRun { drive, log, acks, _directory: directory })
}

impl CutRun {
    /// The verdict after one of the ways in which the power may go.
    #[track_caller]
    fn verify(&self, cut: PowerCut, code: i32) -> String {
        let image = self.drive.after(cut, &self.log, self.log.entries.len()).unwrap();
        run(&["verify", "--target", text(&image), "--acks", text(&self.acks), "--power-was-cut"], code)
    }
}

/// Ways in which the power may go.
fn cuts() -> impl Iterator<Item = PowerCut> {
    let subsets = (0..4).map(|seed| PowerCut::Subset { seed, torn: seed % 2 == 1 });
    std::iter::once(PowerCut::LoseUnflushed).chain(subsets)
}

#[test]
fn a_drive_that_flushes_is_honest() {
    for options in [
        &["--sync", "fdatasync"][..],
        &["--sync", "fsync", "--buffered", "--bs", "8k"],
        &["--sync", "odsync", "--bs", "512"],
        &["--sync", "fdatasync", "--threads", "4"],
    ] {
        let Some(cut_run) = cut_run(Drive::Honest, options) else { return };
        // One flush may serve four threads: QEMU leaves out one that no write came before.
        assert!(cut_run.log.flushes() >= ACKS / 4, "{options:?}: {} flushes", cut_run.log.flushes());
        for cut in cuts() {
            let told = cut_run.verify(cut, 0);
            assert!(told.contains("honest: all "), "{options:?} {cut:?}: {told}");
        }
    }
}

#[test]
fn a_drive_that_ignores_flushes_lies() {
    for options in [&["--sync", "fdatasync"][..], &["--sync", "osync", "--buffered"]] {
        let Some(cut_run) = cut_run(Drive::IgnoresFlush, options) else { return };
        assert_eq!(cut_run.log.flushes(), 0, "{options:?}");
        for cut in cuts() {
            let told = cut_run.verify(cut, 1);
            assert!(told.contains("acknowledged writes lost"), "{options:?} {cut:?}: {told}");
        }
    }
}

#[test]
fn the_control_shows_that_the_cut_destroys() {
    let Some(cut_run) = cut_run(Drive::Honest, &["--sync", "none"]) else { return };
    let told = cut_run.verify(PowerCut::LoseUnflushed, 0);
    assert!(told.contains("control: ") && told.contains("destroys what is not synced"), "{told}");
}

#[test]
fn appending_is_honest_too() {
    let Some(cut_run) =
        cut_run(Drive::Honest, &["--pattern", "append", "--preallocate", "write", "--bs", "512"])
    else {
        return;
    };
    for cut in cuts() {
        let told = cut_run.verify(cut, 0);
        assert!(told.contains("honest: all "), "{cut:?}: {told}");
    }
}
