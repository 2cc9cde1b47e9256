//! Captured sequences of counters, and the rates that they must give.

use std::fs;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::trees::unpack;

/// A captured machine whose counters can then be changed.
struct Machine {
    root: TempDir,
    sampler: Sampler,
}

impl Machine {
    fn everything(tree: &str) -> Machine {
        let root = unpack(tree);
        let sampler = Sampler::of_everything(&System::captured(root.path()), false);
        Machine { root, sampler }
    }

    fn below(tree: &str, path: &str, over: TotalOver) -> Machine {
        let root = unpack(tree);
        let system = System::captured(root.path());
        let stack = system.stack_of(Path::new(path)).unwrap();
        let sampler = Sampler::of_stacks(&system, &[&stack], over);
        Machine { root, sampler }
    }

    fn change(&self, edit: impl Fn(&str) -> Option<String>) {
        let table = self.root.path().join("proc/diskstats");
        let text = fs::read_to_string(&table).unwrap();
        let changed: String = text.lines().filter_map(edit).map(|line| line + "\n").collect();
        fs::write(&table, changed).unwrap();
    }

    /// Gives a device these counters.
    fn set(&self, name: &str, fields: &str) {
        let name = format!(" {name} ");
        self.change(|line| match line.split_once(&name) {
            Some((number, _)) => Some(format!("{number}{name}{fields}")),
            None => Some(line.to_owned()),
        });
    }

    fn tick(&mut self, ms: u64) -> Sample {
        self.sampler.tick_at(Duration::from_millis(ms)).unwrap().clone()
    }
}

fn names(sample: &Sample) -> String {
    sample.devices.iter().map(|d| d.device.as_str()).collect::<Vec<_>>().join(" ")
}

fn of<'a>(sample: &'a Sample, name: &str) -> &'a DeviceSample {
    sample.devices.iter().find(|device| device.device == name).unwrap()
}

#[test]
fn an_array_and_its_members_count_each_byte_once() {
    let mut machine = Machine::below("ec2-raid10", "/data", TotalOver::Disks);
    let first = machine.tick(0);
    assert_eq!(names(&first), "md0 nvme1n1 nvme2n1 nvme3n1 nvme4n1");
    assert!(first.devices.iter().all(|device| device.rates.is_none()));
    machine.set("md0", "0 0 0 0 200 0 3200 400 1 1000 400 0 0 0 0 0 0");
    for member in 1..=4 {
        machine.set(&format!("nvme{member}n1"), "0 0 0 0 100 5 1600 150 2 500 150 0 0 0 0 4 8");
    }
    let second = machine.tick(2000);
    let array = of(&second, "md0").rates.unwrap();
    assert_eq!((array.write_iops, array.write_bytes_per_s), (100.0, 819_200.0));
    assert_eq!((array.utilisation, array.queue, array.write_await_ns), (0.5, 0.2, Some(2_000_000)));
    let member = of(&second, "nvme3n1");
    assert_eq!(member.parents, ["md0"]);
    let rates = member.rates.unwrap();
    assert_eq!((rates.write_iops, rates.write_merges_per_s, rates.in_flight), (50.0, 2.5, 2));
    assert_eq!((rates.write_await_ns, rates.flush_iops), (Some(1_500_000), Some(2.0)));
    // Mirrored: twice the bytes of the array, and not three times.
    assert_eq!(second.total.write_bytes_per_s, 4.0 * 409_600.0);
    assert_eq!((second.total.utilisation, second.total.in_flight), (0.25, 8));
}

#[test]
fn totals_over_the_targets() {
    let mut machine = Machine::below("ec2-raid10", "/data", TotalOver::Targets);
    machine.tick(0);
    machine.set("md0", "10 0 80 0 0 0 0 0 0 0 0 0 0 0 0 0 0");
    machine.set("nvme1n1", "10 0 80 0 0 0 0 0 0 0 0 0 0 0 0 0 0");
    assert_eq!(machine.tick(1000).total.read_bytes_per_s, 40_960.0);
}

#[test]
fn everything_is_every_device_but_partitions() {
    let mut machine = Machine::everything("ec2-raid10");
    let sample = machine.tick(0);
    assert_eq!(names(&sample), "md0 nvme1n1 nvme2n1 nvme3n1 nvme4n1 nvme0n1");
    let root = unpack("ec2-raid10");
    let mut all = Sampler::of_everything(&System::captured(root.path()), true);
    assert!(names(all.tick_at(Duration::ZERO).unwrap()).contains("nvme0n1p1"));
}

#[test]
fn a_multipath_drive_is_counted_on_its_paths_where_its_own_counters_stand_still() {
    let mut machine = Machine::below("nvme-multipath", "/mnt", TotalOver::Disks);
    assert_eq!(names(&machine.tick(0)), "nvme3n1 nvme3c3n1 nvme3c33n1");
    machine.set("nvme3c33n1", "782 0 16948 159 67891 258573 17174264 58210 0 684 36152 0 0 0 0");
    machine.set("nvme3c3n1", "150 0 1400 109 100 0 1000 58210 0 614 36102 0 0 0 0");
    let sample = machine.tick(1000);
    let drive = of(&sample, "nvme3n1").rates.unwrap();
    assert_eq!((drive.read_iops, drive.read_bytes_per_s), (150.0, 1200.0 * 512.0));
    assert_eq!((drive.read_await_ns, drive.utilisation), (Some(1_000_000), 0.1));
    assert_eq!(sample.total, drive);
    // Where the kernel counts on the drive too, that is the figure, and the paths are not added.
    machine.set("nvme3n1", "70 0 560 7 0 0 0 0 0 9 7 0 0 0 0");
    machine.set("nvme3c3n1", "220 0 1960 116 100 0 1000 58210 0 624 36109 0 0 0 0");
    let sample = machine.tick(2000);
    assert_eq!((sample.total.read_iops, sample.total.read_bytes_per_s), (70.0, 560.0 * 512.0));
}

