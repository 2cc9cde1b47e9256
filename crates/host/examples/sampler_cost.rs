//! What a tick of the sampler costs: processor time, user and kernel, as JSON.
//!
//! `live` is this machine, every device of it; `synthetic` is a captured machine of 64 disks under
//! eight arrays in files, which has all of the parsing and none of the kernel's own counting.

use std::fs;
use std::path::Path;
use std::time::Duration;

use iobound_host::{Sampler, System};

const DISKS: usize = 64;
const ARRAYS: usize = 8;
const TICKS: u32 = 2000;

fn main() {
    let mut live = Sampler::of_everything(&System::live(), false);
    let live_ns = cost(|n| live.tick_at(Duration::from_secs(n)).map(drop).expect("/proc/diskstats"));
    let rows = fs::read_to_string("/proc/diskstats").map_or(0, |text| text.lines().count());
    let root = std::env::temp_dir().join(format!("iobound-sampler-cost-{}", std::process::id()));
    build(&root);
    let system = System::captured(&root);
    let mut synthetic = Sampler::of_everything(&system, false);
    let synthetic_ns = cost(|n| synthetic.tick_at(Duration::from_secs(n)).map(drop).expect("the table"));
    let devices = synthetic.latest().devices.len();
    let _ = fs::remove_dir_all(&root);
    println!(
        "{{\"live_rows\": {rows}, \"live_ns\": {live_ns:.0}, \"synthetic_devices\": {devices}, \
         \"synthetic_ns\": {synthetic_ns:.0}}}"
    );
}

/// Processor time of one call, after one that makes room.
fn cost(mut tick: impl FnMut(u64)) -> f64 {
    tick(0);
    let before = used_ns();
    (1..=u64::from(TICKS)).for_each(&mut tick);
    (used_ns() - before) as f64 / f64::from(TICKS)
}

fn used_ns() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn build(root: &Path) {
    let put = |path: String, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a path with a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    };
    let fields = "4193 12 938472 5821 83726 918 8273645 93827 4 73625 99648 12 0 4096 3 827 120";
    let mut table = String::new();
    for disk in 0..DISKS {
        put(format!("sys/class/block/nvme{disk}n1/size"), "1000");
        table += &format!(" 259 {disk:7} nvme{disk}n1 {fields}\n");
    }
    for array in 0..ARRAYS {
        put(format!("sys/class/block/md{array}/size"), "1000");
        put(format!("sys/class/block/md{array}/md/level"), "raid10");
        for disk in (0..DISKS).filter(|disk| disk % ARRAYS == array) {
            put(format!("sys/class/block/md{array}/slaves/nvme{disk}n1"), "");
        }
        table += &format!("   9 {array:7} md{array} {fields}\n");
    }
    put("proc/diskstats".into(), &table);
    put("proc/stat".into(), "cpu  938330 0 255645 1346872 182434 0 8778 2925 0 0\n");
    put("proc/meminfo".into(), "Dirty:  120 kB\nWriteback:  0 kB\n");
    for kind in ["io", "cpu", "memory"] {
        put(format!("proc/pressure/{kind}"), "some avg10=0 avg60=0 avg300=0 total=1\n");
    }
}
