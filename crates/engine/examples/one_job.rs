//! Runs one job given as options of the engine alone: to look at the hot loop without the program.
//!
//! `one_job ENGINE RW BS IODEPTH SECONDS FILE`

use iobound_engine::{Control, Ledger, Prepared};
use iobound_record::{EngineChoice, Extent, Job, Rw, units};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, engine, rw, bs, iodepth, seconds, file] = args.as_slice() else {
        eprintln!("usage: one_job ENGINE RW BS IODEPTH SECONDS FILE");
        std::process::exit(2);
    };
    let engines = [
        EngineChoice::Auto,
        EngineChoice::IoUring,
        EngineChoice::Libaio,
        EngineChoice::Psync,
        EngineChoice::Null,
    ];
    let job = Job {
        ioengine: engines.into_iter().find(|e| e.as_str() == engine).expect("an engine"),
        rw: Rw::ALL.into_iter().find(|p| p.as_str() == rw).expect("a pattern"),
        bs: units::parse_bytes(bs).expect("a size"),
        iodepth: iodepth.parse().expect("a depth"),
        runtime_ns: Some(units::parse_duration_ns(seconds).expect("a time")),
        time_based: true,
        size: Some(Extent::Bytes(1 << 29)),
        filename: vec![file.into()],
        ..Job::default()
    };
    let control = Control::default();
    let mut ledger = Ledger::new(false);
    let measured = Prepared::new(&job, &mut ledger, &control).and_then(|mut p| p.run(&control, &()));
    match measured {
        Ok(m) => {
            let side = if job.rw.reads() { m.read } else { m.write };
            let per_io = |ns: u64| ns as f64 / (m.read.ios + m.write.ios) as f64;
            println!(
                "{} {} IOPS, {}; mean {} p50 {} p99 {} p99.99 {}; user {:.0} ns, system {:.0} ns an I/O; {:?} {:?} {} errors {:?}",
                m.engine,
                units::count(m.iops()),
                units::bandwidth(m.bandwidth_bytes_per_s()),
                units::duration(side.latency_ns.mean as u64),
                units::duration(side.latency_ns.p50),
                units::duration(side.latency_ns.p99),
                units::duration(side.latency_ns.p99_99),
                per_io(m.cpu.user_ns),
                per_io(m.cpu.system_ns),
                m.engine_facts.granted,
                m.engine_facts.refused,
                m.errors,
                m.error_kinds,
            );
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
