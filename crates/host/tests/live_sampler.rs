//! The sampler against a number of bytes that is known.

mod fixtures;

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::Duration;

use fixtures::{Loop, may_use_loops};
use iobound_host::{Sampler, System, TotalOver};
use iobound_record::Layer;

const MIB: usize = 1 << 20;

/// Memory at an address that direct I/O takes.
#[repr(align(4096))]
struct Block([u8; MIB]);

#[test]
fn known_bytes_to_a_loop_device() {
    if !may_use_loops() {
        return;
    }
    const WRITTEN: usize = 64;
    const READ: usize = 24;
    let device = Loop::new(128 * MIB as u64);
    let system = System::live();
    let stack = system.stack_of(&device.node).unwrap();
    let mut sampler = Sampler::of_stacks(&system, &[&stack], TotalOver::Targets);
    let mut everything = Sampler::of_everything(&system, false);
    let file =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(&device.node).unwrap();
    let mut block = Box::new(Block([7; MIB]));
    sampler.tick().unwrap();
    everything.tick().unwrap();
    let (mut read, mut written, mut of_all) = (0.0, 0.0, 0.0);
    for at in 0..WRITTEN {
        file.write_all_at(&block.0, (at * MIB) as u64).unwrap();
        if at < READ {
            file.read_exact_at(&mut block.0, (at * MIB) as u64).unwrap();
        }
        // Several intervals, so that what falls between two of them would be missed.
        if at % 16 == 15 {
            std::thread::sleep(Duration::from_millis(20));
            let sample = sampler.tick().unwrap();
            let seconds = sample.interval_ns as f64 / 1e9;
            read += sample.total.read_bytes_per_s * seconds;
            written += sample.total.write_bytes_per_s * seconds;
            let sample = everything.tick().unwrap();
            let ours = sample.devices.iter().find(|other| other.device == device.name).unwrap();
            assert_eq!(
                (ours.layer, ours.in_total),
                (Layer::Upper, false),
                "a file seen as a device is no disk"
            );
            of_all += ours.rates.unwrap().write_bytes_per_s * sample.interval_ns as f64 / 1e9;
        }
    }
    for (what, seen, expected) in
        [("read", read, READ), ("written", written, WRITTEN), ("written, of all devices", of_all, WRITTEN)]
    {
        let off = seen / (expected * MIB) as f64 - 1.0;
        println!("{what}: {seen:.0} bytes, {:+.3}%", off * 100.0);
        assert!(off.abs() < 0.01, "{what}: {seen} bytes, expected {}", expected * MIB);
    }
}

#[test]
fn this_machine() {
    let mut sampler = Sampler::of_everything(&System::live(), true).with_processes(Duration::ZERO);
    sampler.tick().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let sample = sampler.tick().unwrap();
    assert!(sample.interval_ns >= 50_000_000, "{sample:?}");
    assert!(sample.host.dirty_bytes.is_some() && sample.host.cpu_user.is_some(), "{:?}", sample.host);
    for device in &sample.devices {
        assert!(
            device.rates.is_none_or(|rates| rates.queue >= 0.0 && rates.utilisation <= 1.0),
            "{device:?}"
        );
    }
}
