//! Others on the device, and a device that goes away.

use std::process::{Child, Command, Stdio};

use iobound_lab::{ThrottledVolume, is_root, require, skip};
use iobound_record::Severity;

use crate::support::{Case, IOBOUND, alone, make_file};
use crate::{has, in_three_tries, named, not_named};

const MIB: u64 = 1 << 20;

/// A process that ends with the test.
struct Other(Child);

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn another_process_on_the_device() {
    let _turn = alone();
    let Some(volume) = require(ThrottledVolume::builder().size(512 * MIB).iops(1000).build()) else { return };
    let case = Case::new();
    let device = volume.device().to_str().unwrap();
    let job = case.job(&format!(
        "[a]\nioengine=io_uring\nfilename={device}\nrw=randread\nbs=4k\niodepth=4\ndirect=1\ntime_based\nruntime=3\n"
    ));
    let quiet = case.run_as(volume.command(IOBOUND), &[&job]).expect(&[0]);
    not_named(&quiet, "other-io");
    let (found, _) = in_three_tries("other-io", || {
        let mut dd = volume.command("dd");
        dd.args([&format!("if={device}"), "of=/dev/null", "bs=64k", "iflag=direct"]);
        let _other = Other(dd.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        case.run_as(volume.command(IOBOUND), &[&job]).expect(&[0])
    });
    assert_eq!(found.severity, Severity::Warning);
    has(&found, &["dd (", "reads", volume.device().file_name().unwrap().to_str().unwrap()]);
}

/// The device's row goes from the kernel's table in mid-run, as when a drive is pulled. The table is a file
/// of the test's, laid over the kernel's for the program alone.
#[test]
fn a_device_that_disappears() {
    let _turn = alone();
    if !is_root() {
        skip("needs root to lay a table over /proc/diskstats");
        return;
    }
    let case = Case::new();
    make_file(&case.target().join("f"), 64 << 20);
    let table = case.beside("diskstats");
    std::fs::write(&table, std::fs::read("/proc/diskstats").unwrap()).unwrap();
    let job = case.job(
        "[a]\nioengine=io_uring\nfilename=f\nrw=randread\nbs=64k\niodepth=4\ndirect=1\nsize=64m\ntime_based\nruntime=4\nrate=20m\n",
    );
    let mut command = Command::new("unshare");
    let script = format!("mount --bind {} /proc/diskstats && exec \"$0\" \"$@\"", table.display());
    command.args(["--mount", "sh", "-c", &script, IOBOUND]);
    let mut running = case.start_as(command, &[&job]);
    running.let_measure(1, 1.5);
    std::fs::write(&table, "").unwrap();
    let outcome = running.finish().expect(&[0]);
    let run = outcome.record();
    let Some(summary) = run.scenarios[0].samples.as_ref().filter(|samples| !samples.devices.is_empty())
    else {
        skip("the temporary directory lies on no block device");
        return;
    };
    assert!(summary.devices.iter().any(|device| device.intervals_gone > 0), "{summary:?}\n{outcome}");
    let found = named(&outcome, "device-gone");
    assert_eq!(found.severity, Severity::Warning);
    has(&found, &["not in /proc/diskstats"]);
    // The figures stand, and the silent counters are not taken for a cache.
    let measured = run.scenarios[0].measurement.as_ref().unwrap();
    assert!(measured.errors == 0 && measured.read.ios > 100, "{outcome}");
    not_named(&outcome, "cache-answered");
}

/// Two jobs of one group on one device are no strangers to each other.
#[test]
fn jobs_beside_each_other() {
    let _turn = alone();
    let volume = ThrottledVolume::builder().size(96 * MIB).filesystem("ext4").build();
    let Some(volume) = require(volume) else { return };
    let case = Case::on(volume.dir());
    let job = case.job(
        "[global]\nioengine=io_uring\nrw=randread\nbs=64k\niodepth=4\ndirect=1\nsize=32m\noverwrite=1\ntime_based\nruntime=2\n[a]\n[b]\n",
    );
    let outcome = case.run(&[&job]).expect(&[0]);
    let run = outcome.record();
    assert_eq!(
        (run.scenarios[0].beside.as_slice(), run.scenarios[1].beside.as_slice()),
        (&[2][..], &[1][..])
    );
    not_named(&outcome, "other-io");
}