#[test]
fn counters_of_an_old_kernel_wrap() {
    let mut machine = Machine::below("azure-lvm", "/mnt/data one", TotalOver::Targets);
    machine.tick(0);
    machine.set("dm-1", "10 0 104 50 0 0 0 0 0 296 0");
    let rates = of(&machine.tick(1000), "dm-1").rates.unwrap();
    assert_eq!((rates.read_iops, rates.read_bytes_per_s), (16.0, 200.0 * 512.0));
    assert_eq!((rates.utilisation, rates.discard_iops, rates.flush_iops), (0.592, None, None));
}

#[test]
fn a_device_that_goes_and_comes_back() {
    let mut machine = Machine::everything("ec2-raid10");
    machine.tick(0);
    let line = " 259       4 nvme3n1 500 0 4000 5 0 0 0 0 0 5 5 0 0 0 0 0 0";
    machine.change(|row| (!row.contains("nvme3n1")).then(|| row.to_owned()));
    assert_eq!(of(&machine.tick(1000), "nvme3n1").rates, None);
    machine.change(|row| Some(if row.contains(" md0 ") { format!("{row}\n{line}") } else { row.to_owned() }));
    // What it did before it came is not what it did in this second.
    assert_eq!(of(&machine.tick(2000), "nvme3n1").rates, None);
    machine.set("nvme3n1", "600 0 4800 5 0 0 0 0 0 5 5 0 0 0 0 0 0");
    assert_eq!(of(&machine.tick(3000), "nvme3n1").rates.unwrap().read_iops, 100.0);
}

#[test]
fn another_device_of_the_same_name_is_not_taken_for_the_first() {
    let mut machine = Machine::everything("ec2-raid10");
    let place = machine.root.path().join("sys/class/block/nvme0n1/diskseq");
    fs::write(&place, "1\n").unwrap();
    machine.tick(0);
    machine.set("nvme0n1", "7 0 56 1 0 0 0 0 0 1 1 0 0 0 0 0 0");
    fs::write(&place, "2\n").unwrap();
    assert_eq!(of(&machine.tick(1000), "nvme0n1").rates, None);
    machine.set("nvme0n1", "9 0 72 1 0 0 0 0 0 1 1 0 0 0 0 0 0");
    assert_eq!(of(&machine.tick(2000), "nvme0n1").rates.unwrap().read_iops, 2.0);
}

#[test]
fn a_device_that_appears_is_met() {
    let mut machine = Machine::everything("laptop");
    let before = machine.tick(0).devices.len();
    let class = machine.root.path().join("sys/class/block/sdz");
    fs::create_dir_all(&class).unwrap();
    fs::write(class.join("size"), "0\n").unwrap();
    machine.change(|row| Some(row.to_owned()));
    let table = machine.root.path().join("proc/diskstats");
    let text = fs::read_to_string(&table).unwrap_or_default();
    fs::write(&table, format!("{text} 65 144 sdz 5 0 40 1 0 0 0 0 0 1 1\n")).unwrap();
    // A drive bay without a medium.
    assert_eq!(machine.tick(1000).devices.len(), before);
    fs::write(class.join("size"), "2048\n").unwrap();
    assert_eq!(of(&machine.tick(2000), "sdz").rates, None);
    machine.set("sdz", "15 0 120 1 0 0 0 0 0 1 1");
    assert_eq!(of(&machine.tick(3000), "sdz").rates.unwrap().read_iops, 10.0);
}

#[test]
fn a_clock_that_stands_still_gives_no_rates() {
    let mut machine = Machine::below("ec2-raid10", "/data", TotalOver::Disks);
    machine.tick(5000);
    machine.set("md0", "10 0 80 0 0 0 0 0 0 0 0 0 0 0 0 0 0");
    for time in [5000, 4000] {
        let sample = machine.tick(time);
        assert_eq!((sample.interval_ns, of(&sample, "md0").rates), (0, None));
        assert_eq!(sample.total, Default::default());
    }
}

#[test]
fn a_machine_without_the_table_is_an_error() {
    let nothing = tempfile::tempdir().unwrap();
    let mut sampler = Sampler::of_everything(&System::captured(nothing.path()), false);
    assert!(sampler.tick().unwrap_err().to_string().contains("/proc/diskstats"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_table_gives_rates_or_none(
        tables in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(prop_oneof![0u64..1000, any::<u64>()], 0..19), 4), 2..5),
        times in prop::collection::vec(any::<u32>(), 5),
    ) {
        let machine = Machine::everything("ec2-raid10");
        let Machine { root, mut sampler } = machine;
        for (table, time) in tables.iter().zip(times) {
            let rows: String = table.iter().zip(["md0", "nvme0n1", "nvme1n1", "sdq"]).map(|(fields, name)| {
                let fields: Vec<String> = fields.iter().map(u64::to_string).collect();
                format!("8 0 {name} {}\n", fields.join(" "))
            }).collect();
            fs::write(root.path().join("proc/diskstats"), rows).unwrap();
            let sample = sampler.tick_at(Duration::from_millis(u64::from(time))).unwrap();
            for rates in sample.devices.iter().filter_map(|device| device.rates).chain([sample.total]) {
                for rate in [rates.iops(), rates.bytes_per_s(), rates.queue] {
                    prop_assert!(rate >= 0.0 && rate.is_finite());
                }
                prop_assert!((0.0..=1.0).contains(&rates.utilisation));
            }
        }
    }
}
